"""The nearest neighbours of every sample among the others, by the way that is fastest for their number and columns.

Exact: a tree in few columns, brute force in small sets, and in between cells (below). Approximate: pynndescent, where
it is installed and the exact way would take minutes; one thread and a fixed seed, so that the result is always the
same.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from kernelclust._threads import one_thread

FEW_COLUMNS = 8  # up to here a tree is fastest
SMALL = 4000  # samples up to which brute force is as fast as cells
APPROXIMATE = 5e11  # m^2 d from which pynndescent pays: it compiles for most of a minute in every process
CELL = 256  # samples in a cell
OWN_CELLS = 8  # cells whose samples bound the distance of the last neighbour
SLACK = 2e-5  # of squared distances in single precision, relative to the squared size of what is subtracted
AT_ONCE = 8192  # samples that a cell is compared with at a time


def nearest_neighbours(X, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances (m x k, ascending, float64) and indices (m x k) of the k < m nearest other samples."""
    m, d = X.shape
    if sparse.issparse(X):
        return _by_scikit_learn(X, k, "auto")
    if d <= FEW_COLUMNS:
        return _by_scikit_learn(X, k, "kd_tree")
    if float(m) ** 2 * d >= APPROXIMATE and find_spec("pynndescent") is not None:
        return _by_descent(X, k)
    if m <= max(SMALL, 20 * k):
        return _by_scikit_learn(X, k, "brute")
    return _by_cells(X, k)


def _by_scikit_learn(X, k: int, algorithm: str) -> tuple[np.ndarray, np.ndarray]:
    distance, index = NearestNeighbors(n_neighbors=k, algorithm=algorithm).fit(X).kneighbors()
    return distance.astype(np.float64), index


