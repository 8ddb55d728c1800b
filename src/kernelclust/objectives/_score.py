"""The objective of given labels, and the check of sample weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_sample_weight

from kernelclust.kernels import DenseKernel, check_precomputed
from kernelclust.metrics import check_values, node_labels
from kernelclust.objectives.dependence import Dependence
from kernelclust.structures import as_structure

MAX_WEIGHT = 1e30


def structured_hsic(
    K: ArrayLike,
    labels: ArrayLike,
    structure: object,
    *,
    loss: object = None,
    normalize: str | None = "l2",
    C: float = 0.1,
    gamma: float = 1.0,
    rescale: str = "slack",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the dependence F between a kernel matrix and a labeling; larger is better.

    F = tr(K P A P') with K centred, A the structure's label kernel and P the labels one-hot, their columns
    normalised. With a loss, P holds eq. (12) of CLUHSICAL, and for `normalize` None or "l2" the value is
    4 C^2 gamma tr(K P A P') - C R(P), eq. (11) with C in units of m.

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel matrix. It is centred here and not changed.
    labels : array of shape (m,)
        Integers from 0 to c - 1: nodes of the structure.
    structure : str, Structure or (c, c) array
        How clusters relate, as `StructuredClustering` takes it; "flat", "chain" and "ring" without a size take the
        largest label plus one.
    loss : {"zero-one", "structure"}, (c, c) array or None
        What it costs to mistake one cluster for another.
    normalize : {"l2", "l1", None}
        Norm that the columns of P are divided by.
    C, gamma, rescale
        Constants of eq. (11) and what the loss scales, as in `kernelclust.objectives.Dependence`. C and gamma act
        through C gamma K alone: F(C, gamma; K) = (C / 0.1) F(0.1, 1; 10 C gamma K).
    sample_weight : array of shape (m,), optional
        A weight counts as that many copies of a sample.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import structured_hsic
    >>> X = np.array([[0.0], [0.0], [1.0], [1.0]])
    >>> round(structured_hsic(X @ X.T, [0, 0, 1, 1], "flat"), 9)
    1.0
    """
    K = check_precomputed(K)
    labels = check_values(labels, "labels")
    check_consistent_length(K, labels)
    sized = isinstance(structure, str) and structure in ("flat", "chain", "ring")
    structure = as_structure(structure, int(labels.max()) + 1 if sized else None)
    labels, c = node_labels(labels, structure, "labels"), structure.n_clusters
    weight = check_weights(sample_weight, K)
    objective = Dependence(loss, normalize, rho=0.0, C=C, gamma=gamma, rescale=rescale).bind(structure)
    kernel = DenseKernel(K, weight)
    return objective.value(kernel.cluster_sums(labels, c), np.bincount(labels, weight, minlength=c))


def check_weights(sample_weight: ArrayLike | None, X: np.ndarray) -> np.ndarray:
    """Return float weights (m,), none negative and not all zero."""
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weight < 0).any():
        raise ValueError(
            f"sample_weight[{int(np.argmin(weight))}] is negative; weights count copies: use zero or more."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every sample; nothing is left to cluster.")
    largest, smallest = float(weight.max()), float(weight[weight > 0].min())
    if largest > MAX_WEIGHT or smallest < 1 / MAX_WEIGHT or largest / smallest > MAX_WEIGHT:
        raise ValueError(
            f"sample_weight reaches from {smallest:.3g} to {largest:.3g}, too far for floating point; rescale the "
            "weights, or set those that hardly count to zero."
        )
    return weight
