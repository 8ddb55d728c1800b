"""Running sums of a climb: how alike each sample is to each cluster, kept current while blocks move.

Where a kernel has a factor B these are the clusters' feature sums Pi'DB (c x d); elsewhere G = (K D Pi)' (c x m), which
follows a move by the kernel row of what moved. Rows are asked for when a block wants to move, with those of blocks
further on that want to move as well; how many come at a time does not change what moves where.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from kernelclust._compiled import changeable, floats
from kernelclust.kernels import BLOCK, KernelOperator, feature_sums, one_hot, row_blocks
from kernelclust.solvers._loops import Blocks, Form, Held, Known, Loss, State, sweep

FIRST_ROWS = 16  # rows that are fetched at first, and twice as many each time,
MAX_COPIED_ENTRIES = 2**17  # up to so many entries where they are only copied
LOOK_AHEAD = 128  # blocks that are looked at for further rows, and twice as many as were visited since the last time
MAX_HELD_ENTRIES = 2**20  # entries up to which all rows are held,
MIN_FETCHED_SHARE = 0.125  # once so many of them were fetched
MAX_SIMILARITY_SAMPLES = 500  # samples up to which the similarities of all blocks are held once exchanges ask for some
SAMPLES_AT_A_TIME = 128  # samples of several blocks whose similarities are computed at a time

NO_SLOTS = np.empty(0, dtype=np.intp)
NO_MEANS = floats(np.empty(0))


class Members:
    """M blocks of m samples; `mean` (M x m) takes weighted means over them, None where every sample is a block."""

    def __init__(self, n_samples: int, mean: sparse.csr_array | None = None):
        self._mean = mean
        self.single = mean is None
        self.n_blocks = n_samples if mean is None else mean.shape[0]

    @property
    def size(self) -> np.ndarray:
        """Return samples of each block (M,)."""
        return np.ones(self.n_blocks, dtype=np.intp) if self._mean is None else np.diff(self._mean.indptr)

    def mean(self, values: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
        """Return means of rows of `values` (m x k) over all blocks, or over some."""
        if self._mean is None:
            return values if which is None else values[which]
        return np.asarray((self._mean if which is None else self._mean[which]) @ values)

    def _samples(self, which: np.ndarray) -> tuple[np.ndarray, sparse.csr_array]:
        """Return samples of some blocks (s,), and the means over them (U x s)."""
        assert self._mean is not None
        some = self._mean[which]
        s = len(some.indices)
        return some.indices, sparse.csr_array((some.data, np.arange(s), some.indptr), shape=(len(which), s))

    def mean_rows(self, kernel: KernelOperator, which: np.ndarray) -> np.ndarray:
        """Return mean kernel rows of some blocks (U x m)."""
        if self._mean is None:
            return kernel.rows(which)
        samples, mean = self._samples(which)
        parts = (mean[:, part] @ kernel.rows(samples[part]) for part in row_blocks(len(samples), kernel.n_samples))
        return np.asarray(sum(parts, np.zeros((len(which), kernel.n_samples))))

    def similarities(self, kernel: KernelOperator, which: np.ndarray) -> np.ndarray:
        """Return similarities of the means of some blocks (U x U)."""
        if self._mean is None:
            return kernel.rows(which, which)
        samples, mean = self._samples(which)
        C = np.zeros((len(which),) * 2)
        for part in row_blocks(len(samples), len(samples)):
            C += mean[:, part] @ (mean @ kernel.rows(samples[part], samples).T).T
        return (C + C.T) / 2

    def own(self, kernel: KernelOperator) -> np.ndarray:
        """Return the similarity of every block's mean with itself (M,)."""
        diagonal = kernel.diagonal()
        if self._mean is None:
            return diagonal
        own = np.asarray(self._mean @ diagonal)
        several = np.flatnonzero(self.size > 1)
        group = np.cumsum(self.size[several]) // SAMPLES_AT_A_TIME
        for which in np.split(several, np.flatnonzero(np.diff(group)) + 1) if len(several) else []:
            own[which] = np.diagonal(self.similarities(kernel, which))
        return own


