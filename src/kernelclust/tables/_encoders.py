"""Encoders of columns: numbers as they are, one column per category, points on a circle; stored, for new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from kernelclust.tables._table import Column

NUMBER, ONE_HOT, CYCLIC = "number", "one-hot", "cyclic"
SCALE_TOL = 1e-12  # relative spread below which a column is constant
DAY_FIRST, MONTH_FIRST = "%d/%m/%Y", "%m/%d/%Y"
CLOCKS = ("", " %H:%M", " %H:%M:%S")
DATE_FORMATS = ("iso", *(day + clock for day in ("%d.%m.%Y", "%Y/%m/%d", DAY_FIRST, MONTH_FIRST) for clock in CLOCKS))
N_DATES = 2000  # different texts by which a column of dates is recognised
PERIODS = {"year": "M8[Y]", "month": "M8[M]", "week": "M8[W]", "day": "M8[D]"}  # of dates


@dataclass(frozen=True)
class ColumnEncoder:
    """Encode one column; `fill` replaces missing values: the median, or the most frequent category."""

    column: str
    kind: str
    fill: float = 0.0  # of categories: the index of the text
    texts: tuple[str, ...] = ()  # of categories
    period: float | str = 1.0  # of a cyclic column: a number, or for dates one of `PERIODS`
    date_format: str = ""
    mean: tuple[float, ...] = ()  # if columns are standardised
    scale: float = 1.0

    def names(self) -> list[str]:
        """Return the names of the encoded columns."""
        if self.kind == ONE_HOT:
            return [f"{self.column}={text}" for text in self.texts]
        return [self.column] if self.kind == NUMBER else [f"cos {self.column}", f"sin {self.column}"]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"texts": list(self.texts), "mean": list(self.mean)}

    @staticmethod
    def from_dict(given: Mapping[str, Any]) -> ColumnEncoder:
        return ColumnEncoder(**{**given, "texts": tuple(given["texts"]), "mean": tuple(given["mean"])})

    def values(self, column: Column) -> np.ndarray:
        """Return one number per cell: itself, the index of its category, or the fraction of a period; NaN if missing.

        Categories that the encoder does not know, and texts that are no dates, are missing.
        """
        if self.kind == ONE_HOT:
            codes: Mapping[str, float] = {text: k for k, text in enumerate(self.texts)}
            if column.texts is None:
                return np.array([codes.get(text, np.nan) for text in column.as_texts()])
            return np.array([*(codes.get(text, np.nan) for text in column.texts), np.nan])[column.values]
        if self.date_format:
            return date_fractions(column, self.date_format, str(self.period))
        return column.values

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return the columns (n, k) of numbers from `values`, not standardised."""
        values = np.where(np.isnan(values), self.fill, values)
        if self.kind == NUMBER:
            return values[:, None]
        if self.kind == ONE_HOT:
            return (values[:, None] == np.arange(len(self.texts))).astype(np.float64)
        angle = 2 * np.pi * values / (1.0 if self.date_format else float(self.period))
        return np.column_stack([np.cos(angle), np.sin(angle)])

    def standardized(self, X: np.ndarray) -> ColumnEncoder:
        """Return an encoder to mean 0 and total variance 1, which several columns share."""
        size = float(np.abs(X).max(initial=0.0)) or 1.0  # variances of huge numbers would overflow
        mean, spread = (X / size).mean(axis=0), float(np.sqrt((X / size).var(axis=0).sum()))
        scale = spread * size if spread > SCALE_TOL else 1.0
        return replace(self, mean=tuple((mean * size).tolist()), scale=scale)

    def scaled(self, X: np.ndarray) -> np.ndarray:
        return X if not self.mean else (X - np.array(self.mean)) / self.scale

    def unscaled(self, X: np.ndarray) -> np.ndarray:
        return X if not self.mean else X * self.scale + np.array(self.mean)


def date_formats(texts: Sequence[str]) -> list[str]:
    """Return the date formats that fit all texts.

    Examples
    --------
    >>> date_formats(["2024-03-01", "2024-12-24 18:30"]), date_formats(["1/2/2024"]), date_formats(["red"])
    (['iso'], ['%d/%m/%Y', '%m/%d/%Y'], [])
    """
    some = texts[:N_DATES]
    if not some or not all(any(c.isdigit() for c in text) for text in some):
        return []
    return [how for how in DATE_FORMATS if all(parse_date(text, how) is not None for text in some)]


def parse_date(text: str, date_format: str) -> datetime | None:
    """Return the local time in a text, None if it has another format."""
    try:
        if date_format != "iso":
            return datetime.strptime(text, date_format)
        return datetime.fromisoformat(text).replace(tzinfo=None) if len(text) > 7 and "-" in text else None
    except ValueError:
        return None


def date_fractions(column: Column, date_format: str, period: str) -> np.ndarray:
    """Return the fraction of its period at each date, NaN where a text is no date."""
    if column.texts is None:
        return np.full(len(column.values), np.nan)
    dates = [parse_date(text, date_format) for text in column.texts]
    when = np.array([*dates, None], dtype="M8[s]")
    shift = np.timedelta64(4 if period == "week" else 0, "D")  # NumPy's weeks begin on Thursday, ours on Monday
    start = (when - shift).astype(PERIODS[period])
    begin, end = start.astype("M8[s]"), (start + 1).astype("M8[s]")
    return ((when - shift - begin) / (end - begin))[column.values]
