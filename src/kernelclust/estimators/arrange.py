"""arrange: the groups of any clustering, numbered along a structure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from kernelclust import engine
from kernelclust._input import listed, quoted
from kernelclust.engine import FitConfig
from kernelclust.estimators._base import among_all, known_structure
from kernelclust.estimators._pseudotime import Placed, check_errors
from kernelclust.estimators.structured import StructuredClustering
from kernelclust.kernels import FittedKernel, fit_kernel
from kernelclust.objectives import check_weights
from kernelclust.policies import policy_for
from kernelclust.structures import Structure, Tree

SHOWN = 8  # names of groups that a message lists at most


@dataclass(frozen=True, repr=False)
class Arrangement:
    """Groups along a structure, and the evidence for it.

    Attributes
    ----------
    labels : (m,) int array
        Node of the group of each sample; -1 for samples without a group.
    order : list
        The groups by node: `order[labels[i]]` is the group of sample i.
    structure : Structure
    sizes : (c,) array
        Weight of each group, by node.
    objective : float
        F of the arrangement, as in `StructuredClustering`.
    placement_margin : float
        Distance to the best different arrangement, as `order_.margin` of `StructuredClustering`. NaN if there is no
        other: for a tree whose shape comes from the groups, and if names assign the groups to nodes.
    order_pvalue, order_confidence, link_confidence
        Certainty of the order, as `pvalue`, `confidence` and `links` of `StructuredClustering.order_`; None if there is
        no other arrangement.
    alternatives : list of (nodes, score)
        This arrangement and the best different ones, up to five, as `order_.alternatives` of `StructuredClustering`.
    position : (m,) or (m, 2) array, or None
        Continuous position of each sample, as in `StructuredClustering.position`; NaN without a group.
    structures : StructureTable or None
        Probabilities of no order, a chain, a ring, a tree, a grid and a hierarchy over these groups, numbered by node,
        whatever `structure` is; as in `StructuredClustering.order_`. None where structures are not compared.
    """

    labels: np.ndarray
    order: list[Hashable]
    structure: Structure
    sizes: np.ndarray
    objective: float
    placement_margin: float
    order_pvalue: float | None
    order_confidence: float | None
    link_confidence: np.ndarray | None
    alternatives: list[engine.Alternative]
    position: np.ndarray | None
    structures: engine.StructureTable | None = field(default=None, repr=False)
    _errors: engine.PositionErrors | None = field(default=None, repr=False)

    def pseudotime(self, root: Hashable = None) -> np.ndarray:
        """Return the distance of every sample from a group along the structure (m,); NaN without a group.

        `root` is the name of a group in `order`, by default the first one. For chains, rings, grids and graphs.
        """
        return np.asarray(self._placed.pseudotime(self._place(root)))

    def position_interval(self, *, level: float = 0.8) -> np.ndarray:
        """Return an interval (m, 2) around the position of each sample, as `StructuredClustering.position_interval`.

        For groups on a chain or ring, of samples in a table.
        """
        return np.asarray(self._placed.position_interval(check_errors(self._errors, level), level))

    def pseudotime_interval(self, root: Hashable = None, *, level: float = 0.8) -> np.ndarray:
        """Return an interval (m, 2) around the pseudotime of each sample, on chains, rings and graphs."""
        errors = check_errors(self._errors, level)
        return np.asarray(self._placed.pseudotime_interval(self._place(root), errors, level))

    @property
    def has_intervals(self) -> bool:
        """Return whether there are intervals: of samples in a table, on a chain, ring or graph."""
        return self._errors is not None

    @property
    def _placed(self) -> Placed:
        return Placed(self.structure, [str(name) for name in self.order], self.sizes, self.position)

    def _place(self, root: Hashable) -> int:
        if root is None:
            return 0
        if root not in self.order:
            raise ValueError(f"root={quoted(root)} is not a group; groups are {listed(self.order, SHOWN)}.")
        return self.order.index(root)

    def __repr__(self) -> str:
        shown = [str(name) for name in self.order]
        if len(shown) > 2 * SHOWN:
            shown = [*shown[:SHOWN], "...", *shown[-SHOWN:]]
        evidence = ""
        if self.order_confidence is not None and np.isfinite(self.order_confidence):
            evidence = f", order_confidence={self.order_confidence:.2f}, order_pvalue={self.order_pvalue:.2g}"
        return (
            f"<Arrangement of {len(self.labels)} samples in {len(self.order)} groups on {self.structure!s:.40}: "
            f"{' | '.join(shown)}{evidence}>"
        )


def arrange(
    X: Any,
    labels: Any,
    structure: Any = "chain",
    *,
    kernel: Any = "auto",
    sample_weight: Any = None,
    names: Any = None,
    root: Any = None,
) -> Arrangement:
    """Number the groups of any clustering along a structure; no sample is moved to another group.

    Groups are assigned to nodes such that neighbours on the structure have close means in the kernel's feature space:
    the arrangement p minimises sum_jk A[p_j, p_k] |mu_j - mu_k|^2. Choose it for existing groups (Leiden, KMeans,
    annotations) whose order is unknown; `StructuredClustering` finds clusters and their order together.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (m, d); (m, m) similarities for kernel="precomputed"
    labels : array of shape (m,)
        Group of every sample: numbers, strings, or a pandas categorical. None, NaN and the number -1 mean no group:
        such samples are ignored and have the label -1.
    structure : str, Structure or (c, c) array, default="chain"
        As in `StructuredClustering`, with one node for each group. "chain", "ring" and "flat" need no size. "tree"
        without a shape is the binary tree of average linkage between the means of the groups: the two branches with the
        smallest mean distance between their groups are joined first. It summarises the distances, and there is no
        confidence for it. If the nodes have the names of the groups, each group is assigned to the node of its name.
    kernel : str, Kernel or callable, default="auto"
        As in `StructuredClustering`, such as `Precomputed(indefinite="clip")`; with "precomputed_graph" X may be a
        networkx graph.
    sample_weight : array of shape (m,), optional
        A weight counts as that many copies.
    names : dict or sequence, optional
        Names of the groups in `order`: {label: name}, or one name for each of the sorted labels (for a pandas
        categorical, for its categories that have samples, in their order).
    root : hashable, optional
        Name of the group in `order` that numbers begin with, or as near to it as the structure allows: it decides the
        direction of a chain, and where a ring begins. It does not change which groups are neighbours.

    Returns
    -------
    arrangement : Arrangement

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import arrange
    >>> X = np.repeat([[3.0], [0.0], [1.2], [2.0]], 5, axis=0)
    >>> stage = np.repeat(["late", "egg", "early", "middle"], 5)
    >>> arrange(X, stage, "chain", kernel="linear", root="egg").order  # without a root, this or the reverse
    ['egg', 'early', 'middle', 'late']
    """
    groups, codes = _groups(labels)
    called = _called(groups, names)
    if root is not None and root not in called:
        raise ValueError(f"root={quoted(root)} is not a group; groups are {listed(called, SHOWN)}.")
    model = StructuredClustering(kernel=kernel)
    model._check_kernel()
    X = model._check_samples(X, reset=True)
    if len(codes) != X.shape[0]:
        raise ValueError(f"labels has {len(codes)} entries, but X has {X.shape[0]} samples; give one for each.")
    weight = np.where(codes >= 0, check_weights(sample_weight, X), 0.0)
    size = np.bincount(codes[codes >= 0], weight[codes >= 0], minlength=len(groups))
    if not size.all():
        empty = [called[j] for j in np.flatnonzero(size == 0)]
        raise ValueError(f"group {listed(empty, SHOWN)} has no sample of positive weight; leave it out.")
    shape = None if _is_open_tree(structure) else _structure_for(structure, called)
    used = np.flatnonzero(weight > 0)
    whole = len(used) == len(weight)
    model._warn_of_scales(X if whole else X[used], weight[used])
    samples, settings = X if whole else model._subset(X, used), model._kernel_settings()
    if shape is not None:
        settings = policy_for(kernel).arrangement_kernel(settings, shape)
    kept = fit_kernel(samples, weight[used], n_clusters=len(groups), rng=np.random.RandomState(0), **settings)
    kept.check_definite()
    table = None if model._is_pairwise() else samples
    return _arranged(kept, table, codes, used, called, shape, None if root is None else called.index(root))


def _arranged(
    kept: FittedKernel, table: Any, codes, used, called: list, shape: Structure | None, root: int | None
) -> Arrangement:
    labels, tree = codes[used], None
    node: np.ndarray | None = None
    if shape is None:
        tree, node = _linked(kept, labels, len(called))
        shape = tree
    elif shape.names is not None and set(shape.names) == set(map(str, called)):
        node = np.array([shape.names.index(str(name)) for name in called])
    found = engine.arrange(kept, labels, FitConfig(shape, random_state=0), node)
    if tree is None and node is not None:
        found = engine.numbered_like(found, node[labels])
    elif root is not None:
        found = engine.numbered_from(found, found.labels[np.flatnonzero(labels == root)[0]])
    place = np.empty(len(called), dtype=np.intp)
    place[labels] = found.labels
    located = found.places(found.prediction(), table)
    position = located.position
    order = [called[j] for j in np.argsort(place)]
    return Arrangement(
        labels=np.where(codes >= 0, place[codes], -1),
        order=order,
        structure=shape if tree is None else _named(tree, order),
        sizes=found.n,
        objective=found.value,
        placement_margin=found.placement_margin if node is None else np.nan,
        order_pvalue=None if found.order is None else found.order.pvalue,
        order_confidence=None if found.order is None else found.order.confidence,
        link_confidence=None if found.order is None else found.order.links,
        alternatives=engine.alternatives(found.placing, shape, found.n, 5 if node is None else 1),
        position=None if position is None else among_all(position, used, len(codes)),
        structures=None if found.order is None else found.order.structures,
        _errors=located.errors,
    )


# -- groups ------------------------------------------------------------------------------------------------------------


def _groups(labels: Any) -> tuple[list, np.ndarray]:
    """The groups, sorted, or in the order of their categories, and the number of each sample's group, -1 for none."""
    categories = getattr(getattr(labels, "cat", labels), "categories", None)  # of a series, or of a categorical
    values = np.asarray(labels, dtype=object)
    if values.ndim != 1:
        raise ValueError(f"labels has shape {values.shape}; give one label for each sample.")
    values = values.tolist()
    there = [not _is_missing(value) for value in values]
    known = {value for value, held in zip(values, there, strict=True) if held}
    if not known:
        raise ValueError("labels holds no group: all of them are missing (None, NaN or -1).")
    if categories is not None:
        groups = [one for one in np.asarray(categories, dtype=object).tolist() if one in known]
    else:
        try:
            groups = sorted(known)
        except TypeError as error:
            kinds = ", ".join(sorted({type(value).__name__ for value in known}))
            raise TypeError(f"labels are of kinds that have no common order: {kinds}; use one of them.") from error
    number = {group: j for j, group in enumerate(groups)}
    return groups, np.array([number[v] if held else -1 for v, held in zip(values, there, strict=True)])


