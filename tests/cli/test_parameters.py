"""Every parameter of the estimator and its terms by --set; positions and membership beside the labels."""

import csv
import io
import re

import numpy as np
import pytest

pytest.importorskip("typer")

from kernelclust import StructuredClustering
from kernelclust.cli import main
from kernelclust.cli.models import TERMS, with_parameter
from kernelclust.datasets import structured_blobs
from kernelclust.kernels import Polynomial
from kernelclust.metrics import clustering_accuracy
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy, Polar
from kernelclust.tables import prepare, prepared_like, read

pytestmark = pytest.mark.usefixtures("few_starts")

BLOBS = structured_blobs("chain:4", n_samples=80, noise=0.3, random_state=0)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "blobs.csv"
    np.savetxt(
        path, BLOBS.data, delimiter=",", header="a,b,c,d"[: 2 * BLOBS.data.shape[1] - 1], comments="", fmt="%.17g"
    )
    return str(path)


def rows_of(out):
    return list(csv.DictReader(io.StringIO(out)))


def test_every_parameter_of_every_term_can_be_set():
    for kind, (as_term, names) in TERMS.items():
        for name in names():
            for parameter, default in as_term(name).get_params(deep=False).items():
                made = with_parameter(kind, name, parameter, default, "--set")
                assert type(made) is type(as_term(name)) and getattr(made, parameter) == default


@pytest.mark.parametrize(
    ("line", "given"),
    [
        (["-k", "polynomial", "--set", "kernel.degree=2", "--gamma", "0.5"], {"kernel": Polynomial(2, gamma=0.5)}),
        (["-k", "rbf", "--set", "solver=polar", "--set", "solver.polish=false"], {"solver": Polar(polish=False)}),
        (["-k", "rbf", "--set", "solver.tol=1e-6", "--search", "global"], {"solver": Greedy("global", tol=1e-6)}),
        (["-k", "rbf", "--set", "objective.loss=none", "--rho", "1"], {"objective": Dependence(None, rho=1.0)}),
        (["-k", "rbf", "--set", "approximation=none", "--set", "max_iter=3"], {"approximation": None, "max_iter": 3}),
    ],
)
def test_parameters_reach_the_estimator(file, capsys, monkeypatch, line, given):
    seen = {}

    class Spy(StructuredClustering):
        def fit(self, X, y=None, **more):
            seen.update(self.get_params(deep=False))
            raise ValueError("enough")

    monkeypatch.setattr("kernelclust.cli.fit.StructuredClustering", Spy)
    assert main(["fit", file, "-s", "chain:4", *line]) == 2
    assert "enough" in capsys.readouterr().err
    assert {name: repr(seen[name]) for name in given} == {name: repr(value) for name, value in given.items()}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["--set", "kernel.degree"], "--set 'kernel.degree': give NAME=VALUE, such as kernel.gamma=0.5"),
        (
            ["--set", "kernel.degree=2"],
            "kernel 'auto' has no parameter 'degree'; it has n_functions, n_neighbors.",
        ),
        (["--set", "kernl.degree=2"], "there is no term 'kernl'; there are kernel"),
        (["--set", "max_itr=3"], "unknown parameter 'max_itr'"),
        (["--set", "random_state=3"], "random_state has an option of its own, --random-state"),
        (["--gamma", "2", "--set", "kernel.gamma=1"], "--gamma 2 already gives kernel.gamma"),
        (["-k", "polynomial", "--set", "kernel.degree=half"], "degree"),
        (["--positions", "-s", "flat:4"], "--positions: flat:4 has no positions between its clusters"),
    ],
)
def test_wrong_parameters_are_refused(file, tmp_path, capsys, line, message):
    out = tmp_path / "labels.csv"
    assert main(["fit", file, "-s", "chain:4", *line, "--out", str(out)]) == 2
    assert message in capsys.readouterr().err and not out.exists()


def test_positions_and_membership_are_those_of_the_library(file, tmp_path, capsys):
    kept = str(tmp_path / "m.model")
    line = ["fit", file, "-s", "chain:4", "-k", "rbf", "--positions", "--membership"]
    assert main([*line, "--model", kept]) == 0
    model = StructuredClustering(structure="chain:4", kernel="rbf", random_state=0).fit(BLOBS.data)
    for rows in (rows_of(capsys.readouterr().out), None):
        if rows is None:
            assert main(["predict", kept, file, "--positions", "--membership"]) == 0
            captured = capsys.readouterr()
            rows = rows_of(captured.out)
            assert "80 rows assigned to 4 of the clusters of chain:4" in captured.err
        assert list(rows[0]) == [
            "row",
            "label",
            "position",
            "position_low",
            "position_high",
            *(f"membership_{k}" for k in range(4)),
        ]
        position = np.array([float(row["position"]) for row in rows])
        shares = np.array([[float(row[f"membership_{k}"]) for k in range(4)] for row in rows])
        interval = np.array([[float(row["position_low"]), float(row["position_high"])] for row in rows])
        assert np.allclose(interval, model.position_interval(), atol=1e-5)
        assert np.allclose(position, model.position_, atol=1e-5) and np.allclose(
            shares, model.membership(BLOBS.data), atol=1e-5
        )


