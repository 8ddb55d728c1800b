"""XWSS in tables I to IV of Zhong, Pan, Kwok and Tsang (2010): what restarts and C are worth to it."""

from __future__ import annotations

import numpy as np

from kernelclust.metrics import structured_accuracy
from reproduction.baselines import xwss
from reproduction.frame import STAND_IN, Column, Work
from reproduction.tables._methods import starts_of
from reproduction.tables._sets import FILES, SETS, shuffled

__all__ = ["FILES"]

TITLE = "Accuracy of XWSS by the number of starts and C"
STATE, REPEATS, QUICK = STAND_IN, 5, 1
WHY = (
    "Stand-ins of tables I to IV, accuracy at the last level. The tables have ten starts, as the other methods, and "
    "C = 0.1 in units of the number of samples. Start: the first start as it is."
)
C = (0.01, 0.1, 1.0, 10.0)
COLUMNS = {name: Column("") for name in ("start %", "ten starts %", *(f"one start, C = {one:g} %" for one in C))}
PAPER: dict[str, dict[str, float]] = {name: {} for name in SETS}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    K, y, structure = shuffled(SETS[row](work), seed)
    starts = starts_of(K, structure, 2 if work.quick else 10, seed)

    def right(labels: np.ndarray) -> float:
        return 100 * structured_accuracy(y, labels, structure)

    single = [right(xwss(K, structure, starts[:1], C=one)) for one in C]
    return dict(zip(COLUMNS, (right(starts[0]), right(xwss(K, structure, starts)), *single), strict=True))
