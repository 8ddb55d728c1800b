"""The best relabelling of any structure, without listing its relabellings.

A permutation is allowed when it keeps the colour of every pair of nodes, where two pairs share a colour if
kernel and loss agree on them. Three steps, repeated:

1. *Refine*: nodes that see different colours around them fall into different cells. Only nodes of one cell
   can be exchanged.
2. *Split*: between two cells the most frequent colour carries no information beyond the cells. The pairs of all
   other colours connect nodes to components that can be matched freely with each other, so components are solved
   pair by pair and an assignment problem picks the best matching. This is exact, and makes the large groups
   (flat structures, trees, blocks) cheap.
3. *Branch*: if nothing splits, fix the image of one node, with an assignment over the cells as bound.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

Codes = npt.NDArray[np.int64]
Nodes = npt.NDArray[np.intp]
Marks = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Answer = tuple[float, Nodes]


def pair_colours(*matrices: Floats) -> Codes:
    """Give two pairs of nodes the same number when all matrices agree on them up to rounding."""
    c = len(matrices[0])
    colours = np.zeros((c, c), dtype=np.int64)
    for matrix in matrices:
        values, inverse = np.unique(matrix, return_inverse=True)
        steps = np.diff(values, prepend=values[0]) > 1e-9 * np.abs(values).max()
        level = np.cumsum(steps)[inverse].reshape(c, c)
        colours = colours * (level.max() + 1) + level
    return np.unique(colours, return_inverse=True)[1].reshape(c, c).astype(np.int64)


def best_relabelling(colours: Codes, benefit: Floats) -> Nodes:
    """Maximise sum_j benefit[p[j], j] over p with colours[p][:, p] == colours."""
    c = len(colours)
    everyone, one_cell = np.arange(c), np.zeros(c, dtype=np.int64)
    best = _Search(colours, benefit).best(everyone, everyone, one_cell, one_cell, -np.inf)
    assert best is not None, "the identity is always allowed"
    return best[1]


class _Search:
    def __init__(self, colours: Codes, benefit: Floats) -> None:
        self.colours, self.benefit = colours, benefit
        random = np.random.default_rng(0)
        self.cell_marks = random.integers(0, 2**63, size=2 * len(colours) + 1, dtype=np.uint64)
        self.marks = random.integers(0, 2**63, size=int(colours.max()) + 1, dtype=np.uint64)[colours]

    def best(self, source: Nodes, target: Nodes, cells_s: Codes, cells_t: Codes, floor: float) -> Answer | None:
        """Return the best colour-preserving map of `source` onto `target`; None if there is none above `floor`.

        The image is returned in the order of `source`.
        """
        refined = self.refine(source, target, cells_s, cells_t)
        if refined is None:
            return None
        cells_s, cells_t = refined
        if floor > -np.inf and self.bound(source, target, cells_s, cells_t) <= floor:
            return None
        neutral = self.neutral_colours(source, cells_s)
        parts_s = self.parts(source, cells_s, neutral)
        if len(parts_s) == len(source):
            return _assign(self.allowed_benefit(source, target, cells_s, cells_t), target)
        if len(parts_s) == 1:
            return self.branch(source, target, cells_s, cells_t, floor)
        parts_t = self.parts(target, cells_t, neutral)
        if len(parts_s) != len(parts_t):
            return None
        return self.match(parts_s, parts_t, source, target, cells_s, cells_t)

    def refine(self, source: Nodes, target: Nodes, cells_s: Codes, cells_t: Codes) -> tuple[Codes, Codes] | None:
        """Split cells until all nodes of a cell have the same signature; return None if the two sides differ.

        The signature of a node, the multiset of (colour, cell) around it, is hashed into 64 bits.
        """
        k = len(source)
        around = np.concatenate([self.marks[np.ix_(source, source)], self.marks[np.ix_(target, target)]])
        cells = np.concatenate([cells_s, cells_t])
        n_cells = 0
        while True:
            cells = np.unique(cells, return_inverse=True)[1].reshape(-1)
            if not np.array_equal(np.sort(cells[:k]), np.sort(cells[k:])):
                return None
            if cells.max() + 1 == n_cells:
                return cells[:k], cells[k:]
            n_cells = int(cells.max()) + 1
            mark = self.cell_marks[cells]
            neighbour_marks = np.repeat([mark[:k], mark[k:]], k, axis=0)
            signature = _scramble(around + neighbour_marks).sum(axis=1, dtype=np.uint64)
            codes: Marks = _scramble(signature + mark)
            cells = np.unique(codes, return_inverse=True)[1].reshape(-1)

    def neutral_colours(self, nodes: Nodes, cells: Codes) -> Codes:
        """Return the most frequent colour between any two cells, shape (n_cells, n_cells)."""
        n_cells, n_colours = int(cells.max()) + 1, int(self.colours.max()) + 1
        between = (cells[:, None] * n_cells + cells[None, :]) * n_colours + self.colours[np.ix_(nodes, nodes)]
        codes, counts = np.unique(between[~np.eye(len(nodes), dtype=bool)], return_counts=True)
        neutral = np.full(n_cells * n_cells, -1, dtype=np.int64)
        order = np.lexsort((-codes, counts))  # the most frequent is written last, ties to the smallest colour
        neutral[codes[order] // n_colours] = codes[order] % n_colours
        return neutral.reshape(n_cells, n_cells)

    def parts(self, nodes: Nodes, cells: Codes, neutral: Codes) -> list[Nodes]:
        """Return the connected components of non-neutral pairs, as indices into `nodes`."""
        informative = self.colours[np.ix_(nodes, nodes)] != neutral[cells[:, None], cells[None, :]]
        np.fill_diagonal(informative, False)
        n_parts, part = connected_components(csr_array(informative), directed=False)
        return [np.flatnonzero(part == q) for q in range(n_parts)]

    def match(
        self,
        parts_s: list[Nodes],
        parts_t: list[Nodes],
        source: Nodes,
        target: Nodes,
        cells_s: Codes,
        cells_t: Codes,
    ) -> Answer | None:
        values = np.full((len(parts_t), len(parts_s)), -np.inf)
        images: dict[tuple[int, int], Nodes] = {}
        for q, s in enumerate(parts_s):
            for r, t in enumerate(parts_t):
                if len(s) != len(t):
                    continue
                answer = self.best(source[s], target[t], cells_s[s], cells_t[t], -np.inf)
                if answer is not None:
                    values[r, q], images[r, q] = answer
        chosen = _assign(values, np.arange(len(parts_t)))
        if chosen is None:
            return None
        image = np.empty(len(source), dtype=np.intp)
        for q, r in enumerate(chosen[1]):
            image[parts_s[q]] = images[int(r), q]
        return chosen[0], image

    def branch(self, source: Nodes, target: Nodes, cells_s: Codes, cells_t: Codes, floor: float) -> Answer | None:
        sizes = np.bincount(cells_s)
        cell = int(np.argmin(np.where(sizes > 1, sizes, len(source) + 1)))
        fixed = np.flatnonzero(cells_s == cell)[0]
        candidates = np.flatnonzero(cells_t == cell)
        gains = self.benefit[target[candidates], source[fixed]]
        best: Answer | None = None
        marked_s = cells_s.copy()
        marked_s[fixed] = len(sizes)
        for candidate in candidates[np.argsort(-gains, kind="stable")]:
            marked_t = cells_t.copy()
            marked_t[candidate] = len(sizes)
            answer = self.best(source, target, marked_s, marked_t, floor)
            if answer is not None and answer[0] > floor:
                best, floor = answer, answer[0]
        return best

    def allowed_benefit(self, source: Nodes, target: Nodes, cells_s: Codes, cells_t: Codes) -> Floats:
        return np.where(cells_t[:, None] == cells_s[None, :], self.benefit[np.ix_(target, source)], -np.inf)

    def bound(self, source: Nodes, target: Nodes, cells_s: Codes, cells_t: Codes) -> float:
        answer = _assign(self.allowed_benefit(source, target, cells_s, cells_t), target)
        return -np.inf if answer is None else answer[0]


def _scramble(x: Marks) -> Marks:
    """Mix the bits, so that sums of scrambled numbers agree only for equal multisets (splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _assign(values: Floats, target: Nodes) -> Answer | None:
    """Return the best one-to-one assignment of rows to columns; None if -inf entries leave none."""
    try:
        rows, columns = linear_sum_assignment(values, maximize=True)
    except ValueError:  # infeasible
        return None
    image = np.empty(len(columns), dtype=np.intp)
    image[columns] = target[rows]
    return float(values[rows, columns].sum()), image
