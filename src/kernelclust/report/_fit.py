"""The report of one fit."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy import sparse

from kernelclust.estimators import structures_of
from kernelclust.kernels import kernel_class
from kernelclust.plots import (
    EmbeddingDisplay,
    StructureDisplay,
    have_matplotlib,
    neighbours,
    silhouettes,
    structure_colors,
)
from kernelclust.report import _words as words
from kernelclust.report._columns import Profile, TableColumn
from kernelclust.report._page import Section, bullets, code, facts, heat, page, paragraphs, picture
from kernelclust.report._page import table as rows_table
from kernelclust.report._page import thumbnails as thumbnail_row
from kernelclust.report._python import model_in_python

USED = ("kernelclust", "scikit-learn", "numpy", "scipy")
MOST_DRAWN, MOST_LINES = 5000, 1000  # samples in a picture, and rows in a heat map
SHOWN = 3  # rows that a cluster is described by
MOST_COLUMNS = 40  # of the profile: those that differ most between clusters
MOST_ROWS = 20_000  # that distances are looked at for
NO_PICTURES = "Pictures need matplotlib: pip install matplotlib."


def html_report(
    model: Any,
    X: Any = None,
    *,
    title: str | None = None,
    columns: Sequence[str] | None = None,
    table: Sequence[TableColumn] | None = None,
    ids: Sequence[Any] | np.ndarray | None = None,
    scores: Mapping[str, str] | None = None,
    warnings: Sequence[str] = (),
    again: Mapping[str, str] | None = None,
    lead: Sequence[str] = (),
    next_steps: Sequence[str] = (),
    images: Any = None,
    thumbnails: Sequence[Any] | None = None,
    figures: Mapping[str, Any] | None = None,
) -> str:
    """Return one self-contained HTML page about a fitted model; read and write no files.

    The page has a picture and a summary, the clusters with the columns in which they differ and typical and borderline
    rows, the evidence, and code that repeats the fit.

    Parameters
    ----------
    model : fitted estimator
        `StructuredClustering`, one of its presets, or `MultiKernelClustering`.
    X : array or sparse matrix of shape (m, d), optional
        The samples that it was fitted to. Without them the page has only what the model stores.
    title : str, optional
        Heading of the page.
    columns : sequence of str, optional
        Names of the columns; by default those of the fitted frame, else their numbers.
    table : sequence of TableColumn, optional
        The original columns, if X was standardised or encoded: in their own units, with categories and dates; by
        default the columns of X.
    ids : sequence, optional
        Names of the rows; by default their numbers from 0.
    scores : mapping, optional
        Figures to show first, such as the accuracy against known labels.
    warnings : sequence of str, optional
        Warnings to show at the top.
    again : mapping of headings to code, optional
        How to repeat the fit, such as a command; Python code is added automatically.
    lead : sequence of str, optional
        Sentences about the data, shown next to the summary.
    next_steps : sequence of str, optional
        Suggestions for the next steps, shown before those of the page itself.
    images : array of shape (m, h, w) or (m, h, w, 3), optional
        A picture of each sample. Typical and borderline samples are shown by them, and clusters by the most typical.
    thumbnails : sequence of arrays of shape (h, w) or (h, w, 3), optional
        A picture for each cluster, drawn beside it; by default the most typical of `images`.
    figures : mapping of captions to matplotlib figures, optional
        Further pictures.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import StructuredClustering
    >>> from kernelclust.report import html_report
    >>> X = np.repeat(np.arange(4.0), 9)[:, None] + 0.01 * np.random.default_rng(0).standard_normal((36, 1))
    >>> model = StructuredClustering(structure="chain:4", random_state=0).fit(X)
    >>> "36 rows fall into 4 clusters in a row" in html_report(model, X, columns=["height"])
    True
    """
    labels = np.asarray(model.labels_)
    c = model.structure_.n_clusters
    sizes, what = np.bincount(labels, minlength=c), "rows" if images is None else "pictures"
    names = model.cluster_names_.tolist()
    ids = np.arange(len(labels)) if ids is None else ids
    near = _rows(model, X) if X is not None and hasattr(model, "transform") else None
    told = None
    if images is None:
        told = _profile(model, X, labels, c, columns) if table is None else Profile.of_table(table, labels, c)
    if thumbnails is None and images is not None and near is not None:
        thumbnails = _most_typical(np.asarray(images), near)
    verdict = [
        words.found_in_words(model.structure_, sizes, what),
        words.order_in_words(
            model.structure_,
            getattr(model, "order_confidence_", None),
            _of_order(model, "pvalue"),
            assumed=structures_of(model) is None,
        ),
        words.structures_in_words(model),
        words.apart_in_words(float(np.nanmean(near.silhouette)), what) if near is not None and c > 1 else "",
    ]
    drawn = _figures(model, near, labels, names, thumbnails, what) if have_matplotlib() else {}
    first = drawn.pop("places", "")
    side = f"<div class=verdict>{paragraphs(*verdict, *lead)}{facts(dict(scores or {}))}</div>"
    following = f"<h2>What to do next</h2>{bullets([*next_steps, *words.next_in_words(model, ids, what)])}"
    top = paragraphs(*warnings, kind="warning") + f"<div class=lead>{first}{side}</div>{following}"
    sections = [
        Section("The clusters", [_table(model, names, sizes, told, near, ids, images, what), _heat(told, names)]),
        Section(
            "Pictures",
            [_gallery([*drawn.values(), *_more(figures)])] if have_matplotlib() else [paragraphs(NO_PICTURES)],
        ),
        Section("Quality of the search, confidence of the arrangement", [_evidence(model, names)]),
        Section("How to reproduce this page", _again(model, again)),
        Section("All settings", [facts(_settings(model))], folded=True),
    ]
    return page(title or f"Clusters on {words.structure_in_words(model.structure_)}", sections, top)


def _of_order(model: Any, name: str) -> Any:
    return None if model.order_ is None else getattr(model.order_, name)


def _profile(model: Any, X: Any, labels: np.ndarray, c: int, columns: Sequence[str] | None) -> Profile | None:
    """Return means of columns, None if X holds similarities, several views, or many columns without names."""
    if X is None or isinstance(X, list | tuple) or kernel_class(getattr(model, "kernel", None)).pairwise:
        return None
    if hasattr(X, "columns") and columns is None:
        columns = list(map(str, X.columns))
    X = X if sparse.issparse(X) else np.asarray(X, dtype=float)
    seen = columns if columns is not None else getattr(model, "feature_names_in_", None)
    if seen is None and X.shape[1] > MOST_COLUMNS:
        return None  # points of pictures, and the like: single columns say nothing to anybody
    names = [f"column {k}" for k in range(X.shape[1])] if seen is None else list(map(str, seen))
    if len(names) != X.shape[1]:
        raise ValueError(f"columns has {len(names)} names, but there are {X.shape[1]} columns.")
    return Profile.of(X, labels, c, names)


@dataclass
class Rows:
    """Rows that a cluster is told by, and how far apart clusters are."""

    typical: list[np.ndarray]  # of each cluster, the nearest to its mean first
    borderline: list[np.ndarray]  # of each, those nearly as near to another
    distances: np.ndarray  # (s, c) of the rows looked at, to the means of clusters
    looked_at: np.ndarray  # (s,)
    silhouette: np.ndarray  # (s,) in [-1, 1], by distances to means


def _rows(model: Any, X: Any) -> Rows:
    """Return typical and borderline rows, by distances in feature space."""
    labels = np.asarray(model.labels_)
    some = _evenly(len(labels), MOST_ROWS)
    D = np.asarray(model.transform(X[some]), dtype=float)
    mine = D[np.arange(len(some)), labels[some]]
    silhouette = silhouettes(D, labels[some])
    typical, borderline = [], []
    for j in range(D.shape[1]):
        inside = np.flatnonzero(labels[some] == j)
        typical.append(some[inside[np.argsort(mine[inside], kind="stable")[:SHOWN]]])
        near = inside[np.argsort(silhouette[inside], kind="stable")[:SHOWN]] if len(inside) > SHOWN else inside[:0]
        borderline.append(some[near])
    return Rows(typical, borderline, D, some, silhouette)


def _evenly(n: int, most: int) -> np.ndarray:
    """Return up to `most` of the numbers 0 .. n - 1, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))


