"""The stability bound: how far a clustering can move when its kernel is disturbed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, eigsh

from kernelclust.kernels import DenseKernel, check_precomputed
from kernelclust.metrics import check_values, clustering_distance

EXACT = 500  # up to here a full decomposition costs no more than an iteration
ROUNDING = 1e-10  # an eigengap below this share of the largest eigenvalue is none


class StabilityBound(NamedTuple):
    """Outcome of `stability_bound`."""

    bound: float
    """2 (sqrt(delta) + sqrt(delta_perturbed) + sqrt(gamma))²; infinite where an eigengap is zero."""
    distance: float
    """|L - L~|_F² of the two clusterings; not a number when only one was given."""
    largest: float
    """2 (c - 1): no two clusterings are further apart, so a larger bound says nothing."""
    delta: float
    """(D0 - D) / gap: what the labels leave of the kernel's leading eigenvectors."""
    delta_perturbed: float
    """The same for the disturbed kernel and its labels."""
    gamma: float
    """(D0 - tr(K U~U~')) / gap: how far the disturbance turned the leading eigenvectors."""
    gap: float
    """Eigengap l_(c-1) - l_c of the kernel."""
    gap_perturbed: float
    """The same for the disturbed kernel."""


def stability_bound(
    K: npt.ArrayLike,
    labels: npt.ArrayLike,
    K_perturbed: npt.ArrayLike | None = None,
    labels_perturbed: npt.ArrayLike | None = None,
) -> StabilityBound:
    """Return a bound on the distance between clusterings of a kernel and of the kernel after a disturbance.

    Theorem 1 of Song, Smola, Gretton and Borgwardt (2007, A dependence maximization view of clustering): with
    L = P P', P the columns of the labels scaled to length one, D = tr(K L), D0 the sum of the c - 1 largest
    eigenvalues of the centred K, U their eigenvectors, and a tilde for what belongs to the disturbed kernel,

        |L - L~|² <= 2 (sqrt(delta) + sqrt(delta~) + sqrt(gamma))²,
        delta = (D0 - D) / (l_(c-1) - l_c),   gamma = (D0 - tr(K U~U~')) / (l_(c-1) - l_c).

    It holds for any disturbance, small or not, and any labels with c non-empty clusters. A small bound means that the
    clusters will hardly change; a large one means nothing. It is about clusters, not about their nodes on a structure.

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel matrix; it is centred here.
    labels : array of shape (m,)
        Clustering of K, labels of any kind.
    K_perturbed : array of shape (m, m), optional
        Kernel after the disturbance (noise, other parameters, a low-rank approximation). K itself when left out.
    labels_perturbed : array of shape (m,), optional
        Clustering of the disturbed kernel, as many clusters. When left out the bound holds for *every* clustering into
        c clusters that is at least as good on the disturbed kernel as `labels` are, the best one included.

    Returns
    -------
    result : StabilityBound
        With the fields `bound`, `distance`, `largest` and the terms `delta`, `delta_perturbed`, `gamma`, `gap`,
        `gap_perturbed`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import stability_bound
    >>> x = np.r_[np.zeros(10), np.ones(10)] + 0.1 * np.sin(np.arange(20.0))
    >>> K, disturbed = np.outer(x, x), np.outer(x, x) + 0.01 * np.cos(np.add.outer(x, x))
    >>> result = stability_bound(K, x > 0.5, disturbed)  # no clustering of `disturbed` that is as good ...
    >>> bool(result.bound < 0.4), result.largest  # ... can be further from this one
    (True, 2.0)
    """
    first = DenseKernel(check_precomputed(K, "K"))
    second = first if K_perturbed is None else DenseKernel(check_precomputed(K_perturbed, "K_perturbed"))
    m = first.n_samples
    y = _codes(labels, "labels", m)
    z = y if labels_perturbed is None else _codes(labels_perturbed, "labels_perturbed", m)
    c = int(y.max()) + 1
    if second.n_samples != m:
        raise ValueError(f"K has {m} samples and K_perturbed {second.n_samples}; give kernels of the same samples.")
    if int(z.max()) + 1 != c:
        raise ValueError(
            f"labels has {c} clusters and labels_perturbed {int(z.max()) + 1}; the bound is for equal numbers."
        )
    if c < 2:
        raise ValueError("labels has a single cluster, which nothing can move; the bound is for two or more.")
    values, U = _leading(first, c)
    values_perturbed, U_perturbed = (values, U) if second is first else _leading(second, c)
    delta = shortfall(values, captured(first, y, c))
    delta_perturbed = shortfall(values_perturbed, captured(second, z, c))
    gamma = shortfall(values, float(np.vdot(U_perturbed, first @ U_perturbed)))
    distance = float("nan") if labels_perturbed is None else clustering_distance(y, z)
    bound = 2 * (np.sqrt(delta) + np.sqrt(delta_perturbed) + np.sqrt(gamma)) ** 2
    gaps = gap_of(values), gap_of(values_perturbed)
    return StabilityBound(float(bound), distance, 2.0 * (c - 1), delta, delta_perturbed, gamma, *gaps)


def captured(operator: Any, labels: np.ndarray, n_clusters: int) -> float:
    """D = tr(K P P') = sum_j S_jj / n_j."""
    sizes = np.bincount(labels, operator.weight, minlength=n_clusters)
    return float((np.diag(operator.cluster_sums(labels, n_clusters)) / np.where(sizes > 0, sizes, 1)).sum())


def gap_of(values: np.ndarray) -> float:
    """Eigengap l_(c-1) - l_c of the c leading eigenvalues."""
    return max(float(values[-2] - values[-1]), 0.0)


def shortfall(values: np.ndarray, reached: float) -> float:
    """(D0 - reached) / gap for the c leading eigenvalues."""
    gap = gap_of(values)
    if gap <= ROUNDING * float(np.abs(values).max()):
        return float("inf")  # the eigenvectors are anyone's choice, whatever is reached
    return max(float(values[:-1].sum()) - reached, 0.0) / gap


def _leading(operator: Any, c: int) -> tuple[np.ndarray, np.ndarray]:
    """The c leading eigenvalues (fewer samples: with zeros) of the centred kernel, and c - 1 eigenvectors."""
    m = operator.n_samples
    if m <= max(EXACT, 2 * c):
        K = operator @ np.eye(m)
        values, vectors = np.linalg.eigh((K + K.T) / 2)
    else:
        product = LinearOperator((m, m), matvec=lambda v: operator @ v.reshape(m, 1), matmat=lambda V: operator @ V)
        values, vectors = eigsh(product, k=c, which="LA", v0=np.cos(np.arange(m)))
    return values[::-1][:c], vectors[:, ::-1][:, : c - 1]


def _codes(labels: npt.ArrayLike, name: str, m: int) -> np.ndarray:
    values = check_values(labels, name)
    if len(values) != m:
        raise ValueError(f"{name} has {len(values)} entries for {m} samples in K.")
    return np.unique(values, return_inverse=True)[1]
