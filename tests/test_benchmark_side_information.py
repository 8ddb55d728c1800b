"""The benchmark of side information draws what it says."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1] / "benchmarks"))
    yield importlib.import_module("side_information")
    sys.modules.pop("side_information", None)


def test_links_agree_with_the_groups(script):
    truth = np.arange(300) % 4
    must, cannot = script.links(truth, 50, np.random.default_rng(0))
    assert len(must) == len(cannot) == 50
    assert np.all(truth[must[:, 0]] == truth[must[:, 1]]) and np.all(must[:, 0] != must[:, 1])
    assert np.all(truth[cannot[:, 0]] != truth[cannot[:, 1]])


def test_a_draw_and_every_method(script, monkeypatch):
    monkeypatch.setattr(script, "PER_CLASS", 12)
    monkeypatch.setattr(script, "LABELS", (10, 20))
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 20)
    X = rng.standard_normal((80, 3)) + 5 * np.eye(4)[y][:, :3]
    seen = []
    for number, Z, truth, known in script.draw(X, y, 0):
        assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
        assert np.sum(known >= 0) == number and np.array_equal(np.bincount(truth), [12] * 4)
        assert np.array_equal(known[known >= 0], truth[known >= 0])
        assert all(np.all(before[before >= 0] == known[before >= 0]) for before in seen)  # labels are added to
        seen.append(known)
    for name, method in script.methods(sdp=False).items():
        labels = method(Z, known)
        assert labels.shape == (48,), name
        if "labelled only" not in name and "LabelSpreading" not in name:
            assert np.array_equal(labels[known >= 0], known[known >= 0]), name


@pytest.mark.parametrize("structure", ["flat:3", "chain:3"])
def test_answers_to_questions(script, structure):
    """Of flat clusters nothing is asked."""
    y = np.repeat(np.arange(3), 15)
    X = 3 * y[:, None] + 0.1 * np.random.default_rng(0).standard_normal((45, 2))
    task = script.auto.Task(X, y, structure)
    assert_allclose(script.answered(task, "rbf", 0), [100, 0, 0, 100])
