"""Entropies from sums of x log x."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy


def phi(counts) -> np.ndarray:
    return xlogy(counts, counts)


def entropy(sums, n: float) -> np.ndarray:
    """Entropy of a labeling with sum x log x over its cluster sizes; exactly 0 for a single cluster."""
    H = np.log(n) - np.asarray(sums) / n
    return np.where(H > 1e-12 * max(np.log(n), 1.0), H, 0.0)
