"""Probabilities of structures over the same clusters: sums by enumeration, features by formula, invariances."""

import warnings
from dataclasses import replace
from itertools import combinations, pairwise, permutations

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import cophenet, fcluster, linkage
from scipy.sparse import csr_array
from sklearn.metrics import silhouette_score

import kernelclust
from kernelclust import StructuredClustering
from kernelclust.engine import Samples
from kernelclust.engine._arrangement_sums import chain_sum, heaviest_tree, ring_sum, tree_sum
from kernelclust.engine._order import Clusters, compare_structures, doubt_in_words, leading_directions, order_of
from kernelclust.engine._structure_weights import FAMILIES, LINK_WEIGHTS, SECOND_SHARE, WEIGHTS
from kernelclust.engine._structures import (
    Pairs,
    families_of,
    family_of,
    link_scores,
    near,
    numbers_of,
    pairs_of,
    probabilities,
    structure_table,
)
from kernelclust.policies.auto import rbf_clusters
from kernelclust.structures import Custom, as_structure


def random_scores(c, seed, spread=2.0):
    s = spread * np.random.default_rng(seed).standard_normal((c, c))
    s = s + s.T
    np.fill_diagonal(s, 0.0)
    return s


def chains(c):
    return {frozenset(map(frozenset, pairwise(p))) for p in permutations(range(c))}


def rings(c):
    return {frozenset(map(frozenset, pairwise((*p, p[0])))) for p in permutations(range(c))}


def trees(c):
    def reached(links):
        found = {0}
        for _ in range(c):
            found |= {k for link in links if link & found for k in link}
        return found

    pairs = [frozenset(pair) for pair in combinations(range(c), 2)]
    return {frozenset(links) for links in combinations(pairs, c - 1) if len(reached(links)) == c}


KINDS = {"chain": (chain_sum, chains), "ring": (ring_sum, rings), "tree": (tree_sum, trees)}


# -- sums over arrangements -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("c", [4, 5, 6])
def test_sums_best_arrangements_and_shares_of_links_are_those_of_all_arrangements(kind, c):
    by_program, by_hand = KINDS[kind]
    s = random_scores(c, seed=c)
    arrangements = by_hand(c)
    weights = {one: np.exp(sum(s[tuple(link)] for link in one)) for one in arrangements}
    found = by_program(s)
    total = sum(weights.values())
    assert_allclose(found.log_sum, np.log(total))
    for pair in combinations(range(c), 2):
        share = sum(weight for one, weight in weights.items() if frozenset(pair) in one) / total
        assert_allclose([found.links[pair], found.links[pair[::-1]]], share, atol=1e-12)
    around = [*found.best, found.best[0]] if kind == "ring" else found.best
    links = found.best if kind == "tree" else pairwise(around)
    assert frozenset(frozenset(map(int, link)) for link in links) == max(weights, key=weights.get)


def test_arrangements_are_as_many_as_the_formulas_say():
    for c in (4, 5, 6, 12):
        s = np.zeros((c, c))
        factorial = float(np.prod(np.arange(1.0, c + 1)))
        assert_allclose(np.exp([chain_sum(s).log_sum, ring_sum(s).log_sum]), [factorial / 2, factorial / c / 2])
        assert_allclose(np.exp(tree_sum(s).log_sum), float(c) ** (c - 2))
        assert_allclose(chain_sum(s).links[0, 1], 2 / c)
        assert_allclose(ring_sum(s).links[0, 1], 2 / (c - 1))
        assert_allclose(tree_sum(s).links[0, 1], 2 / c)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_any_size_are_summed_exactly(kind):
    """Two groups that all links avoid by a factor of e^-2000: arrangements with the fewest such links are left."""
    c, by_program = 6, KINDS[kind][0]
    group = np.arange(c) < 3
    s = random_scores(c, seed=0) - 2000.0 * (group[:, None] != group)
    found = by_program(s)
    between = found.links[np.ix_(group, ~group)].sum()
    assert_allclose(between, 2 if kind == "ring" else 1)
    assert_allclose(found.links.sum() / 2, c if kind == "ring" else c - 1)
    assert_allclose(by_program(s + 5.0 * (1 - np.eye(c))).log_sum - found.log_sum, 5.0 * found.links.sum() / 2)


