"""One max-margin clustering: coordinates in, hyperplanes and numbered clusters out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from kernelclust._progress import set_step
from kernelclust.constraints import draw
from kernelclust.margin._blocks import block_features, block_rows, block_scores
from kernelclust.margin._cuts import Cuts, Options
from kernelclust.margin._features import Features, make_features
from kernelclust.margin._models import DecisionModel, make_model
from kernelclust.margin._solve import (
    POLISH,
    Search,
    default_C,
    solve_many,
    solve_two,
    trivial_slack,
    zero_solution_slack,
)
from kernelclust.margin._table_loss import make_loss
from kernelclust.margin._weights import SampleWeights, make_weights
from kernelclust.margin.cutting_plane import CuttingPlane, MarginFit, from_labels
from kernelclust.margin.losses import Loss

FEW = 20_000  # samples that all starts are tried on, where there are more and they lie in blocks
SEPARATION_TOL = 1e-3  # of a separation, which is from 0 to 1
MAX_CUTS = 100  # of a separation
N_HALVINGS = 100  # of the line between the steepest cuts: to rounding


@dataclass(frozen=True)
class Problem:
    """A max-margin problem; parameters as in `MaxMarginClustering`, C None for "auto"."""

    n_clusters: int
    loss: Loss
    solver: CuttingPlane = field(default_factory=CuttingPlane)
    C: float | None = None
    bias: bool = False
    max_iter: int = 100

    def price(self, total: float) -> float:
        return default_C(total, self.n_clusters) if self.C is None else float(self.C)

    def options(self, weights: SampleWeights) -> Options:
        return Options(self.price(weights.total), self.solver.balance, self.solver.tol, self.max_iter)

    def separation(self, scores: np.ndarray, length: float, weight: np.ndarray, known: np.ndarray | None) -> float:
        """Return 1 - min_t (t^2 |w|^2 / 2 + C xi(t w)) / (C xi(0)), t >= 0: how well scores keep clusters apart.

        scores: (n, 1) or (n, k) of any samples, f = w . x with |w| = length. The objective with C = 10 / n^2 (10 k /
        n^2 for more than two clusters), relative to that of w = 0, at the best length of w: only the direction of w
        counts, and the number has no unit. 0 where a cluster is empty.
        """
        weights, columns, k = make_weights(weight), scores.shape[1], max(scores.shape[1], 2)
        loss, features = make_loss(self.loss, weights), Features(scores, np.zeros(columns), 1.0, False, False, weights)
        model = make_model(features, loss, k, known, 0.01 * SEPARATION_TOL)
        w = np.eye(columns).ravel()  # f from f
        f = model.scores(w)
        labels = model.labels(f)
        if len(np.unique(labels)) < k or not length > 0 or len(scores) < k:
            return 0.0
        C = default_C(weights.total, k)
        nothing = C * trivial_slack(loss, k)
        lowest = _lowest(model, w, f, labels, length, C, SEPARATION_TOL * nothing)
        return float(np.clip(1 - lowest / nothing, 0.0, 1.0))


@dataclass(frozen=True)
class Hyperplanes:
    """Scores z . V + b of coordinates z: one for two clusters (label 1 above 0), else one for every cluster."""

    V: np.ndarray  # (r, 1) or (r, k)
    b: np.ndarray
    labels: np.ndarray  # (n,) of the samples fitted
    length: float  # of the weights of scaled features
    C: float
    zero_objective: float  # of w = 0
    fit: MarginFit


def solve(
    Z,
    weight: np.ndarray,
    problem: Problem,
    *,
    known: np.ndarray | None,
    rng: np.random.RandomState,
    report: Callable[[str], None] = lambda line: None,
) -> Hyperplanes:
    """Cluster samples of coordinates Z (n, r), dense or sparse, and weights above zero.

    known: labels 0..k-1, -1 where they are not known, or None. Clusters without known labels are numbered by size.
    """
    weights, k = make_weights(weight), problem.n_clusters
    if k == 1:
        return zero_solution(Z.shape[1], weight, problem, np.zeros(weights.n, dtype=int))
    features = make_features(Z, center=bool(problem.solver.center), bias=problem.bias or k > 2, weights=weights)
    options, losses = problem.options(weights), partial(make_loss, problem.loss)
    search = Search(problem.solver.starts, rng, report, problem.solver.init)
    if k == 2:
        fit = solve_two(features, losses(weights), options, search, known)
    else:
        fit = solve_many(Z, features, k, losses, options, search, known)
    return _planes(fit, features, problem, known)


def solve_blocks(
    blocks: Any,
    n_features: int,
    weight: np.ndarray,
    problem: Problem,
    *,
    known: np.ndarray | None,
    rng: np.random.RandomState,
    report: Callable[[str], None] = lambda line: None,
) -> Hyperplanes:
    """Cluster samples in blocks (see `_blocks.py`), as `solve` does.

    Some of them are clustered by `solve`, from all its starts; all start from the hyperplane found there.
    """
    weights, k = make_weights(weight), problem.n_clusters
    features = block_features(
        blocks, n_features, center=bool(problem.solver.center), bias=problem.bias or k > 2, weights=weights
    )
    if k == 1:
        return zero_solution(n_features, weight, problem, np.zeros(weights.n, dtype=int))
    few = draw(weights.n, FEW, known, rng)
    Z = np.concatenate(blocks.each(block_rows, rows=_rows(few, blocks)))
    told = None if known is None or (known[few] < 0).all() else known[few]
    share = float(weights.total) / float(weight[few].sum())
    small = replace(problem, C=problem.price(weights.total) * share**2)
    set_step("{} of {} samples", len(few), weights.n)
    start = solve(Z, weight[few], small, known=told, rng=rng, report=report)
    if len(few) == weights.n:
        return start
    set_step("all {} samples, from the hyperplane of {}", weights.n, len(few))
    scores = np.concatenate(blocks.each(block_scores, V=start.V, mean=np.zeros(n_features))) + start.b
    labels = _labels(scores, known)
    model = make_model(features, make_loss(problem.loss, weights), k, known, 0.01 * problem.solver.tol)
    finer = replace(problem.options(weights), tol=(POLISH if k == 2 else 1.0) * problem.solver.tol)
    fit = from_labels(model, labels.astype(bool) if k == 2 else labels, finer)
    report(f"all samples: objective = {fit.objective:.6g} after {fit.n_iter} constraints, {fit.stopped_because}")
    return _planes(fit, features, problem, known)


def _rows(few: np.ndarray, blocks: Any) -> list[np.ndarray]:
    """Return which of some samples, in rising order, are in each block."""
    first = np.cumsum([0, *blocks.sizes])
    return [one - row for one, row in zip(np.split(few, np.searchsorted(few, first[1:-1])), first, strict=False)]


def _planes(fit: MarginFit, features: Features, problem: Problem, known: np.ndarray | None) -> Hyperplanes:
    """Return hyperplanes in the coordinates that were given, and numbered clusters."""
    k, weights = problem.n_clusters, features.weights
    loss = make_loss(problem.loss, weights)
    W = _numbered(fit, k, features, known)
    V, b = features.raw(W)
    C = problem.price(weights.total)
    zero_objective = C * zero_solution_slack(make_model(features, loss, k, known), loss, k)
    length = float(np.linalg.norm(W))
    return Hyperplanes(V, b, _labels(features.scores(W), known), length, C, zero_objective, fit)


def zero_solution(n_coordinates: int, weight: np.ndarray, problem: Problem, labels: np.ndarray) -> Hyperplanes:
    """Return w = 0 with the given labels, for a single cluster or samples that no hyperplane can separate."""
    weights, k = make_weights(weight), problem.n_clusters
    C, slack = problem.price(weights.total), trivial_slack(make_loss(problem.loss, weights), k) if k > 1 else 0.0
    fit = MarginFit(np.zeros(n_coordinates), labels, C * slack, slack, 0, "converged", [C * slack])
    columns = 1 if k <= 2 else k
    return Hyperplanes(np.zeros((n_coordinates, columns)), np.zeros(columns), labels, 0.0, C, C * slack, fit)


def labels_of(scores: np.ndarray) -> np.ndarray:
    """Return the side of the hyperplane of scores (n, 1), the best cluster of scores (n, k)."""
    return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)


def _labels(scores: np.ndarray, known: np.ndarray | None) -> np.ndarray:
    labels = labels_of(scores)
    return labels if known is None else np.where(known >= 0, known, labels)


def _numbered(fit: MarginFit, k: int, features: Features, known: np.ndarray | None) -> np.ndarray:
    """Return weights (d, 1) or (d, k) with the largest cluster first; of two equal ones the more extended one.

    Clusters with known labels keep their number.
    """
    weights = features.weights
    if k == 2:
        few = float(weights.times(fit.labels.astype(float)).sum())
        f = features.scores(fit.w)
        skew = float(weights.times(f**3).sum())
        up = known is not None or 2 * few < weights.total or (2 * few == weights.total and skew <= 0)
        return (fit.w if up else -fit.w)[:, None]
    sizes = np.bincount(fit.labels, weights.weight, minlength=k)
    free = np.ones(k, dtype=bool) if known is None else ~np.isin(np.arange(k), known)
    order = np.arange(k)
    order[free] = order[free][np.argsort(-sizes[free], kind="stable")]
    return fit.w.reshape(-1, k)[:, order]


def _lowest(
    model: DecisionModel, w: np.ndarray, f: np.ndarray, labels: np.ndarray, length: float, C: float, tol: float
) -> float:
    """Return min_t t^2 length^2 / 2 + C xi(t w), by cutting planes along the ray: convex, as labels are fixed."""
    cuts = Cuts(model, Options(C))
    psi = model.psi(labels)
    best, t = np.inf, 0.0
    for _ in range(MAX_CUTS):
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
    """Return (t, value) of min_t t^2 / 2 + C max(0, d_k - t g_k), the program of the cutting planes in one dimension.

    t is C times a mean of the g_k and zero, so that it lies between the least and the largest of them; halved where the
    slope t - C g_k of the cut that counts changes its sign.
    """
    cuts, losses = np.append(cuts, 0.0), np.append(losses, 0.0)
    low, high = C * cuts.min(), C * cuts.max()
    for _ in range(N_HALVINGS):
        t = low + (high - low) / 2
        if t - C * cuts[np.argmax(losses - t * cuts)] > 0:
            high = t
        else:
            low = t
    t = low + (high - low) / 2
    return float(t), float(t * t / 2 + C * (losses - t * cuts).max())
