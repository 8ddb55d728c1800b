"""Count iterations of the search: Zhong, Pan, Kwok and Tsang (2010) say in words that few are enough."""

from __future__ import annotations

from typing import Any

from kernelclust.kernels import DenseKernel
from kernelclust.objectives import Dependence
from kernelclust.solvers import climb
from kernelclust.structures import as_structure
from reproduction.frame import CLAIM, STAND_IN, Column, Work
from reproduction.tables._methods import random_starts
from reproduction.tables._sets import FILES, SETS, shuffled

__all__ = ["FILES"]

TITLE = "Sweeps of the greedy search from one random labeling"
STATE, REPEATS, QUICK = STAND_IN, 10, 1
WHY = (
    "Stand-ins of tables I to IV, with their structures. The paper says that the greedy search often converges in "
    "fewer than 20 iterations. A sweep offers every sample every cluster; the last one moves none."
)
OBJECTIVES: dict[str, dict[str, Any]] = {"CLUHSIC": {}, "CLUHSICAL": {"loss": "structure", "normalize": "l1"}}
COLUMNS = {f"{name}, fewer than 20": CLAIM for name in OBJECTIVES} | {name: Column("") for name in OBJECTIVES}
PAPER = {name: {f"{method}, fewer than 20": 1.0 for method in OBJECTIVES} for name in SETS}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    K, y, structure = shuffled(SETS[row](work), seed)
    made, (start,) = as_structure(structure), random_starts(K, int(y.max()) + 1, 1, seed)
    sweeps = {
        name: climb(DenseKernel(K), Dependence(rho=0.0, **objective).bind(made), start).n_iter
        for name, objective in OBJECTIVES.items()
    }
    return {f"{name}, fewer than 20": float(n < 20) for name, n in sweeps.items()} | sweeps