def _is_missing(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return value is None
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        hash(value)
    except TypeError as error:
        raise TypeError(f"a label is a number or a string, got {quoted(value)} of {type(value).__name__}.") from error
    return bool(value != value or (value == -1 and not isinstance(value, bool)))


def _called(groups: list, names: Mapping | Sequence | None) -> list:
    """Return the names of the clusters."""
    if names is None:
        return groups
    if isinstance(names, Mapping):
        if missing := [group for group in groups if group not in names]:
            raise ValueError(f"names has none for group {listed(missing, SHOWN)}.")
        called = [names[group] for group in groups]
    else:
        if isinstance(names, str) or len(names) != len(groups):
            raise ValueError(
                f"names={quoted(names)}: give one name for each of the {len(groups)} groups ({listed(groups, SHOWN)}), "
                "or a dict {label: name}."
            )
        called = list(names)
    if len(set(called)) < len(called):
        raise ValueError("names has one name twice; groups need different ones.")
    return called


# -- the structure -----------------------------------------------------------------------------------------------------


def _is_open_tree(structure: Any) -> bool:
    return isinstance(structure, str) and structure.strip() == "tree"


def _structure_for(structure: Any, called: list) -> Structure:
    """The structure, which must have a place for every group and no more."""
    sized = not (isinstance(structure, str) and ":" not in structure)
    advice = "name one, such as 'chain'; `structures` of the result has the probabilities of all kinds"
    found = known_structure(None if sized else len(called), structure, "arrange", advice)
    if found.n_clusters != len(called):
        raise ValueError(
            f"structure '{found}' has {found.n_clusters} nodes, but labels has {len(called)} groups "
            f"({listed(called, SHOWN)}); give one with as many."
        )
    return found


def _linked(kept: FittedKernel, labels: np.ndarray, c: int) -> tuple[Tree, np.ndarray]:
    """The tree of average linkage between means, its leaves named by number, and the leaf of every group."""
    if c == 1:
        return Tree(["0"]), np.zeros(1, dtype=np.intp)
    n = np.bincount(labels, kept.operator.weight, minlength=c)
    products = kept.operator.cluster_sums(labels, c) / np.outer(n, n)
    squared = np.add.outer(np.diag(products), np.diag(products)) - 2 * products
    away = np.sqrt(np.maximum(squared, 0.0))
    np.fill_diagonal(away, 0.0)
    branches: list[Any] = [str(j) for j in range(c)]
    for one, other, *_ in linkage(squareform(away, checks=False), "average"):
        branches.append([branches[int(one)], branches[int(other)]])
    tree = Tree(branches[-1])
    node = np.empty(c, dtype=np.intp)
    node[[int(name) for name in tree.leaf_names]] = np.arange(c)
    return tree, node


def _named(tree: Tree, order: list) -> Tree:
    """The tree with the groups' names at its leaves, where they can be leaf names; else their places."""
    try:
        return tree.renamed([str(name) for name in order])
    except ValueError:
        return tree.renamed([str(j) for j in range(len(order))])
