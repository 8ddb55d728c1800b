"""Samples as they are given, recognised once: in the memory of the host, on a device, or in partitions.

`where(X)` is the one question about where samples lie. Its answer takes X, y and weights to where the fit is, and gives
results back to where X was.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from kernelclust._arrays import check_elsewhere, knows_numpy, namespace_of, to_host
from kernelclust._input import rows_are_equal
from kernelclust._progress import log
from kernelclust._warnings import warn
from kernelclust.constraints import check_labels
from kernelclust.engine import Prediction, fit
from kernelclust.engine.holders import (
    ArrayPartitions,
    DaskPartitions,
    DeviceHolder,
    ExactHolder,
    FeatureHolder,
    align_to_partitions,
    as_rows,
    is_partitioned,
    map_partitions,
    reading,
)
from kernelclust.estimators._base import check_enough_samples
from kernelclust.kernels import kernel_class
from kernelclust.multikernel import columns_of
from kernelclust.objectives import check_weights
from kernelclust.structures import Structure, nodes_of_batch

ARRAYS = ("labels_", "position_", "sizes_", "medoids_")  # that lie where X does


def where(X: Any) -> Host:
    """Recognise where samples, or views of them, lie."""
    views = X if isinstance(X, (list, tuple)) else [X]
    if any(map(is_partitioned, views)):
        return InPartitions()
    spaces = [(namespace_of(one), one) for one in views]
    for xp, one in spaces:
        if xp is not None:
            return Device(xp, one.device)
    mapped = isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind == "f"
    return MemoryMap() if mapped else Host()


def on_host(values: Any) -> Any:
    """Bring numbers of samples to the host, wherever they are; what numpy takes stays as it is."""
    values = values.compute() if is_partitioned(values) else values
    return values if values is None or namespace_of(values) is None else to_host(values)


class Host:
    """Samples in the memory of the host."""

    name = "on the host"
    stays = False  # whether samples can be read block by block where they are
    elsewhere = False  # whether they are not in the memory of the host

    def back(self, values: Any, X: Any = None) -> Any:
        """Give results to where samples lie, those of X itself in its partitions."""
        return values

    def fit(self, model: Any, X: Any, y: Any, sample_weight: Any, structure: Structure, links: dict[str, Any]) -> None:
        """Fit an estimator whose samples are one table."""
        model._fitted_on_device = False
        model._fit_here(X, on_host(y), on_host(sample_weight), structure, links)

    def brought(self, X: Any) -> Any:
        """Samples as the checks of the host take them."""
        return X

    def send(self, model: Any) -> None:
        """Give arrays of a fitted model to where X is."""

    def table(self, model: Any, X: Any) -> Any:
        """Check X (n, d), and register its columns."""
        validate_data(model, X, reset=True, skip_check_array=True)
        return X

    def partitions(self, X: Any) -> Any:
        """A table that was checked, block by block."""
        return ArrayPartitions(X, blocks=1)

    def answer(self, model: Any, way: str, X: Any, dtype: Any = np.float64, width: int | None = None, **more: Any):
        """Ask the places of a fitted model about new samples."""
        return self.back(getattr(model._places, way)(model._new_samples(X, **more)))

    def score(self, model: Any, X: Any, sample_weight: Any, **more: Any) -> float:
        new = model._new_samples(X, **more)
        weight = check_weights(on_host(sample_weight), np.empty((new.shape[0], 1), dtype=np.int8))
        return model._prediction.explained(new, weight)

    def each(self, model: Any, function: Callable, X: Any, dtype: Any = np.float64, width: int | None = None) -> Any:
        """function(samples on the host), a row a sample."""
        return self.back(function(self.brought(X)))

    def each_row(self, values: Any, function: Callable, width: int | None = None) -> Any:
        """Return function(values on the host), numbers of samples in and out, where the values lie."""
        return self.back(function(self.brought(values)))


class MemoryMap(Host):
    """Samples in a file."""

    stays = True


class Device(Host):
    """Samples on a device, in a library of the array API."""

    name = "on a device"
    stays = elsewhere = True

    def __init__(self, xp: Any, device: Any):
        self.xp, self.device = xp, device

    def back(self, values, X=None):
        return None if values is None else self.xp.asarray(values, device=self.device)

    def brought(self, X):
        return to_host(X)

    def fit(self, model, X, y, sample_weight, structure, links):
        if exists_between_fitted(model.kernel):
            warn(
                f"kernel={model.kernel!r} is computed on the host: X is copied there, and labels come back to "
                f"{self.device}. kernel='rbf' stays on the device."
            )
            super().fit(model, to_host(check_elsewhere(self.xp, X)), y, sample_weight, structure, links)
        else:
            self._fit(model, X, y, sample_weight, structure, links)
        self.send(model)

    def send(self, model: Any) -> None:
        """Give arrays of a fitted model to where X is."""
        for name in ARRAYS:
            setattr(model, name, self.back(getattr(model, name)))

    def table(self, model, X):
        X = check_elsewhere(self.xp, X)
        return super().table(model, X)

    def _numbers(
        self, model: Any, X: Any, y: Any, sample_weight: Any, structure: Structure
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Weights and known labels on the host; an error where they lie on another device than X."""
        for name, other in {"sample_weight": sample_weight, "y": y}.items():
            device = getattr(other, "device", None)
            if namespace_of(other) is not None and device != X.device:
                raise ValueError(f"X is on device {X.device}, but {name} is on {device}: move one to the other.")
        m = int(X.shape[0])
        weight = check_weights(on_host(sample_weight), np.empty((m, 1), dtype=np.int8))
        y = model._known_places(structure, on_host(y))
        known = None if y is None else check_labels(y, m, structure.n_clusters)
        return weight, None if known is None or (known < 0).all() else known

    def weighted(self, model: Any, X: Any, y: Any, sample_weight: Any, structure: Structure) -> ArrayPartitions:
        """The rows of a table in partitions, with weights and known labels beside them."""
        weight, known = self._numbers(model, X, y, sample_weight, structure)
        check_enough_samples(int((weight > 0).sum()), structure)
        return ArrayPartitions(X, weight, known)

    def columns(self, X: Any, views: Any) -> tuple[list[Any], list[str]]:
        return columns_of(X, views)

    def alike(self, views: list[Any], names: list[str]) -> list[Any]:
        """Views that were checked, all of one library on one device."""
        devices = {str(getattr(one, "device", "host")) for one in views}
        if any(namespace_of(one) is not self.xp for one in views) or len(devices) > 1:
            raise TypeError(
                f"views are of different libraries or on different devices ({', '.join(sorted(devices))}): give all "
                "of them as arrays of one library on one device."
            )
        return [check_elsewhere(self.xp, one, name) for one, name in zip(views, names, strict=True)]

    def side_by_side(self, views: list[Any]) -> Any:
        xp = self.xp
        single = all(one.dtype == xp.float32 for one in views)
        return xp.concat([xp.astype(one, xp.float32 if single else xp.float64) for one in views], axis=1)

    def _fit(self, model: Any, X: Any, y: Any, sample_weight: Any, structure: Structure, links: dict[str, Any]) -> None:
        more = {f"approximation={model.approximation!r}": not model._is_exact()}
        refuse_fit(model, structure, links, "arrays on a device", more)
        X, xp = self.table(model, X), self.xp
        m = int(X.shape[0])
        weight, known = self._numbers(model, X, y, sample_weight, structure)
        used = np.flatnonzero(weight > 0)
        check_enough_samples(len(used), structure)
        if known is None and rows_are_equal(to_host(xp.stack([xp.min(X, axis=0), xp.max(X, axis=0)]))):
            return super().fit(model, to_host(X), y, sample_weight, structure, links)
        everything = len(used) == m
        samples = X if everything else xp.take(X, xp.asarray(used, device=X.device), axis=0)
        w = xp.asarray(weight[used], dtype=xp.float64, device=X.device)
        holder = DeviceHolder(xp, samples, w, None if known is None else known[used])
        found = fit(holder, model._fit_config(structure, model._make_solver()), model._warn_of_scales)
        model._keep(found)
        model._fitted_on_device, model._used = True, None if everything else used
        if not everything:
            self._place_rest(model, X, used, known)
        if known is not None:
            model._asked[known >= 0] = -1

    def _place_rest(self, model: Any, X: Any, used: np.ndarray, known: np.ndarray | None) -> None:
        """Label samples of weight zero as new ones, but where their label is known."""
        out = np.full(int(X.shape[0]), -1, dtype=model.labels_.dtype)
        out[used] = model.labels_
        rest = np.flatnonzero(out < 0)
        new = self.xp.take(X, self.xp.asarray(rest, device=X.device), axis=0)
        out[rest] = model._prediction.labels(new)
        if known is not None:
            out[rest] = np.where(known[rest] >= 0, known[rest], out[rest])
        model._keep_rest(new, rest, used, out)
        model.labels_ = out


