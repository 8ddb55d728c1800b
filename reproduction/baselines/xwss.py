"""Self-training of a structured predictor: the heuristic of Xu, Wilkinson, Southey and Schuurmans (2006)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernelclust._warnings import warn
from kernelclust.kernels import DenseKernel
from kernelclust.objectives import loss_matrix
from kernelclust.structures import as_structure
from reproduction.first_order import StructuredRidge, check_regression

PRECISION = 1e-7  # of the predictor, relative


def xwss(
    K: np.ndarray,
    structure: Any,
    starts: Sequence[np.ndarray],
    *,
    loss: Any = "structure",
    C: float = 0.1,
    max_iter: int = 100,
) -> np.ndarray:
    """Train a structured predictor on the present labels, relabel every sample by its prediction, until none changes.

    The iterative procedure that the CLUHSICAL paper compares with under this name. Papers describe it in words only;
    what is done here, exactly: the predictor is ridge regression on the joint kernel k(x, x') A(y, y'), one slack for
    each sample and wrong place, scaled by the loss (eq. 3 of that paper; Xu et al. train a maximum margin Markov
    network, of which this is the squared-loss relative): f(x, y) = <w, phi(x) (x) lambda(y)> with

        min_w |w|^2 / 2 + C sum_{i, y != y_i} Delta(y_i, y) (1 - f(x_i, y_i) + f(x_i, y))^2,

    the kernel centred, C in units of the number of samples. Every sample then takes the place of its largest f. A place
    that loses all its samples keeps the one that scores highest there. Stops when no label changes, when a labeling
    returns (a cycle), or after `max_iter` rounds; the last two give a warning. Of the labels from all `starts` those
    under which the regression fits best are returned, eq. (9). As in the paper's tables, it hardly ever leaves a good
    start; and having no bias, with a linear kernel it cannot keep groups that lie in a row.
    """
    shape, operator = as_structure(structure), DenseKernel(K)
    A, Delta = np.asarray(shape.kernel, dtype=float), loss_matrix(loss, shape)
    assert Delta is not None  # a slack needs a loss
    check_regression(operator)

    def ridge(labels: np.ndarray) -> StructuredRidge:
        return StructuredRidge(operator, labels, A, Delta, float(C), precision=PRECISION)

    ends = [_self_trained(ridge, np.asarray(start), max_iter) for start in starts]
    return ends[0] if len(ends) == 1 else min(ends, key=lambda labels: ridge(labels).value)


def _self_trained(ridge: Callable[[np.ndarray], StructuredRidge], labels: np.ndarray, max_iter: int) -> np.ndarray:
    """Return the labels at which one run ends."""
    seen, problem = {labels.tobytes()}, ""
    for n_iter in range(1, max_iter + 1):
        before = labels
        labels = relabel(ridge(before).scores(), before)
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
