"""Fits of Dask arrays and frames: partitions stay where they are, and what comes back is as lazy as X."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from kernelclust._warnings import warn
from kernelclust.estimators._base import check_enough_samples
from kernelclust.estimators._elsewhere import refuse
from kernelclust.kernels import DEFAULT_COMPONENTS, kernel_part
from kernelclust.large import as_rows, beside, fit_shards, lazily, shards_of
from kernelclust.structures import Structure


def fit_partitioned(model: Any, X: Any, y: Any, sample_weight: Any, structure: Structure, **links: Any) -> None:
    """Fit a Dask array or frame (m, d)."""
    featured = hasattr(kernel_part(model.kernel), "features")
    lacking = {
        f"approximation={model.approximation!r}": model.approximation == "cholesky"
        or (model.approximation is None and not featured)
    }
    refuse(model, structure, links, "partitions", lacking)
    names = getattr(X, "columns", None)
    if model.approximation == "auto" and not featured:
        warn(
            f"partitions are compared by a Nystrom approximation of kernel={model.kernel!r} with "
            f"{model.n_components or DEFAULT_COMPONENTS} components; approximation='nystroem' accepts this silently."
        )
    X = as_rows(X)
    check_enough_samples(int(X.shape[0]), structure)
    validate_data(model, _first(X, names), reset=True, skip_check_array=True)
    weight, known = beside(sample_weight, X, "sample_weight"), beside(y, X, "y")
    options = model._options(np.arange(0), 0, structure.n_clusters)
    found = fit_shards(shards_of(X, weight, known), model._request(structure, options))
    model._keep(found)
    model._used, model._asked = None, _ranks(found.few, model._asked, int(X.shape[0]))
    model.medoids_ = found.medoids
    rules = list(zip(found.rules, known or [None] * len(found.rules), strict=True))
    assert found.similarities is not None
    model.labels_ = lazily(X, partial(_labels, raw=found.similarities.features.raw), np.int64, rows=rules)
    if model.position_ is not None:
        width = None if model.position_.ndim == 1 else model.position_.shape[1]
        model.position_ = lazily(X, model._places.position, np.float64, width)
    model._elsewhere = False


def _first(X: Any, names: Any) -> Any:
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

    def spreads(block, weight, _):
        block = model._check_samples(block, reset=False)
        return prediction.spreads(block, np.ones(len(block)) if weight is None else np.asarray(weight))

    X = as_rows(X)
    found = shards_of(X, beside(sample_weight, X, "sample_weight"), None).each(spreads)
    return prediction.share(*np.sum(found, axis=0))


def place_partitioned(model: Any, method: str, X: Any, dtype: Any = np.float64, width: int | None = None) -> Any:
    """A method of a fitted model on every partition, when it is asked for."""
    return lazily(as_rows(X), getattr(model, method), dtype, width)