def _by_descent(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours of neighbours (Dong, Moses and Li, 2011); their distances are computed again in double precision."""
    from pynndescent import NNDescent

    near = (X - X.mean(axis=0)).astype(np.float32)
    index = NNDescent(near, n_neighbors=k + 1, random_state=0, n_jobs=1).neighbor_graph[0]
    own = index == np.arange(len(X))[:, None]
    own[~own.any(axis=1), -1] = True  # a sample that did not find itself: leave out the farthest
    index = index[~own].reshape(len(X), k).astype(np.int64)
    missing = index < 0
    if missing.any():  # fewer than k were found: look at all
        rows = np.flatnonzero(missing.any(axis=1))
        found = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(X).kneighbors(X[rows])[1]
        index[rows] = [[j for j in line if j != i][:k] for i, line in zip(rows, found, strict=True)]
    distance = np.empty(index.shape)
    for start in range(0, len(X), AT_ONCE):
        rows = slice(start, start + AT_ONCE)
        beyond = X[index[rows]] - X[rows, None]
        distance[rows] = np.sqrt(np.einsum("nkd,nkd->nk", beyond, beyond, dtype=np.float64))
    order = np.argsort(distance, axis=1, kind="stable")
    return np.take_along_axis(distance, order, axis=1), np.take_along_axis(index, order, axis=1)


def _by_cells(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Exact neighbours by cells: the samples of the nearest cells bound the distance of the k-th neighbour, cells that
    lie beyond are left out, and all closer samples are found by products in single precision, with some slack, and
    compared in double precision."""
    m = len(X)
    X = X - X.mean(axis=0, dtype=np.float64)
    unit = 2.0 ** np.ceil(np.log2(np.abs(X).max() or 1.0))  # squares must stay in single precision
    X /= unit
    order, start, centre = _cells(X)
    Z = X[order]
    square = np.einsum("ij,ij->i", centre, centre)
    apart = np.sqrt(np.maximum(square[:, None] + square - 2 * centre @ centre.T, 0))
    distance, index = np.empty((m, k)), np.empty((m, k), dtype=np.int64)

    def search(cell: int) -> None:
        rows = slice(start[cell], start[cell + 1])
        far, near = _search_cell(Z, start, centre, apart[cell], cell, k)
        distance[order[rows]], index[order[rows]] = unit * far, order[near]

    with one_thread(), ThreadPoolExecutor(_openmp_effective_n_threads()) as pool:
        list(pool.map(search, range(len(centre))))
    return distance, index


def _cells(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples by cell (order, start of each cell) and the cells' centres, every sample in the cell of its nearest."""
    m = len(X)
    centre = X[np.random.RandomState(0).permutation(m)[: max(1, m // CELL)]].astype(np.float64)
    few = X[:: max(1, m // (16 * len(centre)))]
    for _ in range(3):  # a few steps of k-means on a few samples
        cell = _nearest_centre(few, centre)
        size = np.bincount(cell, minlength=len(centre))
        sums = sparse.csr_array((np.ones(len(few)), cell, np.arange(len(few) + 1)), shape=(len(few), len(centre))).T
        centre = np.where(size[:, None] > 0, (sums @ few) / np.maximum(size, 1)[:, None], centre)
    cell = _nearest_centre(X, centre)
    order = np.argsort(cell, kind="stable")
    used, first = np.unique(cell[order], return_index=True)
    return order, np.append(first, m), centre[used]


def _nearest_centre(X: np.ndarray, centre: np.ndarray) -> np.ndarray:
    half = np.einsum("ij,ij->i", centre, centre) / 2
    blocks = [slice(i, i + AT_ONCE) for i in range(0, len(X), AT_ONCE)]
    return np.concatenate([(half - X[rows] @ centre.T).argmin(axis=1) for rows in blocks])


def _search_cell(Z, start, centre, apart: np.ndarray, cell: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rows = slice(start[cell], start[cell + 1])
    Q = Z[rows] - centre[cell]
    q = np.einsum("ij,ij->i", Q, Q)
    by_distance = np.argsort(apart, kind="stable")
    by_distance = np.r_[cell, by_distance[by_distance != cell]]
    many = np.cumsum(np.diff(start)[by_distance])
    own = by_distance[: max(OWN_CELLS, int(np.searchsorted(many, k + 1)) + 1)]

    single, single_q = Q.astype(np.float32), q.astype(np.float32)
    at = _members(start, own)
    square = _squares(single, single_q, Z[at] - centre[cell])
    square[np.arange(len(Q)), np.arange(rows.start, rows.stop) - start[cell]] = np.inf
    kth = np.partition(square, k - 1, axis=1)[:, k - 1]
    kth = np.sqrt(np.maximum(kth, 0).astype(np.float64))
    slack = SLACK * (kth + np.sqrt(q)) ** 2
    limit = (kth**2 + 2 * slack).astype(np.float32)
    who, which = _within(square, limit)
    found = [(who, at[which])]

    rest = by_distance[len(own) :]
    if len(rest):  # samples beyond the plane between two centres are as far as the plane at least
        plane = apart[rest] / 2 - Q @ ((centre[rest] - centre[cell]) / np.maximum(apart[rest], 1e-300)[:, None]).T
        rest = rest[(plane <= np.sqrt(limit.astype(np.float64) + slack)[:, None]).any(axis=0)]
    others = _members(start, rest)
    for begin in range(0, len(others), AT_ONCE):
        at = others[begin : begin + AT_ONCE]
        who, which = _within(_squares(single, single_q, Z[at] - centre[cell]), limit)
        found.append((who, at[which]))
    who, at = (np.concatenate(part) for part in zip(*found, strict=True))
    return _closest(Z, rows.start, who, at, k)


def _members(start: np.ndarray, cells: np.ndarray) -> np.ndarray:
    parts = [np.arange(start[a], start[a + 1]) for a in cells]
    return np.concatenate(parts) if parts else np.empty(0, dtype=int)


def _squares(Q: np.ndarray, q: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Squared distances in single precision."""
    Y = Y.astype(np.float32)
    square = Q @ (-2 * Y).T
    square += np.einsum("ij,ij->i", Y, Y)
    square += q[:, None]
    return square


def _within(square: np.ndarray, limit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.divmod(np.flatnonzero(square <= limit[:, None]), square.shape[1])


def _closest(Z, first: int, who: np.ndarray, at: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Of the candidates `at` of samples first + `who`, the k closest: distances ascending and where they are."""
    distance = np.empty(len(who))
    step = max(1, 2**20 // Z.shape[1])
    for begin in range(0, len(who), step):
        part = slice(begin, begin + step)
        beyond = Z[at[part]] - Z[first + who[part]]
        distance[part] = np.sqrt(np.einsum("nd,nd->n", beyond, beyond))
    order = np.lexsort((at, distance, who))
    begins = np.searchsorted(who[order], np.arange(who.max() + 1))
    best = order[begins[:, None] + np.arange(k)]
    return distance[best], at[best]
