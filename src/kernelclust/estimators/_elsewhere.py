"""Fits of arrays that live elsewhere: what can be asked for there, and arrays given back where X was."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from kernelclust._arrays import check_elsewhere, namespace_of, to_host
from kernelclust._input import rows_are_equal
from kernelclust._warnings import warn
from kernelclust.constraints import check_labels
from kernelclust.estimators._base import check_enough_samples, equal_labels
from kernelclust.kernels import kernel_class
from kernelclust.large import grow
from kernelclust.objectives import check_weights
from kernelclust.structures import Structure

ARRAYS = ("labels_", "position_", "sizes_", "medoids_")


def exists_between_fitted(kernel: Any) -> bool:
    """Whether a kernel is made of the fitted samples together, by an algorithm of the host ("auto", "graph")."""
    declared = kernel_class(kernel)
    return not declared.is_function and not declared.pairwise


def fit_elsewhere(model: Any, xp: Any, X: Any, y: Any, sample_weight: Any, structure: Structure, **links: Any) -> None:
    """Fit X (m, d), an array of the namespace xp, on the device where it lies."""
    refuse(
        model, structure, links, "arrays on a device", {f"approximation={model.approximation!r}": not model._is_exact()}
    )
    X = check_elsewhere(xp, X)
    validate_data(model, X, reset=True, skip_check_array=True)
    m = int(X.shape[0])
    for name, other in {"sample_weight": sample_weight, "y": y}.items():
        device = getattr(other, "device", None)
        if namespace_of(other) is not None and device != X.device:
            raise ValueError(f"X is on device {X.device}, but {name} is on {device}: move one to the other.")
    like = np.empty((m, 1), dtype=np.int8)
    weight = check_weights(None if sample_weight is None else to_host(sample_weight), like)
    used = np.flatnonzero(weight > 0)
    check_enough_samples(len(used), structure)
    known = None if y is None else check_labels(to_host(y), m, structure.n_clusters)
    known = None if known is None or (known < 0).all() else known
    if known is None and rows_are_equal(to_host(xp.stack([xp.min(X, axis=0), xp.max(X, axis=0)]))):
        known = equal_labels([np.zeros((m, 1))], structure.n_clusters)
    everything = len(used) == m
    solver = model._make_solver().for_samples(used, m, structure.n_clusters)
    there = None if everything else xp.asarray(used, device=X.device)
    samples = X if there is None else xp.take(X, there, axis=0)
    w = xp.asarray(weight[used], dtype=xp.float64, device=X.device)
    found = grow(xp, samples, w, model._request(structure, solver), None if known is None else known[used])
    model._keep(found)
    model._used, model.labels_ = None if everything else used, found.labels
    if not everything:
        model.labels_ = _with_rest(model, xp, X, used, found.labels, known)
    if known is not None:
        model._asked[known >= 0] = -1
    send(model, xp, X)
    model._elsewhere = not exists_between_fitted(model.kernel)


def refuse(model: Any, structure: Structure, links: dict[str, Any], where: str, more: dict[str, bool]) -> None:
    """An error for what is not there yet beyond the memory of the host."""
    solver = model._make_solver()
    missing = {
        **dict.fromkeys(solver.unsupported_beyond_host(), True),
        f"{type(model).__name__}, a discriminative kernel,": model._request(structure, solver).ridge is not None,
        "must_link and cannot_link": any(link is not None for link in links.values()),
        "min_cluster_size": model.min_cluster_size is not None,
        "max_cluster_size": model.max_cluster_size is not None,
        "label_weight": model.label_weight is not None,
        f"kernel={model.kernel!r}": not kernel_class(model.kernel).is_function,
    }
    absent = [what for what, there in (missing | more).items() if there]
    if absent:
        remedy = "" if kernel_class(model.kernel).is_function else "Take kernel='rbf' or 'linear' there. "
        raise ValueError(
            f"{', '.join(absent)}: not there yet for {where}. {remedy}Give a numpy array to fit on the host."
        )


def _with_rest(
    model: Any, xp: Any, X: Any, used: np.ndarray, labels: np.ndarray, known: np.ndarray | None
) -> np.ndarray:
    """Labels of all samples, those of weight zero placed as new ones, but where they are known."""
    out = np.full(int(X.shape[0]), -1, dtype=labels.dtype)
    out[used] = labels
    rest = np.flatnonzero(out < 0)
    new = xp.take(X, xp.asarray(rest, device=X.device), axis=0)
    out[rest] = model._prediction.labels(new)
    if known is not None:
        out[rest] = np.where(known[rest] >= 0, known[rest], out[rest])
    model._keep_rest(new, rest, used, out)
    return out


def new_elsewhere(model: Any, X: Any) -> Any:
    """New samples for a model that was fitted elsewhere."""
    xp = namespace_of(X)
    X = model._check_samples(X, reset=False) if xp is None else check_elsewhere(xp, X)
    validate_data(model, X, reset=False, skip_check_array=True)
    return X


def given_back(values: Any, X: Any) -> Any:
    """Results in the library and on the device of X, or of its first view."""
    X = X[0] if isinstance(X, (list, tuple)) and len(X) else X
    xp = namespace_of(X)
    return values if xp is None else xp.asarray(values, device=X.device)


def on_host_instead(model: Any, xp: Any, X: Any, y: Any, sample_weight: Any, **links: Any) -> Any:
    """Fit on the host, for kernels that exist there alone, and give arrays back to where X is."""
    warn(
        f"kernel={model.kernel!r} is computed on the host: X is copied there, and labels come back to {X.device}. "
        "kernel='rbf' stays on the device."
    )
    given = [None if one is None else to_host(one) for one in (y, sample_weight)]
    model._fit(to_host(check_elsewhere(xp, X)), *given, **links)
    send(model, xp, X)
    model._elsewhere = not exists_between_fitted(model.kernel)
    return model


def send(model: Any, xp: Any, X: Any) -> None:
    """Arrays of a fit to where X is."""
    for name in ARRAYS:
        value = getattr(model, name)
        setattr(model, name, None if value is None else xp.asarray(value, device=X.device))
