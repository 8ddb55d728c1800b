"""Count alternating projections: Yang, Kwok and Lu (2010) say in words that few are enough."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from kernelclust import StructuredClustering
from kernelclust.objectives import Dependence
from kernelclust.solvers import LowRankSDP, Problem
from kernelclust.solvers._relaxation import Relaxed, non_negative_orthonormal
from reproduction.frame import CLAIM, STAND_IN, Column, Work
from reproduction.tables import p003_table_1
from reproduction.tables._sets import shuffled

TITLE = "Alternating projections after SDPLR"
STATE, REPEATS, QUICK = STAND_IN, 5, 1
WHY = (
    "Stand-ins of 003-table-1. The paper says that alternating projection typically converges in fewer than 10 "
    "iterations; it states no criterion. Here: iterations until no label changes any more (the claim), and until no "
    "entry changes by more than 1e-3 and 1e-8 (the library's criterion, at most 100)."
)
TOLERANCES = {"until 1e-3": 1e-3, "until 1e-8": 1e-8}
COLUMNS = {"fewer than 10": CLAIM, "until labels stay": Column(""), **dict.fromkeys(TOLERANCES, Column(""))}
PAPER: dict[str, dict[str, float]] = {row: {"fewer than 10": 1.0} for row in ("teapot", "face", "coil")}
FILES = {"face": "umist_faces", "coil": "coil20"}
MAX_ITER = 100


@dataclass(eq=False, repr=False)
class Recording(LowRankSDP):
    """The low-rank SDP, which remembers its relaxed labels."""

    relaxed: list[np.ndarray] = field(default_factory=list)

    def round(self, relaxed: Relaxed, problem: Problem, rng: np.random.RandomState) -> np.ndarray:
        self.relaxed.append(relaxed.P)
        return super().round(relaxed, problem, rng)


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    K, _, structure = shuffled(p003_table_1.SETS[row](work), seed)
    solver = Recording(polish=False, max_steps=2 if work.quick else LowRankSDP.max_steps)
    model = StructuredClustering(
        structure=structure,
        kernel="precomputed",
        objective=Dependence(rho=0, placement=None),
        solver=solver,
        compute_confidence=False,
        random_state=seed,
    )
    model.fit(K)
    steps = [solver.relaxed[-1]]
    for _ in range(MAX_ITER):
        steps.append(non_negative_orthonormal(steps[-1], max_iter=1))
    labels = [np.argmax(P, axis=1) for P in steps]
    stay = max((t + 1 for t in range(MAX_ITER) if not np.array_equal(labels[t], labels[-1])), default=0)
    changes = [float(np.abs(after - before).max()) for before, after in pairwise(steps)]
    found = {name: next((t + 1 for t, change in enumerate(changes) if change < tol), MAX_ITER)
             for name, tol in TOLERANCES.items()}  # fmt: skip
    return {"fewer than 10": stay < 10, "until labels stay": stay, **found}