def test_heaviest_tree_has_all_links_of_a_line():
    place = np.array([3.0, 0.0, 2.0, 1.0, 4.0])
    links = heaviest_tree(-np.abs(place[:, None] - place))
    assert {tuple(sorted(place[list(link)])) for link in links} == {(0, 1), (1, 2), (2, 3), (3, 4)}


# -- features ---------------------------------------------------------------------------------------------------------


def on_a_curve(c=7, each=20, dimensions=4, seed=0, noise=0.15):
    """Samples of c clusters along a line, of unequal sizes, sorted by cluster."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(c), each + np.arange(c))
    X = np.zeros((len(y), dimensions))
    X[:, 0] = y
    return X + noise * rng.standard_normal(X.shape), y


def test_features_of_pairs_are_their_formulas():
    X, y = on_a_curve(c=5, noise=0.4)
    c, w = 5, np.ones(len(y))
    found = pairs_of(X, w, y)
    mean = np.array([X[y == j].mean(axis=0) for j in range(c)])
    cov = np.array([np.cov(X[y == j].T) for j in range(c)])
    n = np.bincount(y)
    D = np.array([[((mean[j] - mean[k]) ** 2).sum() for k in range(c)] for j in range(c)])
    D = D - np.array([[np.trace(cov[j]) / n[j] + np.trace(cov[k]) / n[k] for k in range(c)] for j in range(c)])
    middle = np.median([D[j, k] for j in range(c) for k in range(c) if j != k])
    a = 0.5 * np.log(np.maximum(D, 1e-300) / middle)
    far = np.linalg.norm(X[:, None] - X, axis=2) + np.diag(np.full(len(X), np.inf))

    def facing(j, k):
        nearest = np.sort(far[y == j][:, y == k].min(axis=1))
        return nearest[: len(nearest) // 5].mean()

    L = np.array([[(facing(j, k) + facing(k, j)) / 2 if j != k else 0 for k in range(c)] for j in range(c)])
    width = [np.median(far[y == j][:, y == j].min(axis=1)) for j in range(c)]
    k_nearest = min(10, max(3, len(y) // (3 * c)))
    graph = np.zeros((len(y), len(y)))
    for i, row in enumerate(far):
        graph[i, np.argsort(row)[:k_nearest]] = 1
    graph = graph + graph.T
    outward = np.array([graph[y == j][:, y != j].sum() for j in range(c)])
    assert_allclose(found.touch, np.mean(outward / (outward + 5)))
    for j, k in combinations(range(c), 2):
        others = [l for l in range(c) if l not in (j, k)]
        u = (mean[j] - mean[k]) / np.linalg.norm(mean[j] - mean[k])
        between = graph[y == j][:, y == k].sum()
        expected = [
            a[j, k],
            np.log(np.clip(min(D[j, l] + D[l, k] for l in others) / D[j, k], 0.2, 5)),
            np.log(np.clip(L[j, k] / ((width[j] + width[k]) / 2), 0.5, 50)),
            np.log(np.clip(min(L[j, l] ** 2 + L[l, k] ** 2 for l in others) / L[j, k] ** 2, 0.2, 5)),
            np.log((between + 0.5) / (0.5 + 0.1 * n[j] * n[k] * 2 * k_nearest / len(y))),
            np.mean([np.log(u @ cov[i] @ u / (np.trace(cov[i]) / 4)) for i in (j, k)]),
            2 * a[j, k] - min(a[j, l] for l in range(c) if l != j) - min(a[k, l] for l in range(c) if l != k),
        ]
        assert_allclose(found.features[j, k], expected, rtol=1e-9, atol=1e-9)
        assert_allclose(found.features[k, j], expected, rtol=1e-9, atol=1e-9)
        assert_allclose(found.distance[j, k], np.sqrt(D[j, k]))


def test_near_samples_are_those_of_all_distances_and_of_equal_ones_the_own_cluster_counts_first():
    rng = np.random.default_rng(0)
    E, y = rng.standard_normal((60, 3)), np.sort(np.r_[np.arange(4), rng.integers(0, 4, 56)])
    far = np.linalg.norm(E[:, None] - E, axis=2) + np.diag(np.full(60, np.inf))
    nearest, n_links = near(E, y, 5)
    assert_allclose(nearest, np.column_stack([far[:, y == j].min(axis=1) for j in range(4)]))
    of_each = y[np.argsort(far, axis=1)[:, :5]]
    assert_array_equal(n_links, [[(of_each[y == j] == k).sum() for k in range(4)] for j in range(4)])
    nearest, n_links = near(np.zeros((7, 2)), np.array([0, 1, 1, 1, 2, 2, 2]), 3)  # all are equal
    assert_array_equal(n_links, [[0, 3, 0], [3, 6, 0], [3, 0, 6]])
    assert_array_equal(np.argwhere(np.isinf(nearest)), [[0, 0]])


@pytest.mark.parametrize("touch", [0.0, 0.3, 1.0])
def test_scores_weigh_features_by_how_much_clusters_touch_and_have_mean_zero(touch):
    features = np.random.default_rng(0).standard_normal((5, 5, 7))
    features = features + features.transpose(1, 0, 2)
    s = link_scores(Pairs(features, np.ones((5, 5)), np.zeros(2), touch))
    upper = np.triu_indices(5, 1)
    separate, touching = (features @ weights for weights in np.array(LINK_WEIGHTS))
    plain = ((1 - touch) * separate + touch * touching)[upper]
    assert_allclose(s[upper], plain - plain.mean())
    assert_array_equal(np.diag(s), 0)
    assert_allclose(s, s.T)


def test_probabilities_are_a_softmax_of_clipped_numbers():
    middle = {name: row[0] for name, row in WEIGHTS.items()}
    for has_grid in (True, False):
        p = probabilities(middle, has_grid=has_grid)
        assert list(p) == list(FAMILIES)
        assert_allclose(sum(p.values()), 1)
        assert (p["grid"] > 0) == has_grid
    name = "tree_step_fit"
    mean, sd, *weight = WEIGHTS[name]
    base, moved, far, farther = (
        probabilities({**middle, name: mean + steps * sd}, has_grid=True) for steps in (0, 2, 3, 30)
    )
    odds = np.log(moved["tree"] / moved["chain"]) - np.log(base["tree"] / base["chain"])
    assert_allclose(odds, 2 * (weight[3] - weight[1]))
    assert_allclose(list(far.values()), list(farther.values()))


def test_numbers_are_their_formulas():
    c = 6
    X, y = on_a_curve(c=c, noise=0.9, seed=2)
    pairs = pairs_of(X, np.ones(len(y)), y)
    s, D = link_scores(pairs), pairs.distance
    upper = np.triu_indices(c, 1)
    merges = linkage(D[upper], "average")
    families = families_of(s, D)
    sums = {name: KINDS[name][0](s).log_sum for name in KINDS}
    count = {name: np.log(len(KINDS[name][1](c))) for name in KINDS}
    graphs = {name: nx.from_numpy_array(family.linked.astype(float)) for name, family in families.items()}

    def fit(name, lengths=False):
        graph = graphs[name].copy()
        for j, k in graph.edges:
            graph[j][k]["weight"] = D[j, k] if lengths else 1.0
        path = dict(nx.all_pairs_dijkstra_path_length(graph))
        return np.arctanh(np.corrcoef(D[upper], [path[j][k] for j, k in zip(*upper, strict=True)])[0, 1])

    def far(name, is_link):
        return np.log([D[j, k] for j, k in zip(*upper, strict=True) if graphs[name].has_edge(j, k) == is_link])

    def contrast(name):
        links, others = far(name, True), far(name, False)
        return (others.mean() - links.mean()) / np.sqrt((others.var() + links.var()) / 2 + 0.01)

    evidence = {name: sums[name] - count[name] for name in KINDS}
    of_tree = families["tree"].linked[upper]
    ring_scores = s[families["ring"].linked & (np.arange(c)[:, None] < np.arange(c))]
    expected = {
        "chain_among_trees": sums["chain"] - sums["tree"],
        "chain_among_trees_per_cluster": (sums["chain"] - sums["tree"]) / c,
        "chain_share_of_trees": np.exp(sums["chain"] - sums["tree"]),
        "ring_evidence_per_cluster": evidence["ring"] / c,
        "tree_evidence_per_cluster_times_touch": evidence["tree"] / c * pairs.touch,
        "tree_certainty": s[upper][of_tree].sum() - sums["tree"],
        "chain_step_fit_squared": fit("chain") ** 2,
        "ring_step_fit_squared": fit("ring") ** 2,
        "ring_step_fit_times_touch": fit("ring") * pairs.touch,
        "tree_step_fit": fit("tree"),
        "grid_step_fit": fit("grid"),
        "ring_length_fit": fit("ring", lengths=True),
        "hierarchy_fit": np.arctanh(np.corrcoef(cophenet(merges), D[upper])[0, 1]),
        "distance_spread": np.log(D[upper]).std(),
        "even_distances": np.exp(-10 * np.log(D[upper]).std()),
        "relative_distance": pairs.features[..., 6][upper].mean(),
        "log_relative_distance": np.log(pairs.features[..., 6][upper].mean() + 0.1),
        "detour_by_samples": pairs.features[..., 3][upper].mean(),
        "link_gap": pairs.features[..., 2][upper][of_tree].mean(),
        "link_elongation": pairs.features[..., 5][upper][of_tree].mean(),
        "other_elongation": pairs.features[..., 5][upper][~of_tree].mean(),
        "weakest_ring_link": ring_scores.min() - np.median(ring_scores),
        "grid_evidence_per_cluster": families["grid"].evidence / c,
        "log_n_clusters": np.log(c),
        "longest_loop": pairs.loops[0],
        "second_loop": pairs.loops[1],
    }
    for name in families:
        if name != "chain":
            expected[f"{name}_contrast"] = contrast(name)
            expected[f"{name}_gap"] = far(name, False).min() - far(name, True).max()
    found = numbers_of(pairs, s, families, merges)
    assert set(found) == set(WEIGHTS) == {*expected, "merge_jump_at", "merge_silhouette"}
    for name, value in expected.items():
        assert_allclose(found[name], value, err_msg=name)
    heights = np.log(merges[:, 2])
    at = int(np.argmax(np.diff(heights)))
    assert_allclose(found["merge_jump_at"], (at + 1) / c)
    group = fcluster(merges, c - 1 - at, "maxclust")
    assert_allclose(found["merge_silhouette"], silhouette_score(D, group, metric="precomputed"))


# -- the table --------------------------------------------------------------------------------------------------------


def clusters_of(X, y, w=None):
    """Return the clusters of a fit by the linear kernel with these labels."""
    w = np.ones(len(y)) if w is None else w
    c = int(y.max()) + 1
    centred = X - np.average(X, axis=0, weights=w)
    means = np.array([w[y == j] @ centred[y == j] for j in range(c)])
    n = np.bincount(y, w)
    A = as_structure(f"chain:{c}").kernel
    E = leading_directions(centred, c)
    return Clusters(A, E, w, y, means @ means.T, n, known=np.zeros(c, dtype=bool))


def table_of(X, y, w=None, views=()):
    return compare_structures(clusters_of(X, y, w), views)


def values(table):
    return [table[name].probability for name in FAMILIES]


def test_probabilities_sum_to_one_and_the_best_of_a_line_is_its_chain():
    X, y = on_a_curve()
    table = table_of(X, y)
    assert_allclose(sum(values(table)), 1)
    assert [row.probability for row in table] == sorted(values(table), reverse=True)
    best = table.rows[0]
    assert best.name == "chain" and best.probability > 0.8 and best.arrangement == tuple(range(7))
    assert len(table) == 6 and table["tree"].arrangement == tuple(pairwise(range(7)))
    assert_allclose(table.links, table.links.T)
    assert 0 <= table.links.min() and table.links.max() <= 1
    assert np.diag(table.links, k=1).min() > 0.8 > 0.2 > np.diag(table.links, k=2).max()
    with pytest.raises(KeyError, match="structures are flat, chain"):
        table["star"]


def test_links_are_means_over_families():
    X, y = on_a_curve(c=6, noise=1.0)
    table = structure_table(X, np.ones(len(y)), y)
    s = link_scores(pairs_of(X, np.ones(len(y)), y))
    p = {row.name: row.probability for row in table}
    grid = np.zeros((6, 6))
    rows = np.array(table["grid"].arrangement)
    for pair in [*zip(rows[0], rows[1], strict=True), *pairwise(rows[0]), *pairwise(rows[1])]:
        grid[pair] = grid[pair[::-1]] = 1
    expected = p["chain"] * chain_sum(s).links + p["ring"] * ring_sum(s).links + p["tree"] * tree_sum(s).links
    assert_allclose(table.links, expected + p["grid"] * grid)


def test_other_clusters_of_the_same_samples_count_by_their_share():
    """p^(1 - b) q^b, whatever the numbers of the other clusters; arrangements are those of the first ones."""
    X, y = on_a_curve(c=6, noise=1.0)
    w = np.ones(len(y))
    second = np.random.default_rng(1).permutation(6)[(np.arange(len(y)) * 6) // len(y)]
    first, both = structure_table(X, w, y), structure_table(X, w, y, second)
    given, alone = clusters_of(X, y), table_of(X, second)
    expected = np.array(values(first)) ** (1 - SECOND_SHARE) * np.array(values(alone)) ** SECOND_SHARE
    assert_allclose(values(both), expected / expected.sum(), rtol=1e-6)
    assert not np.allclose(values(both), values(first), rtol=0.01)
    assert {row.name: row.arrangement for row in both} == {row.name: row.arrangement for row in first}
    shuffled = np.random.default_rng(0).permutation(len(y))
    assert_allclose(values(compare_structures(given, second=second)), values(both), rtol=1e-6)
    again = compare_structures(clusters_of(X[shuffled], y[shuffled]), second=second[shuffled])
    assert_allclose(values(again), values(both), rtol=1e-6)
    assert values(structure_table(X, w, y, np.minimum(second, 4))) == values(first)  # a cluster is empty


@pytest.mark.parametrize("kernel", ["auto", "rbf"])
def test_rbf_clusters_count_under_the_default_kernel_alone(kernel, monkeypatch):
    given = []
    monkeypatch.setattr("kernelclust.engine._order.structure_table", lambda *args: given.append(args[3]))
    X, _ = on_a_curve(c=5, noise=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = StructuredClustering(structure="chain:5", kernel=kernel, random_state=0).fit(X)
    assert model.order_.structures is None and len(given) == 1
    if kernel == "rbf":
        assert given[0] is None
        return
    rbf = rbf_clusters((X - X.mean(axis=0)), Samples(X, np.ones(len(X))), 5).labels
    assert_array_equal(np.bincount(given[0], minlength=5), np.bincount(rbf, minlength=5))


def test_structures_that_are_asked_for_and_found_have_the_same_table():
    X, _ = on_a_curve(c=5, noise=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked, found = (
            StructuredClustering(structure=s, n_clusters=5, random_state=0).fit(X).order_.structures
            for s in ("chain", "tree")
        )
    assert_allclose(values(found), values(asked), rtol=1e-9)


def test_sample_order_cluster_numbers_units_and_rotations_do_not_matter():
    rng = np.random.default_rng(3)
    X, y = on_a_curve(c=6, noise=1.5)
    table = table_of(X, y)
    assert max(values(table)) < 0.99
    shuffled = rng.permutation(len(y))
    rotation = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    for same in (table_of(X[shuffled], y[shuffled]), table_of(1e-7 * X @ rotation + 3e-7, y)):
        assert_allclose(values(same), values(table), rtol=1e-6)
        assert_allclose(same.links, table.links, atol=1e-6)
        assert {row.name: row.arrangement for row in same} == {row.name: row.arrangement for row in table}
    node = np.array([4, 0, 5, 2, 1, 3])
    other = table_of(X, node[y])
    assert_allclose(values(other), values(table), rtol=1e-6)
    assert_allclose(other.links[np.ix_(node, node)], table.links, atol=1e-6)
    renamed = table.renumbered(node)
    assert {row.name: row.arrangement for row in other} == {row.name: row.arrangement for row in renamed}
    assert_allclose(renamed.links, other.links, atol=1e-6)
    assert repr(renamed.renumbered(np.argsort(node))) == repr(table)


def test_only_ratios_of_weights_matter_and_heavy_samples_move_the_means():
    X, y = on_a_curve(c=5, noise=0.8)
    once, twice = table_of(X, y), table_of(X, y, 2 * np.ones(len(y)))
    assert_allclose(values(twice), values(once), rtol=1e-9)
    w = np.random.default_rng(0).integers(1, 4, len(y)) * 1.0
    weighted = pairs_of(X, w, y)
    mean = np.array([np.average(X[y == j], axis=0, weights=w[y == j]) for j in range(5)])
    noise = [
        np.trace(np.cov(X[y == j].T, aweights=w[y == j])) * (w[y == j] ** 2).sum() / w[y == j].sum() ** 2
        for j in range(5)
    ]
    assert_allclose(weighted.distance[0, 4] ** 2, ((mean[0] - mean[4]) ** 2).sum() - noise[0] - noise[4])


def test_views_are_seen_in_their_principal_components():
    """One view is the data itself, whatever its unit and the kernel's embedding; sparse ones are as dense ones."""
    rng = np.random.default_rng(0)
    X, y = on_a_curve(c=5, noise=0.8)
    table, other = table_of(X, y), rng.standard_normal(X.shape)
    assert_allclose(values(table_of(X, y, views=[7.0 * X + 1.0])), values(table), rtol=1e-6)
    both = np.hstack([(Z - Z.mean(axis=0)) / np.sqrt(Z.var(axis=0).sum()) for Z in (X, other)])
    sees_both = table_of(X, y, views=[X, csr_array(other)])
    assert_allclose(values(sees_both), values(table_of(both, y)), rtol=1e-6)
    assert not np.allclose(values(sees_both), values(table), rtol=0.01)
    w = rng.integers(1, 4, len(y)) * 1.0
    assert_allclose(values(table_of(X, y, w, views=[X])), values(table_of(X, y, w)), rtol=1e-6)


