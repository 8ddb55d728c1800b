"""Kernel entries made tile by tile: one half of the symmetric square, in cache, by several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kernelclust._threads import in_order

TILE = 512  # rows and columns of a tile: 1 MB in single precision

Function = Callable[[Any, Any], np.ndarray]  # prepared samples (n, d), (k, d) -> similarities (n, k)


def _each(function: Function, work: Callable, items) -> Iterable:
    """work(item) in order, by several threads where the function bears it."""
    return in_order(work, items) if getattr(function, "in_threads", True) else map(work, items)


def stripes(m: int) -> list[slice]:
    return [slice(start, min(start + TILE, m)) for start in range(0, m, TILE)]


class Moments:
    """K share (m,) and the sum of w_i w_j K_ij^2, gathered while tiles are at hand."""

    def __init__(self, weight: np.ndarray, share: np.ndarray, dtype):
        self.weight, self.even = weight.astype(dtype), bool(np.all(weight == 1))
        self.share = share
        self.row_mean, self.square = np.zeros(len(weight)), 0.0

    def of(self, T: np.ndarray, rows: slice, columns: slice) -> float:
        """The square of a tile and, off the diagonal, of its mirror image."""
        if self.even:
            flat = T.ravel()
            square = float(np.dot(flat, flat))
        else:
            square = float(self.weight[rows] @ (np.square(T) @ self.weight[columns]))
        return square if rows == columns else 2 * square


def product(function: Function, Z, V: np.ndarray, dtype, moments: Moments | None = None) -> np.ndarray:
    """K V (m, k) for K = function(Z, Z), never stored; each entry is made once and used for both its places.

    Tiles are of `dtype`, sums of tiles double.
    """
    m = Z.shape[0]
    if moments is not None:
        V = np.column_stack([V, moments.share])
    V = np.ascontiguousarray(V, dtype=dtype)
    pieces = stripes(m)

    def stripe(number: int) -> tuple[np.ndarray, float]:
        rows = pieces[number]
        out, square = np.zeros((m - rows.start, V.shape[1])), 0.0
        for columns in pieces[number:]:
            T = function(Z[rows], Z[columns]).astype(dtype, copy=False)
            out[columns.start - rows.start : columns.stop - rows.start] += T.T @ V[rows]
            if columns != rows:
                out[: rows.stop - rows.start] += T @ V[columns]
            if moments is not None:
                square += moments.of(T, rows, columns)
        return out, square

    total = np.zeros((m, V.shape[1]))
    for rows, (part, square) in zip(pieces, _each(function, stripe, range(len(pieces))), strict=True):
        total[rows.start :] += part
        if moments is not None:
            moments.square += square
    if moments is None:
        return total
    moments.row_mean = total[:, -1].copy()
    return total[:, :-1]


def matrix(function: Function, Z, dtype, moments: Moments) -> np.ndarray:
    """K (m x m) = function(Z, Z) in memory."""
    m = Z.shape[0]
    K = np.empty((m, m), dtype=dtype)
    share = moments.share.astype(dtype)
    pieces = stripes(m)

    def stripe(number: int) -> tuple[np.ndarray, float]:
        rows = pieces[number]
        out, square = np.zeros(m - rows.start), 0.0
        for columns in pieces[number:]:
            T = function(Z[rows], Z[columns])
            K[rows, columns] = T
            T = K[rows, columns]
            out[columns.start - rows.start : columns.stop - rows.start] += share[rows] @ T
            if columns != rows:
                K[columns, rows] = T.T
                out[: rows.stop - rows.start] += T @ share[columns]
            square += moments.of(np.ascontiguousarray(T), rows, columns)
        return out, square

    for rows, (part, square) in zip(pieces, _each(function, stripe, range(len(pieces))), strict=True):
        moments.row_mean[rows.start :] += part
        moments.square += square
    return K


def rows(function: Function, Z_rows, Z) -> np.ndarray:
    """function(Z_rows, Z) (n, m) in double precision, made in pieces."""
    out = np.empty((Z_rows.shape[0], Z.shape[0]))
    step = max(TILE, 2**20 // max(1, Z_rows.shape[0]))

    def piece(start: int) -> None:
        out[:, start : start + step] = function(Z_rows, Z[start : start + step])

    for _ in _each(function, piece, range(0, Z.shape[0], step)):
        pass
    return out
