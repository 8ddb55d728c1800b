"""Changes of F when a sample moves, as tables that a million samples can use at once.

F depends on the cluster sums S and the sizes n alone, and a sample i of weight w that goes from a to b changes them by
its similarity sums g_i and its own similarity k_ii. So with B' = B(n - w e_a + w e_b)

    F' - F = <S, B'> - F + 2 w g_i (B'_b - B'_a) + w^2 k_ii (B'_aa + B'_bb - 2 B'_ab),

exactly: a constant, a direction and a factor for every pair (a, b). Centring is part of the tables, so that those who
hold samples need raw sums only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelclust._arrays import library, like, parts
from kernelclust.objectives import Assignment, ClusterObjective


@dataclass(frozen=True)
class Centring:
    """The way from raw similarity sums with clusters to those of the centred kernel, at raw S (c, c) and sizes n (c,).

    With g the raw sums of a sample, W the total weight, s = S 1 and sigma = 1'S 1: g becomes g - (1'g / W) n - shift
    with shift = s / W - sigma n / W^2, and k becomes k - 2 (1'g / W) + mean with mean = sigma / W^2. Kernels that are
    taken as they are (`center=False`) stay so.
    """

    n: np.ndarray
    shift: np.ndarray
    mean: float
    center: bool = True

    @classmethod
    def of(cls, S: np.ndarray, n: np.ndarray, center: bool = True) -> Centring:
        s, total = S.sum(axis=1), n.sum()
        mean = s.sum() / total**2
        return cls(n, s / total - mean * n, float(mean), center)

    def sums(self, G: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return sums (m, c) and own similarities (m,) under the centred kernel."""
        if not self.center:
            return G, own
        near = G.sum(axis=1) / self.n.sum()
        return G - np.outer(near, self.n) - self.shift, own - 2 * near + self.mean


def centred(S: np.ndarray, n: np.ndarray, center: bool = True) -> np.ndarray:
    """Return cluster sums of the centred kernel from raw ones."""
    if not center:
        return S
    s, total = S.sum(axis=1), n.sum()
    return S - (np.outer(s, n) + np.outer(n, s)) / total + s.sum() / total**2 * np.outer(n, n)


@dataclass(frozen=True)
class Tables:
    """F rises by constant[a, b] + direction[a, b] @ g + own[a, b] k with a sample of weight w moved from a to b."""

    weight: float
    constant: np.ndarray  # (c, c)
    direction: np.ndarray  # (c, c, c)
    own: np.ndarray  # (c, c)


def move_tables(objective: ClusterObjective, S: np.ndarray, n: np.ndarray, weight: float, allow_empty: bool) -> Tables:
    """Return the tables for samples of one weight, from raw cluster sums S and sizes n."""
    c, total, centring = len(n), n.sum(), Centring.of(S, n)
    inner, value = centred(S, n), objective.value(centred(S, n), n)
    constant, direction, own = np.empty((c, c)), np.empty((c, c, c)), np.empty((c, c))
    for a in range(c):
        sizes = np.maximum(n + weight * (np.eye(c) - np.eye(c)[a]), 0.0)  # (to, c)
        B, to = objective.weights(sizes), np.arange(c)
        constant[a] = (inner * B).sum(axis=(1, 2)) - objective.total_penalty(sizes) - value
        direction[a] = 2 * weight * (B[to, to] - B[:, a])
        own[a] = weight**2 * (B[to, to, to] + B[:, a, a] - 2 * B[to, to, a])
        constant[a, a] = 0.0
        if not allow_empty and n[a] <= weight * (1 + 1e-9):
            constant[a, to != a] = -np.inf
    constant += own * centring.mean - direction @ centring.shift
    direction -= ((direction @ n) / total + 2 * own / total)[..., None]
    return Tables(weight, constant, direction, own)


def raw_assignment(objective: ClusterObjective, S: np.ndarray, n: np.ndarray, center: bool = True) -> Assignment:
    """Return where F rises most for samples that are known by raw similarity sums; S is raw too."""
    found = objective.assignment(centred(S, n, center), n)
    if not center:
        return found
    return Assignment(found.M - (n @ found.M) / n.sum(), found.h - Centring.of(S, n).shift @ found.M)


def one_hot(labels: Any, c: int, weight: Any) -> Any:
    """Return Pi (m, c), weighted, on arrays of any library; rows of zeros where there is no label (-1)."""
    xp = library(labels)
    names = np.arange(c) if xp is np else xp.arange(c, dtype=labels.dtype, device=labels.device)
    return xp.where(labels[:, None] == names[None, :], weight[:, None], xp.zeros_like(weight)[:, None])


def best_moves(xp: Any, G: Any, own: Any, labels: Any, level: Any, tables: Sequence[Tables]) -> tuple[Any, Any]:
    """Return (where to, gain) of every sample: the cluster in which F is largest, and by how much it rises there.

    G (c, m), own (m,), labels (m,) and level (m,), which says whose tables a sample reads, are arrays of the namespace
    xp; so are the answers.
    """
    there = [[like(part, G) for part in (t.constant, t.direction, t.own)] for t in tables]
    found = []
    for part in parts(labels.shape[0]):
        g, k, label = G[:, part], own[part], labels[part]
        to, gain = label, xp.zeros_like(g[0, :])
        for number, (constant, direction, factor) in enumerate(there):
            for a in range(G.shape[0]):
                rise = direction[a, ...] @ g + constant[a, :, None] + factor[a, :, None] * k[None, :]
                here = label == a
                if len(tables) > 1:
                    here = here & (level[part] == number)
                gain = xp.where(here, xp.max(rise, axis=0), gain)
                to = xp.where(here, xp.astype(xp.argmax(rise, axis=0), label.dtype), to)
        found.append((to, gain))
    if len(found) == 1:
        return found[0]
    return xp.concat([to for to, _ in found]), xp.concat([gain for _, gain in found])
