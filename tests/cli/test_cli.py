"""Labels come out as the library gives them; bad input is refused in one line, and nothing is written."""

import csv
import json
import os
import subprocess
import sys
import threading
from functools import cache

import numpy as np
import pytest

pytest.importorskip("typer")

from kernelclust import StructuredClustering, _files
from kernelclust._files import write_files
from kernelclust.cli import main
from kernelclust.datasets import structured_blobs
from kernelclust.kernels import Laplacian
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy
from kernelclust.structures import as_structure, structure_class

pytestmark = pytest.mark.usefixtures("few_starts")

BLOBS = structured_blobs("chain:3", n_samples=60, noise=0.15, random_state=0)


def write(path, rows, header=None):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(([header] if header else []) + [list(row) for row in rows])
    return str(path)


@pytest.fixture
def blobs(tmp_path):
    """A file with a name, three numbers and the true place of each sample."""
    rows = [
        [f"s{i}", *map(repr, map(float, x)), y] for i, (x, y) in enumerate(zip(BLOBS.data, BLOBS.target, strict=True))
    ]
    return write(tmp_path / "blobs.csv", rows, ["name", "a", "b", "c", "place"])


RBF = ["-s", "chain:3", "-k", "rbf"]  # for tests of manners: the default kernel takes several times as long
FIT = [*RBF, "--id-column", "name", "--label-column", "place"]


@cache
def expected(kernel="rbf"):
    return StructuredClustering(structure="chain:3", kernel=kernel, random_state=0).fit(BLOBS.data).labels_.tolist()


def test_labels_are_those_of_the_library(blobs, tmp_path, capsys):
    out = tmp_path / "labels.csv"
    assert main(["fit", blobs, *FIT, "--out", str(out)]) == 0
    head, *rows = csv.reader(out.read_text().splitlines())
    assert head == ["name", "label"]
    assert [name for name, _ in rows] == [f"s{i}" for i in range(60)]
    assert [int(label) for _, label in rows] == expected()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "structured accuracy: 100.0%" in captured.err


def test_without_out_labels_go_to_stdout_and_rows_count_from_zero(tmp_path, capsys):
    file = write(tmp_path / "plain.csv", BLOBS.data)
    assert main(["fit", file, "-s", "chain", "-c", "3"]) == 0
    head, *rows = csv.reader(capsys.readouterr().out.splitlines())
    assert head == ["row", "label"]
    assert [int(row) for row, _ in rows] == list(range(60))
    assert [int(label) for _, label in rows] == expected("auto")  # the default


def test_report_holds_the_fit(blobs, tmp_path):
    report = tmp_path / "report.html"
    assert main(["fit", blobs, *FIT, "--out", str(tmp_path / "l.csv"), "--report", str(report)]) == 0
    page = report.read_text()
    assert "chain:3" in page and "structured accuracy" in page and "<figure>" in page
    assert "http" not in page


def test_report_without_matplotlib_says_so(blobs, tmp_path, monkeypatch):
    monkeypatch.setattr("kernelclust.report._fit.have_matplotlib", lambda: False)
    report = tmp_path / "report.html"
    assert main(["fit", blobs, *FIT, "--out", str(tmp_path / "l.csv"), "--report", str(report)]) == 0
    page = report.read_text()
    assert "pip install matplotlib" in page and "<img" not in page and "<svg" not in page


def test_settings_reach_the_estimator(blobs, monkeypatch, tmp_path):
    seen = {}

    class Spy(StructuredClustering):
        def fit(self, X, y=None, sample_weight=None):
            seen.update(self.get_params())
            raise ValueError("enough")

    monkeypatch.setattr("kernelclust.cli.fit.StructuredClustering", Spy)
    line = "--kernel laplacian --gamma 0.5 --loss zero-one --normalize none --rho 1 --search global"
    assert main(["fit", blobs, *FIT, *line.split(), "--random-state", "7"]) == 2
    terms = dict(objective=Dependence("zero-one", None, 1.0), solver=Greedy(search="global"))
    given = dict(kernel=Laplacian(gamma=0.5), **terms)
    assert {name: repr(seen[name]) for name in given} == {name: repr(value) for name, value in given.items()}
    assert seen["random_state"] == 7 and seen["structure"] == "chain:3"
    default = StructuredClustering().get_params()
    seen.clear()
    assert main(["fit", blobs, "--drop", "name"]) == 2
    assert seen | {"random_state": None} == default | {"random_state": None}  # left out means the library's default


