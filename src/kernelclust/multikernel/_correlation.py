"""M (m x m): how much two kernels say the same; the larger, the more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement

import numpy as np
from sklearn.utils import check_array

from kernelclust._names import check_name
from kernelclust.kernels import KernelOperator, row_blocks

CORRELATIONS = ("trace", "hsic", "mmd", "kl")
BLOCK = 2**18  # entries of kernels compared at a time
LARGE_BLOCK = 2**22  # where entries are recomputed, which takes large blocks to be fast
PAIRS = 1000  # samples whose pairs "kl" looks at, and a function of matrices is given


def correlation_matrix(kernels: Sequence[KernelOperator], correlation: str | Callable = "trace") -> np.ndarray:
    """Return M (m x m), the similarities M_pq of prepared kernels.

    "trace": Tr(K_p K_q), as in the paper. "hsic": Tr(K_p H K_q H) / (n - 1)^2, dependence of two views. "mmd":
    exp(-|K_p / |K_p| - K_q / |K_q||^2), from the distance between kernels of unit Frobenius norm, which is the maximum
    mean discrepancy of two weightings of the pairs of samples. "kl": exp(-JS), JS the mean Kullback-Leibler divergence
    to the middle of two distributions over pairs, proportional to 1 + K; on at most 1000 samples. The last two are
    positive definite because the distances in them are Euclidean. A function gets two matrices, on at most 1000
    samples, and must be symmetric and positive semidefinite over the kernels. Sample weights count as copies, except
    with a function, which does not get them.
    """
    if callable(correlation):
        return _by_function(kernels, correlation)
    check_name("correlation", correlation, CORRELATIONS, also=", or a function of two kernel matrices")
    if correlation == "kl":
        return _jensen_shannon(kernels)
    M = _traces(kernels)
    if correlation == "hsic":
        return _centred(M, kernels) / max(float(kernels[0].weight.sum()) - 1, 1) ** 2
    if correlation == "mmd":
        size = np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1.0))
        return np.exp(-np.maximum(2 - 2 * M / np.outer(size, size), 0))
    return M


def _traces(kernels: Sequence[KernelOperator]) -> np.ndarray:
    """Tr(D K_p D K_q), D the sample weights."""
    m, n, weight = len(kernels), kernels[0].n_samples, kernels[0].weight
    M = np.zeros((m, m))
    factors = [kernel.factor for kernel in kernels if kernel.factor is not None]
    if len(factors) == m:
        for p, q in combinations_with_replacement(range(m), 2):
            B, C = factors[p], factors[q]
            cross = np.zeros((B.shape[1], C.shape[1]))
            for rows in row_blocks(n, max(B.shape[1], C.shape[1])):
                cross += (weight[rows, None] * B[rows]).T @ C[rows]
            M[p, q] = M[q, p] = np.square(cross).sum()
        return M
    root = None if np.all(weight == 1) else np.sqrt(weight)
    blocks = list(row_blocks(n, n * m, BLOCK if all(kernel.cheap for kernel in kernels) else LARGE_BLOCK))
    room = np.empty((m, blocks[0].stop, n))
    for rows in blocks:
        some = room[:, : rows.stop - rows.start]
        for block, kernel in zip(some, kernels, strict=True):
            block[:] = kernel.rows(rows)
            if root is not None:
                block *= root[rows, None]
                block *= root
        flat = some.reshape(m, -1)
        M += flat @ flat.T
    return (M + M.T) / 2


def _centred(M: np.ndarray, kernels: Sequence[KernelOperator]) -> np.ndarray:
    """Tr(K_p H K_q H) from Tr(K_p K_q) and row sums."""
    weight = kernels[0].weight[:, None]
    total = float(weight.sum())
    sums = np.hstack([kernel @ weight for kernel in kernels])  # (n, m)
    totals = (weight * sums).sum(axis=0)
    return M - 2 * (sums.T @ (weight * sums)) / total + np.outer(totals, totals) / total**2


def _matrices(kernels: Sequence[KernelOperator]) -> tuple[list[np.ndarray], np.ndarray]:
    """Every kernel between the same few samples, the same in every fit, and their weights."""
    n = kernels[0].n_samples
    chosen = np.arange(n)
    if n > PAIRS:
        chosen = np.sort(np.random.RandomState(0).choice(n, PAIRS, replace=False))
    matrices = [kernel.rows(chosen, chosen) for kernel in kernels]
    return [(K + K.T) / 2 for K in matrices], kernels[0].weight[chosen]


def _jensen_shannon(kernels: Sequence[KernelOperator]) -> np.ndarray:
    shares = []
    matrices, weight = _matrices(kernels)
    for K in matrices:
        share = np.maximum(1 + K, 0) * np.outer(weight, weight)
        shares.append(share / share.sum())
    m = len(kernels)
    divergence = np.zeros((m, m))
    for p, q in combinations_with_replacement(range(m), 2):
        middle = (shares[p] + shares[q]) / 2
        divergence[p, q] = divergence[q, p] = (_kl(shares[p], middle) + _kl(shares[q], middle)) / 2
    return np.exp(-divergence)


def _kl(P: np.ndarray, Q: np.ndarray) -> float:
    some = P > 0
    return float((P[some] * np.log(P[some] / Q[some])).sum())


def _by_function(kernels: Sequence[KernelOperator], function: Callable) -> np.ndarray:
    matrices = _matrices(kernels)[0]
    M = np.array([[float(function(K, L)) for L in matrices] for K in matrices])
    M = check_array(M, input_name="the matrix of the correlation function")
    if np.abs(M - M.T).max() > 1e-8 * np.abs(M).max():
        raise ValueError("the correlation function is not symmetric: f(K, L) differs from f(L, K).")
    lowest = float(np.linalg.eigvalsh((M + M.T) / 2)[0])
    if lowest < -1e-8 * np.abs(M).max():
        raise ValueError(
            f"the correlation function gives a matrix over the kernels with a negative eigenvalue ({lowest:.3g}); it "
            "must be positive semidefinite. Turn a squared distance d into exp(-d)."
        )
    return (M + M.T) / 2
