"""Pairs of samples from sums of squares."""

from __future__ import annotations

import numpy as np


def squares(counts) -> np.ndarray:
    return np.square(np.asarray(counts, dtype=float))


def pairs(sums, n: float) -> np.ndarray:
    """Pairs of samples that a labeling with this sum of squared sizes puts together."""
    return (np.asarray(sums) - n) / 2
