"""Entropies from sums of x log x."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy


def x_log_x(counts) -> np.ndarray:
    return xlogy(counts, counts)


def entropy(sums, n: float) -> np.ndarray:
    """Entropy of a labeling with sum x log x over its cluster sizes; exactly 0 for a single cluster."""
    H = np.log(n) - np.asarray(sums) / n
    return np.where(H > 1e-12 * max(np.log(n), 1.0), H, 0.0)


def information_loss(H, H_given, mean, n: float) -> tuple[np.ndarray, np.ndarray]:
    """base and rate of 1 - I / mean, of mutual information in units of a mean of both entropies."""
    trivial = mean == 0
    safe = np.where(trivial, 1.0, mean)
    base = np.where(trivial, (H != H_given).astype(float), 1 - (H + H_given - np.log(n)) / safe)
    return base, np.where(trivial, 0.0, 1 / (n * safe))