def test_positions_of_rows_that_were_not_fitted_and_of_a_grid(file, tmp_path, capsys):
    assert main(["fit", file, "-s", "grid:2x2", "-k", "rbf", "--positions", "--sample", "50"]) == 0
    rows = rows_of(capsys.readouterr().out)
    assert list(rows[0]) == ["row", "label", "position_1", "position_2"] and len(rows) == 80
    for row in rows:  # a row and a column, each within half a step of its cluster's node
        place = np.array([float(row["position_1"]), float(row["position_2"])])
        assert (np.abs(place - divmod(int(row["label"]), 2)) <= 0.5).all()


def test_a_column_that_decides_alone_is_named_and_can_be_weighed(tmp_path, capsys):
    rng = np.random.default_rng(0)
    stage, country = rng.integers(3, size=150), rng.integers(3, size=150)
    rows = [
        f"{['UK', 'DE', 'FR'][place]},{step + 0.1 * rng.normal():.3f},{step + 0.1 * rng.normal():.3f}"
        for step, place in zip(stage, country, strict=True)
    ]
    path = tmp_path / "t.csv"
    path.write_text("country,a,b\n" + "\n".join(rows) + "\n")
    line = ["fit", str(path), "-s", "chain:3", "-k", "rbf", "--categories", "one-hot", "--standardize"]

    def found(*more):
        assert main([*line, *more]) == 0
        captured = capsys.readouterr()
        return np.array([int(row["label"]) for row in rows_of(captured.out)]), captured.err

    labels, said = found("--weight", "country:3")
    assert clustering_accuracy(country, labels) == 1
    assert "column 'country' decides the clusters: it has 100%" in said
    assert "--drop country" in said and "--weight country:0.2 --kernel rbf" in said
    for option in (["--drop", "country"], ["--weight", "country:0.2", "--kernel", "rbf"]):  # what it proposes
        labels, said = found(*option)
        assert clustering_accuracy(stage, labels) == 1 and "decides the" not in said


def test_categories_that_decide_under_the_default_kernel_are_named(tmp_path, capsys):
    """Five stages that three columns of numbers show, and two columns of categories that say nothing about them."""
    rng = np.random.default_rng(0)
    stage = rng.integers(5, size=600)
    numbers = np.column_stack([stage[:, None] + rng.normal(0, 0.7, (600, 3)), rng.standard_normal(600)])
    texts = rng.integers(4, size=(600, 2))
    path = tmp_path / "t.csv"
    rows = [
        ",".join(["UDFI"[a], "abcd"[b], *(f"{x:.3f}" for x in row)]) for (a, b), row in zip(texts, numbers, strict=True)
    ]
    path.write_text("country,plan,a,b,c,d\n" + "\n".join(rows) + "\n")
    line = ["fit", str(path), "-s", "chain:5", "--categories", "one-hot", "--standardize"]
    report = tmp_path / "r.html"
    assert main([*line, "--report", str(report)]) == 0
    captured = capsys.readouterr()
    before = clustering_accuracy(stage, [int(row["label"]) for row in rows_of(captured.out)])
    said = re.search(
        r"categories decide the clusters: column '(country|plan)' has .*\(--drop (country|plan)\)", captured.err
    )
    assert said and "--kernel rbf" in said[0] and said[1] == said[2]
    assert "categories decide the clusters" in report.read_text()
    assert main([*line, "--kernel", "rbf"]) == 0  # what it proposes
    captured = capsys.readouterr()
    assert clustering_accuracy(stage, [int(row["label"]) for row in rows_of(captured.out)]) > before + 0.2
    assert "decide the clusters" not in captured.err


def test_weights_are_stored_for_new_rows(tmp_path, capsys):
    given = tmp_path / "t.csv"
    given.write_text("a,b\n1,2\n3,4\n")
    table = read(str(given))
    for standardize in (False, True):
        plain = prepare(table, table.columns, standardize=standardize)
        weighed = prepare(table, table.columns, standardize=standardize, weights=["b:0.5"])
        assert np.allclose(weighed.X, plain.X * [1, 0.5])
        assert np.allclose(prepared_like(table, weighed.to_dict()).X, weighed.X)
        assert np.allclose(np.hstack([X for _, X in weighed.in_own_units()]), [[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="--weight b:0: give a positive number"):
        prepare(table, table.columns, weights=["b:0"])
