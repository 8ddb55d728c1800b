"""Song, Smola, Gretton and Borgwardt (2007), figure 4: a turning teapot, two stretches of it disturbed."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelclust import CLUHSIC, KernelKMeans
from kernelclust.datasets import rotated_images
from reproduction.frame import CLAIM, STAND_IN, Column, Result, Work
from reproduction.tables._methods import algorithm_1, gaussian, random_starts

TITLE = "A turning object on a ring of 10, frames 90-105 and 290-305 brought close to each other"
STATE, REPEATS, QUICK = STAND_IN, 10, 1
WHY = (
    "The teapot is not available. Stand-in: a photograph turned full circle in 400 steps; frames of each range are "
    "mixed with those of the other, as the paper does not say how it disturbs them. It says: k-means puts opposite "
    "angles into one cluster, CLUHSIC on a ring does not, and its clusters follow the angle. CLUHSIC: the library's, "
    "with placement and restarts; Algorithm 1: point moves alone, as the paper has it, from one random labeling."
)
METHODS = ("k-means", "CLUHSIC", "Algorithm 1")
CLAIMS = {"as the paper says": CLAIM, "as the paper says, Algorithm 1": CLAIM}
COLUMNS = CLAIMS | {
    f"{what}, {method}": Column("") for what in ("torn clusters", "neighbours in order") for method in METHODS
}
SHARES = (0.3, 0.4, 0.5)  # of the other range in a frame; 0.5 makes the two ranges equal
PAPER = {f"mixed {share}": dict.fromkeys(CLAIMS, 1.0) for share in SHARES}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    labels, angles, _ = _labels(float(row.split()[1]), seed, work)
    torn = [sum(_spread(angles[one == j]) > 90 for j in range(10)) for one in labels]
    order = [_in_order(one, angles) for one in labels]
    claims = [torn[0] > 0 == torn[method] and order[method] == 10 for method in (1, 2)]
    return dict(zip(COLUMNS, [*claims, *torn, *order], strict=True))


def _labels(share: float, seed: int, work: Work) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return the labels of every method, the angles of the samples and the kernel matrix."""
    each, size = (10, 16) if work.quick else (40, 32)
    turned = rotated_images(per_cluster=each, skip=0, size=size, random_state=seed)
    at = np.argsort(turned.angles)  # frame k is sample at[k]
    X = turned.data.copy()
    first, second = (at[each * start // 40 : each * (start + 16) // 40] for start in (90, 290))
    X[first], X[second] = X[first] + share * (X[second] - X[first]), X[second] + share * (X[first] - X[second])
    X += 1e-3 * np.random.default_rng(seed).standard_normal(X.shape)
    K, given = gaussian(X), {"kernel": "precomputed", "random_state": seed}
    models = KernelKMeans(10, **given), CLUHSIC(structure="ring:10", compute_confidence=False, **given)
    alone = algorithm_1(K, "ring:10", random_starts(K, 10, 1, seed))
    return [*(model.fit_predict(K) for model in models), alone], turned.angles, K


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
    """Samples in the three leading eigenvectors, coloured by cluster."""
    labels, _, K = _labels(0.4, 0, work)
    vectors = np.linalg.eigh(K)[1][:, :-4:-1]
    for at, (one, method) in enumerate(zip(labels, METHODS, strict=True)):
        ax = figure.add_subplot(1, len(METHODS), at + 1, projection="3d")
        ax.scatter(*vectors.T, c=one, cmap="tab10", s=8)
        ax.set_title(method)
