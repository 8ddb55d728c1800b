"""The smoothest functions on a large graph: from a coarse copy of it, sharpened by polynomials of the graph.

Samples are merged with their strongest neighbours, level by level, until a full decomposition is cheap. On the way
back every level applies a Chebyshev polynomial of its graph, which damps all but the smoothest functions (Zhou, Saad,
Tiago and Chelikowsky, 2006), and takes the best functions of the space that is left (Rayleigh and Ritz). A few dozen
products of the graph with a block of vectors do what the Lanczos method does in several hundred with one vector.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from kernelclust.kernels._loops import less_itself_plus

COARSE = 400  # samples up to which a full decomposition is cheap
NOT_COARSER = 0.8  # share of samples left by merging, above which it leads nowhere
TIE = 1e-9  # relative difference of weights between which chance decides
SPARE = 10  # functions beyond those asked for, which make the last of these converge
ROUNDS = 12  # of filtering at most
TOLERANCE = 0.4  # |N u - (1 - value) u| relative to the value, where filtering ends; values err by its square
ROUNDING = 1e-5  # of that residual in single precision


def narrow(graph: sparse.csr_array) -> sparse.csr_array:
    """Return the matrix with the 32-bit indices that scipy's graph functions need before scipy 1.17."""
    graph = sparse.csr_array(graph)
    graph.indices, graph.indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    return graph


def filtered_smoothest(W: sparse.csr_array, number: int, tolerance: float = TOLERANCE) -> tuple[np.ndarray, np.ndarray]:
    """The smallest eigenvalues of I - D^-1/2 W D^-1/2 but for the zero, ascending, and their vectors (m x k).

    `number` of them are good, and a few more come along, k >= number.
    """
    order = reverse_cuthill_mckee(narrow(W), symmetric_mode=True)  # neighbours side by side: products stay in the cache
    W = sparse.csr_array(W[order][:, order])
    root = np.sqrt(W.sum(axis=1))
    N = _normalised(W, root)
    known = root / np.linalg.norm(root)
    values, V = _from_coarse(W, N, root, number + SPARE)
    for _ in range(ROUNDS):
        values, V, residual = _sharpen(N, V, values, known)
        if (residual[:number] <= tolerance * values[:number] + ROUNDING).all():
            break
    found = np.empty_like(V)
    found[order] = V
    return values, found


def _normalised(W: sparse.csr_array, root: np.ndarray) -> sparse.csr_array:
    N = W.tocsr(copy=True)
    N.data /= root[N.indices] * np.repeat(root, np.diff(N.indptr))
    return N


def _from_coarse(W, N, root: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and vectors of a graph from those of its coarse copy."""
    m = W.shape[0]
    known = root / np.linalg.norm(root)
    if m <= max(COARSE, 3 * number):
        values, V = eigh(np.eye(m) - N.toarray(), subset_by_index=[1, min(number, m - 1)])
        return values, V
    group, count = _merged(W)
    if count > NOT_COARSER * m or count <= number:
        return _best_of(N, np.cos(np.outer(1.0 + np.arange(m), 1.0 + np.arange(number))), known)
    P = sparse.csr_array((np.ones(m), group, np.arange(m + 1)), shape=(m, count))
    coarse = (P.T @ W @ P).tocsr()
    coarse_root = np.sqrt(coarse.sum(axis=1))
    values, V = _from_coarse(coarse, _normalised(coarse, coarse_root), coarse_root, number)
    values, V = _best_of(N, root[:, None] * (V / coarse_root[:, None])[group], known)
    values, V, _ = _sharpen(N, V, values, known)
    return values, V


def _merged(W: sparse.csr_array) -> tuple[np.ndarray, int]:
    """Groups of samples that are each other's strongest neighbours, directly or in a row: (group of each, number)."""
    m = W.shape[0]
    owner = np.repeat(np.arange(m), np.diff(W.indptr))
    untied = W.data * (1 + TIE * np.cos((1.0 + owner) * (1.0 + W.indices)))  # of equals, everyone would take the first
    other = np.where(W.indices == owner, -1.0, untied)
    strongest = np.maximum.reduceat(other, W.indptr[:-1])
    at = np.flatnonzero(other == strongest[owner])
    pick = np.empty(m, dtype=np.int32)
    pick[owner[at]] = W.indices[at]
    links = sparse.csr_array((np.ones(m), pick, np.arange(m + 1, dtype=np.int32)), shape=(m, m))
    count, group = connected_components(links, directed=False)
    return group, count


def _sharpen(N, V: np.ndarray, values: np.ndarray, known: np.ndarray):
    """Values, vectors and the lengths of their residuals after one polynomial that damps what is less smooth.

    The polynomial is computed in single precision: what rounding adds is taken out again by the next step.
    """
    cut = min(max(float(values[-1]), 1e-6), 1.0)
    degree = int(np.clip(np.ceil(2 / np.sqrt(cut)), 6, 30))
    half = (2 - cut) / 2  # [-1, 1 - cut] is damped
    graph = N.indptr.astype(np.int32), N.indices.astype(np.int32), (N.data * (2 / half)).astype(np.float32)
    loop = np.float32(cut / half)
    before = np.ascontiguousarray(V, dtype=np.float32)
    now = np.zeros_like(before)
    less_itself_plus(*graph, loop, before, now)
    now /= 2
    for _ in range(degree - 1):
        less_itself_plus(*graph, loop, now, before)
        before, now = now, before
    return _ritz(N, now.astype(np.float64), known)


def _best_of(N, V: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, V, _ = _ritz(N, V, known)
    return values, V


def _ritz(N, V: np.ndarray, known: np.ndarray):
    """The best functions of a space: values ascending, orthonormal vectors, and how far each is from an eigenvector."""
    for _ in range(2):
        V -= np.outer(known, known @ V)
        length = np.sqrt(np.einsum("ij,ij->j", V, V))
        V /= np.where(length > 0, length, 1.0)
        size, turn = np.linalg.eigh(V.T @ V)
        keep = size > 1e-12 * size[-1]
        V = V @ (turn[:, keep] / np.sqrt(size[keep]))
        if size[0] > 1e-4:  # orthonormal to rounding already
            break
    image = N @ V
    H = V.T @ image
    values, turn = np.linalg.eigh(-(H + H.T) / 2)
    V, image = V @ turn, image @ turn
    image += V * values
    residual = np.sqrt(np.einsum("ij,ij->j", image, image))
    return np.maximum(values + 1, np.finfo(float).eps), V, residual
