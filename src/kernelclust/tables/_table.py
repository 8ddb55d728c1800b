"""Tables as they are read, and the problems of a file, which are reported all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelclust._input import quoted

MISSING = frozenset(["", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-", "."])  # in any case of letters
MAX_EXACT = 2.0**53  # below which every integer is a float
MAX_PROBLEMS = 20  # problems of a file that a message lists


@dataclass(frozen=True)
class Column:
    """Numbers, NaN where they are missing; or, with `texts`, the index of each cell's text there, -1 where missing."""

    name: str
    values: np.ndarray  # (m,) float, or int where there are texts
    texts: Sequence[str] | None = None
    bad_rows: Sequence[int] = ()  # rows of a column of numbers whose cell is not a number
    bad_text: str = ""  # the first of these cells

    def missing(self) -> np.ndarray:
        """Return a mask (m,) of the cells without a value."""
        return np.isnan(self.values) if self.texts is None else self.values < 0

    def as_texts(self) -> list[str]:
        """Return every cell as text."""
        if self.texts is None:
            return ["" if np.isnan(value) else written(value) for value in self.values.tolist()]
        return ["" if code < 0 else self.texts[code] for code in self.values.tolist()]


def written(value: float) -> str:
    """Return the shortest text that gives the number again, integers without a point.

    Examples
    --------
    >>> written(2.0), written(0.1), written(2.0**53), written(1e300)
    ('2', '0.1', '9007199254740992', '1e+300')
    """
    return f"{value:.0f}" if value.is_integer() and abs(value) <= MAX_EXACT else repr(value)


@dataclass(frozen=True)
class Problem:
    """One problem of a file; `option` is the command-line option that would settle it, if one would."""

    where: str
    what: str
    solution: str
    option: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.solution}." if self.where else f"{self.what}; {self.solution}."


@dataclass(frozen=True)
class Table:
    """The content of a file; `notes` are decisions that a user should know."""

    source: str
    columns: list[Column]
    about: list[Column] = field(default_factory=list)  # information about rows that is not clustered: ids, labels
    lines: np.ndarray | None = None  # line of each row in a text file
    notes: list[str] = field(default_factory=list)
    has_names: bool = True
    ids: Column | None = None  # names of the rows, if the format has them
    matrix: Any = None  # a sparse matrix, which has no columns
    problems: list[Problem] = field(default_factory=list)  # found while reading
    decimal: str | None = None  # the decimal sign, "" if it is not known; None for formats without one
    images: np.ndarray | None = None  # (n, h, w) or (n, h, w, 3), where the rows are pictures
    image_size: str | None = None  # WxHxCHANNELS that picture files were resized to
    row_name: Callable[[int], str] | None = None  # of rows in messages, where they are not lines of one file

    @property
    def n_rows(self) -> int:
        return self.matrix.shape[0] if self.matrix is not None else len(self.columns[0].values)

    def row(self, at: int) -> str:
        """Return the name of a row in a message."""
        if self.row_name is not None:
            return self.row_name(at)
        return f"row {at}" if self.lines is None else f"line {self.lines[at]}"

    def cell(self, at: int, column: Column) -> str:
        """Return the name of a cell in a message."""
        return f"{self.row(at)}, column {quoted(column.name)}"


class Problems(ValueError):
    """List all problems of a file, one per line, and the options that would settle them."""

    def __init__(self, source: str, problems: Sequence[Problem]):
        self.problems = list(problems)
        super().__init__("\n".join(self._lines(source)))

    def _lines(self, source: str) -> list[str]:
        if len(self.problems) == 1:
            return [f"{source}, {self.problems[0]}"]
        lines = [f"{source}, {len(self.problems)} problems:", *(f"  {one}" for one in self.problems[:MAX_PROBLEMS])]
        if len(self.problems) > MAX_PROBLEMS:
            lines.append(f"  and {len(self.problems) - MAX_PROBLEMS} more.")
        options = list(dict.fromkeys(one.option for one in self.problems if one.option))
        if len(options) > 1:
            dropped = [option.removeprefix("--drop ") for option in options if option.startswith("--drop ")]
            others = [option for option in options if not option.startswith("--drop ")]
            options = [*([f"--drop {','.join(dropped)}"] if dropped else []), *others]
            first = "" if all(one.option for one in self.problems) else ", once what has no option is corrected"
            lines.append(f"  To try{first}: {' '.join(options)}")
        return lines


def refuse(source: str, problems: Sequence[Problem]) -> None:
    """Raise `Problems` if there are any."""
    if problems:
        raise Problems(source, problems)


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
    """Return True if a cell is empty or spells a missing value, such as NA."""
    return cell.strip().lower() in MISSING


def named(texts: Sequence[str], names: Sequence[str]) -> list[bool]:
    """Return which of the columns `names` are in `texts`, by name or, where no column is called so, by number from 1.

    Examples
    --------
    >>> named(["b", "1"], ["a", "b", "c"]), named(["2"], ["0", "1", "2"])
    ([True, True, False], [False, False, True])
    """
    numbers = set(texts) - set(names)
    return [name in texts or str(number) in numbers for number, name in enumerate(names, start=1)]
