"""Structures that the fit chooses from the data."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import ClassVar

from ._base import Structure, parse_sizes
from .flat import Flat


class Sought(Flat):
    """A structure that the fit chooses; until then its clusters are flat.

    `goal` names the kind of structure. Names and known labels refer to nodes, which do not exist before the fit.
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
                f"structure '{kind}:{text}' has names, but its nodes exist only after the fit: give a number of "
                f"clusters, like '{cls.text_form}', and name the clusters afterwards."
            )
        (size,) = parse_sizes(cls, text, 1)
        return cls(size)


class Auto(Sought):
    """The most probable structure over c clusters, chosen by the fit: flat, chain, ring, tree, grid or hierarchy.

    Clusters are found without structure, then structures are compared over them (`order_.structures`); `structure_` is
    the most probable one. If that is flat, clusters are numbered by size. Requires 4 to 12 clusters.

    Parameters
    ----------
    n_clusters : int
    among : sequence of Structure, optional
        Candidate structures of `n_clusters` clusters; the default is the best arrangement of every family.

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
    """The most probable tree whose nodes are the c clusters, chosen by the fit.

    `structure="tree"` without a shape means this. The tree connects all clusters even if the data have no such order:
    `order_.structures` has the probabilities of a tree and of each link. `structure_` is a chain if the tree does not
    branch.

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
    """The graph of all links between c clusters whose probability is above one half, chosen by the fit.

    The probability of a link is averaged over all structures (`order_.structures.links`). If no order is probable
    there are no links, and `structure_` is flat. The graph may be disconnected.

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
