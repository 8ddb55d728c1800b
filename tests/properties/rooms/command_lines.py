"""Command lines on files of all kinds: `fit` and `predict` give the labels that Python gives for the same numbers.

A table is written as CSV of some dialect, as Parquet, Feather, NPY or as a folder, with some spoiled on purpose; the
expected labels come from the library on the same numbers, or the command must end with 2 and write nothing. `predict`
reads the same rows, as they were or with their columns in another order or beside a further one.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import os
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from cases import Pick
from invariants import Broken

from kernelclust import StructuredClustering
from kernelclust.cli import main

EXAMPLES = 20
KINDS = ["csv", "parquet", "feather", "npy", "csv folder", "parquet folder"]
DIALECTS = [
    {},
    {"sep": ";", "decimal": ","},
    {"sep": "\t"},
    {"sep": "|", "encoding": "utf-16"},
    {"sep": " "},
    {"header": False},
    {"lineterminator": "\r\n"},
    {"quoting": csv.QUOTE_ALL},
    {"encoding": "utf-8-sig"},
]
IDS = ["none", "text", "large", "zeros", "odd"]
SPOILED = ["nothing", "nothing", "nothing", "nothing", "missing", "infinite", "ragged", "column twice", "other columns"]
OPTIONS = ["--standardize", "--missing", "--must-link", "--categories", "--dates"]
NAMES = ["letters", "letters", "numbers", "taken"]  # "taken": the ids are called as a column of the output


@dataclass(frozen=True)
class Line:
    """One table, how it is written, and the options."""

    kind: str
    dialect: dict[str, Any]
    packed: bool
    ids: str
    spoiled: str
    options: list[str]
    structure: str
    offset: float
    n: int
    seed: int
    names: str
    new: str  # how the columns of the rows that are predicted differ from those of the fit

    @property
    def has_names(self) -> bool:
        return self.kind != "npy" and self.dialect.get("header", True)


def draw(pick: Pick) -> Line:
    kind = pick(KINDS)
    return Line(
        kind,
        pick(DIALECTS) if kind.startswith("csv") else {},
        kind == "csv" and pick([False, False, True]),
        "none" if kind == "npy" else pick(IDS),
        pick(SPOILED),
        [option for option in OPTIONS if pick([0, 0, 1])],
        pick(["chain:3", "ring:4", "flat:2"]),
        pick([0.0, 0.0, 1.7e9, 1e-3]),
        pick([12, 20, 33]),
        pick(range(1000)),
        pick(NAMES),
        pick(["same", "turned", "wider"]),
    )


def covers(case: Line) -> list[str]:
    """Return the format, what is spoiled, and the options."""
    words = [f"spoiled {case.spoiled}", f"ids {case.ids}", f"names {case.names}", f"new columns {case.new}"]
    return [case.kind, *words, *case.options]


def _table(case: Line) -> pd.DataFrame:
    rng = np.random.default_rng(case.seed)
    X = 4.0 * (np.arange(case.n) % 4)[:, None] * [1, -1, 0.5] + rng.standard_normal((case.n, 3))
    frame = pd.DataFrame(X + [case.offset, 0, 0], columns=["a", "b", "c d"])
    if "--categories" in case.options and case.kind != "npy":
        frame["kind"] = np.array(["01", "red", "green", "red"])[rng.permutation(case.n) % 4]  # most are no numbers
    if "--dates" in case.options and case.kind != "npy":
        frame["when"] = pd.Timestamp("2024-02-28") + pd.to_timedelta(rng.integers(0, 3000, case.n), unit="ms")
    if case.spoiled == "missing":
        frame.loc[case.n // 2, "b"] = np.nan
    if case.spoiled == "infinite":
        frame.loc[case.n // 2, "b"] = np.inf
    ids = {
        "text": [f"p {i}" for i in range(case.n)],
        "large": [10**18 + i for i in range(case.n)],
        "zeros": [f"{i:04d}" for i in range(case.n)],
        "odd": [f"=é,{i}" if i % 2 else f'"{i}' for i in range(case.n)],
    }
    if case.ids != "none":
        frame.insert(frame.shape[1] if case.names == "numbers" else 0, "id", ids[case.ids])
    return frame


def _id_column(case: Line, frame: pd.DataFrame) -> list[str]:
    """Return the option for the ids; as pandas names columns of arrays, theirs is called as the last one but one is
    counted.
    """
    if case.ids == "none":
        return []
    name = _called(case, frame)["id"] if case.has_names else str(1 + frame.columns.get_loc("id"))
    return ["--id-column", name]


def _called(case: Line, frame: pd.DataFrame) -> dict[str, str]:
    """Return what the columns are called in the file."""
    if case.names == "numbers":
        return {name: str(k) for k, name in enumerate(frame.columns)}
    return {name: "label" if name == "id" and case.names == "taken" else name for name in frame.columns}


def _write(case: Line, frame: pd.DataFrame, folder: Path) -> str:
    """Write the table; a folder has some of its columns in another order, unless they are called 0, 1, 2, ..., which
    in another order is a row of numbers.
    """
    called = _called(case, frame)
    frame = frame.rename(columns=called)
    kind = case.kind.split()[0]
    path = folder / f"t.{kind}"
    if case.kind == "npy":
        np.save(path, frame.to_numpy(dtype=float))
        return str(path)
    if case.kind.endswith("folder"):
        path = folder / "parts"
        path.mkdir()
        cut = case.n // 3
        second = frame[cut:][frame.columns[::-1] if case.has_names and case.names != "numbers" else frame.columns]
        if case.spoiled == "other columns":
            second = second.rename(columns={called["b"]: "z"})
        for number, part in enumerate([frame[:cut], frame[:0], second]):
            if len(part) or case.dialect.get("header", True):
                _one(case, part, path / f"{number}.{kind}", kind)
        return str(path)
    _one(case, frame, path, kind)
    if case.packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    return str(path)


def _one(case: Line, frame: pd.DataFrame, path: Path, kind: str) -> None:
    if kind == "csv":
        frame.to_csv(path, index=False, na_rep="NA", **case.dialect)
        if case.spoiled == "ragged" and len(frame):
            encoding = case.dialect.get("encoding", "utf-8")
            text = path.read_bytes().decode(encoding)
            with open(path, "w", encoding=encoding, newline="") as file:
                file.write(text + case.dialect.get("sep", ",").join("1" * (frame.shape[1] + 1)) + "\n")
    else:
        getattr(frame.reset_index(drop=True), f"to_{kind}")(path)


def _numbers(case: Line, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers that the command should cluster, in plain pandas and numpy, and the rows in use."""
    parts = []
    for name in frame.columns.drop("id", errors="ignore"):
        column = frame[name]
        if column.dtype.kind == "M":
            parts.append(((column - pd.Timestamp(0)) / pd.Timedelta(days=1)).to_numpy()[:, None])
        elif column.dtype.kind != "f":
            texts = list(dict.fromkeys(column))
            parts.append((column.to_numpy()[:, None] == np.array(texts, dtype=object)).astype(float))
        else:
            parts.append(column.fillna(column.median()).to_numpy()[:, None])
    if "--standardize" in case.options:
        parts = [(part - part.mean(axis=0)) / np.sqrt(part.var(axis=0).sum()) for part in parts]
    return np.hstack(parts), np.arange(len(frame))


