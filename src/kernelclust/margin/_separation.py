"""How well given scores keep clusters apart: a number from 0 to 1 that knows no units."""

from __future__ import annotations

import numpy as np

from kernelclust.margin._cuts import Cuts, Options
from kernelclust.margin._features import Features
from kernelclust.margin._losses import TableLoss
from kernelclust.margin._machines import Machine, ManyClusters, TwoClusters
from kernelclust.margin._mass import Mass
from kernelclust.margin._solve import natural_C, trivial_slack

TOL = 1e-3  # of the result
MOST = 100  # cuts
HALVINGS = 100  # of the line between the steepest cuts: to rounding


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
    best, t = np.inf, 0.0
    for _ in range(MOST):
        rival, psi_rival, slack = cuts.worst(t * w, t * f, labels, psi)
        best = min(best, (t * length) ** 2 / 2 + C * slack)
        cuts.add(rival, psi_rival)
        gaps, losses = cuts.gaps(labels, psi)
        along, value = lowest_on_line(gaps @ w / length, losses, C)
        t = max(along, 0.0) / length  # below 0 only where known labels say the contrary
        if best - value <= tol or along < 0:
            break
    return best


def lowest_on_line(cuts: np.ndarray, losses: np.ndarray, C: float) -> tuple[float, float]:
    """(t, value) of min_t t^2 / 2 + C max(0, d_k - t g_k): the program of the cutting planes in one dimension.

    t is C times a mean of the g_k and zero, so that it lies between the least and the largest of them; halved where the
    slope t - C g_k of the cut that counts changes its sign.
    """
    cuts, losses = np.append(cuts, 0.0), np.append(losses, 0.0)
    low, high = C * cuts.min(), C * cuts.max()
    for _ in range(HALVINGS):
        t = low + (high - low) / 2
        if t - C * cuts[np.argmax(losses - t * cuts)] > 0:
            high = t
        else:
            low = t
    t = low + (high - low) / 2
    return float(t), float(t * t / 2 + C * (losses - t * cuts).max())
