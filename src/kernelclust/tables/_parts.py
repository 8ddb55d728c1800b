"""What a column of a file becomes: numbers as they are, a column a category, or a place on a circle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from kernelclust._input import quoted
from kernelclust.tables._dates import TURNS, parse_date
from kernelclust.tables._problems import Problem
from kernelclust.tables._table import Column, Table

NUMBER, ONE_HOT, CYCLIC = "number", "one-hot", "cyclic"
TINY = 1e-12


@dataclass(frozen=True)
class Part:
    """One column; `fill` stands in for what is missing, the most frequent text among categories."""

    column: str
    kind: str
    fill: float = 0.0  # categories: the place of the text
    texts: tuple[str, ...] = ()  # of categories
    period: float | str = 1.0  # of what turns: a number, or what of dates
    written: str = ""  # how dates are
    middle: tuple[float, ...] = ()  # where columns are standardised
    unit: float = 1.0

    def names(self) -> list[str]:
        if self.kind == ONE_HOT:
            return [f"{self.column}={text}" for text in self.texts]
        return [self.column] if self.kind == NUMBER else [f"cos {self.column}", f"sin {self.column}"]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"texts": list(self.texts), "middle": list(self.middle)}

    @staticmethod
    def from_dict(given: Mapping[str, Any]) -> Part:
        return Part(**{**given, "texts": tuple(given["texts"]), "middle": tuple(given["middle"])})

    def recoded(self, column: Column) -> Column:
        """A new column in the terms of this one: texts that the fit did not see count as missing."""
        if self.kind == ONE_HOT:
            known = {text: k for k, text in enumerate(self.texts)}
            texts = column.texts if column.texts is not None else column.as_texts()
            code = np.array([known.get(text, -1) for text in texts] + [-1])
            codes = code[column.values] if column.texts is not None else code[:-1]
            return Column(column.name, codes, self.texts)
        if self.written:
            return turning_dates(column, self.written, str(self.period))
        return column

    def made(self, column: Column, rows: np.ndarray) -> np.ndarray:
        """Numbers (n, k) of some rows."""
        missing = column.missing()
        values = column.values if len(rows) == len(column.values) else column.values[rows]
        if missing.any():
            values = np.where(missing[rows], self.fill, values)
        if self.kind == NUMBER:
            return values[:, None]
        if self.kind == ONE_HOT:
            return (values[:, None] == np.arange(len(self.texts))).astype(np.float64)
        angle = 2 * np.pi * values / (1.0 if self.written else float(self.period))
        return np.column_stack([np.cos(angle), np.sin(angle)])

    def in_units_of(self, values: np.ndarray) -> Part:
        """Mean 0 and variance 1; several columns that were one share that variance."""
        size = float(np.abs(values).max(initial=0.0)) or 1.0  # variances of huge numbers would overflow
        small = values / size
        middle = small.mean(axis=0)
        spread = float(np.sqrt(small.var(axis=0).sum()))
        return replace(self, middle=tuple((middle * size).tolist()), unit=spread * size if spread > TINY else 1.0)

    def scaled(self, values: np.ndarray) -> np.ndarray:
        return values if not self.middle else (values - np.array(self.middle)) / self.unit

    def unscaled(self, values: np.ndarray) -> np.ndarray:
        return values if not self.middle else values * self.unit + np.array(self.middle)


def turning_dates(column: Column, written: str, turn: str) -> Column:
    """Dates as shares of a turn; NaN where a text is none."""
    shares = []
    for text in column.texts or ():
        when = parse_date(text, written)
        shares.append(np.nan if when is None else TURNS[turn](when))
    return Column(column.name, np.array([*shares, np.nan])[column.values])


def problems_of_new(table: Table, part: Part, given: Column, new: Column, missing: str) -> list[Problem]:
    """What stands in the way of new rows."""
    if given.n_bad and part.kind != ONE_HOT:
        row, text = given.bad
        what = f"{quoted(text)} is not a number" + _count(given.n_bad, len(given.values))
        return [Problem(_where(table, row, given), what, "correct it")]
    if new.texts is not None and part.kind != ONE_HOT:
        row = int(np.argmax(new.values >= 0))
        what = f"{quoted(new.texts[new.values[row]])} is text, where the fit had numbers"
        return [Problem(_where(table, row, given), what, "correct it")]
    values = new.values
    if new.texts is None and np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        return [Problem(_where(table, row, given), f"'{values[row]}' is not finite", "correct it")]
    lacking = new.missing()
    if missing != "error" or not lacking.any():
        return []
    row = int(np.argmax(lacking))
    unseen = not given.missing()[row]
    text = given.as_texts()[row]
    what = (f"{quoted(text)} was not in the fitted file" if unseen else "the cell is empty") + _count(
        int(lacking.sum()), len(values)
    )
    return [Problem(_where(table, row, given), what, "add --missing drop or --missing median", "--missing drop")]


def _where(table: Table, row: int, column: Column) -> str:
    return f"{table.row(row)}, column {quoted(column.name)}"


def _count(n: int, of: int) -> str:
    return f" ({n} such cells of {of})" if n > 1 else ""
