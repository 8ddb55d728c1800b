"""Weighted nearest-neighbour graphs that are always connected, the smoothest functions on them, commute kernels."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, lapack
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from kernelclust._names import check_number
from kernelclust.kernels._new_samples import nearest, nearest_others, neighbour_search
from kernelclust.kernels._smooth import filtered_smoothest, narrow

LEAST_LINK = 1e-3  # weight of a link of the spanning tree at least
STEPS = 60  # for the width of a sample's weights, at most
FEW_PAIRS = 1e6  # of samples in two parts of a graph, up to which all their distances are computed at once
SMALL = 200  # samples up to which a full decomposition is as fast
RESTARTS = 50  # of the Lanczos method, before the graph is factorised
LARGE = 1000  # samples beyond which functions are found from a coarse graph, to three digits or so


def n_neighbors_for(n_samples: int, n_clusters: int) -> int:
    """Return the number of neighbours of a sample, 1.5 x clip(m / 2c, 3, 10): they stay within a small group."""
    return round(1.5 * float(np.clip(n_samples // (2 * n_clusters), 3, 10)))


def neighbour_graph(X, k: int, search: cKDTree | NearestNeighbors | None = None) -> sparse.csr_array:
    """Return the connected graph (m x m, symmetric weights in (0, 1]) of the k nearest neighbours, found by a search
    among all samples.

    A sample's nearest neighbour has weight 1; others fall off as exp(-(d - d_nearest) / sigma_i), with sigma_i such
    that the weights add up to log2 of their number (as in UMAP; McInnes, Healy and Melville, 2018). Two one-sided
    weights a, b make a + b - ab. Links of a minimum spanning tree get a small weight at least.
    """
    check_number("n_neighbors", k, whole=True, least=1)
    search = neighbour_search(X) if search is None else search
    distance, index = nearest_others(search, min(int(k), X.shape[0] - 1))
    return _with_links(fuzzy_union(distance, index), _joining_links(X, distance, index))


def fuzzy_union(distance: np.ndarray, index: np.ndarray) -> sparse.csr_array:
    """Symmetric weights from the distances (m x k, ascending) to the neighbours `index` (m x k)."""
    m, k = distance.shape
    beyond = distance - distance[:, :1]
    weight = np.exp(-beyond / _widths(beyond, np.log2(k))[:, None])
    start = np.arange(0, m * k + 1, k)
    w = sparse.csr_array((weight.ravel(), index.ravel(), start), shape=(m, m))
    W = (w + w.T - w * w.T).tocsr()
    W.sort_indices()
    return W


def _widths(beyond: np.ndarray, total: float) -> np.ndarray:
    """sigma_i with sum_j exp(-beyond_ij / sigma_i) = total; exact in the units of X.

    By Newton's method on the logarithm of sigma, or bisection where that leaves the bounds. The first neighbour counts
    1, so a total of one or less (k <= 2) has no solution: the narrowest width is taken.
    """
    scale = beyond.mean(axis=1)
    scale = np.where(scale > 0, scale, 1.0)
    relative = beyond / scale[:, None]
    low, high = np.full(len(beyond), -10.0), np.full(len(beyond), 10.0)
    found = np.zeros(len(beyond))
    rows = np.arange(len(beyond))  # those still moving
    for _ in range(STEPS):
        at = found[rows]
        narrow = relative[rows] / np.exp(at)[:, None]
        weight = np.exp(-narrow)
        excess = weight.sum(axis=1) - total
        low[rows], high[rows] = np.where(excess > 0, low[rows], at), np.where(excess > 0, at, high[rows])
        slope = np.einsum("ij,ij->i", narrow, weight)
        steep = slope > 1e-100
        step = at - excess / np.where(steep, slope, np.inf)
        inside = (low[rows] <= step) & (step <= high[rows]) & steep
        found[rows] = np.where(inside, step, (low[rows] + high[rows]) / 2)
        rows = rows[np.abs(found[rows] - at) > 1e-12]
        if not len(rows):
            break
    return scale * np.exp(found)


def _joining_links(X, distance: np.ndarray, index: np.ndarray) -> sparse.csr_array:
    """Relative weights in (0, 1] of links that join the graph of neighbours: one for those of a shortest spanning
    tree, and from every part on its own a link to the second nearest part too, so that a ring of parts is closed; its
    weight falls with the square of its length.
    """
    m, k = distance.shape
    unit = distance.max() or 1.0
    length = np.maximum(distance / unit, np.finfo(float).eps)  # a link of length zero is a link still
    graph = sparse.csr_array((length.ravel(), index.ravel(), np.arange(0, m * k + 1, k)), shape=(m, m))
    graph = graph.maximum(graph.T)
    second = sparse.csr_array((m, m))
    while True:
        graph = narrow(graph)
        count, part = connected_components(graph, directed=False)
        if count == 1:
            tree = minimum_spanning_tree(graph)
            tree.data[:] = 1.0
            return tree.maximum(tree.T).maximum(second).tocsr()
        shortest, weaker = _links_between(X, part, unit)
        graph = graph.maximum(shortest)
        second = second.maximum(weaker)


def _links_between(X, part: np.ndarray, unit: float) -> tuple[sparse.csr_array, sparse.csr_array]:
    """From every part of a graph the shortest link to another part (its length), and to a second one (its weight)."""
    count = part.max() + 1
    links: tuple[dict, dict] = {}, {}
    for number in range(count):
        inside, outside = np.flatnonzero(part == number), np.flatnonzero(part != number)
        first = 0.0
        for found in links if count > 2 else links[:1]:
            length, i, j = _closest_pair(X, inside, outside)
            far = max(length / unit, np.finfo(float).eps)
            first = first or far
            pair, value = (min(i, j), max(i, j)), far if found is links[0] else (first / far) ** 2
            found[pair] = max(value, found.get(pair, 0.0))
            outside = outside[part[outside] != part[j]]
    return _symmetric(links[0], len(part)), _symmetric(links[1], len(part))


def _closest_pair(X, one: np.ndarray, other: np.ndarray) -> tuple[float, int, int]:
    """(length, i, j) of the shortest link from a sample of one part to a sample of the other."""
    if not sparse.issparse(X) and float(len(one)) * len(other) <= FEW_PAIRS:
        apart = cdist(X[one], X[other])
        i, j = np.unravel_index(apart.argmin(), apart.shape)
        return float(apart[i, j]), int(one[i]), int(other[j])
    distance, index = nearest(neighbour_search(X[other]), X[one], 1)
    best = int(np.argmin(distance[:, 0]))
    return float(distance[best, 0]), int(one[best]), int(other[index[best, 0]])


def _symmetric(links: dict, m: int) -> sparse.csr_array:
    pairs = sorted(links)
    rows, columns = np.array(pairs, dtype=int).reshape(-1, 2).T
    one_way = sparse.coo_array(([links[pair] for pair in pairs], (rows, columns)), shape=(m, m))
    return (one_way + one_way.T).tocsr()


def _with_links(W: sparse.csr_array, links: sparse.csr_array) -> sparse.csr_array:
    """Give joining links a tenth percentile's weight (times their own) at least, so that the graph is connected."""
    least = max(LEAST_LINK, float(np.quantile(W.data[W.data > 0], 0.1)))
    return W.maximum(least * links).tocsr()


