"""A folder of pictures is a table: files are rows, and the report shows them."""

import csv
import io
import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("PIL")

from PIL import Image

from kernelclust import StructuredClustering
from kernelclust.cli import main
from kernelclust.datasets import rotated_images
from kernelclust.metrics import structured_accuracy
from kernelclust.tables import read

pytestmark = pytest.mark.usefixtures("few_starts")

TURNED = rotated_images(random_state=0)
SOME = np.flatnonzero(TURNED.target % 2 == 0)[:100]
TRUE = TURNED.target[SOME] // 2
LINE = ["-s", "ring:5", "-k", "rbf"]


def as_image(k):
    pixels = TURNED.images[k]
    return Image.fromarray(np.uint8(np.round(255 * pixels / TURNED.images.max())))


@pytest.fixture
def folder(tmp_path):
    """Pictures of one size, as PNG, which loses nothing."""
    path = tmp_path / "pictures"
    path.mkdir()
    for k in SOME:
        as_image(k).save(path / f"p{k:03d}.png")
    return path


def labels_of(out):
    return {row["file"]: int(row["label"]) for row in csv.DictReader(io.StringIO(out))}


def test_a_folder_is_clustered_and_new_pictures_are_placed(folder, tmp_path, capsys):
    model, report = str(tmp_path / "m.model"), tmp_path / "report.html"
    height, width = TURNED.images.shape[1:]
    own_size = ["--image-size", f"{width}x{height}"]
    assert main(["fit", str(folder), *LINE, *own_size, "--model", model, "--report", str(report)]) == 0
    captured = capsys.readouterr()
    labels = labels_of(captured.out)
    assert list(labels) == [f"p{k:03d}.png" for k in SOME]
    assert f"100 pictures of {width} x {height} pixels" in captured.err and "resized" not in captured.err
    X = np.stack([np.asarray(as_image(k), dtype=float).ravel() / 255 for k in SOME])
    wanted = StructuredClustering(structure="ring:5", kernel="rbf", random_state=0).fit(X).labels_
    assert list(labels.values()) == wanted.tolist()  # as the same pixels in Python
    assert structured_accuracy(TRUE, wanted, "ring:5") == 1
    page = report.read_text()
    assert "100 pictures fall into 5 clusters" in page and "typical pictures" in page and "typical rows" not in page
    assert page.count("<img src=") >= 5 * 3 and any(name in page for name in labels) and "column 1" not in page
    assert main(["predict", model, str(folder)]) == 0
    assert labels_of(capsys.readouterr().out) == labels
    one = tmp_path / "new.png"
    as_image(SOME[0]).resize((3 * width, 3 * height), Image.Resampling.NEAREST).save(one)
    assert main(["predict", model, str(one)]) == 0  # resized as those of the fit
    assert labels_of(capsys.readouterr().out) == {"new.png": labels[f"p{SOME[0]:03d}.png"]}


def test_other_sizes_colours_and_turned_cameras(tmp_path):
    rng = np.random.default_rng(0)
    scene = np.uint8(rng.integers(0, 255, (6, 8, 3))).repeat(20, axis=0).repeat(20, axis=1)  # 160 x 120
    given = Image.fromarray(scene)
    folder = tmp_path / "f"
    folder.mkdir()
    given.save(folder / "a.png")
    given.resize((80, 60), Image.Resampling.BOX).save(folder / "b.png")
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera lay on its side
    given.transpose(Image.Transpose.ROTATE_90).save(folder / "c.jpg", exif=exif, quality=95)
    given.resize((60, 60), Image.Resampling.BOX).save(folder / "d.PNG")
    given.convert("RGBA").save(folder / "e.webp", lossless=True)
    table = read(str(folder))
    assert table.images.shape == (5, 24, 32, 3) and table.image_size == "32x24x3"
    assert (
        "5 pictures of 3 sizes, 60 x 60 to 160 x 120 pixels resized to 32 x 24 in colour; 1 of them have"
        in (table.notes[0])
    )
    assert table.ids.texts == ["a.png", "b.png", "c.jpg", "d.PNG", "e.webp"]
    exact = np.asarray(given.resize((32, 24), Image.Resampling.BOX)) / 255
    for k, off in enumerate([0.003, 0.003, 0.1, 0.3, 0.003]):  # JPEG loses a little, squeezing more
        assert np.abs(table.images[k] - exact).mean() <= off
    assert np.array_equal(np.column_stack([c.values for c in table.columns]), table.images.reshape(5, -1))


def test_damaged_pictures_are_named_and_skipped_unless_all_are(folder, tmp_path, capsys):
    (folder / "a broken.png").write_bytes((folder / f"p{SOME[0]:03d}.png").read_bytes()[:60])
    (folder / "text.jpg").write_text("no picture")
    (folder / "notes.txt").write_text("not read")
    assert main(["fit", str(folder), *LINE]) == 0
    captured = capsys.readouterr()
    assert "2 of 102 pictures cannot be read and are skipped: 'a broken.png', 'text.jpg'" in captured.err
    assert "1 other files and folders are not read, such as notes.txt" in captured.err
    assert len(labels_of(captured.out)) == 100
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "one.jpg").write_text("no picture")
    out = tmp_path / "labels.csv"
    assert main(["fit", str(bad), *LINE, "--out", str(out)]) == 2
    assert "none of 1 pictures can be read, such as 'one.jpg'" in capsys.readouterr().err and not out.exists()
    (folder / "table.csv").write_text("a,b\n1,2\n")
    assert main(["fit", str(folder), *LINE]) == 2
    assert "holds both CSV files and pictures" in capsys.readouterr().err
    for size in ("0", "wide", "3x4x2"):
        assert main(["fit", str(bad), *LINE, "--image-size", size]) == 2


def test_an_array_of_images_is_shown_as_pictures(tmp_path, capsys):
    report = tmp_path / "r.html"
    np.save(tmp_path / "i.npy", TURNED.images[SOME])
    assert main(["fit", str(tmp_path / "i.npy"), *LINE, "--json", "--report", str(report)]) == 0
    captured = capsys.readouterr()
    assert structured_accuracy(TRUE, json.loads(captured.out)["labels"], "ring:5") == 1
    page = report.read_text()
    assert "100 images of" in captured.err and "<img src=" in page and "column 1" not in page
