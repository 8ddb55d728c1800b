"""From the fit of a few samples to the fit of all: numbers, bounds and evidence in one place."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from kernelclust.engine import Fit, canonical_places
from kernelclust.kernels import FittedKernel
from kernelclust.solvers import placement_margin, placement_problem

Kind = TypeVar("Kind", bound=Fit)


def canonical_order(start: Fit, S: np.ndarray, n: np.ndarray, movable: np.ndarray) -> np.ndarray:
    """Which cluster is first, second, ...: large ones first as far as the structure and known labels allow."""
    node = np.asarray(canonical_places(start.structure, S, n, movable))
    return np.argsort(node) if start.objective.unchanged_by(node) else np.arange(len(n))


def whole_fit(
    kind: type[Kind],
    start: Fit,
    placement: str,
    *,
    order: np.ndarray,  # of the clusters of `start`; S and n are in it already
    movable: np.ndarray,  # (c,) clusters without a known label
    every: bool,  # whether the fit began with all samples
    S: np.ndarray,
    n: np.ndarray,
    bounds: np.ndarray,  # on the leading eigenvalues of the kernel of all samples
    trace: float,
    lightest: float,
    labels: np.ndarray,
    history: list[float],
    n_iter: int,
    stopped_because: str,
    gamma: float | None,
    **own: Any,
) -> Kind:
    """A fit of all samples that began as `start`; evidence about the order is that of the samples it began with."""
    objective = start.objective
    value = objective.value(S, n)
    placing = placement_problem(placement, objective, S, n, movable=movable)
    judged = start.order
    if judged is not None:
        judged = replace(judged, links=judged.links[np.ix_(order, order)])
    solution = replace(
        start.solution,
        value=value,
        n_iter=start.solution.n_iter + n_iter,
        history=[*start.solution.history, *history[1:]] if every else [value] if start.solution.placed else history,
        stopped_because=stopped_because,
    )
    found = {
        "kernel": FittedKernel(start.kernel.operator, start.kernel.source, gamma or start.kernel.gamma),
        "solution": solution,
        "labels": labels,
        "S": S,
        "n": n,
        "value": value,
        "upper_bound": max(objective.upper_bound(bounds, n.sum(), lightest), value),
        "size_bound": max(objective.size_bound(bounds, n), value),
        "placement_margin": placement_margin(placing),
        "placing": placing,
        "reach": min(float(np.maximum(bounds, 0).sum()) / trace, 1.0) if trace > 0 else 1.0,
        "order": judged,
        "image": None,
    }
    return kind(**{one.name: getattr(start, one.name) for one in fields(Fit)} | found | own)