def running_sums(
    kernel: KernelOperator, members: Members, labels: np.ndarray, n_clusters: int, running: np.ndarray | None
):
    """Return the running sums that fit a kernel, at labels of samples; `running` are those of an earlier climb."""
    kind = Similarities if kernel.factor is None else Features
    return kind(kernel, members, labels, n_clusters, running)


class Features:
    """Feature sums Pi'DB (c x d)."""

    def __init__(self, kernel: KernelOperator, members: Members, labels, n_clusters: int, running: np.ndarray | None):
        assert kernel.factor is not None
        self.kernel, self.members, self._B = kernel, members, kernel.factor
        self.sums = self.rebuilt(labels, n_clusters) if running is None else changeable(running)
        m, d = self._B.shape
        self._kept = members.mean(self._B) if not members.single and m * d <= BLOCK else None

    def rebuilt(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        return changeable(feature_sums(self._B, self.kernel.weight, labels, n_clusters))

    def cluster_sums(self, labels: np.ndarray) -> np.ndarray:
        return self.sums @ self.sums.T

    def _chunks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield features of the blocks in double precision, some at a time unless they are held so."""
        B, M = self._B, self.members.n_blocks
        if self._kept is not None or (self.members.single and B.dtype == np.float64):
            yield slice(0, M), np.ascontiguousarray(B if self._kept is None else self._kept)
            return
        for chunk in row_blocks(M, B.shape[1]):
            yield chunk, self.features(np.arange(chunk.start, chunk.stop))

    def features(self, which: np.ndarray) -> np.ndarray:
        """Return mean features of some blocks (U x d)."""
        if self._kept is not None:
            return self._kept[which]
        return np.ascontiguousarray(self.members.mean(self._B, which), dtype=np.float64)

    def own(self) -> np.ndarray:
        """Return the similarity of every block's mean with itself (M,)."""
        if self.members.single:
            return self.kernel.diagonal()
        return np.concatenate([np.einsum("ij,ij->i", F, F) for _, F in self._chunks()])

    def sweep(
        self, blocks: Blocks, known: Known | None, state: State, form: Form, loss: Loss | None, threshold: float
    ) -> int:
        moves, wanted = 0, np.empty(1, dtype=np.intp)
        task = blocks, known, state, form, loss, threshold
        for chunk, F in self._chunks():
            held = Held(True, chunk.start, NO_SLOTS, floats(F), NO_MEANS, NO_MEANS)
            moves += sweep(chunk.start, chunk.stop, self.sums, held, wanted, 0, *task)[1]
        return moves

    def gains(self) -> np.ndarray:
        """Return similarity sums of every block's mean with the clusters (M x c)."""
        return np.concatenate([F @ self.sums.T for _, F in self._chunks()])

    def among(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return similarities of some blocks (U x U), and their similarity sums with the clusters (U x c)."""
        F = self.features(which)
        return floats(F @ F.T), changeable(F @ self.sums.T)

    def follow(self, which: np.ndarray, weight: np.ndarray, was: np.ndarray, now: np.ndarray) -> None:
        """Keep the sums current after blocks of these weights went from clusters `was` to clusters `now`."""
        rows = self.features(which) * weight[:, None]
        np.subtract.at(self.sums, was, rows)
        np.add.at(self.sums, now, rows)


class Similarities:
    """Similarity sums G = (K D Pi)' (c x m), and kernel rows of some blocks."""

    def __init__(self, kernel: KernelOperator, members: Members, labels, n_clusters: int, running: np.ndarray | None):
        self.kernel, self.members = kernel, members
        self.sums = self.rebuilt(labels, n_clusters) if running is None else changeable(running)
        self._limit, self._fetched = FIRST_ROWS, 0
        self._between: np.ndarray | None = None
        if members.single and kernel.entries is not None:
            K, row_mean, mean = kernel.entries
            self._which = np.arange(len(K))
            self._held = Held(False, 0, self._which, floats(K), floats(row_mean), floats(row_mean - mean))
        else:
            self._which = NO_SLOTS
            slot = np.full(members.n_blocks, -1, dtype=np.intp)
            self._held = Held(False, 0, slot, floats(np.empty((0, 0))), NO_MEANS, NO_MEANS)

    def rebuilt(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        return changeable(self.kernel.label_sums(labels, n_clusters))

    def cluster_sums(self, labels: np.ndarray) -> np.ndarray:
        S = self.sums @ one_hot(labels, len(self.sums), self.kernel.weight)
        return (S + S.T) / 2

    def own(self) -> np.ndarray:
        """Return the similarity of every block's mean with itself (M,)."""
        return self.members.own(self.kernel)

    def sweep(
        self, blocks: Blocks, known: Known | None, state: State, form: Form, loss: Loss | None, threshold: float
    ) -> int:
        moves, at, before, M = 0, 0, 0, self.members.n_blocks
        task = blocks, known, state, form, loss, threshold
        while True:
            wanted = np.empty(self._limit, dtype=np.intp)
            reach = LOOK_AHEAD + 2 * (at - before)
            before = at
            at, made, found = sweep(at, M, self.sums, self._held, wanted, reach, *task)
            moves += made
            if at == M:
                return moves
            self._fetch(wanted[:found])

    def _fetch(self, wanted: np.ndarray) -> None:
        """Hold the rows of these blocks, of the first at least, and no others."""
        M, m = self.members.n_blocks, self.kernel.n_samples
        if self._fetched > MIN_FETCHED_SHARE * M and M * m <= MAX_HELD_ENTRIES:
            wanted = np.arange(M)
        elif not self.members.single:
            wanted = wanted[: max(1, np.searchsorted(np.cumsum(self.members.size[wanted]), self._limit, "right"))]
        slot = self._held.slot
        kept, new = wanted[slot[wanted] >= 0], wanted[slot[wanted] < 0]
        rows = self.members.mean_rows(self.kernel, new)
        if len(kept):
            rows = np.concatenate([self._held.rows[slot[kept]], rows])
        slot[self._which] = -1
        self._which = np.concatenate([kept, new])
        slot[self._which] = np.arange(len(rows))
        self._held = self._held._replace(rows=floats(rows))
        self._fetched += len(new)
        most = max(MAX_COPIED_ENTRIES // m, FIRST_ROWS) if self.kernel.cheap else BLOCK // m
        self._limit = max(1, min(2 * self._limit, most))

    def gains(self) -> np.ndarray:
        """Return similarity sums of every block's mean with the clusters (M x c)."""
        return np.asarray(self.members.mean(self.sums.T))

    def among(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return similarities of some blocks (U x U), and their similarity sums with the clusters (U x c)."""
        if self.kernel.n_samples > MAX_SIMILARITY_SAMPLES:
            gains = changeable(self.members.mean(self.sums.T, which))
            return floats(self.members.similarities(self.kernel, which)), gains
        if self._between is None:
            self._between = self.members.similarities(self.kernel, np.arange(self.members.n_blocks))
        return floats(self._between[np.ix_(which, which)]), changeable(self.gains()[which])

    def follow(self, which: np.ndarray, weight: np.ndarray, was: np.ndarray, now: np.ndarray) -> None:
        """Keep the sums current after blocks of these weights went from clusters `was` to clusters `now`."""
        for part in row_blocks(len(which), self.kernel.n_samples):
            rows = self.members.mean_rows(self.kernel, which[part])
            for row, w, a, b in zip(rows, weight[part], was[part], now[part], strict=True):
                row *= w
                self.sums[a] -= row
                self.sums[b] += row
