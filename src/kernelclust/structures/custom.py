"""Structures given by a matrix or a graph."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import shortest_path

from kernelclust._input import is_graph

from ._base import Floats, Structure, circle

N_LAYOUT_STEPS = 200


class Custom(Structure):
    """Clusters related by a matrix or a graph.

    A matrix is the kernel A. A networkx graph gives A = weighted adjacency + d I with nodes in the graph's order and
    d = 2, or d = -(smallest eigenvalue of the adjacency) if A needs more to be positive semi-definite. The loss is
    (A_jj + A_kk) / 2 - A_jk unless given. Choose it when no named structure fits: a road map, a confusion table, a
    similarity judged by experts. Relabellings that preserve both matrices (up to a relative 1e-9) are equivalent; they
    are found by search.

    Parameters
    ----------
    kernel : array-like of shape (c, c) or networkx graph
        Symmetric, positive semi-definite; or an undirected graph without loops.
    loss : array-like of shape (c, c), default=None
        Symmetric, non-negative, zero on the diagonal.
    names : sequence of str, default=None
        Names of the clusters; the default is the nodes of a graph or the index of a DataFrame.

    Examples
    --------
    >>> from kernelclust.structures import Custom
    >>> structure = Custom([[2, 1, 0], [1, 2, 0], [0, 0, 2]])
    >>> structure.loss
    array([[0., 1., 2.],
           [1., 0., 2.],
           [2., 2., 0.]])
    >>> structure.align([[0, 5, 0], [5, 0, 0], [0, 0, 5]])
    array([1, 0, 2])
    """

    def __init__(self, kernel: Any, loss: npt.ArrayLike | None = None, names: Sequence[str] | None = None) -> None:
        matrix = _graph_kernel(kernel) if is_graph(kernel) else _square(kernel, "kernel")
        _check_psd(matrix)
        self._kernel = matrix
        self._loss = None if loss is None else _check_loss(_square(loss, "loss"), len(matrix))
        names = _own_names(kernel) if names is None else names
        super().__init__(len(matrix), self._kernel, self._loss, names=names)

    @classmethod
    def from_links(cls, linked: npt.ArrayLike) -> Custom:
        """Make the structure of a graph from a boolean matrix of its links (c, c)."""
        return cls(_adjacency_kernel(np.asarray(linked, dtype=np.float64)))

    def _make_kernel(self) -> Floats:
        return self._kernel

    def _make_loss(self) -> Floats:
        return super()._make_loss() if self._loss is None else self._loss

    def positions(self) -> Floats:
        """Return points whose distances approximate steps in the graph, if it is sparse and connected."""
        c, linked = self.n_clusters, self._kernel > 0
        np.fill_diagonal(linked, False)
        steps = shortest_path(linked, unweighted=True)
        if linked.sum() > 3 * c or c < 3 or not np.isfinite(steps).all():
            return super().positions()
        return _layout(steps)

    def _key(self) -> Hashable:
        return self._kernel.tobytes(), None if self._loss is None else self._loss.tobytes(), self.names

    def __repr__(self) -> str:
        return f"Custom(<{self.n_clusters} x {self.n_clusters} kernel>{'' if self._loss is None else ', loss=...'})"

    def __str__(self) -> str:
        return f"custom:{self.n_clusters}"

    @classmethod
    def from_text(cls, text: str) -> Structure:
        raise ValueError("structure 'custom' cannot be given as text: pass the matrix or the graph itself.")

    @classmethod
    def example(cls, n_clusters: int) -> Custom:
        i = np.arange(n_clusters)
        return cls(0.5 ** np.abs(i[:, None] - i[None, :]))


def _layout(steps: Floats) -> Floats:
    """Return points (c, 2) of the unit square whose distances follow steps, by stress majorization."""
    c = len(steps)
    weight = np.where(steps > 0, np.where(steps > 0, steps, 1.0) ** -2.0, 0.0)
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=0)) - weight)
    centre = np.eye(c) - 1 / c
    values, vectors = np.linalg.eigh(-0.5 * centre @ steps**2 @ centre)
    scaled = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 0.0))

    def stress(Z: Floats) -> float:
        return float((weight * (np.linalg.norm(Z[:, None] - Z, axis=2) - steps) ** 2).sum())

    layouts = []
    for Z in (scaled + 0.1 * (circle(c) - 0.5), steps.max() * circle(c)):
        for _ in range(N_LAYOUT_STEPS):
            pull = weight * steps / np.maximum(np.linalg.norm(Z[:, None] - Z, axis=2), 1e-9)
            Z = inverse @ ((np.diag(pull.sum(axis=0)) - pull) @ Z)
        layouts.append(Z)
    best = min(layouts, key=stress)
    best = best @ np.linalg.svd(best - best.mean(axis=0), full_matrices=False)[2].T  # longest from left to right
    best = best - best.min(axis=0)
    extent = max(float(best.max()), 1e-9)
    return np.asarray(best / extent + (1 - best.max(axis=0) / extent) / 2)


def _own_names(value: Any) -> list[str] | None:
    """Return the names of a graph's nodes or a DataFrame's rows; None if these are 0, 1, 2, ..."""
    given = list(value.nodes if is_graph(value) else getattr(value, "index", ()) if hasattr(value, "columns") else ())
    if given == list(range(len(given))):
        return None
    names = [str(name).strip() for name in given]
    return names if all(names) and len(set(names)) == len(names) else [repr(name) for name in given]


def _graph_kernel(graph: Any) -> Floats:
    if graph.is_directed():
        raise ValueError(
            "the graph is directed, but similarity is symmetric; pass graph.to_undirected(). For a taxonomy with edges "
            "from parents to children, pass structure=graph or as_structure(graph)."
        )
    index = {node: i for i, node in enumerate(graph.nodes)}
    if not index:
        raise ValueError("the graph has no nodes; a structure needs at least one cluster.")
    adjacency = np.zeros((len(index), len(index)))
    for start, end, weight in graph.edges(data="weight", default=1.0):
        if start == end:
            raise ValueError(f"the graph has a loop at node {start!r}; remove it, the diagonal is set automatically.")
        adjacency[index[start], index[end]] += weight
        adjacency[index[end], index[start]] += weight
    if not np.isfinite(adjacency).all():
        raise ValueError("the graph has NaN or infinite edge weights; give every edge a finite weight.")
    return _adjacency_kernel(adjacency)


def _adjacency_kernel(adjacency: Floats) -> Floats:
    """Return adjacency + d I with d = 2, or larger if needed to be positive semi-definite."""
    lowest = float(np.linalg.eigvalsh(adjacency)[0])
    return np.asarray(adjacency + max(2.0, -lowest) * np.eye(len(adjacency)))


def _square(value: Any, what: str) -> Floats:
    if hasattr(value, "toarray"):
        value = value.toarray()
    try:
        matrix = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"the {what} must be a square matrix of numbers, got {type(value).__name__}.") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"the {what} must be a square matrix, got shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        raise ValueError(f"the {what} has NaN or infinite entries; every entry must be a finite number.")
    difference = np.abs(matrix - matrix.T)
    if difference.max() > 1e-8 * np.abs(matrix).max():
        i, j = np.unravel_index(np.argmax(difference), matrix.shape)
        raise ValueError(
            f"the {what} is not symmetric: entry ({i}, {j}) is {matrix[i, j]:.6g}, entry ({j}, {i}) is "
            f"{matrix[j, i]:.6g}. Use (M + M.T) / 2 if both directions mean the same."
        )
    return (matrix + matrix.T) / 2 + 0.0  # no minus zeros, so that equal matrices have equal bytes


def _check_psd(A: Floats) -> None:
    values = np.linalg.eigvalsh(A)
    lowest, largest = float(values[0]), float(np.abs(values).max())
    if lowest < -1e-8 * largest:
        raise ValueError(
            f"the kernel is not positive semi-definite: its most negative eigenvalue is {lowest:.6g}. "
            f"Add at least {-lowest:.6g} to the diagonal; for clusters on a grid use 'grid:RxC', "
            "whose kernel is a product of two chains."
        )


def _check_loss(loss: Floats, n_clusters: int) -> Floats:
    if len(loss) != n_clusters:
        raise ValueError(f"the loss has {len(loss)} rows, but the kernel has {n_clusters}; both need one per cluster.")
    if loss.min() < 0:
        raise ValueError(f"the loss must not be negative; its smallest entry is {loss.min():.6g}.")
    if np.abs(np.diag(loss)).max() > 0:
        raise ValueError(
            f"the loss must be zero on the diagonal, got {np.abs(np.diag(loss)).max():.6g}; a correct label costs 0."
        )
    return loss


PART = Custom