def test_of_many_samples_some_are_compared_and_of_every_cluster():
    X, y = on_a_curve(c=5, each=600)
    some, all_of_them = table_of(X, y), structure_table(X, np.ones(len(y)), y)
    assert_allclose(values(some), values(all_of_them), atol=0.05)
    rare = np.r_[np.zeros(3000, dtype=int), 1, 2, 3, 4]
    assert table_of(np.arange(3004.0)[:, None] ** [1, 2], rare) is None  # none of these is left


def test_the_same_arrangement_is_written_once():
    X, y = on_a_curve(c=9)
    table = structure_table(X, np.ones(len(y)), y)
    for node in np.random.default_rng(0).permuted(np.tile(np.arange(9), (5, 1)), axis=1):
        rows = {row.name: row.arrangement for row in table.renumbered(node)}
        assert rows["chain"][0] < rows["chain"][-1]
        assert rows["ring"][0] == 0 and rows["ring"][1] < rows["ring"][-1]
        assert list(rows["tree"]) == sorted(rows["tree"]) and all(j < k for j, k in rows["tree"])
        corners = [rows["grid"][up][left] for up in (0, -1) for left in (0, -1)]
        assert corners[0] == min(corners) and rows["grid"][0][1] < rows["grid"][1][0]


def test_table_reads_well():
    X, y = on_a_curve(c=6, noise=0.1)
    lines = repr(structure_table(X, np.ones(len(y)), y)).splitlines()
    assert lines[0] == "structure  probability  best arrangement"
    assert lines[1].startswith("chain") and lines[1].endswith("  0 - 1 - 2 - 3 - 4 - 5")
    assert any(line.startswith("flat ") and line.endswith("no order") for line in lines)
    X, y = on_a_curve(c=5)
    assert "none of so many clusters" in repr(structure_table(X, np.ones(len(y)), y))