class InPartitions(Host):
    """Samples in Dask arrays and frames: partitions stay where they are, and what comes back is as lazy as X."""

    name = "in partitions"
    stays = elsewhere = True

    def fit(self, model, X, y, sample_weight, structure, links):
        declared, approximation = kernel_class(model.kernel), model._approximation_term()
        featured = declared.has_features or declared.learns_features
        exact = approximation is None and not featured
        lacking = {
            f"approximation={model.approximation!r}": approximation is not None and not approximation.in_partitions,
            "approximation=None before NumPy 2 and scikit-learn 1.7": exact and not knows_numpy(),
        }
        refuse_fit(model, structure, links, "partitions", lacking)
        if approximation is not None and approximation.is_auto and not featured:
            warn(
                f"Dask input is compared by a Nystrom approximation of kernel={model.kernel!r} with "
                f"{approximation.rank} components; approximation='nystroem' accepts this silently, "
                "approximation=None takes the kernel itself."
            )
        X = self.table(model, X)
        check_enough_samples(int(X.shape[0]), structure)
        partitions = self.weighted(model, X, y, sample_weight, structure)
        holder = ExactHolder(partitions) if exact else FeatureHolder(partitions, model._kernel_term(), approximation)
        found = fit(holder, model._fit_config(structure, model._make_solver()), model._warn_of_scales)
        model._keep(found)
        model._fitted_on_device, model._used = False, None

    def table(self, model, X):
        check_names(model, X, reset=True)
        return as_rows(X)

    def partitions(self, X):
        return DaskPartitions(X)

    def back(self, values, X=None):
        return DaskPartitions(X).spread(values)

    def weighted(self, model: Any, X: Any, y: Any, sample_weight: Any, structure: Structure) -> DaskPartitions:
        """The partitions of a table, with weights and known labels beside them."""
        y = y if is_partitioned(y) else model._known_places(structure, on_host(y))
        known = align_to_partitions(y, X, "y", partial(nodes_of_batch, structure=structure))
        return DaskPartitions(X, align_to_partitions(sample_weight, X, "sample_weight"), known)

    def columns(self, X: Any, views: Any) -> tuple[list[Any], list[str]]:
        found, names = columns_of(X._meta if hasattr(X, "columns") else X, views)  # no rows, but names and types
        return [one if is_partitioned(one) else X[list(one.columns)] for one in found], names

    def alike(self, views: list[Any], names: list[str]) -> list[Any]:
        """Views that were checked, all of them in partitions."""
        other = [name for name, one in zip(names, views, strict=True) if not is_partitioned(one)]
        if other:
            raise TypeError(
                f"{other[0]} is in memory, others are Dask collections: give all views as Dask arrays or frames."
            )
        return [as_rows(one, name) for one, name in zip(views, names, strict=True)]

    def side_by_side(self, views: list[Any]) -> Any:
        import dask.array as da

        if any(one.chunks[0] != views[0].chunks[0] for one in views):
            log("the views lie in different partitions: all are rechunked to those of the first, in every round")
            views = [one.rechunk({0: views[0].chunks[0]}) for one in views]
        return views[0] if len(views) == 1 else da.concatenate(views, axis=1).rechunk({1: -1})

    def answer(self, model, way, X, dtype=np.float64, width=None, **more):
        rows, places, check = self._asked(model, X, **more)
        return map_partitions(rows, partial(_placed, way=getattr(places, way), check=check), dtype, width)

    def score(self, model, X, sample_weight, **more):
        rows, places, check = self._asked(model, X, **more)
        weighted = DaskPartitions(rows, align_to_partitions(sample_weight, rows, "sample_weight"))
        found = weighted.each(_spreads, prediction=places.prediction, check=check)
        *spreads, total = np.sum(found, axis=0) if found else (0.0, 0.0, 0.0)
        if not total > 0:
            raise ValueError("X has no samples of positive weight: there is nothing to score.")
        return places.prediction.share(*spreads)

    def each(self, model, function, X, dtype=np.float64, width=None):
        check_names(model, X)
        return map_partitions(as_rows(X), getattr(_nameless(model), function.__name__), dtype, width)

    def each_row(self, values, function, width=None):
        return map_partitions(values, function, np.float64, width)

    def _asked(self, model: Any, X: Any, **more: Any) -> tuple[Any, Any, Callable | None]:
        """Rows in partitions, what is asked about them, and the way from a block of them to what it takes."""
        check_names(model, X)
        rows, check = _nameless(model)._new_rows(X, **more)
        seen_in = getattr(model._prediction.similarities, "seen_in", None)
        if seen_in is None:
            return rows, model._places, check
        return seen_in(rows), replace(model._places, prediction=reading(model._prediction)), None


