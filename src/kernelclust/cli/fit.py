"""``kernelclust fit``: read a table, cluster its rows, write labels, a report and the model."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
import warnings
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np

from kernelclust import StructuredClustering
from kernelclust._input import quoted
from kernelclust._scale_warning import ScaleWarning
from kernelclust.cli.described import as_python, table_columns
from kernelclust.cli.guard import log, note, warn
from kernelclust.cli.inputs import Data, load
from kernelclust.cli.models import of_views, settings
from kernelclust.cli.outputs import check_targets, formulas, spread, write_labels
from kernelclust.cli.rows import asked_columns, predicted
from kernelclust.estimators import check_structure, structures_of
from kernelclust.kernels import kernel_class
from kernelclust.metrics import clustering_accuracy, structured_accuracy
from kernelclust.report import deciding_categories, deciding_column, html_report, structure_in_words
from kernelclust.tables import read_links

MANY, SAMPLE = 100_000, 10_000  # rows beyond which so many are fitted, and the others placed


def run(arguments: SimpleNamespace) -> None:
    """Do the whole job; everything that can be refused is refused before the fit."""
    started = time.perf_counter()
    given = settings(arguments)
    links = {name: getattr(arguments, name) for name in ("must_link", "cannot_link")}
    uses = [arguments.file, *arguments.view, *links.values()]
    check_targets(arguments.out, arguments.report, arguments.model, uses=uses)
    _refuse_with_views(arguments)
    _refuse_positions(arguments, given)
    data = load(arguments)
    extra = None if arguments.model is None else {"preparation": _kept(data, arguments.id_column)}
    views = [_same_rows(data, load(arguments, path), path) for path in arguments.view]
    known: dict[str, Any] = {"y": _places(data, given) if arguments.use_labels else None}
    for name, path in links.items():
        if path is not None:
            known[name] = _among_used(read_links(path, data.roles.ids, data.n_rows), data, path)

    model, labels, some = _fitted(arguments, given, data, views, known)
    note(arguments, f"clustered into {model.structure_} in {time.perf_counter() - started:.1f} s; {_sure(model)}")
    doubts = list(filter(None, [*data.doubts, formulas(data.roles.ids, data.roles.id_name)]))
    steps = list(filter(None, [_decided(data, model, labels)]))
    for doubt in [*doubts, *steps]:
        warn(arguments, doubt)
    scores = {} if arguments.use_labels else _scores(data, model, labels)  # labels that were used prove nothing
    for name, score in scores.items():
        note(arguments, f"{name}: {score}")
    report = None if arguments.report is None else _report(arguments, data, model, some, scores, doubts, steps)
    every = spread(labels, data.rows, data.n_rows)
    X = [data.X, *views] if views else data.X
    asked = asked_columns(arguments, model, X, fitted=some is None)
    columns = {name: spread(values, data.rows, data.n_rows) for name, values in asked.items()}
    more: dict[str, Any] = {} if report is None else {arguments.report: report}
    if extra is not None:
        more[arguments.model] = model._saved(extra)
    summary = _summary(arguments, data, model, labels, scores) if arguments.json else {}
    write_labels(arguments, every, data.roles, model.structure_.names, summary, more, columns=columns)
    for path in filter(None, [arguments.out, *more]):
        log(arguments, f"written: {path}")


def _fitted(
    arguments: SimpleNamespace, given: dict, data: Data, views: list[Any], known: dict
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return a model, the labels of all rows in use, and which of these were fitted, None for all."""
    some = _drawn(arguments, data, bool(views) or any(value is not None for value in known.values()))
    verbose = int(arguments.verbose)
    with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():  # stdout is for labels
        warnings.simplefilter("ignore", ScaleWarning)  # warned of with the names of the file's columns
        if views:
            model = of_views(given, verbose).fit([data.X, *views], **known)
            return model, model.labels_, None
        model = StructuredClustering(verbose=verbose, **given)
        if some is None:
            model.fit(data.X, **known)
            return model, model.labels_, None
        model.fit(data.X[some])
        return model, predicted(model, data.X, "assigning all rows"), some


def _drawn(arguments: SimpleNamespace, data: Data, needs_all: bool) -> np.ndarray | None:
    """Return the rows to fit, None for all."""
    n = data.X.shape[0]
    if arguments.sample is not None and arguments.sample < 0:
        raise ValueError(f"--sample {arguments.sample}: give a number of rows, or 0 to fit all of them.")
    wanted = arguments.sample if arguments.sample is not None else (SAMPLE if n > MANY and not needs_all else 0)
    if arguments.sample and needs_all:
        raise ValueError("--sample fits some rows only, while known labels, links and views are of all; leave it out.")
    if not 0 < wanted < n:
        return None
    if (arguments.kernel or "").startswith("precomputed"):
        raise ValueError(f"similarities of {n} rows cannot be sampled: give --sample 0 to fit all of them.")
    if arguments.sample is None:
        warn(
            arguments,
            f"fitting {wanted} of {n} rows, drawn at random; the others are assigned to their clusters. --sample ROWS "
            "sets how many, --sample 0 fits all.",
        )
    return np.sort(np.random.default_rng(arguments.random_state).choice(n, wanted, replace=False))


