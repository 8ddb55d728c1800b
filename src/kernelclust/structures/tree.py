"""Clusters at the leaves of a tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from kernelclust._warnings import warn

from ._axes import Axis
from ._base import Floats, Ints, Structure, check_size, divide, parse_sizes, spread
from ._newick import Nested, check_names, read, to_newick

MAX_DEPTH = 100  # levels: trees are walked recursively
MAX_NAMED = 6  # nodes in a message
NEWICK_SUFFIXES = (".nwk", ".newick", ".tree", ".tre")
MAX_NEWICK_BYTES = 10**7


class _Node(NamedTuple):
    children: tuple[_Node, ...]
    leaves: tuple[int, ...]
    depth: int
    height: int
    shape: tuple[Any, ...]  # equal for two subtrees that can be exchanged


class Tree(Structure):
    """Clusters at the leaves of a tree, of any nesting and depth.

    A_jk counts the nodes that the paths from the root to leaves j and k share, without the root and with the leaf.
    The loss is the height of the first common ancestor, where a leaf has height 0 and an inner node
    is one above its highest child. Choose it for taxonomies and for clusters within clusters. Subtrees of the same
    shape are interchangeable, at every node.

    Parameters
    ----------
    *branching : int, or one nested sequence of names
        ``Tree(3, 4)``: three groups of four. ``Tree(["EXT", ["MIT", ["CYT", "NUC"]]])``: a tree of names. Text may
        be Newick, "((A,B)inner,'C D');", or the name of a Newick file, "tree:species.nwk" (.nwk, .newick, .tree,
        .tre). The kernel counts nodes: names of inner nodes and branch lengths are ignored, the latter with a warning
        if they differ. A networkx DiGraph with edges from parents to children is a tree too (`as_structure`).
    names : sequence of str, optional
        Names of the leaves, from left to right.

    Attributes
    ----------
    leaf_names : list of str
        Names of the clusters, in order; "0", "1", ... for a balanced tree without names.

    Examples
    --------
    >>> from kernelclust.structures import Tree
    >>> Tree(2, 2).kernel
    array([[2., 1., 0., 0.],
           [1., 2., 0., 0.],
           [0., 0., 2., 1.],
           [0., 0., 1., 2.]])
    >>> str(Tree(["EXT", ["MIT", ["CYT", "NUC"]]]))
    'tree:(EXT,(MIT,(CYT,NUC)))'
    """

    text_form = "tree:3x3"
    without_shape = "lineage"

    def __init__(self, *branching: int | Sequence[Any], names: Sequence[str] | None = None) -> None:
        nested = _nested(branching)
        if names is not None:
            given = check_names(names, len([*_names(nested)]), "names of a Tree's leaves")
            nested = _refilled(nested, iter(given))
        self.leaf_names = list(check_names([*_names(nested)], None, "names of a Tree's leaves"))
        self._nested = nested
        self._root = _build(nested, 0, 0)
        super().__init__(len(self.leaf_names), nested)
        self.names = tuple(self.leaf_names) if self._branching() is None else None

    def _nodes(self) -> Iterator[_Node]:
        """Yield every node, parents before children."""
        waiting = [self._root]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def _fill(self, value_of: Any) -> Floats:
        """Return a matrix (c, c) with the value of the first common ancestor of every pair of leaves."""
        matrix = np.zeros((self.n_clusters, self.n_clusters))
        for node in self._nodes():  # deeper nodes overwrite
            matrix[np.ix_(node.leaves, node.leaves)] = value_of(node)
        return matrix

    def _make_kernel(self) -> Floats:
        return self._fill(lambda node: node.depth)

    def _make_loss(self) -> Floats:
        return self._fill(lambda node: node.height)

    def _best_relabelling(self, benefit: Floats) -> Ints:
        image = np.empty(self.n_clusters, dtype=np.intp)
        for j, a in _match(self._root, self._root, benefit)[1]:
            image[j] = a
        return image

    def axes(self) -> list[Axis]:
        """Return two axes: the leaf, and the position from it (0) towards the other leaves of its parent (1)."""
        c = self.n_clusters
        towards = np.zeros((c, c))
        for node in self._nodes():  # deeper nodes overwrite
            if len(node.children) > 1:
                for leaf in node.leaves:
                    others = [sibling for sibling in node.leaves if sibling != leaf]
                    towards[leaf] = 0.0
                    towards[leaf, others] = 1 / len(others)
                    towards[leaf, leaf] = -1.0
        leaf = Axis(np.arange(c, dtype=np.float64), np.zeros((c, c)), is_length=False)
        return [leaf, Axis(np.full(c, 0.5), towards, is_length=False)]

    def levels(self) -> list[Ints]:
        """Return each leaf's group at depth 1, 2, ..., coarse to fine.

        Groups are numbered from left to right. A leaf that ends before a depth remains its own group there.
        """
        levels = []
        for depth in range(1, self._root.height + 1):
            groups = np.empty(self.n_clusters, dtype=np.intp)
            cut = (n for n in self._nodes() if n.depth == depth or (n.depth < depth and not n.children))
            for number, node in enumerate(cut):
                groups[list(node.leaves)] = number
            levels.append(groups)
        return levels

    def _points(self) -> dict[int, tuple[float, float]]:
        """Return the point of every node in the drawing, by id(node): leaves below, the root on top."""
        across, height = spread(self.n_clusters), self._root.height
        points: dict[int, tuple[float, float]] = {}
        for node in reversed(list(self._nodes())):
            below = [points[id(child)][0] for child in node.children]
            x = float(np.mean(below)) if below else float(across[node.leaves[0]])
            points[id(node)] = (x, node.height / height)
        return points

    def positions(self) -> Floats:
        return np.column_stack([spread(self.n_clusters), np.zeros(self.n_clusters)])

    def edges(self) -> list[tuple[int, int]]:
        """Return an empty list: leaves are joined through inner nodes only, see `segments`."""
        return []

    def segments(self) -> Floats:
        """Return the lines of a dendrogram: one upwards from every child, one across every inner node."""
        points = self._points()
        lines = []
        for node in self._nodes():
            if not node.children:
                continue
            y = points[id(node)][1]
            below = [points[id(child)] for child in node.children]
            lines += [((x, child_y), (x, y)) for x, child_y in below]
            if len(below) > 1:
                lines.append(((below[0][0], y), (below[-1][0], y)))
        return np.array(lines, dtype=np.float64)

    def renamed(self, names: Sequence[str]) -> Tree:
        """Return the tree with other names of the leaves, from left to right."""
        return Tree(self._nested, names=names)

    def levelled(self) -> Tree:
        """Return the tree with all leaves at one depth, so that all A_jj are equal: A = height of the root - loss.

        Short branches are extended by inner nodes with one child; the loss does not change, nor does a balanced tree.
        Otherwise clusters of a short branch count less in F, and `Diffrac` omits a term that is constant only if all
        A_jj are equal.

        Examples
        --------
        >>> from kernelclust.structures import Tree
        >>> str(Tree(["EXT", ["MIT", ["CYT", "NUC"]]]).levelled())
        'tree:(((EXT)),((MIT),(CYT,NUC)))'
        """
        return Tree(_raised(self._nested, self._root, self._root.height))

    def _branching(self) -> tuple[int, ...] | None:
        """Return the number of children per level if the tree is balanced and has the default names, else None."""
        counts, node = [], self._root
        while node.children:
            counts.append(len(node.children))
            node = node.children[0]
        return tuple(counts) if self._nested == _balanced(counts) else None

    def __repr__(self) -> str:
        branching = self._branching()
        return f"Tree({_as_list(self._nested) if branching is None else ', '.join(map(str, branching))})"

    def __str__(self) -> str:
        branching = self._branching()
        return f"tree:{to_newick(self._nested) if branching is None else 'x'.join(map(str, branching))}"

    @classmethod
    def from_text(cls, text: str) -> Tree:
        if text.lower().endswith(NEWICK_SUFFIXES):
            text = _read_file(text)
        return cls(read(text) if text.startswith(("(", "[")) else parse_sizes(cls, text))

    @classmethod
    def example(cls, n_clusters: int) -> Tree:
        return cls(*divide(n_clusters))


def _read_file(name: str) -> str:
    """Return the tree in a Newick file."""
    try:
        with open(name, encoding="utf-8-sig") as file:
            text = file.read(MAX_NEWICK_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ValueError(
            f"structure 'tree:{name}': the Newick file {name!r} cannot be read: {problem}. Give the path from the "
            "current folder, or the tree itself, such as 'tree:(A,(B,C))'."
        ) from error
    if not text.startswith(("(", "[")):
        raise ValueError(f"structure 'tree:{name}': the file {name!r} is not a Newick tree, which begins with '('.")
    return text


def _match(source: _Node, target: _Node, benefit: Floats) -> tuple[float, list[tuple[int, int]]]:
    """Match one subtree with another of the same shape; return the largest gain and its pairs (j, a)."""
    if not source.children:
        j, a = source.leaves[0], target.leaves[0]
        return float(benefit[a, j]), [(j, a)]
    gain, pairs = 0.0, []
    onto = _by_shape(target)
    for shape, alike in _by_shape(source).items():
        options = [[_match(s, t, benefit) for t in onto[shape]] for s in alike]
        values = np.array([[value for value, _ in row] for row in options])
        for q, r in zip(*linear_sum_assignment(values, maximize=True), strict=True):
            gain += options[q][r][0]
            pairs += options[q][r][1]
    return gain, pairs


def _by_shape(node: _Node) -> dict[Any, list[_Node]]:
    groups: dict[Any, list[_Node]] = defaultdict(list)
    for child in node.children:
        groups[child.shape].append(child)
    return groups


def _build(nested: Nested, depth: int, first_leaf: int) -> _Node:
    if isinstance(nested, str):
        return _Node((), (first_leaf,), depth, 0, ())
    children: list[_Node] = []
    for part in nested:
        children.append(_build(part, depth + 1, first_leaf))
        first_leaf += len(children[-1].leaves)
    leaves = tuple(leaf for child in children for leaf in child.leaves)
    shape = tuple(sorted(child.shape for child in children))
    return _Node(tuple(children), leaves, depth, 1 + max(child.height for child in children), shape)


def _nested(given: tuple[Any, ...]) -> Nested:
    """Turn what the constructor was given into nested tuples of names."""
    only = given[0] if len(given) == 1 else given
    numbers = only if isinstance(only, (list, tuple)) else (only,)
    if numbers and all(isinstance(number, Integral) for number in numbers):
        return _balanced([check_size(number, "every branching of a Tree") for number in numbers])
    if len(given) != 1 or not isinstance(only, (list, tuple)):
        raise TypeError(f"Tree takes branchings, Tree(3, 3), or nested names, Tree(['A', ['B', 'C']]); got {given!r}.")
    _check_depth(only)
    return _as_tuples(only)


def _check_depth(nested: Sequence[Any]) -> None:
    """Raise an error if a tree is too deep for recursion; checks level by level."""
    depth, level = 0, [nested]
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"the tree is nested more than {MAX_DEPTH} levels deep; leave out some inner nodes.")
        level = [child for node in level for child in node if isinstance(child, (list, tuple))]


def _as_tuples(node: Any) -> Nested:
    if isinstance(node, str):
        return node
    if not isinstance(node, (list, tuple)):
        raise TypeError(f"leaves of a tree are names, got {node!r} of type {type(node).__name__}; write {str(node)!r}.")
    if not node:
        raise ValueError("an inner node of the tree has no children; give it at least one leaf, or remove it.")
    return tuple(_as_tuples(child) for child in node)


def _balanced(branching: Sequence[int]) -> Nested:
    level: list[Nested] = [str(leaf) for leaf in range(int(np.prod(branching)))]
    for children in reversed(branching):
        level = [tuple(level[i : i + children]) for i in range(0, len(level), children)]
    return level[0]


def _names(node: Nested) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    else:
        for child in node:
            yield from _names(child)


def _refilled(node: Nested, names: Iterator[str]) -> Nested:
    return next(names) if isinstance(node, str) else tuple(_refilled(child, names) for child in node)


def _raised(nested: Nested, node: _Node, height: int) -> Nested:
    """Raise a subtree and all below it to this height by inner nodes with one child."""
    raised: Nested = nested
    if not isinstance(nested, str):
        both = zip(nested, node.children, strict=True)
        raised = tuple(_raised(part, child, node.height - 1) for part, child in both)
    for _ in range(height - node.height):
        raised = (raised,)
    return raised


def _as_list(node: Nested) -> Any:
    return node if isinstance(node, str) else [_as_list(child) for child in node]


def tree_of(graph: Any) -> Tree:
    """Make a tree from a networkx graph with edges from parents to children; its leaves are the clusters."""
    from networkx import is_directed_acyclic_graph

    for node, parents in graph.in_degree():
        if parents > 1:
            upwards = all(number <= 1 for _, number in graph.out_degree())
            hint = " Its edges seem to run from children to parents: pass graph.reverse()." if upwards else ""
            raise ValueError(f"the graph is not a tree: node {node!r} has {parents} parents.{hint}")
    if not len(graph) or not is_directed_acyclic_graph(graph):
        raise ValueError("the graph is not a tree: it has no nodes, or its edges contain a cycle.")
    inner: dict[Any, list[Any]] = {node: [] for node, children in graph.out_degree() if children}
    for parent, child in graph.edges():
        inner[parent].append(inner.get(child, str(child).strip()))
    nested = [inner.get(node, str(node).strip()) for node, parents in graph.in_degree() if parents == 0]
    if len(graph) - len(inner) == 1 < len(graph):
        raise ValueError(
            "the directed graph has one leaf, but the leaves of a taxonomy are the clusters. If all nodes are "
            "clusters, pass graph.to_undirected()."
        )
    if single := [node for node, children in graph.out_degree() if children == 1]:
        warn(
            f"the directed graph is read as a taxonomy, so only its {len(graph) - len(inner)} leaves are clusters; the "
            f"inner nodes {', '.join(str(node) for node in single[:MAX_NAMED])}"
            f"{', ...' if len(single) > MAX_NAMED else ''} have one child each. If every node is a cluster, as in a "
            "lineage, pass graph.to_undirected()."
        )
    return Tree(nested[0] if len(nested) == 1 and not isinstance(nested[0], str) else nested)


PART = Tree
