"""The default that needs no choice: the mean of commute kernels over three views of X and three sizes of graph.

Views: X as given, columns standardised, rows scaled to length one. In each, neighbours of three numbers make three
graphs (1, 1.5 and 2 x clip(m / 2c, 3, 10)), each a commute kernel as in kernel="graph", scaled to trace m; K is their
mean. It stands for "neighbours are alike, whatever the units": images, cells, text. For round groups in few, well
chosen columns kernel="rbf" is as good or better. Beyond `DENSE_UP_TO` samples each kernel keeps its smoothest
functions alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils.sparsefuncs import mean_variance_axis

from kernelclust.kernels._graphs import (
    commute_factor,
    commute_kernel,
    distinct_rows,
    n_neighbors_for,
    neighbour_graphs,
)

SIZES = (1.0, 1.5, 2.0)
DENSE_UP_TO = 3000
FEW_COLUMNS = 4
FUNCTIONS = 10  # beyond 2c that are kept of each graph


@dataclass
class View:
    """One way to look at samples: x -> (x - shift) / scale, or x / |x|."""

    name: str
    shift: np.ndarray | None = None
    scale: np.ndarray | float = 1.0
    unit_rows: bool = False

    def __call__(self, X):
        if self.unit_rows:
            return _rounded(normalize(X / self.scale))
        if sparse.issparse(X):
            return (X @ sparse.diags_array(np.broadcast_to(1 / self.scale, X.shape[1]))).tocsr()
        return (X - self.shift) / self.scale


def _rounded(Z):
    """Directions that differ by rounding alone are made equal."""
    if sparse.issparse(Z):
        Z.data = np.round(Z.data, 12)
        return Z
    return np.round(Z, 12)


def views(X, weight: np.ndarray) -> list[View]:
    """The views that say something: directions are left out where they hardly tell samples apart, and in fewer than
    `FEW_COLUMNS` columns, where the length is too much to lose."""
    unit = float(abs(X).max()) or 1.0
    unit = unit if not 1e-100 < unit < 1e100 else 1.0
    Z = X / unit
    if sparse.issparse(X):
        mean, variance = None, mean_variance_axis(Z.tocsr(), axis=0, weights=weight)[1]
    else:
        share = weight / weight.sum()
        mean = share @ Z
        variance = share @ (Z - mean) ** 2
        mean = mean * unit
    deviation = np.sqrt(variance)
    deviation = np.where(deviation > 1e-12 * deviation.max(), deviation, 1.0) * unit
    directions = View("unit rows", scale=unit, unit_rows=True)
    found = [View("given", mean, unit), View("standardised", mean, deviation)]
    if X.shape[1] >= FEW_COLUMNS and 2 * len(distinct_rows(directions(X))[0]) > len(distinct_rows(X)[0]):
        found.append(directions)
    return found


@dataclass
class Member:
    """One of the graphs: its view, its size, and the smoothest functions on it, B (m x k)."""

    view: str
    size: float
    B: np.ndarray


def fit_members(X, weight: np.ndarray, found: list[View], n_clusters: int, n_functions: int | None, *, dense: bool):
    """(K, members): the mean kernel (m x m), or None, and every graph's own factor, each of trace one a sample."""
    share = weight / weight.sum()
    K, members = None, []
    for view in found:
        Z = view(X)
        first, which = distinct_rows(Z)
        if len(first) < 2:
            continue
        numbers = [n_neighbors_for(len(first), n_clusters, size) for size in SIZES]
        for size, W in zip(SIZES, neighbour_graphs(Z[first], numbers), strict=True):
            B = commute_factor(W, n_functions or 2 * n_clusters + FUNCTIONS)[which]
            B -= share @ B
            members.append(Member(view.name, size, B / np.sqrt(share @ np.einsum("ij,ij->i", B, B))))
            if not dense:
                continue
            one = commute_kernel(W)
            whole = np.bincount(which, share, minlength=len(first))
            one /= whole @ np.diagonal(one) - whole @ one @ whole
            if len(first) < len(which):
                one = one[np.ix_(which, which)]
            K = one if K is None else np.add(K, one, out=K)
    if K is not None:
        K /= len(members)
    return K, members


def fit(X, weight, *, n_clusters, method, n_components, rng):
    from kernelclust.kernels._graph_fit import fit_auto

    return fit_auto(X, weight, n_clusters, method, n_components)
