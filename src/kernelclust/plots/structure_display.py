"""Clusters where the structure puts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelclust.plots._base import (
    BEHIND,
    FAINT,
    INK,
    Display,
    outlined,
    places_on,
    structure_of,
    title_of,
)
from kernelclust.plots._colors import structure_colors
from kernelclust.structures import Structure, cluster_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LINKS = 12  # whose strengths are written beside them
MIN_SOLID = 0.5  # strength below which a link is dotted
MAX_LETTERS = 55  # in a row of names; beyond, they are written upright


@dataclass
class StructureDisplay(Display):
    """Clusters at their nodes of the structure; a cluster's area is its size.

    Parameters
    ----------
    structure : Structure or str
        Such as "ring:6".
    sizes : array of shape (n_clusters,), optional
        Sizes of the clusters; by default all are drawn with equal size.
    values : array of shape (n_clusters,), optional
        A number for each cluster, shown as its colour, with a colour bar (a mean age, a fraction of known labels).
    thumbnails : sequence of 2-d arrays, optional
        A picture for each cluster, drawn next to it, or on it if there is no room.
    names : sequence of str, optional
        Names to show; by default those of the structure, or the numbers of the clusters.
    links : array of shape (n_clusters, n_clusters), optional
        Strength of each link, 0 to 1, shown by the width of its line and, for up to 12, as a number beside it; links
        below one half are dotted.

    Examples
    --------
    >>> from kernelclust.plots import StructureDisplay
    >>> StructureDisplay("ring:6", sizes=[9, 4, 6, 6, 2, 8]).plot().ax_.get_title()
    'ring:6'
    >>> StructureDisplay.from_predictions([0, 0, 1, 2], "chain:(seed,sprout,bloom)").sizes.tolist()
    [2, 1, 1]
    """

    structure: Any
    sizes: Any = None
    values: Any = None
    thumbnails: Any = None
    names: Any = None
    links: Any = None

    def __post_init__(self) -> None:
        self.structure = structure_of(self.structure)
        options = {"sizes": self.sizes, "values": self.values, "thumbnails": self.thumbnails, "names": self.names}
        options["links"] = self.links
        _check_lengths(self.structure, **options)

    @classmethod
    def example(cls) -> Self:
        return cls("ring:4", sizes=[3, 1, 2, 2], thumbnails=[np.eye(3)] * 4)

    @classmethod
    def from_estimator(
        cls, model: Any, *, values: Any = None, thumbnails: Any = None, names: Any = None, ax: Any = None
    ) -> Self:
        """Draw the clusters of a fitted estimator that has a structure, with the strength of its links.

        The strength of a link is `order_.links`; for an estimated structure it is its probability,
        `order_.structures.links`.
        """
        structure = structure_of(model)
        sizes = np.bincount(model.labels_, minlength=structure.n_clusters)
        return cls(structure, sizes, values, thumbnails, names, _strengths(model)).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        labels: Any,
        structure: Any,
        *,
        values: Any = None,
        thumbnails: Any = None,
        names: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw clusters of these labels, which are nodes of the structure."""
        structure, c = places_on(structure_of(structure), np.asarray(labels))
        return cls(structure, np.bincount(labels, minlength=c), values, thumbnails, names).plot(ax)

    def _draw(self, ax):
        from matplotlib.collections import LineCollection, PatchCollection
        from matplotlib.patches import Circle

        where = np.asarray(self.structure.positions(), dtype=float)  # (c, 2)
        lines = np.asarray(self.structure.segments(), dtype=float).reshape(-1, 2, 2)
        c = len(where)
        sizes = np.ones(c) if self.sizes is None else np.asarray(self.sizes, dtype=float)
        share = sizes / max(np.max(sizes), 1e-300)
        room = _room(where)
        radii = 0.42 * room * np.sqrt(np.maximum(share, 0.06))

        self._draw_lines(ax, lines, room, LineCollection)
        circles = [Circle(tuple(center), radius) for center, radius in zip(where, radii, strict=True)]
        discs = PatchCollection(circles, edgecolors="white", linewidths=1.5, zorder=2)
        if self.values is None:
            discs.set_facecolor(structure_colors(self.structure).tolist())
        else:
            discs.set_array(np.asarray(self.values, dtype=float))
            ax.figure.colorbar(discs, ax=ax, shrink=0.7)
        ax.add_collection(discs)
        drawn = [where - room / 2, where + room / 2, lines.reshape(-1, 2)]
        if self.thumbnails is not None:
            centers, half = _beside(where, lines, room)
            _paste(ax, centers, half, self.thumbnails, discs.get_facecolor())
            drawn += [centers - half, centers + half]
            if np.array_equal(centers, where):
                radii = np.maximum(radii, half)
        names = cluster_names(self.structure, c).tolist() if self.names is None else [*map(str, self.names)]
        _write_names(ax, where, radii, names)
        low, high = np.concatenate(drawn).min(axis=0), np.concatenate(drawn).max(axis=0)
        middle, half = (low + high) / 2, (high - low) / 2 + room / 10
        half = np.maximum(half, half.max() / 4)  # a single row stays readable
        ax.set(xlim=middle[0] + np.array([-1, 1]) * half[0], ylim=middle[1] + np.array([-1, 1]) * half[1])
        ax.set(title=title_of(self.structure), aspect="equal")
        ax.axis("off")

    def _draw_lines(self, ax, lines, room, collection):
        """Draw links, as wide as they are strong where that is known."""
        edges = self.structure.edges()
        known = self.links is not None and len(lines) > 0 and len(edges) == len(lines)
        strength = np.array([self.links[j][k] for j, k in edges], dtype=float) if known else np.full(len(lines), np.nan)
        widths = np.where(np.isnan(strength), 2.0, 1.0 + 5.0 * np.nan_to_num(strength))
        styles = ["dotted" if weak else "solid" for weak in strength < MIN_SOLID]
        ax.add_collection(
            collection([*lines], colors=FAINT, linewidths=widths, linestyles=styles, capstyle="round", zorder=1)
        )
        if known and len(lines) <= MAX_LINKS:
            along = lines[:, 1] - lines[:, 0]
            beside = np.column_stack([-along[:, 1], along[:, 0]]) / np.linalg.norm(along, axis=1)[:, None]
            at = lines.mean(axis=1) + 0.2 * room * beside * np.where(beside[:, 1] < 0, -1, 1)[:, None]
            for value, (x, y) in zip(strength, at, strict=True):
                if np.isfinite(value):
                    ax.text(x, y, f"{value:.2f}", ha="center", va="center", color=INK, fontsize=7, zorder=3)


