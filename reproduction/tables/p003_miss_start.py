"""Table 1 of Yang, Kwok and Lu (2010): how much of SDPLR's and the greedy solver's accuracy is due to the start?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelclust import StructuredClustering
from kernelclust.metrics import structured_accuracy
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy, LowRankSDP, Problem
from reproduction.frame import STAND_IN, Column, Work
from reproduction.tables import p003_table_1
from reproduction.tables._sets import shuffled

TITLE = "Accuracy of SDPLR and of the greedy solver by what they start from"
STATE, REPEATS, QUICK = STAND_IN, 5, 1
WHY = (
    "Stand-ins of 003-table-1. There SDPLR starts from relaxed labels that know A, plus noise, and the greedy solver "
    "from a random labeling. Here each starts from both."
)


@dataclass(eq=False, repr=False)
class FromNoise(LowRankSDP):
    """The low-rank SDP from uniform noise alone."""

    def initial_labels(self, problem: Problem, rng: np.random.RandomState) -> np.ndarray:
        return np.zeros((problem.kernel.n_samples, int(self.rank), problem.objective.n_clusters))


SOLVERS = {
    "SDPLR %": lambda steps: LowRankSDP(polish=False, **steps),
    "SDPLR from noise %": lambda steps: FromNoise(polish=False, **steps),
    "greedy from noise %": lambda steps: Greedy(search="global", init="random", n_init=1),
    "greedy from labels that know A %": lambda steps: Greedy(search="global", init="projected", n_init=1),
}
COLUMNS = dict.fromkeys(SOLVERS, Column(""))
PAPER: dict[str, dict[str, float]] = {"teapot": {}, "face": {}, "coil": {}}
FILES = {"face": "umist_faces", "coil": "coil20"}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    K, y, structure = shuffled(p003_table_1.SETS[row](work), seed)
    found = {}
    for name, solver in SOLVERS.items():
        model = StructuredClustering(
            structure=structure,
            kernel="precomputed",
            objective=Dependence(rho=0, placement=None),
            solver=solver({"max_steps": 2} if work.quick else {}),
            compute_confidence=False,
            random_state=seed,
        )
        found[name] = 100 * structured_accuracy(y, model.fit_predict(K), structure)
    return found
