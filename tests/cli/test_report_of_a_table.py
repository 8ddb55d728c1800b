"""The report of a file: columns in their own units and names, and Python that runs as printed."""

import csv
import html
import re
import shlex

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")

from kernelclust.cli import main

pytestmark = pytest.mark.usefixtures("few_starts")

N = 120
STAGE = np.arange(N) % 3


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "customers' table.csv"
    with open(path, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["customer", "income", "plan", "joined", "born", "constant", "x"])
        for k, stage in enumerate(STAGE):
            income = f"${20000 + 10000 * stage + rng.normal(0, 100):,.0f}"
            joined, born = f"202{stage}-03-{1 + k % 5:02d}", f"2000-{1 + 4 * stage:02d}-15"
            writer.writerow([f"c{k}", income, ["free", "basic", "pro"][stage], joined, born, 7, f"{rng.normal():.4f}"])
    return str(path)


OPTIONS = shlex.split(
    "-s chain:3 -k rbf --gamma 0.1 --id-column customer --categories one-hot --dates timeline --cyclic born:year "
    "--standardize"
)


def test_columns_have_their_units_and_names(file, tmp_path):
    report = tmp_path / "r.html"
    assert main(["fit", file, *OPTIONS, "--out", str(tmp_path / "l.csv"), "--report", str(report)]) == 0
    page = report.read_text()
    text = html.unescape(re.sub(r"<[^>]+>", " ", page))
    assert re.search(r"\$(20,0|19,9)\d\d\b", text)
    for words in ("plan = pro", "100 %", "2021-03-0", "15 May", "joined"):
        assert words in text, words
    table = page[page.index("<table class=heat") : page.index("<h2>Pictures")]
    rows = re.findall(r"<th scope=row>(.*?)</th>", table)
    assert rows == [
        "income",
        "plan = free",
        "plan = basic",
        "plan = pro",
        "joined",
        "born",
        "x",
    ]  # not what is constant
    assert not re.search(r"\de-\d", table)


@pytest.mark.parametrize("more", [[], ["--sample", "60"]])
def test_the_python_of_the_page_runs_as_printed(file, tmp_path, more):
    report, out = tmp_path / "r.html", tmp_path / "l.csv"
    assert main(["fit", file, *OPTIONS, *more, "--out", str(out), "--report", str(report)]) == 0
    python = re.findall(r"<pre><code>(.*?)</code></pre>", report.read_text(), re.DOTALL)[-1]
    seen = {}
    exec(html.unescape(python), seen)
    labels = [int(row["label"]) for row in csv.DictReader(out.open())]
    rows = seen["drawn"] if more else np.arange(N)
    assert len(seen["labels"]) == len(rows) and seen["labels"].tolist() == [labels[row] for row in rows]


@pytest.mark.parametrize("structure", ["chain:3", "chain:(new,usual,loyal)"])
def test_the_python_of_a_page_with_known_labels_and_links(tmp_path, structure):
    """Labels and links say what the data do not: the third column of a square of equal points."""
    rng, names = np.random.default_rng(0), structure.removeprefix("chain:").strip("()").split(",")
    table, links = tmp_path / "t.csv", tmp_path / "links.csv"
    with open(table, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "a", "b", "stage"])
        for k in range(60):
            a = "" if k == 4 else f"{k % 3 + rng.normal(0, 0.6):.3f}"
            told = (2 * (k % 3)) % 3  # another order than that of the numbers
            writer.writerow(
                [f"r{k}", a, f"{rng.normal(0, 0.6):.3f}", (names[told] if len(names) > 1 else told) if k < 15 else ""]
            )
    links.write_text("id1,id2\nr20,r21\nr30,r32\n")
    report, labels = tmp_path / "r.html", tmp_path / "l.csv"
    line = ["-s", structure, "-k", "rbf", "--id-column", "id", "--label-column", "stage", "--use-labels"]
    line += ["--missing", "drop", "--must-link", str(links), "--out", str(labels), "--report", str(report)]
    assert main(["fit", str(table), *line]) == 0
    seen = {}
    exec(html.unescape(re.findall(r"<pre><code>(.*?)</code></pre>", report.read_text(), re.DOTALL)[-1]), seen)
    written = [row["label"] for row in csv.DictReader(labels.open())]
    assert written[4] == "" and seen["labels"].tolist() == [int(label) for label in written if label]
    assert seen["labels"][19] == seen["labels"][20]  # rows 20 and 21 of the file


def test_a_column_that_decides_is_what_to_do_next(file, tmp_path):
    report = tmp_path / "r.html"
    line = ["--columns", "plan,x", "--categories", "one-hot", "--weight", "plan:9", "-s", "chain:3", "-k", "rbf"]
    assert main(["fit", file, *line, "--out", str(tmp_path / "l.csv"), "--report", str(report)]) == 0
    page = html.unescape(report.read_text())
    steps = page[page.index("What to do next") : page.index("The clusters</h2>")]
    assert "column 'plan' decides the clusters" in steps and "--drop plan" in steps
