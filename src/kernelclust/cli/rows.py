"""Results of a model for each row: cluster, position, membership."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from kernelclust import _progress
from kernelclust.cli.guard import warn
from kernelclust.estimators import has_intervals

BLOCK = 20_000  # rows at a time


def predicted(model: Any, X: Any, what: str) -> np.ndarray:
    """Return the clusters of many rows."""
    with _progress.working(what):
        return _by_blocks(model.predict, X).astype(np.intp)


def asked_columns(arguments: SimpleNamespace, model: Any, X: Any, *, fitted: bool) -> dict[str, np.ndarray]:
    """Return the columns that --positions and --membership add to the labels; `fitted` if X are the rows of the fit."""
    columns: dict[str, np.ndarray] = {}
    if arguments.positions and model.position_ is None:
        warn(arguments, f"{model.structure_} has no positions between its clusters; --positions is ignored.")
    elif arguments.positions:
        position = model.position_ if fitted else _by_blocks(model.position, X)
        if position.ndim == 1:
            columns["position"] = position
            if has_intervals(model):
                interval = model.position_interval() if fitted else _by_blocks(model.position_interval, X)
                columns |= {"position_low": interval[:, 0], "position_high": interval[:, 1]}
        else:
            columns |= {f"position_{k}": axis for k, axis in enumerate(position.T, start=1)}
    if arguments.membership:
        shares = _by_blocks(model.membership, X)
        columns |= {f"membership_{name}": share for name, share in zip(model.cluster_names_, shares.T, strict=True)}
    return columns


def _by_blocks(function: Callable[[Any], np.ndarray], X: Any) -> np.ndarray:
    """Return what a function gives for X, or for a list of views, block by block."""
    n = (X[0] if isinstance(X, list) else X).shape[0]
    pieces = []
    for start in range(0, n, BLOCK):
        _progress.overall_progress(start, n)
        rows = slice(start, start + BLOCK)
        pieces.append(np.asarray(function([view[rows] for view in X] if isinstance(X, list) else X[rows])))
    return np.concatenate(pieces)
