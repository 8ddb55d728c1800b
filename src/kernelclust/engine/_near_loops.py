"""Nearest samples of every cluster, and the neighbours of every sample, in one pass over all pairs of samples."""

from __future__ import annotations

import numpy as np

from kernelclust._compiled import compiled, floats, integers


def near(E: np.ndarray, labels: np.ndarray, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance (m, c) of samples E (m, q) to the nearest other one of each cluster (inf where there is
    none), and how many of the nearest samples of cluster j are in cluster k (c, c).

    Samples are sorted by cluster. Of neighbours that are equally far those of the own cluster count first.
    """
    c = int(labels[-1]) + 1
    starts = np.searchsorted(labels, np.arange(c + 1))
    nearest, n_links = np.full((len(E), c), np.inf), np.zeros((c, c), dtype=np.intp)
    _fill_near(floats(E.T), integers(starts), n_neighbors, nearest, n_links)
    return np.sqrt(nearest, out=nearest), n_links


@compiled(fastmath={"contract", "reassoc", "nnan", "nsz"})
def _fill_near(columns, starts, n_neighbors, nearest, n_links):
    """Fill squares of distances `nearest` and `n_links`; columns are those of the samples (q, m). A cluster whose
    nearest sample is farther than all neighbours so far has no neighbour.
    """
    q, m = columns.shape
    c = len(starts) - 1
    squares, smallest, cluster = np.empty(m), np.empty(n_neighbors), np.empty(n_neighbors, dtype=np.intp)
    own = 0
    for i in range(m):
        while starts[own + 1] <= i:
            own += 1
        squares[:] = 0.0
        for column in range(q):
            here = columns[column, i]
            for j in range(m):
                apart = columns[column, j] - here
                squares[j] += apart * apart
        squares[i] = np.inf
        smallest[:] = np.inf
        cluster[:] = own
        for turn in range(c):
            k = own if turn == 0 else turn - 1 if turn <= own else turn
            low = np.inf
            for j in range(starts[k], starts[k + 1]):
                if squares[j] < low:
                    low = squares[j]
            nearest[i, k] = low
            if not low < smallest[n_neighbors - 1]:
                continue
            for j in range(starts[k], starts[k + 1]):
                if squares[j] < smallest[n_neighbors - 1]:
                    at = n_neighbors - 1
                    while at > 0 and squares[j] < smallest[at - 1]:
                        smallest[at], cluster[at] = smallest[at - 1], cluster[at - 1]
                        at -= 1
                    smallest[at], cluster[at] = squares[j], k
        for neighbour in cluster:
            n_links[own, neighbour] += 1
