"""Random features: cosines and sines along random directions, whose products average to the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from kernelclust.kernels._new_samples import FrequencyFeatures
from kernelclust.kernels.approximations._base import DEFAULT_COMPONENTS, Approximation, in_blocks


@dataclass(eq=False, repr=False)
class RandomFeatures(Approximation):
    """Approximate rbf and laplacian kernels by cosines and sines along n_components / 2 random directions.

    Parameters
    ----------
    n_components : int, default=300
    """

    example = "RandomFeatures(n_components=300)"

    n_components: int = DEFAULT_COMPONENTS

    def check_kernel(self, kernel) -> None:
        if not kernel.has_frequencies:
            raise ValueError(
                f"approximation='random_features' supports kernel='rbf' and 'laplacian', not {kernel.name!r}; "
                "use approximation='nystroem' or 'cholesky'."
            )

    def factor(self, function, X, Z, weight, n_clusters, rng):
        W = function.kernel.frequencies(X.shape[1], max(self.rank // 2, 1), rng)
        features = FrequencyFeatures(function, W.astype(Z.dtype))
        B = in_blocks(lambda rows: features(X[rows]), X.shape[0], 2 * W.shape[1], Z.dtype, self.rank)
        return B, features


PART = RandomFeatures
