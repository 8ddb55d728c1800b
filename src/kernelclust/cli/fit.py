"""``kernelclust fit``: read a table, cluster its rows, write labels and a report."""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import os
import sys
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from kernelclust import StructuredClustering
from kernelclust._files import write_files
from kernelclust._input import quoted
from kernelclust._units import UnitWarning, unit_warning
from kernelclust.cli import folder
from kernelclust.cli.table import Table, check_writable, parse_number, read_table
from kernelclust.metrics import clustering_accuracy, structured_accuracy
from kernelclust.plots import have_matplotlib, neighbours, plot_embedding, plot_similarity, plot_structure
from kernelclust.report import build_report, describe_fit, history_svg
from kernelclust.structures import as_structure

SETTINGS = (
    "structure n_clusters kernel gamma loss normalize rho size_prior min_cluster_size max_cluster_size search n_jobs "
    "random_state"
).split()
MOST_EXTREME = 1e100  # entry of X beyond which there is no picture of similarities
MOST_SIMILARITIES = 2000  # samples that the picture of similarities is made from


def run(arguments: argparse.Namespace) -> None:
    """Do the whole job; everything that can be refused is refused before the fit."""
    started = time.perf_counter()
    talk = arguments.verbose or sys.stderr.isatty()
    given = {name: getattr(arguments, name) for name in SETTINGS if hasattr(arguments, name)}
    if "n_clusters" in given:  # the library cannot tell its default from a number that was typed
        as_structure(given.get("structure", "flat"), given["n_clusters"])
    if os.path.isdir(arguments.file):
        folder.run(arguments, given)
        return
    targets = [path for path in (arguments.out, arguments.report) if path is not None]
    for k, path in enumerate(targets):
        check_writable(path, not_over=[arguments.file, *targets[:k]])
    names = ("columns", "drop", "id_column", "label_column", "delimiter", "header")
    table = read_table(arguments.file, **{name: getattr(arguments, name) for name in names})
    m, d = table.data.shape
    _say(talk, f"read {m} rows and {d} columns ({'with' if table.has_header else 'without'} a header)")

    known = _places(table) if arguments.use_labels else None
    X = table.data
    if arguments.standardize:
        X = make_pipeline(MaxAbsScaler(), StandardScaler()).fit_transform(X)  # variances of huge numbers would overflow
    with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():  # stdout is for labels, not for progress
        warnings.simplefilter("ignore", UnitWarning)  # said below, with the names of the file's columns
        model = StructuredClustering(verbose=int(arguments.verbose), **given).fit(X, known)
    _say(talk, f"clustered into {model.structure_} in {time.perf_counter() - started:.1f} s")
    _say(
        talk,
        f"objective {model.objective_:.6g}, at most {model.upper_bound_:.6g}; {_sure(model)}",
    )

    doubts = _doubts(table, X)
    for doubt in doubts:
        print(f"kernelclust: warning: {doubt}", file=sys.stderr)
    scores = {} if arguments.use_labels else _scores(table, model)  # labels that were used prove nothing
    for name, score in scores.items():
        print(f"kernelclust: {name}: {score}", file=sys.stderr)
    labels = labels_csv(model.labels_, table.ids, table.id_name)
    files: dict[str, str | bytes] = {} if arguments.out is None else {arguments.out: labels}
    if arguments.report is not None:
        files[arguments.report] = _report(model, X, scores, arguments.file, doubts)
    write_files(files)
    if arguments.out is None:
        sys.stdout.write(labels)


def _sure(model: Any) -> str:
    """How sure the order is, in a few words."""
    if np.isnan(model.order_confidence_):
        return "one arrangement"
    return f"order confidence {model.order_confidence_:.2f} (p = {model.order_pvalue_:.2g})"


