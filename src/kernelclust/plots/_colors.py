"""Colours of clusters that show where they are on the structure."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from kernelclust.structures import Structure

# Ten colours that everybody tells apart (M. Petroff, arXiv:2107.02270), and a circle of them: in CIELAB around
# (58, 0, 0) with half axes 20 and 30 (from light red to dark green) and 45 (yellow, blue), so that who does not tell
# red from green still sees a circle.
APART = "#3f90da #ffa90e #bd1f01 #94a4a2 #832db6 #a96b59 #e76300 #b9ac70 #717581 #92dadd".split()
ROUND = "#f6acc2 #e7a178 #a2893a #557030 #006659 #00749c #4090da #bba6eb".split()


def colors_of(structure: Structure | None, n_clusters: int) -> NDArray[np.float64]:
    """Return a colour for each cluster: along the structure where there is one."""
    return unrelated_colors(n_clusters) if structure is None else structure_colors(structure)


def structure_colors(structure: Any) -> NDArray[np.float64]:
    """Return a colour for each cluster (c, 4) that shows its node.

    Rings get a cycle of hues, chains a sequence, each branch of a tree a hue, and other structures colours by position.
    """
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    linked = (np.asarray(structure.kernel) > 0) & ~np.eye(structure.n_clusters, dtype=bool)
    c, degree = len(linked), np.sort(linked.sum(axis=1))
    n_branches, branch = connected_components(linked, directed=False)
    if n_branches == c:
        return unrelated_colors(c)
    if n_branches > 1:
        return _shades(branch)
    if c > 3 and degree[0] == degree[-1] == 2:
        around = LinearSegmentedColormap.from_list("", [*ROUND, ROUND[0]], N=1024)
        return around(np.arange(c) / c)
    if degree[-1] <= 2:
        return colormaps["viridis"](np.linspace(0, 0.9, c))
    where = np.asarray(structure.positions(), dtype=float)
    across, up = ((where - where.min(axis=0)) / np.maximum(np.ptp(where, axis=0), 1e-12)).T
    return np.column_stack([0.12 + 0.8 * across, 0.2 + 0.45 * across + 0.15 * up, 0.2 + 0.7 * up, np.ones(c)])


def unrelated_colors(c: int) -> NDArray[np.float64]:
    """Return colours that are easily told apart (c, 4)."""
    from matplotlib.colors import to_rgba_array

    if c <= len(APART):
        return to_rgba_array(APART[:c])
    return np.array([(*colorsys.hls_to_rgb((0.6 + 0.381966 * k) % 1, 0.4 + 0.15 * (k % 2), 0.6), 1) for k in range(c)])


def _shades(branch: NDArray[Any]) -> NDArray[np.float64]:
    """Give each branch a hue and its members lighter and darker shades of it."""
    hues = [colorsys.rgb_to_hls(*color[:3]) for color in unrelated_colors(branch.max() + 1)]
    colors = np.ones((len(branch), 4))
    for b, (hue, _, saturation) in enumerate(hues):
        members = np.flatnonzero(branch == b)
        for node, light in zip(members, np.linspace(0.32, 0.68, len(members) + 2)[1:-1], strict=True):
            colors[node, :3] = colorsys.hls_to_rgb(hue, light, saturation)
    return colors


def neighbours(structure: Any) -> NDArray[np.bool_]:
    """Return which clusters are neighbours (c, c): joined by a line, or siblings on a tree. Flat structures have none.

    Examples
    --------
    >>> from kernelclust.structures import as_structure
    >>> neighbours(as_structure("chain:3")).astype(int).tolist()
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    c = structure.n_clusters
    near, off = np.zeros((c, c), dtype=bool), ~np.eye(c, dtype=bool)
    for i, j in structure.edges():
        near[i, j] = near[j, i] = True
    loss = np.asarray(structure.loss)
    if near.any() or c < 3 or np.ptp(loss[off]) == 0:
        return near
    return off & (loss == loss[off].min())
