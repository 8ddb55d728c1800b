"""Kernels as the methods see them: centred, then of unit diagonal, on the way and without a second matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numba import njit

from kernelclust.kernels import DenseKernel, LowRankKernel, one_hot, row_blocks

SMALL = 1e-12  # a diagonal entry of so much of the mean one is rounding: the sample lies on the mean


class PreparedKernel(ABC):
    """K~ = D (H K H) D (n x n) with D_ii = 1 / sqrt((H K H)_ii), and zero rows for samples that are not in this view.

    `samples` are the numbers of those that K holds (None: all); K~ is multiplied by n / len(samples), so that its trace
    is n. `affinity` gives products of K itself.
    """

    form: Literal["dense", "low_rank"]
    dtype: np.dtype

    def __init__(self, own: np.ndarray, n: int, samples: np.ndarray | None, unit: bool):
        self.n_samples, self.samples = n, samples
        self.scale = np.full(len(own), np.sqrt(n / len(own)))
        if unit:
            some = own > SMALL * np.abs(own).mean()
            self.scale *= some / np.sqrt(np.where(some, own, 1.0))
        self.diagonal = self._spread(own * self.scale**2)
        self.trace = float(self.diagonal.sum())

    def _spread(self, inside: np.ndarray) -> np.ndarray:
        """Rows for all samples from rows for those held, zero for the others."""
        if self.samples is None:
            return inside
        out = np.zeros((self.n_samples, *inside.shape[1:]), dtype=inside.dtype)
        out[self.samples] = inside
        return out

    def _held(self, V: np.ndarray) -> np.ndarray:
        return V if self.samples is None else V[self.samples]

    def __matmul__(self, V: np.ndarray) -> np.ndarray:  # (n, k) -> (n, k), one pass over K
        return self._spread(self._product(self._held(V)))

    def affinity(self, V: np.ndarray) -> np.ndarray:
        """The kernel as it was given, neither centred nor scaled, times V."""
        return self._spread(self._given_product(self._held(V)))

    def cluster_sums(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """S = Pi' K~ Pi (c x c)."""
        Pi = one_hot(labels, n_clusters, np.ones(len(labels)))
        S = Pi.T @ (self @ Pi)
        return (S + S.T) / 2

    def add_to(self, out: np.ndarray, rows: slice, coefficient: float = 1.0, by_sample: np.ndarray | None = None):
        """out += coefficient K~[rows], with K~ multiplied by a number for each sample from both sides if given."""
        held = np.arange(self.n_samples) if self.samples is None else self.samples
        first, last = np.searchsorted(held, [rows.start, rows.stop])
        size = np.ones(len(held)) if by_sample is None else by_sample[held]
        if self.samples is None:
            self._add(out, first, last, size, coefficient)
        else:
            block = np.zeros((last - first, len(held)))
            self._add(block, first, last, size, coefficient)
            out[np.ix_(held[first:last] - rows.start, held)] += block

    @abstractmethod
    def _product(self, V: np.ndarray) -> np.ndarray:
        """K~ V over the samples held."""

    @abstractmethod
    def _given_product(self, V: np.ndarray) -> np.ndarray:
        """K V over the samples held."""

    @abstractmethod
    def _add(self, out: np.ndarray, first: int, last: int, size: np.ndarray, coefficient: float) -> None:
        """out += coefficient K~[first:last], multiplied by `size` from both sides."""


class PreparedDense(PreparedKernel):
    """K is kept as it was given; row means and scales enter on the way."""

    form: Literal["dense"] = "dense"

    def __init__(self, operator: DenseKernel, n: int, samples=None, *, center: bool = True, unit: bool = True):
        self.K, self.dtype = operator.K, operator.K.dtype
        self.row_mean: np.ndarray = operator.row_mean if center else np.zeros(len(self.K))
        self.mean = operator.mean if center else 0.0
        super().__init__(np.einsum("ii->i", self.K) - 2 * self.row_mean + self.mean, n, samples, unit)

    def _product(self, V: np.ndarray) -> np.ndarray:
        U = self.scale[:, None] * V
        columns = U.sum(axis=0)
        out = _times(self.K, U)
        out -= np.outer(self.row_mean, columns) + (self.row_mean @ U - self.mean * columns)
        out *= self.scale[:, None]
        return out

    def _given_product(self, V: np.ndarray) -> np.ndarray:
        return _times(self.K, V)

    def _add(self, out, first, last, size, coefficient) -> None:
        _add_prepared(out, self.K[first:last], self.row_mean, self.mean, self.scale * size, coefficient, first)


