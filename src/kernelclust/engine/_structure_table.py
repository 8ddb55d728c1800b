"""The table of structures over the clusters of a fit, as users see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kernelclust.engine._structure_weights import FAMILIES

Arrangement = tuple[Any, ...]


class StructureProbability(NamedTuple):
    """One row of the table: a family of structures, its probability and the best arrangement in it.

    `arrangement` holds cluster numbers: along a chain or around a ring; the links of a tree; the rows of a grid; nested
    pairs of a hierarchy; nothing for "flat" and where there is no grid.
    """

    name: str
    probability: float
    arrangement: Arrangement

    @property
    def written(self) -> str:
        """Return the arrangement as text."""
        return _WRITTEN[self.name](self.arrangement)

    def __str__(self) -> str:
        return f"{self.name:<10} {self.probability:11.2f}  {self.written}".rstrip()


@dataclass(frozen=True, repr=False)
class StructureTable:
    """Probabilities of structures over the clusters of a fit, most probable first; they sum to one.

    Attributes
    ----------
    rows : tuple of (name, probability, arrangement)
        "flat" (no order), "chain", "ring", "tree" (clusters are nodes: a lineage that branches), "grid" and "hierarchy"
        (clusters are leaves: a taxonomy).
    links : (c, c) array
        Probability that two clusters are neighbours, over all structures: sum_F P(F) P(link | F). Flat clusters and
        hierarchies have no links, and of grids only the best counts.
    scores : (c, c) array
        Scores of links, of mean zero: within chains, rings and trees an arrangement has a probability proportional to
        exp(sum of the scores of its links).
    """

    rows: tuple[StructureProbability, ...]
    links: np.ndarray = field(repr=False)
    scores: np.ndarray = field(repr=False)

    def __getitem__(self, name: str) -> StructureProbability:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"{name!r}: structures are {', '.join(FAMILIES)}.")

    def __iter__(self) -> Iterator[StructureProbability]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def renumbered(self, node: np.ndarray) -> StructureTable:
        """Return the table with cluster j called node[j]."""

        def called(arrangement: Any) -> Any:
            return tuple(map(called, arrangement)) if isinstance(arrangement, tuple) else int(node[arrangement])

        old = np.argsort(node)
        rows = tuple(row._replace(arrangement=_CANONICAL[row.name](called(row.arrangement))) for row in self.rows)
        return StructureTable(rows, *(one[np.ix_(old, old)] for one in (self.links, self.scores)))

    def __repr__(self) -> str:
        return "\n".join(["structure  probability  best arrangement", *map(str, self.rows)])


# -- the same arrangement is always written the same ------------------------------------------------------------------


def _one_direction(order: Arrangement) -> Arrangement:
    return min(order, order[::-1])


def _once_around(order: Arrangement) -> Arrangement:
    start = order.index(min(order))
    order = order[start:] + order[:start]
    return min(order, order[:1] + order[:0:-1])


def _sorted_links(links: Arrangement) -> Arrangement:
    return tuple(sorted(tuple(sorted(link)) for link in links))


def _one_corner(rows: Arrangement) -> Arrangement:
    if not rows:
        return rows
    turned = [rows, tuple(zip(*rows, strict=True))] if len(rows) == len(rows[0]) else [rows]
    return min(tuple(row[::left] for row in view[::up]) for view in turned for up in (1, -1) for left in (1, -1))


def _smallest_first(nested: Any) -> Any:
    return tuple(sorted(map(_smallest_first, nested), key=_smallest)) if isinstance(nested, tuple) else nested


def _smallest(nested: Any) -> int:
    return min(map(_smallest, nested)) if isinstance(nested, tuple) else nested


def _nested_text(nested: Any) -> str:
    return f"({', '.join(map(_nested_text, nested))})" if isinstance(nested, tuple) else str(nested)


_CANONICAL: dict[str, Callable[[Any], Arrangement]] = {
    "flat": tuple,
    "chain": _one_direction,
    "ring": _once_around,
    "tree": _sorted_links,
    "grid": _one_corner,
    "hierarchy": _smallest_first,
}
_WRITTEN: dict[str, Callable[[Any], str]] = {
    "flat": lambda _: "no order",
    "chain": lambda order: " - ".join(map(str, order)),
    "ring": lambda order: " - ".join(map(str, (*order, order[0]))),
    "tree": lambda links: ", ".join(f"{j} - {k}" for j, k in links),
    "grid": lambda rows: " / ".join(" ".join(map(str, row)) for row in rows) or "none of so many clusters",
    "hierarchy": _nested_text,
}