@pytest.mark.parametrize("c", [2, 3, 13])
def test_few_and_many_clusters_are_not_compared(c):
    X, y = on_a_curve(c=c)
    assert structure_table(X, np.ones(len(y)), y) is None


def test_odd_samples_are_compared_or_refused():
    y = np.repeat(np.arange(5), 4)
    assert structure_table(np.zeros((20, 3)), np.ones(20), y) is None  # all means are equal
    for X, labels in (
        (np.eye(5)[y], y),  # every sample is its cluster's mean
        (np.arange(5.0)[:, None], np.arange(5)),  # clusters of one sample
        (np.r_[np.zeros(8), np.ones(12)][:, None], y),  # some means are equal
        (np.vander(np.arange(20.0), 3), y),
    ):
        table = structure_table(X, np.ones(len(labels)), labels)
        assert np.isfinite(values(table)).all() and np.isfinite(table.links).all()
        assert_allclose(sum(values(table)), 1)


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("chain:6", "chain"),
        ("grid:1x6", "chain"),
        ("ring:6", "ring"),
        ("ring:4", "ring"),
        ("grid:2x3", "grid"),
        ("grid:4x3", "grid"),
        ("chain:3*chain:3", "grid"),
        ("tree:2x3", "hierarchy"),
        ("flat:2*chain:3", None),
        ("chain:3*ring:4", None),
        ("chain:3", None),
        ("chain:13", None),
    ],
)
def test_structures_belong_to_families(text, family):
    assert family_of(as_structure(text)) == family