class PreparedLowRank(PreparedKernel):
    """K~ = B B'; the factor of the operator is changed in place."""

    form: Literal["low_rank"] = "low_rank"

    def __init__(self, operator: LowRankKernel, n: int, samples=None, *, center: bool = True, unit: bool = True):
        if not center:
            operator.B += operator.offset.astype(operator.B.dtype)
            operator.offset = np.zeros_like(operator.offset)
        super().__init__(operator.diagonal(), n, samples, unit)
        self.operator, self.B, self.offset, self.dtype = operator, operator.B, operator.offset, operator.B.dtype
        self.B *= self.scale[:, None].astype(self.B.dtype)

    def _product(self, V: np.ndarray) -> np.ndarray:
        return _times(self.B, _times_transposed(self.B, V))

    def _given_product(self, V: np.ndarray) -> np.ndarray:  # rows were b_i / scale_i + offset
        back = np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)[:, None]
        features = _times_transposed(self.B, back * V) + np.outer(self.offset, V.sum(axis=0))
        return back * _times(self.B, features) + self.offset @ features

    def _add(self, out, first, last, size, coefficient) -> None:
        out += (coefficient * size[first:last, None] * (self.B[first:last] @ self.B.T) * size).astype(out.dtype)

    def cluster_sums(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        sums = self.feature_sums(labels, n_clusters)
        return sums @ sums.T

    def feature_sums(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """Pi' B (c x d)."""
        return self.operator.feature_sums(self._held(labels), n_clusters)

    @property
    def factor(self) -> np.ndarray:
        """B (n x d) for all samples."""
        return self._spread(self.B)


def prepare(operator: DenseKernel | LowRankKernel, n: int | None = None, samples=None, *, center=True, unit=True):
    """A kernel over some of n samples (all by default) as the methods see it."""
    n = operator.n_samples if n is None else n
    if operator.form == "dense":
        return PreparedDense(operator, n, samples, center=center, unit=unit)
    return PreparedLowRank(operator, n, samples, center=center, unit=unit)


class Combined:
    """sum_p c_p diag(t_p) K~_p diag(t_p), known by its products and rows: no matrix beside those of the kernels."""

    form: Literal["rows"] = "rows"

    def __init__(self, kernels: Sequence[PreparedKernel], coefficients: np.ndarray, by_sample: np.ndarray | None):
        self.kernels, self.coefficients = kernels, coefficients
        self.n_samples = kernels[0].n_samples
        self.weight = np.ones(self.n_samples)
        self.by_sample = [None if by_sample is None else by_sample[:, p] for p in range(len(kernels))]

    def _parts(self):
        return zip(self.kernels, self.coefficients, self.by_sample, strict=True)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        out = np.zeros(V.shape)
        for kernel, c, t in self._parts():
            out += c * (kernel @ V) if t is None else c * t[:, None] * (kernel @ (t[:, None] * V))
        return out

    def row(self, i: int) -> np.ndarray:
        out = np.zeros((1, self.n_samples))
        for kernel, c, t in self._parts():
            kernel.add_to(out, slice(i, i + 1), c, t)
        return out[0]

    def diagonal(self) -> np.ndarray:
        return sum(c * kernel.diagonal * (1.0 if t is None else t**2) for kernel, c, t in self._parts())

    def cluster_sums(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        Pi = one_hot(labels, n_clusters, self.weight)
        S = Pi.T @ (self @ Pi)
        return (S + S.T) / 2


class PlainFactor(LowRankKernel):
    """K = B B' with B taken as it is: no centring."""

    def __init__(self, B: np.ndarray):
        self.B, self.weight, self.offset = np.ascontiguousarray(B), np.ones(len(B)), np.zeros(B.shape[1])


def combine(
    kernels: Sequence[PreparedKernel], coefficients: np.ndarray, by_sample: np.ndarray | None = None
) -> Combined | LowRankKernel:
    """sum_p c_p diag(t_p) K~_p diag(t_p) as one operator that greedy moves can climb; t_p is column p of `by_sample`.

    Factors side by side if all kernels are low rank.
    """
    used = [p for p in range(len(kernels)) if coefficients[p] > 0] or [0]
    n = kernels[0].n_samples
    factors = [kernel.factor for kernel in (kernels[p] for p in used) if isinstance(kernel, PreparedLowRank)]
    if len(factors) == len(used):
        B = np.empty((n, sum(factor.shape[1] for factor in factors)), dtype=np.result_type(*factors))
        parts = np.split(B, np.cumsum([factor.shape[1] for factor in factors])[:-1], axis=1)
        for p, factor, part in zip(used, factors, parts, strict=True):
            np.multiply(factor, np.sqrt(coefficients[p]), out=part, casting="same_kind")
            if by_sample is not None:
                part *= by_sample[:, [p]].astype(part.dtype)
        return PlainFactor(B)
    chosen = None if by_sample is None else by_sample[:, used]
    return Combined([kernels[p] for p in used], np.asarray(coefficients)[used], chosen)


@njit(cache=True, nogil=True)
def _add_prepared(out, K, row_mean, mean, scale, coefficient, first):
    """out += coefficient (K - r_i - r_j + mean) s_i s_j for rows of K from number `first` on."""
    for i in range(K.shape[0]):
        r, s = row_mean[first + i] - mean, coefficient * scale[first + i]
        for j in range(K.shape[1]):
            out[i, j] += s * scale[j] * (K[i, j] - r - row_mean[j])


def _times(B: np.ndarray, V: np.ndarray) -> np.ndarray:
    if B.dtype == np.float64:
        return B @ V
    return np.concatenate([B[rows].astype(np.float64) @ V for rows in row_blocks(*B.shape)])


def _times_transposed(B: np.ndarray, V: np.ndarray) -> np.ndarray:
    if B.dtype == np.float64:
        return B.T @ V
    return np.sum([B[rows].astype(np.float64).T @ V[rows] for rows in row_blocks(*B.shape)], axis=0)
