"""Detection of a single column that decides the clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

DECIDES, OTHERS = 0.8, 0.4  # a column decides alone from the first on, if no other one reaches the second
BINS_PER_CLUSTER = 4  # that a column of numbers is divided into
MAX_ROWS = 20_000
CHANCE_TOL = 1e-6  # of the entropy of the labels: rounding, where chance explains all of it


class Deciding(NamedTuple):
    """A column that has nearly all information about the clusters, and the next best column."""

    column: str
    information: float
    next_column: str
    next_information: float


def deciding_column(columns: Mapping[str, np.ndarray], labels: np.ndarray) -> Deciding | None:
    """Return the column that alone decides the clusters, None if there is none or only one column.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(3, size=300)
    >>> deciding_column({"country": labels + 5.0, "age": rng.standard_normal(300)}, labels).column
    'country'
    """
    found = sorted(((information(values, labels), name) for name, values in columns.items()), reverse=True)
    if len(found) < 2 or found[0][0] < DECIDES or found[1][0] > OTHERS:
        return None
    (first, name), (second, next_name) = found[:2]
    return Deciding(name, first, next_name, second)


def information(values: np.ndarray, labels: np.ndarray) -> float:
    """Return the fraction of the information about the labels that one column (m,) has, adjusted for chance.

    (I - E I) / (H - E I), with I the mutual information of labels and column, H the entropy of the labels, and E I the
    mean of I over all ways to shuffle the rows. Columns of many numbers, or of mostly different ones, are divided at
    quantiles.
    """
    rows = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), MAX_ROWS)).astype(int))
    values, labels = values[rows], labels[rows]
    bins = BINS_PER_CLUSTER * len(np.unique(labels))
    different = len(np.unique(values))
    if different > max(bins, 100) or 2 * different > len(values):  # values that occur once tell all labels
        values = np.searchsorted(np.quantile(values, np.arange(1, bins) / bins), values)
    counts = contingency_matrix(labels, values, sparse=True)
    chance = expected_mutual_information(counts, len(labels))
    most = float(entropy(np.bincount(labels)))
    if most - chance <= CHANCE_TOL * most:  # any column of these counts has the same information
        return 0.0
    return (mutual_info_score(None, None, contingency=counts) - chance) / (most - chance)
