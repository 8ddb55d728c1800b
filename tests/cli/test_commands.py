"""The commands on files as people have them: what they write, what they say, how they end."""

import csv
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from flat_parameters import build

import kernelclust
from kernelclust import MultiKernelClustering, StructuredClustering, select_n_clusters
from kernelclust.cli import main
from kernelclust.datasets import structured_blobs
from kernelclust.kernels import Precomputed

pytestmark = pytest.mark.usefixtures("few_starts")

BLOBS = structured_blobs("chain:3", n_samples=60, noise=0.15, random_state=0)
RBF = ["-s", "chain:3", "-k", "rbf"]
WORDS = np.array(["low", "middle", "high"])


def text(rows, header="id,a,b,c,size\n"):
    return header + "".join(",".join(map(str, row)) + "\n" for row in rows)


@pytest.fixture
def messy(tmp_path):
    """Numbers with a gap, categories, ids."""
    rows = [[f"s{i}", *map(float, x), WORDS[y]] for i, (x, y) in enumerate(zip(BLOBS.data, BLOBS.target, strict=True))]
    rows[7][2] = "NA"
    path = tmp_path / "messy.csv"
    path.write_text(text(rows))
    return str(path)


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text(text(BLOBS.data.tolist(), "a,b,c\n"))
    return str(path)


def labels_of(out):
    return [row[1] for row in list(csv.reader(io.StringIO(out)))[1:]]


def expected(X=BLOBS.data, **more):
    return (
        build(StructuredClustering, **{"structure": "chain:3", "kernel": "rbf", "random_state": 0, **more})
        .fit(X)
        .labels_
    )


# ---- reading


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(plain, packed, monkeypatch, capsys):
    content = open(plain, "rb").read()
    content = gzip.compress(content) if packed else content
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(["fit", "-", *RBF]) == 0
    assert labels_of(capsys.readouterr().out) == [str(k) for k in expected()]


def test_numpy_files(tmp_path, capsys):
    np.savez(tmp_path / "t.npz", X=BLOBS.data, y=BLOBS.target)
    assert main(["fit", str(tmp_path / "t.npz"), *RBF, "--label-column", "y"]) == 0
    captured = capsys.readouterr()
    assert labels_of(captured.out) == [str(k) for k in expected()] and "structured accuracy: 100.0%" in captured.err


def test_similarities_from_a_sparse_file(tmp_path, capsys):
    from scipy import sparse

    K = np.exp(-((BLOBS.data[:, None] - BLOBS.data) ** 2).sum(axis=2))
    sparse.save_npz(tmp_path / "k.npz", sparse.csr_matrix(np.where(K > 0.1, K, 0)))
    line = ["fit", str(tmp_path / "k.npz"), "-s", "chain:3", "-k", "precomputed_graph"]
    assert main(line) == 0
    assert set(labels_of(capsys.readouterr().out)) == {"0", "1", "2"}
    assert main([*line, "--standardize"]) == 2
    assert "is a sparse matrix; leave it out" in capsys.readouterr().err


def test_a_messy_file_is_refused_once_and_then_taken(messy, capsys):
    assert main(["fit", messy, *RBF]) == 2
    said = capsys.readouterr().err
    assert "3 problems" in said and "To try: --drop id --missing median --categories one-hot" in said
    assert main(["fit", messy, *RBF, "--id-column", "id", "--categories", "one-hot", "--missing", "drop"]) == 0
    captured = capsys.readouterr()
    labels = labels_of(captured.out)
    assert labels[7] == "" and len(labels) == 60  # the row that misses something keeps its place in the output
    assert "1 of 60 rows have missing values" in captured.err
    X = np.column_stack([BLOBS.data, np.eye(3)[:, list(dict.fromkeys(BLOBS.target))][BLOBS.target]])
    assert [int(k) for i, k in enumerate(labels) if i != 7] == expected(np.delete(X, 7, axis=0)).tolist()


