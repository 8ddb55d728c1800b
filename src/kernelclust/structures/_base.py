"""The base class of structures: kernel, loss, alignment, axes and drawing."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ._axes import Axis, Floats, Ints, Network, Paths
from ._newick import check_names, read_names, to_newick
from ._route import Route
from ._search import best_relabelling, pair_colours


class Structure:
    """Similarity of c clusters to each other.

    A structure has a label kernel A (the similarity of two clusters), a loss Delta (the cost of confusing two
    clusters), the relabellings that leave both unchanged, and a drawing.

    To add one, write a file in this folder that ends in ``PART = YourStructure``. Call
    ``super().__init__(n_clusters, *arguments)`` with the arguments that the constructor needs to make an equal object,
    and write `_make_kernel`. The rest has defaults: the loss is Delta_jk = (A_jj + A_kk) / 2 - A_jk, and the
    relabellings are found by search.

    Attributes
    ----------
    n_clusters : int
        Number of clusters, c.
    names : tuple of str, or None
        Names of the clusters; None if they have none.
    kernel : ndarray of shape (c, c)
        A, symmetric and positive semi-definite. Read-only.
    loss : ndarray of shape (c, c)
        Delta, symmetric, non-negative, zero on the diagonal. Read-only.
    """

    text_form: ClassVar[str] = ""
    """An example of the text that `as_structure` reads; empty if text cannot describe the structure."""

    size_is_enough: ClassVar[bool] = False
    """True if the number of clusters alone defines the structure."""

    is_one_dimensional: ClassVar[bool] = False
    """True if clusters follow one another in a single line, open or closed, so that they have an order."""

    is_cyclic: ClassVar[bool] = False
    """True if that line is closed."""

    is_multidimensional: bool = False
    """True if nodes vary in two directions or more."""

    is_sought: ClassVar[bool] = False
    """True if the fit chooses the structure; its clusters are flat until then."""

    without_shape: ClassVar[str] = ""
    """Name of the structure to use if the text gives no shape, but a number of clusters is known."""

    n_clusters: int

    names: tuple[str, ...] | None = None

    def __init__(self, n_clusters: int, *arguments: Any, names: Sequence[str] | None = None) -> None:
        self.n_clusters = n_clusters
        self._arguments = arguments
        if names is not None:
            self.names = check_names(names, n_clusters, f"names of {type(self).__name__}")
            self._arguments = (*arguments, self.names)

    # ---- the mathematics

    def _make_kernel(self) -> Floats:
        raise NotImplementedError(f"{type(self).__name__} must define its kernel: implement _make_kernel.")

    def _make_loss(self) -> Floats:
        A = self.kernel
        diagonal = np.diag(A)
        return np.maximum((diagonal[:, None] + diagonal[None, :]) / 2 - A, 0.0)

    def _relabellings(self) -> Iterable[Ints] | None:
        """Return all automorphisms if they are few and known; None to search for the best one."""
        return None

    def _best_relabelling(self, benefit: Floats) -> Ints:
        known = self._relabellings()
        if known is None:
            return best_relabelling(self._colours, benefit)
        columns = np.arange(self.n_clusters)
        return max(known, key=lambda p: float(benefit[p, columns].sum()))

    @cached_property
    def kernel(self) -> Floats:
        return _frozen(self._make_kernel())

    @cached_property
    def loss(self) -> Floats:
        return _frozen(self._make_loss())

    @cached_property
    def _colours(self) -> npt.NDArray[np.int64]:
        return pair_colours(self.kernel, self.loss)

    def align(self, benefit: npt.ArrayLike) -> Ints:
        """Find the relabelling allowed by the structure that gains most.

        Maximises sum_j benefit[p[j], j] over the permutations p that leave the structure as it is:
        A[p][:, p] = A and Delta[p][:, p] = Delta.

        Parameters
        ----------
        benefit : array-like of shape (c, c)
            ``benefit[a, j]`` is gained when predicted cluster j is called a; a confusion matrix with true
            labels in rows gives the best accuracy.

        Returns
        -------
        p : ndarray of shape (c,)
            Predicted cluster j becomes ``p[j]``. The identity whenever nothing else is better.
        """
        gains = np.asarray(benefit, dtype=np.float64)
        c = self.n_clusters
        if gains.shape != (c, c):
            raise ValueError(f"benefit must have shape ({c}, {c}) for {self!r}, got {gains.shape}.")
        if not np.isfinite(gains).all():
            raise ValueError("benefit has NaN or infinite entries; every gain must be a finite number.")
        stay = np.arange(c)
        p = np.asarray(self._best_relabelling(gains), dtype=np.intp)
        rounding = 1e-12 * (np.abs(gains).sum() + np.finfo(float).tiny)
        return stay if gains[stay, stay].sum() >= gains[p, stay].sum() - rounding else p

    # ---- positions between clusters

    def axes(self) -> list[Axis] | None:
        """Return the axes of continuous positions between clusters; None if the structure has no axes."""
        return None

    def network(self) -> Network | None:
        """Return the graph along which positions run; None for structures with axes or without positions.

        There are no positions without links, and none if each of more than three clusters is linked to all others.
        """
        pairs, c = self.edges(), self.n_clusters
        if self.axes() is not None or not pairs or (c > 3 and len(pairs) == c * (c - 1) // 2):
            return None
        return Network(tuple(pairs), c)

    def route(self) -> Route | None:
        """Return points along a chain, a ring or a graph; None for other structures."""
        if (network := self.network()) is not None:
            return Route(network)
        axes = self.axes() if self.is_one_dimensional else None
        return None if axes is None else Route.along(axes[0])

    @property
    def has_distances(self) -> bool:
        """True if distances between positions are defined along the structure."""
        axes = self.axes()
        return self.network() is not None if axes is None else all(axis.is_length for axis in axes)

    def distance(self, position: Floats, root: int) -> Floats:
        """Return the distance of positions (n,) or (n, d) from a cluster along the structure; neighbours are 1 apart.

        If the cluster is at an end, distances start at its outer side, so that the smallest is zero there too.
        Distances on several axes are added; they are infinite where no path leads.
        """
        if (network := self.network()) is not None:
            return network.distance(position, root)
        columns = position.reshape(len(position), -1).T
        return np.asarray(sum(axis.distance(x, root) for axis, x in zip(self.axes() or (), columns, strict=True)))

    @property
    def has_paths(self) -> bool:
        """True if the structure is a tree whose nodes are the clusters, so that paths lead from one to all ends."""
        network = self.network()
        return network is not None and network.is_tree

    def paths(self, position: Floats, root: int) -> Paths:
        """Return pseudotimes and weights of positions on the paths from a cluster to all other ends."""
        network = self.network()
        if network is None:
            raise ValueError(f"'{self}' has no paths.")
        return network.paths(position, root)

    # ---- the drawing

    def positions(self) -> Floats:
        """Return a point in the unit square for every cluster, shape (c, 2)."""
        return circle(self.n_clusters)

    def edges(self) -> list[tuple[int, int]]:
        """List the pairs (i, j), i < j, that are drawn as linked: by default those with A_ij > 0."""
        A = self.kernel
        above = np.triu(A > 1e-9 * np.abs(A).max(), k=1)
        return [(int(i), int(j)) for i, j in zip(*np.nonzero(above), strict=True)]

    def segments(self) -> Floats:
        """Return the lines to draw as start and end points, shape (n_lines, 2, 2)."""
        pairs = np.array(self.edges(), dtype=np.intp).reshape(-1, 2)
        return self.positions()[pairs]

    # ---- the object

    @classmethod
    def from_text(cls, text: str) -> Structure:
        """Make the structure from the text after the colon, "12" in "ring:12", or names, "(low,high)"."""
        if text.startswith("("):
            names = read_names(text)
            return cls(len(names), names)
        (size,) = parse_sizes(cls, text, 1)
        return cls(size)

    @classmethod
    def example(cls, n_clusters: int) -> Structure:
        """Return an instance with about `n_clusters` clusters, for tests."""
        return cls(n_clusters)

    def _key(self) -> Hashable:
        return self._arguments

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._arguments))})"

    def __str__(self) -> str:
        kind = type(self).__name__.lower()
        if self.names is not None:
            return f"{kind}:{to_newick(self.names)}"
        return f"{kind}:{'x'.join(map(str, self._arguments))}"


class SizedStructure(Structure):
    """A structure that its number of clusters defines; the number of names is used if none is given."""

    size_is_enough = True

    def __init__(self, n_clusters: int | None = None, names: Sequence[str] | None = None) -> None:
        given = len(names) if n_clusters is None and names is not None else n_clusters
        c = check_size(given, f"{type(self).__name__}'s n_clusters")
        super().__init__(c, c, names=names)


def _frozen(matrix: npt.ArrayLike) -> Floats:
    array = np.array(matrix, dtype=np.float64)
    array.flags.writeable = False
    return array


def check_size(value: object, what: str) -> int:
    """Return an integer >= 1, or raise an error that names the problem."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{what} must be an integer, got {value!r} of type {type(value).__name__}.")
    if value < 1:
        raise ValueError(f"{what} must be at least 1, got {int(value)}.")
    return int(value)


