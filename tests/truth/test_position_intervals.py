"""Intervals of positions: how often they hold the truth, what they are made of, and the same on graphs."""

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.stats import norm, rankdata

import kernelclust
from kernelclust import MultiKernelClustering, StructuredClustering
from kernelclust.engine._position_errors import position_errors
from kernelclust.structures import Custom, Network, as_structure

pytestmark = [pytest.mark.usefixtures("few_starts"), pytest.mark.filterwarnings("ignore::UserWarning")]


def path(seed, *, closed, m=400, columns=10, noise=0.4):
    """Samples at random times of a smooth random curve with noise in all columns."""
    rng = np.random.default_rng(seed)
    time, order = rng.random(m), np.arange(1, 4)[:, None, None]
    angle = (2 if closed else 0.8) * np.pi * order * time[:, None] + rng.uniform(0, 2 * np.pi, (3, 1, columns))
    curve = (rng.standard_normal((3, 1, columns)) / order**1.7 * np.sin(angle)).sum(axis=0)
    curve = curve / curve.std() + (0 if closed else 2 * time[:, None] * rng.standard_normal(columns))
    return curve + noise * rng.standard_normal((m, columns)), time


def truth_of(time, position, n_clusters, *, closed):
    """The positions that samples have in their true order: the same numbers, given to samples by rank.

    The direction, and on a ring the beginning, are those that suit the found positions best.
    """
    m, number = len(time), np.sort(position)
    found = []
    for rank in (rankdata(time) - 1, m - rankdata(time)):
        for shift in range(0, m, 4) if closed else (0,):
            truth = number[(rank.astype(int) + shift) % m]
            away = np.abs(truth - position)
            found.append((np.minimum(away, n_clusters - away if closed else np.inf).mean(), truth))
    return min(found, key=lambda one: one[0])[1]


def coverage(model, X, time, level, *, closed):
    c = len(model.sizes_)
    truth = truth_of(time, model.position_, c, closed=closed)
    low, high = model.position_interval(level=level).T
    turns = (-c, 0, c) if closed else (0,)
    return np.mean(np.any([(low <= truth + t) & (truth + t <= high) for t in turns], axis=0))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "auto"])
@pytest.mark.parametrize("structure", ["chain:6", "ring:8"])
def test_as_often_right_as_asked(structure, kernel):
    closed = structure.startswith("ring")
    shares = []
    for seed in range(4):
        X, time = path(seed, closed=closed)
        model = StructuredClustering(structure=structure, kernel=kernel, random_state=0).fit(X)
        shares.append([coverage(model, X, time, level, closed=closed) for level in (0.5, 0.8, 0.95)])
    half, usual, nearly_all = np.mean(shares, axis=0)
    assert 0.45 < half < 0.7 and 0.75 < usual < 0.92 and 0.92 < nearly_all


def test_the_posterior_of_a_straight_line():
    """Means on a line, noise across it of known size: the distribution is the one of a normal error of that size."""
    rng = np.random.default_rng(0)
    m, c, sigma = 20_000, 9, 0.4
    place = rng.uniform(-0.5, c - 0.5, m)
    X = np.column_stack([place, np.zeros((m, 2))]) + sigma * rng.standard_normal((m, 3))
    X[:, 0] = np.clip(X[:, 0], -0.5, c - 0.5)
    labels = np.clip(np.round(X[:, 0]), 0, c - 1).astype(int)
    some = np.sort(rng.permutation(m)[:4000])
    route = as_structure(f"chain:{c}").route()
    errors = position_errors(route, [X[some]], labels[some], np.ones(len(some)), X[some, 0])
    middle = np.linspace(3, 5, 21)
    for level in (0.5, 0.8, 0.9):
        low, high = errors.interval(middle, level).T
        expected = 2 * norm.ppf((1 + level) / 2) * sigma
        assert_allclose((high - low).mean(), expected, rtol=0.06)
        assert_allclose((high + low) / 2, middle, atol=0.12)


@pytest.fixture(scope="module")
def chain():
    X, time = path(0, closed=False)
    return X, time, StructuredClustering(structure="chain:6", kernel="rbf", random_state=0).fit(X)


def test_manner(chain):
    X, _, model = chain
    low, high = model.position_interval().T
    assert (low <= model.position_).all() and (model.position_ <= high).all()
    assert low.min() >= -0.5 and high.max() <= 5.5
    wider = model.position_interval(level=0.95)
    assert (
        (wider[:, 0] <= low).all()
        and (wider[:, 1] >= high).all()
        and np.ptp(wider, axis=1).mean() > 1.2 * np.ptp(model.position_interval(), axis=1).mean()
    )
    assert_allclose(model.position_interval(X), model.position_interval(), atol=1e-9)
    assert_allclose(model.pseudotime_interval(root=0), model.position_interval() + 0.5, atol=1e-9)
    backwards = model.pseudotime_interval(root=5)
    assert_allclose(backwards, 5.5 - model.position_interval()[:, ::-1], atol=1e-9)


