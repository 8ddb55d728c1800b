"""Self-training of a structured predictor: the heuristic of Xu, Wilkinson, Southey and Schuurmans (2006)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernelclust._names import check_name
from kernelclust._warnings import warn
from kernelclust.baselines._base import KernelBaseline
from kernelclust.baselines._tree import check_tree
from kernelclust.baselines.hierarchical_kmeans import kmeans_down
from kernelclust.kernels import KernelOperator
from kernelclust.metrics import node_labels
from kernelclust.objectives import StructuredRidge, check_regression, loss_matrix
from kernelclust.structures import Structure

INITS = ("hierarchical", "random")
PRECISION = 1e-7  # of the predictor, relative


class XWSS(KernelBaseline):
    """Train a structured predictor on the present labels, relabel every sample by its prediction, until none changes.

    The iterative procedure that the CLUHSICAL paper compares with under this name. Papers describe it in words only;
    what is done here, exactly: labels start from kernel k-means down the tree (or at random, as that paper starts on a
    ring, or as given). The predictor is ridge regression on the joint kernel k(x, x') A(y, y'), one slack for each
    sample and wrong place, scaled by the loss (eq. 3 of that paper; Xu et al. train a maximum margin Markov network, of
    which this is the squared-loss relative): f(x, y) = <w, phi(x) (x) lambda(y)> with

        min_w |w|^2 / 2 + C sum_{i, y != y_i} Delta(y_i, y) (1 - f(x_i, y_i) + f(x_i, y))^2,

    the kernel centred. Every sample then takes the place of its largest f. A place that loses all its samples keeps the
    one that scores highest there. Stops when no label changes, when a labeling returns (a cycle), or after `max_iter`
    rounds; the last two give a warning. As in the paper's tables, it hardly ever leaves a good start; and having no
    bias, with a linear kernel it cannot keep groups that lie in a row.

    Parameters
    ----------
    structure : str, Structure or (c, c) array, default="tree:3x3"
        A tree for init="hierarchical"; anything otherwise.
    loss : {"zero-one", "structure"} or (c, c) array, default="structure"
        Delta.
    C : float, default=0.1
        Weight of the errors, in units of the number of samples; larger follows the present labels more closely.
    init : {"hierarchical", "random"} or array of labels, default="hierarchical"
    kernel, gamma, kernel_params, approximation, n_components
        As in `StructuredClustering`.
    n_init : int or "auto"
        Starts of the kernel k-means that labels start from.
    max_iter : int, default=100
        Rounds at most.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : (m,) int array
        Place of every sample.
    n_iter_ : int
        Rounds, the last one, which changed nothing, included.
    structure_ : Structure
    gamma_ : float or None
    n_features_in_ : int

    Examples
    --------
    >>> from kernelclust.baselines import XWSS
    >>> X = [[0.0], [0.3], [1.0], [1.2], [9.0], [9.5], [12.0], [12.4]]
    >>> XWSS("tree:2x2", random_state=0).fit_predict(X)
    array([2, 2, 3, 3, 0, 0, 1, 1])
    """

    def __init__(
        self,
        structure="tree:3x3",
        *,
        loss="structure",
        C=0.1,
        init="hierarchical",
        kernel="rbf",
        gamma="scale",
        kernel_params=None,
        approximation="auto",
        n_components=None,
        n_init="auto",
        max_iter=100,
        random_state=None,
    ):
        self.structure = structure
        self.loss = loss
        self.C = C
        self.init = init
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.approximation = approximation
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_params(self, structure: Structure) -> None:
        if not isinstance(self.C, Real) or not 0 < float(self.C) < np.inf:
            raise ValueError(f"C={self.C!r}: give a positive number.")
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter={self.max_iter!r}: give a whole number, 1 or more.")
        if loss_matrix(self.loss, structure) is None:
            raise ValueError("loss=None: a slack needs a loss; give 'zero-one', 'structure' or a c x c array.")
        if isinstance(self.init, str):
            check_name("init", self.init, INITS, also=", or an array of labels")
            if self.init == "hierarchical":
                check_tree(structure, "XWSS with init='hierarchical' (init='random' or labels need none)")

    def _cluster(self, operator: KernelOperator, structure: Structure, rng) -> dict[str, Any]:
        labels = self._start(operator, structure, rng)
        check_regression(operator)
        A, Delta = np.asarray(structure.kernel, dtype=float), loss_matrix(self.loss, structure)
        assert Delta is not None
        seen, problem = {labels.tobytes()}, ""
        for n_iter in range(1, self.max_iter + 1):
            before = labels
            ridge = StructuredRidge(operator, before, A, Delta, float(self.C), precision=PRECISION)
            labels = relabel(ridge.scores(), before)
            if np.array_equal(labels, before):
                break
            if labels.tobytes() in seen:
                problem = f"labels came back after {n_iter} rounds and would go round in circles"
                break
            seen.add(labels.tobytes())
        else:
            problem = f"stopped after max_iter={self.max_iter} rounds while labels were still changing"
        if problem:
            warn(f"{problem}; another C may settle.", ConvergenceWarning)
        return {"labels_": labels, "n_iter_": n_iter}

    def _start(self, operator: KernelOperator, structure: Structure, rng) -> np.ndarray:
        m, c = operator.n_samples, structure.n_clusters
        if not isinstance(self.init, str):
            labels = node_labels(self.init, structure, "init")
            if len(labels) != m:
                raise ValueError(f"init has {len(labels)} labels for {m} samples.")
            if len(np.unique(labels)) < c:
                empty = np.setdiff1d(np.arange(c), labels)
                raise ValueError(f"init leaves place(s) {empty.tolist()} of '{structure}' without a sample.")
            return labels
        if self.init == "random":
            return rng.permutation(np.arange(m) % c)
        return kmeans_down(check_tree(structure, "XWSS"), operator, rng, n_init=self.n_init)[0]


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
