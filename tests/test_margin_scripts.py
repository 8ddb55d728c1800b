"""The scripts about max-margin clustering run on little, and measure what they say."""

import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def paper():
    return runpy.run_path(str(ROOT / "papers" / "margin.py"))


def test_benchmark_runs(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    assert runpy.run_path(str(ROOT / "benchmarks" / "margin.py"))["main"](["--small", "--repeats", "1"]) == 0
    out = capsys.readouterr().out
    assert "v scan of all tables" in out and "ten clusters" in out


def test_paper_table(paper, capsys, monkeypatch):
    monkeypatch.delenv("KERNELCLUST_DATA", raising=False)
    rows = ["--rows", "digits1v7,satellite", "--seeds", "1", "--kernels", "linear", "--no-tuned"]
    assert paper["main"](rows) == 0
    out = capsys.readouterr().out
    assert "linear 1.000" in out and "satellite: nothing to measure" in out


def test_rows_and_protocols(paper, monkeypatch):
    X, y = paper["digits"](3, 8)
    assert X.shape == (357, 64) and list(np.bincount(y)) == [183, 174]
    paper["tuned"].__globals__.update(KAPPAS=(10.0,), TOLS=(0.03,), BALANCES=(None, 1.0))
    mean, single, setting = paper["tuned"](X[:100], y[:100], "nmi", [0])
    assert mean == single and setting["kappa"] == 10.0
    assert mean >= paper["runs"](X[:100], y[:100], "nmi", [0], n_init=1)[0]


def test_finished_rows_are_not_measured_again(paper, capsys, tmp_path):
    asked = ["--rows", "digits1v7", "--seeds", "1", "--kernels", "linear", "--no-tuned"]
    file = ["--resume", str(tmp_path / "rows.json")]
    assert paper["main"](asked + file) == 0
    first = capsys.readouterr().out
    paper["main"].__globals__["runs"] = None  # what would measure
    assert paper["main"](asked + file) == 0
    assert capsys.readouterr().out == first and "linear 1.000" in first
    with pytest.raises(ValueError, match="other work"):
        paper["main"](["--seeds", "2", *file])
