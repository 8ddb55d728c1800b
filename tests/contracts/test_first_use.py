"""What compiling needs and says: one set of argument types, files that may be missing or broken, one line."""

import importlib
import importlib.util
import logging
import os
import pickle
import pkgutil
import subprocess
import sys

import numba
import numpy as np
import pytest
from flat_parameters import build
from numba.core import caching

import kernelclust
from kernelclust import KernelKMeans, MaxMarginClustering, StructuredClustering, _compiled
from kernelclust.constraints import _repair_loops
from kernelclust.kernels._loops import add_rows
from kernelclust.margin._loops import best_table
from kernelclust.solvers import Greedy, _loops

SOURCE = """
from kernelclust._compiled import compiled

@compiled
def twice(x):
    return 2 * x

@compiled
def four_times(x):
    return twice(twice(x))
"""


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A module with compiled functions, as a new process sees it; its files are in tmp_path."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    path = tmp_path / "own_loops.py"
    path.write_text(SOURCE)

    def load():
        monkeypatch.setattr(_compiled, "_notice", _compiled._Notice())
        spec = importlib.util.spec_from_file_location("own_loops", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def loaded(function):
    return sum(function.dispatcher._cache_hits.values())


# -- one set of types -------------------------------------------------------------------------------------------------


def forms(X):
    """The same numbers in other types and orders, or not to be written to."""
    yield X.astype(np.float32)
    yield np.asfortranarray(X)
    yield np.repeat(X, 2, axis=0)[::2]
    fixed = X.copy()
    fixed.flags.writeable = False
    yield fixed


@pytest.mark.parametrize("settings", [{"kernel": "rbf"}, {"kernel": "linear"}, {"kernel": "precomputed"}])
@pytest.mark.parametrize("known", [False, True])
def test_other_forms_of_the_same_numbers_compile_nothing(settings, known, few_starts):
    X = np.random.default_rng(0).standard_normal((60, 3))
    X = X @ X.T if "precomputed" in settings.values() else X
    links = {"must_link": [(0, 1)], "cannot_link": [(2, 3), (4, 5)]} if known else {}
    sizes = {"min_cluster_size": 8, "max_cluster_size": 20} if known else {}

    def fit(X):
        build(KernelKMeans, 4, n_init=1, random_state=0, **settings, **sizes).fit(X, **links)
        model = StructuredClustering(
            structure="ring:5", solver=Greedy(n_init=1), random_state=0, compute_confidence=False
        )
        model.set_params(**settings, **sizes).fit(X, **links)

    def signatures():
        functions = add_rows, _loops.sweep, _loops.exchange, _loops.list_chains
        functions = *functions, _repair_loops.give, _repair_loops.shift_sizes
        return [one.dispatcher.signatures for one in functions]

    fit(X)
    before = [list(one) for one in signatures()]
    assert all(before[:2])
    for other in forms(X):
        fit(other)
        assert signatures() == before
    kinds = [(one[7] == numba.none, one[10] == numba.none) for one in _loops.sweep.dispatcher.signatures]
    assert len(set(kinds)) == len(kinds)  # by whether anything is known, and whether there is a loss


def test_margins_compile_once():
    X = np.random.default_rng(0).standard_normal((40, 3))
    MaxMarginClustering(2, random_state=0).fit(X)
    before = list(best_table.dispatcher.signatures)
    for other in forms(X):
        MaxMarginClustering(2, random_state=0).fit(other)
    for loss in ("rand", "f", "error"):
        MaxMarginClustering(2, loss=loss, random_state=0).fit(X, sample_weight=np.arange(1, 41))
    assert best_table.dispatcher.signatures == before != []


def test_a_fit_without_loss_or_links_compiles_neither():
    """In a new process, compiled from nothing: the functions that numba was asked for."""
    asked = run_python(
        "import numpy as np; from numba.core import event; from kernelclust import KernelKMeans\n"
        "with event.install_recorder('numba:compile') as found:\n"
        "    KernelKMeans(2, random_state=0).fit(np.arange(12.0)[:, None])\n"
        "print(*{one.data['dispatcher'].py_func.__name__ for _, one in found.buffer})",
        NUMBA_CACHE_DIR=None,
        before="from numba.core import caching; caching.CacheImpl._locator_classes = []",
    ).split()
    assert {"sweep", "visit_plain"} <= set(asked)
    assert not {"visit_loss", "loss_norms", "may_move", "relabel", "exchange", "search"} & set(asked)


# -- files ------------------------------------------------------------------------------------------------------------


def test_what_was_compiled_is_kept(fresh, tmp_path):
    assert fresh().four_times(3.0) == 12.0
    assert len(list(tmp_path.rglob("*.nbi"))) == 1  # the inner function is part of the outer one
    again = fresh()
    assert again.four_times(3.0) == 12.0 and loaded(again.four_times) == 1
    assert again.four_times.py_func(3.0) == 12.0


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("broken", [b"", b"nothing of the kind", None])
def test_broken_files_are_not_fatal(fresh, tmp_path, suffix, broken, caplog):
    fresh().four_times(3.0)
    (file,) = tmp_path.rglob(f"*.{suffix}")
    file.write_bytes(file.read_bytes()[:-20] if broken is None else broken)
    second = fresh()
    assert second.four_times(3.0) == 12.0 and second.four_times(3) == 12 and loaded(second.four_times) == 0
    (record,) = caplog.records
    assert "again in every process" in record.message and "NUMBA_CACHE_DIR" in record.message


def test_files_of_other_sources_are_not_used(fresh, tmp_path):
    assert fresh().four_times(3.0) == 12.0
    path = tmp_path / "own_loops.py"
    path.write_text(path.read_text().replace("2 * x", "3 * x"))
    second = fresh()
    assert second.four_times(3.0) == 27.0 and loaded(second.four_times) == 0


def test_compiled_functions_call_those_of_their_own_file_only():
    """numba renews its files when the file of a function changes, and not when that of one that it calls does."""
    for module in pkgutil.walk_packages(kernelclust.__path__, "kernelclust."):
        if module.name.endswith("loops"):
            for part in vars(importlib.import_module(module.name)).values():
                assert not isinstance(part, _compiled.Compiled) or part.__module__ == module.name, part.__name__


def test_a_genuine_error_is_raised(fresh, caplog):
    with pytest.raises(numba.TypingError):
        fresh().twice(None)
    with pytest.raises(TypeError, match="too many arguments"):
        fresh().twice(1.0, 2.0)
    assert not caplog.records


def test_without_a_place_one_line_says_what_to_do(fresh, monkeypatch, caplog):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    module = fresh()
    assert module.four_times(3.0) == 12.0 and module.twice(3) == 6
    (record,) = caplog.records
    assert record.name == "kernelclust" and record.levelno == logging.WARNING
    assert "NUMBA_CACHE_DIR" in record.message


def test_a_full_disk_is_not_fatal(fresh, monkeypatch, caplog):
    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_data", full)
    module = fresh()
    assert module.four_times(3.0) == 12.0 and module.four_times(3) == 12
    assert [record.message for record in caplog.records] == [_compiled.NO_CACHE.format("No space left on device")]


# -- the line ---------------------------------------------------------------------------------------------------------


def test_one_line_while_compiling_takes_long(fresh, monkeypatch, caplog):
    monkeypatch.setattr(_compiled, "QUIET_SECONDS", 1e9)
    fresh().four_times(3.0)
    assert not caplog.records
    monkeypatch.setattr(_compiled, "QUIET_SECONDS", 0.0)
    module = fresh()
    module.four_times(3.0)  # found in its files
    assert not caplog.records
    module.four_times(np.arange(3.0))
    module.twice(np.arange(3.0))
    (record,) = caplog.records
    assert record.name == "kernelclust" and record.levelno == logging.WARNING
    assert record.message == _compiled.FIRST_USE


# -- without numba, a home or a place for files -----------------------------------------------------------------------


def run_python(code: str, before: str = "", **variables):
    """What a new process prints; variables that are None are not set there."""
    environment = {name: value for name, value in (os.environ | variables).items() if value is not None}
    environment["PYTHONPATH"] = os.path.dirname(os.path.dirname(kernelclust.__file__))
    done = subprocess.run(
        [sys.executable, "-c", f"{before}\n{code}"], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_compiles_nothing_needs_no_place(tmp_path):
    """`import`, the command line and a model that is loaded do not even import numba."""
    X = np.random.default_rng(0).standard_normal((30, 2))
    model = KernelKMeans(3, random_state=0).fit(X)
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps((model, X)))
    out = run_python(
        "import pickle, sys; import kernelclust; from kernelclust.cli import main\n"
        "main(['list'])\n"
        f"model, X = pickle.loads(open({str(path)!r}, 'rb').read())\n"
        "print(*model.predict(X), 'numba' in sys.modules)",
        HOME=None,
        NUMBA_CACHE_DIR=None,
    )
    assert "ring" in out
    *labels, imported = out.splitlines()[-1].split()
    assert imported == "False"
    assert list(map(int, labels)) == model.predict(X).tolist()
