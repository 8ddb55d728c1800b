"""Misses of tables III to V of Zhao, Kwok and Zhang (2009): is it the search, or the objective?"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from kernelclust import MaxMarginClustering
from reproduction.frame import EXACT, Column, Work
from reproduction.tables import _margin

TITLE = "Objective found by max-margin clustering, compared with that of the true labels"
STATE, REPEATS = EXACT, 1
WHY = (
    "If the search finds labels of a lower objective than the true ones, no better search of this objective helps. "
    "Library defaults (ten initializations); the objective of the true labels is the least one with all labels known. "
    "Negative: the search found worse labels than the true ones."
)
SETS = ("digits3v8", "digits8v9", "ionosphere", "satellite", "ringnorm", "Text-1", "Text-2")
KAPPAS = (1.0, 10.0, 100.0, 1e3, 1e4)
LOSSES = {"MMC-uni": "error", "MMC-multi": "nmi"}
COLUMNS = {"lower than true %": Column(""), "NMI": Column("", 1.0)}
PAPER: dict[str, dict[str, float]] = {
    f"{name}: {method}, C = {kappa:g} / n^2": {} for name in SETS for method in LOSSES for kappa in KAPPAS
}
FILES = {row: _margin.FILES[row.split(":")[0]] for row in PAPER if row.split(":")[0] in _margin.FILES}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    name, method, kappa = row.replace(", C = ", ": ").removesuffix(" / n^2").split(": ")
    y, Z = _samples(name, seed, work)
    given: dict[str, Any] = {"C": float(kappa) / len(y) ** 2, "n_init": 2 if work.quick else 10}
    found = _margin.margin(LOSSES[method], seed, **given).fit(Z)
    true: MaxMarginClustering = _margin.margin(LOSSES[method], seed, **given).fit(Z, y)
    lower = 100 * (1 - found.objective_ / true.objective_)
    return dict(zip(COLUMNS, (lower, _margin.MEASURES["nmi"](y, found.labels_)), strict=True))


@lru_cache
def _samples(name: str, seed: int, work: Work) -> tuple[np.ndarray, np.ndarray]:
    return _margin.load(name, seed, work)[1], _margin._centred(name, seed, work)
