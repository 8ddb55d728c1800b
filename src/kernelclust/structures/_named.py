"""Names of clusters and the samples that tie them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelclust._names import check_name
from kernelclust._warnings import warn

from ._base import Structure

UNKNOWN = ("-1", "", "None", "nan", "<NA>", "NaT")  # as texts, where no cluster is called so
SHOWN = 6


class NameWarning(UserWarning):
    """Names of clusters that could as well be exchanged."""


def cluster_names(structure: Structure | None, n_clusters: int) -> np.ndarray:
    """Return a text for each cluster, (c,): its name, or its number."""
    given = None if structure is None else structure.names
    return np.array([*(given or map(str, range(n_clusters))), None], dtype=object)[:-1]


def named_places(structure: Structure, y: Any) -> Any:
    """Return known labels with names of clusters replaced by their nodes; anything else is left as it is."""
    if y is None or structure.names is None:
        return y
    given = np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1 or not any(isinstance(one, str) for one in given):
        return y
    place = {name: j for j, name in enumerate(structure.names)}
    found = np.full(len(given), -1)
    for i, one in enumerate(given.tolist()):
        if isinstance(one, str) and one in place:
            found[i] = place[one]
        elif str(one) not in UNKNOWN:
            check_name(f"name y[{i}] =", one, structure.names, also=", and -1, None or '' where it is not known")
    return found


def places_of_part(y: Any, structure: Structure) -> Any:
    """Return the nodes of some of the samples, among which there may be none whose label is known."""
    y = np.asarray(y)
    if y.dtype.kind in "iufb":
        return y
    if all(str(one) in UNKNOWN for one in y.tolist()):
        return np.full(len(y), -1)
    if structure.names is None:
        example = next(one for one in y.tolist() if str(one) not in UNKNOWN)
        raise ValueError(f"y holds values such as {example!r}: names need a structure that has them.")
    return named_places(structure, y)


def warn_of_names(structure: Structure, y: Any) -> None:
    """Warn of names that nothing ties to clusters: the structure stays the same when they swap places."""
    if structure.names is None:
        return
    free = [structure.names[j] for j in np.flatnonzero(_exchanged(structure, _places(y, structure.n_clusters)))]
    if free:
        shown = ", ".join(free[:SHOWN]) + (f", ... ({len(free)} in all)" if len(free) > SHOWN else "")
        warn(
            f"the names {shown} may be on the wrong clusters: '{structure!s:.80}' stays the same when they swap "
            "places, and no known label says which is which. Put the names of some samples into y, '' for all others.",
            NameWarning,
        )


def _exchanged(structure: Structure, known: np.ndarray) -> np.ndarray:
    """Return which clusters (c,) a relabelling moves that keeps the known ones and moves most others."""
    c = structure.n_clusters
    benefit = 1.0 - np.eye(c)
    benefit[known, known] = 2.0 * c
    return structure.align(benefit) != np.arange(c)


def _places(y: Any, n_clusters: int) -> np.ndarray:
    """Return the nodes that occur in y; whoever uses y reports what is wrong with it."""
    try:
        given = np.unique(np.asarray([] if y is None else y, dtype=np.float64))
    except (TypeError, ValueError):
        return np.empty(0, dtype=np.intp)
    return given[np.isin(given, np.arange(n_clusters))].astype(np.intp)
