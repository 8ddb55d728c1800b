"""Ways to look at samples before neighbours are searched, and what they show: each is applied once in a fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils.sparsefuncs import mean_variance_axis

from kernelclust.kernels._graphs import distinct_rows
from kernelclust.kernels._new_samples import NeighbourSearch
from kernelclust.kernels._scale import robust_mean, safe_unit

FEW_COLUMNS = 6
DIGITS = 12  # of directions; those that differ by rounding alone are made equal


@dataclass
class View:
    """One way to look at samples: x -> (x / unit - shift) / scale, or x / |x|."""

    name: str
    shift: np.ndarray | None = None
    scale: np.ndarray | float = 1.0
    unit: float = 1.0
    unit_rows: bool = False

    def array(self, xp: Any, X: Any) -> Any:
        """Return the same for an array X in double precision of the namespace xp of the array API."""

        def there(values: Any) -> Any:
            return xp.asarray(values, dtype=X.dtype, device=X.device)

        X = X / self.unit
        if self.unit_rows:
            length = xp.sqrt(xp.sum(X * X, axis=1, keepdims=True))
            return xp.round(X / xp.where(length > 0, length, xp.ones_like(length)) * 10.0**DIGITS) / 10.0**DIGITS
        return (X if self.shift is None else X - there(self.shift)) / there(self.scale)

    def __call__(self, X):
        with np.errstate(over="ignore"):  # what is too far away is brought nearer where neighbours are sought
            X = X if self.unit == 1.0 else X / self.unit
            if self.unit_rows:
                return _rounded(normalize(X))
            if sparse.issparse(X):
                if self.shift is not None:
                    return (X.toarray() - self.shift) / self.scale
                return (X @ sparse.diags_array(np.broadcast_to(1 / self.scale, X.shape[1]))).tocsr()
            return (X - (0.0 if self.shift is None else self.shift)) / self.scale


@dataclass
class ViewData:
    """The samples as one view shows them."""

    view: View
    Z: Any

    @cached_property
    def _distinct(self) -> tuple[np.ndarray, np.ndarray]:
        return distinct_rows(self.Z)

    @property
    def first(self) -> np.ndarray:
        """The first sample of every kind: equal samples are one node of a graph."""
        return self._distinct[0]

    @property
    def which(self) -> np.ndarray:
        """The node of every sample."""
        return self._distinct[1]

    @cached_property
    def nodes(self) -> Any:
        return self.Z if len(self.first) == self.Z.shape[0] else self.Z[self.first]

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values of nodes (rows) for all samples."""
        return values if len(self.first) == len(self.which) else values[self.which]

    @cached_property
    def neighbours(self) -> NeighbourSearch:
        return NeighbourSearch(self.nodes, self.first, self.view)


def given_view(X, weight: np.ndarray) -> View:
    """X as given, from its mean, in units of its size where squares would leave floating point.

    Sparse X keeps its zeros, unless fewer than half of its entries are: products would lose what a mean far off hides.
    """
    unit = safe_unit(X)
    keeps_zeros = sparse.issparse(X) and 2 * X.nnz <= X.shape[0] * X.shape[1]
    if keeps_zeros:
        return View("given", unit=unit)
    mean = (weight / weight.sum()) @ (X / unit) if sparse.issparse(X) else robust_mean(X / unit, weight)
    return View("given", mean, unit=unit)


def informative_views(X, weight: np.ndarray) -> list[ViewData]:
    """X as given, with columns standardised, and with rows of length one, where that says something: directions are
    left out where they hardly tell samples apart, and in fewer than `FEW_COLUMNS` columns, where the length is too
    much to lose.

    Standardised tables of three columns that rise over five stages and two of noise: 53.1 % structured accuracy
    without directions, 48.9 % with them. Kept in more columns: pseudotime on a tree of cells in 20 principal components
    has a rank correlation of 0.88 with them, 0.74 without.
    """
    given = given_view(X, weight)
    first = ViewData(given, given(X))
    if sparse.issparse(first.Z):
        variance = mean_variance_axis((X / given.unit).tocsr().astype(np.float64), axis=0, weights=weight)[1]
        variance = np.maximum(variance, 0.0)  # of equal numbers it may be less, by rounding
    else:
        share = weight / weight.sum()
        variance = share @ (first.Z - share @ first.Z) ** 2
    deviation = np.sqrt(variance)
    deviation = np.where(deviation > 1e-12 * deviation.max(), deviation, 1.0)
    standard = View("standardised", given.shift, deviation, given.unit)
    found = [first, ViewData(standard, standard(X))]
    if X.shape[1] >= FEW_COLUMNS:
        directions = View("unit rows", unit=given.unit, unit_rows=True)
        last = ViewData(directions, directions(X))
        if 2 * len(last.first) > len(first.first):
            found.append(last)
    return found


def _rounded(Z):
    """Directions that differ by rounding alone are made equal."""
    if sparse.issparse(Z):
        Z.data = np.round(Z.data, DIGITS)
        return Z
    return np.round(Z, DIGITS)
