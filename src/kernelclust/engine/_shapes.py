"""Probabilities of shapes within a family: trees by enumeration, grids and hierarchies by the best of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from kernelclust._compiled import compiled, floats
from kernelclust.engine._arrangement_sums import heaviest_tree
from kernelclust.engine._steps import links
from kernelclust.engine._structure_table import StructureTable
from kernelclust.engine._structures import _best_grid, family_of
from kernelclust.structures import Structure, Tree

MAX_ENUMERATED = 8  # nodes of trees that are all summed: 8^6 = 262 144


def family_or_flat(structure: Structure) -> str | None:
    """Return the row of the table that a structure belongs to; None where there is none."""
    if not isinstance(structure, Tree) and not links(structure.kernel).any():
        return "flat"
    return family_of(structure)


def structure_probabilities(table: StructureTable, structures: Sequence[Structure]) -> list[float]:
    """Return the probability of each structure over the clusters of a table: its family's times its shape's share.

    A tree of nodes has the share exp(sum of link scores) of all labelled trees of its shape among those that branch,
    up to 8 nodes; beyond, the shape of the best tree has all. Of the grids the share goes by the best arrangement of
    each shape, and of the hierarchies all goes to the one among `structures` that agrees with the best hierarchy and
    has most groups.
    """
    families = [family_or_flat(structure) for structure in structures]
    hierarchies = [s for s, name in zip(structures, families, strict=True) if name == "hierarchy"]
    found = []
    for structure, name in zip(structures, families, strict=True):
        if name is None:
            raise ValueError(f"structure '{structure}' is none of those that are compared: {', '.join(_names(table))}.")
        share = 1.0
        if name == "tree":
            share = tree_share(table.scores, links(structure.kernel))
        elif name == "grid":
            share = grid_share(table.scores, structure)
        elif name == "hierarchy":
            share = hierarchy_share(table["hierarchy"].arrangement, structure, hierarchies)
        found.append(table[name].probability * share)
    return found


def _names(table: StructureTable) -> list[str]:
    return sorted(row.name for row in table)


# -- trees whose nodes are clusters -----------------------------------------------------------------------------------


def tree_share(s: np.ndarray, linked: np.ndarray) -> float:
    """Return the share of the shape of a tree, given by its links (c, c), among trees that branch."""
    c = len(s)
    edges = np.argwhere(np.triu(linked)).astype(np.intp)
    own = _shape_code(edges, c)
    if c > MAX_ENUMERATED:
        return float(_shape_code(np.sort(heaviest_tree(s).astype(np.intp), axis=1), c) == own)
    codes, path = _all_codes(c), _path_code(c)
    weights = np.exp(_tree_scores(floats(s), c, len(codes)) - s[tuple(heaviest_tree(s).T)].sum())
    branching = float(weights[codes != path].sum())
    return float(weights[codes == own].sum()) / branching if branching > 0 else 0.0


@lru_cache(maxsize=MAX_ENUMERATED)
def _all_codes(c: int) -> np.ndarray:
    """Return the shape of each labelled tree, in the order of Pruefer sequences."""
    return np.asarray(_tree_codes(c, c ** (c - 2)))


def _path_code(c: int) -> np.uint64:
    return _shape_code(np.column_stack([np.arange(c - 1), np.arange(1, c)]), c)


def _shape_code(edges: np.ndarray, c: int) -> np.uint64:
    return np.uint64(_code(np.ascontiguousarray(edges, dtype=np.intp), c))


@compiled
def _mixed(value):
    """Scramble a number (splitmix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled
def _code(edges, c):
    """Return a number that trees of one shape share: colours of nodes, refined by those of their neighbours."""
    colour, around = np.ones(c, dtype=np.uint64), np.zeros(c, dtype=np.uint64)
    for _ in range(c // 2 + 1):
        around[:] = np.uint64(0)
        for e in range(len(edges)):
            j, k = edges[e, 0], edges[e, 1]
            around[j] += _mixed(colour[k])
            around[k] += _mixed(colour[j])
        for j in range(c):
            colour[j] = _mixed(colour[j] + np.uint64(3) * around[j] + np.uint64(0x9E3779B97F4A7C15))
    total = np.uint64(0)
    for j in range(c):
        total += _mixed(colour[j])
    return total


@compiled
def _decode(number, c, sequence, degree, edges):
    """Write the links of the tree with this Pruefer sequence, the digits of a number to the base c."""
    degree[:] = 1
    for i in range(c - 2):
        sequence[i] = number % c
        number //= c
        degree[sequence[i]] += 1
    for i in range(c - 2):
        for leaf in range(c):
            if degree[leaf] == 1:
                edges[i, 0], edges[i, 1] = leaf, sequence[i]
                degree[leaf] -= 1
                degree[sequence[i]] -= 1
                break
    last = 0
    for node in range(c):
        if degree[node] == 1:
            edges[c - 2, last] = node
            last += 1


@compiled
def _tree_codes(c, n_trees):
    codes = np.empty(n_trees, dtype=np.uint64)
    sequence, degree = np.empty(c, dtype=np.intp), np.empty(c, dtype=np.intp)
    edges = np.empty((c - 1, 2), dtype=np.intp)
    for number in range(n_trees):
        _decode(number, c, sequence, degree, edges)
        codes[number] = _code(edges, c)
    return codes


@compiled
def _tree_scores(s, c, n_trees):
    scores = np.zeros(n_trees)
    sequence, degree = np.empty(c, dtype=np.intp), np.empty(c, dtype=np.intp)
    edges = np.empty((c - 1, 2), dtype=np.intp)
    for number in range(n_trees):
        _decode(number, c, sequence, degree, edges)
        for e in range(c - 1):
            scores[number] += s[edges[e, 0], edges[e, 1]]
    return scores


# -- grids and hierarchies --------------------------------------------------------------------------------------------


def grid_share(s: np.ndarray, structure: Structure) -> float:
    """Return the share of the shape of a grid among those of as many clusters, by the best arrangement of each."""
    c = len(s)
    shapes = [(rows, c // rows) for rows in range(2, int(c**0.5) + 1) if c % rows == 0 and c // rows > 2]
    best = np.array([_best_grid(s, *shape).evidence for shape in shapes])
    n_links = [2 * rows * columns - rows - columns for rows, columns in shapes]
    own = n_links.index(int(links(structure.kernel).sum()) // 2)
    weights = np.exp(best - best.max())
    return float(weights[own] / weights.sum())


def hierarchy_share(arrangement: Any, structure: Structure, candidates: Sequence[Structure]) -> float:
    """Return 1 where a hierarchy is the best one but for some groups that it leaves out, and no candidate that is so
    leaves out fewer; else 0. Those that tie have equal shares.
    """
    shapes = _coarser(arrangement)
    groups = [_n_groups(_shape(one)) if _shape(one) in shapes else 0 for one in candidates]
    own = _n_groups(_shape(structure)) if _shape(structure) in shapes else 0
    return 1 / groups.count(own) if own and own == max(groups) else 0.0


def _shape(structure: Structure) -> Any:
    """Return a hierarchy as sorted nested tuples, leaves being empty ones; groups of one member are the member."""
    A = structure.kernel

    def nested(members: list[int], depth: float) -> Any:
        if len(members) == 1:
            return ()
        inside = A[np.ix_(members, members)]
        parts: list[list[int]] = []
        for row, j in enumerate(members):
            if not any(j in part for part in parts):
                parts.append([members[k] for k in np.flatnonzero(inside[row] > depth + 1e-9)] or [j])
        if len(parts) == 1:
            return nested(members, float(inside.min()))
        return tuple(sorted(nested(part, depth + 1) for part in parts))

    return nested([*range(len(A))], 0.0)


def _coarser(nested: Any) -> set[Any]:
    """Return all shapes of a hierarchy from which groups, but for the whole, may have been left out."""
    if not isinstance(nested, tuple):
        return {()}
    options = []
    for child in nested:
        shapes = _coarser(child)
        kept = {(shape,) for shape in shapes}
        options.append(kept | {shape for shape in shapes if shape})  # its parts join the group above
    return {tuple(sorted(sum(choice, ()))) for choice in product(*options)}


def _n_groups(shape: Any) -> int:
    return (1 if shape else 0) + sum(map(_n_groups, shape))
