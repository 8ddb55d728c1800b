"""Side information: known labels, must-links, cannot-links and sizes; checked, and merged to blocks.

Contradictions are found before any other work, and named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from kernelclust.constraints._constraints import Constraints, some
from kernelclust.constraints._feasibility import find_labeling
from kernelclust.constraints._validation import Links, check_labels, check_links, size_bounds
from kernelclust.kernels import row_blocks

ENTRIES_AT_A_TIME = 2**16  # of rows that are compared: small beside a kernel matrix
MANY_ROWS = 1000  # rows whose first entries are compared before


def make_constraints(
    weight: np.ndarray,
    n_clusters: int,
    *,
    labels: Any = None,
    must_link: Any = None,
    cannot_link: Any = None,
    min_size: Any = None,
    max_size: Any = None,
    label_weight: float | None = None,
    allow_empty: bool = False,
) -> Constraints | None:
    """Check what is known about samples of these weights and find a labeling that keeps it; None if nothing is.

    Raises a ValueError that names the contradiction where no labeling does.
    """
    m, c = len(weight), n_clusters
    y = check_labels(labels, m, c)
    must = check_links("must_link", must_link, m, c).pairs
    cannot = check_links("cannot_link", cannot_link, m, c)
    lower, upper = size_bounds(min_size, max_size, c)
    sized = bool(np.any(lower > 0) or np.any(np.isfinite(upper)))
    if not (np.any(y >= 0) or len(must) or len(cannot.pairs) or sized):
        return None
    pairs = must.astype(np.int32)  # scipy's graph functions need 32 bits, before 1.17
    graph = sparse.coo_array((np.ones(len(must)), (pairs[:, 0], pairs[:, 1])), shape=(m, m)).tocsr()
    n_blocks, block = connected_components(graph, directed=False)
    block = block.astype(np.intp)
    place, soft_bonus = np.full(n_blocks, -1), np.zeros((n_blocks, c))
    if label_weight is None:
        place = _block_places(y, block, n_blocks, graph)
    else:
        known = np.flatnonzero(y >= 0)
        np.add.at(soft_bonus, (block[known], y[known]), label_weight * weight[known])
    links = _block_links(cannot, block, n_blocks, graph)
    constraints = Constraints(block, weight, place, links, lower, upper, soft_bonus)
    n_whole = int((constraints.weight > 0).sum())
    if len(must) and n_whole < c and not allow_empty:
        raise ValueError(
            f"must_link joins the samples to {n_whole} groups, fewer than the {c} clusters: drop links, lower "
            "n_clusters or set allow_empty=True."
        )
    _check_weightless(cannot, constraints)
    _check_links(constraints)
    if sized:
        _check_sizes(constraints)
    return replace(constraints, witness=find_labeling(constraints))


def _chain(graph: sparse.csr_array, start: int, end: int) -> str:
    """Return the must-links that join two samples, in words."""
    if start == end:
        return ""
    before = breadth_first_order(graph, start, directed=False)[1]
    path = [end]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    return "must_link joins " + " - ".join(str(i) for i in reversed(path))


def _block_places(y: np.ndarray, block: np.ndarray, n_blocks: int, graph) -> np.ndarray:
    place, source = np.full(n_blocks, -1), np.full(n_blocks, -1)
    known = np.flatnonzero(y >= 0)[::-1]  # the first sample of each place wins
    place[block[known]], source[block[known]] = y[known], known
    wrong = np.flatnonzero((y >= 0) & (y != place[block]))
    if len(wrong):
        i, j = int(source[block[wrong[0]]]), int(wrong[0])
        raise ValueError(
            f"samples {i} and {j} are labelled {y[i]} and {y[j]}, but {_chain(graph, i, j)}: drop a label or a link."
        )
    return place


def _block_links(cannot: Links, block: np.ndarray, n_blocks: int, graph) -> sparse.csr_array:
    pairs = block[cannot.pairs]
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(same):
        i, j = cannot.pairs[same[0]].tolist()
        raise ValueError(f"{cannot.say(same[0])}, but {_chain(graph, i, j)}: drop a link.")
    ones = np.ones(2 * len(pairs), dtype=np.int8)
    rows, columns = np.concatenate([pairs, pairs[:, ::-1]]).T
    links = sparse.coo_array((ones, (rows, columns)), shape=(n_blocks, n_blocks)).tocsr()
    links.sum_duplicates()
    return links


def _check_weightless(cannot: Links, constraints: Constraints) -> None:
    absent = constraints.weight[constraints.block[cannot.pairs]] <= 0
    if absent.any():
        row, side = np.argwhere(absent)[0]
        raise ValueError(
            f"{cannot.say(row)}, but sample {cannot.pairs[row, side]} has weight zero and is not clustered: give "
            "it a weight or drop the link."
        )


def _check_links(constraints: Constraints) -> None:
    """Raise an error for contradictions of cannot-links that can be named."""
    place, c = constraints.place, constraints.n_clusters
    sample = constraints.members[1][constraints.members[0][:-1]]  # a sample of each block
    first, link = constraints.linked
    rows = np.repeat(np.arange(constraints.n_blocks), np.diff(first))
    clash = np.flatnonzero((place[rows] >= 0) & (place[rows] == place[link]))
    if len(clash):
        u, v = rows[clash[0]], link[clash[0]]
        raise ValueError(
            f"samples {sample[u]} and {sample[v]} (or samples that must_link joins to them) are labelled {place[u]}, "
            "but cannot_link separates them: drop a label or a link."
        )
    degree = np.diff(first)
    for u in np.flatnonzero((degree >= c) & (place < 0)):
        partners = link[first[u] : first[u + 1]]
        if len(np.unique(place[partners][place[partners] >= 0])) == c:
            raise ValueError(
                f"cannot_link separates sample {sample[u]} from samples whose labels take all {c} nodes "
                f"({some(sample[partners])}): no cluster is left for it."
            )


def _check_sizes(constraints: Constraints) -> None:
    """Raise an error for contradictions of sizes that can be named."""
    lower, upper, slack = constraints.lower, constraints.upper, constraints.slack
    weight, c = constraints.weight, constraints.n_clusters
    total = float(weight.sum())
    if lower.sum() > total + slack:
        raise ValueError(
            f"min_cluster_size cannot be met: {c} clusters need {lower.sum():g} in all, the samples weigh {total:g}."
        )
    if upper.sum() < total - slack:
        raise ValueError(
            f"max_cluster_size cannot be met: {c} clusters hold {upper.sum():g} in all, the samples weigh {total:g}."
        )
    placed = constraints.place >= 0
    held = np.bincount(constraints.place[placed], weight[placed], minlength=c)
    for j in np.flatnonzero(held > upper + slack):
        raise ValueError(
            f"max_cluster_size={upper[j]:g} cannot be met: samples labelled {j} (and those must_link joins to them) "
            f"weigh {held[j]:g}."
        )
    for u in np.flatnonzero(weight > upper.max() + slack):
        samples = np.flatnonzero(constraints.block == u)
        cause = f"must_link joins samples {some(samples)} of weight" if len(samples) > 1 else f"sample {samples[0]} has"
        raise ValueError(f"max_cluster_size={upper.max():g} cannot be met: {cause} {weight[u]:g}.")


def equal_rows(X: Any, n_clusters: int, weight: np.ndarray) -> Constraints | None:
    """Return blocks of samples that are copies of each other, or None where there are none, or no more than clusters.

    Told apart by one random projection. A search that moves copies together cannot be trapped between them.
    """
    largest = float(max(X.max(), -X.min()))
    if not largest > 0:
        return None
    direction = np.random.RandomState(0).uniform(0.5, 1.0, X.shape[1])
    if sparse.issparse(X):
        projected, sizes = (X / largest) @ direction, abs(X / largest) @ direction
    else:  # from their middle, or rows far from the origin look equal; float32 in blocks: products are of copies
        middle = np.median(X[:MANY_ROWS] / largest, axis=0)
        blocks = (X[rows] / largest - middle for rows in row_blocks(*X.shape))
        projected, sizes = np.hstack([np.stack([block @ direction, np.abs(block) @ direction]) for block in blocks])
    distinct, block = np.unique(_rounded(projected, sizes), return_inverse=True)
    if len(distinct) == len(projected) or len(distinct) <= n_clusters:
        return None
    c, M = n_clusters, len(distinct)
    nothing = np.full(M, -1), sparse.csr_array((M, M)), np.zeros(c), np.full(c, np.inf), np.zeros((M, c))
    return Constraints(block, weight, *nothing)


def different_rows(tables: Sequence[Any], less_than: int) -> np.ndarray | None:
    """Return which of the different rows each sample has (n,), or None where there are `less_than` of them or more.

    The tables (n, d), dense or sparse, stand side by side.
    """
    if any(len(np.unique(X[:MANY_ROWS, 0])) >= less_than for X in tables if not sparse.issparse(X)):
        return None  # as almost always, without a copy of rows
    blocks = list(row_blocks(tables[0].shape[0], sum(X.shape[1] for X in tables), ENTRIES_AT_A_TIME))
    different = _keys(tables, slice(0, 0))
    for rows in blocks:
        different = np.unique(np.vstack([different, _keys(tables, rows)]), axis=0)
        if len(different) >= less_than:
            return None
    found = (np.unique(np.vstack([different, _keys(tables, rows)]), axis=0, return_inverse=True)[1] for rows in blocks)
    return np.hstack([block.ravel()[len(different) :] for block in found])


def _keys(tables: Sequence[Any], rows: slice) -> np.ndarray:
    """Return numbers that are equal where rows are: the entries, or random projections of sparse rows."""
    return np.hstack(
        [
            (X[rows] @ np.random.RandomState(0).uniform(0.5, 1.0, (X.shape[1], 2))) if sparse.issparse(X) else X[rows]
            for X in tables
        ]
    )


def _rounded(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return values to 11 digits, each of its own size: beside one huge row the others still differ."""
    unit = np.exp2(np.rint(np.log2(np.maximum(sizes, 1e-300))))
    return np.round(values / unit, 11) * unit


def draw(m: int, at_most: int, y: np.ndarray | None, rng: np.random.RandomState) -> np.ndarray:
    """Draw so many of m samples, those whose label is known among them (as far as they are no more than half)."""
    if m <= at_most or m - at_most < m // 4:
        return np.arange(m)
    told = np.empty(0, dtype=int) if y is None else np.flatnonzero(y >= 0)
    if len(told) > at_most // 2:
        told = rng.choice(told, at_most // 2, replace=False)
    others = rng.randint(0, m, size=at_most + at_most * at_most // (2 * m))  # some are drawn twice
    return np.unique(np.concatenate([told, others]))