def test_what_is_alike_for_samples(chain):
    """Order of samples, scale, shift and turn of the table, weights times a constant, a sparse table: the same."""
    X, _, model = chain
    rng = np.random.default_rng(1)
    order = rng.permutation(len(X))
    turn = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    expected = model.position_interval()

    def fitted(table, **more):
        return StructuredClustering(structure="chain:6", kernel="rbf", random_state=0).fit(table, **more)

    other = fitted(X[order]).position_interval()
    same = np.abs(other - expected[order]).max() < 1e-6 or np.abs(5 - other[:, ::-1] - expected[order]).max() < 1e-6
    assert same
    assert_allclose(fitted(3 * X @ turn + 5).position_interval(), expected, atol=1e-5)
    assert_allclose(fitted(X, sample_weight=np.full(len(X), 7.0)).position_interval(), expected, atol=1e-6)
    assert_allclose(fitted(csr_array(X)).position_interval(), expected, atol=1e-5)


def test_noise_makes_intervals_wider():
    widths = []
    for noise in (0.2, 0.4, 0.8):
        X, _ = path(0, closed=False, noise=noise)
        model = StructuredClustering(structure="chain:6", kernel="rbf", random_state=0).fit(X)
        widths.append(np.ptp(model.position_interval(), axis=1).mean())
    assert widths[1] > 1.3 * widths[0] and widths[2] > 1.3 * widths[1]


def test_a_chain_drawn_as_a_graph(chain):
    X, _, model = chain
    drawn = StructuredClustering(structure=nx.path_graph(6), kernel="rbf", random_state=0).fit(X)
    time = drawn.pseudotime_interval(root=0)
    other = [model.pseudotime_interval(root=end) for end in (0, 5)]
    assert min(np.abs(time - one).mean() for one in other) < 0.05
    with pytest.raises(ValueError, match=r"edges and fractions.*pseudotime_interval"):
        drawn.position_interval()


def test_a_fork_holds_the_truth():
    """Three arms of even length from a split, noise in ten columns."""
    rng = np.random.default_rng(0)
    arm, along = np.repeat(np.arange(3), 150), np.tile(rng.uniform(0, 2, 150), 3)
    ends = np.linalg.qr(rng.standard_normal((10, 3)))[0].T
    X = along[:, None] * ends[arm] + 0.15 * rng.standard_normal((450, 10))
    fork = nx.Graph([("split", "a"), ("split", "b"), ("split", "c"), ("a", "A"), ("b", "B"), ("c", "C")])
    y = np.full(450, "", dtype=object)
    for number, names in enumerate(("aA", "bB", "cC")):
        for name, at in zip(names, (1.0, 1.9), strict=True):
            here = np.flatnonzero(arm == number)
            y[here[np.argsort(np.abs(along[here] - at))[:3]]] = name
    y[np.argsort(along)[:3]] = "split"
    model = StructuredClustering(structure=fork, kernel="rbf", random_state=0).fit(X, y)
    time = model.pseudotime(root="split")
    truth = np.sort(time)[(rankdata(along, method="ordinal") - 1).astype(int)]
    low, high = model.pseudotime_interval(root="split").T
    assert (low >= 0).all() and (low <= time).all() and (time <= high).all()
    assert 0.7 < np.mean((low - 1e-9 <= truth) & (truth <= high + 1e-9)) < 0.95


@pytest.mark.parametrize("graph", [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(3), nx.Graph([(0, 1), (2, 3)])])
def test_points_along_a_graph(graph):
    route = Custom(graph).route()
    network = route.network
    assert_allclose(route.mean_weights.sum(axis=1), 1)
    own = route.distance(route.position)
    assert_allclose(own, own.T)
    assert_allclose(np.diag(own), 0, atol=1e-12)
    for k, end in enumerate(network.edges):  # from each point to a node, as pseudotime has it
        for node in end:
            there = np.array([[k, 0.0 if node == end[0] else 1.0]])
            shift = 0.5 if network.degree[node] == 1 else 0.0
            inside = route.node != node  # beyond an end, time falls back to zero
            assert_allclose(
                route.distance(there)[0][inside], network.distance(route.position, node)[inside] - shift, atol=1e-12
            )


def test_routes_of_chains_and_rings():
    chain, ring = as_structure("chain:4").route(), as_structure("ring:5").route()
    assert chain.position.min() > -0.5 and chain.position.max() < 3.5 and len(chain.position) == 40
    assert ring.position.min() > 0 and ring.position.max() < 5 and len(ring.position) == 50
    assert_allclose(chain.distance(np.array([-0.4]))[0], np.abs(chain.position + 0.4))
    away = np.abs(ring.position - 4.9)
    assert_allclose(ring.distance(np.array([4.9]))[0], np.minimum(away, 5 - away))
    assert np.array_equal(chain.node, np.clip(np.round(chain.position), 0, 3))
    assert as_structure("chain:1").route() is None and as_structure("grid:2x2").route() is None
    assert as_structure("flat:4").route() is None and as_structure("tree:2x2").route() is None
    assert len(as_structure("chain:150").route().position) <= 2 * 150 + 2 and isinstance(chain.network, Network)


