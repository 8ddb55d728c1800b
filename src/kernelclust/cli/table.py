"""Read numbers from a CSV file, and write files whole or not at all."""

from __future__ import annotations

import csv
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


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

    data = np.empty((len(rows), len(used)))
    for i, (row, line) in enumerate(zip(rows, lines, strict=True)):
        for j, k in enumerate(used):
            data[i, j] = _number(row[k], path, line, names[k])
    return Table(
        data=data,
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


def write_files(contents: Mapping[str, str | bytes]) -> None:
    """Write each file under another name first, and rename all at the end: a reader never sees half of one."""
    umask = os.umask(0)
    os.umask(umask)
    waiting: dict[str, str] = {}
    try:
        for path, content in contents.items():
            target = os.path.realpath(path)  # a link stays a link
            with tempfile.NamedTemporaryFile(dir=Path(target).parent, prefix=".kernelclust-", delete=False) as file:
                waiting[file.name] = target
                file.write(content.encode() if isinstance(content, str) else content)
            os.chmod(file.name, 0o666 & ~umask)
        for name, target in list(waiting.items()):
            os.replace(name, target)
            del waiting[name]
    finally:
        for name in waiting:
            os.unlink(name)


def _rows(path: str, delimiter: str | None) -> tuple[list[list[str]], list[int]]:
    """Return the rows that are not blank, all of one length, and the lines on which they end."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}.")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a folder; name a CSV file.")
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
        if len(delimiter) != 1:
            raise ValueError(f"--delimiter must be one character or tab, not {delimiter!r}.")
    rows, lines = [], []
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            reader = csv.reader(file, delimiter=delimiter or max(",;\t", key=first.count), skipinitialspace=True)
            for row in reader:
                if any(cell.strip() for cell in row):
                    rows.append(row)
                    lines.append(reader.line_num)
                    if len(row) != len(rows[0]):
                        raise ValueError(
                            f"{path}, line {reader.line_num}: {len(row)} cells, but line {lines[0]} has {len(rows[0])}."
                        )
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}.") from error
    except csv.Error as error:
        raise ValueError(f"{path} is not a CSV file: {error}.") from error
    if not rows:
        raise ValueError(f"{path} is empty.")
    return rows, lines


def _looks_like_header(rows: list[list[str]]) -> bool:
    """A header has a text over a number, or no number at all, or only counts 0, 1, 2, ... (as pandas does)."""
    over = [_parse(cell) is None for cell in rows[0]]
    below = [_parse(cell) is None for cell in rows[1]] if len(rows) > 1 else over
    counts = len(over) > 2 and rows[0] == [str(k) for k in range(len(over))]
    return all(over) or counts or any(text and not also for text, also in zip(over, below, strict=True))


def _parse(cell: str) -> float | None:
    """Return the number in a cell, None for anything else (Python's own 1_000 is no number in a table)."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _number(cell: str, path: str, line: int, column: str) -> float:
    value = _parse(cell)
    if value is not None and math.isfinite(value):
        return value
    where = f"{path}, line {line}, column {column!r}"
    if not cell.strip():
        raise ValueError(f"{where}: the cell is empty; fill it in, or leave the row or column out (--drop).")
    if value is None:
        raise ValueError(f"{where}: {cell.strip()!r} is not a number; leave the column out with --drop or --id-column.")
    raise ValueError(f"{where}: {cell.strip()!r} is not finite; fill it in, or leave the row or column out (--drop).")


def _split(text: str | None) -> list[str]:
    return [] if text is None else [part.strip() for part in next(csv.reader([text])) if part.strip()]


def _find(name: str, names: Sequence[str], option: str) -> int:
    """Return the place of a column, by its name or else by its number from 1."""
    if name in names:
        return names.index(name)
    if name.isdecimal() and 1 <= int(name) <= len(names):
        return int(name) - 1
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    raise ValueError(f"{option}: there is no column {name!r}; there are {len(names)}: {shown}.")
