"""Fits of Dask arrays and frames: partitions stay where they are, and what comes back is as lazy as X."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from kernelclust._arrays import knows_numpy
from kernelclust._warnings import warn
from kernelclust.estimators._base import check_enough_samples
from kernelclust.estimators._elsewhere import refuse
from kernelclust.kernels import kernel_class
from kernelclust.large import Read, as_parts, as_rows, beside, fit_exact, fit_shards, lazily, shards_of
from kernelclust.structures import Structure, places_of_part


def fit_partitioned(model: Any, X: Any, y: Any, sample_weight: Any, structure: Structure, **links: Any) -> None:
    """Fit a Dask array or frame (m, d)."""
    featured, approximation = kernel_class(model.kernel).has_features, model._approximation_term()
    exact = approximation is None and not featured
    lacking = {
        f"approximation={model.approximation!r}": approximation is not None and not approximation.in_partitions,
        "approximation=None before NumPy 2 and scikit-learn 1.7": exact and not knows_numpy(),
    }
    refuse(model, structure, links, "partitions", lacking)
    names = getattr(X, "columns", None)
    if approximation is not None and approximation.is_auto and not featured:
        warn(
            f"partitions are compared by a Nystrom approximation of kernel={model.kernel!r} with "
            f"{approximation.rank} components; approximation='nystroem' accepts this silently, "
            "approximation=None takes the kernel itself."
        )
    X = as_rows(X)
    check_enough_samples(int(X.shape[0]), structure)
    validate_data(model, first_row(X, names), reset=True, skip_check_array=True)
    weight = beside(sample_weight, X, "sample_weight")
    known = beside(y, X, "y", partial(places_of_part, structure=structure))
    shards, request = shards_of(X, weight, known), model._request(structure, model._make_solver())
    found = fit_exact(shards, request) if exact else fit_shards(shards, request)
    model._keep(found)
    keep_partitioned(model, X, found, known)


def keep_partitioned(model: Any, X: Any, found: Any, known: list | None) -> None:
    """What is remembered of all samples of a fit of partitions."""
    keep_places_of_all(model, found, int(X.shape[0]))
    model.labels_, model.position_ = _given_back(model, X, found, known)
    model._elsewhere = False


def keep_places_of_all(model: Any, found: Any, m: int) -> None:
    """Medoids among all m samples, and who may be asked about."""
    model._used, model._asked = None, _ranks(found.few, model._asked, m)
    model.medoids_ = found.medoids


def _given_back(model: Any, X: Any, found: Any, known: list | None) -> tuple[Any, Any]:
    """Labels and positions in the partitions of X: at hand, or made when they are asked for."""
    if found.whole is not None:
        return as_parts(found.whole, X), None if found.position is None else as_parts(found.position, X)
    rules = list(zip(found.rules, known or [None] * len(found.rules), strict=True))
    labels = lazily(X, partial(_labels, raw=found.similarities.features.raw), np.int64, rows=rules)
    if model.position_ is None:
        return labels, None
    width = None if model.position_.ndim == 1 else model.position_.shape[1]
    return labels, lazily(X, model._places.position, np.float64, width)


def first_row(X: Any, names: Any) -> Any:
    """A row like those of X, with the names of its columns."""
    row = np.zeros((1, X.shape[1]))
    if names is None:
        return row
    import pandas as pd

    return pd.DataFrame(row, columns=list(names))


def _ranks(few: np.ndarray, rank: np.ndarray, m: int) -> np.ndarray:
    asked = np.full(m, -1, dtype=np.intp)
    asked[few] = rank
    return asked


def _labels(X: np.ndarray, rule: Any, *, raw: Any) -> np.ndarray:
    (rule, known), step = rule, 2**14
    X = np.asarray(X)
    found = [rule.labels(raw(X[i : i + step]), None if known is None else known[i : i + step])
             for i in range(0, len(X), step)]  # fmt: skip
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def score_partitioned(model: Any, prediction: Any, X: Any, sample_weight: Any) -> float:
    """`score` from the spreads of all partitions."""
    X = as_rows(X)
    if hasattr(prediction.similarities, "seen_in"):
        return score_rows(_reading(prediction), _seen(model, X), sample_weight, None)
    return score_rows(prediction, X, sample_weight, partial(model._check_samples, reset=False))


def score_rows(prediction: Any, X: Any, sample_weight: Any, check: Any) -> float:
    """The same of rows that `check` makes ready."""
    weight = beside(sample_weight, X, "sample_weight")
    found = shards_of(X, weight, None).each(_spreads, prediction=prediction, check=check)
    return prediction.share(*np.sum(found, axis=0))


def _spreads(X: np.ndarray, weight: Any, _: Any, prediction: Any, check: Any) -> tuple[float, float]:
    X = X if check is None else check(X)
    return prediction.spreads(X, np.ones(len(X)) if weight is None else np.asarray(weight))


def place_partitioned(model: Any, method: str, X: Any, dtype: Any = np.float64, width: int | None = None) -> Any:
    """A method of a fitted model on every partition, when it is asked for."""
    X = as_rows(X)
    if not hasattr(model, "_prediction") or not hasattr(model._prediction.similarities, "seen_in"):
        return lazily(X, getattr(model, method), dtype, width)
    prediction = _reading(model._prediction)
    places = replace(model._places, prediction=prediction)
    ways = {"predict": prediction.labels, "transform": places.distances}
    way = ways.get(method) or getattr(places, method)
    return lazily(_seen(model, X), way, dtype, width)


def _seen(model: Any, X: Any) -> Any:
    """Sums of a Dask array of new samples with clusters that lie in partitions."""
    validate_data(model, first_row(X, None), reset=False, skip_check_array=True)
    return model._prediction.similarities.seen_in(X)


def _reading(prediction: Any) -> Any:
    """The prediction for samples that are given by such sums."""
    read = Read()
    return replace(prediction, similarities=read, judge=read)
