"""Compare structures over the same clusters: flat, chain, ring, tree, grid and hierarchy, with probabilities.

Seven features of each pair of clusters give the score of a link, with one set of weights for clusters that touch and
another for separate ones; exact sums over arrangements, and how well distances and contacts follow the best one of each
family, give the numbers that a softmax turns into probabilities. All weights are frozen (`_structure_weights`). Only
distances between samples and their means count, so that nothing depends on the unit of the data, on rotations, on the
order of samples or on the numbers of clusters.
"""

from __future__ import annotations

from itertools import pairwise
from math import exp, lgamma, log
from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import cophenet, fcluster, linkage
from scipy.spatial.distance import cdist, squareform

from kernelclust.engine._arrangement_sums import chain_sum, ring_sum, tree_sum
from kernelclust.engine._homology import loop_lives
from kernelclust.engine._steps import is_connected, links
from kernelclust.engine._structure_table import Arrangement, StructureProbability, StructureTable
from kernelclust.engine._structure_weights import CLIP, FAMILIES, INTERCEPTS, LINK_WEIGHTS, SECOND_SHARE, WEIGHTS
from kernelclust.solvers import cluster_means, likely_placements, many_kmeans
from kernelclust.structures import Structure, Tree

MIN_CLUSTERS, MAX_CLUSTERS = 4, 12  # fewer have too few arrangements; sums over more take too long
NEAREST = 0.2  # fraction of the samples of a cluster that face another one
MAX_NEIGHBOURS, MIN_NEIGHBOURS = 10, 3
EXPECTED = 0.1  # fraction of the links expected by chance that weighs like no evidence
TOUCHING = 5.0  # links of the neighbour graph to other clusters with which a cluster half touches them
LANDMARKS, MAX_GROUPED = 40, 500  # groups whose means show the loops, of so many samples
GRID_RESTARTS = 12
LARGEST_FIT = 0.995
EVEN = 0.1  # of the logarithm of distances: their spread between clusters that are about equally far apart
ROUNDING = 1e-12  # of the largest variance: directions with a smaller one are no dimensions
TINY = 1e-9  # of the largest distance: closer clusters are this far apart


