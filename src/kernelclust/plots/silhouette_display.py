"""Silhouettes: how clearly samples belong to their clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelclust.plots._base import INK, Display, places_on, predicted
from kernelclust.plots._colors import colors_of
from kernelclust.structures import cluster_names


def silhouettes(distances: ArrayLike, labels: ArrayLike) -> NDArray[np.float64]:
    """Return (b - a) / max(a, b) of each sample, NaN where all other clusters are empty.

    a is the distance to the mean of the sample's cluster and b to the nearest other one, of distances (m, c) that are
    NaN for empty clusters.
    """
    cluster, away = np.asarray(labels), np.asarray(distances, dtype=float)
    rows = np.arange(len(cluster))
    own, others = away[rows, cluster], np.where(np.isnan(away), np.inf, away)
    others[rows, cluster] = np.inf
    nearest = others.min(axis=1)
    most = np.maximum(own, nearest)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(most), (nearest - own) / np.where(most > 0, most, 1.0), np.nan)


@dataclass
class SilhouetteDisplay(Display):
    """Silhouette values: how much nearer samples are to the mean of their own cluster than to the next, in the kernel's
    feature space.

    s = (b - a) / max(a, b), a the distance to the mean of the sample's cluster and b to the nearest other one (the
    simplified silhouette): 1 is clear, 0 on a border, below 0 nearer to another cluster.
    """

    silhouette: NDArray  # (m,)
    labels: NDArray
    structure: Any = None

    @classmethod
    def example(cls) -> Self:
        return cls(np.array([0.5, 0.9, -0.1]), np.array([0, 0, 1]))

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, ax: Any = None) -> Self:
        """Draw samples X, fitted or new."""
        if not hasattr(model, "transform"):
            raise TypeError(f"{type(model).__name__} has no distances to clusters (transform), so no silhouette.")
        labels = predicted(model, X)
        return cls.from_predictions(model.transform(X), labels, getattr(model, "structure_", None), ax=ax)

    @classmethod
    def from_predictions(cls, distances: Any, labels: Any, structure: Any = None, *, ax: Any = None) -> Self:
        """Draw distances (m, c) to the clusters, as `transform` returns them."""
        cluster, away = np.asarray(labels), np.asarray(distances, dtype=float)
        structure, c = places_on(structure, cluster)
        if away.ndim != 2 or away.shape[0] != len(cluster) or away.shape[1] < max(c, 2):
            raise ValueError(f"distances have shape {away.shape}, but must be ({len(cluster)}, clusters), two or more.")
        return cls(np.nan_to_num(silhouettes(away, cluster)), cluster, structure).plot(ax)

    def _draw(self, ax):
        structure, c = places_on(self.structure, self.labels)
        colors = colors_of(structure, c)
        gap, top, middles = max(1.0, 0.02 * len(self.labels)), 0.0, []
        for j in range(c):
            values = np.sort(self.silhouette[self.labels == j])[::-1]
            ax.fill_betweenx(top + np.arange(len(values)), 0, values, color=colors[j], step="mid", linewidth=0.5)
            middles.append(top + len(values) / 2)
            top += len(values) + gap
        mean = float(self.silhouette.mean())
        ax.axvline(mean, color=INK, linestyle="--", linewidth=1)
        ax.set_yticks(middles, cluster_names(structure, c).tolist(), fontsize=9 if c <= 20 else 6)
        ax.set(ylim=(top, -gap), xlabel="silhouette, by means in feature space", title=f"mean {mean:.2f}")
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)


PART = SilhouetteDisplay