def _run(line: list[str]) -> tuple[int, str, str]:
    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        code = main(line)
    return code, out.getvalue(), said.getvalue()


def _run_as_advised(line: list[str], case: Line) -> tuple[int, str, str]:
    """Run a command, again with the option that it asks for where a first row could be a header but is none."""
    code, printed, said = _run(line)
    if code == 2 and not case.has_names and "--header no if it is a row" in said:
        return _run([*line, "--header", "no"])
    return code, printed, said


def check(case: Line) -> str:
    """Run the commands, and compare them with the library."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _checked(case, Path(name))


def _checked(case: Line, folder: Path) -> str:
    frame = _table(case)
    source = _write(case, frame, folder)
    id_column = _id_column(case, frame)
    line = ["fit", source, "-s", case.structure, "-k", "rbf", *id_column]
    line += ["--standardize"] if "--standardize" in case.options else []
    line += ["--missing", "median"] if "--missing" in case.options else []
    line += ["--categories", "one-hot"] if "kind" in frame else []
    line += ["--dates", "timeline"] if "when" in frame else []
    known: dict[str, Any] = {}
    if "--must-link" in case.options:
        ids = [str(text).strip() for text in (range(case.n) if case.ids == "none" else frame["id"])]
        pd.DataFrame([[ids[0], ids[5]], [ids[1], ids[4]]]).to_csv(folder / "links.csv", index=False, header=False)
        line += ["--must-link", str(folder / "links.csv")]
        known["must_link"] = [[0, 5], [1, 4]]
    twice = case.spoiled == "column twice" and case.kind == "csv" and case.has_names and case.names != "numbers"
    if twice:
        frame_twice = frame.rename(columns={"c d": "b"})
        _write(case, frame_twice, folder)
    out, model = folder / "labels.csv", folder / "m.model"
    model.write_text("old")
    code, printed, said = _run_as_advised([*line, "--out", str(out), "--model", str(model)], case)
    if case.options == [] and printed:
        raise Broken(f"quiet: {printed[:200]}")
    refuse = (
        (case.spoiled == "missing" and "--missing" not in case.options)
        or case.spoiled == "infinite"
        or (case.spoiled == "ragged" and case.kind.startswith("csv"))
        or twice
        or (case.spoiled == "other columns" and case.kind.endswith("folder") and case.has_names)
    )
    if (code != 0) != refuse or code not in (0, 2):
        raise Broken(f"code: {code}: {said[-400:]}")
    if refuse:
        if out.exists() or model.read_text() != "old" or any(n.startswith(".kern") for n in os.listdir(folder)):
            raise Broken("nothing_written: exit code 2, but files changed")
        return "refused"
    X, rows = _numbers(case, frame)
    flat = case.structure.startswith("flat")
    fitted = StructuredClustering(structure=case.structure, kernel="rbf", random_state=0).fit(X, **known)
    _same(out.read_text(), fitted.labels_, frame, rows, "fit", flat)
    new, refuse = _new(case, frame)
    if new is not frame:
        (folder / "new").mkdir()
        source = _write(case, new, folder / "new")
    code, printed, said = _run_as_advised(["predict", str(model), source, *id_column], case)
    if code != (2 if refuse else 0):
        raise Broken(f"predict: {code}: {said[-400:]}")
    if not refuse:
        _same(printed, fitted.predict(X), frame, rows, "predict", flat)
    return "fitted"


def _new(case: Line, frame: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """Return the rows to be predicted, and whether they must be refused: without names, all columns must be there."""
    if case.new == "same" or (case.has_names and case.names == "numbers"):
        return frame, False
    if case.new == "turned":
        return (frame[frame.columns[::-1]], False) if case.has_names else (frame, False)
    wider = frame.copy()
    wider.insert(0, "extra", np.arange(case.n) + 0.5)
    return wider, not case.has_names


def _same(text: str, labels: np.ndarray, frame: pd.DataFrame, rows: np.ndarray, what: str, flat: bool) -> None:
    found = list(csv.reader(io.StringIO(text)))[1:]
    ids = [str(one) for one in (frame["id"] if "id" in frame else rows)]
    if [row[0].strip() for row in found] != [one.strip() for one in ids]:
        raise Broken(f"{what}_ids: {[row[0] for row in found][:5]} instead of {ids[:5]}")
    own = np.array([int(row[1]) for row in found])
    same = (np.equal.outer(own, own) == np.equal.outer(labels, labels)).all() if flat else (own == labels).all()
    if not same:  # standardising rounds, after which numbers of flat clusters may be exchanged
        raise Broken(f"{what}_labels: {int((own != labels).sum())} of {len(labels)} rows differ")