def test_what_turns(tmp_path, capsys):
    hour = np.random.default_rng(0).choice([1, 7, 13, 19], 80)
    (tmp_path / "t.csv").write_text(text([[h] for h in hour], "hour\n"))
    assert main(["fit", str(tmp_path / "t.csv"), "-s", "ring:4", "-k", "rbf", "--cyclic", "hour:24"]) == 0
    found = np.array(labels_of(capsys.readouterr().out), dtype=int)
    assert kernelclust.metrics.structured_accuracy((hour - 1) // 6, found, "ring:4") == 1


# ---- what is known


def test_links_from_files(plain, tmp_path, capsys):
    labels = expected()
    i, j = int(np.argmax(labels == 0)), int(np.argmax(labels == 2))
    (tmp_path / "must.csv").write_text(f"{i},{j}\n")
    (tmp_path / "cannot.csv").write_text(f"{i},{i + 1}\n")
    links = ["--must-link", str(tmp_path / "must.csv"), "--cannot-link", str(tmp_path / "cannot.csv")]
    assert main(["fit", plain, *RBF, *links]) == 0
    found = labels_of(capsys.readouterr().out)
    assert found[i] == found[j] != found[i + 1]
    model = StructuredClustering(structure="chain:3", kernel="rbf", random_state=0)
    assert found == [str(k) for k in model.fit(BLOBS.data, must_link=[(i, j)], cannot_link=[(i, i + 1)]).labels_]


def test_views_are_matched_by_id(tmp_path, capsys):
    ids = [f"s{i}" for i in range(60)]
    other = np.random.default_rng(0).permutation(60)
    (tmp_path / "a.csv").write_text(text([[ids[i], *BLOBS.data[i, :2]] for i in range(60)], "id,a,b\n"))
    (tmp_path / "b.csv").write_text(text([[ids[i], *BLOBS.data[i]] for i in other], "id,a,b,c\n"))
    line = ["fit", str(tmp_path / "a.csv"), "--view", str(tmp_path / "b.csv"), *RBF, "--id-column", "id"]
    assert main(line) == 0
    model = MultiKernelClustering(kernel="rbf", structure="chain:3", random_state=0)
    wanted = model.fit([BLOBS.data[:, :2], BLOBS.data]).labels_
    assert labels_of(capsys.readouterr().out) == [str(k) for k in wanted]
    assert main([*line, "--gamma", "2"]) == 0
    wanted = model.set_params(kernel__gamma=2.0).fit([BLOBS.data[:, :2], BLOBS.data]).labels_
    assert labels_of(capsys.readouterr().out) == [str(k) for k in wanted]
    assert main([*line, "--search", "global"]) == 2
    assert "--search and other parameters of solvers are for one table" in capsys.readouterr().err
    assert main([*line, "--drop", "a", "--label-column", "b"]) == 2  # of both tables; nothing of the first is left
    assert "no column is left" in capsys.readouterr().err
    (tmp_path / "b.csv").write_text(text([[ids[i], *BLOBS.data[i]] for i in other[1:]], "id,a,b,c\n"))
    assert main(line) == 2
    assert f"lacks 1 rows of the first table, such as 's{other[0]}'" in capsys.readouterr().err


def test_names_of_clusters_are_written_and_known_labels_may_be_names(tmp_path, capsys):
    words = WORDS[BLOBS.target]
    rows = [
        [*map(float, x), word if i % 6 == 0 else ""] for i, (x, word) in enumerate(zip(BLOBS.data, words, strict=True))
    ]
    (tmp_path / "t.csv").write_text(text(rows, "a,b,c,stage\n"))
    named = ["-s", "chain:(low,middle,high)", "-k", "rbf", "--label-column", "stage"]
    model = str(tmp_path / "m.model")
    assert main(["fit", str(tmp_path / "t.csv"), *named, "--use-labels", "--model", model]) == 0
    head, *lines = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert head == ["row", "label", "name"] and [line[2] for line in lines] == words.tolist()
    assert main(["predict", model, str(tmp_path / "t.csv")]) == 0
    assert [line[2] for line in list(csv.reader(io.StringIO(capsys.readouterr().out)))[1:]] == words.tolist()
    assert main(["fit", str(tmp_path / "t.csv"), *named]) == 0
    assert "structured accuracy: 100.0%" in capsys.readouterr().err


# ---- many rows


def test_a_sample_is_fitted_and_the_others_placed(plain, capsys):
    assert main(["fit", plain, *RBF, "--sample", "40"]) == 0
    some = np.sort(np.random.default_rng(0).choice(60, 40, replace=False))
    model = StructuredClustering(structure="chain:3", kernel="rbf", random_state=0).fit(BLOBS.data[some])
    assert labels_of(capsys.readouterr().out) == [str(k) for k in model.predict(BLOBS.data)]


def test_very_many_rows_are_sampled_and_that_is_said(plain, capsys, monkeypatch):
    monkeypatch.setattr("kernelclust.cli.fit.MANY", 50)
    monkeypatch.setattr("kernelclust.cli.fit.SAMPLE", 40)
    assert main(["fit", plain, *RBF]) == 0
    assert "fitting 40 of 60 rows, drawn at random" in capsys.readouterr().err
    assert main(["fit", plain, *RBF, "--sample", "0"]) == 0
    captured = capsys.readouterr()
    assert "many" not in captured.err and labels_of(captured.out) == [str(k) for k in expected()]


# ---- how it is said


def test_json(messy, capsys):
    given = ["--id-column", "id", "--categories", "one-hot", "--missing", "drop", "--json"]
    assert main(["fit", messy, *RBF, *given]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["structure"] == "chain:3" and found["rows_left_out"] == 1 and found["labels"][7] is None
    assert sum(found["sizes"]) == 59 and found["ids"][:2] == ["s0", "s1"]
    assert found["preparation"]["encoders"][3]["texts"] == list(dict.fromkeys(WORDS[BLOBS.target]))
    assert 0 <= found["order_confidence"] <= 1 and found["settings"]["kernel"] == "rbf"


def test_quiet_says_nothing_but_errors(tmp_path, capsys):
    (tmp_path / "t.csv").write_text(text((BLOBS.data * [1, 1000, 1]).tolist(), "a,b,c\n"))
    assert main(["fit", str(tmp_path / "t.csv"), *RBF, "--quiet", "--out", str(tmp_path / "l.csv")]) == 0
    captured = capsys.readouterr()
    assert captured.err == captured.out == ""
    assert main(["fit", str(tmp_path / "none.csv"), "--quiet"]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_tracebacks_only_where_asked(plain, capsys, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("odd")

    monkeypatch.setattr("kernelclust.cli.fit.load", broken)
    assert main(["fit", plain]) == 1
    said = capsys.readouterr().err
    assert said == "kernelclust: error: RuntimeError: odd. This is a bug; --debug shows where.\n"
    assert main(["fit", plain, "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_writes_nothing(plain, tmp_path, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("kernelclust.cli.fit.StructuredClustering.fit", stop)
    out = tmp_path / "l.csv"
    assert main(["fit", plain, "--out", str(out)]) == 130
    assert capsys.readouterr().err == "kernelclust: interrupted, nothing written\n" and not out.exists()


def test_an_interrupt_before_the_command_begins_is_one_line(plain, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("kernelclust.cli.app.run", stop)
    assert main(["fit", plain]) == 130 and capsys.readouterr().err == "kernelclust: interrupted\n"


# ---- predict


FIT = ["--id-column", "id", "--categories", "one-hot", "--missing", "median", "--standardize"]


def test_predict_prepares_new_rows_as_the_fit_did(messy, tmp_path, capsys):
    model = str(tmp_path / "m.model")
    assert main(["fit", messy, *RBF, *FIT, "--model", model]) == 0
    fitted = labels_of(capsys.readouterr().out)
    rows = list(csv.DictReader(open(messy)))[::-1]
    (tmp_path / "new.csv").write_text(
        text([[r["size"], r["c"], "zz", r["id"], r["a"], r["b"]] for r in rows], "size,c,extra,id,a,b\n")
    )
    assert main(["predict", model, str(tmp_path / "new.csv"), "--id-column", "id"]) == 0
    out = capsys.readouterr().out
    assert labels_of(out) == fitted[::-1] and out.splitlines()[:2] == ["id,label", f"s59,{fitted[59]}"]
    assert main(["predict", model, str(tmp_path / "new.csv"), "--json"]) == 0
    assert [str(k) for k in json.loads(capsys.readouterr().out)["labels"]] == fitted[::-1]


def test_a_model_that_could_not_be_used_is_refused_before_the_fit(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("kernelclust.cli.fit.StructuredClustering", None)
    (tmp_path / "t.csv").write_text(text(BLOBS.data.tolist(), "a,b,a\n"))
    assert main(["fit", str(tmp_path / "t.csv"), *RBF, "--model", str(tmp_path / "m")]) == 2
    assert "several columns are called 'a'" in capsys.readouterr().err


def test_known_labels_are_no_part_of_a_view(tmp_path, capsys, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "kernelclust.cli.fit._fitted", lambda a, g, data, views, k: seen.extend([data, *views]) or 1 / 0
    )
    (tmp_path / "a.csv").write_text("x,y\n1,0\n2,1\n")
    (tmp_path / "b.csv").write_text("u,v,y\n1,2,0\n3,4,1\n")
    line = ["fit", str(tmp_path / "a.csv"), "--view", str(tmp_path / "b.csv"), "--label-column", "y"]
    assert main(line) == 1
    assert seen[0].names == ["x"] and seen[1].tolist() == [[1, 2], [3, 4]]


def test_predict_refuses_what_does_not_fit(messy, plain, tmp_path, capsys):
    model = str(tmp_path / "m.model")
    assert main(["fit", messy, *RBF, *FIT, "--model", model, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["predict", model, plain]) == 2
    assert "lacks 1 columns of the fit: 'size'" in capsys.readouterr().err
    (tmp_path / "new.csv").write_text("a,b,c,size\n1,2,3,huge\n1,x,3,low\n4,5,6,low\n")
    assert main(["predict", model, str(tmp_path / "new.csv"), "--missing", "error"]) == 2
    said = capsys.readouterr().err
    assert "line 3, column 'b': 'x' is not a number" in said and "'huge' was not in the fitted file" in said
    assert main(["predict", str(tmp_path / "no.model"), plain]) == 2
    assert "there is no model" in capsys.readouterr().err
    assert main(["predict", plain, plain]) == 2
    kernelclust.KernelKMeans(2, kernel="rbf").fit(BLOBS.data).save(model)
    assert main(["predict", model, plain]) == 2
    assert "does not state how cells are converted to numbers" in capsys.readouterr().err


# ---- select, compare, info


def test_select(plain, tmp_path, capsys):
    line = ["select", "k", plain, "--among", "2-3,4", "-k", "rbf", "--noise-refits", "0", "--reference-refits", "4"]
    out = tmp_path / "l.csv"
    assert main([*line, "--out", str(out)]) == 0
    wanted = select_n_clusters(
        np.genfromtxt(plain, delimiter=",", skip_header=1), [2, 3, 4], n_perturbations=0, n_null=4, random_state=0
    )
    assert capsys.readouterr().out == f"{wanted}\n"
    assert labels_of(out.read_text()) == [str(k) for k in wanted.labels_]
    assert main([*line, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["best"] == wanted.best and len(found["rows"]) == 3 and found["rows"][0]["moved"] is None


def test_fit_select_and_compare_print_the_same_probabilities(tmp_path, capsys):
    X = structured_blobs("ring:6", n_samples=150, noise=0.15, random_state=0).data
    path = tmp_path / "ring.csv"
    path.write_text(text(X.tolist(), ",".join("abcdefgh"[: X.shape[1]]) + "\n"))

    def printed(*line):
        assert main([*line, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    for kernel in ("auto", "rbf"):
        fit = printed("fit", str(path), "-s", "auto", "-c", "6", "-k", kernel, "--out", str(tmp_path / "labels.csv"))
        probability = {row["name"]: row["probability"] for row in fit["structures"]}
        assert fit["structure"] == "ring:6" and sum(probability.values()) == pytest.approx(1)
        select = printed("select", "structure", str(path), "-c", "6", "-k", kernel)
        assert select["best"] == "ring:6" and select["rows"][0]["name"] == "ring:6"
        assert [row["probability"] for row in select["rows"]] == pytest.approx([*probability.values()])
        among = printed("select", "structure", str(path), "-c", "6", "--among", "flat,ring", "-k", kernel)
        wanted = [probability["flat"], probability["ring"]]
        assert [row["probability"] for row in among["rows"]] == pytest.approx(wanted)
        compare = printed("compare", str(path), "-s", "flat,ring", "-c", "6", "-k", kernel, "--refits", "1")
        found = {one["structure"]: one["probability"] for one in compare["candidates"]}
        assert found == pytest.approx({"flat:6": probability["flat"], "ring:6": probability["ring"]})
    page = tmp_path / "page.html"
    assert main(["fit", str(path), "-s", "graph", "-c", "6", "--verbose", "--report", str(page)]) == 0
    assert "probabilities: ring" in capsys.readouterr().err and "on a graph of 6 clusters" in page.read_text()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["k", "--among", "two"], "give numbers of clusters, such as 2-10"),
        (["k", "-c", "3"], "-c is what select k chooses"),
        (["structure", "--among", "ring"], "'ring' does not say how many clusters"),
        (["structure", "--among", "flat,ring", "-c", "3"], "the structure of 3 clusters cannot be estimated"),
        (["structure", "-c", "6", "--noise-refits", "2"], "--noise-refits is for select k"),
    ],
)
def test_select_refuses(plain, line, said, capsys):
    assert main(["select", line[0], plain, *line[1:]]) == 2
    assert said in capsys.readouterr().err


def test_compare_ranks_the_true_structure_first(tmp_path, capsys):
    ring = structured_blobs("ring:5", n_samples=50, noise=0.1, random_state=0)
    path = tmp_path / "ring.csv"
    path.write_text(text(ring.data.tolist(), ",".join("abcdefgh"[: ring.data.shape[1]]) + "\n"))
    line = ["compare", str(path), "-s", "flat,chain,ring", "-c", "5", "-k", "rbf", "--refits", "1"]
    assert main([*line, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["candidates"]
    assert found[0]["structure"] == "ring:5" and len(found) == 3
    assert [one["rank"] for one in found] == sorted(one["rank"] for one in found)
    assert main(line) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[1].split("\t")[:3] == ["1", "StructuredClustering", "ring:5"]
    assert main(["compare", str(path), "-s", "flat:5", "-k", "rbf"]) == 2
    assert "there is one candidate" in capsys.readouterr().err


def test_flat_methods_are_compared_flat():
    from types import SimpleNamespace

    from kernelclust.cli.commands.compare import _candidates

    given = dict(structures="flat,tree:(a,(b,c))", n_clusters=3, kernels="rbf,linear", gamma=None, random_state=0)
    found = _candidates(SimpleNamespace(estimators="structured,max-margin", **given))
    assert len(found) == 6 and {one.structure for one in found if one.estimator[:3] == "Max"} == {"flat:3"}


def test_a_width_is_of_all_kernels_compared():
    from types import SimpleNamespace

    from kernelclust.cli.commands.compare import _candidates

    given = dict(structures="flat,chain", n_clusters=3, gamma="0.5", estimators=None, random_state=0)
    found = _candidates(SimpleNamespace(kernels=None, **given))
    assert {(one.kernel, one.model.kernel.gamma) for one in found} == {("rbf", 0.5)}
    with pytest.raises(ValueError, match=r"--gamma 0\.5: kernel 'linear' has no parameter 'gamma'"):
        _candidates(SimpleNamespace(kernels="rbf,linear", **given))


def test_the_evidence_is_the_normalised_hsic_of_arranged_labels():
    from kernelclust.cli.commands.compare import explained

    X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.repeat([0, 1], 10)
    assert explained(X, y, np.eye(2)) == pytest.approx(1)  # both kernels are constant on the two groups
    assert explained(X, np.tile([0, 1], 10), np.eye(2)) == pytest.approx(0)


def test_info_and_list(capsys):
    assert main(["info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["versions"]["numpy"] == np.__version__ and "typer" in found["extras"]["cli"]
    assert main(["info"]) == 0
    assert "compiled code" in capsys.readouterr().out
    assert main(["list", "--json"]) == 0
    assert "rbf" in json.loads(capsys.readouterr().out)["kernels"]


def test_extras_are_those_of_the_package():
    import tomllib

    from kernelclust.cli.commands.info import EXTRAS

    given = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert set(EXTRAS) == set(given["optional-dependencies"]) - {"dev", "docs"}


# ---- the way in


def test_without_typer_one_line_says_what_to_install(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith(("kernelclust.cli.", "typer"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["fit", "x.csv"]) == 2
    assert capsys.readouterr().err.endswith("needs typer: pip install typer rich.\n")


def test_every_public_submodule_is_reachable_lazily():
    """After `import kernelclust` alone, as the README writes it; found from the folder."""
    folder = Path(kernelclust.__file__).parent
    modules = [path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    public = sorted(name for name in modules if not name.startswith("_"))
    code = f"""
import sys, time
start = time.process_time()
import kernelclust
seconds = time.process_time() - start
assert not [name for name in sys.modules if name.startswith("kernelclust.")] and "numpy" not in sys.modules
assert seconds < 0.1, seconds
for name in {public}:
    assert name in dir(kernelclust)
    module = getattr(kernelclust, name)
    assert module is sys.modules["kernelclust." + name]
assert callable(kernelclust.anndata.structured) and not hasattr(kernelclust, "plot")
"""
    assert {"anndata", "constraints", "datasets", "kernels", "plots", "structures"} <= set(public)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_library_does_without_the_command_line():
    heavy = "typer pydantic matplotlib h5py".split()  # scikit-learn itself imports rich, pandas and pyarrow
    code = f"""
import sys, kernelclust
print("numpy" in sys.modules)  # names are imported when they are used
from kernelclust import *
print([name for name in {heavy} if name in sys.modules], set(kernelclust.__all__) - set(globals()))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n[] set()\n"


def test_ids_twice_in_a_view_are_refused(tmp_path, capsys):
    first, view = tmp_path / "a.csv", tmp_path / "b.csv"
    rows = [[f"s{i}", *map(float, x)] for i, x in enumerate(BLOBS.data)]
    first.write_text(text(rows, "id,a,b,c\n"))
    view.write_text(text([*rows, ["s0", 999, 999, 999]], "id,d,e,f\n"))
    for line in ([str(first), "--view", str(view)], [str(view), "--view", str(first)]):
        assert main(["fit", *line, "--id-column", "id", *RBF]) == 2
        assert "several rows with the id 's0', so that views cannot be matched" in capsys.readouterr().err


def test_predict_names_rows_as_the_fit_did(messy, plain, tmp_path, capsys):
    model, options = str(tmp_path / "m"), ["--columns", "a,b,c", "--missing", "median"]
    assert main(["fit", messy, *RBF, *options, "--id-column", "id", "--model", model]) == 0
    fitted = capsys.readouterr().out
    assert main(["predict", model, messy]) == 0
    assert capsys.readouterr().out == fitted and fitted.startswith("id,label\ns0,")
    assert main(["predict", model, plain]) == 0  # which has no such column
    assert capsys.readouterr().out.startswith("row,label\n0,")
    assert main(["predict", model, messy, "--id-column", "size"]) == 0
    assert capsys.readouterr().out.startswith("size,label\n")


@pytest.mark.parametrize(
    "preparation", [1, [], {}, {"encoders": 1}, {"encoders": [{}]}, {"encoders": [{"column": "a"}]}]
)
def test_a_forged_preparation_is_refused(preparation, plain, tmp_path, capsys):
    path = str(tmp_path / "m")
    StructuredClustering(structure="chain:3", kernel="rbf", random_state=0).fit(BLOBS.data).save(
        path, extra={"preparation": preparation}
    )
    assert main(["predict", path, plain]) == 2
    assert "is damaged: it does not state how cells are converted to numbers" in capsys.readouterr().err


def test_similarities_that_are_not_psd_can_be_taken(tmp_path, capsys):
    rng = np.random.default_rng(0)
    S = -np.abs(np.subtract.outer(BLOBS.target, BLOBS.target)) + 0.5 * rng.standard_normal((60, 60))
    path = str(tmp_path / "s.npy")
    S += S.T
    np.save(path, S)
    line = ["fit", path, "-s", "chain:3", "-k", "precomputed"]
    assert main(line) == 2
    assert "(--indefinite clip)" in capsys.readouterr().err
    assert main([*line, "--indefinite", "clip"]) == 0
    wanted = StructuredClustering(structure="chain:3", kernel=Precomputed(indefinite="clip"), random_state=0).fit(
        S + S.T
    )
    assert labels_of(capsys.readouterr().out) == [str(label) for label in wanted.labels_]
    assert main(["fit", path, *RBF, "--indefinite", "clip"]) == 2
    assert "--indefinite clip: kernel 'rbf' has no parameter 'indefinite'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["label", "name", "position", "position_low", "membership_v"])
def test_ids_are_written_whatever_their_column_is_called(name, tmp_path, capsys):
    path, model = tmp_path / "t.csv", str(tmp_path / "m")
    path.write_text(text([[f"s{i}", *x] for i, x in enumerate(BLOBS.data.tolist())], f"{name},a,b,c\n"))
    fit = ["fit", str(path), "-s", "chain:(u,v,w)", "-k", "rbf", "--id-column", name, "--model", model]
    for line in (fit, ["predict", model, str(path)]):
        assert main([*line, "--positions", "--membership"]) == 0
        head, *rows = csv.reader(io.StringIO(capsys.readouterr().out))
        assert head[0] == "id" and len(set(head)) == len(head) == 9
        assert [row[0] for row in rows] == [f"s{i}" for i in range(60)]


def test_a_negative_sample_is_refused(plain, capsys):
    assert main(["fit", plain, *RBF, "--sample", "-5"]) == 2
    assert "--sample -5: give a number of rows" in capsys.readouterr().err
