"""Zhong, Pan, Kwok and Tsang (2010), figure 7: the whole teapot set in ten clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelclust.datasets import rotated_images
from reproduction.frame import CLAIM, STAND_IN, Column, Result, Work
from reproduction.tables._methods import gaussian
from reproduction.tables._structured import labels_of

TITLE = "Clusters along all 400 frames"
STATE, REPEATS, QUICK = STAND_IN, 10, 1
WHY = (
    "Stand-in of 000-table-4 without gaps. The paper shows one run: all but kernel k-means number clusters along the "
    "turn. Steps in order: of the ten borders between runs of frames, those between neighbours on the ring, in %."
)
METHODS = ("kernel k-means", "CLUHSIC", "CLUHSICAL l1, 0-1 loss", "CLUHSICAL l1, structured loss")
COLUMNS = {"all in order": CLAIM, "steps in order %": Column(""), "runs": Column("")}
PAPER = {method: {"all in order": 0.0 if method == "kernel k-means" else 1.0} for method in METHODS}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    labels = _labels(row, seed, work)
    steps = (np.roll(labels, -1) - labels) % 10
    borders = steps[steps != 0]
    share = max(np.mean(borders == 1), np.mean(borders == 9))
    return dict(zip(COLUMNS, (share == 1, 100 * share, len(borders)), strict=True))


def _labels(method: str, seed: int, work: Work) -> np.ndarray:
    """Labels of the frames in their order."""
    turned = rotated_images(per_cluster=10 if work.quick else 40, skip=0, size=16, random_state=seed)
    found = labels_of(method, gaussian(turned.data), "ring:10", seed, 2 if work.quick else 10)
    return found[np.argsort(turned.angles)]


def draw(figure: Any, result: Result, work: Work) -> None:
    for ax, method in zip(figure.subplots(len(METHODS), 1), METHODS, strict=True):
        ax.imshow(_labels(method, 0, work)[None, :], cmap="Greys", aspect="auto")
        ax.set(title=method, yticks=[])
