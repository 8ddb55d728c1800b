"""Displays in scikit-learn's manner: what a picture shows, and how to draw it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kernelclust.plots._pictures import (
    FAINT,
    INK,
    axes_of,
    draw_similarity,
    name_ticks,
    names_of,
    places_on,
    plot_embedding,
    plot_selection,
    plot_structure,
    structure_colors,
    structure_of,
    unrelated_colors,
)
from kernelclust.structures import Structure

MOST_COLUMNS = 30  # of a profile


class Display(ABC):
    """Holds what is shown; `plot` draws it on `ax`, or on a new figure, and keeps `ax_` and `figure_`."""

    @abstractmethod
    def _draw(self, ax: Any) -> Any:
        """Draw, and return the Axes."""

    def plot(self, ax: Any = None):
        """Draw on `ax`, or on a new figure."""
        self.ax_ = self._draw(ax)
        self.figure_ = self.ax_.figure
        return self


@dataclass
class StructureDisplay(Display):
    """Clusters at their places: area is size, colour the place or a value, thumbnails beside them.

    Examples
    --------
    >>> from kernelclust.plots import StructureDisplay
    >>> StructureDisplay.from_predictions([0, 0, 1, 2], "chain:(seed,sprout,bloom)").sizes.tolist()
    [2, 1, 1]
    """

    structure: Structure
    sizes: NDArray
    values: Any = None
    thumbnails: Any = None
    names: Any = None

    @classmethod
    def from_estimator(cls, model, *, values=None, thumbnails=None, names=None, ax=None):
        """Of a fitted estimator that has a structure; values and thumbnails are one for each cluster."""
        structure = structure_of(model)
        return cls(structure, _counts(model.labels_, structure), values, thumbnails, names).plot(ax)

    @classmethod
    def from_predictions(cls, labels, structure, *, values=None, thumbnails=None, names=None, ax=None):
        """Of labels, which are places on the structure."""
        structure = structure_of(structure)
        places_on(structure, np.asarray(labels))
        return cls(structure, _counts(labels, structure), values, thumbnails, names).plot(ax)

    def _draw(self, ax):
        options = {"values": self.values, "thumbnails": self.thumbnails, "names": self.names}
        return plot_structure(self.structure, sizes=self.sizes, ax=ax, **options)


@dataclass
class EmbeddingDisplay(Display):
    """Samples in the leading directions, coloured along the structure; lines join the means of neighbours.

    From an estimator: the directions in which the clusters' means differ most in the kernel's feature space, so that
    graph kernels show what they see. From predictions: the principal components of X.
    """

    points: NDArray
    labels: NDArray
    structure: Structure | None = None
    directions: str = ""

    @classmethod
    def from_estimator(cls, model, X, *, ax=None):
        """Of samples X, fitted or new, as `predict` and `transform` take them."""
        labels = _predicted(model, X)
        structure = getattr(model, "structure_", None)
        if not hasattr(model, "transform"):
            return cls(np.asarray(X, dtype=float), labels, structure).plot(ax)
        along = (
            -(np.nan_to_num(np.asarray(model.transform(X), dtype=float)) ** 2) / 2
        )  # <phi(x), mu_j>, up to constants
        along = along - along.mean(axis=1, keepdims=True)
        return cls(along, labels, structure, "directions between means, in feature space").plot(ax)

    @classmethod
    def from_predictions(cls, X, labels, structure=None, *, ax=None):
        """Of any table and labels."""
        return cls(np.asarray(X, dtype=float), np.asarray(labels), structure).plot(ax)

    def _draw(self, ax):
        ax = plot_embedding(self.points, self.labels, self.structure, ax=ax)
        if self.directions:
            ax.set(xlabel=self.directions, ylabel="")
        return ax


@dataclass
class SimilarityDisplay(Display):
    """Mean similarity between clusters, in the order of the structure: bands on chains and rings, blocks on trees."""

    similarity: NDArray  # (c, c)
    structure: Structure | None = None

    @classmethod
    def from_estimator(cls, model, *, ax=None):
        """By the kernel of the fit, whichever it is: <mu_j, mu_k>, from the centre of all samples."""
        structure = structure_of(model)
        return cls(model.diagnostics_.cluster_similarity, structure).plot(ax)

    @classmethod
    def from_predictions(cls, K, labels, structure=None, *, ax=None):
        """Of similarities K (m, m) between samples."""
        structure, c = places_on(structure, np.asarray(labels))
        similarity, m = np.asarray(K, dtype=float), len(labels)
        if similarity.shape != (m, m):
            raise ValueError(f"K has shape {similarity.shape}, but {m} labels need ({m}, {m}).")
        member = np.eye(c)[np.asarray(labels)]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (member.T @ similarity @ member) / np.outer(member.sum(axis=0), member.sum(axis=0))
        return cls(mean, structure).plot(ax)

    def _draw(self, ax):
        return draw_similarity(self.similarity, self.structure, ax)


@dataclass
class ConfusionDisplay(Display):
    """Known labels (rows) against clusters (columns), in the order of the structure.

    Rows that are names or places of clusters are in the same order; other classes are ordered by the clusters that they
    are found in, so that an order that was found shows as a diagonal.

    Examples
    --------
    >>> from kernelclust.plots import ConfusionDisplay
    >>> ConfusionDisplay.from_predictions(["b", "a", "a"], [0, 1, 1]).rows
    ['b', 'a']
    """

    table: NDArray  # (classes, c) counts
    rows: list[str]
    columns: list[str]

    @classmethod
    def from_estimator(cls, model, X, y, *, ax=None):
        """Of the labels that the model gives X."""
        return cls.from_predictions(y, _predicted(model, X), getattr(model, "structure_", None), ax=ax)

    @classmethod
    def from_predictions(cls, y_true, labels, structure=None, *, ax=None):
        """Of known labels and places; -1, None and '' are left out."""
        cluster = np.asarray(labels)
        structure, c = places_on(structure, cluster)
        if len(y_true) != len(cluster):
            raise ValueError(
                f"y_true has {len(y_true)} entries, but there are {len(cluster)} labels; give one for each."
            )
        columns = [str(j) for j in range(c)] if structure is None else names_of(structure)
        true = [_text(one, columns) for one in np.asarray(y_true, dtype=object)]
        found = sorted({one for one in true if one})
        order = {one: k for k, one in enumerate(columns if set(found) <= set(columns) else found)}
        table = np.zeros((len(order), c), dtype=int)
        for one, label in zip(true, cluster, strict=True):
            if one:
                table[order[one], label] += 1
        rows = list(order)
        if rows != columns:
            by_place = np.argsort(table @ np.arange(c) / np.maximum(table.sum(axis=1), 1), kind="stable")
            table, rows = table[by_place], [rows[k] for k in by_place]
        return cls(table, rows, columns).plot(ax)

    def _draw(self, ax):
        ax = axes_of(ax)
        share = self.table / np.maximum(self.table.sum(axis=1, keepdims=True), 1)
        ax.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        if self.table.size <= 400:
            for (i, j), number in np.ndenumerate(self.table):
                ink = "white" if share[i, j] > 0.6 else INK
                ax.text(j, i, str(number) if number else "", ha="center", va="center", color=ink, fontsize=8)
        name_ticks(ax, self.columns, self.rows)
        ax.set(xlabel="cluster", ylabel="known label", title="known labels and clusters")
        return ax


@dataclass
class ProfileDisplay(Display):
    """Means of columns in every cluster, in standard deviations from the mean of all: what makes a cluster one.

    With more than 30 columns, those that differ most between clusters are shown.
    """

    profile: NDArray  # (columns, c)
    columns: list[str]
    names: list[str]
    n_columns: int

    @classmethod
    def from_estimator(cls, model, X, *, columns=None, ax=None):
        """Of the labels that the model gives X, by the frame's own columns."""
        return cls.from_predictions(X, _predicted(model, X), getattr(model, "structure_", None), columns=columns, ax=ax)

    @classmethod
    def from_predictions(cls, X, labels, structure=None, *, columns=None, ax=None):
        """Of any table and labels; `columns` are names in place of the frame's own."""
        cluster = np.asarray(labels)
        structure, c = places_on(structure, cluster)
        columns = getattr(X, "columns", None) if columns is None else columns
        table = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
        if table.ndim != 2 or len(table) != len(cluster):
            raise ValueError(f"X has shape {table.shape}, but {len(cluster)} labels need ({len(cluster)}, d).")
        columns = [f"X[:, {k}]" for k in range(table.shape[1])] if columns is None else [str(one) for one in columns]
        if len(columns) != table.shape[1]:
            raise ValueError(
                f"columns has {len(columns)} names, but X has {table.shape[1]} columns; give one for each."
            )
        deviation = table.std(axis=0)
        table = (table - table.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
        size = np.bincount(cluster, minlength=c)
        with np.errstate(invalid="ignore", divide="ignore"):
            profile = (np.eye(c)[cluster].T @ table / size[:, None]).T
        spread = np.nansum(size * np.nan_to_num(profile) ** 2, axis=1)
        shown = np.sort(np.argsort(-spread, kind="stable")[:MOST_COLUMNS])
        names = [str(j) for j in range(c)] if structure is None else names_of(structure)
        return cls(profile[shown], [columns[k] for k in shown], names, len(columns)).plot(ax)

    def _draw(self, ax):
        ax = axes_of(ax)
        most = max(float(np.nanmax(np.abs(self.profile), initial=0.0)), 1e-12)
        image = ax.imshow(self.profile, cmap="PuOr_r", vmin=-most, vmax=most, aspect="auto")
        ax.figure.colorbar(image, ax=ax, shrink=0.8, label="standard deviations from the mean")
        name_ticks(ax, self.names, self.columns)
        left_out = self.n_columns - len(self.columns)
        title = f"the {len(self.columns)} columns that differ most, of {self.n_columns}" if left_out else "columns"
        ax.set(xlabel="cluster", title=title)
        return ax


@dataclass
class SilhouetteDisplay(Display):
    """How much nearer samples are to their own cluster's mean than to the next, in the kernel's feature space.

    s = (b - a) / max(a, b), a the distance to the mean of the sample's cluster and b to the nearest other one (the
    simplified silhouette): 1 is clear, 0 on a border, below 0 nearer to another cluster.
    """

    silhouette: NDArray  # (m,)
    labels: NDArray
    structure: Structure | None = None

    @classmethod
    def from_estimator(cls, model, X, *, ax=None):
        """Of samples X, fitted or new."""
        if not hasattr(model, "transform"):
            raise TypeError(f"{type(model).__name__} has no distances to clusters (transform), so no silhouette.")
        labels = _predicted(model, X)
        return cls.from_predictions(model.transform(X), labels, getattr(model, "structure_", None), ax=ax)

    @classmethod
    def from_predictions(cls, distances, labels, structure=None, *, ax=None):
        """Of distances (m, c) to the clusters, as `transform` gives them."""
        cluster, away = np.asarray(labels), np.asarray(distances, dtype=float)
        structure, c = places_on(structure, cluster)
        if away.ndim != 2 or away.shape[0] != len(cluster) or away.shape[1] < max(c, 2):
            raise ValueError(f"distances have shape {away.shape}, but must be ({len(cluster)}, clusters), two or more.")
        rows = np.arange(len(cluster))
        own, others = away[rows, cluster], np.where(np.isnan(away), np.inf, away)
        others[rows, cluster] = np.inf
        nearest = others.min(axis=1)
        most = np.maximum(own, nearest)
        silhouette = np.where(np.isfinite(most) & (most > 0), (nearest - own) / np.where(most > 0, most, 1.0), 0.0)
        return cls(silhouette, cluster, structure).plot(ax)

    def _draw(self, ax):
        ax = axes_of(ax)
        structure, c = places_on(self.structure, self.labels)
        colors = unrelated_colors(c) if structure is None else structure_colors(structure)
        names = [str(j) for j in range(c)] if structure is None else names_of(structure)
        gap, top, middles = max(1.0, 0.02 * len(self.labels)), 0.0, []
        for j in range(c):
            values = np.sort(self.silhouette[self.labels == j])[::-1]
            ax.fill_betweenx(top + np.arange(len(values)), 0, values, color=colors[j], step="mid", linewidth=0.5)
            middles.append(top + len(values) / 2)
            top += len(values) + gap
        mean = float(self.silhouette.mean())
        ax.axvline(mean, color=INK, linestyle="--", linewidth=1)
        ax.set_yticks(middles, names, fontsize=9 if c <= 20 else 6)
        ax.set(ylim=(top, -gap), xlabel="silhouette, by means in feature space", title=f"mean {mean:.2f}")
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        return ax


@dataclass
class SelectionDisplay(Display):
    """Evidence of a selection (`select_n_clusters` and so on): candidates against data without clusters."""

    selection: Any

    @classmethod
    def from_selection(cls, selection, *, ax=None):
        """Of what a selection returned."""
        return cls(selection).plot(ax)

    def _draw(self, ax):
        return plot_selection(self.selection, ax=ax)


@dataclass
class KernelWeightsDisplay(Display):
    """Weights of the kernels of a MultiKernelClustering, and what each has to do with the clusters."""

    weights: NDArray
    explained: NDArray | None = None
    names: Sequence[str] | None = None

    @classmethod
    def from_estimator(cls, model, *, names=None, ax=None):
        """Of a fitted MultiKernelClustering; `names` are those of its kernels."""
        check_is_fitted(model)
        if not hasattr(model, "weights_"):
            raise TypeError(f"{type(model).__name__} has one kernel, so no weights; give a MultiKernelClustering.")
        return cls(np.asarray(model.weights_), getattr(model, "explained_", None), names).plot(ax)

    def _draw(self, ax):
        p = len(self.weights)
        names = [f"kernel {k}" for k in range(p)] if self.names is None else [str(one) for one in self.names]
        if len(names) != p:
            raise ValueError(f"names has {len(names)} entries, but there are {p} kernels; give one for each.")
        ax, at = axes_of(ax), np.arange(p)
        ax.barh(at - 0.2, self.weights, 0.38, color=INK, label="weight")
        if self.explained is not None:
            ax.barh(at + 0.2, self.explained, 0.38, color=FAINT, label="explained")
            ax.legend(frameon=False)
        ax.set_yticks(at, names)
        ax.invert_yaxis()
        ax.spines[["top", "right"]].set_visible(False)
        ax.set(xlim=(0, None), title="kernels")
        return ax


def _counts(labels: ArrayLike, structure: Structure) -> NDArray:
    return np.bincount(np.asarray(labels), minlength=structure.n_clusters)


def _predicted(model: Any, X: Any) -> NDArray:
    """Labels of X; those of the fit, where X has as many samples and the model knows no new ones."""
    check_is_fitted(model)
    if hasattr(model, "predict"):
        return np.asarray(model.predict(X))
    if len(X) != len(model.labels_):
        raise ValueError(f"{type(model).__name__} places no new samples; give the {len(model.labels_)} fitted ones.")
    return np.asarray(model.labels_)


def _text(value: Any, columns: list[str]) -> str:
    """A known label as text: a name, the name of a place, or a class; '' where it is not known."""
    if isinstance(value, str):
        return "" if value == "-1" and value not in columns else value
    if value is None or value != value:
        return ""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return "" if value == -1 else columns[value] if 0 <= value < len(columns) else str(value)
    return str(value)
