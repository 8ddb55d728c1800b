"""The report of a fit and its pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from kernelclust.plots import have_matplotlib, neighbours, plot_embedding, plot_similarity, plot_structure
from kernelclust.report import build_report, describe_fit, history_svg

MOST_EXTREME = 1e100  # entry of X beyond which there is no picture of similarities
MOST_SIMILARITIES = 2000  # samples that the picture of similarities is made from


def fit_figures(model: Any, X: Any, **options: Any) -> dict[str, Any]:
    """Return the pictures of a fit; only the curve where matplotlib is missing."""
    figures: dict[str, Any] = {}
    if have_matplotlib():
        from matplotlib.figure import Figure

        arranged, along = (Figure(figsize=(5, 5), layout="constrained") for _ in range(2))
        plot_structure(model, ax=arranged.subplots(), **options)
        figures = {"Clusters in their places; area is size": arranged}
        if not sparse.issparse(X):
            plot_embedding(X, model.labels_, model.structure_, ax=along.subplots())
            figures["Samples; lines join neighbours"] = along
        some = np.random.default_rng(0).permutation(X.shape[0])[:MOST_SIMILARITIES]
        if (K := _similarities(model, X, some)) is not None:
            similar = Figure(figsize=(5.5, 5), layout="constrained")
            plot_similarity(K, model.labels_[some], model.structure_, ax=similar.subplots())
            figures["Neighbours should be alike: high values near the diagonal"] = similar
    if len(model.history_):
        figures["The objective during the search"] = history_svg(model.history_)
    return figures


def _similarities(model: Any, X: Any, some: NDArray[Any]) -> NDArray[Any] | None:
    """Return the kernel between some of the samples, where scikit-learn knows it by the same name; rbf for "auto"."""
    if sparse.issparse(X):
        return None
    if model.kernel == "precomputed":
        return X[np.ix_(some, some)]
    extreme = abs(X).max() > MOST_EXTREME  # squares leave floating point, and the width is no normal number
    kernel = "rbf" if model.kernel == "auto" else model.kernel
    if kernel not in PAIRWISE_KERNEL_FUNCTIONS or extreme:
        return None
    gamma = model.gamma_
    if model.kernel == "auto" and gamma is None:
        gamma = 1 / max(2 * float(np.var(X, axis=0).sum()), np.finfo(float).tiny)
    parameters = {"gamma": gamma, "degree": 3, "coef0": 1} | dict(model.kernel_params or {})
    return pairwise_kernels(X[some], metric=kernel, filter_params=True, **parameters)


def report_of(model: Any, X: Any, scores: dict[str, str], file: str, doubts: list[str]) -> str:
    """The page about a fit to X."""
    table = None if sparse.issparse(X) else X
    facts = describe_fit(model, table, neighbours=neighbours(model.structure_)) | {"warnings": doubts}
    facts["scores against the known labels"] = scores
    figures = fit_figures(model, X)
    if not have_matplotlib():
        facts["pictures left out"] = "Pictures need matplotlib: pip install 'kernelclust[plot]'."
    return build_report(facts, figures, f"{file} on {model.structure_}")