def test_refusals(chain):
    X, _, model = chain
    for level in (0, 1, 1.5, "0.8", None, np.nan):
        with pytest.raises(ValueError, match=r"level=.*between 0 and 1"):
            model.position_interval(level=level)
    for structure, kernel, table in (
        ("grid:2x2", "rbf", X),
        ("flat:3", "rbf", X),
        ("chain:3", "precomputed", X @ X.T),
    ):
        other = StructuredClustering(structure=structure, kernel=kernel, random_state=0).fit(table)
        with pytest.raises(ValueError, match="intervals of positions need a table"):
            other.position_interval()
        with pytest.raises(ValueError, match="intervals of positions need a table"):
            other.pseudotime_interval()
    assert not hasattr(MultiKernelClustering(), "position_interval")
    with pytest.raises(ValueError, match="root"):
        model.pseudotime_interval(root=9)


def test_it_survives_a_model_file(chain, tmp_path):
    X, _, model = chain
    model.save(tmp_path / "a.model")
    again = kernelclust.load(tmp_path / "a.model")
    assert_allclose(again.position_interval(X[:9]), model.position_interval(X[:9]))


def test_the_seam_of_a_ring_is_like_the_rest():
    X, _ = path(1, closed=True)
    model = StructuredClustering(structure="ring:8", kernel="rbf", random_state=0).fit(X)
    low, high = model.position_interval().T
    assert (high - low).max() < 3 and low.min() < 0 and high.max() > 8


def test_truth_is_sought_where_most_samples_are():
    """Between many samples and few, with noise as wide as the clusters, the truth lies among the many."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 3)) * 0.8
    place = np.concatenate([rng.uniform(-0.5, 1.5, 800), rng.uniform(1.5, 3.5, 100)])
    X[:, 0] += place
    labels = np.clip(np.round(X[:, 0]), 0, 3).astype(int)
    errors = position_errors(as_structure("chain:4").route(), [X], labels, np.ones(900), np.clip(X[:, 0], -0.5, 3.5))
    low, high = errors.interval(np.array([1.5]), 0.8)[0]
    assert 1.5 - low > 1.4 * (high - 1.5)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scale", [2.0**530, 2.0**-530])
def test_intervals_of_numbers_of_any_size(scale):
    X = path(0, closed=False)[0]
    model = StructuredClustering(structure="chain:6", kernel="rbf", random_state=0)
    assert_allclose(model.fit(scale * X).position_interval(scale * X), model.fit(X).position_interval(X))


def test_arrangements_that_are_as_likely_move_the_points(chain):
    _, _, model = chain
    errors, structure, own = model._errors, model.structure_, np.arange(6)
    swapped = np.array([0, 2, 1, 3, 4, 5])
    equivalent = errors.rearranged(np.array([own, own[::-1]]), structure, model.sizes_)
    assert_allclose(equivalent.probability, errors.probability)  # a chain that is turned round is the same chain
    unsure = errors.rearranged(np.array([own, own, own, 5 - swapped]), structure, model.sizes_)
    near = [errors.route.node == j for j in range(6)]
    for j, there in ((1, 2), (2, 1)):
        before = errors.probability[:, near[j]].sum(axis=1), errors.probability[:, near[there]].sum(axis=1)
        after = unsure.probability[:, near[there]].sum(axis=1)
        assert_allclose(after, 0.25 * before[0] + 0.75 * before[1])
    others = np.isin(errors.route.node, [0, 3, 4, 5])
    assert_allclose(unsure.probability[:, others], errors.probability[:, others])
    wider = np.ptp(unsure.interval(np.array([1.0, 2.0]), 0.8), axis=1)
    assert (wider > np.ptp(errors.interval(np.array([1.0, 2.0]), 0.8), axis=1) + 0.5).all()


def test_a_cluster_beside_the_line_has_long_intervals():
    """Some samples in the middle of a line differ from the others at their time: the node of their cluster is open."""
    rng = np.random.default_rng(0)
    time = rng.random(600)
    X = np.column_stack([10 * time, 3 * np.sin(3 * time), np.zeros((600, 6))]) + 0.5 * rng.standard_normal((600, 8))
    beside = (np.abs(time - 0.5) < 0.12) & (rng.random(600) < 0.5)
    X[beside, 2] += 6
    model = StructuredClustering(structure="chain:5", kernel="rbf", random_state=0).fit(X)
    assert model.order_confidence_ < 0.5
    aside = np.bincount(model.labels_, beside).argmax()
    length = np.array([np.ptp(model.position_interval()[model.labels_ == j], axis=1).mean() for j in range(5)])
    assert length[aside] > 1.5 * np.median(length)
    assert coverage(model, X, time, 0.8, closed=False) > 0.75
    turned = model._order.renumbered(np.arange(5)[::-1])
    assert (turned.nodes[:, ::-1] == 4 - model._order.nodes).all()
