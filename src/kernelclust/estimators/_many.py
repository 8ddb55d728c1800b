"""Many kernels of views that lie in partitions: joined column by column, and weighed by sums over all samples."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from kernelclust._arrays import check_elsewhere, namespace_of, to_host
from kernelclust._progress import log, progress_listener, set_step
from kernelclust._threads import one_thread
from kernelclust._warnings import warn
from kernelclust.constraints import check_labels
from kernelclust.estimators._base import check_enough_samples
from kernelclust.estimators._elsewhere import send
from kernelclust.estimators._partitioned import first_row, keep_partitioned, keep_places_of_all
from kernelclust.kernels import Kernel
from kernelclust.large import (
    Features,
    Sums,
    TensorShards,
    ThereSamples,
    as_rows,
    beside,
    feature_gram,
    feature_moments,
    features_there,
    fit_features,
    is_partitioned,
    labels_there,
    lazily,
    look_at_all,
    shards_of,
)
from kernelclust.multikernel import (
    ManyFit,
    Views,
    Weighing,
    check_views,
    columns_of,
    fit_many,
    is_auto,
    kernels_of,
    raw_features,
    weighing,
)
from kernelclust.objectives import check_weights
from kernelclust.solvers import Run
from kernelclust.structures import Structure, places_of_part


def in_partitions(X: Any) -> bool:
    """Whether X is a Dask array or frame, or a list of views some of which are."""
    return is_partitioned(X) or (isinstance(X, (list, tuple)) and any(map(is_partitioned, X)))


def on_device(X: Any) -> bool:
    """Whether X is an array that is worked on where it is, or a list of views some of which are."""
    return any(namespace_of(one) is not None for one in (X if isinstance(X, (list, tuple)) else [X]))


def fit_views(model: Any, X: Any, y: Any, sample_weight: Any, structure: Structure, **more: Any) -> None:
    """Fit views that are Dask arrays or frames (m, d_v)."""
    kernels = _check(model, X, more)
    table, widths = _joined(model, X)
    check_enough_samples(int(table.shape[0]), structure)
    _keep_widths(model, X, table, widths)
    weight = beside(sample_weight, table, "sample_weight")
    known = beside(y, table, "y", partial(places_of_part, structure=structure))
    found, weights, features = _fit(model, shards_of(table, weight, known), widths, kernels, structure)
    model._keep(found)
    keep_partitioned(model, table, found.fit, known)
    image = weights.embedding_map()
    model._diagnostics["embedding"] = lazily(
        table, partial(_embedded, features=features, image=image), np.float64, image.shape[1]
    )
    model._in_rows = True


def fit_tensors(model: Any, X: Any, y: Any, sample_weight: Any, structure: Structure, **more: Any) -> None:
    """Fit views that are arrays of one library of the array API (m, d_v), where they are."""
    kernels = _check(model, X, more, device=True)
    table, widths = _side_by_side(model, X)
    xp, m = namespace_of(table), int(table.shape[0])
    weight = check_weights(None if sample_weight is None else to_host(sample_weight), np.empty((m, 1), dtype=np.int8))
    check_enough_samples(int((weight > 0).sum()), structure)
    _keep_widths(model, X, table, widths)
    known = None if y is None else check_labels(to_host(y), m, structure.n_clusters)
    shards = TensorShards(xp, table, weight, known)
    found, weights, features = _fit(model, shards, widths, kernels, structure)
    fit = found.fit
    seen = fit.similarities
    there = replace(fit, similarities=ThereSamples(seen.features, seen.sums, seen.n))
    model._keep(replace(found, fit=there))
    labels = labels_there(shards, features, fit.rules)
    keep_places_of_all(model, fit, m)
    model.labels_ = to_host(labels)
    if model.position_ is not None:
        model.position_ = model._places.position(table, model.labels_)
    send(model, xp, table)
    model._diagnostics["embedding"] = features_there(shards, features, weights.embedding_map())
    model._in_rows = True


def _fit(model: Any, shards: Any, widths: list[int], kernels: list[Kernel], structure: Structure) -> tuple:
    """The fit of all views side by side, the weights, and the features of all kernels."""
    rng = check_random_state(model.random_state)
    some = look_at_all(shards, structure.n_clusters, rng, _names(widths))
    request = model._request(structure)
    approximation = None if request.approximation is None else request.approximation.beyond_limit()
    request = replace(request, approximation=approximation, random_state=rng)
    views = Views(_split(some.X, widths), np.ones((len(some.X), len(widths)), dtype=bool))
    with progress_listener(None):  # stages of the start are not those of the whole
        few = fit_many(views, some.w, request, some.known)
    begun = some.begun(few.fit, None)
    raw = raw_features(few, _slices(widths), kernels)
    width = raw.columns[-1].stop
    set_step("means of {} features of all samples", width)
    moments = shards.each(feature_moments, raw=raw, width=width)
    total = sum(moments[1:], moments[0])
    given = total.weight, total.first, total.second, total.largest
    features = raw.over_all(*given, unit=bool(request.method.unit_diagonal), center=bool(request.method.center))
    set_step("products of {} features of all samples", width)
    gram = sum(shards.each(feature_gram, raw=features, width=width))
    with one_thread():
        weights = weighing(gram, features.columns, few, request, begun.objective, total.weight, begun.lightest)
    run = Run(max_iter=int(model.max_iter), report=model._report)
    start = Features(features, weights.scale, center=False)
    found = fit_features(shards, begun, start, request.objective.rule, run, partial(_relearned, weights))
    return ManyFit(found, weights.relaxed, weights.refined(found.labels), weights.explained), weights, features


def _relearned(weights: Weighing, features: Features, total: Sums, moved: bool) -> tuple[Features, bool]:
    going = weights.learn(total.features, total.n, moved)
    return replace(features, T=weights.scale), going


def _embedded(X: np.ndarray, *, features: Any, image: np.ndarray) -> np.ndarray:
    return features(np.asarray(X)) @ image


# -- views as one table ------------------------------------------------------------------------------------------------


def _check(model: Any, X: Any, more: dict[str, Any], device: bool = False) -> list[Kernel]:
    """The kernels, one after the other; an error for what is not there yet beyond the memory of one machine."""
    n_views = len(X) if isinstance(X, (list, tuple)) else 1 if model.views is None else len(model.views)
    given = is_auto(model.kernel) or model._is_pairwise()
    kernels = [] if given else [kernel for some in kernels_of(model.kernel, n_views) for kernel in some]
    elsewhere = [kernel for kernel in kernels if not kernel.is_function or (device and not kernel.is_trusted)]
    approximate = [kernel for kernel in kernels if not kernel.has_features]
    approximation, method = model._approximation_term(), model._make_method()
    missing = {
        **dict.fromkeys(method.unsupported_beyond_host(), True),
        f"kernel={model.kernel!r}": given or bool(elsewhere),
        f"approximation={model.approximation!r}": bool(approximate)
        if approximation is None
        else not (approximation.has_array_features if device else approximation.in_partitions),
        "must_link and cannot_link": more["must_link"] is not None or more["cannot_link"] is not None,
        "samples that views miss (observed)": more["observed"] is not None,
        "min_cluster_size": model.min_cluster_size is not None,
        "max_cluster_size": model.max_cluster_size is not None,
        "label_weight": model.label_weight is not None,
    }
    absent = [what for what, there in missing.items() if there]
    where = "on a device" if device else "in partitions"
    if absent:
        raise ValueError(
            f"{', '.join(absent)}: not there yet for views {where}, which take method='average' and 'mkkm-mr' "
            "with kernels such as 'rbf' or 'linear'. Give numpy arrays to fit in memory."
        )
    if approximation is not None and approximation.is_auto and approximate:
        warn(
            f"views {where} are compared by a Nystrom approximation of kernel={model.kernel!r} with "
            f"{approximation.rank} components each; approximation='nystroem' accepts this "
            "silently."
        )
    return kernels


def _joined(model: Any, X: Any) -> tuple[Any, list[int]]:
    """All views as one Dask array, in the partitions of the first, and how many columns each has."""
    import dask.array as da

    if is_partitioned(X):
        like = X._meta if hasattr(X, "columns") else X  # a frame without rows has all names and types
        parts, names = ([X], ["X"]) if model.views is None else columns_of(like, model.views)
        parts = [part if is_partitioned(part) else X[list(part.columns)] for part in parts]
    elif model.views is not None:
        raise ValueError("X is a list of views already; give views=None, or one table.")
    else:
        parts, names = list(X), [f"view {v}" for v in range(len(X))]
    other = [name for name, part in zip(names, parts, strict=True) if not is_partitioned(part)]
    if other:
        raise TypeError(f"{other[0]} lies in memory, others in partitions: give all views as Dask arrays or frames.")
    rows = [as_rows(part, name) for part, name in zip(parts, names, strict=True)]
    sizes = [int(part.shape[0]) for part in rows]
    if len(set(sizes)) > 1:
        raise ValueError(f"views differ in their numbers of samples: {sizes}. Row i of all must be the same sample.")
    if any(part.chunks[0] != rows[0].chunks[0] for part in rows):
        log("the views lie in different partitions: all are brought to those of the first, in every round")
        rows = [part.rechunk({0: rows[0].chunks[0]}) for part in rows]
    table = rows[0] if len(rows) == 1 else da.concatenate(rows, axis=1).rechunk({1: -1})
    return table, [int(part.shape[1]) for part in rows]


def _side_by_side(model: Any, X: Any) -> tuple[Any, list[int]]:
    """All views as one array of their library, and how many columns each has."""
    if not isinstance(X, (list, tuple)):
        X = [X] if model.views is None else columns_of(X, model.views)[0]
    elif model.views is not None:
        raise ValueError("X is a list of views already; give views=None, or one table.")
    spaces = [namespace_of(one) for one in X]
    devices = {str(getattr(one, "device", "host")) for one in X}
    if any(xp is None or xp is not spaces[0] for xp in spaces) or len(devices) > 1:
        raise TypeError(
            f"views are of different libraries or on different devices ({', '.join(sorted(devices))}): give all of "
            "them as arrays of one library on one device."
        )
    xp = spaces[0]
    parts = [check_elsewhere(xp, one, f"view {v}") for v, one in enumerate(X)]
    sizes = [int(one.shape[0]) for one in parts]
    if len(set(sizes)) > 1:
        raise ValueError(f"views differ in their numbers of samples: {sizes}. Row i of all must be the same sample.")
    single = all(one.dtype == xp.float32 for one in parts)
    table = xp.concat([xp.astype(one, xp.float32 if single else xp.float64) for one in parts], axis=1)
    return table, [int(one.shape[1]) for one in parts]


def _keep_widths(model: Any, X: Any, table: Any, widths: list[int]) -> None:
    model._widths = widths
    if not isinstance(X, (list, tuple)):
        like = first_row(X, getattr(X, "columns", None))
        validate_data(model, like, reset=True, skip_check_array=True)
    else:
        model.n_features_in_ = int(table.shape[1])
        model.__dict__.pop("feature_names_in_", None)


def _slices(widths: list[int]) -> list[slice]:
    ends = np.cumsum([0, *widths]).tolist()
    return [slice(*pair) for pair in pairwise(ends)]


def _split(X: np.ndarray, widths: list[int]) -> list[np.ndarray]:
    return [X[:, columns] for columns in _slices(widths)]


def _names(widths: list[int]) -> list[str]:
    """Of the columns of all views, for errors."""
    if len(widths) == 1:
        return [f"column {j}" for j in range(widths[0])]
    return [f"column {j} of view {v} (a sample must be in all views)" for v, d in enumerate(widths) for j in range(d)]


# -- new samples -------------------------------------------------------------------------------------------------------


def new_tensors(model: Any, X: Any) -> Any:
    """New samples on a device, as one array of all views; on the host for a model that knows views."""
    table, widths = _side_by_side(model, X)
    _check_widths(model, widths)
    if model._in_rows:
        return table
    names = [str(v) for v in range(len(widths))]
    return check_views(_split(to_host(table), widths), names, None)


def in_rows(views: Views) -> np.ndarray:
    """New samples as one table, for a model that was fitted so."""
    if not views.observed.all():
        row, view = np.argwhere(~views.observed)[0]
        raise ValueError(
            f"sample {row} is missing from view {view}: not there yet for a model that was fitted in partitions. Fill "
            "it in, or leave it out."
        )
    return np.hstack([part.toarray() if hasattr(part, "toarray") else part for part in views.arrays])


def new_views(model: Any, X: Any) -> tuple[Any, Any]:
    """Views in partitions as one Dask array, and the way from a block of it to what the model takes."""
    table, widths = _joined(model, X)
    _check_widths(model, widths)
    return table, partial(_block, widths=widths, joined=model._in_rows)


def _check_widths(model: Any, widths: list[int]) -> None:
    if widths != model._widths:
        raise ValueError(
            f"X has views of {widths} features, but {type(model).__name__} was fitted with {model._widths} features."
        )


def _block(X: np.ndarray, *, widths: list[int], joined: bool) -> Any:
    views = check_views(_split(np.asarray(X), widths), [str(v) for v in range(len(widths))], None)
    return in_rows(views) if joined else views


def place_views(model: Any, method: str, X: Any, dtype: Any = np.float64, width: int | None = None) -> Any:
    """What a fitted model says about every partition of views, when it is asked for."""
    table, check = new_views(model, X)
    ways = {"predict": model._prediction.labels, "transform": model._places.distances}
    way = ways.get(method) or getattr(model._places, method)
    return lazily(table, partial(_placed, way=way, check=check), dtype, width)


def _placed(X: np.ndarray, *, way: Any, check: Any) -> np.ndarray:
    return way(check(X))
