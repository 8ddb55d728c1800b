"""``kernelclust fit FOLDER``: a folder is the table that one file with all its rows would be."""

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

from kernelclust.cli import main

pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.usefixtures("few_starts")

CHAIN = ["-s", "chain:3", "-k", "rbf"]


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    stage = np.repeat(np.arange(3), 20)
    noise = rng.normal(size=(60, 3))
    columns = {
        "east": 5 * stage + noise[:, 0],
        "north": noise[:, 1] - 5 * stage,
        "when": 1.7e9 + 5 * stage + noise[:, 2],
    }
    frame = pd.DataFrame(columns).sample(frac=1, random_state=0, ignore_index=True)
    return frame.assign(name=[f"p{i:02d}" for i in range(60)])


def put(folder, parts, kind="csv", **options):
    folder.mkdir(exist_ok=True)
    for number, part in enumerate(parts):
        path = folder / f"part-{number}.{kind}"
        part.to_parquet(path, index=False) if kind == "parquet" else part.to_csv(path, index=False, **options)
    return str(folder)


def labels(line, capsys):
    assert main(["fit", *line]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    "options",
    [
        ["--drop", "name"],
        ["--id-column", "name", "--standardize"],
        ["--columns", "when"],  # seconds since 1970, which single precision rounds to minutes
        ["--id-column", "4", "--cyclic", "when:60", "--missing", "median"],
        ["--categories", "one-hot", "--drop", "name", "--missing", "drop", "--sample", "30"],
        ["--label-column", "name", "-k", "auto"],
    ],
)
def test_a_folder_is_one_table(kind, options, frame, tmp_path, capsys):
    if "--missing" in options:
        frame.loc[[3, 40], "east"] = np.nan
    frame["kind"] = frame["north"].round().astype(int).astype(str).where(frame.index % 3 == 0, "x")
    options = options if "one-hot" in options else [*options, *["--categories", "drop"]]
    whole = put(tmp_path / "one", [frame], kind) + f"/part-0.{kind}"
    parts = [frame[:20], frame[20:20], frame[20:25][frame.columns[::-1]], frame[25:]]
    folder = put(tmp_path / "many", parts, kind)
    assert labels([folder, *CHAIN, *options], capsys) == labels([whole, *CHAIN, *options], capsys)


def test_how_the_files_are_written_is_an_option_as_of_one_file(frame, tmp_path, capsys):
    frame = frame.drop(columns="name")
    folder = put(tmp_path / "f", [frame[:30], frame[30:]], sep="|", decimal=",", encoding="utf-16", header=False)
    options = ["--delimiter", "|", "--decimal", ",", "--encoding", "utf-16", "--header", "no"]
    frame.to_csv(tmp_path / "whole.csv", index=False)
    assert labels([folder, *CHAIN, *options], capsys) == labels([str(tmp_path / "whole.csv"), *CHAIN], capsys)
    assert main(["fit", folder, *CHAIN, "--key", "X"]) == 2
    assert "--key is for files of format" in capsys.readouterr().err


def test_texts_that_are_numbers_in_one_file_are_texts(frame, tmp_path, capsys):
    """ "01" in a file of numbers is the text "01" where other files have texts."""
    frame["kind"] = np.repeat(["01", "red", "blue"], 20)
    whole = put(tmp_path / "one", [frame]) + "/part-0.csv"
    folder = put(tmp_path / "many", [frame[:20], frame[20:]])
    options = [*CHAIN, "--drop", "name", "--categories", "one-hot", "--json"]
    assert "kind=01" in labels([folder, *options], capsys)
    plain = [*CHAIN, "--drop", "name", "--categories", "one-hot"]
    assert labels([folder, *plain], capsys) == labels([whole, *plain], capsys)


def test_model_report_and_links_of_a_folder(frame, tmp_path, capsys):
    folder = put(tmp_path / "many", [frame[:20], frame[20:]])
    links, model, report = tmp_path / "links.csv", tmp_path / "m.model", tmp_path / "r.html"
    links.write_text("p00,p59\n")
    options = ["--id-column", "name", "--must-link", str(links), "--model", str(model), "--report", str(report)]
    found = dict(line.split(",") for line in labels([folder, *CHAIN, *options], capsys).splitlines())
    assert found["p00"] == found["p59"] and report.exists()
    assert main(["predict", str(model), folder]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "name,label"


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"north": "south"}, r"part-1.csv lacks 'north' and also has 'south', where"),
        (None, "part-1.csv lacks 'name', where"),
    ],
)
def test_files_of_other_columns_are_refused(other, message, frame, tmp_path, capsys):
    second = frame.drop(columns="name") if other is None else frame.rename(columns=other)
    assert main(["fit", put(tmp_path / "f", [frame, second]), *CHAIN]) == 2
    assert message in capsys.readouterr().err


def test_its_own_output_is_not_data(frame, tmp_path, capsys):
    folder = put(tmp_path / "f", [frame.drop(columns="name")])
    for option, name in (("--out", "labels.csv"), ("--model", "m"), ("--report", "r.html")):
        assert main(["fit", folder, *CHAIN, option, f"{folder}/{name}"]) == 2
        assert "is in a folder that this command reads" in capsys.readouterr().err
    assert main(["fit", folder, *CHAIN, "--out", str(tmp_path / "labels.csv")]) == 0
    (tmp_path / "labels.csv").rename(tmp_path / "f" / "labels.csv")
    assert main(["fit", folder, *CHAIN]) == 2  # put there by hand
    assert "also has" in capsys.readouterr().err


def test_problems_name_the_file_and_its_line(frame, tmp_path, capsys):
    frame = frame.drop(columns="name")
    frame.loc[22, "east"] = np.nan
    frame.loc[42, "north"] = np.inf
    assert main(["fit", put(tmp_path / "f", [frame[:20], frame[20:]]), *CHAIN]) == 2
    said = capsys.readouterr().err
    assert "part-1.csv, line 4, column 'east': missing value" in said
    assert "part-1.csv, line 24, column 'north': 'inf' is not finite" in said


def test_folders_that_hold_no_table_are_refused(tmp_path, capsys):
    assert main(["fit", str(tmp_path)]) == 2
    assert "none of CSV files, Parquet files, pictures" in capsys.readouterr().err
    (tmp_path / "a.csv").write_text("x,y\n")
    assert main(["fit", str(tmp_path)]) == 2
    assert "have no rows of data" in capsys.readouterr().err
    (tmp_path / "README").write_text("about")
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n3,4\n" * 5)
    assert main(["fit", str(tmp_path), "-s", "chain:2"]) == 0
    assert "1 other files and folders are not read, such as README" in capsys.readouterr().err
    (tmp_path / "a.parquet").write_text("")
    assert main(["fit", str(tmp_path)]) == 2
    assert "both CSV files and Parquet files" in capsys.readouterr().err
