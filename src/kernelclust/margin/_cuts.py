"""The working set of the cutting planes: rivals y' of the labels, and the weights that keep away from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelclust.margin._machines import Machine
from kernelclust.margin._qp import solve_cuts

TOGETHER = 2**24  # labels of rivals that are compared at a time


@dataclass(frozen=True)
class Options:
    """C, the limit of the balance (None: no balance), tol (epsilon of theorem 1), and cuts at most."""

    C: float
    limit: float | None = None
    tol: float = 0.03
    max_iter: int = 100


class Cuts:
    """Labelings y'_k and their Psi."""

    def __init__(self, machine: Machine, options: Options):
        self.machine, self.C, self.limit = machine, options.C, options.limit
        self.sides = None if options.limit is None else machine.sides()
        self.weights: np.ndarray | None = None  # of the cuts, in the last program
        self.rivals: list[np.ndarray] = []
        self.psis: list[np.ndarray] = []

    def __len__(self) -> int:
        return len(self.rivals)

    def add(self, rival: np.ndarray, psi: np.ndarray) -> None:
        self.rivals.append(rival)
        self.psis.append(psi)

    def gaps(self, labels: np.ndarray, psi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g_k = Psi(y) - Psi(y'_k) and Delta(y'_k, y)."""
        return psi - np.array(self.psis), self._losses(labels)

    def _losses(self, labels: np.ndarray) -> np.ndarray:
        """Delta of all rivals, side by side where they are small."""
        if len(self.rivals) * len(labels) <= TOGETHER:
            return self.machine.losses(np.array(self.rivals), labels)
        return np.concatenate([self.machine.losses(rival[None], labels) for rival in self.rivals])

    def solve(self, labels: np.ndarray, psi: np.ndarray) -> tuple[np.ndarray, float]:
        """w for these labels and cuts, and its objective (eq. 17)."""
        sides = np.zeros((0, len(psi))) if self.sides is None else self.sides
        w, slack, self.weights = solve_cuts(
            *self.gaps(labels, psi), self.C, sides, self.limit or 0.0, start=self.weights
        )
        return w, float(w @ w / 2 + self.C * slack)

    def slack(self, w: np.ndarray, labels: np.ndarray, psi: np.ndarray) -> float:
        """xi that the working set asks for."""
        if not self.rivals:
            return 0.0
        cuts, losses = self.gaps(labels, psi)
        return max(float((losses - cuts @ w).max()), 0.0)

    def worst(self, w: np.ndarray, scores: np.ndarray, labels: np.ndarray, psi: np.ndarray):
        """The most violated labeling, its Psi, and xi(w)."""
        rival = self.machine.most_violated(scores, labels)
        psi_rival = self.machine.psi_of(rival)
        loss = float(self.machine.losses(rival[None], labels)[0])
        return rival, psi_rival, max(loss - float(w @ (psi - psi_rival)), 0.0)