def test_graphs_of_nodes_are_trees_chains_or_rings():
    def graph(c, *links):
        A = 3.0 * np.eye(c)
        for j, k in links:
            A[j, k] = A[k, j] = 1
        return Custom(A)

    assert family_of(graph(5, (0, 1), (1, 2), (1, 3), (3, 4))) == "tree"
    assert family_of(graph(5, (0, 3), (3, 1), (1, 4), (4, 2))) == "chain"
    assert family_of(graph(5, (0, 3), (3, 1), (1, 4), (4, 2), (2, 0))) == "ring"
    assert family_of(graph(6, (0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5))) is None  # two rings


# -- warnings ---------------------------------------------------------------------------------------------------------


def test_one_warning_names_a_structure_that_is_clearly_more_probable():
    X, y = on_a_curve(c=6)
    given = clusters_of(X, y)
    order = replace(order_of(given), structures=compare_structures(given))
    p = {row.name: row.probability for row in order.structures}
    assert p["chain"] > 0.9 and order.confidence > 0.5
    better = f"A chain (probability {p['chain']:.2f}) fits these clusters better than a ring ({p['ring']:.2f})"
    said = doubt_in_words(replace(order, family="ring"), "ring:6")
    assert said.startswith("'ring:6' may be the wrong structure") and better in said
    unsure = doubt_in_words(replace(order, family="ring", confidence=0.2), "ring:6")
    assert unsure.startswith("the order of these clusters on 'ring:6' is uncertain") and better in unsure
    for quiet in (replace(order, family="chain"), order, replace(order, family="ring", structures=None)):
        assert doubt_in_words(quiet, "ring:6") == ""
    rows = [row._replace(probability=0.5 if row.name == "chain" else 0.1) for row in order.structures]
    table = replace(order.structures, rows=tuple(rows))
    assert doubt_in_words(replace(order, family="ring", structures=table), "ring:6") == ""
    for flat, ring, is_named in ((0.95, 0.04, True), (0.95, 0.05, False), (0.71, 0.01, True), (0.69, 0.01, False)):
        p = {"flat": flat, "ring": ring, "tree": 1 - flat - ring}
        rows = [row._replace(probability=p.get(row.name, 0.0)) for row in order.structures]
        rows = sorted(rows, key=lambda row: -row.probability)
        changed = replace(order, family="ring", structures=replace(order.structures, rows=tuple(rows)))
        assert (f"No order (probability {flat})" in doubt_in_words(changed, "ring:6")) == is_named


