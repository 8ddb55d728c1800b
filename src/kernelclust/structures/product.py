"""Products of structures."""

from __future__ import annotations

import itertools

import numpy as np

from ._axes import Axis
from ._base import Floats, Structure, along, divide
from ._newick import split_outside
from ._parse import as_structure
from .chain import Chain
from .flat import Flat


class Product(Structure):
    """Combine structures: A = A1 (x) A2 (x) ..., loss (A_jj + A_kk) / 2 - A_jk.

    A cluster is a tuple of one node per factor, the last factor varying fastest. Choose
    ``Product(Flat(4), Chain(3))`` for four objects at three stages each, ``Product(Chain(3), Ring(12))`` for
    months within stages. Relabellings are those of A, which may be more than those of the factors: each of the four
    chains above may be reversed independently.

    Losses of the factors are not used, because their sum would not allow these relabellings. The loss of A is half the
    squared distance in its feature space, so two clusters without similarity have loss A_jj: with four objects at
    three stages, the first and last stage of one object have loss 2, and so have two different objects. To give
    different objects a larger loss, such as that of a tree, use ``Custom(Product(...).kernel, loss=Tree(4, 3).loss)``.

    Parameters
    ----------
    *factors : Structure or str
        Two or more structures.

    Examples
    --------
    >>> from kernelclust.structures import Chain, Flat, Product
    >>> Product(Flat(2), Chain(2)).kernel
    array([[2., 1., 0., 0.],
           [1., 2., 0., 0.],
           [0., 0., 2., 1.],
           [0., 0., 1., 2.]])
    >>> str(Product(Flat(2), Chain(2)))
    'flat:2*chain:2'
    """

    text_form = "flat:4*chain:3"

    def __init__(self, *factors: Structure | str) -> None:
        if len(factors) < 2:
            raise ValueError(f"Product needs two factors or more, like Product(Flat(4), Chain(3)); got {len(factors)}.")
        parts = (as_structure(factor) for factor in factors)
        self.factors: tuple[Structure, ...] = tuple(
            part for structure in parts for part in getattr(structure, "factors", (structure,))
        )
        if sought := [factor for factor in self.factors if factor.is_sought]:
            raise ValueError(
                f"Product has the factor '{sought[0]}', which is chosen by a fit; all factors must be fixed, "
                "such as 'chain:3'."
            )
        super().__init__(int(np.prod([factor.n_clusters for factor in self.factors])), *self.factors)
        self.names = _joined(self.factors)
        self.is_multidimensional = all(
            factor.is_one_dimensional or factor.is_multidimensional for factor in self.factors
        )

    def _make_kernel(self) -> Floats:
        A = np.ones((1, 1))
        for factor in self.factors:
            A = np.kron(A, factor.kernel).astype(np.float64)
        return A

    def axes(self) -> list[Axis] | None:
        """Return the axes of the factors; None if a factor has none."""
        axes: list[Axis] = []
        sizes = [factor.n_clusters for factor in self.factors]
        for which, factor in enumerate(self.factors):
            if (own := factor.axes()) is None:
                return None
            axes += [along(axis, sizes, which) for axis in own]
        return axes

    def positions(self) -> Floats:
        """Return the points of each factor, scaled down around every node of the factor before it."""
        points = self.factors[0].positions()
        for factor in self.factors[1:]:
            inner = factor.positions() - 0.5
            apart = np.linalg.norm(points[:, None] - points[None, :], axis=2)
            room = 0.6 * (apart[apart > 0].min() if len(points) > 1 else 1.0)
            if np.ptp(points[:, 1]) == 0 and np.ptp(inner[:, 1]) == 0:  # two rows: turn the inner one upright
                inner, room = inner[:, ::-1] * [1, -1], 1.0
            points = (points[:, None, :] + room * inner[None, :, :]).reshape(-1, 2)
            low, high = points.min(axis=0), points.max(axis=0)
            points = (points - (low + high) / 2) / max((high - low).max(), 1.0) + 0.5
        return points

    def edges(self) -> list[tuple[int, int]]:
        """List the links that change the node of exactly one factor."""
        nodes = np.arange(self.n_clusters).reshape([factor.n_clusters for factor in self.factors])
        pairs = []
        for axis, factor in enumerate(self.factors):
            along = np.moveaxis(nodes, axis, 0).reshape(factor.n_clusters, -1)
            pairs += [(int(a), int(b)) for i, j in factor.edges() for a, b in zip(along[i], along[j], strict=True)]
        return sorted(pairs)

    def __str__(self) -> str:
        return "*".join(map(str, self.factors))

    @classmethod
    def from_text(cls, text: str) -> Product:
        parts = [part.strip() for part in split_outside(text, "*")]
        if len(parts) < 2 or not all(parts):
            raise ValueError(f"product {text!r} cannot be read; write it like '{cls.text_form}'.")
        return cls(*parts)

    @classmethod
    def example(cls, n_clusters: int) -> Product:
        blocks, length = divide(n_clusters)
        return cls(Flat(blocks), Chain(length))


def _joined(factors: tuple[Structure, ...]) -> tuple[str, ...] | None:
    """Return names of tuples of nodes, "left/low"; nodes without a name have their number."""
    if all(factor.names is None for factor in factors):
        return None
    parts = [factor.names or [str(node) for node in range(factor.n_clusters)] for factor in factors]
    return tuple("/".join(names) for names in itertools.product(*parts))


PART = Product
