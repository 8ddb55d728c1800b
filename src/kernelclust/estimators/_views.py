"""Views of samples that lie elsewhere: joined column by column, and weighed by sums over all samples."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from kernelclust._arrays import to_host
from kernelclust._progress import progress_listener, set_step
from kernelclust._warnings import warn
from kernelclust.engine import go_on
from kernelclust.engine.holders import (
    FeaturePool,
    Features,
    Partitions,
    feature_gram,
    feature_moments,
    look_at_all,
    products,
)
from kernelclust.estimators._base import check_enough_samples
from kernelclust.estimators._data import first_row, refuse
from kernelclust.kernels import Kernel
from kernelclust.multikernel import (
    FeatureAlternation,
    ManyFit,
    Views,
    check_views,
    feature_alternation,
    fit_many,
    is_auto,
    kernels_of,
    raw_features,
)
from kernelclust.structures import Structure


def fit_views(
    model: Any, place: Any, X: Any, y: Any, sample_weight: Any, structure: Structure, more: dict[str, Any]
) -> None:
    """Fit views (m, d_v) that are Dask arrays or frames, or arrays of one library of the array API, where they are."""
    kernels = _check(model, X, more, place.name == "on a device")
    table, widths = _joined(model, place, X)
    check_enough_samples(int(table.shape[0]), structure)
    many = isinstance(X, (list, tuple))
    if not many:
        validate_data(model, first_row(X, getattr(X, "columns", None)), reset=True, skip_check_array=True)
    model._check_columns(widths, X, reset=True)
    partitions = place.weighted(model, table, y, sample_weight, structure)
    found, weights, features = _fit(model, partitions, widths, kernels, structure)
    model._keep(found)
    model._used, model._in_rows = None, True
    place.send(model)
    image = weights.embedding_map()
    model._diagnostics["embedding"] = partitions.rows(products, np.float64, image.shape[1], raw=features, image=image)


def _fit(model: Any, partitions: Partitions, widths: list[int], kernels: list[Kernel], structure: Structure) -> tuple:
    """The fit of all views side by side, the weights, and the features of all kernels."""
    rng, c = check_random_state(model.random_state), structure.n_clusters
    subsample = look_at_all(partitions, c, rng, names=_names(widths))
    config = model._fit_config(structure)
    approximation = None if config.approximation is None else config.approximation.beyond_limit()
    config = replace(config, approximation=approximation, random_state=rng)
    views = Views(_split(subsample.X, widths), np.ones((len(subsample.X), len(widths)), dtype=bool))
    with progress_listener(None):  # stages of the start are not those of the whole
        few = fit_many(views, subsample.weight, config, subsample.constraints(c))
    raw = raw_features(few, _slices(widths), kernels)
    width = raw.columns[-1].stop
    set_step("means of {} features of all samples", width)
    moments = partitions.each(feature_moments, raw=raw, width=width)
    total = sum(moments[1:], moments[0])
    given = total.weight, total.first, total.second, total.largest
    features = raw.over_all(*given, unit=bool(config.method.unit_diagonal), center=bool(config.method.center))
    set_step("products of {} features of all samples", width)
    gram = sum(partitions.each(feature_gram, raw=features, width=width))
    objective, min_weight = few.fit.moving_objective, subsample.min_weight
    weights = feature_alternation(gram, features.columns, few, config, objective, total.weight, min_weight)
    pool = FeaturePool.of(partitions, Features(features, weights.scale, center=False), subsample, few.fit)
    climbing = {"max_iter": int(model.max_iter), "report": model._report}
    found = go_on(pool, subsample, few.fit, config.objective.rule, climbing, partial(_relearned, weights))
    return ManyFit(found, weights.relaxed, weights.refined(found.labels), weights.explained), weights, features


def _relearned(weights: FeatureAlternation, pool: FeaturePool, moved: bool) -> bool:
    total = pool.total
    going = weights.learn_features(total.features, total.n, moved)
    pool.features = replace(pool.features, T=weights.scale)
    return going


# -- views as one table ------------------------------------------------------------------------------------------------


def _check(model: Any, X: Any, more: dict[str, Any], device: bool) -> list[Kernel]:
    """The kernels, one after the other; an error for what is not supported yet beyond the memory of one machine."""
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
        "samples that views miss (observed)": more["observed"] is not None,
    }
    where = "on a device" if device else "in partitions"
    remedy = (
        ", which take method='average' and 'mkkm-mr' with kernels such as 'rbf' or 'linear'. Give numpy arrays to fit "
        "in memory."
    )
    refuse(model, more, f"views {where}", missing, remedy)
    if approximation is not None and approximation.is_auto and approximate:
        warn(
            f"views {where} are compared by a Nystrom approximation of kernel={model.kernel!r} with "
            f"{approximation.rank} components each; approximation='nystroem' accepts this "
            "silently."
        )
    return kernels


def _joined(model: Any, place: Any, X: Any) -> tuple[Any, list[int]]:
    """All views as one table, and how many columns each has."""
    if not isinstance(X, (list, tuple)):
        parts, names = ([X], ["X"]) if model.views is None else place.columns(X, model.views)
    elif model.views is not None:
        raise ValueError("X is a list of views already; give views=None, or one table.")
    else:
        parts, names = list(X), [f"view {v}" for v in range(len(X))]
    parts = place.alike(parts, names)
    sizes = [int(one.shape[0]) for one in parts]
    if len(set(sizes)) > 1:
        raise ValueError(f"views differ in their numbers of samples: {sizes}. Row i of all must be the same sample.")
    return place.side_by_side(parts), [int(one.shape[1]) for one in parts]


def _slices(widths: list[int]) -> list[slice]:
    ends = np.cumsum([0, *widths]).tolist()
    return [slice(*pair) for pair in pairwise(ends)]


def _split(X: np.ndarray, widths: list[int]) -> list[np.ndarray]:
    return [X[:, columns] for columns in _slices(widths)]


def _names(widths: list[int]) -> list[str]:
    """Return the column names of all views, for errors."""
    if len(widths) == 1:
        return [f"column {j}" for j in range(widths[0])]
    return [f"column {j} of view {v} (a sample must be in all views)" for v, d in enumerate(widths) for j in range(d)]


# -- new samples -------------------------------------------------------------------------------------------------------


def new_views(model: Any, place: Any, X: Any) -> tuple[Any, Any]:
    """New samples as one table where they lie, and the way from a block of it to what the model takes."""
    table, widths = _joined(model, place, X)
    model._check_columns(widths, X, reset=False)
    return table, partial(_block, widths=widths, joined=model._in_rows)


def _block(X: np.ndarray, *, widths: list[int], joined: bool) -> Any:
    views = check_views(_split(to_host(X), widths), [str(v) for v in range(len(widths))], None)
    return in_rows(views) if joined else views


def in_rows(views: Views) -> np.ndarray:
    """New samples as one table, for a model that was fitted so."""
    if not views.observed.all():
        row, view = np.argwhere(~views.observed)[0]
        raise ValueError(
            f"sample {row} is missing from view {view}: not supported yet for a model that was fitted in partitions. "
            "Fill it in, or leave it out."
        )
    return np.hstack([part.toarray() if hasattr(part, "toarray") else part for part in views.arrays])
