"""Exchanges: several blocks change clusters at once, where links or sizes let no single one move.

Lists of exchanges are made first, from the labels as they are; then each is tried in turn, if it is still allowed. That
needs only the similarities of the blocks in the list and their similarity sums with the clusters: kernel rows are
asked for where blocks have moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from kernelclust.constraints import Constraints
from kernelclust.objectives import ClusterObjective
from kernelclust.solvers._loops import Blocks, Form, Known, Loss, State, exchange, list_chains

MAX_ROUNDS = 10  # times that swaps are listed anew
MAX_ALL_PAIRS = 30  # up to so many blocks every swap is tried
MAX_LISTED = 200  # beyond: blocks of a cluster in line for another,
MAX_CROSSED = 10  # of these tried each with each,
MAX_TRIPLES = 2  # and in threes
MAX_CHAIN_LENGTH = 64  # blocks in a chain
MAX_CHAINS = 2**12  # chains listed at a time
BLOCKS_AT_A_TIME = 256  # blocks whose similarities are computed at a time


class Listed(NamedTuple):
    """Exchanges: blocks ids[first[p]:first[p + 1]] go from `was` to `new`."""

    first: np.ndarray
    ids: np.ndarray
    new: np.ndarray
    was: np.ndarray


class Exchanges:
    """Exchanges of blocks, beside the running sums of a climb."""

    def __init__(
        self, running: Any, constraints: Constraints, blocks: Blocks, known: Known, form: Form, loss: Loss | None
    ):
        self.running, self.constraints = running, constraints
        self.blocks, self.known, self.form, self.loss = blocks, known, form, loss

    def make(self, state: State, objective: ClusterObjective, threshold: float) -> int:
        """Make chains of cannot-linked blocks, and swaps where sizes are bounded; `state` follows. Returns how many."""
        constraints, made = self.constraints, 0
        if constraints.has_links:
            for chains in self._chains(state):
                made += self._try(chains, state, threshold)
        small = constraints.n_blocks <= MAX_ALL_PAIRS and (constraints.has_links or constraints.has_sizes)
        if not small and not self._sizes_bind(state.n):
            return made
        for _ in range(MAX_ROUNDS):
            swapped = self._swap(state, objective, threshold, small)
            made += swapped
            if not swapped:
                break
        return made

    def _sizes_bind(self, n: np.ndarray) -> bool:
        """Return whether the heaviest block would not fit everywhere."""
        lower, upper, heaviest = self.constraints.lower, self.constraints.upper, self.constraints.weight.max()
        return bool(np.any(n + heaviest > upper) or np.any((n - heaviest < lower) & (lower > 0)))

    def _chains(self, state: State) -> Iterator[Listed]:
        c, M, at = len(state.n), self.constraints.n_blocks, 0
        first = np.zeros(max(MAX_CHAINS, c + 1) + 1, dtype=np.intp)
        ids, new, was = np.empty((3, (MAX_CHAINS + c) * MAX_CHAIN_LENGTH), dtype=np.intp)
        seen = np.full(M, -1)
        while at < M:
            at, number = list_chains(at, MAX_CHAIN_LENGTH, self.known, state, seen, first, ids, new, was)
            yield Listed(first[: number + 1], ids, new, was)

    def _swap(self, state: State, objective: ClusterObjective, threshold: float, small: bool) -> int:
        """Swap the best with the best; else the leading ones each with each; else in threes."""
        M, c = self.constraints.n_blocks, len(state.n)
        depth, crossed, triples = (M, M, MAX_ALL_PAIRS // c) if small else (MAX_LISTED, MAX_CROSSED, MAX_TRIPLES)
        least = -np.inf if small else 0.0
        tops, gain = self._in_line(state, objective, depth)
        crossing = crossed_pairs(tops, gain, crossed, least)
        for lists in (best_pairs(tops, gain), crossing, in_threes(tops, gain, triples, least)):
            made = sum(self._try(whole, state, threshold) for whole in lists)
            if made:
                return made
        return 0

    def _try(self, whole: Listed, state: State, threshold: float) -> int:
        """Take the exchanges of a list that raise F, some blocks at a time."""
        made, slot = 0, np.full(len(state.label), -1, dtype=np.intp)
        for part in portions(whole):
            which = np.unique(part.ids)
            slot[which] = np.arange(len(which))
            was = state.label[which]
            C, gains = self.running.among(which)
            taken = exchange(*part, slot, C, gains, self.blocks, self.known, state, self.form, self.loss, threshold)
            if taken:
                made += taken
                moved = state.label[which] != was
                ids = which[moved]
                self.running.follow(ids, self.blocks.weight[ids], was[moved], state.label[ids])
        return made

    def _in_line(self, state: State, objective: ClusterObjective, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (c, c, depth) free blocks of cluster a that would gain most from b, -1 at the end, and about how
        much.
        """
        constraints, label, n = self.constraints, state.label, state.n
        c = len(n)
        M, h = objective.slopes(state.S, n)
        rise = self.running.gains() @ M + np.where(n > 0, h, 0.0)
        rise = rise * constraints.weight[:, None] + constraints.soft_bonus
        rise -= rise[np.arange(len(label)), label][:, None]
        tops, gain = np.full((c, c, depth), -1, dtype=np.intp), np.full((c, c, depth), -np.inf)
        for a in range(c):
            here = np.flatnonzero((label == a) & (constraints.place < 0))
            loss = -rise[here]
            if len(here) > depth:
                best = np.argpartition(loss, depth - 1, axis=0)[:depth]
                order = np.take_along_axis(best, np.argsort(np.take_along_axis(loss, best, axis=0), axis=0), axis=0)
            else:
                order = np.argsort(loss, axis=0, kind="stable")
            tops[a, :, : len(order)] = here[order].T
            gain[a, :, : len(order)] = -np.take_along_axis(loss, order, axis=0).T
        return tops, gain