def _report(
    arguments: SimpleNamespace,
    data: Data,
    model: Any,
    some: np.ndarray | None,
    scores: dict,
    doubts: list[str],
    steps: list[str],
) -> str:
    """Return the page about the fitted rows, in the table's own columns, units and ids."""
    used = np.arange(len(data.rows)) if some is None else some
    rows, X = data.rows[used], data.X if some is None else data.X[some]
    n_fitted = None if some is None else len(some)
    again = {"Command line": arguments.command, "Python": as_python(arguments, data, model, n_fitted)}
    pictures, pairwise = data.images is not None, (arguments.kernel or "").startswith("precomputed")
    described = data.prepared is not None and not pictures and not pairwise
    return html_report(
        model,
        X,
        title=f"{arguments.file} on {structure_in_words(model.structure_)}",
        table=table_columns(data.prepared, used) if described and data.prepared else None,
        images=None if data.images is None else data.images[used],
        ids=rows if data.roles.ids is None else [data.roles.ids[row] for row in rows],
        scores=scores,
        warnings=[*doubts, *_left_out(data, some)],
        again=again,
        next_steps=steps,
    )


def _decided(data: Data, model: Any, labels: np.ndarray) -> str:
    """Return advice if one column of the file, or categories under the default kernel, decide the clusters."""
    if data.prepared is None or data.images is not None:
        return ""
    columns = data.prepared.by_column()
    if kernel_class(model.kernel) is kernel_class("auto") and (
        found := deciding_categories(columns, data.prepared.categories, labels)
    ):
        return (
            f"categories decide the clusters: column {quoted(found.column)} has {found.information:.0%} of the "
            f"information about them, and no column of numbers more than {max(found.next_information, 0):.0%} "
            f"({quoted(found.next_column)}). In the graphs of the default kernel, rows of the same categories are "
            "neighbours, whatever their numbers. Fit with --kernel rbf, where every column counts as it is scaled, or "
            f"leave such columns out (--drop {shlex.quote(found.column)})."
        )
    found = deciding_column(columns, labels)
    if found is None:
        return ""
    name = shlex.quote(found.column)
    return (
        f"column {quoted(found.column)} decides the clusters: it has {found.information:.0%} of the information "
        f"about them, and the next column, {quoted(found.next_column)}, {max(found.next_information, 0):.0%}. To find "
        f"other clusters, fit without it (--drop {name}), or let it count less (--weight {name}:0.2 --kernel rbf)."
    )


def _left_out(data: Data, some: np.ndarray | None) -> list[str]:
    """Return sentences about the rows and columns that the page leaves out."""
    lacking = data.n_rows - len(data.rows)
    columns = [] if data.prepared is None else data.prepared.left_out
    said = [f"{lacking} of {data.n_rows} rows have missing values and are left out."] if lacking else []
    said += [f"Columns are left out: {', '.join(columns)}."] if columns else []
    return said + ([f"This page is about the {len(some)} rows that were fitted."] if some is not None else [])


def _refuse_with_views(arguments: SimpleNamespace) -> None:
    for name in ("report", "model"):
        if arguments.view and getattr(arguments, name) is not None:
            raise ValueError(f"--{name} is for one table; leave it out, or leave out --view.")


def _refuse_positions(arguments: SimpleNamespace, given: dict[str, Any]) -> None:
    structure = check_structure(given.get("n_clusters"), given.get("structure", "flat"))
    if arguments.positions and not structure.is_sought and structure.axes() is None and structure.network() is None:
        raise ValueError(
            f"--positions: {structure} has no positions between its clusters; leave it out, or name a chain, ring, "
            "grid or tree with --structure."
        )


def _kept(data: Data, id_column: str | None) -> dict[str, Any]:
    """Return the encoders of the columns, and the column that names rows, for the model's file."""
    if data.prepared is None:
        raise ValueError("--model stores models of tables with columns, and this is a sparse matrix; leave it out.")
    more = {"id_column": data.roles.id_name if id_column is not None else None, "image_size": data.image_size}
    return data.prepared.to_dict() | {name: value for name, value in more.items() if value is not None}


