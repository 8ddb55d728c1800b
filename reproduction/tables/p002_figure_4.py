"""Song, Smola, Gretton and Borgwardt (2007), figure 4: a turning teapot, two stretches of it disturbed."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelclust import CLUHSIC, KernelKMeans
from kernelclust.datasets import rotated_images
from reproduction.frame import CLAIM, STAND_IN, Column, Result, Work
from reproduction.tables._methods import gaussian

TITLE = "A turning object on a ring of 10, frames 90-105 and 290-305 brought close to each other"
STATE, REPEATS, QUICK = STAND_IN, 10, 1
WHY = (
    "The teapot is not to be had. Stand-in: a photograph turned full circle in 400 steps; frames of each range are "
    "mixed with those of the other, as the paper does not say how it disturbs them. It says: k-means puts opposite "
    "angles into one cluster, CLUHSIC on a ring does not, and its clusters follow the angle."
)
COLUMNS = {
    "as the paper says": CLAIM,
    "torn clusters, k-means": Column(""),
    "torn clusters, CLUHSIC": Column(""),
    "neighbours in order, k-means": Column(""),
    "neighbours in order, CLUHSIC": Column(""),
}
SHARES = (0.3, 0.4, 0.5)  # of the other range in a frame; 0.5 makes the two ranges equal
PAPER = {f"mixed {share}": {"as the paper says": 1.0} for share in SHARES}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    labels, angles = _labels(float(row.split()[1]), seed, work)
    torn = [sum(_spread(angles[one == j]) > 90 for j in range(10)) for one in labels]
    order = [_in_order(one, angles) for one in labels]
    return dict(zip(COLUMNS, [torn[0] > 0 == torn[1] and order[1] == 10, *torn, *order], strict=True))


def _labels(share: float, seed: int, work: Work) -> tuple[list[np.ndarray], np.ndarray]:
    each, size = (10, 16) if work.quick else (40, 32)
    turned = rotated_images(per_cluster=each, skip=0, size=size, random_state=seed)
    at = np.argsort(turned.angles)  # frame k is sample at[k]
    X = turned.data.copy()
    first, second = (at[each * start // 40 : each * (start + 16) // 40] for start in (90, 290))
    X[first], X[second] = X[first] + share * (X[second] - X[first]), X[second] + share * (X[first] - X[second])
    X += 1e-3 * np.random.default_rng(seed).standard_normal(X.shape)
    K, given = gaussian(X), {"kernel": "precomputed", "random_state": seed}
    models = KernelKMeans(10, **given), CLUHSIC(structure="ring:10", compute_confidence=False, **given)
    return [model.fit_predict(K) for model in models], turned.angles


def _spread(angles: np.ndarray) -> float:
    """Degrees that the cluster is wide: the circle less its largest gap."""
    turns = np.sort(angles)
    return 360 - max(np.diff(np.append(turns, turns[0] + 360)))


def _in_order(labels: np.ndarray, angles: np.ndarray) -> int:
    """How many clusters are followed, along the mean angle, by a neighbour on the ring."""
    means = [np.angle(np.exp(1j * np.deg2rad(angles[labels == j])).sum()) for j in range(10)]
    order = np.argsort(means)
    steps = (np.roll(order, -1) - order) % 10
    return int(max((steps == 1).sum(), (steps == 9).sum()))


def draw(figure: Any, result: Result, work: Work) -> None:
    labels, angles = _labels(0.4, 0, work)
    for ax, one, name in zip(figure.subplots(1, 2), labels, ("k-means", "CLUHSIC on a ring"), strict=True):
        ax.scatter(np.cos(np.deg2rad(angles)), np.sin(np.deg2rad(angles)), c=one, cmap="tab10", s=8)
        ax.set(title=name, aspect="equal")