def _placed(X: np.ndarray, *, way: Callable, check: Callable | None) -> np.ndarray:
    return way(X if check is None else check(X))


def _spreads(X: np.ndarray, weight: Any, _: Any, prediction: Prediction, check: Any) -> tuple[float, float, float]:
    X = X if check is None else check(X)
    weight = np.ones(X.shape[0]) if weight is None else np.asarray(weight, dtype=float)
    if not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError("sample_weight is negative or not finite; weights count copies: use zero or more.")
    return *prediction.spreads(X, weight), float(weight.sum())


def check_names(model: Any, X: Any, *, reset: bool = False) -> None:
    """Check number and names of the columns of a Dask array or frame as scikit-learn does; views are checked alone."""
    if not isinstance(X, (list, tuple)) and X.ndim == 2:  # other shapes are refused where rows are made of it
        validate_data(model, first_row(X, getattr(X, "columns", None)), reset=reset, skip_check_array=True)


def _nameless(model: Any) -> Any:
    """Return the model for blocks of columns that were checked: they are arrays, and have no names any more."""
    model = copy(model)
    model.__dict__.pop("feature_names_in_", None)
    return model


def first_row(X: Any, names: Any) -> Any:
    """A row like those of X, with the names of its columns."""
    row = np.zeros((1, X.shape[1]))
    if names is None:
        return row
    import pandas as pd

    return pd.DataFrame(row, columns=list(names))