def _strengths(model: Any) -> Any:
    """Return the strength of each link of a fitted model; None where nothing is known about them."""
    order = getattr(model, "order_", None)
    if order is None:
        return None
    found = getattr(model, "diagnostics_", {}).get("structures")
    return order.links if found is None else found.links


def _check_lengths(structure: Structure, **given: Any) -> None:
    c = structure.n_clusters
    for name, values in given.items():
        if values is not None and not hasattr(values, "__len__"):
            raise TypeError(f"{name}={values!r}: give one for each of the {c} clusters.")
        if values is not None and len(values) != c:
            raise ValueError(
                f"{name} has {len(values)} entries, but '{structure}' has {c} clusters; give one for each."
            )


def _write_names(ax: Axes, where: NDArray[Any], radii: NDArray[Any], names: Sequence[str]) -> None:
    """Write short texts on the discs, longer ones below them; upright where a row would be too narrow."""
    if max(map(len, names)) <= 3:
        for name, (x, y) in zip(names, where, strict=True):
            ax.text(x, y, name, ha="center", va="center", zorder=3, **outlined(9))
        return
    lines = [name.replace(" ", "\n") for name in names]
    across = len(np.unique(where[:, 0].round(6)))
    longest = max(len(part) for name in lines for part in name.split("\n"))
    upright = np.ptp(where[:, 1]) < 1e-9 and across * longest > MAX_LETTERS
    for name, line, (x, y), radius in zip(names, lines, where, radii, strict=True):
        text, turn = (name, 90) if upright else (line, 0)
        ax.annotate(text, (x, y - radius), (0, -3), textcoords="offset points", ha="center", va="top", rotation=turn,
                    color=INK, fontsize=9 if across <= 8 else 7, zorder=3, bbox=BEHIND)  # fmt: skip


def _beside(where: NDArray[Any], lines: NDArray[Any], room: float) -> tuple[NDArray[Any], float]:
    """Return the middles of pictures, outside of their clusters as seen from the middle of all, and half their width.

    Where they would cover others, or lines, they lie on their clusters instead.
    """
    outward = where - where.mean(axis=0)
    outward[:, 0] *= np.ptp(where[:, 1]) > 1e-9  # in a single row, above; else away from the middle
    length = np.linalg.norm(outward, axis=1, keepdims=True)
    outward = np.where(length > 1e-9, outward / np.maximum(length, 1e-300), [0.0, 1.0])
    centers, half = where + 1.05 * room * outward, 0.45 * room
    along = np.linspace(0, 1, 50)[:, None, None]
    points = (lines[:, 0] + along * (lines[:, 1] - lines[:, 0])).reshape(-1, 2)
    apart = np.abs(centers[:, None] - centers).max(axis=2) + np.diag(np.full(len(centers), np.inf))
    discs = np.abs(centers[:, None] - where).max(axis=2) + np.diag(np.full(len(centers), np.inf))
    covered = np.abs(centers[:, None] - points).max(axis=2).min(initial=np.inf) < half
    if covered or apart.min(initial=np.inf) < 2 * half or discs.min(initial=np.inf) < half + 0.42 * room:
        return where, 0.42 * room
    return centers, half


def _paste(ax: Axes, centers: NDArray[Any], half: float, thumbnails: Sequence[ArrayLike], colors: Any) -> None:
    from matplotlib.patches import Rectangle

    colors = np.resize(colors, (len(centers), 4))
    for picture, (x, y), color in zip(thumbnails, centers, colors, strict=True):
        ax.imshow(np.asarray(picture), cmap="gray", extent=(x - half, x + half, y - half, y + half), zorder=2.5)
        ax.add_patch(
            Rectangle((x - half, y - half), 2 * half, 2 * half, fill=False, edgecolor=color, linewidth=2, zorder=2.6)
        )


def _room(where: NDArray[Any]) -> float:
    """Return the width a cluster can take without touching another, at most a third of the picture's."""
    distance = np.linalg.norm(where[:, None] - where, axis=2)[~np.eye(len(where), dtype=bool)]
    width = float(np.ptp(where, axis=0).max()) or 1.0
    return min(float(distance.min(initial=width)) or width / 20, width / 3)


PART = StructureDisplay
