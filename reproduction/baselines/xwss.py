"""Self-training of a structured predictor: the heuristic of Xu, Wilkinson, Southey and Schuurmans (2006)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kernelclust._names import check_name
from kernelclust._warnings import warn
from kernelclust.kernels import DenseKernel
from kernelclust.objectives import loss_matrix
from kernelclust.structures import as_structure
from reproduction.baselines.hierarchical_kmeans import hierarchical_kmeans
from reproduction.first_order import StructuredRidge, check_regression

INITS = ("hierarchical", "random")
PRECISION = 1e-7  # of the predictor, relative


def xwss(
    K: np.ndarray,
    structure: Any,
    *,
    loss: Any = "structure",
    C: float = 0.1,
    init: Any = "hierarchical",
    n_init: Any = "auto",
    max_iter: int = 100,
    random_state: Any = None,
) -> np.ndarray:
    """Train a structured predictor on the present labels, relabel every sample by its prediction, until none changes.

    The iterative procedure that the CLUHSICAL paper compares with under this name. Papers describe it in words only;
    what is done here, exactly: labels start from kernel k-means down the tree (or at random, as that paper starts on a
    ring, or as given). The predictor is ridge regression on the joint kernel k(x, x') A(y, y'), one slack for each
    sample and wrong place, scaled by the loss (eq. 3 of that paper; Xu et al. train a maximum margin Markov network, of
    which this is the squared-loss relative): f(x, y) = <w, phi(x) (x) lambda(y)> with

        min_w |w|^2 / 2 + C sum_{i, y != y_i} Delta(y_i, y) (1 - f(x_i, y_i) + f(x_i, y))^2,

    the kernel centred, C in units of the number of samples. Every sample then takes the place of its largest f. A place
    that loses all its samples keeps the one that scores highest there. Stops when no label changes, when a labeling
    returns (a cycle), or after `max_iter` rounds; the last two give a warning. As in the paper's tables, it hardly ever
    leaves a good start; and having no bias, with a linear kernel it cannot keep groups that lie in a row.
    """
    shape, operator = as_structure(structure), DenseKernel(K)
    A, Delta = np.asarray(shape.kernel, dtype=float), loss_matrix(loss, shape)
    assert Delta is not None  # a slack needs a loss
    check_regression(operator)
    rng = check_random_state(random_state)
    if not isinstance(init, str):
        labels = np.asarray(init)
    else:
        check_name("init", init, INITS, also=", or an array of labels")
        if init == "random":
            labels = rng.permutation(np.arange(len(K)) % len(A))
        else:
            labels = hierarchical_kmeans(K, shape, n_init=n_init, random_state=rng)
    seen, problem = {labels.tobytes()}, ""
    for n_iter in range(1, max_iter + 1):
        before = labels
        ridge = StructuredRidge(operator, before, A, Delta, float(C), precision=PRECISION)
        labels = relabel(ridge.scores(), before)
        if np.array_equal(labels, before):
            break
        if labels.tobytes() in seen:
            problem = f"labels came back after {n_iter} rounds and would go round in circles"
            break
        seen.add(labels.tobytes())
    else:
        problem = f"stopped after max_iter={max_iter} rounds while labels were still changing"
    if problem:
        warn(f"{problem}; another C may settle.", ConvergenceWarning)
    return labels


def relabel(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Place of the largest score (m,), the present one where it is as large; a place that would lose all its samples
    keeps the one of them that scores highest there."""
    rows = np.arange(len(labels))
    rounding = 10 * PRECISION * np.abs(scores).max()
    stays = scores[rows, labels] >= scores.max(axis=1) - rounding
    new = np.where(stays, labels, scores.argmax(axis=1))
    while True:
        empty = np.setdiff1d(labels, new)
        if not len(empty):
            return new
        members = np.flatnonzero(labels == empty[0])
        new[members[scores[members, empty[0]].argmax()]] = empty[0]