def _most_typical(images: np.ndarray, near: Rows) -> list[np.ndarray]:
    """Return the most typical picture of each cluster, a blank one for a cluster without samples."""
    return [images[rows[0]] if len(rows) else np.ones_like(images[0]) for rows in near.typical]


def _table(model: Any, names: list[str], sizes: np.ndarray, told, near, ids, images: Any, what: str) -> str:
    def shown(rows: np.ndarray) -> str:
        captions = [str(ids[i]) for i in rows]
        if images is None or not have_matplotlib() or not captions:
            return ", ".join(captions) or "-"
        return thumbnail_row([images[i] for i in rows], captions)

    linked = np.asarray(neighbours(model.structure_))
    rows = []
    for j, name in enumerate(names):
        row: dict[str, Any] = {"cluster": name, what: int(sizes[j]), "share": f"{sizes[j] / sizes.sum():.1%}"}
        if told is not None:
            row["differs by"] = "; ".join(told.telling(j)) or "-"
        if near is not None:
            row[f"typical {what}"] = shown(near.typical[j])
            row[f"borderline {what}"] = shown(near.borderline[j])
        if linked.any():
            row["next to"] = ", ".join(names[k] for k in np.flatnonzero(linked[j]))
        rows.append(row)
    return rows_table(rows, [_css(color) for color in structure_colors(model.structure_)] if have_matplotlib() else ())


def _heat(told: Profile | None, names: list[str]) -> str:
    if told is None:
        return ""
    shown = told.columns(MOST_COLUMNS)
    if not len(shown):
        return ""
    left = len(told.names) - len(shown)
    said = "Means of the columns in each cluster; colour: standard deviations above (blue) or below (orange) all rows."
    said += f" Left out, as they differ less or not at all: {left}." if left else ""
    turns = np.array([told.words[k][0] == told.words[k][1] for k in shown])  # neither above nor below
    grid = heat(
        [told.names[k] for k in shown],
        names,
        [told.texts[k] for k in shown],
        np.where(turns[:, None], np.nan, told.scores[:, shown].T),
        "{:+.2f} standard deviations",
    )
    return paragraphs(said, kind="soft") + grid


