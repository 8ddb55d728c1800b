"""What an rbf kernel of X as given says beside the graphs of kernel="auto"."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from kernelclust._warnings import warn
from kernelclust.constraints import Constraints
from kernelclust.kernels import fit_kernel, leading_spectrum
from kernelclust.objectives import Dependence
from kernelclust.solvers import Options, Problem, greedy

EXACT = 3000  # samples beyond which the kernel is approximated: it advises, and decides nothing alone
NEAR_TIE, DOUBTED_TIE = 0.001, 0.02  # shares of F within which its clusters settle a tie of the graphs'
FEW = 10  # samples a cluster up to which graphs of sweeps need no care: neighbours are the next steps
DOUBTED = 0.7  # agreement of the views below which the second counts: neighbourhoods are noise
DISAGREE = 0.7  # alignment of its clusters with the graphs' below which both should be looked at
BEYOND = 8  # eigenvectors more than c - 1


def rbf_clusters(
    Z, weight: np.ndarray, n_clusters: int, known: Constraints | None, copies: Constraints | None
) -> np.ndarray:
    """Labels of samples Z (m x d) without structure, under k(x, y) = exp(-|x - y|^2 / mean squared distance)."""
    rng, c = check_random_state(0), n_clusters
    flat = Dependence(np.eye(c), np.eye(c), "l2")
    approximation = None if len(weight) <= EXACT else "nystroem"
    kernel = fit_kernel(Z, weight, kernel="rbf", n_clusters=c, approximation=approximation, rng=rng).operator
    spectrum = leading_spectrum(kernel, c - 1 + BEYOND, c - 1, rng)
    return greedy.solve(Problem(kernel, spectrum, flat, flat, known, copies), Options(), rng).labels


def warn_of_rbf(agreement: float | None) -> None:
    """Say so where graphs and rbf find different clusters: no rule without labels tells which are right."""
    if agreement is not None and agreement < DISAGREE:
        warn(
            f"kernel='auto' and kernel='rbf' find different clusters here (alignment {agreement:.2f}): look at both. "
            "Graphs follow curved groups and bear columns of unlike units, rbf bears noise around round groups."
        )


def advice(labels: np.ndarray, view_agreement: float) -> tuple[np.ndarray, float]:
    """Labels by rbf, and the share of F under the graphs within which they are preferred."""
    return labels, DOUBTED_TIE if view_agreement < DOUBTED else NEAR_TIE
