"""Structures that a fit finds: clusters without structure first, then the structure that they speak for."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelclust._warnings import warn
from kernelclust.engine._shapes import structure_probabilities
from kernelclust.engine._structure_table import StructureTable
from kernelclust.engine._structures import MAX_CLUSTERS, MIN_CLUSTERS
from kernelclust.structures import Auto, Chain, Custom, Flat, Grid, Ring, Structure, Tree

LIKELY_LINK = 0.5  # probability from which a graph has a link


def check_sought(structure: Structure) -> None:
    """Refuse numbers of clusters whose structures cannot be compared."""
    c = structure.n_clusters
    if c < MIN_CLUSTERS:
        raise ValueError(
            f"structure '{structure}': the structure of {c} clusters cannot be estimated, because they have "
            f"{'three arrangements' if c == 3 else 'one arrangement'} at most; give {MIN_CLUSTERS} to {MAX_CLUSTERS}, "
            "or name a structure."
        )
    if c > MAX_CLUSTERS:
        raise ValueError(
            f"structure '{structure}': structures are compared up to {MAX_CLUSTERS} clusters, as arrangements of {c} "
            "are too many to sum over; find the structure of fewer clusters, or name one."
        )


def found_structure(table: StructureTable | None, sought: Any) -> tuple[Structure, np.ndarray | None]:
    """Return the structure that a table speaks for, and the node (c,) of each cluster.

    No nodes where a search on the structure is to arrange the clusters: chains, rings, grids, and structures that were
    to choose from. Trees, graphs and hierarchies are found with their clusters, which are nodes or leaves.
    """
    c = sought.n_clusters
    if table is None:
        warn(
            f"structure '{sought}': structures could not be compared, as a cluster is empty or all clusters are equal. "
            "The clusters are flat, and have no order."
        )
        return Flat(c), None
    if sought.goal == "graph":
        return _graph(table.links > LIKELY_LINK)
    if sought.goal == "tree":
        return structure_of(table, "tree")
    if isinstance(sought, Auto) and sought.among:
        p = structure_probabilities(table, sought.among)
        return sought.among[int(np.argmax(p))], None
    return structure_of(table, table.rows[0].name)


def structure_of(table: StructureTable, name: str) -> tuple[Structure, np.ndarray | None]:
    """Return the structure of a family in its best arrangement, and the node of each cluster where it is found with
    them.
    """
    arrangement, c = table[name].arrangement, len(table.links)
    if name == "tree":
        linked = np.zeros((c, c), dtype=bool)
        for j, k in arrangement:
            linked[j, k] = linked[k, j] = True
        return _graph(linked)
    if name == "hierarchy":
        node = np.empty(c, dtype=np.intp)
        nested = _leaves_in_order(arrangement, node, [0])
        return Tree(nested), node
    if name == "grid":
        return Grid(len(arrangement), len(arrangement[0])), None
    return {"flat": Flat, "chain": Chain, "ring": Ring}[name](c), None


def _graph(linked: np.ndarray) -> tuple[Structure, np.ndarray | None]:
    """Return a graph whose nodes are the clusters; the name of it where it is a chain."""
    c, degree = len(linked), linked.sum(axis=0)
    if not linked.any():
        return Flat(c), None
    ends = np.flatnonzero(degree == 1)
    if linked.sum() == 2 * (c - 1) and degree.max() == 2 and len(ends) == 2:
        order, before = [int(ends[0])], -1
        while len(order) < c and (ahead := [k for k in np.flatnonzero(linked[order[-1]]) if k != before]):
            before = order[-1]
            order.append(int(ahead[0]))
        if len(order) == c:
            return Chain(c), np.argsort(order)
    return Custom.from_links(linked), np.arange(c)


def _leaves_in_order(nested: Any, node: np.ndarray, count: list[int]) -> Any:
    """Return nested names of leaves from left to right, and write where each cluster is."""
    if isinstance(nested, tuple):
        return [_leaves_in_order(part, node, count) for part in nested]
    node[nested] = count[0]
    count[0] += 1
    return str(count[0] - 1)
