"""Columns that clusters differ in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelclust.plots._base import Display, name_ticks, places_on, predicted
from kernelclust.structures import cluster_names

MAX_COLUMNS = 30  # that are drawn
CONSTANT_TOL = 1e-12  # of the mean: a smaller standard deviation is rounding


def column_profile(X: Any, labels: NDArray, n_clusters: int) -> tuple[NDArray, NDArray]:
    """Return the means of the columns of X (m, d) in every cluster (c, d), in their own units and standardised.

    Standardised means are standard deviations from the mean of all rows, 0 for a constant column. Empty clusters have
    NaN.
    """
    m = len(labels)
    Pi = sparse.csr_array((np.ones(m), (labels, np.arange(m))), shape=(n_clusters, m))
    n = Pi.sum(axis=1)[:, None]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        means = _dense(Pi @ X) / n
        centre = _dense(np.ones((1, m)) @ X).ravel() / m
        if sparse.issparse(X):
            spread = np.sqrt(np.maximum(_dense(X.multiply(X).mean(axis=0)).ravel() - centre**2, 0))
        else:
            spread = np.std(X, axis=0)
        varies = spread > CONSTANT_TOL * np.abs(centre)
        scores = np.where(varies, (means - centre) / np.where(spread > 0, spread, 1.0), 0.0)
    return means, np.where(n > 0, np.nan_to_num(scores), np.nan)


def differing_columns(scores: NDArray, sizes: NDArray, most: int) -> NDArray:
    """Return the columns that differ most between clusters (sum of squares), in the order that they have."""
    spread = sizes @ np.nan_to_num(scores) ** 2
    return np.sort(np.argsort(-spread, kind="stable")[:most])


@dataclass
class ProfileDisplay(Display):
    """Means of columns in every cluster, in standard deviations from the mean of all samples.

    With more than 30 columns, those that differ most between clusters are shown.
    """

    profile: NDArray  # (columns, c)
    columns: list[str]
    names: list[str]
    n_columns: int

    @classmethod
    def example(cls) -> Self:
        return cls(np.array([[1.0, -1.0], [0.2, -0.2]]), ["height", "width"], ["0", "1"], 2)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, columns: Sequence[str] | None = None, ax: Any = None) -> Self:
        """Draw the clusters that the model predicts for X, by the frame's own columns."""
        return cls.from_predictions(X, predicted(model, X), getattr(model, "structure_", None), columns=columns, ax=ax)

    @classmethod
    def from_predictions(
        cls, X: Any, labels: Any, structure: Any = None, *, columns: Sequence[str] | None = None, ax: Any = None
    ) -> Self:
        """Draw any table and labels; `columns` are names to show instead of those of the frame."""
        cluster = np.asarray(labels)
        structure, c = places_on(structure, cluster)
        columns = getattr(X, "columns", None) if columns is None else columns
        table = X if sparse.issparse(X) else np.asarray(X, dtype=float)
        if table.ndim != 2 or table.shape[0] != len(cluster):
            raise ValueError(f"X has shape {table.shape}, but {len(cluster)} labels need ({len(cluster)}, d).")
        d = table.shape[1]
        columns = [f"X[:, {k}]" for k in range(d)] if columns is None else [str(one) for one in columns]
        if len(columns) != d:
            raise ValueError(f"columns has {len(columns)} names, but X has {d} columns; give one for each.")
        scores = column_profile(table, cluster, c)[1]
        shown = differing_columns(scores, np.bincount(cluster, minlength=c), MAX_COLUMNS)
        return cls(scores[:, shown].T, [columns[k] for k in shown], cluster_names(structure, c).tolist(), d).plot(ax)

    def _draw(self, ax):
        most = max(float(np.nanmax(np.abs(self.profile), initial=0.0)), 1e-12)
        image = ax.imshow(self.profile, cmap="PuOr_r", vmin=-most, vmax=most, aspect="auto")
        ax.figure.colorbar(image, ax=ax, shrink=0.8, label="standard deviations from the mean")
        name_ticks(ax, self.names, self.columns)
        left_out = self.n_columns - len(self.columns)
        title = f"the {len(self.columns)} columns that differ most, of {self.n_columns}" if left_out else "columns"
        ax.set(xlabel="cluster", title=title)


def _dense(values: Any) -> NDArray:
    return np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=float)


PART = ProfileDisplay
