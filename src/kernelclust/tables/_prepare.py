"""From cells to numbers: what is missing, categories, what turns, units. Kept, so that new rows go the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelclust._input import quoted
from kernelclust.tables import _parts
from kernelclust.tables._judge import judge
from kernelclust.tables._parts import Part
from kernelclust.tables._problems import refuse
from kernelclust.tables._roles import find
from kernelclust.tables._table import Column, Table

MISSING = ("error", "drop", "median")
CATEGORIES = ("error", "drop", "one-hot")


@dataclass(frozen=True)
class Prepared:
    """Numbers (n, d) with the names of their columns, the rows they are of, and the parts that made them."""

    X: np.ndarray
    names: list[str]
    rows: np.ndarray  # (n,) of the file
    parts: list[Part]
    missing: str
    left_out: list[str]  # columns

    def in_own_units(self, X: np.ndarray) -> np.ndarray:
        """Prepared numbers X (n, d) as the table has them, where columns were standardised."""
        cuts = np.cumsum([len(part.names()) for part in self.parts])[:-1]
        pieces = np.split(X, cuts, axis=1)
        return np.column_stack([part.unscaled(piece) for part, piece in zip(self.parts, pieces, strict=True)])

    def to_dict(self) -> dict[str, Any]:
        """All that new rows need, as JSON has it."""
        names = [part.column for part in self.parts]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"several columns are called {quoted(twice)}, so that new rows could not be told apart.")
        return {"missing": self.missing, "parts": [part.to_dict() for part in self.parts]}


def prepare(
    table: Table,
    used: Sequence[Column],
    *,
    missing: str = "error",
    categories: str = "error",
    cyclic: Sequence[str] = (),
    standardize: bool = False,
) -> Prepared:
    """Numbers of the columns in use; a `Problems` with everything that stands in the way."""
    turning = _turning(cyclic, [column.name for column in used])
    parts: list[Part] = []
    columns: list[Column] = []
    problems = list(table.problems)
    left_out: list[str] = []
    for k, column in enumerate(used):
        verdict = judge(table, column, missing=missing, categories=categories, turns=turning.get(k))
        problems += verdict.problems
        if verdict.part is not None:
            parts.append(verdict.part)
            columns.append(verdict.part.recoded(column))
        elif not verdict.problems:
            left_out.append(column.name)
    refuse(table.source, problems)
    if not parts:
        raise ValueError(f"{table.source}: no column is left to cluster.")
    rows = _rows_in_use(table, columns, missing)
    made = [part.made(column, rows) for part, column in zip(parts, columns, strict=True)]
    if standardize:
        parts = [part.in_units_of(values) for part, values in zip(parts, made, strict=True)]
    return _put_together(parts, made, rows, missing, left_out)


def prepared_like(table: Table, settings: Mapping[str, Any], missing: str | None = None) -> Prepared:
    """The numbers of new rows, made as those of the fit were; columns go by their names."""
    missing = missing or settings["missing"]
    parts = [Part.from_dict(part) for part in settings["parts"]]
    there: dict[str, Column] = {}
    for column in table.columns:
        there.setdefault(column.name, column)
    lacking = [part.column for part in parts if part.column not in there]
    if lacking:
        raise ValueError(
            f"{table.source} lacks {len(lacking)} columns of the fit: {', '.join(map(quoted, lacking[:12]))}"
            f"{', ...' if len(lacking) > 12 else ''}; it has {', '.join(quoted(name) for name in list(there)[:12])}."
        )
    columns = [part.recoded(there[part.column]) for part in parts]
    problems = list(table.problems)
    for part, new in zip(parts, columns, strict=True):
        problems += _parts.problems_of_new(table, part, there[part.column], new, missing)
    refuse(table.source, problems)
    rows = _rows_in_use(table, columns, missing)
    made = [part.made(column, rows) for part, column in zip(parts, columns, strict=True)]
    return _put_together(parts, made, rows, missing, [])


def _put_together(
    parts: list[Part], made: list[np.ndarray], rows: np.ndarray, missing: str, left_out: list[str]
) -> Prepared:
    widths = [values.shape[1] for values in made]
    X = np.empty((len(rows), sum(widths)))
    start = 0
    for k, part in enumerate(parts):
        X[:, start : start + widths[k]] = part.scaled(made[k])
        made[k], start = np.empty((0, 0)), start + widths[k]  # columns are let go of as they are copied
    return Prepared(X, [name for part in parts for name in part.names()], rows, parts, missing, left_out)


def _rows_in_use(table: Table, columns: Sequence[Column], missing: str) -> np.ndarray:
    """All rows, or those without a missing cell."""
    if missing != "drop":
        return np.arange(table.n_rows)
    lacking = np.zeros(table.n_rows, dtype=bool)
    for column in columns:
        lacking |= column.missing()
    if lacking.all():
        raise ValueError(f"{table.source}: every row misses something, so that --missing drop leaves none.")
    return np.flatnonzero(~lacking)


def _turning(cyclic: Sequence[str], names: Sequence[str]) -> dict[int, str]:
    """The period of every column that turns, by its place among the columns in use."""
    found = {}
    for text in cyclic:
        name, colon, period = text.rpartition(":")
        if not colon or not period:
            raise ValueError(f"--cyclic {text!r}: give COLUMN:PERIOD, such as month:12, hour:24 or when:year.")
        found[find(name, names, "--cyclic")] = period.strip()
    return found
