"""Side information: known labels, must-links, cannot-links and sizes; checked, merged to blocks, kept by every solver.

Must-linked samples form a block that moves as one. A block may have a known place; blocks may be cannot-linked; sizes
of clusters may be bounded. `make_constraints` finds contradictions before any other work and names them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from kernelclust.kernels import row_blocks
from kernelclust.solvers._block_loops import colour, shift_sizes

SLACK = 1e-9  # of the total weight: rounding that a size bound forgives
PATIENCE = 60.0  # seconds that the exact search for a labeling may take
PROGRAM = 300  # blocks times clusters up to which integer programs are solved for a start
TRIED = 50  # samples that a clique of cannot-links is sought around
SHOWN = 8  # samples named in an error


@dataclass(frozen=True)
class Constraints:
    """What is known, about blocks of samples (M of them) that must be together."""

    block: np.ndarray  # (m,) block of each sample
    sample_weight: np.ndarray  # (m,)
    place: np.ndarray  # (M,) known place, or -1
    links: sparse.csr_array  # (M, M) symmetric: blocks that may not share a cluster
    lower: np.ndarray  # (c,) weight that each cluster holds at least
    upper: np.ndarray  # (c,) and at most
    pull: np.ndarray  # (M, c) what F gains with a block in a cluster
    witness: np.ndarray | None = None  # (M,) a labeling that keeps everything
    strict: bool = True  # False for a part of the samples: sizes are aims

    @property
    def n_clusters(self) -> int:
        return len(self.lower)

    @property
    def n_blocks(self) -> int:
        return len(self.place)

    @cached_property
    def weight(self) -> np.ndarray:
        return np.bincount(self.block, self.sample_weight, minlength=self.n_blocks)

    @cached_property
    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """Samples of block u: member[first[u]:first[u + 1]]."""
        count = np.bincount(self.block, minlength=self.n_blocks)
        return np.concatenate([[0], np.cumsum(count)]), np.argsort(self.block, kind="stable")

    @cached_property
    def mean(self) -> sparse.csr_array:
        """(M, m) weighted mean over each block."""
        m = len(self.block)
        shares = self.sample_weight / self.weight[self.block]
        return sparse.csr_array((shares, (self.block, np.arange(m))), shape=(self.n_blocks, m))

    @cached_property
    def linked(self) -> tuple[np.ndarray, np.ndarray]:
        return self.links.indptr.astype(np.intp), self.links.indices.astype(np.intp)

    @cached_property
    def slack(self) -> float:
        return SLACK * float(self.sample_weight.sum())

    @cached_property
    def has_links(self) -> bool:
        return bool(self.links.nnz)

    @cached_property
    def has_sizes(self) -> bool:
        return bool(np.any(self.lower > 0) or np.any(np.isfinite(self.upper)))

    @cached_property
    def known(self) -> bool:
        """Whether anything says which cluster sits where, not only who is with whom."""
        uneven = np.ptp(self.lower) > 0 or np.any(self.upper != self.upper[0])
        return bool((self.place >= 0).any() or self.pull.any() or uneven)

    @cached_property
    def seeds(self) -> np.ndarray:
        """(m,) known place of each sample, hard or soft, or -1."""
        soft = np.where(self.pull.max(axis=1) > 0, np.argmax(self.pull, axis=1), -1)
        return np.where(self.place >= 0, self.place, soft)[self.block]

    @cached_property
    def movable(self) -> np.ndarray:
        """(c,) nodes whose clusters may change places with each other: no known labels, the same bounds."""
        movable = np.ones(self.n_clusters, dtype=bool)
        movable[self.place[self.place >= 0]] = False
        bounds = np.stack([self.lower, self.upper], axis=1)
        kinds, kind = np.unique(bounds, axis=0, return_inverse=True)
        kind = kind.ravel()
        most = np.bincount(kind[movable], minlength=len(kinds)).argmax()
        return movable & (kind == most)

    def among(self, used: np.ndarray) -> Constraints:
        """The same for the samples of positive weight, which are all that count."""
        present, block = np.unique(self.block[used], return_inverse=True)
        assert self.witness is not None
        return replace(
            self,
            block=block,
            sample_weight=self.sample_weight[used],
            place=self.place[present],
            links=self.links[present][:, present],
            pull=self.pull[present],
            witness=self.witness[present],
        )

    def complete(self, labels: np.ndarray, rest: np.ndarray, rises: np.ndarray) -> np.ndarray:
        """Labels of the samples `rest`: that of their block, if known, else where the block's rise is largest."""
        label = self.place.copy()
        done = labels >= 0
        label[self.block[done]] = labels[done]
        total = np.zeros((self.n_blocks, self.n_clusters))
        np.add.at(total, self.block[rest], rises)
        return np.where(label >= 0, label, np.argmax(total, axis=1))[self.block[rest]]

    def at(self, samples: np.ndarray) -> Constraints:
        """The same seen at some of the samples: sizes in proportion, and no promise to keep them."""
        present, block = np.unique(self.block[samples], return_inverse=True)
        weight = self.sample_weight[samples]
        share = weight.sum() / self.sample_weight.sum()
        heaviest = np.bincount(block, weight).max()
        return Constraints(
            block,
            weight,
            self.place[present],
            self.links[present][:, present],
            np.maximum(self.lower * share - heaviest, 0.0),
            self.upper * share + heaviest,
            self.pull[present],
            None if self.witness is None else self.witness[present],
            strict=False,
        )

    def pulled(self, unit: float) -> Constraints:
        """With `unit` of F for a soft label of weight one."""
        return replace(self, pull=self.pull * unit) if self.pull.any() else self

    # -- labels of samples and of blocks ------------------------------------------------------------------------------

    def of_blocks(self, labels: np.ndarray) -> np.ndarray:
        """Label of most of each block's weight."""
        if self.n_blocks == len(labels):
            out = np.empty(self.n_blocks, dtype=np.intp)
            out[self.block] = labels
            return out
        c = self.n_clusters
        votes = np.bincount(self.block * c + labels, self.sample_weight, minlength=self.n_blocks * c)
        return np.argmax(votes.reshape(-1, c), axis=1)

    def kept_by(self, labels: np.ndarray) -> bool:
        """Whether labels of samples keep everything that is known."""
        label = self.of_blocks(labels)
        return bool(np.array_equal(label[self.block], labels)) and self._together(label) and self._sized(label)

    def _together(self, label: np.ndarray) -> bool:
        wrong = (self.place >= 0) & (label != self.place)
        first, link = self.linked
        return not wrong.any() and not np.any(np.repeat(label, np.diff(first)) == label[link])

    def _sized(self, label: np.ndarray) -> bool:
        n = np.bincount(label, self.weight, minlength=self.n_clusters)
        return bool(np.all(n >= self.lower - self.slack) and np.all(n <= self.upper + self.slack))

    def gain(self, labels: np.ndarray) -> float:
        """What soft labels add to F."""
        return float(self.pull[np.arange(self.n_blocks), self.of_blocks(labels)].sum())

    def wishes(self, labels: np.ndarray) -> np.ndarray:
        """(c, c) what soft labels add when cluster j goes to node p."""
        out = np.zeros((self.n_clusters,) * 2)
        np.add.at(out, self.of_blocks(labels), self.pull)
        return out

    def demands(self, labels: np.ndarray) -> np.ndarray:
        """(c, c) share of known labels that is right when cluster j goes to node p, minus the share of all samples by
        which it misses the size there."""
        label, placed = self.of_blocks(labels), self.place >= 0
        out = self.wishes(labels)
        np.add.at(out, (label[placed], self.place[placed]), self.weight[placed])
        n = np.bincount(label, self.weight, minlength=self.n_clusters)[:, None]
        missed = np.maximum(self.lower - n, 0.0) + np.maximum(n - self.upper, 0.0)
        return out / max(out.sum(), np.finfo(float).tiny) - missed / n.sum()

    def placing(self, labels: np.ndarray) -> dict[str, np.ndarray]:
        """What a placement of these clusters has to respect."""
        return {"movable": self.movable, "linear": self.wishes(labels)}

    def together(self, labels: np.ndarray) -> np.ndarray:
        """Labels with every block whole."""
        return self.of_blocks(labels)[self.block]

    def numbered(self, labels: np.ndarray) -> np.ndarray:
        """Clusters renumbered so that most known labels are right."""
        if not self.known:
            return labels
        return linear_sum_assignment(self.demands(labels), maximize=True)[1][labels]

    # -- labelings that are allowed -----------------------------------------------------------------------------------

    def repair(self, labels: np.ndarray, E: np.ndarray, *, allow_empty: bool = False) -> np.ndarray:
        """A labeling that keeps everything, near to the one given in the features E (m x d)."""
        wish = self.of_blocks(labels)
        wish = np.where(self.place >= 0, self.place, wish)
        label = wish.copy()
        good = self._together(label) and self._sized(label)
        empty = not allow_empty and len(np.unique(label)) < self.n_clusters
        if good and not empty:
            return label[self.block]
        score = self._scores(label, E)
        if not good:
            label = self._separate(wish, score)
            if not self._sized(label) and not self._fit_sizes(label, score) and self.strict:
                label = self._nearest(wish, score)
        if not allow_empty:
            self._fill(label, score)
        return label[self.block]

    def _nearest(self, wish: np.ndarray, score: np.ndarray) -> np.ndarray:
        """The allowed labeling with the largest scores, by integer programming, or for many blocks just the witness."""
        found = None
        if self.n_blocks * self.n_clusters <= PROGRAM:
            favour = np.zeros_like(score)
            favour[np.arange(len(wish)), wish] = np.ptp(score, axis=1)
            found = _exact(self, sized=True, score=(score + favour) * self.weight[:, None])
        assert self.witness is not None
        return self.witness.copy() if found is None else found

    def _scores(self, label: np.ndarray, E: np.ndarray) -> np.ndarray:
        """(M, c) minus half the squared distance of a block's mean from a cluster's, but for a constant a block."""
        blocks = np.asarray(self.mean @ E)
        n = np.bincount(label, self.weight, minlength=self.n_clusters)
        sums = np.zeros((self.n_clusters, E.shape[1]))
        np.add.at(sums, label, blocks * self.weight[:, None])
        centres = sums / np.where(n > 0, n, 1.0)[:, None]
        return blocks @ centres.T - 0.5 * np.einsum("ij,ij->i", centres, centres)

    def _separate(self, wish: np.ndarray, score: np.ndarray) -> np.ndarray:
        """Cannot-links kept: greedily, with the most constrained first, or as the witness has it."""
        first, link = self.linked
        degree = np.diff(first)
        free = np.flatnonzero((self.place < 0) & (degree > 0))
        if not len(free):
            return wish.copy()
        order = free[np.argsort(-degree[free], kind="stable")].astype(np.intp)
        for dynamic in (False, True):
            label = wish.copy()
            label[free] = -1
            if colour(order, wish, label, first, link, score, dynamic):
                return label
        label = wish.copy()
        if self.witness is not None:
            label[free] = self.witness[free]
        return label

    def _fit_sizes(self, label: np.ndarray, score: np.ndarray) -> bool:
        """Move blocks, cheapest first, until sizes keep their bounds; False where that gets stuck."""
        first, link = self.linked
        weight, c = self.weight, self.n_clusters
        n = np.bincount(label, weight, minlength=c)
        free = self.place < 0
        for filling in (False, True):
            while True:
                off = n < self.lower - self.slack if filling else n > self.upper + self.slack
                if not off.any():
                    break
                rows = np.flatnonzero(free if filling else free & off[label])
                columns = np.flatnonzero(off) if filling else np.arange(c)
                cost = score[rows, label[rows]][:, None] - score[rows][:, columns]
                order = np.argsort(cost, axis=None, kind="stable")
                block, target = rows[order // len(columns)], columns[order % len(columns)]
                if not shift_sizes(
                    block, target, filling, label, weight, n, first, link, self.lower, self.upper, self.slack
                ):
                    return False
        return self._sized(label)

    def _fill(self, label: np.ndarray, score: np.ndarray) -> None:
        """Give an empty cluster the block worst placed where it is, if one may leave; else it stays empty."""
        weight = self.weight
        for empty in range(self.n_clusters):
            count = np.bincount(label, minlength=self.n_clusters)
            if count[empty]:
                continue
            n = np.bincount(label, weight, minlength=self.n_clusters)
            may = (self.place < 0) & (count[label] > 1) & (n[label] - weight >= self.lower[label] - self.slack)
            may &= weight <= self.upper[empty] + self.slack
            if may.any():
                label[np.argmax(np.where(may, score.max(axis=1) - score[np.arange(len(label)), label], -np.inf))] = (
                    empty
                )


def equal_rows(X: Any, n_clusters: int, weight: np.ndarray) -> Constraints | None:
    """Blocks of samples that are copies of each other, or None where there are none, or no more than clusters.

    Told apart by one random projection. A search that moves copies together cannot be trapped between them.
    """
    largest = float(max(X.max(), -X.min()))
    if not largest > 0:
        return None
    direction = np.random.RandomState(0).uniform(0.5, 1.0, X.shape[1])
    if sparse.issparse(X):
        projected = (X / largest) @ direction
    else:  # float32 in blocks: a product in double precision is one of copies
        projected = np.concatenate([(X[rows] / largest) @ direction for rows in row_blocks(*X.shape)])
    size = np.abs(projected).max()
    distinct, block = np.unique(np.round(projected / max(size, 1e-300), 11), return_inverse=True)
    if len(distinct) == len(projected) or len(distinct) <= n_clusters:
        return None
    return _free(block, weight, n_clusters)


def _free(block: np.ndarray, weight: np.ndarray, c: int) -> Constraints:
    M = int(block.max()) + 1
    return Constraints(
        block,
        weight,
        np.full(M, -1),
        sparse.csr_array((M, M)),
        np.zeros(c),
        np.full(c, np.inf),
        np.zeros((M, c)),
    )


# -- from what users give ---------------------------------------------------------------------------------------------


def make_constraints(
    weight: np.ndarray,
    n_clusters: int,
    *,
    labels: Any = None,
    must_link: Any = None,
    cannot_link: Any = None,
    min_size: Any = None,
    max_size: Any = None,
    label_weight: float | None = None,
    allow_empty: bool = False,
) -> Constraints | None:
    """Check what is known about samples of these weights and find a labeling that keeps it; None if nothing is.

    Raises a ValueError that names the contradiction where no labeling does.
    """
    m, c = len(weight), n_clusters
    y = check_labels(labels, m, c)
    must, cannot = check_pairs("must_link", must_link, m), check_pairs("cannot_link", cannot_link, m)
    lower, upper = _size_bounds(min_size, max_size, c)
    sized = bool(np.any(lower > 0) or np.any(np.isfinite(upper)))
    if not (np.any(y >= 0) or len(must) or len(cannot) or sized):
        return None
    graph = sparse.coo_array((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(m, m)).tocsr()
    n_blocks, block = connected_components(graph, directed=False)
    block = block.astype(np.intp)
    place, pull = np.full(n_blocks, -1), np.zeros((n_blocks, c))
    if label_weight is None:
        place = _block_places(y, block, n_blocks, graph)
    else:
        known = np.flatnonzero(y >= 0)
        np.add.at(pull, (block[known], y[known]), label_weight * weight[known])
    links = _block_links(cannot, block, n_blocks, graph)
    constraints = Constraints(block, weight, place, links, lower, upper, pull)
    n_whole = int((constraints.weight > 0).sum())
    if len(must) and n_whole < c and not allow_empty:
        raise ValueError(
            f"must_link joins the samples to {n_whole} groups, fewer than the {c} clusters: drop links, lower "
            "n_clusters or set allow_empty=True."
        )
    _check_weightless(cannot, constraints)
    _check_links(constraints)
    if sized:
        _check_sizes(constraints)
    return replace(constraints, witness=_find_labeling(constraints))


def check_labels(labels: Any, n_samples: int, n_clusters: int) -> np.ndarray:
    """Known labels: a place of the structure for each sample, -1 where it is not known.

    Whole numbers that leave no sample unknown and do not fit the structure are classes, not places: ignored, with a
    warning.
    """
    if labels is None:
        return np.full(n_samples, -1)
    wanted = f"y holds known labels: whole numbers from 0 to {n_clusters - 1} (places), -1 where the label is unknown"
    given = np.asarray(labels)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.shape != (n_samples,):
        raise ValueError(f"y has shape {given.shape}, but X has {n_samples} samples; {wanted}.")
    if given.dtype.kind == "b":
        raise ValueError(f"y holds True and False; {wanted}.")
    try:
        numbers = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Unknown label type: y holds {given.dtype.type.__name__} values such as {given[0]!r}; {wanted}. To fit "
            "without labels, leave y out."
        ) from error
    whole = numbers == np.floor(numbers)
    wrong = np.flatnonzero(~(whole & (numbers >= -1) & (numbers < n_clusters)))
    if len(wrong) and whole.all() and numbers.min() >= 0:  # classes, as scikit-learn's tools hand them to everyone
        warnings.warn(
            f"y is ignored: it leaves no sample unknown (-1) and holds {given[wrong[0]]}, but the structure has places "
            f"0 to {n_clusters - 1}.",
            UserWarning,
            stacklevel=5,
        )
        return np.full(n_samples, -1)
    if len(wrong):
        i = wrong[0]
        raise ValueError(
            f"Unknown label type: y[{i}] = {given[i]} is no place of the structure; {wanted}. To fit without labels, "
            "leave y out."
        )
    return numbers.astype(np.intp)


def check_pairs(name: str, pairs: Any, n_samples: int) -> np.ndarray:
    """Pairs of sample indices (n, 2)."""
    wanted = f"{name} holds pairs of sample indices, shape (n, 2), whole numbers from 0 to {n_samples - 1}"
    if pairs is None:
        return np.empty((0, 2), dtype=np.intp)
    try:
        given = np.asarray(pairs if hasattr(pairs, "__array__") else list(pairs))
        numbers = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{wanted}; got {pairs!r}."[:400]) from error
    if given.size == 0:
        return np.empty((0, 2), dtype=np.intp)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind == "b":
        raise ValueError(f"{wanted}; got shape {given.shape} of {given.dtype}.")
    wrong = np.flatnonzero(~((numbers >= 0) & (numbers < n_samples) & (numbers == np.floor(numbers))).all(axis=1))
    if len(wrong):
        raise ValueError(f"{name}[{wrong[0]}] = {given[wrong[0]].tolist()} is no pair of samples: {wanted}.")
    out = numbers.astype(np.intp)
    same = np.flatnonzero(out[:, 0] == out[:, 1])
    if name == "cannot_link" and len(same):
        raise ValueError(f"cannot_link[{same[0]}] = {out[same[0]].tolist()} parts a sample from itself.")
    return out


def _size_bounds(min_size: Any, max_size: Any, c: int) -> tuple[np.ndarray, np.ndarray]:
    lower = _size_bound("min_cluster_size", min_size, c, 0.0)
    upper = _size_bound("max_cluster_size", max_size, c, np.inf)
    wrong = np.flatnonzero(lower > upper)
    if len(wrong):
        j = wrong[0]
        raise ValueError(
            f"min_cluster_size={lower[j]:g} is above max_cluster_size={upper[j]:g} (cluster {j}): no cluster can be "
            "both."
        )
    return lower, upper


def _size_bound(name: str, value: Any, c: int, nothing: float) -> np.ndarray:
    if value is None:
        return np.full(c, nothing)
    wanted = f"{name} must be a number of 0 or more, or {c} of them, one a cluster"
    if isinstance(value, (bool, np.bool_, str)) or not (isinstance(value, Real) or np.ndim(value) == 1):
        raise TypeError(f"{wanted}; got {value!r}.")
    try:
        sizes = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{wanted}; got {value!r}.") from error
    if sizes.ndim == 1 and len(sizes) != c:
        raise ValueError(f"{wanted}; got {len(sizes)}.")
    if not np.all(sizes >= 0) or (name.startswith("min") and np.isinf(sizes).any()):
        raise ValueError(f"{wanted}; got {value!r}.")
    return np.broadcast_to(sizes, c).copy()


def _chain(graph: sparse.csr_array, start: int, end: int) -> str:
    """The must-links that join two samples, in words."""
    if start == end:
        return ""
    before = breadth_first_order(graph, start, directed=False)[1]
    path = [end]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    return "must_link joins " + " - ".join(str(i) for i in reversed(path))


def _some(samples: Iterable[int]) -> str:
    names = [str(int(i)) for i in samples]
    return ", ".join(names[:SHOWN]) + (f", ... ({len(names)} in all)" if len(names) > SHOWN else "")


def _block_places(y: np.ndarray, block: np.ndarray, n_blocks: int, graph) -> np.ndarray:
    place, source = np.full(n_blocks, -1), np.full(n_blocks, -1)
    known = np.flatnonzero(y >= 0)[::-1]  # the first sample of each place wins
    place[block[known]], source[block[known]] = y[known], known
    wrong = np.flatnonzero((y >= 0) & (y != place[block]))
    if len(wrong):
        i, j = int(source[block[wrong[0]]]), int(wrong[0])
        raise ValueError(
            f"samples {i} and {j} are labelled {y[i]} and {y[j]}, but {_chain(graph, i, j)}: drop a label or a link."
        )
    return place


def _block_links(cannot: np.ndarray, block: np.ndarray, n_blocks: int, graph) -> sparse.csr_array:
    pairs = block[cannot]
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(same):
        i, j = cannot[same[0]]
        raise ValueError(f"cannot_link[{same[0]}] = [{i}, {j}], but {_chain(graph, int(i), int(j))}: drop a link.")
    ones = np.ones(2 * len(pairs), dtype=np.int8)
    rows, columns = np.concatenate([pairs, pairs[:, ::-1]]).T
    links = sparse.coo_array((ones, (rows, columns)), shape=(n_blocks, n_blocks)).tocsr()
    links.sum_duplicates()
    return links


def _check_weightless(cannot: np.ndarray, constraints: Constraints) -> None:
    absent = constraints.weight[constraints.block[cannot]] <= 0
    if absent.any():
        row, side = np.argwhere(absent)[0]
        raise ValueError(
            f"cannot_link[{row}] = {cannot[row].tolist()} names sample {cannot[row, side]}, which has weight zero and "
            "takes part in nothing: give it a weight or drop the link."
        )


def _check_links(constraints: Constraints) -> None:
    """Contradictions of cannot-links that can be named."""
    place, c = constraints.place, constraints.n_clusters
    sample = constraints.members[1][constraints.members[0][:-1]]  # a sample of each block
    first, link = constraints.linked
    rows = np.repeat(np.arange(constraints.n_blocks), np.diff(first))
    clash = np.flatnonzero((place[rows] >= 0) & (place[rows] == place[link]))
    if len(clash):
        u, v = rows[clash[0]], link[clash[0]]
        raise ValueError(
            f"samples {sample[u]} and {sample[v]} (or samples that must_link joins to them) are labelled {place[u]}, "
            "but cannot_link parts them: drop a label or a link."
        )
    degree = np.diff(first)
    for u in np.flatnonzero((degree >= c) & (place < 0)):
        partners = link[first[u] : first[u + 1]]
        if len(np.unique(place[partners][place[partners] >= 0])) == c:
            raise ValueError(
                f"cannot_link parts sample {sample[u]} from samples whose labels take all {c} places "
                f"({_some(sample[partners])}): no cluster is left for it."
            )


def _check_cliques(constraints: Constraints) -> None:
    """Name more samples that are all parted from each other than there are clusters, where they are easily found."""
    c = constraints.n_clusters
    sample = constraints.members[1][constraints.members[0][:-1]]
    first, link = constraints.linked
    degree = np.diff(first)
    for u in np.argsort(-degree, kind="stable")[:TRIED]:
        if degree[u] < c:
            return
        clique = _clique(int(u), first, link)
        if len(clique) > c:
            raise ValueError(
                f"cannot_link parts {len(clique)} samples from each other ({_some(sample[sorted(clique)])}), but there "
                f"are {c} clusters: raise n_clusters or drop links."
            )


def _clique(start: int, first, link) -> list[int]:
    """Blocks that are all cannot-linked with each other, found greedily."""
    clique = [start]
    candidates = set(link[first[start] : first[start + 1]].tolist())
    while candidates:
        u = max(candidates, key=lambda v: (len(candidates.intersection(link[first[v] : first[v + 1]].tolist())), -v))
        clique.append(u)
        candidates &= set(link[first[u] : first[u + 1]].tolist())
    return clique


def _check_sizes(constraints: Constraints) -> None:
    """Contradictions of sizes that can be named."""
    lower, upper, slack = constraints.lower, constraints.upper, constraints.slack
    weight, c = constraints.weight, constraints.n_clusters
    total = float(weight.sum())
    if lower.sum() > total + slack:
        raise ValueError(
            f"min_cluster_size cannot be met: {c} clusters need {lower.sum():g} in all, the samples weigh {total:g}."
        )
    if upper.sum() < total - slack:
        raise ValueError(
            f"max_cluster_size cannot be met: {c} clusters hold {upper.sum():g} in all, the samples weigh {total:g}."
        )
    placed = constraints.place >= 0
    held = np.bincount(constraints.place[placed], weight[placed], minlength=c)
    for j in np.flatnonzero(held > upper + slack):
        raise ValueError(
            f"max_cluster_size={upper[j]:g} cannot be met: samples labelled {j} (and those must_link joins to them) "
            f"weigh {held[j]:g}."
        )
    for u in np.flatnonzero(weight > upper.max() + slack):
        samples = np.flatnonzero(constraints.block == u)
        cause = (
            f"must_link joins samples {_some(samples)} of weight" if len(samples) > 1 else f"sample {samples[0]} has"
        )
        raise ValueError(f"max_cluster_size={upper.max():g} cannot be met: {cause} {weight[u]:g}.")


def _find_labeling(constraints: Constraints) -> np.ndarray:
    """A labeling that keeps everything: greedily, else exactly; an error where there is none."""
    M, c = constraints.n_blocks, constraints.n_clusters
    wish = np.where(constraints.place >= 0, constraints.place, np.arange(M) % c)
    score = np.zeros((M, c))
    label = constraints._separate(wish, score)
    if not constraints._together(label):
        _check_cliques(constraints)
        label = _exact(constraints, sized=False)
        if label is None:
            raise ValueError(
                f"the cannot_link pairs (with must_link and labels) leave no labeling with {c} clusters: raise "
                "n_clusters or drop links."
            )
    if constraints._sized(label) or constraints._fit_sizes(label, score):
        return label
    label = _exact(constraints, sized=True)
    if label is None:
        raise ValueError(
            f"min_cluster_size and max_cluster_size (from {constraints.lower.min():g} to {constraints.upper.max():g} "
            f"for {c} clusters, {constraints.weight.sum():g} in all) cannot be met together with the weights, links "
            "and labels given: loosen the sizes or drop links."
        )
    return label


def _exact(constraints: Constraints, *, sized: bool, score: np.ndarray | None = None) -> np.ndarray | None:
    """A labeling by integer programming, that of the largest score (M, c) if one is given, or None where there is none.

    Blocks without links or scores that weigh the same are counted, not told apart.
    """
    c, weight, place = constraints.n_clusters, constraints.weight, constraints.place
    first, link = constraints.linked
    free = place < 0
    apart = (np.diff(first) > 0) | (score is not None)
    linked, alone = np.flatnonzero(free & apart), np.flatnonzero(free & ~apart)
    kinds, kind = np.unique(weight[alone], return_inverse=True)
    number = np.full(len(place), -1)
    number[linked] = np.arange(len(linked))
    L, Q = len(linked), len(kinds)
    highest = np.concatenate([np.ones((L, c)), np.tile(np.bincount(kind, minlength=Q)[:, None], c).astype(float)])
    rows = np.repeat(np.arange(len(place)), np.diff(first))
    to_placed = free[rows] & ~free[link]
    highest[number[rows[to_placed]], place[link[to_placed]]] = 0.0
    once = sparse.kron(sparse.eye_array(L + Q), np.ones((1, c)), format="csr")
    amount = np.concatenate([np.ones(L), np.bincount(kind, minlength=Q)])
    rules = [LinearConstraint(once, amount, amount)]
    edges = free[rows] & free[link] & (rows < link)
    if edges.any():
        e = np.arange(edges.sum())
        pairs = sparse.coo_array((np.ones(len(e)), (e, number[rows[edges]])), shape=(len(e), L + Q)).tocsr()
        pairs = pairs + sparse.coo_array((np.ones(len(e)), (e, number[link[edges]])), shape=(len(e), L + Q)).tocsr()
        rules.append(LinearConstraint(sparse.kron(pairs, sparse.eye_array(c), format="csr"), -np.inf, 1.0))
    if sized:
        heavy = sparse.kron(np.concatenate([weight[linked], kinds])[None, :], sparse.eye_array(c), format="csr")
        held = np.bincount(place[~free], weight[~free], minlength=c)
        slack = constraints.slack
        rules.append(LinearConstraint(heavy, constraints.lower - held - slack, constraints.upper - held + slack))
    if not L + Q:
        return place if constraints._sized(place) or not sized else None
    size = (L + Q) * c
    found = milp(
        np.zeros(size) if score is None else -score[linked].ravel(),
        constraints=rules,
        integrality=np.ones(size),
        bounds=Bounds(0.0, highest.ravel()),
        options={"time_limit": PATIENCE},
    )
    if found.x is None:
        if found.status == 1:
            raise ValueError(
                f"no labeling that keeps all links and sizes was found in {PATIENCE:g} s, and none was ruled out: "
                "loosen the sizes or drop links."
            )
        return None
    counts = np.round(found.x).astype(int).reshape(L + Q, c)
    label = place.copy()
    label[linked] = np.argmax(counts[:L], axis=1)
    for q in range(Q):
        label[alone[kind == q]] = np.repeat(np.arange(c), counts[L + q])
    return label
