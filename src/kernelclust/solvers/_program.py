"""Labelings that keep everything, by integer programming."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from kernelclust.solvers._constraints import Constraints

PATIENCE = 60.0  # seconds that the exact search for a labeling may take


def exact(constraints: Constraints, *, sized: bool, score: np.ndarray | None = None) -> np.ndarray | None:
    """A labeling by integer programming, that of the largest score (M, c) if one is given, or None where there is none.

    Blocks without links or scores that weigh the same are counted, not told apart.
    """
    c, weight, place = constraints.n_clusters, constraints.weight, constraints.place
    first, link = constraints.linked
    free = place < 0
    apart = (np.diff(first) > 0) | (score is not None)
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
        slack = constraints.slack
        rules.append(LinearConstraint(heavy, constraints.lower - held - slack, constraints.upper - held + slack))
    if not L + Q:
        return place if constraints.keeps_sizes(place) or not sized else None
    size = (L + Q) * c
    found = milp(
        np.zeros(size) if score is None else -score[linked].ravel(),
        constraints=rules,
        integrality=np.ones(size),
        bounds=Bounds(0.0, highest.ravel()),
        options={"time_limit": PATIENCE},
    )
    if found.x is None:
        if found.status == 1:
            raise ValueError(
                f"no labeling that keeps all links and sizes was found in {PATIENCE:g} s, and none was ruled out: "
                "loosen the sizes or drop links."
            )
        return None
    counts = np.round(found.x).astype(int).reshape(L + Q, c)
    label = place.copy()
    label[linked] = np.argmax(counts[:L], axis=1)
    for q in range(Q):
        label[alone[kind == q]] = np.repeat(np.arange(c), counts[L + q])
    return label
