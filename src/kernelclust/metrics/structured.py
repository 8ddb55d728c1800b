"""Scores that respect how the clusters are arranged."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_consistent_length

from kernelclust.structures import Structure, as_structure

from ._labels import Floats, node_labels, table


def structured_accuracy(
    y_true: npt.ArrayLike, y_pred: npt.ArrayLike, structure: Any, *, sample_weight: Any = None
) -> float:
    """Return the fraction of samples at the right node, under the best relabelling that keeps the structure.

    max over p of (1/n) sum_i [y_true_i = p(y_pred_i)], p running over the structure's automorphisms only:
    a chain may be reversed, not shuffled. At most `clustering_accuracy`; the difference is the fraction
    of samples in correct clusters at wrong nodes.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Nodes of the structure, integers 0 .. c - 1.
    structure : Structure, str, array-like of shape (c, c) or networkx graph
        Anything `as_structure` takes.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    Examples
    --------
    >>> from kernelclust.metrics import structured_accuracy
    >>> structured_accuracy([0, 1, 2, 3], [3, 2, 1, 0], "chain:4")
    1.0
    >>> structured_accuracy([0, 1, 2, 3], [1, 0, 2, 3], "chain:4")
    0.5
    """
    made, counts = _counts(y_true, y_pred, structure, sample_weight)
    p = made.align(counts)
    return float(counts[p, np.arange(len(p))].sum() / counts.sum())


def structured_loss(
    y_true: npt.ArrayLike, y_pred: npt.ArrayLike, structure: Any, *, sample_weight: Any = None
) -> float:
    """Return the mean loss per sample under the best relabelling that keeps the structure.

    min over p of (1/n) sum_i Delta[y_true_i, p(y_pred_i)], p running over the structure's automorphisms. With a flat
    structure this is 1 - `clustering_accuracy`.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Nodes of the structure, integers 0 .. c - 1.
    structure : Structure, str, array-like of shape (c, c) or networkx graph
        Anything `as_structure` takes.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    loss : float
        0 is best; at most the largest loss of the structure.

    Examples
    --------
    >>> from kernelclust.metrics import structured_loss
    >>> structured_loss([0, 1, 2, 3], [0, 1, 2, 2], "chain:4")
    0.25
    """
    made, counts = _counts(y_true, y_pred, structure, sample_weight)
    p, costs = _least_loss(made, counts)
    return float(costs[p, np.arange(len(p))].sum() / counts.sum())


def level_accuracies(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, tree: Any, *, sample_weight: Any = None) -> Floats:
    """Return the fraction of samples in the right group at every level of a tree, coarse to fine.

    All levels use one relabelling, the one of least tree loss. If all leaves are equally deep, the
    fractions of wrong samples add up to that loss: `structured_loss` = sum over levels of (1 - accuracy).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Leaves of the tree, integers 0 .. c - 1.
    tree : Tree or str
        Such as "tree:3x3".
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    accuracies : ndarray of shape (n_levels,)
        One per depth.

    Examples
    --------
    >>> from kernelclust.metrics import level_accuracies
    >>> level_accuracies([0, 1, 2, 3], [0, 0, 2, 3], "tree:2x2")
    array([1.  , 0.75])
    """
    made, counts = _counts(y_true, y_pred, tree, sample_weight)
    levels = getattr(made, "levels", None)
    if levels is None:
        raise ValueError(f"level_accuracies needs a structure with levels, like 'tree:3x3'; '{made}' has none.")
    p, _ = _least_loss(made, counts)
    right = [counts[groups[:, None] == groups[p][None, :]].sum() for groups in levels()]
    return np.array(right) / counts.sum()


def _counts(y_true: Any, y_pred: Any, structure: Any, sample_weight: Any) -> tuple[Structure, Floats]:
    made = as_structure(structure)
    true, pred = node_labels(y_true, made, "y_true"), node_labels(y_pred, made, "y_pred")
    check_consistent_length(true, pred)
    return made, table(true, pred, (made.n_clusters, made.n_clusters), sample_weight)


def _least_loss(structure: Structure, counts: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the relabelling of least loss, and the costs (c, c) of calling predicted cluster j node a."""
    costs = structure.loss.T @ counts
    return structure.align(-costs), costs
