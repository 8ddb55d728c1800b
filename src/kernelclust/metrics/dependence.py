"""Dependence between two kernels: HSIC and its permutation test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, check_random_state

Floats = npt.NDArray[np.float64]
ESTIMATORS = ("biased", "unbiased")
BLOCK = 1 << 22  # entries of a matrix made at a time
GATHER = 1 << 16  # entries gathered at a time, few enough for the cache


class HSICTest(NamedTuple):
    """Outcome of `hsic_test`."""

    statistic: float
    """HSIC of the kernels as they are."""
    p_value: float
    """Share of permutations, the given order included, with at least this HSIC."""
    null: Floats
    """HSIC of the permuted kernels."""


def hsic(K: npt.ArrayLike, L: npt.ArrayLike, estimator: str = "biased") -> float:
    """Return the Hilbert-Schmidt independence criterion of two kernels on the same samples.

    biased: tr(H K H L) / (m - 1)², with H = I - 11'/m. Never negative for kernels, but not 0 on average under
    independence.

    unbiased: (tr(K~ L~) + 1'K~1 1'L~1 / ((m - 1)(m - 2)) - 2 1'K~L~1 / (m - 2)) / (m (m - 3)), where K~ and L~ are K
    and L with a zero diagonal. Its mean is 0 under independence, so it may be negative; needs four samples.

    Both are computed by subtracting row means block by block, without a product of m x m matrices.

    Parameters
    ----------
    K, L : array-like of shape (m, m)
        Symmetric kernel matrices.
    estimator : {"biased", "unbiased"}, default="biased"
        Which of the two.

    Returns
    -------
    value : float
        Larger means more dependent.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust.metrics import hsic
    >>> y = np.array([0, 0, 1, 1])
    >>> same = (y[:, None] == y[None, :]).astype(float)
    >>> round(hsic(same, same), 6)
    0.444444
    """
    K, L = _check(K, L, estimator)
    pairs = zip(_centred_blocks(K, estimator), _centred_blocks(L, estimator), strict=True)
    return sum(float(np.vdot(k, l)) for k, l in pairs) / _divisor(len(K), estimator)


def hsic_test(
    K: npt.ArrayLike,
    L: npt.ArrayLike,
    n_permutations: int = 1000,
    random_state: Any = None,
    estimator: str = "biased",
) -> HSICTest:
    """Test whether two kernels on the same samples are independent.

    Compares HSIC with its values after shuffling the samples of L. The p-value (1 + #{null >= statistic}) / (1 + n)
    counts ties against dependence, so that P(p <= a) <= a under independence for every a and every m.

    The labels must not have been fitted to K: a clustering of the same data always depends on it, and the p-value is
    small even without clusters. `select_n_clusters` compares clusterings with those of reference data instead.

    Parameters
    ----------
    K, L : array-like of shape (m, m)
        Symmetric kernel matrices.
    n_permutations : int, default=1000
        Number of permutations; the smallest possible p-value is 1 / (1 + n_permutations).
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.
    estimator : {"biased", "unbiased"}, default="biased"
        See `hsic`.

    Returns
    -------
    result : HSICTest
        With fields `statistic`, `p_value` and `null`, an array of shape (n_permutations,).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust.metrics import hsic_test
    >>> x = np.arange(20.0)
    >>> K = np.minimum(x[:, None], x[None, :])
    >>> hsic_test(K, K, n_permutations=99, random_state=0).p_value
    0.01
    """
    if isinstance(n_permutations, bool) or not isinstance(n_permutations, (int, np.integer)) or n_permutations < 1:
        raise ValueError(f"n_permutations must be an integer above 0, got {n_permutations!r}.")
    K, L = _check(K, L, estimator)
    rng = check_random_state(random_state)
    m = len(K)
    l = np.empty((m, m))  # L centred; K is used as it is, because the products with l do not see its means
    for rows, block in zip(_row_blocks(m), _centred_blocks(L, estimator), strict=True):
        l[rows] = block
    statistic = _product(K, l, np.arange(m))
    null = np.array([_product(K, l, rng.permutation(m)) for _ in range(n_permutations)])
    spread = np.sqrt(sum(float(np.vdot(block, block)) for block in _centred_blocks(K, estimator)))
    rounding = (1e-10 * spread + 1e-14 * np.sqrt(float(np.vdot(K, K)))) * np.sqrt(np.vdot(l, l))
    at_least = int((null >= statistic - rounding).sum())
    divisor = _divisor(m, estimator)
    return HSICTest(statistic / divisor, (1 + at_least) / (1 + n_permutations), null / divisor)


def _product(K: Floats, l: Floats, order: npt.NDArray[np.intp]) -> float:
    """Return <K, l> with the samples of l in another order, some rows at a time."""
    return sum(float(np.vdot(K[rows], l[np.ix_(order[rows], order)])) for rows in _row_blocks(len(K), GATHER))


def _check(K: Any, L: Any, estimator: str) -> tuple[Floats, Floats]:
    if estimator not in ESTIMATORS:
        raise ValueError(f"unknown estimator {estimator!r}; known: {', '.join(ESTIMATORS)}.")
    K, L = (check_array(M, dtype=[np.float64, np.float32], input_name=name) for M, name in ((K, "K"), (L, "L")))
    for M, name in ((K, "K"), (L, "L")):
        if M.shape[0] != M.shape[1]:
            raise ValueError(
                f"{name} must be a square kernel matrix, got shape {M.shape}; hsic takes kernels, not data."
            )
        scale = max(float(np.abs(M[rows]).max()) for rows in _row_blocks(len(M)))
        if not all(np.allclose(M[rows], M[:, rows].T, rtol=1e-5, atol=1e-6 * scale) for rows in _row_blocks(len(M))):
            raise ValueError(
                f"{name} is not symmetric; a kernel matrix is. Use ({name} + {name}.T) / 2 if it should be."
            )
    if len(K) != len(L):
        raise ValueError(f"K and L must be on the same samples; K has {len(K)}, L has {len(L)}.")
    needed = 2 if estimator == "biased" else 4
    if len(K) < needed:
        raise ValueError(f"the {estimator} estimator needs at least {needed} samples, got {len(K)}.")
    return K, L


def _row_blocks(m: int, entries: int | None = None) -> Iterator[slice]:
    step = max(1, (entries or BLOCK) // m)
    return (slice(start, min(start + step, m)) for start in range(0, m, step))


def _divisor(m: int, estimator: str) -> float:
    return float((m - 1) ** 2 if estimator == "biased" else m * (m - 3))


def _centred_blocks(M: Floats, estimator: str) -> Iterator[Floats]:
    """Yield rows of H M H, or of its unbiased counterpart with a zero diagonal, some at a time."""
    m = len(M)
    sums = M.sum(axis=1, dtype=np.float64)
    if estimator == "biased":
        mean, middle = sums / m, sums.sum() / m**2
    else:
        sums -= np.diag(M)
        mean, middle = sums / (m - 2), sums.sum() / ((m - 1) * (m - 2))
    for rows in _row_blocks(m):
        block = M[rows] - mean[rows, None] - mean[None, :] + middle
        if estimator == "unbiased":
            within = np.arange(len(block))
            block[within, rows.start + within] = 0.0
        yield block