def best_pairs(tops: np.ndarray, gain: np.ndarray) -> Iterator[Listed]:
    """List the t-th in line from a to b with the t-th in line from b to a."""
    for a in range(len(tops)):
        b, t = np.nonzero(gain[a] + gain[:, a] > 0)
        b, t = b[b > a], t[b > a]
        yield listed([tops[a, b, t], tops[b, a, t]], [a, b])


def crossed_pairs(tops: np.ndarray, gain: np.ndarray, width: int, least: float) -> Iterator[Listed]:
    """List the leading ones from a to b, each with each of those from b to a."""
    for a in range(len(tops)):
        b, t, s = np.nonzero(gain[a, :, :width, None] + gain[:, a, None, :width] > least)
        b, t, s = b[b > a], t[b > a], s[b > a]
        yield listed([tops[a, b, t], tops[b, a, s]], [a, b])


def in_threes(tops: np.ndarray, gain: np.ndarray, width: int, least: float) -> Iterator[Listed]:
    """List rows a -> b -> d of the leading ones, and rings a -> b -> d -> a."""
    c, gain = len(tops), gain[:, :, :width]
    node = np.arange(c)
    for a in range(c):
        pair = gain[a, :, None, :, None] + gain[:, :, None, :]
        pair[(node[:, None] == a) | (node == a) | (node[:, None] == node)] = -np.inf
        b, d, t, s = np.nonzero(pair > least)
        yield listed([tops[a, b, t], tops[b, d, s]], [a, b, d])
        ring = pair[a + 1 :, a + 1 :, :, :, None] + gain[a + 1 :, a, None, None, :]
        b, d, t, s, r = np.nonzero(ring > least)
        b, d = b + a + 1, d + a + 1
        yield listed([tops[a, b, t], tops[b, d, s], tops[d, a, r]], [a, b, d])


def listed(ids: list[np.ndarray], clusters: list) -> Listed:
    """Exchanges of blocks ids[s] (p,), each from clusters[s] to the next of the clusters, the last to the first."""
    size, p = len(ids), len(ids[0])
    was, new = np.empty((p, size), dtype=np.intp), np.empty((p, size), dtype=np.intp)
    for s in range(size):
        was[:, s], new[:, s] = clusters[s], clusters[(s + 1) % len(clusters)]
    return Listed(np.arange(0, p * size + 1, size), np.stack(ids, axis=1).ravel(), new.ravel(), was.ravel())


def portions(whole: Listed) -> Iterator[Listed]:
    """Yield a list in parts of at most BLOCKS_AT_A_TIME different blocks."""
    at, number = 0, len(whole.first) - 1
    while at < number:
        start = whole.first[at]
        ids = whole.ids[start : min(whole.first[-1], start + 16 * BLOCKS_AT_A_TIME)]
        begins = np.sort(np.unique(ids, return_index=True)[1])
        end = begins[BLOCKS_AT_A_TIME] if len(begins) > BLOCKS_AT_A_TIME else len(ids)
        stop = int(np.searchsorted(whole.first, start + end, "right")) - 1
        part = slice(start, whole.first[stop])
        yield Listed(whole.first[at : stop + 1] - start, whole.ids[part], whole.new[part], whole.was[part])
        at = stop
