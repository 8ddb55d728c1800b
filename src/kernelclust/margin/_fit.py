"""One max-margin clustering: coordinates in, hyperplanes and numbered clusters out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernelclust._progress import set_step
from kernelclust.constraints import draw
from kernelclust.margin._blocks import block_features, block_rows, block_scores
from kernelclust.margin._cuts import Options
from kernelclust.margin._features import Features, make_features
from kernelclust.margin._losses import make_loss
from kernelclust.margin._machines import Machine, ManyClusters, TwoClusters
from kernelclust.margin._mass import Mass, make_mass
from kernelclust.margin._separation import separation
from kernelclust.margin._solve import POLISH, Search, idle_slack, natural_C, solve_many, solve_two, trivial_slack
from kernelclust.margin.cutting_plane import CuttingPlane, MarginFit, from_labels
from kernelclust.margin.losses import Loss

FEW = 20_000  # samples that all starts are tried on, where there are more and they lie in blocks


@dataclass(frozen=True)
class Problem:
    """What is to be solved; parameters as in `MaxMarginClustering`, C None for "auto"."""

    n_clusters: int
    loss: Loss
    solver: CuttingPlane = field(default_factory=CuttingPlane)
    C: float | None = None
    bias: bool = False
    max_iter: int = 100

    def price(self, total: float) -> float:
        return natural_C(total, self.n_clusters) if self.C is None else float(self.C)

    def options(self, mass: Mass) -> Options:
        return Options(self.price(mass.total), self.solver.balance, self.solver.tol, self.max_iter)

    def separation(self, scores: np.ndarray, length: float, weight: np.ndarray, known: np.ndarray | None) -> float:
        """See `_separation.py`; of scores (n, 1) or (n, k) of any samples."""
        mass = make_mass(weight)
        return separation(scores, length, make_loss(self.loss, mass), mass, known)


@dataclass(frozen=True)
class Hyperplanes:
    """Scores z . V + b of coordinates z: one for two clusters (label 1 above 0), else one for every cluster."""

    V: np.ndarray  # (r, 1) or (r, k)
    b: np.ndarray
    labels: np.ndarray  # (n,) of the samples fitted
    length: float  # of the weights of scaled features
    C: float
    idle: float  # objective of w = 0
    fit: MarginFit


def solve(
    Z,
    weight: np.ndarray,
    problem: Problem,
    *,
    known: np.ndarray | None,
    rng: np.random.RandomState,
    n_jobs: int | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Hyperplanes:
    """Cluster samples of coordinates Z (n, r), dense or sparse, and weights above zero.

    known: labels 0..k-1, -1 where they are not known, or None. Clusters without known labels are numbered by size.
    """
    mass, k = make_mass(weight), problem.n_clusters
    features = make_features(Z, center=bool(problem.solver.center), bias=problem.bias or k > 2, mass=mass)
    options = problem.options(mass)
    search = Search(problem.solver.starts, rng, report, n_jobs)

    def losses(mass: Mass):
        return make_loss(problem.loss, mass)

    if k == 1:
        fit = MarginFit(np.zeros(features.n_features), np.zeros(mass.n, bool), 0.0, 0.0, 0, "converged", [0.0])
    elif k == 2:
        fit = solve_two(features, losses(mass), options, search, known)
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
    n_jobs: int | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Hyperplanes:
    """The same for samples in blocks (see `_blocks.py`).

    Some of them are clustered by `solve`, from all its starts; all start from the hyperplane found there.
    """
    mass, k = make_mass(weight), problem.n_clusters
    features = block_features(
        blocks, n_features, center=bool(problem.solver.center), bias=problem.bias or k > 2, mass=mass
    )
    few = draw(mass.n, FEW, known, rng)
    Z = np.concatenate(blocks.each(block_rows, rows=_rows(few, blocks)))
    told = None if known is None or (known[few] < 0).all() else known[few]
    share = float(mass.total) / float(weight[few].sum())
    small = replace(problem, C=problem.price(mass.total) * share**2)
    set_step("{} of {} samples", len(few), mass.n)
    start = solve(Z, weight[few], small, known=told, rng=rng, n_jobs=n_jobs, report=report)
    if len(few) == mass.n:
        return start
    if k == 1:
        fit = MarginFit(np.zeros(features.n_features), np.zeros(mass.n, bool), 0.0, 0.0, 0, "converged", [0.0])
        return _planes(fit, features, problem, known)
    set_step("all {} samples, from the hyperplane of {}", mass.n, len(few))
    scores = np.concatenate(blocks.each(block_scores, V=start.V, mean=np.zeros(n_features))) + start.b
    labels = _side(scores)
    labels = labels if known is None else np.where(known >= 0, known, labels)
    loss = make_loss(problem.loss, mass)
    machine: Machine = (
        TwoClusters(features, loss, known)
        if k == 2
        else ManyClusters(features, loss, k, 0.01 * problem.solver.tol, known)
    )
    finer = replace(problem.options(mass), tol=(POLISH if k == 2 else 1.0) * problem.solver.tol)
    fit = from_labels(machine, labels.astype(bool) if k == 2 else labels, finer)
    report(f"all samples: objective = {fit.objective:.6g} after {fit.n_iter} constraints, {fit.stopped_because}")
    return _planes(fit, features, problem, known)


def _rows(few: np.ndarray, blocks: Any) -> list[np.ndarray]:
    """Which of some samples, in rising order, are in each block."""
    first = np.cumsum([0, *blocks.sizes])
    return [one - row for one, row in zip(np.split(few, np.searchsorted(few, first[1:-1])), first, strict=False)]


def _planes(fit: MarginFit, features: Features, problem: Problem, known: np.ndarray | None) -> Hyperplanes:
    """Hyperplanes in the coordinates that were given, and numbered clusters."""
    k, mass = problem.n_clusters, features.mass
    loss = make_loss(problem.loss, mass)
    machine: Machine = TwoClusters(features, loss, known) if k <= 2 else ManyClusters(features, loss, k, known=known)
    W = _numbered(fit, k, features, known)
    V, b = features.raw(W)
    labels = _side(features.scores(W))
    labels = labels if known is None else np.where(known >= 0, known, labels)
    C = problem.price(mass.total)
    idle = C * idle_slack(machine, loss, k) if k > 1 else 0.0
    return Hyperplanes(V, b, labels, float(np.linalg.norm(W)), C, idle, fit)


def stay(n_coordinates: int, weight: np.ndarray, problem: Problem, labels: np.ndarray) -> Hyperplanes:
    """w = 0, for samples that no hyperplane can separate, and the labels that they are given."""
    mass, k = make_mass(weight), problem.n_clusters
    C, slack = problem.price(mass.total), trivial_slack(make_loss(problem.loss, mass), k)
    fit = MarginFit(np.zeros(n_coordinates), labels, C * slack, slack, 0, "converged", [C * slack])
    columns = 1 if k <= 2 else k
    return Hyperplanes(np.zeros((n_coordinates, columns)), np.zeros(columns), labels, 0.0, C, C * slack, fit)


def _side(scores: np.ndarray) -> np.ndarray:
    """(n, 1) -> side, (n, k) -> argmax."""
    return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)


def _numbered(fit: MarginFit, k: int, features: Features, known: np.ndarray | None) -> np.ndarray:
    """Weights (d, 1) or (d, k) with the largest cluster first; of two equal ones the one that reaches further out.

    Clusters with known labels keep their number.
    """
    mass = features.mass
    if k <= 2:
        few = float(mass.times(fit.labels.astype(float)).sum())
        f = features.scores(fit.w)
        skew = float(mass.times(f**3).sum())
        up = known is not None or 2 * few < mass.total or (2 * few == mass.total and skew <= 0)
        return (fit.w if up else -fit.w)[:, None]
    sizes = np.bincount(fit.labels, mass.weight, minlength=k)
    free = np.ones(k, dtype=bool) if known is None else ~np.isin(np.arange(k), known)
    order = np.arange(k)
    order[free] = order[free][np.argsort(-sizes[free], kind="stable")]
    return fit.w.reshape(-1, k)[:, order]