def _figures(model: Any, near: Any, labels: np.ndarray, names: list[str], thumbnails: Any, what: str) -> dict[str, str]:
    from matplotlib.figure import Figure

    structure, found = model.structure_, {}
    figure = Figure(figsize=(5.5, 5), layout="constrained")
    ax = StructureDisplay.from_estimator(model, ax=figure.subplots(), names=names, thumbnails=thumbnails).ax_
    width, height = np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())
    figure.set_size_inches(5.5, 0.5 + 5 * min(height / width, 1.0))  # a chain is wide, and fills its figure
    found["places"] = picture(
        figure,
        "Clusters at their nodes; the area shows the size.",
        f"{len(names)} clusters drawn on {words.structure_in_words(structure)}",
    )
    if near is not None and len(names) > 1:
        some = _evenly(len(near.looked_at), MOST_DRAWN)
        figure = Figure(figsize=(5.5, 4.5), layout="constrained")
        ax = figure.subplots()
        EmbeddingDisplay.from_distances(near.distances[some], labels[near.looked_at[some]], structure, ax=ax)
        ax.collections[0].set_rasterized(True)  # the samples
        found["samples"] = picture(
            figure,
            f"{what.capitalize()} in the two directions of the kernel in which clusters differ most; lines join "
            "neighbours.",
            f"Scatter plot of the {what}, coloured by cluster",
        )
    if near is not None and len(names) > 1:
        found["similar"] = _similar(near, labels, names, what)
    return found


def _similar(near: Any, labels: np.ndarray, names: list[str], what: str) -> str:
    """Draw how near samples are to every cluster, in the order of clusters: bright along the diagonal is good."""
    from matplotlib.figure import Figure

    own = labels[near.looked_at]
    order = np.lexsort((near.silhouette, own))
    order = order[_evenly(len(order), MOST_LINES)]
    D = near.distances[order]
    figure = Figure(figsize=(5.5, 4.5), layout="constrained")
    ax = figure.subplots()
    image = ax.imshow(-D, aspect="auto", cmap="viridis", interpolation="nearest")
    ax.set(xlabel="cluster", ylabel=f"{what}, in the order of clusters", yticks=[])
    if len(names) <= 20:
        ax.set_xticks(range(len(names)), names, rotation=0 if max(map(len, names)) <= 4 else 60)
    figure.colorbar(image, ax=ax, label="- distance in feature space")
    return picture(
        figure, f"Distance of {what} to each cluster: bright is near.", f"Heat map of distances from {what} to clusters"
    )


def _more(figures: Mapping[str, Any] | None) -> list[str]:
    return [picture(figure, caption, caption) for caption, figure in (figures or {}).items()]


def _gallery(pictures: list[str]) -> str:
    return f"<div class=pictures>{''.join(pictures)}</div>" if pictures else ""


def _evidence(model: Any, names: list[str]) -> str:
    said = [
        words.margin_in_words(_of_order(model, "margin")),
        *words.agreement_in_words(model),
        words.gap_in_words(model.objective_, getattr(model, "upper_bound_", None), getattr(model, "gap_", None)),
    ]
    return paragraphs(*said) + _links(_of_order(model, "links"), names)


def _links(links: np.ndarray | None, names: list[str]) -> str:
    """Return a table of the confidence in each link between neighbours."""
    if links is None or not np.isfinite(links).any():
        return ""
    pairs = np.argwhere(np.triu(np.isfinite(links)))
    rows = [{"neighbours": f"{names[i]} - {names[j]}", "confidence": f"{links[i, j]:.2f}"} for i, j in pairs]
    return paragraphs("Probability that two neighbouring clusters are truly neighbours:", kind="soft") + rows_table(
        rows
    )


def _again(model: Any, again: Mapping[str, str] | None) -> list[str]:
    imports, made = model_in_python(model)
    python = "\n".join([*imports, "", f"model = {made}", "model.fit(X)  # the samples of this page"])
    asked = {**(again or {})}
    asked.setdefault("Python", python)
    versions = ", ".join(f"{name} {version(name)}" for name in USED)
    made = f"Made on {datetime.now(UTC):%Y-%m-%d} with {versions}, Python {platform.python_version()}."
    return [part for heading, text in asked.items() for part in (paragraphs(heading, kind="soft"), code(text))] + [
        paragraphs(made, kind="soft")
    ]


def _settings(model: Any) -> dict[str, Any]:
    found = {"gamma in use": model.diagnostics_.get("gamma"), "size prior in use": model.diagnostics_.get("size_prior")}
    settings = {**model.get_params(deep=False), **{name: value for name, value in found.items() if value is not None}}
    return {
        name: getattr(value, "__name__", str(value)) if callable(value) or value is None else value
        for name, value in sorted(settings.items())
    }


def _css(color: np.ndarray) -> str:
    return f"rgb({','.join(str(round(255 * float(part))) for part in color[:3])})"
