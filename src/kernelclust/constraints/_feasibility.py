"""A first labeling that keeps everything, or an error that says why there is none."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from kernelclust.constraints._constraints import Constraints, some
from kernelclust.constraints._repair import fit_sizes, pack, separate, settle
from kernelclust.constraints._repair_loops import mend_links

PATIENCE = 2.5  # seconds of integer programming in all
KICKS, LOOKED = 20_000, 50_000_000  # shakes, and moves or swaps looked at, before it is decided exactly
NOISE = 100_003  # random numbers that the search for links uses over and over
TRIED = 50  # samples that a clique of cannot-links is sought around
CLIQUES = 1_000_000  # and so many pairs of their partners at most, after the first sample
MAX_PROGRAM_ENTRIES = 100_000  # entries of a program that is tried
PROGRAM_WEIGHT = 1000.0  # weight of all samples there, so that its tolerance (1e-6) is like the slack of a bound


@dataclass
class _Clock:
    """Seconds left for integer programs; compiling and counted work do not use them up."""

    left: float


def find_labeling(constraints: Constraints) -> np.ndarray:
    """Find a labeling that keeps everything: greedily, by exchanges, else exactly; an error where there is none."""
    clock = _Clock(PATIENCE)
    M, c = constraints.n_blocks, constraints.n_clusters
    wish = np.where(constraints.place >= 0, constraints.place, np.arange(M) % c)
    score = np.zeros((M, c))
    label = separate(constraints, wish, score)
    if not constraints.keeps_links(label):
        _check_cliques(constraints)
        if not _mend(constraints, label):
            found = _decide(constraints, sized=False, clock=clock)
            if found is None:
                raise ValueError(
                    f"the cannot_link pairs (with must_link and labels) leave no labeling with {c} clusters: raise "
                    "n_clusters or drop links."
                )
            label = found
    if fit_sizes(constraints, label, score):
        return label
    pack(constraints, label)
    if settle(constraints, label, score, kicks=KICKS, looked=LOOKED):
        return label
    found = _decide(constraints, sized=True, clock=clock)
    if found is None:
        raise ValueError(
            f"min_cluster_size and max_cluster_size (from {constraints.lower.min():g} to {constraints.upper.max():g} "
            f"for {c} clusters, {constraints.weight.sum():g} in all) cannot be met together with the weights, links "
            "and labels given: loosen the sizes or drop links."
        )
    return found


def _mend(constraints: Constraints, label: np.ndarray) -> bool:
    """Break no cannot-link, by a search that moves one block at a time."""
    first, link = constraints.linked
    free = np.flatnonzero((constraints.place < 0) & (np.diff(first) > 0))
    noise = np.random.RandomState(0).randint(1 << 20, size=NOISE)
    return mend_links(free, label, first, link, constraints.n_clusters, noise, LOOKED)


def _decide(constraints: Constraints, *, sized: bool, clock: _Clock) -> np.ndarray | None:
    """Run `exact` with the time that is left; raise an error where that is not enough."""
    start = time.monotonic()
    try:
        return exact(constraints, sized=sized, seconds=clock.left)
    except Undecided:
        what = "links and sizes" if sized and constraints.has_links else "sizes" if sized else "links"
        cure = "widen min_cluster_size and max_cluster_size" if sized else "raise n_clusters or drop cannot_link pairs"
        raise ValueError(
            f"could not decide within {PATIENCE:g} s whether a labeling keeps all {what}: none was found, and none was "
            f"ruled out. To help, {cure}."
        ) from None
    finally:
        clock.left -= time.monotonic() - start


def _check_cliques(constraints: Constraints) -> None:
    """Name more samples that are all parted from each other than there are clusters, where they are easily found."""
    c = constraints.n_clusters
    sample = constraints.members[1][constraints.members[0][:-1]]
    first, link = constraints.linked
    degree = np.diff(first)
    order = np.argsort(-degree, kind="stable")[:TRIED]
    work = np.cumsum(degree[order] ** 2) - degree[order[0]] ** 2
    for u in order[work < CLIQUES]:
        if degree[u] < c:
            return
        clique = _clique(int(u), first, link)
        if len(clique) > c:
            raise ValueError(
                f"cannot_link separates {len(clique)} samples from each other ({some(sample[sorted(clique)])}), but "
                f"there are {c} clusters: raise n_clusters or drop links."
            )


def _clique(start: int, first, link) -> list[int]:
    """Return blocks that are all cannot-linked with each other, found greedily."""
    clique = [start]
    candidates = set(link[first[start] : first[start + 1]].tolist())
    while candidates:
        u = max(candidates, key=lambda v: (len(candidates.intersection(link[first[v] : first[v + 1]].tolist())), -v))
        clique.append(u)
        candidates &= set(link[first[u] : first[u + 1]].tolist())
    return clique


class Undecided(Exception):
    """Neither a labeling was found, nor was it shown that there is none."""


def exact(constraints: Constraints, *, sized: bool, seconds: float) -> np.ndarray | None:
    """Return a labeling that keeps everything (sizes only if `sized`), or None where there is none; undecided, an
    error.

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
        unit = weight.sum() / PROGRAM_WEIGHT
        rules.append(LinearConstraint(heavy / unit, lower / unit, upper / unit))
    if not L + Q:
        return place if constraints.keeps_sizes(place) or not sized else None
    if seconds <= 0 or sum(rule.A.nnz for rule in rules) > MAX_PROGRAM_ENTRIES:
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