def new_samples(model: Any, X: Any) -> Any:
    """New samples, checked, on the host or on a device where a model was fitted there."""
    xp = namespace_of(X)
    if not model._fitted_on_device:
        return model._check_samples(X if xp is None else to_host(X), reset=False)
    X = model._check_samples(X, reset=False) if xp is None else check_elsewhere(xp, X)
    validate_data(model, X, reset=False, skip_check_array=True)
    return X


# -- what is there beyond the memory of the host -----------------------------------------------------------------------


def exists_between_fitted(kernel: Any) -> bool:
    """Return whether a kernel is computed from all fitted samples together on the host ("graph", "diffusion")."""
    return not (runs_elsewhere(kernel) or kernel_class(kernel).pairwise)


def runs_elsewhere(kernel: Any) -> bool:
    """Return whether a kernel can compare samples that are not in the memory of the host."""
    declared = kernel_class(kernel)
    return declared.is_function or declared.learns_features


def refuse(model: Any, links: dict[str, Any], where: str, missing: dict[str, bool], remedy: str) -> None:
    """An error for what is not supported yet beyond the memory of the host."""
    missing = missing | {
        "must_link and cannot_link": links["must_link"] is not None or links["cannot_link"] is not None,
        "min_cluster_size": model.min_cluster_size is not None,
        "max_cluster_size": model.max_cluster_size is not None,
        "label_weight": model.label_weight is not None,
    }
    absent = [what for what, there in missing.items() if there]
    if absent:
        raise ValueError(f"{', '.join(absent)}: not supported yet for {where}{remedy}")


def refuse_fit(model: Any, structure: Structure, links: dict[str, Any], where: str, more: dict[str, bool]) -> None:
    """An error for what an estimator of one table asks for, and is not supported yet."""
    solver, runs = model._make_solver(), runs_elsewhere(model.kernel)
    missing = {
        **dict.fromkeys(solver.unsupported_beyond_host(), True),
        f"{type(model).__name__}, a discriminative kernel,": model._fit_config(structure, solver).ridge is not None,
        f"kernel={model.kernel!r}": not runs,
    }
    remedy = "" if runs else "Take kernel='auto', 'rbf' or 'linear' there. "
    refuse(model, links, where, missing | more, f". {remedy}Give a numpy array to fit on the host.")
