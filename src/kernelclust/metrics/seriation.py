"""Criteria of an order of samples, from their distances: path length and anti-Robinson events and deviation.

A matrix of distances is Robinson in an order if they never fall when one goes away from the diagonal: going from any
sample to one side, samples come in the order of their distance. An event is a violation: a sample i and two others j, k
on one side of it, j nearer in the order, with d(i, j) > d(i, k). On a circle a side is one half of it.
(Hubert, Arabie and Meulman, 2001; Chen, 2002; names as in R's package seriation.)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kernelclust._compiled import floats, integers
from kernelclust.metrics._seriation_loops import count_events


def path_length(distances: npt.ArrayLike, order: npt.ArrayLike | None = None, *, cyclic: bool = False) -> float:
    """Return the sum of the distances between neighbours in an order.

    Parameters
    ----------
    distances : array of shape (m, m)
    order : array of shape (m,), optional
        Indices of the samples, first to last; as they stand if None.
    cyclic : bool, default=False
        Whether the last one is a neighbour of the first.

    Examples
    --------
    >>> from kernelclust.metrics import path_length
    >>> D = [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
    >>> path_length(D), path_length(D, [1, 0, 2]), path_length(D, cyclic=True)
    (3.0, 4.0, 6.0)
    """
    D, order = _checked(distances, order)
    steps = D[order[:-1], order[1:]].sum()
    return float(steps + (D[order[-1], order[0]] if cyclic else 0.0))


def anti_robinson_events(distances: npt.ArrayLike, order: npt.ArrayLike | None = None, *, cyclic: bool = False) -> int:
    """Return the number of triples in which a sample is farther than one behind it; parameters as in `path_length`.

    Examples
    --------
    >>> from kernelclust.metrics import anti_robinson_events
    >>> D = [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
    >>> anti_robinson_events(D), anti_robinson_events(D, [1, 0, 2])
    (0, 1)
    """
    return int(_events(distances, order, cyclic)[0])


def anti_robinson_deviation(
    distances: npt.ArrayLike, order: npt.ArrayLike | None = None, *, cyclic: bool = False
) -> float:
    """Return the sum of d(i, j) - d(i, k) over all anti-Robinson events; parameters as in `path_length`.

    Examples
    --------
    >>> from kernelclust.metrics import anti_robinson_deviation
    >>> anti_robinson_deviation([[0, 1, 3], [1, 0, 2], [3, 2, 0]], [1, 0, 2])
    1.0
    """
    return float(_events(distances, order, cyclic)[1])


def _events(distances: npt.ArrayLike, order: npt.ArrayLike | None, cyclic: bool) -> tuple[int, float]:
    D, order = _checked(distances, order)
    found: tuple[int, float] = count_events(floats(D), integers(order), bool(cyclic))
    return found


def _checked(distances: npt.ArrayLike, order: npt.ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    D = np.asarray(distances, dtype=np.float64)
    if D.ndim != 2 or D.shape[0] != D.shape[1] or not len(D):
        raise ValueError(f"distances has shape {D.shape}: give the square matrix of distances between all samples.")
    if not np.isfinite(D).all():
        raise ValueError("distances has NaN or infinite entries; every distance must be a finite number.")
    given = np.arange(len(D)) if order is None else np.asarray(order)
    if given.shape != (len(D),) or not np.array_equal(np.sort(given), np.arange(len(D))):
        raise ValueError(f"order must hold every sample once, 0 to {len(D) - 1}; it has shape {given.shape}.")
    return D, given.astype(np.intp)
