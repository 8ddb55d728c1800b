"""New samples: their similarity sums with what was fitted, x -> sum_i k(x, x_i) C_i (n, c), k centred.

A fitted kernel hands out such a function for given coefficients C (m, c): the labels of clusters, or any combination.
It holds no kernel matrix. `own` (n,) is k(x, x), centred too, for kernels that are scaled to a unit diagonal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree
from sklearn.neighbors import KDTree, NearestNeighbors
from sklearn.utils.extmath import row_norms

from kernelclust._arrays import parts
from kernelclust._threads import in_order, n_threads, one_openmp_thread
from kernelclust.kernels._base import Kernel
from kernelclust.kernels._function import SimilarityFunction
from kernelclust.kernels.operators import KernelOperator, row_blocks

COMPARED = 5  # fitted samples that a new one is compared with, the nearest
MAX_TREE_COLUMNS = 32
N_TREE_QUERIES, TREE_NEIGHBOURS = 50, 15  # that a tree is tried with
LEAF = 30  # samples that a tree compares one by one
MAX_TREE_WORK = 2.5  # fraction of the samples that a search of a tree compares, times the columns; above, products win
AT_ONCE = 2**26  # distances that are computed at a time on a device
ROUNDING = 1e-7  # of the length of a sample: distances up to it, by products of samples, are rounding


class NewSamples(ABC):
    """Sums (n, c) and own similarities (n,) of new samples."""

    @abstractmethod
    def both(self, X_new) -> tuple[np.ndarray, np.ndarray]:
        """(sums, own)."""

    def __call__(self, X_new) -> np.ndarray:
        return self.checked(X_new)[0]

    def checked(self, X_new) -> tuple[np.ndarray, np.ndarray]:
        """(sums, own), or an error where samples are beyond floating point."""
        sums, own = self.both(X_new)
        if not np.isfinite(sums).all():
            row = int(np.flatnonzero(~np.isfinite(sums).all(axis=1))[0])
            raise ValueError(f"similarities of new sample {row} overflow: it is too far away.")
        return sums, own


class Source(ABC):
    """The means to compare new samples with the fitted ones."""

    between_fitted_only = False  # whether the kernel has no value for new samples but through the fitted ones

    @abstractmethod
    def combination(self, operator: KernelOperator, C: np.ndarray, image: np.ndarray | None = None) -> NewSamples:
        """X -> sum_i k(x, x_i) C_i; `image` is operator @ C where that is known."""


# -- by the kernel function, or with similarities that the user brings -------------------------------------------------


@dataclass(frozen=True)
class Function(Source):
    """k(x, x_i) by a function, or given (None)."""

    function: SimilarityFunction | None
    Z: Any = None  # prepared fitted samples

    def combination(self, operator, C, image=None) -> NewSamples:
        share = operator.share
        own = float(operator.raw_diagonal().mean()) if self.function is None else 0.0
        return _Compared(self.function, self.Z, np.column_stack([C, share]), operator.mean_sums(C), operator.mean, own)


@dataclass(frozen=True)
class _Compared(NewSamples):
    function: SimilarityFunction | None
    Z: Any
    columns: np.ndarray  # (m, c + 1): coefficients, and shares of the samples
    means: np.ndarray  # (c,)
    mean: float
    typical: float  # k(x, x) where it cannot be computed

    def both(self, X_new):
        n, f = X_new.shape[0], self.function
        Z_new = X_new if f is None else f.prepare(X_new)
        raw = np.empty((n, self.columns.shape[1]))

        def fill(rows: slice) -> None:
            with np.errstate(over="ignore", invalid="ignore"):
                raw[rows] = (Z_new[rows] if f is None else f(Z_new[rows], self.Z)) @ self.columns

        blocks = row_blocks(n, len(self.columns), 2**21)
        for _ in in_order(fill, blocks) if f is None or f.in_threads else map(fill, blocks):
            pass
        with np.errstate(over="ignore", invalid="ignore"):
            own = np.full(n, self.typical) if f is None else f.own(Z_new)
            near = raw[:, -1]
            sums = raw[:, :-1] - np.outer(near, self.columns[:, :-1].sum(axis=0)) - self.means
            return sums, own - 2 * near + self.mean


@dataclass(frozen=True)
class Projected(Source):
    """Given similarities under the positive part K+ = B B' of their matrix K, B = D^-1/2 U diag(values)^1/2: a new
    sample is seen from the eigenvectors U that are left, x -> sum_i k(x, x_i) (D B diag(values)^-1 B' C)_i.
    """

    given: KernelOperator  # K
    values: np.ndarray  # (r,)

    def combination(self, operator, C, image=None) -> NewSamples:
        B, weight = operator.factor, operator.weight
        C = weight[:, None] * (B @ ((B.T @ C) / self.values[:, None]))
        columns, typical = np.column_stack([C, np.zeros(len(C))]), operator.trace() / float(weight.sum())
        return _Compared(None, None, columns, self.given.mean_sums(C), 0.0, typical)  # type: ignore[attr-defined]


# -- by features -------------------------------------------------------------------------------------------------------


class FeatureMap(ABC):
    """Features x -> b(x)."""

    @abstractmethod
    def __call__(self, X_new: Any) -> Any:
        """b(x), a row a sample."""

    def parts(self) -> tuple[Callable, np.ndarray | None]:
        """(r, T) with b(x) = r(x) T; T is None where r is b."""
        return self, None

    def array(self, xp: Any, X_new: Any) -> Any:
        """Return the same sums for arrays of any array API namespace."""
        raise NotImplementedError(f"{type(self).__name__} is computed on the host alone.")


@dataclass(frozen=True)
class Features(Source):
    """k(x, x_i) = <b(x) - offset, b(x_i) - offset>."""

    features: FeatureMap

    def parts(self) -> tuple[Callable, np.ndarray | None]:
        """(r, T) with b(x) = r(x) T: sums of r are enough where sums of b are wanted."""
        return self.features.parts()

    def combination(self, operator, C, image=None) -> NewSamples:
        return _Mapped(self.features, operator.offset, (operator.factor.T @ C).T)


@dataclass(frozen=True)
class _Mapped(NewSamples):
    features: Callable
    offset: np.ndarray
    sums: np.ndarray  # (c, d)

    def both(self, X_new):
        n = X_new.shape[0]
        sums, own = np.empty((n, len(self.sums))), np.empty(n)
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in row_blocks(n, max(self.sums.shape[1], X_new.shape[1])):
                B = self.features(X_new[rows])
                B = (B.toarray() if sparse.issparse(B) else B) - self.offset
                sums[rows], own[rows] = B @ self.sums.T, np.einsum("ij,ij->i", B, B)
        return sums, own


@dataclass
class LandmarkFeatures(FeatureMap):
    """b(x) = k(x, landmarks) M."""

    function: SimilarityFunction | None
    landmarks: Any  # prepared samples, or column numbers of a given matrix
    M: np.ndarray

    def parts(self) -> tuple[Callable, np.ndarray]:
        return Landmarks(self.function, self.landmarks), self.M

    def __call__(self, X_new) -> np.ndarray:
        return Landmarks(self.function, self.landmarks)(X_new) @ self.M

    def array(self, xp, X_new):
        function = self.function
        assert function is not None

        def there(values):
            return xp.asarray(values, dtype=X_new.dtype, device=X_new.device)

        Z = X_new if function.shift is None else X_new - there(function.shift)
        return function.kernel.array_block(xp, Z / float(function.scale), there(self.landmarks)) @ there(self.M)


@dataclass(eq=False, repr=False)
class LearnedKernel(Kernel):
    """k(x, y) = <b(x), b(y)> with features that a fitted kernel learned."""

    has_features = True

    learned: FeatureMap

    def features(self, X):
        return self.learned(X)

    def array_features(self, xp, X):
        return self.learned.array(xp, X)


@dataclass
class Landmarks:
    """x -> k(x, landmarks)."""

    function: SimilarityFunction | None
    landmarks: Any

    def __call__(self, X_new) -> np.ndarray:
        if self.function is None:
            return X_new[:, self.landmarks]
        return self.function(self.function.prepare(X_new), self.landmarks)


@dataclass
class FrequencyFeatures(FeatureMap):
    """b(x) = [cos(x W), sin(x W)] / sqrt(number of frequencies)."""

    function: SimilarityFunction
    W: np.ndarray

    def __call__(self, X_new) -> np.ndarray:
        Z = self.function.prepare(X_new) @ self.W
        return np.hstack([np.cos(Z), np.sin(Z)]) / np.sqrt(self.W.shape[1])


@dataclass
class ExactFeatures(FeatureMap):
    """b(x) of a kernel that is an inner product of features."""

    function: SimilarityFunction

    def __call__(self, X_new):
        return self.function.kernel.features(self.function.prepare(X_new))


# -- by the nearest fitted samples, for kernels that exist only between these ------------------------------------------


def neighbour_search(Z: Any) -> cKDTree | NearestNeighbors:
    """Return the faster search for neighbours among samples Z: a tree where samples fill few dimensions.

    One core, 10 000 samples, time of the tree over that of products: 0.2 on curves in 10 columns (work 0.4), for normal
    samples 0.3 in 5 columns (work 0.5), 0.7 in 7 (1.4), 1.0 in 8 (2.5), 1.9 in 10 (5.7).
    """
    if not sparse.issparse(Z) and Z.shape[1] <= MAX_TREE_COLUMNS:
        tree = KDTree(Z, leaf_size=LEAF)  # this one counts what it compares
        queries = Z[np.unique(np.linspace(0, len(Z) - 1, N_TREE_QUERIES).astype(int))]
        tree.query(queries, k=min(TREE_NEIGHBOURS, len(Z)), return_distance=False)
        if tree.get_n_calls() / (len(queries) * len(Z)) * Z.shape[1] <= MAX_TREE_WORK:
            return cKDTree(Z, leafsize=LEAF)  # half the time of the other
    return NearestNeighbors(algorithm="brute").fit(Z)


def nearest(search: cKDTree | NearestNeighbors, Z: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return distances (n, k), ascending, and indices (n, k) of the samples of a search nearest to each row of Z."""
    if isinstance(search, NearestNeighbors):
        with one_openmp_thread():
            return search.kneighbors(Z, k)
    return search.query(Z, range(1, k + 1), workers=n_threads())


def nearest_others(search: cKDTree | NearestNeighbors, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return distances (m, k), ascending, and indices (m, k) of the k < m samples of a search nearest to each other."""
    if isinstance(search, NearestNeighbors):
        with one_openmp_thread():
            distance, index = search.kneighbors(n_neighbors=k)
        return distance.astype(np.float64), index
    distance, index = nearest(search, search.data, k + 1)
    itself = index == np.arange(len(index))[:, None]
    itself[~itself.any(axis=1), k] = True  # behind others that are as near
    return distance[~itself].reshape(-1, k), index[~itself].reshape(-1, k)


@dataclass
class NeighbourSearch:
    """The nearest of the fitted samples, as one view of the samples sees them."""

    Z: Any  # fitted samples, prepared
    samples: np.ndarray  # which fitted sample a found row is
    prepare: Callable
    search: cKDTree | NearestNeighbors = field(init=False)

    def __post_init__(self) -> None:
        if len(self.samples) != self.Z.shape[0]:
            raise ValueError(f"{self.Z.shape[0]} rows to search, but names of {len(self.samples)} samples.")
        self.search = neighbour_search(self.Z)

    def __call__(self, X_new) -> tuple[np.ndarray, np.ndarray]:
        """Weights (n, k) that fall with distance, and the samples (n, k) they belong to."""
        weight, index = self.rows(X_new)
        return weight, self.samples[index]

    def rows(self, X_new) -> tuple[np.ndarray, np.ndarray]:
        """Weights (n, k) that fall with distance, and the rows (n, k) of Z that they belong to."""
        Z = self.prepare(X_new)
        if not sparse.issparse(Z):
            far = np.sqrt(np.finfo(Z.dtype).max) / 1e4  # squares of distances beyond would overflow
            Z = np.clip(Z, -far, far)
        distance, index = nearest(self.search, Z, min(COMPARED, self.Z.shape[0]))
        closest, rounding = distance[:, :1], ROUNDING * row_norms(Z)[:, None]
        apart = closest > rounding
        weight = np.where(apart, closest, 1.0) / np.where(apart, distance, 1.0)
        weight = np.where(apart, weight, distance <= rounding)  # on a fitted sample: that sample alone
        return weight / weight.sum(axis=1, keepdims=True), index

    def array(self, xp: Any, X_new: Any) -> tuple[Any, Any]:
        """Return the same for an array in double precision of the namespace xp: the nearest by products, one after the
        other, then their distances by differences.
        """
        Z = self.prepare.array(xp, X_new)  # type: ignore[attr-defined]
        far = float(np.sqrt(np.finfo(np.float64).max) / 1e4)
        Z, Y = xp.clip(Z, min=-far, max=far), xp.asarray(self.Z, dtype=Z.dtype, device=Z.device)
        away = xp.sum(Y * Y, axis=1)[None, :] - 2 * (Z @ xp.matrix_transpose(Y))
        names, found = xp.arange(Y.shape[0], device=Z.device), []
        never = xp.asarray(xp.inf, dtype=Z.dtype, device=Z.device)
        for _ in range(min(COMPARED, self.Z.shape[0])):
            found.append(xp.argmin(away, axis=1))
            away = xp.where(names[None, :] == found[-1][:, None], never, away)
        index = xp.stack(found, axis=1)
        near = xp.reshape(xp.take(Y, xp.reshape(index, (-1,)), axis=0), (*index.shape, -1))
        distance = xp.sqrt(xp.sum((near - Z[:, None, :]) ** 2, axis=2))
        closest = xp.min(distance, axis=1, keepdims=True)
        rounding = ROUNDING * xp.sqrt(xp.sum(Z * Z, axis=1, keepdims=True))
        apart, one = closest > rounding, xp.ones_like(distance)
        weight = xp.where(apart, closest, one) / xp.where(apart, distance, one)
        weight = xp.where(apart, weight, xp.astype(distance <= rounding, distance.dtype))
        return weight / xp.sum(weight, axis=1, keepdims=True), index


@dataclass
class GraphFeatures(FeatureMap):
    """b(x), view by view: the mean features of the nearest nodes of the view's graph, which are known there."""

    searches: list[NeighbourSearch]
    factors: list[np.ndarray]  # (nodes, r) of every view

    def __call__(self, X_new) -> np.ndarray:
        found = [np.empty((X_new.shape[0], 0))]
        for search, B in zip(self.searches, self.factors, strict=True):
            weight, index = search.rows(X_new)
            found.append(np.einsum("nk,nkr->nr", weight, B[index]))
        return np.hstack(found)

    def array(self, xp, X_new):
        blocks = []
        for rows in parts(int(X_new.shape[0]), max(1, AT_ONCE // max(len(B) for B in self.factors))):
            X, found = xp.astype(X_new[rows, :], xp.float64), []
            for search, B in zip(self.searches, self.factors, strict=True):
                weight, index = search.array(xp, X)
                near = xp.take(xp.asarray(B, device=X.device), xp.reshape(index, (-1,)), axis=0)
                found.append(xp.sum(weight[:, :, None] * xp.reshape(near, (*index.shape, -1)), axis=1))
            blocks.append(xp.concat(found, axis=1))
        return xp.concat(blocks) if len(blocks) > 1 else blocks[0]

    def error(self) -> float:
        """Return the share of the features of some nodes that the mean of their nearest other nodes misses."""
        missed = total = 0.0
        for search, B in zip(self.searches, self.factors, strict=True):
            some = np.unique(np.linspace(0, len(B) - 1, min(len(B), 500)).astype(int))
            index = nearest(search.search, search.Z[some], min(COMPARED + 1, len(B)))[1]
            others = [row[row != i][:COMPARED] for i, row in zip(some, index, strict=True)]
            missed += sum(np.square(B[i] - B[near].mean(axis=0)).sum() for i, near in zip(some, others, strict=True))
            total += float(np.square(B[some]).sum())
        return missed / total if total > 0 else 0.0


@dataclass(frozen=True)
class Neighbours(Source):
    """Similarities of the nearest fitted samples, averaged by distance and over searches."""

    searches: list
    between_fitted_only = True

    def combination(self, operator, C, image=None) -> NewSamples:
        return _Averaged(self.searches, operator @ C if image is None else image, operator.diagonal())


@dataclass(frozen=True)
class _Averaged(NewSamples):
    searches: list
    G: np.ndarray  # (m, c)
    diagonal: np.ndarray  # (m,)

    def both(self, X_new):
        values = np.column_stack([self.G, self.diagonal])
        total = np.zeros((X_new.shape[0], values.shape[1]))
        for search in self.searches:
            weight, index = search(X_new)
            total += np.einsum("nk,nkc->nc", weight, values[index])
        total /= len(self.searches)
        return total[:, :-1], total[:, -1]


@dataclass(frozen=True)
class Nothing(Source):
    """A kernel that the user brought as an operator: it knows no new samples."""

    def combination(self, operator, C, image=None) -> NewSamples:
        return _Unknown()


@dataclass(frozen=True)
class _Unknown(NewSamples):
    def both(self, X_new):
        raise ValueError(
            "the kernel was given as an operator, which is defined for the fitted samples only: labels_ holds their "
            "labels, and new samples cannot be assigned. Fit a kernel function or a matrix to predict."
        )


# -- under other kernels made of these ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Regressed(Source):
    """The kernel K (K + ridge I)^-1 of new samples, through the kernel it was made of."""

    operator: KernelOperator
    source: Source

    def combination(self, operator, C, image=None) -> NewSamples:
        if self.source.between_fitted_only:
            return self.source.combination(operator, C, image)
        return self.source.combination(self.operator, operator.regression(C))


@dataclass(frozen=True)
class UnitScaled(NewSamples):
    """Sums with every new sample scaled to have similarity one with itself, times `size`."""

    inner: NewSamples
    size: float
    least: float  # own similarities up to here are rounding: the sample lies on the mean

    def both(self, X_new):
        sums, own = self.inner.both(X_new)
        some = own > self.least
        scale = self.size * some / np.sqrt(np.where(some, own, 1.0))
        return sums * scale[:, None], own * scale * scale
