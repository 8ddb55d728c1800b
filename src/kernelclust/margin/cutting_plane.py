"""Cutting planes with CCCP inside (Zhao, Kwok and Zhang, 2009, algorithms 1 and 2), for two clusters and for more.

    min_w |w|^2 / 2 + C xi(w),   xi(w) = max_y' Delta(y', y) - w . (Psi(y) - Psi(y')),   |w . s| <= limit

with the labels y that w gives, but for those that are known. A *model* says what scores, labels and Psi are; see
`_models.py`. With all labels known this is the support vector model of Joachims (2005) for multivariate losses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelclust._names import check_flag, check_name, check_number, check_starts
from kernelclust._terms import Term
from kernelclust.margin._cuts import Cuts, Options
from kernelclust.margin._models import DecisionModel

CCCP_TOL = 1e-4  # relative fall of the objective that ends an inner loop: the paper's "alpha %", alpha = 0.01
CCCP_STEPS = 20
ROUNDS = 20
INITS = ("principal", "random")
STARTS = 10  # that n_init="auto" stands for
PATIENCE = 8  # cuts without a lower objective after which a run that follows its labels is given up


@dataclass(eq=False, repr=False)
class CuttingPlane(Term):
    """Solve max-margin clustering by cutting planes, from several initializations.

    Parameters
    ----------
    n_init : int or "auto", default="auto"
        Number of initializations; the lowest objective wins. "auto" is 10.
    init : {"principal", "random"}, default="principal"
        "principal": the first initialization is the direction of the largest scatter, the others are random
        directions. "random": all are random, as in the paper. The first hyperplanes go through the mean. More than
        two clusters are initialized from bisections, which are initialized in this way, and from k-means.
    tol : float, default=0.03
        Labelings may violate the margin by tol more than xi, in the units of Delta (epsilon of the paper).
    center : bool, default=True
        Whether the mean is subtracted, so that the hyperplane runs through it. False is the paper's form, which needs
        `balance`; for "linear" and "cosine" without `n_components`.
    balance : float, optional
        l in |sum_i w . x_i| <= l, in the units of w . x, which are about 1 / n. On centred samples it bounds n |bias|,
        and raises an error if there is no bias.
    n_components : int, optional
        Number of leading directions in use. None is 100 for kernels, and for "linear" and "cosine" with more than 300
        features, because random initializations are poor in many directions (for text use 20 to 100); else all. With as
        many as features, the samples themselves are used.

    Examples
    --------
    >>> from kernelclust.margin import CuttingPlane
    >>> CuttingPlane(n_init=3, tol=0.01)
    CuttingPlane(n_init=3, tol=0.01)
    """

    kind = "solver"
    example = "CuttingPlane(n_init=3)"

    n_init: int | str = "auto"
    init: str = "principal"
    tol: float = 0.03
    center: bool = True
    balance: float | None = None
    n_components: int | None = None

    def check(self) -> None:
        check_starts(self.n_init)
        check_name("init", self.init, INITS)
        check_number("tol", self.tol)
        check_flag("center", self.center)
        if self.balance is not None:
            check_number("balance", self.balance)
        if self.n_components is not None:
            check_number("n_components", self.n_components, whole=True, least=1)

    @property
    def starts(self) -> int:
        """Number of initializations."""
        return STARTS if isinstance(self.n_init, str) else int(self.n_init)


@dataclass(frozen=True)
class MarginFit:
    """The iterate with the lowest true objective among those with the most clusters in use, and how the run went."""

    w: np.ndarray
    labels: np.ndarray
    objective: float  # |w|^2 / 2 + C slack
    slack: float
    n_iter: int  # cuts
    stopped_because: str  # "converged", "max_iter", or "stalled" where labels went on changing to no avail
    history: list[float]  # true objective after every cut, or after every round of labels


_Iterate = tuple[np.ndarray, np.ndarray, float, float]  # w, labels, objective, slack


def _better(best: _Iterate | None, new: _Iterate) -> _Iterate:
    """Return the iterate with more clusters in use, then with the lower objective."""
    if best is None:
        return new
    rank, new_rank = ((-len(np.unique(labels)), objective) for _, labels, objective, _ in (best, new))
    return new if new_rank < rank else best


def from_weights(model: DecisionModel, w: np.ndarray, options: Options) -> MarginFit:
    """Run cuts outside, CCCP inside: for every new cut, weights and labels alternate until the objective settles.

    Ends when no labeling violates the margin by more than tol beyond the working set: then (w, xi + tol) is
    feasible for all labelings (theorem 1). Labels follow w through jumps of Delta, so the objective need not fall from
    cut to cut; the best iterate is kept.
    """
    cuts = Cuts(model, options)
    scores = model.scores(w)
    labels = model.labels(scores)
    psi = model.psi(labels)
    cuts.add(*cuts.worst(w, scores, labels, psi)[:2])
    history: list[float] = []
    best: _Iterate | None = None
    while True:
        before = np.inf
        for _ in range(CCCP_STEPS):
            w, value = cuts.solve(labels, psi)
            scores = model.scores(w)
            given, labels = labels, model.labels(scores)
            if np.array_equal(given, labels):
                break
            psi = model.psi(labels)
            if before - value <= CCCP_TOL * value:
                break
            before = value
        rival, psi_rival, slack = cuts.worst(w, scores, labels, psi)
        history.append(float(w @ w / 2 + options.C * slack))
        best = _better(best, (w, labels, history[-1], slack))
        if slack <= cuts.slack(w, labels, psi) + options.tol:
            return MarginFit(*best, len(cuts), "converged", history)
        if len(cuts) >= options.max_iter:
            return MarginFit(*best, len(cuts), "max_iter", history)
        if len(history) - history.index(best[2]) > PATIENCE:
            return MarginFit(*best, len(cuts), "stalled", history)
        cuts.add(rival, psi_rival)


def from_labels(model: DecisionModel, labels: np.ndarray, options: Options) -> MarginFit:
    """Run CCCP outside, cuts inside: find the weights for the labels given, then recompute the labels.

    Keeps a good start (of k-means, say) where `from_weights` would wander. For a loss that depends on the number of
    different labels alone (error rate, and Rand for two clusters) the objective never rises from round to round, but
    for tol.
    """
    cuts = Cuts(model, options)
    psi = model.psi(labels)
    w = np.zeros_like(psi)
    history: list[float] = []
    best: _Iterate | None = None
    stopped = "stalled"  # unless labels stay before all rounds are over
    for _ in range(ROUNDS):
        while True:
            scores = model.scores(w)
            rival, psi_rival, slack = cuts.worst(w, scores, labels, psi)
            if len(cuts) and slack <= cuts.slack(w, labels, psi) + options.tol:
                break
            if len(cuts) >= options.max_iter:
                stopped = "max_iter"
                break
            cuts.add(rival, psi_rival)
            w, _ = cuts.solve(labels, psi)
        given, labels = labels, model.labels(scores)
        same = np.array_equal(given, labels)
        if not same:
            psi = model.psi(labels)
            slack = cuts.worst(w, scores, labels, psi)[2]
        history.append(float(w @ w / 2 + options.C * slack))
        best = _better(best, (w, labels, history[-1], slack))
        if stopped == "max_iter":
            break
        if same:
            stopped = "converged"
            break
    assert best is not None  # there is at least one round
    return MarginFit(*best, len(cuts), stopped, history)


PART = CuttingPlane
