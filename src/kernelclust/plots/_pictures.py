"""Pictures of an arrangement: the structure itself, the similarity between clusters, the samples along it."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from kernelclust.structures import Structure, as_structure, cluster_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FAINT = "#30343b", "#b9bec7"
# Ten colours that everybody tells apart (M. Petroff, arXiv:2107.02270), and a circle of them: in CIELAB around
# (58, 0, 0) with half axes 20 and 30 (from light red to dark green) and 45 (yellow, blue), so that who does not tell
# red from green still sees a circle.
APART = "#3f90da #ffa90e #bd1f01 #94a4a2 #832db6 #a96b59 #e76300 #b9ac70 #717581 #92dadd".split()
ROUND = "#f6acc2 #e7a178 #a2893a #557030 #006659 #00749c #4090da #bba6eb".split()
BEHIND = {"facecolor": "white", "alpha": 0.6, "linewidth": 0, "pad": 0.5}  # of a text over lines
NARROW = 55  # letters in a row of names


def plot_structure(
    model_or_structure: Any,
    *,
    sizes: ArrayLike | None = None,
    values: ArrayLike | None = None,
    thumbnails: Sequence[ArrayLike] | None = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the clusters where the structure puts them; a cluster's area is its size.

    Parameters
    ----------
    model_or_structure : fitted estimator, or structure
        Of an estimator, `structure_` and the sizes of its clusters are drawn. A structure may be text, "ring:6".
    sizes : array of shape (n_clusters,), optional
        Sizes to draw instead.
    values : array of shape (n_clusters,), optional
        A number for each cluster, shown as its colour, with a colour bar (a mean age, a share of known labels).
    thumbnails : sequence of 2-d arrays, optional
        A picture for each cluster, drawn beside it; on it where there is no room.
    names : sequence of str, optional
        Texts in place of the structure's own names, or the clusters' numbers.
    ax : matplotlib Axes, optional
        Where to draw.

    Examples
    --------
    >>> plot_structure("ring:6", sizes=[9, 4, 6, 6, 2, 8]).get_title()
    'ring:6'
    """
    structure = structure_of(model_or_structure)
    _check_lengths(structure, sizes=sizes, values=values, thumbnails=thumbnails, names=names)
    ax = axes_of(ax)
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import Circle

    where = np.asarray(structure.positions(), dtype=float)  # (c, 2)
    lines = np.asarray(structure.segments(), dtype=float).reshape(-1, 2, 2)
    c = len(where)
    if sizes is None and hasattr(model_or_structure, "labels_"):
        sizes = np.bincount(model_or_structure.labels_, minlength=c)
    share = np.ones(c) if sizes is None else np.asarray(sizes, dtype=float) / max(np.max(sizes), 1e-300)
    room = _room(where)
    radii = 0.42 * room * np.sqrt(np.maximum(share, 0.06))

    ax.add_collection(LineCollection([*lines], colors=FAINT, linewidths=2, capstyle="round", zorder=1))
    circles = [Circle(tuple(center), radius) for center, radius in zip(where, radii, strict=True)]
    discs = PatchCollection(circles, edgecolors="white", linewidths=1.5, zorder=2)
    if values is None:
        discs.set_facecolor(structure_colors(structure).tolist())
    else:
        discs.set_array(np.asarray(values, dtype=float))
        ax.figure.colorbar(discs, ax=ax, shrink=0.7)
    ax.add_collection(discs)
    drawn = [where - room / 2, where + room / 2, lines.reshape(-1, 2)]
    if thumbnails is not None:
        centers, half = _beside(where, lines, room)
        _paste(ax, centers, half, thumbnails, discs.get_facecolor())
        drawn += [centers - half, centers + half]
        if np.array_equal(centers, where):
            radii = np.maximum(radii, half)
    _write_names(ax, where, radii, names_of(structure, names))
    low, high = np.concatenate(drawn).min(axis=0), np.concatenate(drawn).max(axis=0)
    middle, half = (low + high) / 2, (high - low) / 2 + room / 10
    half = np.maximum(half, half.max() / 4)  # a single row stays readable
    ax.set(xlim=middle[0] + np.array([-1, 1]) * half[0], ylim=middle[1] + np.array([-1, 1]) * half[1])
    ax.set(title=title_of(structure), aspect="equal")
    ax.axis("off")
    return ax


def names_of(structure: Structure, names: Sequence[str] | None = None) -> list[str]:
    return [*map(str, cluster_names(structure, structure.n_clusters) if names is None else names)]


def title_of(structure: Structure) -> str:
    """Its text, unless names make that long: these are in the picture."""
    return (
        str(structure) if structure.names is None else f"{type(structure).__name__.lower()} of {structure.n_clusters}"
    )