def commute_kernel(W: sparse.csr_array, regularization: float = 0.0, hub: np.ndarray | None = None) -> np.ndarray:
    """(L + regularization D)^+ (m x m) up to a constant, L = D - W the Laplacian and D the degrees.

    `hub` (m,) holds the weights of links to one more node, which joins the pieces of a graph and is left out of K.
    """
    m = W.shape[0]
    degree = W.sum(axis=1)
    K = W.toarray()
    np.negative(K, out=K)
    K[np.diag_indices(m)] += (1 + regularization) * degree
    if hub is not None:
        K[np.diag_indices(m)] += hub
    elif not regularization:
        K += degree.mean() / m  # makes it invertible; adds a constant to the inverse, which centring takes out
    K, failed = lapack.dpotrf(K, lower=1, clean=0, overwrite_a=1)
    if failed == 0:
        K, failed = lapack.dpotri(K, lower=1, overwrite_c=1)
    if failed:
        raise ValueError("the neighbour graph is numerically disconnected: distances differ by too many magnitudes.")
    upper = np.triu_indices(m, 1)
    K[upper] = K.T[upper]
    return K


def smoothest(W: sparse.csr_array, number: int) -> tuple[np.ndarray, np.ndarray]:
    """The smallest eigenvalues of the normalised Laplacian I - D^-1/2 W D^-1/2 but for the zero, and their vectors.

    Up to `LARGE` samples to rounding: by a few hundred products with W where they suffice, else by a decomposition
    of the dense matrix. Beyond, to what a kernel needs, from a coarse graph.
    """
    m = W.shape[0]
    number = min(number, m - 1)
    degree = W.sum(axis=1)
    root = sparse.diags_array(1 / np.sqrt(degree))
    N = (root @ W @ root).tocsr()
    known = np.sqrt(degree / degree.sum())  # eigenvalue zero
    if number + 1 > m // 3 or m <= SMALL:
        values, vectors = np.linalg.eigh(np.eye(m) - N.toarray())
        return values[1 : number + 1], _signed(vectors[:, 1 : number + 1])
    if m > LARGE and 10 * number < m:
        values, vectors = filtered_smoothest(W, number)
        return values[:number], _signed(vectors[:, :number])
    options = {"k": number + 1, "v0": np.cos(np.arange(m)), "tol": 1e-8, "ncv": min(m - 1, 2 * number + 3)}
    try:
        values, vectors = eigsh(N, which="LA", maxiter=RESTARTS, **options)
        values = 1 - values
    except ArpackNoConvergence:  # by the factors of I - N, 1000 samples on one long path took 9 s instead of 0.3 s
        values, vectors = eigh(np.eye(m) - N.toarray(), subset_by_index=(0, number))
    order = np.argsort(values)[1:]
    vectors = vectors[:, order]
    vectors -= np.outer(known, known @ vectors)
    return np.maximum(values[order], np.finfo(float).eps), _signed(vectors)


