"""Roles of columns: which ones are clustered, which one names the rows, which one holds known labels; and links."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelclust._input import quoted
from kernelclust._progress import log
from kernelclust.tables._read import read
from kernelclust.tables._table import Column, Problem, Table, parse_number, refuse
from kernelclust.tables.formats._dialect import DELIMITERS


@dataclass(frozen=True)
class Roles:
    """Columns to cluster by, and ids and labels of rows, as text."""

    used: list[Column]
    ids: list[str] | None
    id_name: str
    labels: list[str] | None


def assign(
    table: Table,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
) -> Roles:
    """Give every column its role; lists name columns or count them from 1, with commas between."""
    everything = [*table.columns, *table.about]
    names = [column.name for column in everything]
    id_at = find(id_column, names, "--id-column") if id_column else None
    label_at = find(label_column, names, "--label-column") if label_column else None
    out = {at for at in (id_at, label_at) if at is not None}
    out |= {find(name, names, "--drop") for name in split(drop)}
    asked = [find(name, names, "--columns") for name in split(columns)] or range(len(table.columns))
    used = [everything[k] for k in dict.fromkeys(asked) if k not in out]
    if not used and table.matrix is None:
        raise ValueError(f"{table.source}: no column is left to cluster.")
    ids = everything[id_at] if id_at is not None else table.ids
    return Roles(
        used,
        None if ids is None else ids.as_texts(),
        "row" if ids is None else ids.name,
        None if label_at is None else [text.strip() for text in everything[label_at].as_texts()],
    )


def split(text: str | Sequence[str] | None) -> list[str]:
    """Return the parts of a list with commas between, except commas in quotes and in brackets that are closed.

    Examples
    --------
    >>> split("flat:3, tree:(a,(b,c))"), split('"size, cm",weight')
    (['flat:3', 'tree:(a,(b,c))'], ['size, cm', 'weight'])
    """
    if text is None or not isinstance(text, str):
        return list(text or [])
    parts: list[str] = []
    closed = text.count("(") == text.count(")")
    for part in next(csv.reader([text], skipinitialspace=True), []):
        if closed and parts and parts[-1].count("(") > parts[-1].count(")"):
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return [part.strip() for part in parts if part.strip()]


def find(name: str, names: Sequence[str], option: str) -> int:
    """Return the index of a column, by its name or else by its number from 1."""
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


def read_links(path: str, ids: Sequence[str] | None, n_rows: int) -> np.ndarray:
    """Read pairs (n, 2) of rows: two columns of ids, or of row numbers from 0 if the rows have no ids.

    The first line is a header if neither of its cells is a row (or, without ids, a number) and other lines follow.
    """
    table = read(path, header="no", texts=("1", "2"))
    for delimiter in DELIMITERS:  # ids may have spaces, or other signs that stand between cells elsewhere
        if len(table.columns) != 2 and os.path.isfile(path):
            other = read(path, header="no", texts=("1", "2"), delimiter=delimiter)
            table = other if len(other.columns) == 2 and not other.problems else table
    if len(table.columns) != 2:
        raise ValueError(f"{path} has {len(table.columns)} columns; a file of links has two, the ids of both rows.")
    known = _row_numbers(ids, n_rows)
    texts = [[text.strip() for text in column.as_texts()] for column in table.columns]
    pairs = np.array([[known.get(text, -1) for text in pair] for pair in zip(*texts, strict=True)])
    numbers = ids is None and any(parse_number(column[0]) is not None for column in texts)
    first = int(len(pairs) > 1 and (pairs[0] < 0).all() and not numbers)
    if first:
        log(f"{path}: the first line ({texts[0][0]}, {texts[1][0]}) names no row, and is read as a header")
    solution = "write rows as the id column has them" if ids is not None else "count rows from 0, or add --id-column"
    unknown = [
        Problem(table.row(i), f"there is no row {quoted(texts[j][i])} among {n_rows}", solution)
        for i, j in zip(*np.nonzero(pairs < 0), strict=True)
        if i >= first
    ]
    refuse(path, [*table.problems, *unknown])
    return pairs[first:]


def _row_numbers(ids: Sequence[str] | None, n_rows: int) -> dict[str, int]:
    if ids is None:
        return {str(i): i for i in range(n_rows)}
    rows = {text.strip(): i for i, text in enumerate(ids)}
    if len(rows) < len(ids):
        twice = next(text for i, text in enumerate(ids) if rows[text.strip()] != i)
        raise ValueError(f"the id {quoted(twice)} stands for several rows, so that links by id are not clear.")
    return rows