def family_of(structure: Structure) -> str | None:
    """Return the family that a structure belongs to; None for those that the table does not have."""
    if not MIN_CLUSTERS <= structure.n_clusters <= MAX_CLUSTERS:
        return None
    if isinstance(structure, Tree):
        return "hierarchy"
    linked, connected = links(structure.kernel), is_connected(structure.kernel)
    degrees, c = linked.sum(axis=0), len(linked)
    if connected and degrees.sum() == 2 * (c - 1):
        return "chain" if degrees.max() == 2 else "tree"
    if connected and (degrees == 2).all():
        return "ring"
    shapes = [(c // columns, columns) for columns in range(2, c // 2 + 1) if c % columns == 0]
    return "grid" if any(np.array_equal(linked, _lattice(*shape)) for shape in shapes) else None


# -- features of pairs of clusters ------------------------------------------------------------------------------------


class Pairs(NamedTuple):
    """Measurements of all pairs of clusters; `features` (c, c, 7) are weighted by LINK_WEIGHTS."""

    features: np.ndarray
    distance: np.ndarray  # (c, c) between means
    loops: np.ndarray  # (2,) log (death / birth) of the two loops of the samples that live longest
    touch: float  # from 0 (separate clusters) to 1 (every cluster has many neighbours in others)


def pairs_of(E: np.ndarray, weight: np.ndarray, labels: np.ndarray, loops: np.ndarray | None = None) -> Pairs | None:
    """Return the features of pairs of clusters, from samples E (m, q) sorted by cluster; None where no means differ.

    With mu_j the means, Sigma_j the covariances, n_j the effective numbers of samples, and
    D_jk = |mu_j - mu_k|^2 - tr Sigma_j / n_j - tr Sigma_k / n_k, without the noise of the means (at least 0.1 of the
    first part), the features are

    - a = log sqrt(D_jk / median D);
    - log min_l (D_jl + D_lk) / D_jk: small where a third cluster lies between them;
    - log L_jk / w_jk: L_jk the mean of the smallest fifth of the distances from samples of one cluster to the nearest
      of the other, w_jk the mean of both clusters' median distance between nearest neighbours;
    - the second one with L^2 in place of D;
    - log (N_jk + 0.5) / (0.1 N'_jk + 0.5): N_jk links of the neighbour graph, N'_jk those expected by chance;
    - the mean of log (u' Sigma_j u / mean variance of j) over both, u the direction between the means;
    - 2 a_jk - min_l a_jl - min_l a_kl.

    `touch` is the mean over clusters of N_j / (N_j + 5), N_j their links to others: where clusters do not touch, the
    features of contact are empty. Features of neighbours count samples, whatever their weight. `loops` does not depend
    on the clusters: a cloud in the plane that is cut like a cake has clusters on a ring, but no loop around a hole.
    """
    c, (m, q) = int(labels[-1]) + 1, E.shape
    means, covariances, n = _moments(E, weight, labels, c)
    trace = np.trace(covariances, axis1=1, axis2=2)
    apart = means[:, None] - means
    raw = (apart**2).sum(axis=2)
    if not raw.max() > 0:
        return None
    off = ~np.eye(c, dtype=bool)
    D = np.maximum(raw - (trace / n)[:, None] - trace / n, np.maximum(0.1 * raw, TINY**2 * raw.max()))
    middle = float(np.median(D[off]))
    a = np.where(off, 0.5 * np.log(D / middle), 0.0)
    nearest_a = np.where(off, a, np.inf).min(axis=1)

    counts = np.bincount(labels, minlength=c)
    nearest, N = near(E, labels, min(MAX_NEIGHBOURS, max(MIN_NEIGHBOURS, m // (3 * c))))
    L, width = _facing(nearest, counts)
    smallest = TINY * np.sqrt(raw.max())
    L, width = np.maximum(L, smallest), np.maximum(width, smallest)
    gap = np.log(np.clip(L / ((width[:, None] + width) / 2), 0.5, 50.0))

    N = (N + N.T).astype(float)
    chance = np.outer(counts, counts) * N.sum() / m**2
    contact = np.log((N + 0.5) / (0.5 + EXPECTED * chance))
    outward = np.where(off, N, 0.0).sum(axis=1)
    touch = float(np.mean(outward / (outward + TOUCHING)))

    along = np.einsum("jka,jab,jkb->jk", apart, covariances, apart) / np.where(raw > 0, raw, 1.0)
    share = along / np.maximum(trace / q, np.finfo(float).tiny)[:, None]
    elongation = np.log(np.maximum(share, 1e-3))
    parts = [
        a,
        _detour(D),
        gap,
        _detour(L**2),
        contact,
        (elongation + elongation.T) / 2,
        2 * a - nearest_a[:, None] - nearest_a,
    ]
    features = np.where(off[:, :, None], np.stack(parts, axis=2), 0.0)
    loops = _longest_loops(E, weight) if loops is None else loops
    return Pairs(features, np.where(off, np.sqrt(D), 0.0), loops, touch)


def near(E: np.ndarray, labels: np.ndarray, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance (m, c) of samples E (m, q) to the nearest other one of each cluster (inf where there is
    none), and how many of the nearest samples of cluster j are in cluster k (c, c).

    Samples are sorted by cluster. Of neighbours that are equally far those of the own cluster count first.
    """
    counts = np.bincount(labels)
    c, ends = len(counts), np.cumsum(counts)
    squares = cdist(E, E, "sqeuclidean")
    np.fill_diagonal(squares, np.inf)
    nearest = np.sqrt(np.minimum.reduceat(squares, ends - counts, axis=1))
    for first, end in zip(ends - counts, ends, strict=True):
        own = squares[first:end, first:end]
        np.nextafter(own, -np.inf, out=own)
    neighbours = np.argpartition(squares, n_neighbors - 1, axis=1)[:, :n_neighbors]
    links = np.bincount((labels[:, None] * c + labels[neighbours]).ravel(), minlength=c * c)
    return nearest, links.reshape(c, c)


def _moments(E: np.ndarray, weight: np.ndarray, labels: np.ndarray, c: int) -> tuple[np.ndarray, ...]:
    """Return means (c, q), covariances (c, q, q) and effective numbers of samples, (sum w)^2 / sum w^2."""
    q = E.shape[1]
    means, covariances, n = np.empty((c, q)), np.zeros((c, q, q)), np.empty(c)
    for j in range(c):
        rows, w = E[labels == j], weight[labels == j]
        w = w / w.sum()
        n[j] = 1 / (w @ w)
        means[j] = w @ rows
        if len(w) > 1:
            centred = rows - means[j]
            covariances[j] = (centred.T * w) @ centred / (1 - w @ w)
    return means, covariances, n


def _facing(nearest: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return L (c, c) and the median distance (c,) between nearest neighbours within a cluster, from the distances
    (m, c) of samples to the nearest one of each cluster.
    """
    c = len(counts)
    L, width = np.zeros((c, c)), np.full(c, np.nan)
    for j, (end, count) in enumerate(zip(np.cumsum(counts), counts, strict=True)):
        own = nearest[end - count : end]
        L[j] = np.sort(own, axis=0)[: max(1, int(NEAREST * count))].mean(axis=0)
        if count > 1:
            width[j] = np.median(own[:, j])
    np.fill_diagonal(L, 0.0)
    if np.isnan(width).any():  # clusters of one sample are as wide as the others
        width[np.isnan(width)] = 0.0 if np.isnan(width).all() else np.nanmedian(width)
    return (L + L.T) / 2, width


def _longest_loops(E: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return log (death / birth) of the two loops of the samples that live longest (`loop_lives`), 0 where there are
    fewer; seen at the means of 40 groups of samples, so that noise makes no loops.
    """
    radius = ((E - E.mean(axis=0)) ** 2).sum(axis=1)
    order = np.argsort(np.round(radius / max(radius.max(), np.finfo(float).tiny), 9), kind="stable")
    some = order[:: -(-len(E) // MAX_GROUPED)]  # the same ones in whatever order samples come
    E, weight = E[some], weight[some]
    n_groups = min(LANDMARKS, len(E) // 2)
    groups = many_kmeans(E[None], weight[None], n_groups, np.random.RandomState(0), starts=1)
    means, sizes = cluster_means(E[None], weight[None], groups, n_groups)
    landmarks = means[0][sizes[0] > 0]
    return np.pad(loop_lives(cdist(landmarks, landmarks)), (0, 2))[:2]


def _detour(D: np.ndarray) -> np.ndarray:
    """Return log min_l (D_jl + D_lk) / D_jk, at most log 5 in size."""
    far = D + np.diag(np.full(len(D), np.inf))
    via = (far[:, None, :] + far[None, :, :]).min(axis=2)
    return np.log(np.clip(via / np.where(D > 0, D, 1.0), 0.2, 5.0))


# -- families ---------------------------------------------------------------------------------------------------------


class Family(NamedTuple):
    """The best arrangement of a family, its links, and those links' probabilities given the family."""

    arrangement: Arrangement
    linked: np.ndarray  # (c, c) bool
    links: np.ndarray  # (c, c)
    evidence: float  # log of the mean weight of an arrangement


def structure_table(
    E: np.ndarray, weight: np.ndarray, labels: np.ndarray, second: np.ndarray | None = None
) -> StructureTable | None:
    """Return the probabilities of structures over clusters of samples E (m, q) that are sorted by cluster.

    `second` are labels of as many other clusters of these samples. With p and q the probabilities by both, the table
    has p^(1 - b) q^b up to a factor, b = SECOND_SHARE. Arrangements are those of the first clusters.
    None for fewer than 4 clusters, about which nothing can be said, for more than 12, and where all means are equal.
    """
    c = int(labels[-1]) + 1
    if not MIN_CLUSTERS <= c <= MAX_CLUSTERS or len(labels) <= MIN_NEIGHBOURS:
        return None
    E = _dimensions(E)
    pairs = pairs_of(E, weight, labels)
    if pairs is None:
        return None
    p, s, merges, families = _judged(pairs)
    others = None if second is None else _pairs_of_others(E, weight, labels, second, pairs.loops)
    p = p if others is None else _pooled(p, _judged(others)[0])
    neighbours = np.zeros((c, c))
    for name, family in families.items():
        neighbours += p[name] * family.links
    arrangement: dict[str, Arrangement] = {"flat": (), "grid": (), "hierarchy": _nested(merges)}
    arrangement |= {name: family.arrangement for name, family in families.items()}
    rows = [StructureProbability(name, p[name], arrangement[name]) for name in FAMILIES]
    table = StructureTable(tuple(sorted(rows, key=lambda row: -row.probability)), neighbours, s)
    return table.renumbered(np.arange(c))


def _judged(pairs: Pairs) -> tuple[dict[str, float], np.ndarray, np.ndarray, dict[str, Family]]:
    """Return the probability of each family, the scores of links, the hierarchy as a linkage, and the families."""
    s = link_scores(pairs)
    merges = linkage(squareform(pairs.distance, checks=False), "average")
    families = families_of(s, pairs.distance)
    return probabilities(numbers_of(pairs, s, families, merges), has_grid="grid" in families), s, merges, families


def _pairs_of_others(
    E: np.ndarray, weight: np.ndarray, labels: np.ndarray, second: np.ndarray, loops: np.ndarray
) -> Pairs | None:
    """Return the measurements of other clusters; None where these are the same ones, or one is empty."""
    c = int(labels[-1]) + 1
    shared = np.bincount(labels * c + second, minlength=c * c).reshape(c, c) > 0
    if shared.sum() == c or not shared.any(axis=0).all():
        return None
    rows = np.argsort(second, kind="stable")
    return pairs_of(E[rows], weight[rows], second[rows], loops)


def _pooled(p: dict[str, float], q: dict[str, float]) -> dict[str, float]:
    """Return probabilities proportional to p^(1 - b) q^b, b = SECOND_SHARE."""
    scores = {name: p[name] ** (1 - SECOND_SHARE) * q[name] ** SECOND_SHARE for name in p}
    return {name: score / sum(scores.values()) for name, score in scores.items()}


def _dimensions(E: np.ndarray) -> np.ndarray:
    """Return samples turned to their principal directions, without those that are rounding."""
    E = E - E.mean(axis=0)
    values, directions = np.linalg.eigh(E.T @ E)
    return np.asarray(E @ directions[:, values > ROUNDING * values[-1]]) if len(values) and values[-1] > 0 else E


def link_scores(pairs: Pairs) -> np.ndarray:
    """Return s_jk = ((1 - t) theta + t theta') . f_jk (c, c), t = `touch`, less their mean; zero on the diagonal."""
    separate, touching = np.array(LINK_WEIGHTS)
    s = pairs.features @ ((1 - pairs.touch) * separate + pairs.touch * touching)
    s = (s + s.T) / 2
    pairs = np.triu_indices(len(s), 1)
    s = s - s[pairs].mean()
    np.fill_diagonal(s, 0.0)
    return s


def families_of(s: np.ndarray, distance: np.ndarray) -> dict[str, Family]:
    """Return the families that have links; "grid" only where the number of clusters has one."""
    c = len(s)
    chain, ring, tree = chain_sum(s), ring_sum(s), tree_sum(s)
    order, around = tuple(map(int, chain.best)), tuple(map(int, ring.best))
    found = {
        "chain": Family(order, _joined(c, pairwise(order)), chain.links, 0.0),
        "ring": Family(around, _joined(c, zip(around, around[1:] + around[:1], strict=True)), ring.links, 0.0),
        "tree": Family(tuple((int(j), int(k)) for j, k in tree.best), _joined(c, tree.best), tree.links, 0.0),
    }
    arrangements = {"chain": lgamma(c + 1) - log(2), "ring": lgamma(c) - log(2), "tree": (c - 2) * log(c)}
    sums = {"chain": chain.log_sum, "ring": ring.log_sum, "tree": tree.log_sum}
    for name, family in found.items():
        found[name] = family._replace(evidence=sums[name] - arrangements[name])
    grids = [_best_grid(s, rows, c // rows) for rows in range(2, int(c**0.5) + 1) if c % rows == 0 and c // rows > 2]
    if grids:
        found["grid"] = max(grids, key=lambda grid: _step_fit(distance, grid.linked))
    return found


def _best_grid(s: np.ndarray, rows: int, columns: int) -> Family:
    """Return the grid of this shape with the largest sum of scores that a local search finds; its weight alone stands
    for the sum over all.
    """
    c = len(s)
    lattice = _lattice(rows, columns).astype(float)
    node = likely_placements(lattice, s[None], np.ones(c, dtype=bool), GRID_RESTARTS)[0]
    linked = lattice[np.ix_(node, node)] > 0
    places = np.argsort(node).reshape(rows, columns)
    best = float(s[linked].sum()) / 2
    return Family(tuple(tuple(map(int, row)) for row in places), linked, linked * 1.0, best - lgamma(c + 1) + log(4))


def _lattice(rows: int, columns: int) -> np.ndarray:
    row, column = np.divmod(np.arange(rows * columns), columns)
    return np.asarray(np.abs(row[:, None] - row) + np.abs(column[:, None] - column) == 1)


def _joined(c: int, links: Any) -> np.ndarray:
    linked = np.zeros((c, c), dtype=bool)
    for j, k in links:
        linked[j, k] = linked[k, j] = True
    return linked


def _nested(merges: np.ndarray) -> Arrangement:
    """Return a linkage as nested pairs."""
    groups: list[Any] = list(range(len(merges) + 1))
    for j, k in merges[:, :2].astype(int):
        groups.append((groups[j], groups[k]))
    return groups[-1]


# -- the numbers that the softmax weighs ------------------------------------------------------------------------------


def numbers_of(pairs: Pairs, s: np.ndarray, families: dict[str, Family], merges: np.ndarray) -> dict[str, float]:
    """Return the 34 numbers that tell families apart, by the names in WEIGHTS.

    `evidence`: log of the mean weight over all arrangements; `certainty`: log of the share of the best tree in the sum
    over all; `step_fit` and `length_fit`: atanh of the correlation of distances between means with steps and with path
    lengths on the best arrangement, `hierarchy_fit` with the heights at which average linkage merges; `contrast` and
    `gap`: log distances of other pairs less those of links, standardised and at their closest; `touch` and `loop` as in
    `Pairs`. Numbers of grids are zero where the clusters have none. Twice as many were tried; these were left when
    dropping the least of them no longer kept the likelihood of simulated data.
    """
    c, distance = len(s), pairs.distance
    upper = np.triu_indices(c, 1)
    far, log_far = distance[upper], np.log(distance[upper])
    chain, ring, tree = (families[name] for name in ("chain", "ring", "tree"))
    grid = families.get("grid")
    is_link, n_trees = tree.linked[upper], (c - 2) * log(c)
    gap, elongation = pairs.features[..., 2][upper], pairs.features[..., 5][upper]
    relative = float(pairs.features[..., 6][upper].mean())
    around = s[upper][ring.linked[upper]]
    chain_fit, ring_fit, tree_fit = (_atanh(_step_fit(distance, one.linked)) for one in (chain, ring, tree))
    among_trees = chain.evidence - tree.evidence + (lgamma(c + 1) - log(2) - n_trees)
    found = {
        "chain_among_trees": among_trees,
        "chain_among_trees_per_cluster": among_trees / c,
        "chain_share_of_trees": exp(among_trees),
        "ring_evidence_per_cluster": ring.evidence / c,
        "tree_evidence_per_cluster_times_touch": tree.evidence / c * pairs.touch,
        "tree_certainty": s[upper][is_link].sum() - tree.evidence - n_trees,
        "chain_step_fit_squared": chain_fit**2,
        "ring_step_fit_squared": ring_fit**2,
        "ring_step_fit_times_touch": ring_fit * pairs.touch,
        "tree_step_fit": tree_fit,
        "hierarchy_fit": _atanh(_correlation(cophenet(merges), far)),
        "ring_length_fit": _atanh(_correlation(far, _path_lengths(ring.linked, distance)[upper])),
        "distance_spread": log_far.std(),
        "even_distances": exp(-log_far.std() / EVEN),
        "relative_distance": relative,
        "log_relative_distance": log(relative + EVEN),
        "link_gap": gap[is_link].mean(),
        "link_elongation": elongation[is_link].mean(),
        "other_elongation": elongation[~is_link].mean(),
        "detour_by_samples": pairs.features[..., 3][upper].mean(),
        "weakest_ring_link": around.min() - np.median(around),
        "log_n_clusters": log(c),
        **_merge_numbers(merges, distance),
    }
    found["longest_loop"], found["second_loop"] = pairs.loops
    for name, family in (("ring", ring), ("tree", tree), ("grid", grid)):
        contrast = (0.0, 0.0) if family is None else _contrast(family.linked[upper], log_far)
        found[f"{name}_contrast"], found[f"{name}_gap"] = contrast
    found["grid_evidence_per_cluster"] = 0.0 if grid is None else grid.evidence / c
    found["grid_step_fit"] = 0.0 if grid is None else _atanh(_step_fit(distance, grid.linked))
    return {name: float(value) for name, value in found.items()}


def _merge_numbers(merges: np.ndarray, distance: np.ndarray) -> dict[str, float]:
    """Return where the log heights of average linkage jump most, and the silhouette of the means cut there."""
    heights = np.log(np.maximum(merges[:, 2], np.finfo(float).tiny))
    c, jumps = len(heights) + 1, np.diff(heights)
    at = int(np.argmax(jumps))
    group = fcluster(merges, c - 1 - at, "maxclust")
    silhouettes = []
    for j in range(c):
        alike = (group == group[j]) & (np.arange(c) != j)
        others = [distance[j, group == other].mean() for other in set(group) - {group[j]}]
        if not alike.any() or not others:
            silhouettes.append(0.0)
            continue
        inside, outside = distance[j, alike].mean(), min(others)
        silhouettes.append((outside - inside) / max(inside, outside))
    return {"merge_jump_at": (at + 1) / c, "merge_silhouette": float(np.mean(silhouettes))}


def _contrast(is_link: np.ndarray, log_far: np.ndarray) -> tuple[float, float]:
    """Return how much farther other pairs are than links: in standard deviations, and at their closest."""
    links, others = log_far[is_link], log_far[~is_link]
    spread = np.sqrt((others.var() + links.var()) / 2 + 0.01)
    return float((others.mean() - links.mean()) / spread), float(others.min() - links.max())


def _step_fit(distance: np.ndarray, linked: np.ndarray) -> float:
    upper = np.triu_indices(len(linked), 1)
    return _correlation(distance[upper], _path_lengths(linked)[upper])


def _path_lengths(linked: np.ndarray, length: np.ndarray | float = 1.0) -> np.ndarray:
    """Return the lengths (c, c) of the shortest paths over links (Floyd and Warshall); SciPy's function is slower for
    so few nodes, and takes lengths below 1e-8 for no link.
    """
    path = np.where(linked, length, np.inf)
    np.fill_diagonal(path, 0.0)
    for via in range(len(path)):
        np.minimum(path, path[:, via, None] + path[via], out=path)
    return path


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    if min(np.ptp(x) / x.max(), np.ptp(y) / y.max()) < TINY:
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def _atanh(correlation: float) -> float:
    return float(np.arctanh(np.clip(correlation, -LARGEST_FIT, LARGEST_FIT)))


def probabilities(numbers: dict[str, float], *, has_grid: bool) -> dict[str, float]:
    """Return the probability of each family: the softmax of the weighted, standardised and clipped numbers."""
    table = np.array([WEIGHTS[name] for name in WEIGHTS])
    values = np.array([numbers[name] for name in WEIGHTS])
    z = np.clip((values - table[:, 0]) / table[:, 1], -CLIP, CLIP)
    scores = z @ table[:, 2:] + np.array(INTERCEPTS)
    if not has_grid:
        scores[FAMILIES.index("grid")] = -np.inf
    p = np.exp(scores - scores.max())
    return dict(zip(FAMILIES, (p / p.sum()).tolist(), strict=True))