def test_standardize_makes_units_irrelevant(tmp_path, capsys):
    scaled = write(tmp_path / "scaled.csv", BLOBS.data * [1, 1000, 1e-3])
    assert main(["fit", scaled, *RBF]) == 0
    raw = capsys.readouterr()
    assert "variance of 'column 2'" in raw.err and "add --standardize" in raw.err
    assert main(["fit", scaled, *RBF, "--standardize"]) == 0
    one = capsys.readouterr()
    assert "variance" not in one.err
    assert main(["fit", write(tmp_path / "same.csv", BLOBS.data), *RBF, "--standardize"]) == 0
    assert one.out == capsys.readouterr().out
    huge = write(tmp_path / "huge.csv", BLOBS.data * 1e307)
    assert main(["fit", huge, *RBF, "--standardize"]) == 0
    assert one.out == capsys.readouterr().out


def test_a_column_that_counts_rows_is_pointed_out(tmp_path, capsys):
    file = write(tmp_path / "indexed.csv", [[i, *x] for i, x in enumerate(BLOBS.data)], ["", "0", "1", "2"])
    assert main(["fit", file, *RBF]) == 0
    assert "'column 1' only counts the rows" in capsys.readouterr().err
    assert main(["fit", file, *RBF, "--drop", "column 1"]) == 0
    assert "counts the rows" not in capsys.readouterr().err


# ---- refusing

