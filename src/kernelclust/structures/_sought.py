"""Structures that a fit finds from the data."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import ClassVar

from ._base import Structure, parse_sizes
from .flat import Flat


class Sought(Flat):
    """A structure that a fit finds: until then its clusters are flat.

    `goal` says what is looked for. Names and known labels belong to nodes, which do not exist before the fit.
    """

    is_sought = True
    goal: ClassVar[str]

    def __init__(self, n_clusters: int) -> None:
        super().__init__(n_clusters)

    @classmethod
    def from_text(cls, text: str) -> Structure:
        if text.startswith("("):
            kind = cls.__name__.lower()
            raise ValueError(
                f"structure '{kind}:{text}' names clusters, but which is where is found from the data: give a number, "
                f"like '{cls.text_form}', and name the clusters afterwards."
            )
        (size,) = parse_sizes(cls, text, 1)
        return cls(size)


class Auto(Sought):
    """The most probable structure over c clusters, found by the fit: flat, chain, ring, tree, grid or hierarchy.

    Clusters are found without structure, then structures are compared over them (`order_.structures`); `structure_` is
    the most probable one. Flat clusters are numbered by size, and have no order. 4 to 12 clusters can be compared.

    Parameters
    ----------
    n_clusters : int
    among : sequence of Structure, optional
        Structures of so many clusters to choose from; without them, all families in their best arrangement.

    Examples
    --------
    >>> from kernelclust.structures import Auto
    >>> Auto(6)
    Auto(6)
    """

    text_form = "auto:6"
    goal = "auto"

    def __init__(self, n_clusters: int, among: Iterable[Structure] = ()) -> None:
        super().__init__(n_clusters)
        self.among = tuple(among)
        if self.among:
            self._arguments = (*self._arguments, self.among)

    def _key(self) -> Hashable:
        return self.n_clusters, self.among

    def __str__(self) -> str:
        return f"auto:{self.n_clusters}"


class Lineage(Sought):
    """The lineage over c clusters, found by the fit: the most probable tree whose nodes are the clusters.

    `structure="tree"` without a shape means this. Every cluster is on it, whether the data have such an order or not:
    `order_.structures` says how probable a tree is, and how probable each link. `structure_` is a chain where the tree
    does not branch.

    Parameters
    ----------
    n_clusters : int

    Examples
    --------
    >>> from kernelclust.structures import as_structure
    >>> as_structure("tree", n_clusters=6)
    Lineage(6)
    """

    text_form = "lineage:6"
    goal = "tree"


class Graph(Sought):
    """The graph over c clusters, found by the fit: all links whose probability is above one half.

    The probability of a link is that over all structures (`order_.structures.links`), so that there are none where no
    order is probable: `structure_` is flat then. Parts of the graph need not hang together.

    Parameters
    ----------
    n_clusters : int

    Examples
    --------
    >>> from kernelclust.structures import Graph
    >>> Graph(6)
    Graph(6)
    """

    text_form = "graph:6"
    goal = "graph"


SOUGHT: dict[str, type[Sought]] = {"auto": Auto, "graph": Graph, "lineage": Lineage}
