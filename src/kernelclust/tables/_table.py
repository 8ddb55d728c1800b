"""A table as it was read: columns of numbers, and columns of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelclust.tables._problems import Problem

MISSING = frozenset(["", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-", "."])  # in any case of letters


@dataclass(frozen=True)
class Column:
    """Numbers, NaN where they are missing; or, with `texts`, the place of every cell's text there, -1 where missing."""

    name: str
    values: np.ndarray  # (m,) float, or int where there are texts
    texts: Sequence[str] | None = None
    n_bad: int = 0  # cells among the numbers that are none
    bad: tuple[int, str] = (-1, "")  # row and text of the first

    def missing(self) -> np.ndarray:
        return np.isnan(self.values) if self.texts is None else self.values < 0

    def as_texts(self) -> list[str]:
        """Every cell as text."""
        if self.texts is None:
            return ["" if np.isnan(value) else f"{value:.15g}" for value in self.values.tolist()]
        return ["" if code < 0 else self.texts[code] for code in self.values.tolist()]


@dataclass(frozen=True)
class Table:
    """What a file holds; `notes` are decisions that a user should hear of."""

    source: str
    columns: list[Column]
    about: list[Column] = field(default_factory=list)  # known about rows, not to be clustered: ids, labels
    lines: np.ndarray | None = None  # on which the rows are, in a file of text
    notes: list[str] = field(default_factory=list)
    has_names: bool = True
    ids: Column | None = None  # where the file itself says what rows are called
    matrix: Any = None  # a sparse matrix, which has no columns
    problems: list[Problem] = field(default_factory=list)  # that reading met

    @property
    def n_rows(self) -> int:
        return self.matrix.shape[0] if self.matrix is not None else len(self.columns[0].values)

    def row(self, at: int) -> str:
        """A row as it is called in a message."""
        return f"row {at}" if self.lines is None else f"line {self.lines[at]}"


def parse_number(cell: str, decimal: str = ".") -> float | None:
    """Return the number in a cell, None for anything else (Python's own 1_000 is no number in a table).

    Examples
    --------
    >>> parse_number("1,5", ","), parse_number("1_000"), parse_number("1.500", ",")
    (1.5, None, None)
    """
    if decimal == ",":
        if "." in cell:  # which may stand between thousands
            return None
        cell = cell.replace(",", ".")
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING
