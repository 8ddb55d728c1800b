"""Every compiled function does what its plain Python twin does; a new one without a twin fails here."""

import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import kernelclust
from kernelclust._compiled import Compiled
from kernelclust.solvers._placement_loops import walks


def compiled():
    """Compiled functions of the library, by name."""
    found = {}
    for module in pkgutil.walk_packages(kernelclust.__path__, "kernelclust."):
        if module.name.endswith("loops"):
            part = importlib.import_module(module.name)
            own = {k: v for k, v in vars(part).items() if isinstance(v, Compiled) and v.__module__ == module.name}
            found |= {f"{module.name.removeprefix('kernelclust.')}.{name}": one for name, one in own.items()}
    return found


COMPILED = compiled()
ELSEWHERE = {  # whole files whose functions are swapped for their plain twins while they work, and where
    "solvers._loops": "tests/contracts/test_climbs.py",
    "constraints._repair_loops": "tests/truth/test_repair.py",
}
rng = np.random.default_rng(0)


def cases():
    """(function, arguments) for every compiled function that is called by itself."""
    K = rng.standard_normal((70, 70))
    scores = -np.sort(-rng.standard_normal((2, 6)))
    table = *scores, np.log1p(np.arange(8.0)), np.log1p(np.arange(8.0)[::-1]), rng.random(13), rng.random(13)
    yield "kernels._loops.add_rows", (K, rng.random(70), np.arange(70) % 3, np.zeros((3, 70)))
    graph = sparse.random(9, 9, density=0.4, random_state=0, dtype=np.float32, format="csr")
    V, U = rng.standard_normal((2, 9, 4)).astype(np.float32)
    yield "kernels._loops.less_itself_plus", (graph.indptr, graph.indices, graph.data, np.float32(0.3), V, U)
    yield "margin._loops.best_table", table
    A, M, linear = (np.abs(rng.standard_normal((6, 6))) for _ in range(3))
    A, M, p, node = A + A.T, M + M.T, np.array([0, 3, 2, 1, 4, 5]), np.arange(6)
    loops = "solvers._placement_loops."
    yield loops + "exchange_rise", (p, 1, 4, A, M, linear)
    yield loops + "exchange", (p, p, 1, 4)
    paths = walks(6)
    for path in paths:
        yield loops + "walk_to_best", (p, p, path, np.zeros(6), A, M, linear, 1e-9)
    for movable, some in ((np.ones(6, dtype=bool), paths), (node > 0, paths[:0])):
        yield loops + "fill_rises", (np.zeros((3, 6, 6)), node, node, np.zeros(6), movable, some, A, M, linear)
        starts = np.stack([rng.permutation(6) for _ in range(4)])
        yield loops + "improve", (starts, node, np.zeros(6), movable, some, A, M, linear, 1e-9)
        yield loops + "improve_by_cycles", (starts, node, np.zeros((6, 6)), movable, A, M, linear, 1e-9)
    pull = A[:, p] @ M.T
    yield loops + "fill_pull", (np.zeros((6, 6)), 2, p, A, M)
    yield loops + "cycle_rise", (p, 0, 3, 5, pull, A, M, linear)
    yield "margin._loops._rise", (2, 5, *table[:4], 0.3)
    D, order = np.abs(K[:9, :9] + K[:9, :9].T), rng.permutation(9)
    for cyclic in (False, True):
        loops = "estimators._seriate_loops"
        yield f"{loops}.distance_to", (D, 3, order, 8, cyclic)
        yield f"{loops}.tilt_at", (D, order, 7, 3, cyclic)
        yield f"{loops}.insert", (D, order, 2, cyclic, 3, 5, 1e-9)
        yield f"{loops}.reverse", (D, order, 2, cyclic, 1e-9)
        yield f"{loops}.shift_tilts", (D, rng.random(13), order[:8], rng.random(8), 3, 2, cyclic, -1.0)
        yield "metrics._seriation_loops.count_events", (D, order, cyclic)
    yield "metrics._seriation_loops.falls", (rng.random(11), np.empty(11), 11)


CASES = list(cases())


def test_every_compiled_function_has_a_twin_in_a_test():
    root = Path(__file__).parents[2]
    for part, file in ELSEWHERE.items():
        text = (root / file).read_text()
        assert "py_func" in text and part.split(".")[-1] in text
    covered = {name for name, _ in CASES}
    assert {name for name in COMPILED if name.rpartition(".")[0] not in ELSEWHERE} == covered
    assert len(COMPILED) > 20


def _flat(result):
    """What a function returns as one array of numbers."""
    if result is None:
        return np.empty(0)
    return np.concatenate([np.ravel(part) for part in result]) if isinstance(result, tuple) else np.ravel(result)


@pytest.mark.parametrize(("name", "arguments"), CASES, ids=[name for name, _ in CASES])
def test_a_compiled_function_is_its_plain_twin(name, arguments):
    one, other = ([np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2))
    fast, plain = COMPILED[name](*one), COMPILED[name].py_func(*other)
    for a, b in zip(np.atleast_1d(_flat(fast)), np.atleast_1d(_flat(plain)), strict=True):
        assert_allclose(a, b, rtol=1e-12)
    for a, b in zip(one, other, strict=True):  # what is changed in place
        assert_allclose(a, b, rtol=1e-12)


def test_a_product_without_the_lock_is_the_product():
    graph = sparse.random(30, 30, density=0.3, random_state=0, format="csr")
    V, U = rng.standard_normal((2, 30, 5))
    expected = graph @ V + 0.3 * V - U
    COMPILED["kernels._loops.less_itself_plus"](graph.indptr, graph.indices, graph.data, 0.3, V, U)
    assert_allclose(U, expected, rtol=1e-12, atol=1e-12)
