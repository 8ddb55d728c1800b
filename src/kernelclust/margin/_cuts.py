"""The working set of the cutting planes: rivals y' of the labels, and the weights that keep away from them."""

from __future__ import annotations

from dataclasses import dataclass

import daqp
import numpy as np

from kernelclust.margin._models import DecisionModel

TOGETHER = 2**24  # labels of rivals that are compared at a time
NO_BOUND = 1e30
NO_LOSS = 1e-12  # what rounding leaves of equal labelings
ATTEMPTS = (  # the first gives objectives to 1e-8 of themselves; C far from 1 / n^2 may need the others
    {"eps_prox": 1e-4, "eta_prox": 1e-10, "primal_tol": 1e-10},
    {"eps_prox": 1e-4, "eta_prox": 1e-6, "primal_tol": 1e-8},
    {"eps_prox": 1e-2, "eta_prox": 1e-4, "primal_tol": 1e-6},
)


@dataclass(frozen=True)
class Options:
    """C, the limit of the balance (None: no balance), tol (epsilon of theorem 1), and cuts at most."""

    C: float
    limit: float | None = None
    tol: float = 0.03
    max_iter: int = 100


class Cuts:
    """Labelings y'_k and their Psi."""

    def __init__(self, model: DecisionModel, options: Options):
        self.model, self.C, self.limit = model, options.C, options.limit
        self.sides = None if options.limit is None else model.sides()
        self.weights: np.ndarray | None = None  # of the cuts, in the last program
        self.rivals: list[np.ndarray] = []
        self.psis: list[np.ndarray] = []

    def __len__(self) -> int:
        return len(self.rivals)

    def add(self, rival: np.ndarray, psi: np.ndarray) -> None:
        self.rivals.append(rival)
        self.psis.append(psi)

    def gaps(self, labels: np.ndarray, psi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return g_k = Psi(y) - Psi(y'_k) and Delta(y'_k, y)."""
        return psi - np.array(self.psis), self._losses(labels)

    def _losses(self, labels: np.ndarray) -> np.ndarray:
        """Return Delta of all rivals, computed together if they are small."""
        if len(self.rivals) * len(labels) <= TOGETHER:
            return self.model.losses(np.array(self.rivals), labels)
        return np.concatenate([self.model.losses(rival[None], labels) for rival in self.rivals])

    def solve(self, labels: np.ndarray, psi: np.ndarray) -> tuple[np.ndarray, float]:
        """Return w for these labels and cuts, and its objective (eq. 17)."""
        sides = np.zeros((0, len(psi))) if self.sides is None else self.sides
        w, slack, self.weights = solve_cuts(
            *self.gaps(labels, psi), self.C, sides, self.limit or 0.0, start=self.weights
        )
        return w, float(w @ w / 2 + self.C * slack)

    def slack(self, w: np.ndarray, labels: np.ndarray, psi: np.ndarray) -> float:
        """Return xi of the working set."""
        if not self.rivals:
            return 0.0
        cuts, losses = self.gaps(labels, psi)
        return max(float((losses - cuts @ w).max()), 0.0)

    def worst(self, w: np.ndarray, scores: np.ndarray, labels: np.ndarray, psi: np.ndarray):
        """Return the most violated labeling, its Psi, and xi(w)."""
        rival = self.model.most_violated(scores, labels)
        psi_rival = self.model.psi_of(rival)
        loss = float(self.model.losses(rival[None], labels)[0])
        return rival, psi_rival, max(loss - float(w @ (psi - psi_rival)), 0.0)


def solve_cuts(
    cuts: np.ndarray, losses: np.ndarray, C: float, sides: np.ndarray, limit: float, start: np.ndarray | None = None
) -> tuple[np.ndarray, float, np.ndarray]:
    """Solve a program of the cutting planes (eq. 17) by its dual, with DAQP (Arnstrom et al., 2022).

    min_w,xi |w|^2 / 2 + C xi  with  w . g_k >= d_k - xi,  xi >= 0,  |w . s_j| <= limit.

    cuts: g_k (K, D), losses: d_k (K,), sides: s_j (p, D). Returns w, xi and the weights
    alpha (K,) of the cuts; those of an earlier call with fewer cuts are a start that saves most of the steps.

    The dual has w = C (sum_k alpha_k g_k + sum_j (mu_j - nu_j) s_j) with alpha, mu, nu >= 0 and sum alpha <= 1, and
    minimises C |w / C|^2 / 2 - alpha . d + limit sum (mu + nu). In these units all numbers are near one. More cuts than
    dimensions, cuts that repeat and the pair +s, -s make its Hessian singular: DAQP takes proximal steps then.
    """
    M = np.vstack([cuts, sides, -sides])
    K, m = len(cuts), len(M)
    H, linear = C * (M @ M.T), np.concatenate([-losses, np.full(2 * len(sides), limit)])
    large = float(losses.max())
    if large <= NO_LOSS:
        return np.zeros(cuts.shape[1]), 0.0, np.zeros(len(cuts))
    size = max(float(np.diag(H)[:K].max()), 1e-10 * large)
    unit = min(1.0, large / size)  # alpha = unit x, x about one
    guess = np.zeros(m)
    if start is not None:
        guess[: len(start)] = start / unit
    for settings in ATTEMPTS:
        x, _, flag, _ = daqp.solve(
            H / size,
            linear / (unit * size),
            np.append(np.ones(K), np.zeros(m - K))[None],
            np.append(np.full(m, NO_BOUND), 1 / unit),
            np.append(np.zeros(m), -NO_BOUND),
            np.zeros(m + 1, dtype=np.int32),
            primal_start=None if start is None else guess,
            **settings,
        )
        if flag > 0:
            break
    else:
        raise ValueError(
            f"a quadratic program of {K} cuts was not solved (DAQP exit {flag}): C={C:g} is far from what n samples "
            "need, about 0.1 / n^2 to 1000 / n^2."
        )
    x = unit * np.maximum(x, 0.0)
    w = C * (x @ M)
    return w, max(float((losses - cuts @ w).max()), 0.0), x[:K]
