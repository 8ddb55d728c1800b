"""Constraints as every solver sees them: blocks of samples, their nodes, links between blocks, sizes of clusters.

Must-linked samples form a block that moves as one. A block may have a known node; blocks may be cannot-linked; sizes
of clusters may be bounded. `_side_information` builds it from what users pass, `_repair` finds labelings that respect
it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from kernelclust._compiled import floats, integers

SLACK = 1e-9  # of the total weight: rounding that a size bound forgives
SHOWN = 8  # samples named in an error


@dataclass(frozen=True)
class Constraints:
    """Side information about M blocks of samples; the samples of a block must be together."""

    block: np.ndarray  # (m,) block of each sample
    sample_weight: np.ndarray  # (m,)
    place: np.ndarray  # (M,) known place, or -1
    links: sparse.csr_array  # (M, M) symmetric: blocks that may not share a cluster
    lower: np.ndarray  # (c,) weight that each cluster holds at least
    upper: np.ndarray  # (c,) and at most
    soft_bonus: np.ndarray  # (M, c) what F gains with a block in a cluster
    witness: np.ndarray | None = None  # (M,) a labeling that keeps everything
    strict: bool = True  # False for a part of the samples: sizes are aims
    unit: float = 1.0  # of soft_bonus, for a soft label of weight one

    @property
    def n_clusters(self) -> int:
        return len(self.lower)

    @property
    def n_blocks(self) -> int:
        return len(self.place)

    @cached_property
    def weight(self) -> np.ndarray:
        return floats(np.bincount(self.block, self.sample_weight, minlength=self.n_blocks))

    @cached_property
    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """Return samples of block u: member[first[u]:first[u + 1]]."""
        count = np.bincount(self.block, minlength=self.n_blocks)
        return np.concatenate([[0], np.cumsum(count)]), np.argsort(self.block, kind="stable")

    @cached_property
    def mean(self) -> sparse.csr_array:
        """Return (M, m) weighted mean over each block."""
        m = len(self.block)
        shares = self.sample_weight / self.weight[self.block]
        return sparse.csr_array((shares, (self.block, np.arange(m))), shape=(self.n_blocks, m))

    @cached_property
    def linked(self) -> tuple[np.ndarray, np.ndarray]:
        return integers(self.links.indptr), integers(self.links.indices)

    @cached_property
    def slack(self) -> float:
        return SLACK * float(self.sample_weight.sum())

    @cached_property
    def has_links(self) -> bool:
        return bool(self.links.nnz)

    @cached_property
    def has_sizes(self) -> bool:
        return bool(np.any(self.lower > 0) or np.any(np.isfinite(self.upper)))

    @cached_property
    def known(self) -> bool:
        """Return whether anything says which cluster sits where, not only who is with whom."""
        uneven = np.ptp(self.lower) > 0 or np.any(self.upper != self.upper[0])
        return bool((self.place >= 0).any() or self.soft_bonus.any() or uneven)

    @cached_property
    def seeds(self) -> np.ndarray:
        """Return (m,) known place of each sample, hard or soft, or -1."""
        soft = np.where(self.soft_bonus.max(axis=1) > 0, np.argmax(self.soft_bonus, axis=1), -1)
        return np.where(self.place >= 0, self.place, soft)[self.block]

    @cached_property
    def label_weight(self) -> np.ndarray:
        """Return (M, c) copies of samples that are known to be at a place, counted less where the label is trusted
        less.
        """
        out = np.minimum(self.soft_bonus / self.unit, self.weight[:, None])
        placed = np.flatnonzero(self.place >= 0)
        out[placed, self.place[placed]] = self.weight[placed]
        return out

    @cached_property
    def movable(self) -> np.ndarray:
        """Return (c,) nodes whose clusters may change places with each other: no known labels, the same bounds."""
        movable = np.ones(self.n_clusters, dtype=bool)
        movable[self.place[self.place >= 0]] = False
        return self._alike(movable)

    @cached_property
    def alike(self) -> np.ndarray:
        """Return (c,) nodes with the same bounds, most of them: their clusters may change places if labelled samples
        stay.
        """
        return self._alike(np.ones(self.n_clusters, dtype=bool))

    def _alike(self, movable: np.ndarray) -> np.ndarray:
        bounds = np.stack([self.lower, self.upper], axis=1)
        kinds, kind = np.unique(bounds, axis=0, return_inverse=True)
        kind = kind.ravel()
        most = np.bincount(kind[movable], minlength=len(kinds)).argmax()
        return movable & (kind == most)

    def among(self, samples: np.ndarray) -> Constraints:
        """Return the same for some of the samples: those of positive weight, which are all that count."""
        present, block = np.unique(self.block[samples], return_inverse=True)
        return replace(
            self,
            block=block,
            sample_weight=self.sample_weight[samples],
            place=self.place[present],
            links=self.links[present][:, present],
            soft_bonus=self.soft_bonus[present],
            witness=None if self.witness is None else self.witness[present],
        )

    def complete(self, labels: np.ndarray, rest: np.ndarray, rises: np.ndarray) -> np.ndarray:
        """Return labels of the samples `rest`: that of their block, if known, else where the block's rise is
        largest.
        """
        label = self.place.copy()
        done = labels >= 0
        label[self.block[done]] = labels[done]
        total = np.zeros((self.n_blocks, self.n_clusters))
        np.add.at(total, self.block[rest], rises)
        return np.where(label >= 0, label, np.argmax(total, axis=1))[self.block[rest]]

    def at(self, samples: np.ndarray) -> Constraints:
        """Return the same seen at some of the samples: sizes in proportion, and no promise to keep them."""
        part = self.among(samples)
        share, heaviest = part.sample_weight.sum() / self.sample_weight.sum(), part.weight.max()
        lower, upper = np.maximum(self.lower * share - heaviest, 0.0), self.upper * share + heaviest
        return replace(part, lower=lower, upper=upper, strict=False)

    def unlabelled(self) -> Constraints | None:
        """Return links and sizes alone; None where there are none."""
        if self.n_blocks == len(self.block) and not (self.has_links or self.has_sizes):
            return None
        return replace(self, place=np.full(self.n_blocks, -1), soft_bonus=np.zeros_like(self.soft_bonus))

    def with_bonus_unit(self, unit: float) -> Constraints:
        """Return the constraints with `unit` of F for a soft label of weight one."""
        if not self.soft_bonus.any():
            return self
        return replace(self, soft_bonus=self.soft_bonus * unit, unit=self.unit * unit)

    # -- labels of samples and of blocks ------------------------------------------------------------------------------

    def of_blocks(self, labels: np.ndarray) -> np.ndarray:
        """Return the label of most of each block's weight."""
        if self.n_blocks == len(labels):
            out = np.empty(self.n_blocks, dtype=np.intp)
            out[self.block] = labels
            return out
        c = self.n_clusters
        votes = np.bincount(self.block * c + labels, self.sample_weight, minlength=self.n_blocks * c)
        return np.argmax(votes.reshape(-1, c), axis=1)

    def kept_by(self, labels: np.ndarray) -> bool:
        """Return whether labels of samples keep everything that is known."""
        label = self.of_blocks(labels)
        return bool(np.array_equal(label[self.block], labels)) and self.keeps_links(label) and self.keeps_sizes(label)

    def keeps_links(self, label: np.ndarray) -> bool:
        """Return whether labels of blocks keep known places and cannot-links."""
        wrong = (self.place >= 0) & (label != self.place)
        first, link = self.linked
        return not wrong.any() and not np.any(np.repeat(label, np.diff(first)) == label[link])

    def keeps_sizes(self, label: np.ndarray) -> bool:
        """Return whether labels of blocks keep the bounds on sizes."""
        n = np.bincount(label, self.weight, minlength=self.n_clusters)
        return bool(np.all(n >= self.lower - self.slack) and np.all(n <= self.upper + self.slack))

    def gain(self, labels: np.ndarray) -> float:
        """Return what soft labels add to F."""
        return float(self.soft_bonus[np.arange(self.n_blocks), self.of_blocks(labels)].sum())

    def placement_bonus(self, labels: np.ndarray) -> np.ndarray:
        """Return (c, c) what soft labels add when cluster j goes to node p."""
        out = np.zeros((self.n_clusters,) * 2)
        np.add.at(out, self.of_blocks(labels), self.soft_bonus)
        return out

    def size_violation(self, labels: np.ndarray) -> np.ndarray:
        """Return (c, c) share of all samples by which cluster j misses the size of node p."""
        n = np.bincount(labels, self.sample_weight, minlength=self.n_clusters)[:, None]
        return (np.maximum(self.lower - n, 0.0) + np.maximum(n - self.upper, 0.0)) / n.sum()

    def placing(self, labels: np.ndarray) -> dict[str, Any]:
        """Return what a placement of these clusters has to respect."""
        return {"movable": self.movable, "linear": self.placement_bonus(labels)}

    def together(self, labels: np.ndarray) -> np.ndarray:
        """Return labels with every block whole."""
        return self.of_blocks(labels)[self.block]


def some(samples: Iterable[int]) -> str:
    """Return samples named in an error."""
    names = [str(int(i)) for i in samples]
    return ", ".join(names[:SHOWN]) + (f", ... ({len(names)} in all)" if len(names) > SHOWN else "")
