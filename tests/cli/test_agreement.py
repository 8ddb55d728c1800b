"""`fit`, `select structure` and `compare` draw on the same evidence, and give one answer for one file."""

import json

import numpy as np
import pytest

pytest.importorskip("typer")

from kernelclust.cli import main

pytestmark = pytest.mark.usefixtures("few_starts")


def test_three_commands_give_one_answer(tmp_path, capsys):
    rng = np.random.default_rng(0)
    stage = rng.integers(5, size=150)
    path = str(tmp_path / "stages.csv")
    X = stage[:, None] * [1, 0.8, 1.2] + rng.normal(0, 0.3, (150, 3))
    np.savetxt(path, X, delimiter=",", header="a,b,c", comments="")

    def answer(*line):
        assert main([*line, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    fitted = answer("fit", path, "-s", "chain:5", "-k", "rbf")
    selected = answer("select", "structure", path, "-c", "5", "-k", "rbf")
    compared = answer("compare", path, "-s", "flat,chain", "-c", "5", "-k", "rbf", "--refits", "1")
    by_name = {row["structure"]: row["probability"] for row in compared["candidates"]}
    assert fitted["structures"][0]["name"] == "chain" and fitted["structures"][0]["probability"] > 0.9
    assert selected["best"] == "chain:5" and compared["candidates"][0]["structure"] == "chain:5"
    for row in selected["rows"]:
        if row["name"] in by_name:  # the same numbers in both tables
            assert by_name[row["name"]] == pytest.approx(row["probability"], rel=1e-9)


def test_a_fit_that_moves_rows_has_the_probabilities_of_select(tmp_path, capsys):
    """Three noisy columns: a fit under rbf moves rows towards its chain. Tables are over the clusters before."""
    rng = np.random.default_rng(0)
    stage = rng.integers(5, size=400)
    X = np.column_stack([stage, 2 * stage, stage / 2]) + rng.normal(0, 1.2, (400, 3)) * [1, 2, 0.5]
    path = str(tmp_path / "noisy.csv")
    np.savetxt(path, X, delimiter=",", header="a,b,c", comments="")
    given = [path, "-k", "rbf", "--standardize", "--json"]
    answers = []
    for line in (["select", "structure", "--among", "flat:5,chain:5,ring:5"], ["fit", "-s", "chain:5"]):
        assert main([*line, *given]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    selected, fitted = answers
    by_name = {row["name"].partition(":")[0]: row["probability"] for row in selected["rows"]}
    for row in fitted["structures"]:
        if row["name"] in by_name:
            assert row["probability"] == pytest.approx(by_name[row["name"]], rel=1e-9)
    assert by_name["chain"] < 0.9
