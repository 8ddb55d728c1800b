"""Positions on graphs and distances along structures, beside networkx and formulas written down."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata, spearmanr

from kernelclust import KernelKMeans, StructuredClustering
from kernelclust.structures import Custom, Network, as_structure

pytestmark = [pytest.mark.usefixtures("few_starts"), pytest.mark.filterwarnings("ignore::UserWarning")]

FORK = nx.Graph([("stem", "split"), ("split", "left"), ("split", "right"), ("right", "far")])
LOOP = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)])
TWO_PARTS = nx.Graph([(0, 1), (1, 2), (3, 4)])


def network_of(graph):
    return Custom(graph).network()


def positions_on(network, n=60, seed=0):
    """Random places on all edges, and beyond the ends."""
    rng = np.random.default_rng(seed)
    edge = rng.integers(0, len(network.edges), n)
    a, b = np.array(network.edges)[edge].T
    low, high = np.where(network.degree[a] == 1, -0.5, 0.0), np.where(network.degree[b] == 1, 1.5, 1.0)
    return np.column_stack([edge, low + (high - low) * rng.random(n)])


def with_point(network, position):
    """The graph with a node "x" at a position: on an edge, or at the end of a short one beyond an end."""
    graph = nx.Graph()
    graph.add_edges_from(network.edges, weight=1.0)
    a, b = network.edges[int(position[0])]
    f = position[1]
    if f < 0:
        graph.add_edge(a, "x", weight=-f)
    elif f > 1:
        graph.add_edge(b, "x", weight=f - 1)
    else:
        graph.add_edge(a, "x", weight=f)
        graph.add_edge("x", b, weight=1 - f)
    return graph


def fork_samples(n=300, noise=0.1, seed=0):
    """Samples along a fork of three arms of length 2 in the plane: X, arm, distance from the tip of arm 0."""
    rng = np.random.default_rng(seed)
    tip = 2 * np.array([[0, -1.0], [-0.8, 0.6], [0.8, 0.6]])
    arm, along = rng.integers(0, 3, n), rng.random(n)
    return (
        tip[arm] * along[:, None] + noise * rng.standard_normal((n, 2)),
        arm,
        np.where(arm == 0, 2 - 2 * along, 2 + 2 * along),
    )


# -- distances and paths over a graph ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "graph", [FORK, LOOP, nx.cycle_graph(5), nx.path_graph(4)], ids=["fork", "loop", "ring", "chain"]
)
def test_distances_are_those_of_networkx(graph):
    network = network_of(graph)
    position = positions_on(network)
    for root in range(network.n_clusters):
        found = network.distance(position, root)
        beyond = [with_point(network, one) for one in position]
        expected = np.array([nx.shortest_path_length(one, root, "x", weight="weight") for one in beyond])
        if network.degree[root] == 1:  # an end: from its outer side
            a, b = np.array(network.edges)[position[:, 0].astype(int)].T
            outside = ((position[:, 1] < 0) & (a == root)) | ((position[:, 1] > 1) & (b == root))
            expected = 0.5 + np.where(outside, -expected, expected)
        assert_allclose(found, expected, atol=1e-12)
        assert found.min() >= 0


def test_no_way_is_infinitely_long():
    network = network_of(TWO_PARTS)
    assert_array_equal(network.distance(np.array([[0, 0.3], [2, 0.3]]), 0), [0.8, np.inf])
    assert not network.is_tree and network_of(FORK).is_tree and not network_of(LOOP).is_tree


@pytest.mark.parametrize("graph", [FORK, nx.path_graph(4), nx.star_graph(4)], ids=["fork", "chain", "star"])
def test_paths_are_those_of_networkx(graph):
    network = network_of(graph)
    position = positions_on(network)
    plain = nx.Graph(network.edges)
    for root in range(network.n_clusters):
        found = network.paths(position, root)
        ends = [node for node in range(network.n_clusters) if plain.degree(node) == 1 and node != root]
        assert found.nodes == [nx.shortest_path(plain, root, end) for end in ends]
        time = network.distance(position, root)
        for path, times, weights in zip(found.nodes, found.pseudotime.T, found.weights.T, strict=True):
            steps = {frozenset(pair) for pair in pairwise(path)}
            on = np.array([frozenset(network.edges[int(edge)]) in steps for edge in position[:, 0]])
            assert_allclose(times[on], time[on])
            assert_array_equal(weights[on], 1)
            start = 0.5 if plain.degree(root) == 1 else 0.0
            for i in np.flatnonzero(~on):
                ways = nx.single_source_dijkstra_path_length(with_point(network, position[i]), "x")
                nearest = min(path, key=lambda node: ways[node])
                assert times[i] == pytest.approx(start + nx.shortest_path_length(plain, root, nearest))
                assert weights[i] == pytest.approx(max(0.0, 1 - 2 * ways[nearest]), abs=1e-12)
        assert (found.weights.max(axis=1) == 1).all()


def test_weights_fall_from_the_branching_to_the_middle_of_the_edge():
    network = Network(((0, 1), (1, 2), (1, 3)), 4)
    found = network.paths(np.array([[0, 0.9], [1, 0.0], [1, 0.25], [1, 0.5], [1, 1.4]]), 0)
    assert found.nodes == [[0, 1, 2], [0, 1, 3]]
    assert_allclose(found.weights, [[1, 1], [1, 1], [1, 0.5], [1, 0], [1, 0]])
    assert_allclose(found.pseudotime, [[1.4, 1.4], [1.5, 1.5], [1.75, 1.5], [2, 1.5], [2.9, 1.5]])


# -- positions ---------------------------------------------------------------------------------------------------------


def test_a_chain_drawn_as_a_graph_has_the_positions_of_a_chain():
    X, _, _ = fork_samples(150)
    for kernel in ("rbf", "linear"):
        chain = StructuredClustering(structure="chain:5", kernel=kernel, random_state=0).fit(X)
        graph = StructuredClustering(structure=nx.path_graph(5), kernel=kernel, random_state=0).fit(X)
        assert_array_equal(chain.labels_, graph.labels_)
        assert_allclose(graph.position_.sum(axis=1), chain.position_, atol=1e-9)
        for root in range(5):
            assert_allclose(graph.pseudotime(root=root), chain.pseudotime(root=root), atol=1e-9)
            one, other = graph.lineages(root=root), chain.lineages(root=root)
            assert one.paths == other.paths
            assert_allclose(one.pseudotime, other.pseudotime, atol=1e-9)
            assert_allclose(one.weights, other.weights, atol=1e-9)


def test_a_ring_drawn_as_a_graph_has_the_distances_of_a_ring():
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 200)
    X = np.c_[np.cos(angle), np.sin(angle)]
    ring = StructuredClustering(structure="ring:5", kernel="rbf", random_state=0).fit(X)
    graph = StructuredClustering(structure=nx.cycle_graph(5), kernel="rbf", random_state=0).fit(X)
    assert_array_equal(ring.labels_, graph.labels_)
    for root in range(5):
        assert_allclose(graph.pseudotime(root=root), ring.pseudotime(root=root), atol=1e-9)
    assert ring.pseudotime().max() <= 2.5


def test_positions_are_ranks_along_the_edge_that_leads_farthest():
    """The formula, for a node with three edges, in features that are written down."""
    X, _, _ = fork_samples()
    star = nx.star_graph(3)
    model = StructuredClustering(structure=star, kernel="linear", random_state=0).fit(X)
    mu = np.array([X[model.labels_ == j].mean(axis=0) for j in range(4)])
    assert model.structure_.edges() == [(0, 1), (0, 2), (0, 3)]
    here = model.labels_ == 0
    towards = [mu[k] - mu[[j for j in (1, 2, 3) if j != k]].mean(axis=0) for k in (1, 2, 3)]
    rank = np.column_stack([(rankdata(X[here] @ one) - 0.5) / here.sum() - 0.5 for one in towards])
    assert_array_equal(model.position_[here, 0], rank.argmax(axis=1))
    assert_allclose(model.position_[here, 1], np.maximum(rank.max(axis=1), 0), atol=1e-9)
    for k in (1, 2, 3):
        there = model.labels_ == k
        rank = (rankdata(X[there] @ (mu[0] - mu[k])) - 0.5) / there.sum() - 0.5
        assert_array_equal(model.position_[there, 0], k - 1)
        assert_allclose(model.position_[there, 1], 1 - rank, atol=1e-9)


def test_samples_behind_the_middle_of_every_edge_are_at_the_node():
    found = Network(((0, 1), (0, 2), (0, 3)), 4).position(
        np.array([[-0.2, -0.1, -0.3], [0.1, 0.3, 0.2]]), np.zeros(2, int)
    )
    assert_array_equal(found, [[1, 0], [1, 0.3]])


def test_pseudotime_follows_a_fork():
    X, arm, time = fork_samples(600, noise=0.05)
    tree = nx.Graph([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("c", "f"), ("f", "g")])
    y = np.full(len(X), "", dtype=object)
    for name, which, when in (("a", 0, 0), ("c", 1, 2), ("e", 1, 4), ("g", 2, 4)):
        y[np.argmin(np.abs(time - when) + 9 * (arm != which))] = name
    model = StructuredClustering(structure=tree, kernel="rbf", random_state=0).fit(X, y)
    assert spearmanr(model.pseudotime(root="a"), time)[0] > 0.97
    found = model.lineages(root="a")
    assert found.paths == [["a", "b", "c", "d", "e"], ["a", "b", "c", "f", "g"]]
    late = time > 2.7
    assert_array_equal(found.weights[late].argmax(axis=1), arm[late] - 1)
    assert_allclose(found.weights[time < 1.5], 1)
    assert_allclose(model.pseudotime(X, root="a"), model.pseudotime(root="a"), atol=1e-6)
    both = model.pseudotime(root=["e", "g"])
    assert_allclose(both, np.minimum(model.pseudotime(root="e"), model.pseudotime(root="g")))


def test_on_a_grid_the_steps_add_up():
    X = np.random.default_rng(0).random((120, 2)) * [2, 3]
    model = StructuredClustering(structure="grid:2x3", kernel="linear", random_state=0).fit(X)
    assert_allclose(model.pseudotime(), (model.position_ + 0.5).sum(axis=1))
    assert_allclose(model.pseudotime(root=1), model.position_[:, 0] + 0.5 + np.abs(model.position_[:, 1] - 1))


def test_products_with_a_flat_factor_are_graphs():
    X, _, _ = fork_samples(120)
    model = StructuredClustering(structure="flat:2*chain:3", kernel="rbf", random_state=0).fit(X)
    edges = np.array(model.structure_.edges())[model.position_[:, 0].astype(int)]
    assert (edges == model.labels_[:, None]).any(axis=1).all()
    with pytest.raises(ValueError, match="no edge of the graph leads from root '0' to cluster '3', '4', '5'"):
        model.pseudotime()
    assert model.pseudotime(root=[0, 3]).max() <= 3


def test_found_trees_have_positions():
    X, _, time = fork_samples(400, noise=0.05)
    model = StructuredClustering(7, structure="tree", kernel="rbf", random_state=0).fit(X)
    root = model.labels_[np.argmin(time)]
    assert spearmanr(model.pseudotime(root=int(root)), time)[0] > 0.95


def test_clusters_without_an_edge_have_no_position():
    X, _, _ = fork_samples(120)
    graph = nx.path_graph(3)
    graph.add_node(3)
    model = StructuredClustering(structure=graph, kernel="rbf", random_state=0).fit(X)
    assert_array_equal(np.isnan(model.position_).all(axis=1), model.labels_ == 3)
    assert_array_equal(np.isnan(model.position(X)).all(axis=1), model.predict(X) == 3)
    with pytest.raises(ValueError, match="no edge of the graph leads from root '0' to cluster '3'"):
        model.pseudotime()
    with pytest.raises(ValueError, match="all of them connected"):
        model.lineages()


# -- errors ------------------------------------------------------------------------------------------------------------


def test_what_has_no_pseudotime():
    X, _, _ = fork_samples(80)
    flat = StructuredClustering(3, kernel="rbf", random_state=0).fit(X)
    for method in (flat.pseudotime, flat.lineages):
        with pytest.raises(ValueError, match="flat:3"):
            method()
    tree = StructuredClustering(structure="tree:2x2", kernel="rbf", random_state=0).fit(X)
    with pytest.raises(ValueError, match="undirected networkx graph"):
        tree.pseudotime()
    ring = StructuredClustering(structure="ring:4", kernel="rbf", random_state=0).fit(X)
    with pytest.raises(ValueError, match="without a cycle"):
        ring.lineages()
    assert not hasattr(KernelKMeans(3).fit(X), "pseudotime")
    assert as_structure(np.eye(4) + 1).network() is None


@pytest.mark.parametrize(
    ("root", "words"),
    [
        ("stam", "unknown root 'stam'.*Did you mean 'stem'"),
        (5, "root=5: clusters are numbered from 0 to 4"),
        (-1, "root=-1"),
        ([], "names no cluster"),
        (True, "unknown root True"),
        (None, "unknown root None"),
    ],
)
def test_bad_roots(root, words):
    X, _, _ = fork_samples(80)
    model = StructuredClustering(structure=FORK, kernel="rbf", random_state=0).fit(X)
    with pytest.raises(ValueError, match=words):
        model.pseudotime(root=root)
    with pytest.raises(ValueError, match="names 2 clusters; paths begin at one"):
        model.lineages(root=["stem", "far"])