GOOD = "a,b,c\n1,2,3\n4,5,6\n7,8,9\n1,1,1\n"
REFUSED = {
    "empty file": ("", [], "is empty"),
    "only a header": ("a,b,c\n", [], "no rows of data"),
    "ragged": ("a,b,c\n1,2,3\n4,5\n", [], "line 3: 2 cells, where line 1 has 3; make them equal"),
    "text": (
        "a,b,c\n1,2,3\n4,red,6\n",
        [],
        "line 3, column 'b': 'red' is not a number; correct it, or leave the column out with --drop b.",
    ),
    "several at once": (
        "a,b,c,d\n1,2,red,\n2,nan,blue,4\nNA,3,red,5\n",
        [],
        "4 problems: line 4, column 'a': missing value; add --missing drop to leave such rows out, or "
        "--missing median to fill in. line 3, column 'b': missing value; add --missing drop to leave "
        "such rows out, or --missing median to fill in. line 2, column 'c': 'red' is text (2 different); add "
        "--categories one-hot to compare by it, or --drop c. line 2, column 'd': missing value; add "
        "--missing drop to leave such rows out, or --missing median to fill in. To try: --missing median --categories "
        "one-hot",
    ),
    "ragged more than once": (
        "a,b\n1\n1,2\n1,2,3\n",
        [],
        "line 2: 1 cells, where line 1 has 2; make them equal. line 4: 3 cells, where line 1 has 2",
    ),
    "a long cell": ("a,b\n1,2\n" + "x" * 100_000 + ",3\n", [], f"line 3, column 'a': '{'x' * 30}...' is not a number"),
    "two of one name": ("a,b,a\n1,2,3\n", ["--drop", "a"], "--drop: 2 columns are called 'a', numbers 1, 3; give"),
    "two ids of one name": ("a,b,a\n1,2,3\n", ["--id-column", "a"], "--id-column: 2 columns are called 'a'"),
    "a tree too deep": (GOOD, ["-s", f"tree:{'(' * 600}a{')' * 600}"], "nested more than 100 levels deep"),
    "nan": ("a,b,c\n1,2,3\n4,nan,6\n", [], "line 3, column 'b': missing value"),
    "inf": ("a,b,c\n1,2,-inf\n", [], "line 2, column 'c': '-inf' is not finite"),
    "empty cell": ("a,b,c\n1,2,3\n\n4,,6\n", [], "line 4, column 'b': missing value"),
    "underscored": ("a,b\n1,2\n1_0,3\n", [], "'1_0' is not a number"),
    "not text": (b"\x99TXT\xff\xfe", [], "line 1: not UTF-8 text"),
    "a damaged picture": (b"\x89PNG\xff\xfe", [], "none of 1 pictures can be read"),
    "unknown column": (GOOD, ["--drop", "d"], "--drop: there is no column 'd'; there are 3: a, b, c"),
    "nothing left": (GOOD, ["--drop", "a,b,c"], "no column is left"),
    "delimiter": (GOOD, ["--delimiter", "ab"], "--delimiter must be one character"),
    "unknown structure": (GOOD, ["-s", "rign:3"], "Did you mean 'ring'"),
    "contradiction": (GOOD, ["-s", "ring:4", "-c", "5"], "n_clusters=5"),
    "contradiction with the default": (GOOD, ["-s", "ring:4", "-c", "8"], "n_clusters=8"),
    "unknown kernel": (GOOD, ["-s", "chain:2", "-k", "rbff"], "rbff"),
    "too few rows": (GOOD, ["-s", "chain:5"], "5"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_gets_one_line_and_writes_nothing(case, tmp_path, capsys):
    content, options, said = REFUSED[case]
    file = tmp_path / "bad.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(os.listdir(tmp_path))
    line = ["fit", str(file), "--out", str(tmp_path / "l.csv"), "--report", str(tmp_path / "r.html"), *options]
    assert main(line) == 2
    _is_refused(capsys, said)
    assert sorted(os.listdir(tmp_path)) == before


def _is_refused(capsys, said):
    captured = capsys.readouterr()
    error = " ".join(captured.err.split())
    assert error.startswith("kernelclust: error: ") and error.count("kernelclust: ") == 1
    assert said in error
    assert captured.out == ""


def test_missing_file_and_folder(tmp_path, capsys):
    assert main(["fit", str(tmp_path / "none.csv")]) == 2
    _is_refused(capsys, "there is no file")
    assert main(["fit", str(tmp_path)]) == 2
    _is_refused(capsys, "holds none of CSV files, Parquet files, pictures")


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_a_target_that_cannot_be_written_is_refused_before_the_fit(option, blobs, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("kernelclust.cli.fit.StructuredClustering", None)  # a fit would fail otherwise than asked
    for target, said in [
        (tmp_path / "no" / "labels.csv", "does not exist"),
        (tmp_path, "it is a folder"),
        (blobs, "written over"),
        (os.devnull, "not a plain file"),
        ("/proc/labels.csv", "cannot write /proc/labels.csv")
        if os.path.isdir("/proc")
        else (tmp_path, "it is a folder"),
    ]:
        assert main(["fit", blobs, *FIT, option, str(target)]) == 2
        _is_refused(capsys, said)
    assert os.listdir(tmp_path) == ["blobs.csv"]


def test_a_demo_folder_that_is_a_file_is_refused(blobs, capsys):
    assert main(["demo", "--out", blobs]) == 2
    _is_refused(capsys, f"{blobs}: File exists")


def test_two_results_need_two_names(blobs, tmp_path, capsys):
    same = str(tmp_path / "x")
    assert main(["fit", blobs, *FIT, "--out", same, "--report", same]) == 2
    _is_refused(capsys, "written over")


# ---- writing


def test_files_appear_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "labels.csv"
    target.write_text("old")

    class Broken(str):
        def encode(self, *_):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_files({str(target): "new", str(tmp_path / "report.html"): Broken("x")})
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["labels.csv"]
    write_files({str(target): "new"})
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o666 & ~_umask()


def test_a_link_stays_a_link(tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    write_files({str(link): "new"})
    assert link.is_symlink() and real.read_text() == "new"


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


# ---- the rest


def test_warnings_of_the_library_are_one_line(blobs, capsys, monkeypatch):
    class Warner(StructuredClustering):
        def fit(self, X, y=None, sample_weight=None):
            import warnings

            warnings.warn("the kernel\nis large", stacklevel=1)
            return super().fit(X)

    monkeypatch.setattr("kernelclust.cli.fit.StructuredClustering", Warner)
    assert main(["fit", blobs, *FIT]) == 0
    assert "kernelclust: warning: the kernel is large\n" in capsys.readouterr().err


def test_verbose_says_what_happens(blobs, capsys):
    assert main(["fit", blobs, *FIT, "--verbose"]) == 0
    captured = capsys.readouterr()
    assert "read 60 rows and 5 columns" in captured.err
    assert captured.out.startswith("name,label\n")


def test_list_names_every_part(capsys):
    assert main(["list"]) == 0
    words = capsys.readouterr().out.split()
    assert {"flat", "chain", "ring", "grid", "tree", "rbf", "linear", "graph"} <= set(words)


def test_every_structure_that_list_offers_is_accepted(capsys):
    assert main(["list", "--json"]) == 0
    examples = json.loads(capsys.readouterr().out)["structures"]
    assert len(examples) > 5
    for name, example in examples.items():
        assert isinstance(as_structure(example), structure_class(name))


def test_demo_puts_the_photograph_back_on_its_ring(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "deep" / "demo")]) == 0
    said = capsys.readouterr().out
    ours = next(line for line in said.splitlines() if "StructuredClustering" in line)
    assert ours.split()[-2:] == ["100.0%", "100.0%"]
    assert sorted(os.listdir(tmp_path / "deep" / "demo")) == ["labels.csv", "report.html", "ring.png"]
    labels = np.loadtxt(tmp_path / "deep" / "demo" / "labels.csv", delimiter=",", skiprows=1, dtype=int)
    assert labels.shape == (350, 2)
    page = (tmp_path / "deep" / "demo" / "report.html").read_text()
    assert "http" not in page and "350 pictures fall into 10 clusters" in page and page.count("<img src=") == 10 * 6


def test_the_version_is_told(capsys):
    assert main(["--version"]) == 0 and capsys.readouterr().out.startswith("kernelclust ")


def test_usage_mistakes_exit_with_two(capsys):
    for line in ([], ["fit"], ["fit", "x.csv", "--header", "maybe"]):
        assert main(line) == 2


# ---- hostile surroundings


def command(line, **options):
    """Run in a process of its own, as a shell does."""
    given = dict(capture_output=True, text=True, timeout=60) | options
    return subprocess.run([sys.executable, "-m", "kernelclust", *line], **given)


def closed(*descriptors):
    return lambda: [os.close(descriptor) for descriptor in descriptors]


def test_closed_streams(blobs, tmp_path):
    """In a process of its own, which also shows that the module runs and exits with the code."""
    done = command(["fit", blobs, *FIT], preexec_fn=closed(1))
    assert done.returncode == 2 and done.stderr.splitlines() == [
        "kernelclust: error: standard output is closed; name a file for the labels with --out."
    ]
    out = tmp_path / "l.csv"
    assert command(["fit", blobs, *FIT, "--out", str(out)], preexec_fn=closed(1, 2)).returncode == 0
    assert len(out.read_text().splitlines()) == 61


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_has_seen_enough(stream, blobs, tmp_path):
    read, write = os.pipe()
    os.close(read)
    out = tmp_path / "l.csv"
    line = ["fit", blobs, *FIT, "--verbose", "--out", str(out)] if stream == "stderr" else ["fit", blobs, *FIT]
    other = "stderr" if stream == "stdout" else "stdout"
    done = command(line, capture_output=False, **{stream: write, other: subprocess.PIPE})
    os.close(write)
    assert done.returncode == 0 and "Traceback" not in (done.stderr or "") + (done.stdout or "")
    assert stream == "stdout" or len(out.read_text().splitlines()) == 61


def test_a_full_output_is_named_and_no_file_is_replaced(blobs, tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    model = tmp_path / "keep.model"
    model.write_text("old")
    line = ["fit", blobs, *FIT, "--model", str(model), "--report", str(tmp_path / "r.html")]
    with open("/dev/full", "w") as full:
        done = command(line, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "kernelclust: error: standard output: No space left on device"
    assert model.read_text() == "old" and not (tmp_path / "r.html").exists()


@pytest.mark.parametrize("full", ["labels.csv", "keep.model", "r.html"])
def test_a_disk_that_is_full_for_one_file_leaves_all(full, blobs, tmp_path, monkeypatch, capsys):
    out, model, report = (tmp_path / name for name in ("labels.csv", "keep.model", "r.html"))
    for path in (out, model):
        path.write_text("old")
    aside = _files._write_aside

    def limited(target, content, waiting):
        aside(target, content, waiting)
        if os.path.basename(target) == full:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files, "_write_aside", limited)
    before = sorted(os.listdir(tmp_path))
    line = ["fit", blobs, *FIT, "--out", str(out), "--model", str(model), "--report", str(report)]
    assert main(line) == 2
    assert f"{full}: No space left on device" in capsys.readouterr().err
    assert out.read_text() == model.read_text() == "old" and sorted(os.listdir(tmp_path)) == before


def test_a_reader_that_has_seen_enough_keeps_no_file_from_being_written(blobs, tmp_path):
    read, write = os.pipe()
    os.close(read)
    model = tmp_path / "stages.model"
    done = command(["fit", blobs, *FIT, "--model", str(model)], capture_output=False, stdout=write)
    os.close(write)
    assert done.returncode == 0 and model.exists()


def test_a_pipe_is_read(blobs, tmp_path, capsys):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes(open(blobs, "rb").read()))
    writer.start()
    assert main(["fit", str(fifo), *FIT]) == 0
    writer.join()
    assert [int(row.split(",")[1]) for row in capsys.readouterr().out.splitlines()[1:]] == expected()


@pytest.mark.parametrize("scale", [1e154, 1e300])
def test_a_report_of_huge_numbers(scale, tmp_path):
    file, report = write(tmp_path / "huge.csv", BLOBS.data * scale), tmp_path / "r.html"
    assert main(["fit", file, "-s", "chain:3", "--out", str(tmp_path / "l.csv"), "--report", str(report)]) == 0
    assert np.loadtxt(tmp_path / "l.csv", delimiter=",", skiprows=1, dtype=int)[:, 1].tolist() == expected("auto")
    assert "lines join neighbours" in report.read_text()
    assert ">nan<" not in report.read_text()


def test_formulas_among_ids_are_pointed_out(tmp_path, capsys):
    names = ["=cmd|calc", "-2", "+1.5", "@x", "-dash", *(f"s{i}" for i in range(55))]
    file = write(tmp_path / "t.csv", [[name, *x] for name, x in zip(names, BLOBS.data, strict=True)], [*"nabc"])
    assert main(["fit", file, *RBF, "--id-column", "n"]) == 0
    captured = capsys.readouterr()
    assert "warning: 3 ids such as '=cmd|calc' are formulas to a spreadsheet" in captured.err
    assert [row.rpartition(",")[0] for row in captured.out.splitlines()[1:]] == names  # as they are


def test_units_are_told_in_the_terms_of_the_command(tmp_path, capsys):
    file, report = (
        write(tmp_path / "t.csv", BLOBS.data * [1, 1000, 1], ["age", "income", "height"]),
        tmp_path / "r.html",
    )
    assert main(["fit", file, *RBF, "--report", str(report)]) == 0
    (said,) = [line for line in capsys.readouterr().err.splitlines() if "variance of" in line]
    assert "variance of 'income' is" in said and "add --standardize" in said and "sklearn" not in said
    assert "variance of &#x27;income&#x27; is" in report.read_text()
