"""Nystrom: features that are exact on random landmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelclust.kernels._new_samples import LandmarkFeatures
from kernelclust.kernels.approximations._base import DEFAULT_COMPONENTS, Approximation, check_block, in_blocks


@dataclass(eq=False, repr=False)
class Nystroem(Approximation):
    """Approximate the kernel by features whose products are exact on `n_components` random samples (Nystrom).

    Parameters
    ----------
    n_components : int, default=300
    """

    has_array_features = True

    n_components: int = DEFAULT_COMPONENTS

    def factor(self, function, X, Z, weight, n_clusters, rng):
        m = X.shape[0]
        rank = min(m, self.rank)
        landmarks = Z[np.sort(rng.choice(m, rank, replace=False))]
        M = nystroem_map(check_block(function.kernel, function(landmarks, landmarks))).astype(Z.dtype)
        B = in_blocks(lambda rows: function(Z[rows], landmarks) @ M, m, M.shape[1], Z.dtype, rank)
        return B, LandmarkFeatures(function, landmarks, M)

    def matrix_factor(self, K, weight, n_clusters, rng):
        landmarks = np.sort(rng.choice(len(K), min(len(K), self.rank), replace=False))
        M = nystroem_map(K[np.ix_(landmarks, landmarks)])
        return K[:, landmarks] @ M, landmarks, M


def nystroem_map(K_landmarks: np.ndarray) -> np.ndarray:
    """Return M (l x r) such that k(x, landmarks) M are features whose products are exact on the landmarks."""
    values, vectors = np.linalg.eigh((K_landmarks + K_landmarks.T) / 2)
    keep = values > values[-1] * len(values) * np.finfo(values.dtype).eps
    if not keep.any():
        return np.zeros((len(values), 1))
    return vectors[:, keep] / np.sqrt(values[keep])


class AutoApproximation(Nystroem):
    """approximation="auto": exact up to the kernel's `dense_limit`, Nystroem beyond."""

    is_auto = True

    def __init__(self) -> None:
        super().__init__()

    def beyond_limit(self) -> Nystroem:
        return Nystroem()

    def __repr__(self, **_) -> str:
        return "'auto'"


PART = Nystroem
