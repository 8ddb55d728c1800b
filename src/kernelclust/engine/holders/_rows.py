"""Samples on a device, and sums of their similarities with clusters; the kernel is never stored.

Written for any namespace of the array API; `_fused.py` does the same faster on GPUs that have Triton.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelclust._arrays import namespace, parts, to_host
from kernelclust.engine._moves import one_hot

BLOCK = 2**24  # entries of the kernel that are made at a time
CLOSE = 128  # samples whose own similarity is computed at a time
LEAST = 2**14  # and the fewest where memory is short


def shortage(error: BaseException) -> bool:
    """Return whether a device has run out of memory."""
    return type(error).__name__ == "OutOfMemoryError" or "out of memory" in str(error).lower()


class Rows:
    """Samples Z (m, d), seen as the kernel sees them, with weights (m,); `function(X, Y)` makes a block of the kernel.

    Similarity sums are raw (not centred), in double precision, one row a cluster.
    """

    def __init__(self, Z: Any, weight: Any, function: Any):
        self.Z, self.weight, self.function = Z, weight, function
        self._entries = BLOCK

    @property
    def xp(self) -> Any:
        return namespace(self.weight)

    @property
    def n_samples(self) -> int:
        return int(self.weight.shape[0])

    def own(self) -> Any:
        """Return k(x, x) of every sample (m,)."""
        blocks = [self.Z[few, ...] for few in parts(self.n_samples, CLOSE)]
        return self.xp.concat([self._float(self.xp.linalg.diagonal(self.function(Z, Z))) for Z in blocks])

    def sums(self, labels: Any, n_clusters: int) -> tuple[Any, float]:
        """Return (c, m): similarity sums of every sample with the clusters, and sum_ij w_i w_j k_ij^2; one pass."""
        xp, w, P = self.xp, self.weight, one_hot(labels, n_clusters, self.weight)
        found = list(self._blocks(self.Z, self.Z, lambda K, rows: (K @ P, float(w[rows] @ ((K * K) @ w)))))
        return _upright(xp, [G for G, _ in found]), sum(square for _, square in found)

    def totals(self, labels: Any, n_clusters: int) -> np.ndarray:
        """Return (c, c): similarity sums between clusters, on the host; half a pass."""
        xp, P = self.xp, one_hot(labels, n_clusters, self.weight)

        def both(K: Any, rows: slice) -> Any:
            left, k = xp.matrix_transpose(P[rows, :]), rows.stop - rows.start
            return left @ (K @ P[rows.start :, :] - K[:, :k] @ P[rows, :] / 2)

        T = np.zeros((n_clusters, n_clusters))
        for part in self._blocks(self.Z, self.Z, both, half=True):
            T += to_host(part)
        return T + T.T

    def sums_of(self, Z: Any, labels: Any, n_clusters: int) -> Any:
        """Return (c, n): those of other samples."""
        return self._product(Z, self.Z, one_hot(labels, n_clusters, self.weight))

    def change(self, index: Any, was: Any, now: Any, n_clusters: int, among: bool = False) -> Any:
        """Return what (c, m) sums change by when samples `index` go from clusters `was` to `now`; of these samples
        alone, (c, k), with `among`.
        """
        moved, weight = self.xp.take(self.Z, index, axis=0), self.xp.take(self.weight, index)
        V = one_hot(now, n_clusters, weight) - one_hot(was, n_clusters, weight)
        return self._product(moved if among else self.Z, moved, V)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _float(self, array: Any) -> Any:
        return self.xp.astype(array, self.xp.float64)

    def _product(self, X: Any, Y: Any, V: Any) -> Any:
        return _upright(self.xp, list(self._blocks(X, Y, lambda K, rows: K @ V)))

    def _blocks(self, X: Any, Y: Any, use: Callable, half: bool = False):
        """Yield use(K[rows], rows) for all rows, a few at a time: fewer where memory is short. With `half`, K has
        no columns before these rows.
        """
        start = 0
        while start < X.shape[0]:
            rows = slice(start, min(start + max(1, self._entries // max(1, Y.shape[0])), X.shape[0]))
            try:
                made = use(self._float(self.function(X[rows, ...], Y[start:, ...] if half else Y)), rows)
            except Exception as error:
                if not shortage(error):
                    raise
                if self._entries <= LEAST:
                    raise MemoryError(
                        f"the device has too little memory for {LEAST} entries of the kernel and {self.n_samples} "
                        "samples; free some of its memory, or fit on the host: X.cpu().numpy()."
                    ) from error
                self._entries //= 4
                continue
            yield made
            start = rows.stop


class FeatureRows(Rows):
    """Samples whose kernel is a product of features B (m, d): k(x, y) = <b(x), b(y)>."""

    def own(self) -> Any:
        B = self._float(self.Z)
        return self.xp.sum(B * B, axis=1)

    def sums(self, labels, n_clusters):
        B = self._float(self.Z)
        gram = self.xp.matrix_transpose(B) @ (B * self.weight[:, None])
        return self.sums_of(self.Z, labels, n_clusters), float(self.xp.sum(gram * gram))

    def totals(self, labels, n_clusters):
        sums = to_host(self.xp.matrix_transpose(one_hot(labels, n_clusters, self.weight)) @ self._float(self.Z))
        return sums @ sums.T

    def _product(self, X: Any, Y: Any, V: Any) -> Any:
        xp = self.xp
        sums = xp.matrix_transpose(V) @ self._float(Y)
        return sums @ xp.matrix_transpose(self._float(X))


def _upright(xp: Any, parts: list[Any]) -> Any:
    """Return rows of all parts as the columns of one array."""
    whole = parts[0] if len(parts) == 1 else xp.concat(parts)
    return xp.asarray(xp.matrix_transpose(whole), copy=True)
