"""Samples in the plane, along the structure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from kernelclust.plots._base import BEHIND, FAINT, INK, Display, outlined, places_on, predicted, title_of
from kernelclust.plots._colors import colors_of, neighbours
from kernelclust.structures import cluster_names


@dataclass
class EmbeddingDisplay(Display):
    """Samples in the leading directions, coloured along the structure; lines join the means of neighbours.

    From an estimator: the directions in which the clusters' means differ most in the kernel's feature space. From
    predictions: the principal components of X, or X itself where it has two columns. Without a structure clusters get
    unrelated colours and no lines.

    Examples
    --------
    >>> from kernelclust.plots import EmbeddingDisplay
    >>> shown = EmbeddingDisplay.from_predictions([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]], [0, 0, 1])
    >>> [text.get_text() for text in shown.ax_.texts]
    ['0', '1']
    """

    points: NDArray  # (m, d)
    labels: NDArray  # (m,)
    structure: Any = None
    directions: str = ""
    n_clusters: int = field(init=False)

    def __post_init__(self) -> None:
        self.points, self.labels = np.asarray(self.points, dtype=float), np.asarray(self.labels)
        m = len(self.labels)
        if self.points.ndim != 2 or len(self.points) != m:
            raise ValueError(f"X has shape {self.points.shape}, but {m} labels need ({m}, d).")
        self.structure, self.n_clusters = places_on(self.structure, self.labels)

    @classmethod
    def example(cls) -> Self:
        return cls(np.arange(12.0).reshape(4, 3) ** 2, np.array([0, 0, 1, 2]), "chain:3")

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, ax: Any = None) -> Self:
        """Draw samples X, fitted or new, as `predict` and `transform` take them."""
        labels = predicted(model, X)
        structure = getattr(model, "structure_", None)
        if not hasattr(model, "transform"):
            return cls(X, labels, structure).plot(ax)
        return cls.from_distances(model.transform(X), labels, structure, ax=ax)

    @classmethod
    def from_distances(cls, distances, labels, structure=None, *, ax=None):
        """Draw samples by their distances (m, c) to the means of the clusters, as `transform` returns them."""
        along = -(np.nan_to_num(np.asarray(distances, dtype=float)) ** 2) / 2  # <phi(x), mu_j>, up to constants
        along = along - along.mean(axis=1, keepdims=True)
        return cls(along, labels, structure, "directions between means, in feature space").plot(ax)

    @classmethod
    def from_predictions(cls, X: Any, labels: Any, structure: Any = None, *, ax: Any = None) -> Self:
        """Draw the rows of any table with their labels."""
        return cls(X, labels, structure).plot(ax)

    def _draw(self, ax):
        from matplotlib.collections import LineCollection

        points, cluster, structure, c = self.points, self.labels, self.structure, self.n_clusters
        largest = float(np.abs(points).max(initial=0.0))
        points = points / largest if largest > 1e100 else points  # squares stay finite, and the axes have no scale
        if points.shape[1] > 2:
            points = PCA(2, random_state=0).fit_transform(points)
            ax.set(xlabel="first principal component", ylabel="second principal component")
        elif points.shape[1] == 1:
            points = np.column_stack([points, np.zeros(len(points))])
        if self.directions:
            ax.set(xlabel=self.directions, ylabel="")
        colors = colors_of(structure, c)
        area = float(np.clip(12000 / len(points), 2, 28))
        ax.scatter(points[:, 0], points[:, 1], s=area, c=colors[cluster], alpha=0.75, linewidths=0, zorder=1)

        used = np.flatnonzero(np.bincount(cluster, minlength=c))
        means = np.full((c, 2), np.nan)
        means[used] = [points[cluster == label].mean(axis=0) for label in used]
        if structure is not None:
            pairs = np.argwhere(np.triu(neighbours(structure)))
            ends = [means[pair] for pair in pairs if np.isfinite(means[pair]).all()]
            ax.add_collection(LineCollection(ends, colors=INK, linewidths=1.6, alpha=0.7, zorder=2))
            ax.set_title(title_of(structure))
        ax.scatter(means[used, 0], means[used, 1], s=150, c=colors[used], edgecolors="white", linewidths=1.5, zorder=3)
        names = cluster_names(structure, c).tolist()
        for label in used:
            x, y = means[label]
            if len(names[label]) <= 3:
                ax.text(x, y, names[label], ha="center", va="center", zorder=4, **outlined(8))
            else:
                below = {"xytext": (0, -8), "textcoords": "offset points", "ha": "center", "va": "top"}
                ax.annotate(names[label], (x, y), fontsize=9, zorder=4, bbox=BEHIND, **below)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color(FAINT)


PART = EmbeddingDisplay
