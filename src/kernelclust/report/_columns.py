"""Columns as people know them: numbers with their digits and units, categories, dates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelclust.plots import column_profile, differing_columns

N_DIGITS = 3  # significant ones, of the difference between clusters
MAX_PLAIN = 1e9  # numbers from here on have exponents
SHOWN = 3  # columns that a cluster is described by
CLEAR = 0.5  # standard deviations from the mean of all rows, from which a column describes a cluster
LOW_HIGH = ("low:", "high:")


@dataclass(frozen=True)
class TableColumn:
    """One column of a table: its name, its numbers, and how means of them are written.

    Parameters
    ----------
    name : str
    values : array of shape (m,) or (m, 2)
        Numbers; or cosine and sine of a column that turns, such as the hour of the day.
    write : function of a number, optional
        The text of a mean; of a column that turns, of its fraction of the period. By default the number, with as many
        digits as the clusters differ in.
    words : pair of str
        What stands between the name and a mean that is below, or above, that of all rows.
    """

    name: str
    values: np.ndarray
    write: Callable[[float], str] | None = None
    words: tuple[str, str] = LOW_HIGH


def readable(value: float, scale: float) -> str:
    """Return a number for people, with the digits that matter where numbers differ by `scale`.

    Examples
    --------
    >>> readable(33585.2, 12000.0), readable(-2.776e-17, 1.0), readable(0.12345, 0.01), readable(5e-12, 1e-12)
    ('33,585', '0', '0.1235', '5e-12')
    """
    scale = abs(scale) or abs(value) or 1.0
    if abs(value) >= MAX_PLAIN or scale < 1e-6:
        return f"{value:.{N_DIGITS}g}" if abs(value) > 1e-9 * scale else "0"
    digits = int(np.clip(N_DIGITS - 1 - np.floor(np.log10(scale)), 0, 9))
    text = f"{value:,.{digits}f}"
    whole, point, decimals = text.partition(".")
    text = whole + (point + decimals.rstrip("0")).rstrip(".")
    return "0" if text in ("-0", "0") else text


@dataclass
class Profile:
    """Means of the columns in every cluster, as texts (c, d) and in standard deviations from the mean of all rows."""

    names: list[str]
    texts: list[list[str]]  # of each column, one for each cluster
    scores: np.ndarray  # (c, d); NaN for an empty cluster
    sizes: np.ndarray  # (c,)
    words: list[tuple[str, str]]  # of each column, below and above the mean

    @classmethod
    def of(cls, X: Any, labels: np.ndarray, n_clusters: int, names: list[str]) -> Profile:
        """Return the profile of the columns of X (m, d), which may be sparse."""
        means, scores = column_profile(X, labels, n_clusters)
        texts = [_written(column) for column in means.T]
        return cls(names, texts, scores, np.bincount(labels, minlength=n_clusters), [LOW_HIGH] * len(names))

    @classmethod
    def of_table(cls, columns: Sequence[TableColumn], labels: np.ndarray, n_clusters: int) -> Profile:
        """Return the profile of columns that say how they are written."""
        texts, scores = [], []
        for column in columns:
            means, away = column_profile(column.values.reshape(len(labels), -1), labels, n_clusters)
            if means.shape[1] == 2:
                turn = np.round(np.arctan2(means[:, 1], means[:, 0]) / (2 * np.pi), 9) % 1.0
                texts.append(_written(turn, column.write))
                scores.append(np.sqrt((away**2).mean(axis=1)))
            else:
                texts.append(_written(means[:, 0], column.write))
                scores.append(away[:, 0])
        sizes = np.bincount(labels, minlength=n_clusters)
        names, words = [column.name for column in columns], [column.words for column in columns]
        return cls(names, texts, np.column_stack(scores), sizes, words)

    def telling(self, cluster: int) -> list[str]:
        """Return the columns by which a cluster differs most from all rows, in words."""
        row = np.nan_to_num(self.scores[cluster])
        order = np.argsort(-np.abs(row), kind="stable")[:SHOWN]
        return [
            f"{self.names[k]} {self.words[k][int(row[k] > 0)]} {self.texts[k][cluster]}"
            for k in order
            if abs(row[k]) >= CLEAR
        ]

    def columns(self, most: int) -> np.ndarray:
        """Return the columns that differ most between clusters, in the order that they have; constant ones never."""
        shown = differing_columns(self.scores, self.sizes, most)
        differ = [np.nan_to_num(self.scores[:, k]).any() or len({*self.texts[k]} - {""}) > 1 for k in shown]
        return shown[np.array(differ, dtype=bool)]


def _written(means: np.ndarray, write: Callable[[float], str] | None = None) -> list[str]:
    """Return the texts of means, empty for a cluster without samples."""
    finite = means[np.isfinite(means)]
    scale = float(np.ptp(finite)) if len(finite) else 0.0
    texts = []
    for mean in means.tolist():
        text = "" if not np.isfinite(mean) else readable(mean, scale) if write is None else write(mean)
        texts.append(text)
    return texts
