"""How well given scores keep clusters apart: a number from 0 to 1 that knows no units."""

from __future__ import annotations

import numpy as np

from kernelclust.margin._cuts import Cuts, Options
from kernelclust.margin._features import Features
from kernelclust.margin._losses import TableLoss
from kernelclust.margin._machines import Machine, ManyClusters, TwoClusters
from kernelclust.margin._mass import Mass
from kernelclust.margin._qp import solve_cuts
from kernelclust.margin._solve import natural_C, trivial_slack

TOL = 1e-3  # of the result
MOST = 100  # cuts


def separation(
    scores: np.ndarray,  # (n, 1) or (n, k)
    length: float,
    loss: TableLoss,
    mass: Mass,
    known: np.ndarray | None = None,
) -> float:
    """1 - min_t (t^2 |w|^2 / 2 + C xi(t w)) / (C xi(0)), t >= 0, for the scores f = w . x and |w| = length.

    The objective of max-margin clustering for these samples with C = 10 / n^2 (10 k / n^2 for more than two clusters),
    relative to that of w = 0, at the best length of w: only the direction of w counts. 0 where a cluster is empty.
    """
    n, k = len(scores), max(scores.shape[1], 2)
    features = Features(scores, np.zeros(scores.shape[1]), 1.0, False, False, mass)
    machine: Machine = (
        TwoClusters(features, loss, known) if k == 2 else ManyClusters(features, loss, k, 0.01 * TOL, known)
    )
    w = np.eye(scores.shape[1]).ravel()  # f from f
    f = machine.scores(w)
    labels = machine.labels(f)
    if len(np.unique(labels)) < k or not length > 0 or n < k:
        return 0.0
    C = natural_C(mass.total, k)
    nothing = C * trivial_slack(loss, k)
    return float(np.clip(1 - _lowest(machine, w, f, labels, length, C, TOL * nothing) / nothing, 0.0, 1.0))


def _lowest(
    machine: Machine, w: np.ndarray, f: np.ndarray, labels: np.ndarray, length: float, C: float, tol: float
) -> float:
    """min_t t^2 length^2 / 2 + C xi(t w) by cutting planes along the ray; convex, as the labels stay."""
    cuts = Cuts(machine, Options(C))
    psi = machine.psi(labels)
    best, t, weights = np.inf, 0.0, None
    for _ in range(MOST):
        rival, psi_rival, slack = cuts.worst(t * w, t * f, labels, psi)
        best = min(best, (t * length) ** 2 / 2 + C * slack)
        cuts.add(rival, psi_rival)
        gaps, losses = cuts.gaps(labels, psi)
        (along,), slack, weights = solve_cuts((gaps @ w)[:, None] / length, losses, C, np.zeros((0, 1)), 0.0, weights)
        t = max(along, 0.0) / length  # below 0 only where known labels say the contrary
        if best - (along**2 / 2 + C * slack) <= tol or along < 0:
            break
    return best
