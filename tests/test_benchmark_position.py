"""benchmarks/position.py runs on tiny inputs, and measures what it says."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def position(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield importlib.import_module("position")
    for name in ("position", "real_data"):
        sys.modules.pop(name, None)


def test_agreement(position):
    time = np.random.default_rng(0).random(200)
    chain, ring = position.Task(None, time, "chain:4"), position.Task(None, time, "ring:4")
    assert position.agreement(chain, -(time**3)) == pytest.approx(1)
    assert position.agreement(ring, (0.3 - time) % 1) == pytest.approx(1)
    noise = np.random.default_rng(1).random(200)
    assert max(position.agreement(chain, noise), position.agreement(ring, noise)) < 0.3


@pytest.mark.parametrize("closed", [False, True])
def test_all_ways_follow_an_easy_path(position, closed):
    time = np.arange(80) / 80
    angle = 2 * np.pi * time * (1 if closed else 0.4)
    task = position.Task(np.c_[np.cos(angle), np.sin(angle)], time, "ring:5" if closed else "chain:5")
    found = position.scores(position.shuffled(task, 0), 0)
    assert len(found) in (7, 9)  # with scanpy
    assert min(found.values()) > 0.9
    assert min(found["position, rbf"], found["position, auto"]) > 0.99


def test_table(position, capsys):
    task = position.path(60, 3, 0.1, 0, closed=False, structure="chain:3")
    assert task.X.shape == (60, 3) and task.time.shape == (60,)
    position.table({"some": [task]}, [0])
    assert "some, chain:3 (1)" in capsys.readouterr().out
