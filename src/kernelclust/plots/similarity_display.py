"""Similarity between clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kernelclust.plots._base import Display, name_ticks, places_on, structure_of, title_of
from kernelclust.structures import Structure, cluster_names


@dataclass
class SimilarityDisplay(Display):
    """Mean similarity between clusters, in the order of the structure: bands on chains and rings, blocks on trees.

    Empty clusters are blank.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust.plots import SimilarityDisplay
    >>> SimilarityDisplay.from_predictions(np.eye(4), [0, 0, 1, 1]).similarity.tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """

    similarity: NDArray  # (c, c)
    structure: Structure | None = None

    @classmethod
    def example(cls) -> Self:
        return cls(np.eye(3))

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Draw <mu_j, mu_k> of the kernel of the fit, from the centre of all samples."""
        structure = structure_of(model)
        return cls(model.diagnostics_.cluster_similarity, structure).plot(ax)

    @classmethod
    def from_predictions(cls, K: Any, labels: Any, structure: Any = None, *, ax: Any = None) -> Self:
        """Draw means of similarities K (m, m) between samples, such as ``rbf_kernel(X)``."""
        cluster = np.asarray(labels)
        structure, c = places_on(structure, cluster)
        similarity, m = np.asarray(K, dtype=float), len(cluster)
        if similarity.shape != (m, m):
            raise ValueError(f"K has shape {similarity.shape}, but {m} labels need ({m}, {m}).")
        member = np.eye(c)[cluster]  # (m, c)
        n = member.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return cls((member.T @ similarity @ member) / np.outer(n, n), structure).plot(ax)

    def _draw(self, ax):
        image = ax.imshow(self.similarity, cmap="magma", interpolation="nearest")
        ax.figure.colorbar(image, ax=ax, shrink=0.8, label="mean similarity")
        names = cluster_names(self.structure, len(self.similarity)).tolist()
        name_ticks(ax, names, names)
        ax.set(xlabel="cluster", ylabel="cluster")
        where = "between clusters" if self.structure is None else f"along {title_of(self.structure)}"
        ax.set_title(f"similarity {where}")
        ax.spines[:].set_visible(False)


PART = SimilarityDisplay
