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
    rows = np.sort(seen["rows"]) if more else np.arange(N)
    assert len(seen["labels"]) == len(rows) and seen["labels"].tolist() == [labels[row] for row in rows]


def test_a_column_that_decides_is_what_to_do_next(file, tmp_path):
    report = tmp_path / "r.html"
    line = ["--columns", "plan,x", "--categories", "one-hot", "--weight", "plan:9", "-s", "chain:3", "-k", "rbf"]
    assert main(["fit", file, *line, "--out", str(tmp_path / "l.csv"), "--report", str(report)]) == 0
    page = html.unescape(report.read_text())
    steps = page[page.index("What to do next") : page.index("The clusters</h2>")]
    assert "column 'plan' alone decides the clusters" in steps and "--drop plan" in steps
