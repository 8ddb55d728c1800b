"""Zhong, Pan, Kwok and Tsang (2010), table V: no structure and zero-one loss, A = I."""

from __future__ import annotations

from kernelclust.metrics import clustering_accuracy
from reproduction.frame import STAND_IN, Column, Work
from reproduction.tables._methods import algorithm_1, random_starts
from reproduction.tables._sets import FILES, SETS, shuffled

__all__ = ["FILES"]

TITLE = "Clustering performance in the special case A = I"
STATE, REPEATS = STAND_IN, 10
WHY = (
    "Stand-ins of tables I to IV. Accuracy under the best naming, ten random starts in each repetition. CLUHSIC: l2 "
    "norm, which is kernel k-means; CLUHSICAL: l1."
)
OBJECTIVES = {"CLUHSIC": {}, "CLUHSICAL": {"loss": "zero-one", "normalize": "l1"}}
COLUMNS = dict.fromkeys(OBJECTIVES, Column())
PRINTED = [(66.4, 72.8), (64.3, 69.4), (66.3, 71.7), (43.0, 51.5), (77.0, 90.9), (32.7, 35.1)]
PAPER = {name: dict(zip(COLUMNS, printed, strict=True)) for name, printed in zip(SETS, PRINTED, strict=True)}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    K, y, _ = shuffled(SETS[row](work), seed)
    c = int(y.max()) + 1
    starts = random_starts(K, c, 2 if work.quick else 10, seed)
    found = {name: algorithm_1(K, f"flat:{c}", starts, **objective) for name, objective in OBJECTIVES.items()}
    return {name: 100 * clustering_accuracy(y, labels) for name, labels in found.items()}
