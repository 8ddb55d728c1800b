"""X is the kernel: an (m, m) symmetric matrix of similarities between the samples.

Similarities that are far from positive semidefinite are refused, unless `indefinite` says what to do with the negative
eigenvalues of D^1/2 K D^1/2, K centred and D the sample weights. "clip" sets them to zero: K+ is the kernel nearest to
K, and a new sample is seen from the eigenvectors that are left. "shift" adds s D^-1 to K, with s such that none is
negative: F of a flat l2 clustering rises by s (c - 1) whatever the labels are, so that the best clusters are those of K
itself; other objectives count what a sample has in common with itself. New samples have no part in s, so `predict` goes
by K as given. Both hold one more matrix of X's size; "clip" needs a full decomposition, for a few thousand samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from kernelclust._names import check_name
from kernelclust._threads import one_thread
from kernelclust.kernels._base import Kernel
from kernelclust.kernels._fitted_kernel import FittedKernel
from kernelclust.kernels._matrix import check_precomputed
from kernelclust.kernels._new_samples import Function, Projected
from kernelclust.kernels._spectrum import EXACT, check_definite
from kernelclust.kernels.operators import DenseKernel, LowRankKernel, weighted_product

REMEDY = (
    ", or set the kernel's parameter indefinite: 'clip' sets negative eigenvalues to zero, 'shift' adds to the "
    "diagonal until none is left (kernel=Precomputed(indefinite='clip'))"
)
ROUNDING = 1e-13  # eigenvalues of so much of the largest, a sample, are rounding


@dataclass(eq=False, repr=False)
class Precomputed(Kernel):
    """Use a matrix of similarities, which is passed as X.

    Parameters
    ----------
    indefinite : "clip" or "shift", optional
        By default a matrix that is far from positive semidefinite raises an error. "clip" sets its negative eigenvalues
        to zero. "shift" adds a number s to the diagonal (s / w_i with sample weights), so that the lowest eigenvalue is
        zero.
    """

    example = 'Precomputed(indefinite="clip")'
    pairwise = True
    accepts_operators = True
    accepts_sparse = False
    sparse_advice = (
        " If it holds the links of a graph (affinities; what is not stored is no link), set kernel='precomputed_graph'."
    )
    is_function = False
    dense_limit = np.inf

    indefinite: str | None = None

    def check(self) -> None:
        check_name("indefinite", self.indefinite, [None, *_DEFINITE])

    def check_samples(self, X) -> np.ndarray:
        """Return a square, finite, symmetric matrix."""
        return check_precomputed(X)

    def fit(self, X, weight, *, n_clusters, approximation, center, rng) -> FittedKernel:
        """Return the matrix itself, or a factor of it."""
        dense = DenseKernel(X, weight, center=center)
        if self.indefinite is None:
            if approximation is None:
                return FittedKernel(dense, Function(None), remedy=REMEDY)
            check_definite(dense, REMEDY)
            return approximation.fit_matrix(X, weight, n_clusters=n_clusters, center=center, rng=rng)
        if approximation is not None:
            raise ValueError(
                f"indefinite={self.indefinite!r} of kernel='precomputed' needs the whole matrix; leave "
                f"approximation={approximation.name!r} out."
            )
        with one_thread():
            return _DEFINITE[self.indefinite](X, dense)


def _clipped(X: np.ndarray, dense: DenseKernel) -> FittedKernel:
    """B with D^1/2 B B' D^1/2 the positive part of D^1/2 K D^1/2; new samples are projected onto its eigenvectors."""
    root = np.sqrt(dense.weight)[:, None]
    K = dense.rows(np.arange(len(X)))
    K *= root
    K *= root.T
    own, size = float(np.trace(K)), float(np.abs(K).sum(axis=1).max(initial=0.0))
    least = ROUNDING * len(X) * size
    values, vectors = eigh(K, overwrite_a=True, check_finite=False, subset_by_value=(least, np.inf))
    if not len(values):
        if own < -least:
            raise ValueError("the kernel has no positive eigenvalue: 'clip' leaves nothing. Did you pass distances?")
        values, vectors = np.ones(1), np.zeros((len(X), 1))
    vectors *= np.sqrt(values) / root
    operator = LowRankKernel(vectors, dense.weight, center=dense.centred, overwrite=True)
    return FittedKernel(operator, Projected(dense, values))


def _shifted(X: np.ndarray, dense: DenseKernel) -> FittedKernel:
    """K + s D^-1, with s such that the lowest eigenvalue of D^1/2 K D^1/2 + s I is zero."""
    lift = max(-_lowest(dense), 0.0)
    K = X.astype(np.float64)  # a copy
    K[np.diag_indices(len(K))] += lift / dense.weight
    shifted = DenseKernel(K, dense.weight, center=dense.centred)
    return FittedKernel(shifted, Function(None), unshifted_operator=dense)


def _lowest(dense: DenseKernel) -> float:
    """The lowest eigenvalue of D^1/2 K D^1/2."""
    m, root = dense.n_samples, np.sqrt(dense.weight)[:, None]
    if m > EXACT:
        operator = LinearOperator((m, m), lambda v: weighted_product(dense, root, v.reshape(m, -1)), dtype=float)
        start = np.random.RandomState(0).standard_normal(m)
        try:
            return float(eigsh(operator, 1, which="SA", tol=1e-9, v0=start, return_eigenvectors=False)[0])
        except ArpackError:
            pass  # so slow to converge that a full decomposition is the better way
    K = root * dense.rows(np.arange(m)) * root.T
    return float(eigh(K, overwrite_a=True, check_finite=False, eigvals_only=True, subset_by_index=(0, 0))[0])


_DEFINITE = {"clip": _clipped, "shift": _shifted}


PART = Precomputed
