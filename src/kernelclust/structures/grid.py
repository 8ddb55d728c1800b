"""Clusters on a grid of rows and columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._axes import Axis
from ._base import Floats, Ints, Structure, along, check_size, divide, parse_sizes, spread
from ._newick import read_names, to_newick
from .chain import Chain, chain_kernel


class Grid(Structure):
    """Clusters on a grid of rows x columns: A = chain (x) chain, loss = Manhattan distance.

    Cluster ``i * columns + j`` is in row i and column j. The kernel is the Kronecker product of two chains
    because "2 on the diagonal, 1 between neighbours" is not positive semi-definite on a grid. Choose it for
    maps and for two ordered properties at once. Flips (and the transposition of a square) are equivalent.

    Parameters
    ----------
    rows, columns : int
        Size of the grid; ``Grid((3, 4))`` works too.
    names : sequence of str, optional
        Names of the clusters, row by row; in text, "grid:2x2(a,b,c,d)".

    Examples
    --------
    >>> from kernelclust.structures import Grid
    >>> Grid(2, 2).kernel
    array([[4., 2., 2., 1.],
           [2., 4., 1., 2.],
           [2., 1., 4., 2.],
           [1., 2., 2., 4.]])
    >>> Grid(2, 3).loss[0]
    array([0., 1., 2., 1., 2., 3.])
    """

    text_form = "grid:3x4"

    def __init__(
        self, rows: int | Sequence[int], columns: int | None = None, names: Sequence[str] | None = None
    ) -> None:
        if columns is None:
            if not isinstance(rows, Sequence) or isinstance(rows, str) or len(rows) != 2:
                raise TypeError(f"Grid needs rows and columns, like Grid(3, 4); got {rows!r}.")
            rows, columns = rows
        self.rows = check_size(rows, "Grid's rows")
        self.columns = check_size(columns, "Grid's columns")
        super().__init__(self.rows * self.columns, self.rows, self.columns, names=names)
        self.is_multidimensional = min(self.rows, self.columns) > 1

    def _make_kernel(self) -> Floats:
        return np.kron(chain_kernel(self.rows), chain_kernel(self.columns)).astype(np.float64)

    def _make_loss(self) -> Floats:
        row, column = np.divmod(np.arange(self.n_clusters, dtype=np.float64), self.columns)
        return np.asarray(np.abs(row[:, None] - row) + np.abs(column[:, None] - column))

    def _relabellings(self) -> list[Ints]:
        nodes = np.arange(self.n_clusters).reshape(self.rows, self.columns)
        turned = [nodes, nodes.T] if self.rows == self.columns else [nodes]
        return [view[::up, ::left].ravel() for view in turned for up in (1, -1) for left in (1, -1)]

    def axes(self) -> list[Axis]:
        sizes = (self.rows, self.columns)
        return [along(Chain(size).axes()[0], sizes, which) for which, size in enumerate(sizes)]

    def positions(self) -> Floats:
        x, y = np.meshgrid(spread(self.columns), spread(self.rows)[::-1])
        return np.column_stack([x.ravel(), y.ravel()])

    def edges(self) -> list[tuple[int, int]]:
        return [(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(self.loss == 1)), strict=True)]

    @classmethod
    def from_text(cls, text: str) -> Grid:
        sizes, bracket, names = text.partition("(")
        rows, columns = parse_sizes(cls, sizes, 2)
        return cls(rows, columns, read_names(bracket + names) if bracket else None)

    def __str__(self) -> str:
        return f"grid:{self.rows}x{self.columns}{'' if self.names is None else to_newick(self.names)}"

    @classmethod
    def example(cls, n_clusters: int) -> Grid:
        return cls(*divide(n_clusters))


PART = Grid
