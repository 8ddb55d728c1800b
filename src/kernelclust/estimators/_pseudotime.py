"""Distances along a structure from a root: one pseudotime, or one for every path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from kernelclust._arrays import to_host
from kernelclust._input import quoted
from kernelclust._names import check_name
from kernelclust.engine import PositionErrors
from kernelclust.estimators._data import where
from kernelclust.structures import Structure


class Lineages(NamedTuple):
    """Paths of a lineage tree with the pseudotime and weight of samples on each, in the form that tradeSeq takes.

    Attributes
    ----------
    paths : list of lists of str
        Clusters of each path by name, the root first.
    pseudotime : (n, n_paths) array
        Distance from the root along the path. For a sample that is not on a path it is that of the node where its own
        path branches off.
    weights : (n, n_paths) array
        1 on the paths that a sample is on. On another path it falls from 1 at the node where the sample's path branches
        off to 0 halfway to the next node.
    """

    paths: list[list[str]]
    pseudotime: np.ndarray
    weights: np.ndarray


class Placed(NamedTuple):
    """Positions of samples on a structure whose clusters have names."""

    structure: Structure
    names: Sequence[str]
    sizes: np.ndarray  # (c,)
    position: Any  # (n,) or (n, d), wherever the samples lie

    @classmethod
    def of(cls, model: Any, position: Any) -> Placed:
        """Return positions on the structure of a fitted model."""
        return cls(model.structure_, [str(name) for name in model.cluster_names_], to_host(model.sizes_), position)

    def pseudotime(self, root: Any) -> Any:
        """Return distances of positions from the nearest of some root clusters, where the positions lie."""
        if not self.structure.has_distances:
            raise ValueError(
                f"structure '{self.structure!s:.80}' has no distances along it: a pseudotime exists on chains, rings, "
                "grids and graphs whose nodes are the clusters, such as a lineage drawn as an undirected networkx "
                "graph."
            )
        roots = self.roots(root)
        self._check_reached(roots)
        return self.each(partial(_distance, structure=self.structure, roots=roots))

    def position_interval(self, errors: PositionErrors, level: float) -> Any:
        """Return intervals around positions on a chain or ring."""
        if errors.route.axis is None:
            raise ValueError(
                f"positions on '{self.structure!s:.80}' are edges and fractions, which have no lower and upper end; "
                "pseudotime_interval(root=...) has those of the distance from a root."
            )
        return self.each(partial(_interval, errors=errors, level=level), 2)

    def pseudotime_interval(self, root: Any, errors: PositionErrors, level: float) -> Any:
        """Return intervals around distances of positions from the nearest of some root clusters."""
        roots = self.roots(root)
        self._check_reached(roots)
        interval = partial(_distance_interval, structure=self.structure, roots=roots, errors=errors, level=level)
        return self.each(interval, 2)

    def lineages(self, root: Any) -> Lineages:
        """Return the paths from a root cluster, and where positions lie on them."""
        roots, structure = self.roots(root), self.structure
        if not structure.has_paths:
            raise ValueError(
                f"structure '{structure!s:.80}' has no paths from a root to ends: they exist on chains, and on graphs "
                "whose nodes are the clusters, all of them connected, without a cycle."
            )
        if len(roots) > 1:
            raise ValueError(f"root={root!r} names {len(roots)} clusters; paths begin at one.")
        on_paths = partial(_on_paths, structure=structure, root=roots[0])
        nobody = np.empty((0, 2)) if structure.axes() is None else np.empty(0)
        paths = [[self.names[j] for j in path] for path in structure.paths(nobody, roots[0]).nodes]
        both = (self.each(partial(on_paths, name=name), len(paths)) for name in ("pseudotime", "weights"))
        return Lineages(paths, *both)

    def roots(self, root: Any) -> list[int]:
        """Return the clusters that are named as roots, by number or name."""
        given = list(root) if isinstance(root, (list, tuple, set, np.ndarray)) else [root]
        names, last, found = list(self.names), len(self.names) - 1, []
        if not given:
            raise ValueError("root=[] names no cluster: give the number or the name of one.")
        for one in given:
            if isinstance(one, Integral) and not isinstance(one, bool):
                if not 0 <= int(one) <= last:
                    raise ValueError(f"root={one}: clusters are numbered from 0 to {last}.")
                found.append(int(one))
            else:
                check_name("root", one, names, also=f", or a number from 0 to {last}")
                found.append(names.index(one))
        return found

    def each(self, function: Callable, width: int | None = None) -> Any:
        """Return function(positions on the host), where the positions lie."""
        return where(self.position).each_row(self.position, function, width)

    def _check_reached(self, roots: Sequence[int]) -> None:
        """Refuse roots from which no edge leads to some clusters that have samples."""
        network = self.structure.network()
        if network is None:
            return
        reached = np.isfinite(network.steps[list(roots)]).any(axis=0) & (network.degree > 0)
        lost = np.flatnonzero(~reached & (self.sizes > 0)).tolist()
        if lost:
            raise ValueError(
                f"no edge of the graph leads from root {', '.join(quoted(self.names[j]) for j in roots)} to cluster "
                f"{', '.join(quoted(self.names[j]) for j in lost)}: link all clusters, or give a list of roots with "
                "one in each connected part (a cluster without any edge has no position)."
            )


def check_errors(errors: PositionErrors | None, level: float) -> PositionErrors:
    """Return the errors that intervals are made of, or raise ValueError where there are none."""
    if not (isinstance(level, Real) and 0 < level < 1):
        raise ValueError(f"level={level!r}: give a number between 0 and 1, such as 0.8 for 80 % intervals.")
    if errors is None:
        raise ValueError(
            "intervals of positions need a table of samples (not similarities) on a chain, a ring or a graph, with "
            "clusters that differ and are not empty."
        )
    return errors


def _interval(position: np.ndarray, *, errors: PositionErrors, level: float) -> np.ndarray:
    return errors.interval(position, level)


def _distance(position: np.ndarray, *, structure: Structure, roots: Sequence[int]) -> np.ndarray:
    return np.asarray(np.min([structure.distance(position, root) for root in roots], axis=0))


def _distance_interval(
    position: np.ndarray, *, structure: Structure, roots: Sequence[int], errors: PositionErrors, level: float
) -> np.ndarray:
    found = _distance(position, structure=structure, roots=roots)
    return errors.pseudotime_interval(
        position, found, _distance(errors.route.position, structure=structure, roots=roots), level
    )


def _on_paths(position: np.ndarray, *, structure: Structure, root: int, name: str) -> np.ndarray:
    return np.asarray(getattr(structure.paths(position, root), name))
