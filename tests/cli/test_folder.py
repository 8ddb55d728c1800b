"""``kernelclust fit FOLDER``."""

import numpy as np
import pytest

pytest.importorskip("typer")

from kernelclust.cli import main

pytestmark = pytest.mark.usefixtures("few_starts")

pd = pytest.importorskip("pandas")


def _ring(m=900):
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * rng.integers(0, 6, m) / 6
    X = np.c_[np.cos(angle), np.sin(angle)] + 0.1 * rng.standard_normal((m, 2))
    return pd.DataFrame(X, columns=["east", "north"]).assign(name="a")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_folder_is_clustered_file_by_file(kind, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    pytest.importorskip("dask.dataframe")
    frame = _ring()
    for number in range(3):
        part = frame[300 * number : 300 * (number + 1)]
        getattr(part, f"to_{kind}")(tmp_path / f"part-{number}.{kind}", index=False)
    out = tmp_path / "labels.txt"
    options = ["--structure", "ring:6", "--kernel", "linear", "--random-state", "0", "--out", str(out)]
    assert main(["fit", str(tmp_path), *options]) == 2
    assert "hold no numbers: 'name'; leave them out with --drop" in capsys.readouterr().err and not out.exists()
    assert main(["fit", str(tmp_path), *options, "--drop", "name"]) == 0
    found = pd.read_csv(out)
    assert list(found["row"]) == list(range(900)) and set(found["label"]) == set(range(6))
    from kernelclust import StructuredClustering

    model = StructuredClustering(structure="ring:6", kernel="linear", random_state=0)
    alone = model.fit(frame[["east", "north"]]).labels_
    turned = min(np.mean((sign * alone + k) % 6 != found["label"]) for sign in (1, -1) for k in range(6))
    assert turned < 0.01


def test_the_default_kernel_of_a_folder_is_said(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    pytest.importorskip("dask.dataframe")
    _ring(200).drop(columns="name").to_csv(tmp_path / "a.csv", index=False)
    labels = []
    for kernel in ([], ["--kernel", "rbf"]):
        assert main(["fit", str(tmp_path), "--structure", "ring:6", *kernel]) == 0
        said = capsys.readouterr()
        assert ("it is rbf here" in said.err) == (not kernel)
        labels.append(said.out)
    assert labels[0] == labels[1]


def test_what_a_folder_cannot_do_is_refused(tmp_path, capsys):
    assert main(["fit", str(tmp_path)]) == 2
    assert "neither Parquet nor CSV files" in capsys.readouterr().err
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert main(["fit", str(tmp_path), "--standardize"]) == 2
    assert "--standardize needs all rows at once" in capsys.readouterr().err
    (tmp_path / "a.parquet").write_text("")
    assert main(["fit", str(tmp_path)]) == 2
    assert "both Parquet and CSV files" in capsys.readouterr().err
