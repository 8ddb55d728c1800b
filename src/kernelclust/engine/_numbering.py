"""Which of the equivalent numberings of clusters a fit returns."""

from __future__ import annotations

import numpy as np

from kernelclust.structures import Structure


def canonical_places(
    structure: Structure,
    S: np.ndarray,
    n: np.ndarray,
    movable: np.ndarray | None = None,
    linear: np.ndarray | None = None,
) -> np.ndarray:
    """Of all equivalent numberings, the one with large clusters first, so that sample order does not matter.

    Clusters that are not `movable` keep their number, and what soft labels say (`linear`) comes first.
    """
    c = len(n)
    rank = np.empty(c)
    spread = np.diag(S) / np.where(n > 0, n, 1)
    rank[np.lexsort((spread, n))] = np.arange(c)
    uneven = np.random.RandomState(0).random(c) / 2  # whole numbers would let different numberings tie
    benefit = np.outer(np.arange(c, 0, -1.0) + uneven, rank)
    if linear is not None and linear.any():
        linear = np.ldexp(linear, -int(np.frexp(linear.max())[1]))  # wishes count beside each other, however small
        benefit += 10 * max(benefit.sum(), 1.0) * (linear.T / linear.max())
    if movable is not None and not movable.all():  # last, so that nothing outweighs it
        benefit[~movable] = 0.0
        benefit[:, ~movable] = 0.0
        benefit[~movable, ~movable] = 10 * max(benefit.sum(), 1.0)
    return np.asarray(structure.align(benefit))


def renumbered(node: np.ndarray, S: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """S and n with cluster j at node[j]."""
    order = np.argsort(node)
    return S[np.ix_(order, order)], n[order]
