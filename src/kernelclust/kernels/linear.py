"""k(x, y) = <x, y>: clusters are balls; exactly what KMeans uses."""

from __future__ import annotations

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from kernelclust.kernels._base import Kernel


class Linear(Kernel):
    """Compare two samples by k(x, y) = <x, y>. With a flat structure this is k-means."""

    example = "Linear()"
    translation_invariant = True
    invariant_once_centred = True
    has_features = True
    features_are_samples = True
    has_free_units = False

    def block(self, X, Y) -> np.ndarray:
        return safe_sparse_dot(X, Y.T, dense_output=True)

    def features(self, X):
        return X


PART = Linear
