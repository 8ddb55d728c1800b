"""Labelings that keep everything, by integer programming."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from kernelclust.solvers._constraints import Constraints

LARGEST = 100_000  # entries of a program that is tried
TOTAL = 1000.0  # weight of all samples there, so that its tolerance (1e-6) is like the slack of a bound


class Undecided(Exception):
    """Neither a labeling was found, nor was it shown that there is none."""


def exact(constraints: Constraints, *, sized: bool, seconds: float) -> np.ndarray | None:
    """A labeling that keeps everything (sizes only if `sized`), or None where there is none; undecided, an error.

    Blocks without links that weigh the same are counted, not told apart.
    """
    c, weight, place = constraints.n_clusters, constraints.weight, constraints.place
    first, link = constraints.linked
    free = place < 0
    apart = np.diff(first) > 0
    linked, alone = np.flatnonzero(free & apart), np.flatnonzero(free & ~apart)
    kinds, kind = np.unique(weight[alone], return_inverse=True)
    number = np.full(len(place), -1)
    number[linked] = np.arange(len(linked))
    L, Q = len(linked), len(kinds)
    highest = np.concatenate([np.ones((L, c)), np.tile(np.bincount(kind, minlength=Q)[:, None], c).astype(float)])
    rows = np.repeat(np.arange(len(place)), np.diff(first))
    to_placed = free[rows] & ~free[link]
    highest[number[rows[to_placed]], place[link[to_placed]]] = 0.0
    once = sparse.kron(sparse.eye_array(L + Q), np.ones((1, c)), format="csr")
    amount = np.concatenate([np.ones(L), np.bincount(kind, minlength=Q)])
    rules = [LinearConstraint(once, amount, amount)]
    edges = free[rows] & free[link] & (rows < link)
    if edges.any():
        e = np.arange(edges.sum())
        pairs = sparse.coo_array((np.ones(len(e)), (e, number[rows[edges]])), shape=(len(e), L + Q)).tocsr()
        pairs = pairs + sparse.coo_array((np.ones(len(e)), (e, number[link[edges]])), shape=(len(e), L + Q)).tocsr()
        rules.append(LinearConstraint(sparse.kron(pairs, sparse.eye_array(c), format="csr"), -np.inf, 1.0))
    if sized:
        heavy = sparse.kron(np.concatenate([weight[linked], kinds])[None, :], sparse.eye_array(c), format="csr")
        held = np.bincount(place[~free], weight[~free], minlength=c)
        lower, upper = constraints.lower - held - constraints.slack, constraints.upper - held + constraints.slack
        unit = weight.sum() / TOTAL
        rules.append(LinearConstraint(heavy / unit, lower / unit, upper / unit))
    if not L + Q:
        return place if constraints.keeps_sizes(place) or not sized else None
    if seconds <= 0 or sum(rule.A.nnz for rule in rules) > LARGEST:
        raise Undecided
    size = (L + Q) * c
    found = milp(
        np.zeros(size),
        constraints=rules,
        integrality=np.ones(size),
        bounds=Bounds(0.0, highest.ravel()),
        options={"time_limit": seconds},
    )
    if found.x is None:
        if found.status == 1:
            raise Undecided
        return None
    counts = np.round(found.x).astype(int).reshape(L + Q, c)
    label = place.copy()
    label[linked] = np.argmax(counts[:L], axis=1)
    for q in range(Q):
        label[alone[kind == q]] = np.repeat(np.arange(c), counts[L + q])
    if sized and not constraints.keeps_sizes(label):  # within the program's tolerance, not within ours
        raise Undecided
    return label
