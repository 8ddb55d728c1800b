"""The options that an error proposes work as they are printed."""

import csv
import shlex

import numpy as np
import pytest

pytest.importorskip("typer")

from kernelclust.cli import main
from kernelclust.datasets import structured_blobs

pytestmark = pytest.mark.usefixtures("few_starts")

BLOBS = structured_blobs("chain:3", n_samples=60, noise=0.15, random_state=0)
N = len(BLOBS.data)
SPOILED = {
    "visits": ["inf", *map(str, range(1, N))],
    "weight": [f"{50 + k} kg" if k % 2 else f"{110 + k} lb" for k in range(N)],
    "when": [f"2024-01-{1 + k % 28:02d}" for k in range(N)],
    "plan": [("pro", "free")[k % 2] for k in range(N)],
    "name": [f"person {k}" for k in range(N)],
    "gaps": ["" if k == 3 else str(k) for k in range(N)],
    "empty": [""] * N,
    "stock": [("1,200", "950")[k % 2] for k in range(N)],
    "size, cm": ["tall", *map(str, range(1, N))],
    '5" disk': ["?!", *map(str, range(1, N))],
    "it's": ["?!", *map(str, range(1, N))],
    "-n": ["inf", *map(str, range(1, N))],
}


def proposal(file, capsys):
    assert main(["fit", file, "-s", "chain:3", "-k", "rbf"]) == 2
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.strip().startswith("To try"))
    return line


def write(path, columns):
    columns = [*columns, *((f"x{k}", map(repr, map(float, BLOBS.data[:, k]))) for k in range(2))]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([name for name, _ in columns])
        writer.writerows(zip(*(cells for _, cells in columns), strict=True))
    return str(path)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_proposed_works_as_printed(tmp_path, capsys, seed):
    rng = np.random.default_rng(seed)
    names = list(SPOILED) if seed == 0 else rng.choice(list(SPOILED), rng.integers(2, 6), replace=False)
    file = write(
        tmp_path / "t.csv", [(name, SPOILED[name]) for name in names] + [("visits", SPOILED["visits"])] * (seed < 3)
    )
    options = shlex.split(proposal(file, capsys).partition("To try: ")[2])
    assert options and main(["fit", file, "-s", "chain:3", "-k", "rbf", *options]) == 0, options
    assert len(capsys.readouterr().out.splitlines()) == N + 1


def test_what_options_cannot_settle_is_told_apart(tmp_path, capsys):
    file = write(tmp_path / "t.csv", [("visits", SPOILED["visits"]), ("gaps", SPOILED["gaps"])])
    with open(file, "a") as ragged:
        ragged.write("1,2\n")
    line = proposal(file, capsys)
    assert line.strip().startswith("To try, once what has no option is corrected: --drop visits")


def test_dropping_everything_is_not_proposed(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"name {k},inf\n" for k in range(N)))
    assert main(["fit", str(tmp_path / "t.csv"), "-s", "chain:3"]) == 2
    said = capsys.readouterr().err
    assert "2 problems" in said and "To try" not in said


def test_a_column_of_ten_thousand_categories_is_refused_by_name(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("name,x\n" + "".join(f"person {k % 10_000},{k}\n" for k in range(30_000)))
    out = tmp_path / "labels.csv"
    assert main(["fit", str(tmp_path / "t.csv"), "-s", "chain:3", "--categories", "one-hot", "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "line 2, column 'name': 'person 0' is text, 10000 different ones in 30000 cells; leave it out with" in said
    assert "--drop name" in said and "--id-column name" in said and not out.exists()
