"""The benchmark of max-margin clustering runs on little."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_benchmark_runs(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    assert runpy.run_path(str(ROOT / "benchmarks" / "margin.py"))["main"](["--small", "--repeats", "1"]) == 0
    out = capsys.readouterr().out
    assert "v scan of all tables" in out and "ten clusters" in out