def _write_names(ax: Axes, where: NDArray[Any], radii: NDArray[Any], names: Sequence[str]) -> None:
    """Short texts on the discs, longer ones below them; upright where a row would be too narrow."""
    if max(map(len, names)) <= 3:
        for name, (x, y) in zip(names, where, strict=True):
            ax.text(x, y, name, ha="center", va="center", color="white", zorder=3, **_outlined(9))
        return
    lines = [name.replace(" ", "\n") for name in names]
    across = len(np.unique(where[:, 0].round(6)))
    longest = max(len(part) for name in lines for part in name.split("\n"))
    upright = np.ptp(where[:, 1]) < 1e-9 and across * longest > NARROW
    for name, line, (x, y), radius in zip(names, lines, where, radii, strict=True):
        text, turn = (name, 90) if upright else (line, 0)
        ax.annotate(text, (x, y - radius), (0, -3), textcoords="offset points", ha="center", va="top", rotation=turn,
                    color=INK, fontsize=9 if across <= 8 else 7, zorder=3, bbox=BEHIND)  # fmt: skip


def name_ticks(ax: Axes, across: Sequence[str], down: Sequence[str]) -> None:
    """Names along both axes of an image; of many numbers every few."""
    for names, axis in ((across, ax.xaxis), (down, ax.yaxis)):
        numbers = all(name.isdigit() for name in names)
        step = max(1, len(names) // 12) if numbers or len(names) > 60 else 1
        turned = axis is ax.xaxis and max(map(len, names)) > 3
        shown = range(0, len(names), step)
        axis.set_ticks(shown, [names[j] for j in shown], rotation=90 if turned else 0)
        axis.set_tick_params(length=0, labelsize=9 if len(names) <= 20 else 7)


def plot_similarity(K: ArrayLike, labels: ArrayLike, structure: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the mean similarity between clusters, in the order of the structure.

    On data that follow a chain or a ring, high values lie along the diagonal; blocks show the branches of a tree.

    Parameters
    ----------
    K : array of shape (m, m)
        Similarities between samples, such as ``rbf_kernel(X, gamma=model.diagnostics_.gamma)``.
    labels : array of shape (m,)
        Cluster of each sample.
    structure : Structure or text, optional
        Gives the title, and the number of clusters when some are empty.
    ax : matplotlib Axes, optional
        Where to draw.

    Examples
    --------
    >>> import numpy as np
    >>> ax = plot_similarity(np.eye(4), [0, 0, 1, 1])
    >>> ax.images[0].get_array().tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    similarity, cluster = np.asarray(K, dtype=float), np.asarray(labels)
    m = len(cluster)
    if similarity.shape != (m, m):
        raise ValueError(f"K has shape {similarity.shape}, but {m} labels need ({m}, {m}).")
    structure, c = places_on(structure, cluster)
    member = np.eye(c)[cluster]  # (m, c)
    n = member.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (member.T @ similarity @ member) / np.outer(n, n)  # an empty cluster gives NaN, drawn blank
    return draw_similarity(mean, structure, ax)


def draw_similarity(mean: NDArray[Any], structure: Structure | None, ax: Axes | None) -> Axes:
    """Draw similarities between clusters (c, c)."""
    ax = axes_of(ax)
    image = ax.imshow(mean, cmap="magma", interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, shrink=0.8, label="mean similarity")
    names = [str(j) for j in range(len(mean))] if structure is None else names_of(structure)
    name_ticks(ax, names, names)
    ax.set(xlabel="cluster", ylabel="cluster")
    ax.set_title("similarity between clusters" if structure is None else f"similarity along {title_of(structure)}")
    ax.spines[:].set_visible(False)
    return ax


def plot_embedding(X: ArrayLike, labels: ArrayLike, structure: Any = None, *, ax: Axes | None = None) -> Axes:
    """Scatter the samples, coloured along the structure, and join the means of neighbouring clusters.

    Parameters
    ----------
    X : array of shape (m, d)
        Points in the plane; with more than two columns their first two principal components are drawn.
    labels : array of shape (m,)
        Cluster of each sample.
    structure : Structure or text, optional
        Without it clusters get unrelated colours and no lines.
    ax : matplotlib Axes, optional
        Where to draw.

    Examples
    --------
    >>> ax = plot_embedding([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]], [0, 0, 1])
    >>> ax.get_xlabel()
    ''
    """
    points, cluster = np.asarray(X, dtype=float), np.asarray(labels)
    if points.ndim != 2 or len(points) != len(cluster):
        raise ValueError(f"X has shape {points.shape}, but {len(cluster)} labels need ({len(cluster)}, d).")
    structure, c = places_on(structure, cluster)
    ax = axes_of(ax)
    from matplotlib.collections import LineCollection

    largest = float(np.abs(points).max(initial=0.0))
    points = points / largest if largest > 1e100 else points  # squares stay finite, and the axes have no scale
    if points.shape[1] > 2:
        points = PCA(2, random_state=0).fit_transform(points)
        ax.set(xlabel="first principal component", ylabel="second principal component")
    elif points.shape[1] == 1:
        points = np.column_stack([points, np.zeros(len(points))])
    colors = unrelated_colors(c) if structure is None else structure_colors(structure)
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
    names = [str(j) for j in range(c)] if structure is None else names_of(structure)
    for label in used:
        x, y = means[label]
        if len(names[label]) <= 3:
            ax.text(x, y, names[label], ha="center", va="center", color="white", zorder=4, **_outlined(8))
        else:
            ax.annotate(names[label], (x, y), (0, -8), textcoords="offset points", ha="center", va="top", fontsize=9,
                        zorder=4, bbox=BEHIND)  # fmt: skip
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_color(FAINT)
    return ax


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


def plot_selection(selection: Any, *, ax: Axes | None = None) -> Axes:
    """Draw a selection: the dependence that every candidate reaches, and the range that data without clusters reach.

    A dot above its bar says that there is more to see than in the reference data; the filled dot is the choice. Without
    references (`n_null=0`) the scores are drawn.

    Parameters
    ----------
    selection : Selection
        From `select_kernel`, `select_n_clusters` or `select_structure`.
    ax : matplotlib Axes, optional
        Where to draw.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import select_n_clusters
    >>> x = np.repeat([0.0, 1.0, 5.0], 8)[:, None] + 0.01 * np.arange(24)[:, None]
    >>> plot_selection(select_n_clusters(x, [2, 3], n_null=4, n_perturbations=0, random_state=0)).get_xlabel()
    'n_clusters'
    """
    ax = axes_of(ax)
    rows = selection.rows
    where = np.arange(len(rows))
    low, high = (
        np.array([f(selection.null[row.name], initial=np.nan) for row in rows])
        for f in (np.fmin.reduce, np.fmax.reduce)
    )
    known = np.isfinite(low)
    value = np.array([row.dependence if known.any() else row.score for row in rows])
    ax.vlines(where[known], low[known], high[known], colors=FAINT, linewidth=9, label="without clusters")
    chosen = where == selection.best_index
    ax.plot(where, value, "o", color=INK, markerfacecolor="white", markersize=8, zorder=3)
    ax.plot(where[chosen], value[chosen], "o", color=INK, markersize=8, zorder=4, label="chosen")
    ax.set_xticks(where, [row.name for row in rows], rotation=0 if len(rows) > 5 else 15)
    ax.set(xlabel=selection.parameter, ylabel="dependence" if known.any() else "score")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def structure_of(given: Any) -> Structure:
    """The structure of a fitted model, or what is one itself."""
    if hasattr(given, "structure_"):
        return given.structure_
    if not hasattr(given, "get_params"):
        return as_structure(given)
    check_is_fitted(given, msg="this %(name)s is not fitted yet: call fit first, or give its structure.")
    raise TypeError(
        f"{type(given).__name__} has no structure to draw its clusters on; give one, and their sizes: "
        "plot_structure('flat:8', sizes=np.bincount(labels))."
    )


def _check_lengths(structure: Structure, **given: Any) -> None:
    c = structure.n_clusters
    for name, values in given.items():
        if values is not None and not hasattr(values, "__len__"):
            raise TypeError(f"{name}={values!r}: give one for each of the {c} clusters.")
        if values is not None and len(values) != c:
            raise ValueError(
                f"{name} has {len(values)} entries, but '{structure}' has {c} clusters; give one for each."
            )


def places_on(structure: Any, cluster: NDArray[Any]) -> tuple[Structure | None, int]:
    """The structure and the number of clusters, for labels that are places on it."""
    if not len(cluster) or not np.issubdtype(cluster.dtype, np.integer) or cluster.min() < 0:
        raise ValueError("labels must be whole numbers of 0 or more, one for each sample.")
    most = int(cluster.max()) + 1
    structure = None if structure is None else structure_of(structure)
    if structure is not None and most > structure.n_clusters:
        raise ValueError(f"labels go up to {most - 1}, but '{structure}' has places 0 to {structure.n_clusters - 1}.")
    return structure, most if structure is None else structure.n_clusters


def structure_colors(structure: Any) -> NDArray[np.float64]:
    """Return a colour for each cluster (c, 4) that says where it sits.

    Rings get a cycle of hues, chains a sequence, each branch of a tree its hue, anything else a colour by its place.
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


def _beside(where: NDArray[Any], lines: NDArray[Any], room: float) -> tuple[NDArray[Any], float]:
    """Middles and half the width of pictures: on the far side of their clusters, seen from the middle of all.

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


def _outlined(size: int) -> dict[str, Any]:
    from matplotlib.patheffects import withStroke

    return {"fontsize": size, "fontweight": "bold", "path_effects": [withStroke(linewidth=1.5, foreground=INK)]}


def have_matplotlib() -> bool:
    """Return whether pictures can be drawn here; imports nothing."""
    return find_spec("matplotlib") is not None


def axes_of(ax: Axes | None) -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'kernelclust[plot]'.") from error
    return plt.subplots(figsize=(5, 5), layout="constrained")[1] if ax is None else ax
