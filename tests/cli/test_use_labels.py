"""fit --use-labels and sizes: known labels in a column are kept, other columns refused in one line."""

import csv

import pytest

pytest.importorskip("typer")

from kernelclust.cli import main
from kernelclust.datasets import structured_blobs

pytestmark = pytest.mark.usefixtures("few_starts")

BLOBS = structured_blobs("chain:3", n_samples=60, noise=0.15, random_state=0)


def table(path, places):
    with open(path, "w", newline="") as file:
        rows = [[*map(float, x), place] for x, place in zip(BLOBS.data, places, strict=True)]
        csv.writer(file).writerows([["a", "b", "c", "place"], *rows])
    return str(path)


def turned(k):
    """Both ends of the chain, known the other way round."""
    return {0: 2 - BLOBS.target[0], 59: 2 - BLOBS.target[59]}.get(k, "")


def test_known_places_are_kept(tmp_path, capsys):
    file = table(tmp_path / "some.csv", [turned(k) for k in range(60)])
    arguments = [
        "fit",
        file,
        "-s",
        "chain:3",
        "-k",
        "rbf",
        "--label-column",
        "place",
        "--use-labels",
        "--max-cluster-size",
        "20",
    ]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    labels = [int(label) for _, label in list(csv.reader(captured.out.splitlines()))[1:]]
    assert labels == [2 - place for place in BLOBS.target]
    assert "accuracy" not in captured.err  # labels that were used prove nothing


@pytest.mark.parametrize(
    ("places", "options", "message"),
    [
        (["x"] * 60, ["--label-column", "place"], "row 0 has the label 'x'"),
        ([""] * 59 + ["7"], ["--label-column", "place"], "y[59] = 7 is not a node of the structure"),
        ([0] * 60, [], "--use-labels needs --label-column"),
    ],
)
def test_what_is_no_place_is_refused(places, options, message, tmp_path, capsys):
    file = table(tmp_path / "bad.csv", places)
    assert main(["fit", file, "-s", "chain:3", "--use-labels", *options]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1
    assert captured.out == ""
