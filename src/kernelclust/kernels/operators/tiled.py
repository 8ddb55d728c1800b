"""A kernel that is exact and never stored: every pass makes its entries anew, tile by tile."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from kernelclust.kernels import _tiles
from kernelclust.kernels.operators._base import Centring, KernelOperator

CLOSE = 128  # samples whose own similarity is computed at a time


class TiledKernel(KernelOperator):
    """K_ij = function(z_i, z_j) for prepared samples Z (m x d), made when asked for; memory grows with m alone.

    Entries are computed in `dtype`, sums in double precision. The first pass, whatever it is for, also brings the
    means that centring needs and the squared norm.
    """

    cheap = False

    def __init__(
        self, function: _tiles.Function, Z, weight: np.ndarray | None = None, *, dtype=np.float64, center: bool = True
    ):
        self.weight = np.ones(Z.shape[0]) if weight is None else weight
        self._function, self._Z, self._dtype = function, Z, dtype
        self.centred = center
        self._centring = Centring(self.weight, center)
        self._square: float | None = None

    def affinity(self, V: np.ndarray) -> np.ndarray:
        """The kernel itself, not centred, times V."""
        if self._square is not None:
            return _tiles.product(self._function, self._Z, V, self._dtype)
        moments = _tiles.Moments(self.weight, self._centring.share, self._dtype)
        out = _tiles.product(self._function, self._Z, V, self._dtype, moments)
        self._centring.known(moments.row_mean)
        self._square = moments.square
        return out

    def _pass(self) -> None:
        if self._square is None:
            self.affinity(np.empty((self.n_samples, 0)))

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return self._centring.after(self.affinity(self._centring.before(V)))

    def _raw_rows(self, index, columns=None) -> np.ndarray:
        Z = self._Z if columns is None else self._Z[columns]
        return _tiles.rows(self._function, self._Z[index], Z)

    def rows(self, index, columns=None) -> np.ndarray:
        self._pass()
        return self._centring.rows(self._raw_rows(index, columns), index, columns)

    def sketch(self, index: np.ndarray) -> np.ndarray:
        raw = self._raw_rows(index)
        if self._square is not None:
            return self._centring.rows(raw, index)
        own = raw @ self._centring.share  # exact for these rows; columns are judged by these rows alone
        share = self._centring.share[index]
        share = share / share.sum() if share.any() else share
        raw -= own[:, None]
        raw -= share @ raw
        return raw

    def raw_diagonal(self) -> np.ndarray:
        """k(x, x) of every sample, not centred."""
        return self._own

    @cached_property
    def _own(self) -> np.ndarray:
        blocks = (slice(start, start + CLOSE) for start in range(0, self.n_samples, CLOSE))
        own = np.concatenate([np.diagonal(self._function(self._Z[b], self._Z[b])) for b in blocks]).astype(float)
        own.flags.writeable = False
        return own

    def diagonal(self) -> np.ndarray:
        self._pass()
        return self.raw_diagonal() - 2 * self._centring.row_mean + self._centring.mean

    @property
    def share(self) -> np.ndarray:
        """(m,) weights of the samples in the mean that is subtracted."""
        return self._centring.share

    @property
    def mean(self) -> float:
        """Grand mean of the kernel."""
        self._pass()
        return self._centring.mean

    def mean_sums(self, C: np.ndarray) -> np.ndarray:
        """Return what centring subtracts from the sums of every new sample with coefficients C (m, c), apart from its
        own mean.
        """
        self._pass()
        return self._centring.row_mean @ C - self._centring.mean * C.sum(axis=0)

    def raw_size(self) -> float:
        return float(np.abs(self.raw_diagonal()).max())

    def squared_norm(self) -> float:
        self._pass()
        assert self._square is not None
        return self._centring.squared(self._square, self.weight)


PART = TiledKernel


def example(rng: np.random.RandomState, weight: np.ndarray) -> tuple[KernelOperator, np.ndarray]:
    """An operator and the matrix that it is the centred form of, for the contract tests."""
    X = rng.standard_normal((len(weight), 3))

    def function(Y, Z) -> np.ndarray:
        return np.exp(-0.3 * cdist(Y, Z, "sqeuclidean"))

    return TiledKernel(function, X, weight), function(X, X)