# -- estimators -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The variance of X")
def test_fits_have_the_table_and_files_keep_it(tmp_path):
    X, _ = on_a_curve(c=6)
    model = StructuredClustering(structure="chain:6", kernel="rbf", random_state=0).fit(X)
    table = model.order_.structures
    assert table.rows[0].name == "chain" and table["chain"].arrangement == tuple(range(6))
    assert f"most probable structure=chain ({table['chain'].probability:.2f})" in repr(model.order_)
    model.save(tmp_path / "a.model")
    loaded = kernelclust.load(tmp_path / "a.model").order_.structures
    assert loaded.rows == table.rows and repr(loaded) == repr(table)
    assert_array_equal(loaded.links, table.links)
    plain = StructuredClustering(structure="chain:6", kernel="rbf", random_state=0, compute_confidence=False).fit(X)
    assert plain.order_.structures is None


@pytest.mark.filterwarnings("ignore")
def test_more_than_twelve_clusters_say_why_there_is_no_table():
    X, _ = on_a_curve(c=13, each=6)
    order = StructuredClustering(structure="chain:13", kernel="linear", random_state=0).fit(X).order_
    assert order.structures is None and "structures are compared up to 12 clusters" in repr(order)


def test_the_default_kernel_sees_rings_that_commute_times_do_not_show():
    rng = np.random.default_rng(0)
    angle = np.repeat(np.arange(8), 25) * np.pi / 4
    X = np.c_[np.cos(angle), np.sin(angle)] + 0.08 * rng.standard_normal((200, 2))
    model = StructuredClustering(structure="ring:8", random_state=0).fit(X)
    best = model.order_.structures.rows[0]
    assert best.name == "ring" and best.probability > 0.9 and best.arrangement == tuple(range(8))
    graph = StructuredClustering(structure="ring:8", kernel="graph", random_state=0).fit(X)
    assert graph.order_.structures is None and graph.order_confidence_ is not None


def test_a_chain_through_clusters_without_order_is_warned_of_unless_labels_order_them():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 50)
    X = 4.0 * np.eye(6, 8)[y] + rng.standard_normal((300, 8))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = StructuredClustering(structure="chain:6", kernel="rbf", random_state=0).fit(X)
    flat = model.order_.structures["flat"].probability
    assert flat > 0.9 and model.order_.structures["chain"].probability < 0.02
    assert len(said) == 1 and f"No order (probability {flat:.2f})" in str(said[0].message)
    known = np.full(len(y), -1)
    known[::50] = [0, 3, 1, 4, 2, 5]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ordered = StructuredClustering(structure="chain:6", kernel="rbf", random_state=0).fit(X, known)
    assert ordered.order_confidence_ == 1 and ordered.order_.structures["flat"].probability > 0.85