def _summary(arguments: SimpleNamespace, data: Data, model: Any, labels: Any, scores: dict) -> dict:
    names = "objective_ upper_bound_ gap_ order_confidence_ weights_".split()
    order = {} if model.order_ is None else {"order_pvalue": model.order_.pvalue, "order_margin": model.order_.margin}
    return {
        "file": arguments.file,
        "structure": str(model.structure_),
        "cluster_names": model.cluster_names_,
        "rows": data.n_rows,
        "rows_left_out": data.n_rows - len(data.rows),
        "columns": data.names,
        "sizes": np.bincount(labels, minlength=model.structure_.n_clusters),
        **{name.rstrip("_"): getattr(model, name) for name in names if hasattr(model, name)},
        **order,
        "structures": _structure_rows(model),
        "scores": scores,
        "warnings": arguments.warnings,
        "settings": model.get_params(deep=False),
        "preparation": None if data.prepared is None else data.prepared.to_dict(),
    }


def _sure(model: Any) -> str:
    """Return the confidence in the order, in a few words."""
    if model.order_confidence_ is None:
        return f"one arrangement{_likely(model)}"
    return f"order confidence {model.order_confidence_:.2f} (p = {model.order_.pvalue:.2g}){_likely(model)}"


def _likely(model: Any) -> str:
    rows = [f"{row.name} {row.probability:.2f}" for row in structures_of(model) or ()]
    return f"; probabilities: {', '.join(rows)}" if rows else ""


def _structure_rows(model: Any) -> list[dict[str, Any]] | None:
    """Return the probabilities of structures over the clusters of a model, as JSON writes them."""
    table = structures_of(model)
    if table is None:
        return None
    return [{"name": row.name, "probability": row.probability, "arrangement": row.written} for row in table]


def _same_rows(data: Data, view: Data, path: str) -> Any:
    """Return a view's numbers, in the order of the first table's ids."""
    if data.roles.ids is None or view.roles.ids is None:
        if len(view.rows) != len(data.rows) or not np.array_equal(view.rows, data.rows):
            raise ValueError(
                f"{path} has {len(view.rows)} rows in use, and the first table {len(data.rows)}; views are of the same "
                "rows (--id-column matches them by name)."
            )
        return view.X
    theirs, wanted = ([one.roles.ids[row] for row in one.rows] for one in (view, data))  # type: ignore[index]
    place = {name: k for k, name in enumerate(theirs)}
    for ids, where in ((theirs, path), (wanted, "the first table")):
        if len(set(ids)) < len(ids):
            twice = next(name for name, count in Counter(ids).items() if count > 1)
            raise ValueError(f"{where} has several rows with the id {quoted(twice)}, so that views cannot be matched.")
    lacking = [name for name in wanted if name not in place]
    if lacking:
        raise ValueError(f"{path} lacks {len(lacking)} rows of the first table, such as {quoted(lacking[0])}.")
    return view.X[[place[name] for name in wanted]]


def _among_used(pairs: np.ndarray, data: Data, path: str) -> np.ndarray:
    """Return pairs of rows of the file as indices of the rows in use."""
    place = np.full(data.n_rows, -1)
    place[data.rows] = np.arange(len(data.rows))
    if (place[pairs] < 0).any():
        lost = pairs[(place[pairs] < 0)][0]
        raise ValueError(f"{path} links row {lost} of the file, which has missing values and is left out.")
    return place[pairs]


def _places(data: Data, given: dict[str, Any]) -> list[int] | list[str]:
    """Return the node that the label column gives to each row, -1 where it is empty; names if clusters have them."""
    labels = data.known()
    if labels is None:
        raise ValueError("--use-labels needs --label-column COLUMN: the column with the known labels.")
    if check_structure(given.get("n_clusters"), given.get("structure", "flat")).names is not None:
        return labels
    places = []
    for row, label in zip(data.rows, labels, strict=True):
        if label and not (label.isascii() and label.isdigit()):
            raise ValueError(
                f"--use-labels: row {row} has the label {quoted(label)}; give nodes of the structure, integers "
                "from 0, or an empty cell where the label is unknown."
            )
        places.append(int(label) if label else -1)
    return places


def _scores(data: Data, model: Any, labels: Any) -> dict[str, str]:
    """Score against the known labels; those left empty do not count."""
    given = data.known()
    if given is None or not any(given):
        return {}
    known = np.array([label != "" for label in given])
    texts, found = np.array(given)[known], labels[known]
    scores = {"clustering accuracy": f"{clustering_accuracy(np.unique(texts, return_inverse=True)[1], found):.1%}"}
    places = {name: place for place, name in enumerate(model.cluster_names_)}
    if set(texts.tolist()) <= set(places):  # the labels are places on the structure
        accuracy = structured_accuracy([places[text] for text in texts.tolist()], found, model.structure_)
        scores["structured accuracy"] = f"{accuracy:.1%} (right cluster at the right node, up to symmetry)"
    return scores
