"""Names of clusters, and labels given as names."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelclust._names import check_name
from kernelclust._warnings import warn

from ._base import Structure

UNKNOWN = ("-1", "", "None", "nan", "<NA>", "NaT")  # texts of an unknown label, unless a cluster has this name
MAX_SHOWN = 6  # names in a message


class NameWarning(UserWarning):
    """Warning that names of clusters are exchangeable: nothing decides which cluster has which name."""


def cluster_names(structure: Structure | None, n_clusters: int) -> np.ndarray:
    """Return a text for each cluster, (c,): its name, or its number."""
    given = None if structure is None else structure.names
    return np.array([*(given or map(str, range(n_clusters))), None], dtype=object)[:-1]


def named_nodes(structure: Structure, y: Any) -> Any:
    """Return known labels with names of clusters replaced by their nodes; other labels are returned unchanged."""
    if y is None or structure.names is None:
        return y
    given = np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1 or not any(isinstance(label, str) for label in given):
        return y
    node = {name: j for j, name in enumerate(structure.names)}
    nodes = np.full(len(given), -1)
    for i, label in enumerate(given.tolist()):
        if isinstance(label, str) and label in node:
            nodes[i] = node[label]
        elif str(label) not in UNKNOWN:
            check_name(f"name y[{i}] =", label, structure.names, also=", and -1, None or '' for unknown labels")
    return nodes


def nodes_of_batch(y: Any, structure: Structure) -> Any:
    """Return the nodes of a batch of labels, all of which may be unknown."""
    y = np.asarray(y)
    if y.dtype.kind in "iufb":
        return y
    if all(str(label) in UNKNOWN for label in y.tolist()):
        return np.full(len(y), -1)
    if structure.names is None:
        example = next(label for label in y.tolist() if str(label) not in UNKNOWN)
        raise ValueError(
            f"y contains {example!r}, but clusters of {structure!s:.80} have no names; pass numbers as labels."
        )
    return named_nodes(structure, y)


def warn_of_names(structure: Structure, y: Any) -> None:
    """Warn of names that may be exchanged: the structure allows it, and no label in y decides."""
    if structure.names is None:
        return
    free = [structure.names[j] for j in np.flatnonzero(_exchanged(structure, _known_nodes(y, structure.n_clusters)))]
    if free:
        shown = ", ".join(free[:MAX_SHOWN]) + (f", ... ({len(free)} in all)" if len(free) > MAX_SHOWN else "")
        warn(
            f"the names {shown} may be on the wrong clusters: '{structure!s:.80}' stays the same when they are "
            "exchanged, and no known label decides. Pass the names of some samples in y, with '' for all others.",
            NameWarning,
        )


def _exchanged(structure: Structure, known: np.ndarray) -> np.ndarray:
    """Return a mask (c,) of the clusters moved by the relabelling that keeps the known ones and moves most others."""
    c = structure.n_clusters
    benefit = 1.0 - np.eye(c)
    benefit[known, known] = 2.0 * c
    return structure.align(benefit) != np.arange(c)


def _known_nodes(y: Any, n_clusters: int) -> np.ndarray:
    """Return the nodes that occur in y; invalid labels are reported elsewhere."""
    try:
        given = np.unique(np.asarray([] if y is None else y, dtype=np.float64))
    except (TypeError, ValueError):
        return np.empty(0, dtype=np.intp)
    return given[np.isin(given, np.arange(n_clusters))].astype(np.intp)
