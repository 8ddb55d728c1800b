"""Max-margin clustering of samples that stay where they are: partitions, devices, memory maps."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from kernelclust._arrays import check_elsewhere, namespace_of, to_host
from kernelclust._threads import one_thread
from kernelclust.estimators._elsewhere import given_back
from kernelclust.estimators._partitioned import first_row
from kernelclust.kernels import kernel_class
from kernelclust.large import as_parts, as_rows, is_partitioned, shards_of
from kernelclust.margin import ArrayBlocks, Embedding, solve_blocks
from kernelclust.objectives import check_weights


def in_blocks(model: Any, X: Any) -> bool:
    """Whether X is read block by block: linear kernels do, where X is not an ordinary array in memory."""
    plain = kernel_class(model.kernel).features_are_samples and model.n_components is None and model._is_exact()
    mapped = isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind == "f"
    return plain and (mapped or is_partitioned(X) or namespace_of(X) is not None)


def on_host(X: Any) -> Any:
    """New samples in the memory of the host, where they lie on a device."""
    return X if namespace_of(X) is None else to_host(X)


def fit_blocks(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a Dask array or frame, an array of the array API, or a memory map (n, d)."""
    xp, names = namespace_of(X), getattr(X, "columns", None)
    if is_partitioned(X):
        X = as_rows(X)
        validate_data(model, first_row(X, names), reset=True, skip_check_array=True)
        blocks = shards_of(X, None, None)
    else:
        X = X if xp is None else check_elsewhere(xp, X)
        validate_data(model, X, reset=True, skip_check_array=True)
        blocks = ArrayBlocks(X)
    n, k = int(X.shape[0]), int(model.n_clusters)
    if n < max(k, 2):
        raise ValueError(f"n_samples={n} should be >= {max(k, 2)}: there are fewer samples than clusters, or one.")
    weight = check_weights(sample_weight, np.empty((n, 1), dtype=np.int8))
    if not (weight > 0).all():
        raise ValueError("sample_weight holds zeros: not there yet for samples in blocks. Leave these rows out of X.")
    known = model._check_known(y, n)
    with one_thread():
        planes = solve_blocks(
            blocks,
            int(X.shape[1]),
            weight,
            model._problem(),
            known=known if (known >= 0).any() else None,
            n_init=model._starts(),
            rng=check_random_state(model.random_state),
            n_jobs=model.n_jobs,
            report=model._report,
        )
    model._keep(Embedding.of(None), planes, weight)
    model._used = None
    model.labels_ = as_parts(planes.labels, X) if is_partitioned(X) else given_back(planes.labels, X)
    model._judge(planes, False)


def numbers(values: Any) -> Any:
    """Numbers of samples on the host, wherever they were."""
    values = values.compute() if is_partitioned(values) else values
    return values if values is None or namespace_of(values) is None else to_host(values)