def labels_csv(labels: Any, ids: list[str] | None = None, id_name: str = "row") -> str:
    """Return a table of two columns: the id or the number of each row from 0, and its label."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([id_name, "label"])
    writer.writerows(zip(range(len(labels)) if ids is None else ids, labels.tolist(), strict=True))
    return text.getvalue()


def fit_figures(model: Any, X: Any, **options: Any) -> dict[str, Any]:
    """Return the pictures of a fit; only the curve where matplotlib is missing."""
    figures: dict[str, Any] = {}
    if have_matplotlib():
        from matplotlib.figure import Figure

        arranged, along = (Figure(figsize=(5, 5), layout="constrained") for _ in range(2))
        plot_structure(model, ax=arranged.subplots(), **options)
        plot_embedding(X, model.labels_, model.structure_, ax=along.subplots())
        figures = {"Clusters in their places; area is size": arranged, "Samples; lines join neighbours": along}
        some = np.random.default_rng(0).permutation(len(X))[:MOST_SIMILARITIES]
        if (K := _similarities(model, X, some)) is not None:
            similar = Figure(figsize=(5.5, 5), layout="constrained")
            plot_similarity(K, model.labels_[some], model.structure_, ax=similar.subplots())
            figures["Neighbours should be alike: high values near the diagonal"] = similar
    if len(model.history_):
        figures["The objective during the search"] = history_svg(model.history_)
    return figures


def _similarities(model: Any, X: Any, some: NDArray[Any]) -> NDArray[Any] | None:
    """Return the kernel between some of the samples, where scikit-learn knows it by the same name; rbf for "auto"."""
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


def _report(model: Any, X: Any, scores: dict[str, str], file: str, doubts: list[str]) -> str:
    facts = describe_fit(model, X, neighbours=neighbours(model.structure_)) | {"warnings": doubts}
    facts["scores against the known labels"] = scores
    figures = fit_figures(model, X)
    if not have_matplotlib():
        facts["pictures left out"] = "Pictures need matplotlib: pip install 'kernelclust[plot]'."
    return build_report(facts, figures, f"{file} on {model.structure_}")


def _doubts(table: Table, X: NDArray[Any]) -> list[str]:
    """Return what a user may have overlooked in the data."""
    doubts = []
    first = table.data[:, 0]
    if len(first) > 2 and table.data.shape[1] > 1 and np.array_equal(first - first[0], np.arange(len(first))):
        doubts.append(f"column {table.columns[0]!r} only counts the rows; leave it out with --drop or --id-column.")
    formula = [text for text in [table.id_name, *(table.ids or [])] if _runs_in_a_spreadsheet(text)]
    if formula:
        doubts.append(
            f"{len(formula)} ids such as {quoted(formula[0])} are formulas to a spreadsheet; they are written as they "
            "are: import the column as text."
        )
    doubts.append(unit_warning(X, names=table.columns, advice="add --standardize"))
    return list(filter(None, doubts))


def _runs_in_a_spreadsheet(text: str) -> bool:
    return text.lstrip().startswith(("=", "@")) or (text.lstrip()[:1] in tuple("+-") and parse_number(text) is None)


def _places(table: Table) -> list[int]:
    """Return the place that the label column gives to every row, -1 where it is empty."""
    if table.labels is None:
        raise ValueError("--use-labels needs --label-column COLUMN: the column that holds the known places.")
    places = []
    for row, label in enumerate(table.labels):
        if label and not (label.isascii() and label.isdigit()):
            raise ValueError(
                f"--use-labels: row {row} has the label {quoted(label)}; give places on the structure, whole numbers "
                "from 0, or an empty cell where the place is unknown."
            )
        places.append(int(label) if label else -1)
    return places


def _scores(table: Table, model: Any) -> dict[str, str]:
    """Score against the known labels; those left empty do not count."""
    if table.labels is None:
        return {}
    known = np.array([label != "" for label in table.labels])
    if not known.any():
        return {}
    texts = np.array(table.labels)[known]
    found = model.labels_[known]
    scores = {"clustering accuracy": f"{clustering_accuracy(np.unique(texts, return_inverse=True)[1], found):.1%}"}
    places = {str(place) for place in range(model.structure_.n_clusters)}
    if set(texts.tolist()) <= places:  # the labels are places on the structure
        accuracy = structured_accuracy(texts.astype(int), found, model.structure_)
        scores["structured accuracy"] = f"{accuracy:.1%} (right cluster at the right place, up to symmetry)"
    return scores


def _say(talk: bool, text: str) -> None:
    if talk:
        print(f"kernelclust: {text}", file=sys.stderr)
