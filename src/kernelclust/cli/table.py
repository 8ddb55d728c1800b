"""Read numbers from a CSV file."""

from __future__ import annotations

import csv
import io
import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kernelclust._input import quoted

SHOWN = 20  # problems of a file that are told at once
MISSING = "fill in what is missing, or leave the row or column out (--drop)"


@dataclass(frozen=True)
class Table:
    """The parts of a file: numbers (m, d) and the names of their columns, ids and known labels as texts."""

    data: NDArray[np.float64]
    columns: list[str]
    ids: list[str] | None
    id_name: str
    labels: list[str] | None
    has_header: bool


def read_table(
    path: str,
    *,
    columns: str | None = None,
    drop: str | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    delimiter: str | None = None,
    header: str = "auto",
) -> Table:
    """Read a CSV file; raise a ValueError that names the line and column of what is wrong."""
    rows, lines = _rows(path, delimiter)
    has_header = header == "yes" or (header == "auto" and _looks_like_header(rows))
    names = [name.strip() for name in rows[0]] if has_header else []
    names = [name or f"column {k}" for k, name in enumerate(names or [""] * len(rows[0]), start=1)]
    if has_header:
        rows, lines = rows[1:], lines[1:]
    if not rows:
        raise ValueError(f"{path} has a header but no rows of data.")

    id_at = _find(id_column, names, "--id-column") if id_column else None
    label_at = _find(label_column, names, "--label-column") if label_column else None
    out = {at for at in (id_at, label_at) if at is not None}
    out |= {_find(name, names, "--drop") for name in _split(drop)}
    used = [_find(name, names, "--columns") for name in _split(columns)] or [
        k for k in range(len(names)) if k not in out
    ]
    used = [k for k in used if k not in out]
    if not used:
        raise ValueError(f"{path}: no column is left to cluster.")

    return Table(
        data=_numbers(rows, lines, used, names, path),
        columns=[names[k] for k in used],
        ids=None if id_at is None else [row[id_at] for row in rows],
        id_name="row" if id_at is None else names[id_at],
        labels=None if label_at is None else [row[label_at].strip() for row in rows],
        has_header=has_header,
    )


def check_writable(path: str, *, not_over: Sequence[str] = ()) -> None:
    """Raise an OSError or ValueError now if the file could not be written later."""
    target = Path(os.path.realpath(path))
    folder = target.parent
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder; name a file in it.")
    if target.exists() and not target.is_file():  # renaming over a device would replace the device
        raise ValueError(f"cannot write {path}: it is not a plain file.")
    if not folder.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {folder} does not exist; make it first.")
    if any(os.path.realpath(path) == os.path.realpath(other) for other in not_over):
        raise ValueError(f"{path} would be written over a file that this command uses; choose another name.")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError("it is read-only")
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}.") from error


def _rows(path: str, delimiter: str | None) -> tuple[list[list[str]], list[int]]:
    """Return the rows that are not blank, all of one length, and the lines on which they end."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}.")
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
        if len(delimiter) != 1:
            raise ValueError(f"--delimiter must be one character or tab, not {delimiter!r}.")
    text = _text(path)
    separator = delimiter or max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    rows, lines = [], []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise ValueError(f"{path} is not a CSV file: {error}.") from error
    if not rows:
        raise ValueError(f"{path} is empty.")
    width = len(rows[0])
    ragged = [f"line {line}: {len(row)} cells" for row, line in zip(rows, lines, strict=True) if len(row) != width]
    if ragged:
        raise ValueError(f"{path}, {_listed(ragged)}, but line {lines[0]} has {width}.")
    return rows, lines


def _text(path: str) -> str:
    """All of a file, which may be a pipe."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}.") from error


def _looks_like_header(rows: list[list[str]]) -> bool:
    """A header has a text over a number, or no number at all, or only counts 0, 1, 2, ... (as pandas does)."""
    over = [parse_number(cell) is None for cell in rows[0]]
    below = [parse_number(cell) is None for cell in rows[1]] if len(rows) > 1 else over
    counts = len(over) > 2 and rows[0] == [str(k) for k in range(len(over))]
    return all(over) or counts or any(text and not also for text, also in zip(over, below, strict=True))


def parse_number(cell: str) -> float | None:
    """Return the number in a cell, None for anything else (Python's own 1_000 is no number in a table)."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _numbers(rows: list[list[str]], lines: list[int], used: list[int], names: list[str], path: str) -> NDArray:
    """The numbers (m, d) of some columns; an error that names every column with a cell that is none."""
    data, problems, advice = np.empty((len(rows), len(used))), [], set()
    for j, k in enumerate(used):
        parsed = [parse_number(row[k]) for row in rows]
        bad = [i for i, value in enumerate(parsed) if value is None or not math.isfinite(value)]
        if bad:
            cell = rows[bad[0]][k].strip()
            what, way_out = _what_is_wrong(cell, parsed[bad[0]])
            more = f" ({len(bad)} bad cells in this column)" if len(bad) > 1 else ""
            problems.append((bad[0], f"line {lines[bad[0]]}, column {quoted(names[k])}: {what}{more}"))
            advice.add(way_out)
        else:
            data[:, j] = parsed
    if problems:
        said = [text for _, text in sorted(problems)]
        raise ValueError(f"{path}, {_listed(said)}; {', and '.join(sorted(advice, reverse=True))}.")
    return data


def _what_is_wrong(cell: str, value: float | None) -> tuple[str, str]:
    if not cell:
        return "the cell is empty", MISSING
    if value is None:
        return f"{quoted(cell)} is not a number", "leave the column out with --drop or --id-column"
    return f"{quoted(cell)} is not finite", MISSING


def _listed(problems: Sequence[str]) -> str:
    more = len(problems) - SHOWN
    return "; ".join(problems[:SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _split(text: str | None) -> list[str]:
    return [] if text is None else [part.strip() for part in next(csv.reader([text])) if part.strip()]


def _find(name: str, names: Sequence[str], option: str) -> int:
    """Return the place of a column, by its name or else by its number from 1."""
    alike = [k for k, other in enumerate(names, start=1) if other == name]
    if len(alike) > 1:
        raise ValueError(
            f"{option}: {len(alike)} columns are called {quoted(name)}, numbers {', '.join(map(str, alike))}; give "
            "the number of the one that you mean, or rename it."
        )
    if alike:
        return alike[0] - 1
    if name.isdecimal() and 1 <= int(name) <= len(names):
        return int(name) - 1
    shown = ", ".join(quoted(name)[1:-1] for name in names[:12]) + (", ..." if len(names) > 12 else "")
    raise ValueError(f"{option}: there is no column {quoted(name)}; there are {len(names)}: {shown}.")