def commute_factor(W: sparse.csr_array, number: int, regularization: float = 0.0) -> np.ndarray:
    """B (m x number) with B B' the commute kernel of the smoothest functions alone."""
    values, vectors = smoothest(W, number)
    return vectors / np.sqrt(W.sum(axis=1))[:, None] / np.sqrt(values + regularization)


def distinct_rows(X) -> tuple[np.ndarray, np.ndarray]:
    """(first, which): rows first[k] are the distinct rows of X, and row i equals row first[which[i]]."""
    if sparse.issparse(X):
        keys = np.asarray(X @ np.cos(1.0 + np.arange(X.shape[1])))  # equal rows are equal here
    elif len(np.unique(X[:, 0])) == X.shape[0]:  # told apart by the first column already
        return np.arange(X.shape[0]), np.arange(X.shape[0])
    else:
        keys = np.ascontiguousarray(X + 0.0).view(np.dtype((np.void, X.shape[1] * X.itemsize))).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == X.shape[0] or (sparse.issparse(X) and abs(X - X[first[which]]).max() > 0):
        return np.arange(X.shape[0]), np.arange(X.shape[0])
    return first, which.ravel()


def _signed(vectors: np.ndarray) -> np.ndarray:
    """Columns with their largest entry positive, so that the same graph gives the same vectors."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)
