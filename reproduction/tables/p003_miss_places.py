"""Misses of table 1 of Yang, Kwok and Lu (2010) on coil and faces: is the true arrangement the best of its kernel?"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from kernelclust import CLUHSIC, arrange
from kernelclust.kernels import RBF
from kernelclust.metrics import structured_accuracy
from kernelclust.objectives import structured_hsic
from reproduction.frame import STAND_IN, Column, Work
from reproduction.tables import _sets
from reproduction.tables._methods import gram, standardized
from reproduction.tables.p003_table_1 import labels_of

TITLE = "F of the true labels and of what is found, and how many true classes are placed right"
STATE, REPEATS = STAND_IN, 1
WHY = (
    "Stand-ins of 003-table-1. Placed: accuracy when the true classes are assigned to nodes by the same kernel. Lower: "
    "how far F of the true labels is below the largest F found; a solver of F cannot then find them. gamma in units of "
    "1 over the number of pixels (the table: 1); draws: other objects of COIL-20; tints: a colour made up for each of "
    "the four objects, because COIL-100 is in colour and the stand-in is grey."
)
GAMMAS, N_DRAWS, N_TINTS = (0.1, 0.3, 1.0, 3.0, 10.0), 9, 3
COLUMNS = {
    "true F lower %": Column(""),
    "placed %": Column(""),
    "default %": Column(""),
    "SDPLR %": Column(""),
    "groups found %": Column(""),
}
PAPER: dict[str, dict[str, float]] = {
    "face": {},
    **{f"coil, gamma {gamma:g}": {} for gamma in GAMMAS},
    **{f"coil, draw {draw}": {} for draw in range(1, N_DRAWS + 1)},
    **{f"coil, tints {draw}": {} for draw in range(1, N_TINTS + 1)},
}
FILES = {row: "umist_faces" if row == "face" else "coil20" for row in PAPER}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    K, y, structure = _sets.shuffled(_made(row, work), seed)
    given = {"kernel": "precomputed", "compute_confidence": False, "random_state": seed}
    default = CLUHSIC(structure=structure, **given).fit_predict(K)
    sdp = labels_of("SDPLR", K, structure, seed, **({"max_steps": 2} if work.quick else {}))
    placed = arrange(K, y, structure, kernel="precomputed").labels
    true, *found = (structured_hsic(K, labels, structure) for labels in (y, default, sdp, placed))
    flat = f"flat:{y.max() + 1}"
    accuracies = [100 * structured_accuracy(y, labels, structure) for labels in (placed, default, sdp)]
    groups = 100 * structured_accuracy(y, default, flat)
    return dict(zip(COLUMNS, (100 * max(0.0, 1 - true / max(found)), *accuracies, groups), strict=True))


@lru_cache(maxsize=2)
def _made(row: str, work: Work) -> _sets.Set:
    if row == "face":
        return _sets.face(work)
    what, value = row.removeprefix("coil, ").split()
    objects, gamma, tints = _sets.TURNING, 1.0, None
    if what == "gamma":
        gamma = float(value)
    elif what == "draw":
        objects = tuple(np.random.default_rng(int(value)).choice(20, 4, replace=False))
    else:
        tints = np.random.default_rng(int(value)).uniform(0, 1, (4, 3))
    return _coil(work, objects, gamma, tints)


def _coil(work: Work, objects: tuple[int, ...], gamma: float, tints: np.ndarray | None) -> _sets.Set:
    """Return the set of the table for other objects, another width, or with a colour for each object."""
    color: Callable[[np.ndarray, int], np.ndarray] = (
        (lambda pixels, number: pixels) if tints is None else (lambda pixels, number: np.outer(tints[number], pixels))
    )
    parts, places = _sets.coil_parts(work, objects)
    X = np.array([color(pixels, place // 3).ravel() for pixels, place in zip(parts, places, strict=True)])
    X = standardized(X)
    return gram(X, 2, RBF(gamma=gamma / X.shape[1])), places, "flat:4*chain:3"
