"""Work that was stopped goes on where it was, with the same result."""

import json

import numpy as np
import pytest

from kernelclust import select_n_clusters
from kernelclust._checkpoint import Checkpoint, fingerprint
from kernelclust.selection import _refits

X = np.random.default_rng(0).standard_normal((40, 3)) + 3 * np.repeat(np.arange(2), 20)[:, None]
WAYS = {
    "n_clusters": lambda **more: select_n_clusters(X, [2, 3], n_perturbations=2, n_null=3, random_state=0, **more),
    "graphs": lambda **more: select_n_clusters(
        X, [2, 3], kernel="graph", n_perturbations=2, n_null=2, random_state=0, **more
    ),
}


class Stopped(Exception):
    pass


@pytest.mark.parametrize("way", WAYS)
def test_a_selection_that_was_stopped_goes_on(way, tmp_path, monkeypatch):
    file, whole = tmp_path / "parts.json", WAYS[way]()
    fits, real = [], _refits.fit

    def counted(*args, **keywords):
        fits.append(1)
        if len(fits) == stop:
            raise Stopped
        return real(*args, **keywords)

    monkeypatch.setattr(_refits, "fit", counted)
    stop = 5
    with pytest.raises(Stopped):
        WAYS[way](checkpoint=file)
    assert json.loads(file.read_text())["parts"]
    assert [one.name for one in tmp_path.iterdir()] == ["parts.json"]
    fits.clear()
    stop = -1
    resumed = WAYS[way](checkpoint=file)
    first = len(fits)
    fits.clear()
    again = WAYS[way](checkpoint=file)
    assert len(fits) < first  # only what is needed to hold the fitted models
    for one in (resumed, again):
        assert repr(one.rows) == repr(whole.rows) and one.best == whole.best
        np.testing.assert_array_equal(one.labels_, whole.labels_)


def test_parts_of_other_data_are_not_taken(tmp_path):
    file = tmp_path / "parts.json"
    select_n_clusters(X, [2, 3], n_perturbations=0, n_null=2, random_state=0, checkpoint=file)
    fresh = select_n_clusters(2 * X + 1, [2, 3], n_perturbations=0, n_null=2, random_state=1)
    both = select_n_clusters(2 * X + 1, [2, 3], n_perturbations=0, n_null=2, random_state=1, checkpoint=file)
    assert repr(both.rows) == repr(fresh.rows)


def test_a_checkpoint_needs_a_seed(tmp_path):
    with pytest.raises(ValueError, match="integer"):
        select_n_clusters(X, [2, 3], checkpoint=tmp_path / "parts.json")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"purpose": 1}', '{"purpose": "p", "parts": 3}', "\x00"])
def test_a_file_that_is_none_is_refused(text, tmp_path):
    file = tmp_path / "parts.json"
    file.write_text(text)
    with pytest.raises(ValueError, match="give another file"):
        Checkpoint(file, "p")
    assert file.read_text() == text


def test_a_file_of_other_work_is_refused(tmp_path):
    file = tmp_path / "parts.json"
    assert Checkpoint(file, "one").part("a", lambda: [1.5, np.pi]) == [1.5, np.pi]
    assert Checkpoint(file, "one").part("a", lambda: 0 / 0) == [1.5, np.pi]
    with pytest.raises(ValueError, match="another computation"):
        Checkpoint(file, "another")
    assert Checkpoint(None, "nothing kept").part("a", lambda: 2) == 2


def test_a_failure_to_write_keeps_what_there_was(tmp_path, monkeypatch):
    file = tmp_path / "parts.json"
    Checkpoint(file, "p").part("a", lambda: 1)
    before = file.read_text()
    kept = Checkpoint(file, "p")
    with pytest.raises(TypeError):
        kept.part("b", lambda: object())
    assert file.read_text() == before and [one.name for one in tmp_path.iterdir()] == ["parts.json"]


def test_fingerprints_tell_apart():
    same = [X, {"a": 1, "b": [X, "t"]}, len]
    assert fingerprint(*same) == fingerprint(X.copy(order="F"), {"b": [X, "t"], "a": 1}, len)
    for other in ([X + 1e-16, *same[1:]], [X.astype(np.float32), *same[1:]], [X, {"a": 2, "b": [X, "t"]}, len]):
        assert fingerprint(*other) != fingerprint(*same) or np.array_equal(X + 1e-16, X)
    assert fingerprint([1, [2]]) != fingerprint([1, 2])
