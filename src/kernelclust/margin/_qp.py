"""The small quadratic programs of the cutting planes (eq. 17), by their dual, with DAQP (Arnstrom et al., 2022)."""

from __future__ import annotations

import daqp
import numpy as np

NO_BOUND = 1e30
NO_LOSS = 1e-12  # what rounding leaves of equal labelings
ATTEMPTS = (  # the first gives objectives to 1e-8 of themselves; C far from 1 / n^2 may need the others
    {"eps_prox": 1e-4, "eta_prox": 1e-10, "primal_tol": 1e-10},
    {"eps_prox": 1e-4, "eta_prox": 1e-6, "primal_tol": 1e-8},
    {"eps_prox": 1e-2, "eta_prox": 1e-4, "primal_tol": 1e-6},
)


def solve_cuts(
    cuts: np.ndarray, losses: np.ndarray, C: float, sides: np.ndarray, limit: float, start: np.ndarray | None = None
) -> tuple[np.ndarray, float, np.ndarray]:
    """min_w,xi |w|^2 / 2 + C xi  with  w . g_k >= d_k - xi,  xi >= 0,  |w . s_j| <= limit.

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