def parse_sizes(cls: type[Structure], text: str, how_many: int | None = None) -> list[int]:
    """Read "3x4" as [3, 4]."""
    parts = [part.strip() for part in text.split("x")]
    are_integers = all(part.isascii() and part.isdigit() for part in parts)
    if not are_integers or (how_many is not None and len(parts) != how_many):
        name = cls.__name__.lower()
        raise ValueError(f"structure '{name}:{text}' cannot be read; write it like '{cls.text_form}'.")
    return [check_size(int(part), f"every size in '{cls.__name__.lower()}:{text}'") for part in parts]


def divide(n_clusters: int) -> tuple[int, int]:
    """Return the two most similar factors of a number, the smaller one first."""
    first = next(d for d in range(int(n_clusters**0.5), 0, -1) if n_clusters % d == 0)
    return first, n_clusters // first


def from_to(behind: Ints, ahead: Ints) -> Floats:
    """Return the coefficients `towards` (c, c) of an axis on which cluster j lies between behind[j] and ahead[j]."""
    identity = np.eye(len(ahead))
    return np.asarray(identity[ahead] - identity[behind])


def along(axis: Axis, sizes: Sequence[int], which: int) -> Axis:
    """Extend an axis of factor number `which` to the product of factors of these sizes."""
    coordinate, towards = np.zeros(1), np.ones((1, 1))
    for number, size in enumerate(sizes):
        is_factor = number == which
        coordinate = np.add.outer(coordinate, axis.coordinate if is_factor else np.zeros(size)).ravel()
        towards = np.kron(towards, axis.towards if is_factor else np.eye(size)).astype(np.float64)
    return axis._replace(coordinate=coordinate, towards=towards)


def circle(n_points: int) -> Floats:
    """Return points on a circle in the unit square, clockwise from the top."""
    if n_points == 1:
        return np.array([[0.5, 0.5]])
    angle = 2 * np.pi * np.arange(n_points) / n_points
    return 0.5 + 0.5 * np.column_stack([np.sin(angle), np.cos(angle)])


def spread(n_points: int) -> Floats:
    """Return evenly spaced points on [0, 1]; a single one is in the middle."""
    return np.linspace(0.0, 1.0, n_points) if n_points > 1 else np.array([0.5])
