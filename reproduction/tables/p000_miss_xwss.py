"""XWSS in tables I to IV of Zhong, Pan, Kwok and Tsang (2010): what restarts and C are worth to it."""

from __future__ import annotations

import numpy as np

from kernelclust.metrics import structured_accuracy
from kernelclust.structures import as_structure
from reproduction.baselines import xwss
from reproduction.frame import STAND_IN, Column, Work
from reproduction.tables._methods import random_starts, tree_starts
from reproduction.tables._sets import face, scop, shuffled, teapot_ring, wipo

TITLE = "Accuracy of XWSS by the number of starts and C"
STATE, REPEATS, QUICK = STAND_IN, 5, 1
WHY = (
    "Stand-ins of tables I to IV, accuracy at the last level. The tables have ten starts, as the other methods, and "
    "C = 0.1 in units of the number of samples. Start: the first start as it is."
)
SETS = {
    "SCOP K1": lambda work: scop(work, (1, 2, 3, 4)),
    "SCOP K2": lambda work: scop(work, (5, 6, 7, 8)),
    "SCOP K3": lambda work: scop(work, (9, 10, 11, 12)),
    "WIPO": wipo,
    "face": face,
    "teapot": teapot_ring,
}
C = (0.01, 0.1, 1.0, 10.0)
COLUMNS = {name: Column("") for name in ("start %", "ten starts %", *(f"one start, C = {one:g} %" for one in C))}
PAPER: dict[str, dict[str, float]] = {name: {} for name in SETS}
FILES = {f"SCOP K{one}": "proteinfold_12views" for one in (1, 2, 3)} | {
    "WIPO": "news20_full_counts",
    "face": "umist_faces",
}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    K, y, structure = shuffled(SETS[row](work), seed)
    c, number = as_structure(structure).n_clusters, 2 if work.quick else 10
    tree = structure.startswith("tree")
    starts = tree_starts(K, structure, number, seed) if tree else random_starts(K, c, number, seed)

    def right(labels: np.ndarray) -> float:
        return 100 * structured_accuracy(y, labels, structure)

    single = [right(xwss(K, structure, starts[:1], C=one)) for one in C]
    return dict(zip(COLUMNS, (right(starts[0]), right(xwss(K, structure, starts)), *single), strict=True))
