"""How sure an order is: steps, agreement of orders, noise, repeats, and what is said."""

import warnings
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

from kernelclust import CLUHSIC, KernelKMeans, MultiKernelClustering, StructuredClustering
from kernelclust.engine._order import NOISE_DRAWS as DRAWS
from kernelclust.engine._order import (
    Clusters,
    _halves,
    _jitters,
    _thinned,
    compare_structures,
    doubt_in_words,
    leading_directions,
    n_arrangements,
    noise_fits,
    order_of,
    order_pvalue,
)
from kernelclust.engine._steps import (
    distance_fit,
    is_connected,
    links,
    order_agreement,
    place,
    squared_distances,
    steps,
)
from kernelclust.objectives import ClusterObjective
from kernelclust.solvers import cluster_means, many_kmeans, move_together
from kernelclust.structures import as_structure


def kernel_of(text):
    return as_structure(text).kernel


def table_of(y, z, c):
    table = np.zeros((c, c))
    np.add.at(table, (y, z), 1)
    return table


# -- steps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["chain:5", "grid:2x3", "grid:3x3"])
def test_steps_on_chains_and_grids_are_their_loss_and_links_its_ones(text):
    structure = as_structure(text)
    assert_allclose(steps(structure.kernel), structure.loss)
    assert_array_equal(links(structure.kernel), structure.loss == 1)
    assert is_connected(structure.kernel)


def test_steps_on_rings_go_the_shorter_way():
    i = np.arange(7)
    ahead = (i[:, None] - i) % 7
    assert_allclose(steps(kernel_of("ring:7")), np.minimum(ahead, 7 - ahead))


def test_between_parts_it_is_one_step_more_than_the_longest_way():
    A = kernel_of("flat:2*chain:3")
    G = steps(A)
    assert_allclose(G[:3, :3], steps(kernel_of("chain:3")))
    assert_allclose(G[:3, 3:], 3.0)
    assert not is_connected(A) and not links(A)[:3, 3:].any()
    assert_allclose(steps(kernel_of("flat:3")), 1 - np.eye(3))


def test_weaker_links_are_longer_and_kept_where_no_way_is_as_short():
    A = kernel_of("tree:(a,(b,(c,d)))")  # c, d share two nodes, b one with them, a none
    assert_allclose(steps(A)[1:, 1:], [[0, 2, 2], [2, 0, 1], [2, 1, 0]])
    assert_array_equal(links(A)[1:, 1:], 1 - np.eye(3))
    assert not links(A)[0].any()


@pytest.mark.parametrize(
    ("text", "number"), [("flat:4", 1), ("ring:3", 1), ("chain:2", 1), ("chain:3", 3), ("ring:4", 3)]
)
def test_arrangements_are_counted(text, number):
    assert n_arrangements(kernel_of(text)) == number
    assert n_arrangements(kernel_of("chain:4")) == 12
    assert n_arrangements(kernel_of("chain:5")) == np.inf


# -- fit and agreement ------------------------------------------------------------------------------------------------


def test_distances_that_follow_the_steps_fit_and_units_do_not_matter():
    G = steps(kernel_of("chain:5"))
    assert distance_fit(G**2, G) == (0.99, 0.99)
    rng = np.random.default_rng(0)
    D = squared_distances(np.cov(rng.standard_normal((5, 9))), np.ones(5))
    pairs = np.triu_indices(5, 1)
    fit, rank_fit = distance_fit(D, G)
    assert fit == pytest.approx(np.corrcoef(np.sqrt(D[pairs]), G[pairs])[0, 1])
    assert rank_fit == pytest.approx(spearmanr(D[pairs], G[pairs])[0])
    assert_allclose(distance_fit(1e-200 * D, G), (fit, rank_fit))
    assert distance_fit(np.zeros((5, 5)), G) == (0.0, 0.0)
    assert distance_fit(1 - np.eye(5), G) == (0.0, 0.0)


def plain_agreement(G, y, z):
    """By pairs of samples, and all places of z's clusters."""
    m, c = len(y), len(G)
    H = np.eye(m) - 1 / m

    def raw(z):
        one, other = (H @ G[np.ix_(labels, labels)] @ H for labels in (y, z))
        return (one * other).sum() / np.sqrt((one**2).sum() * (other**2).sum())

    def top(z):
        one, other = (H @ G[np.ix_(labels, labels)] @ H for labels in (y, z))
        return (one * other).sum()

    orders = [np.array(p)[z] for p in permutations(range(c))]
    root = top(z) / raw(z)
    chance = np.mean([top(order) for order in orders]) / root
    best = raw(orders[int(np.argmax([top(order) for order in orders]))])
    return (raw(z) - chance) / (max(best, raw(z)) - chance)


def test_agreement_is_the_correlation_of_steps_between_chance_and_best():
    rng = np.random.default_rng(1)
    for text in ("chain:4", "ring:5", "flat:2*chain:2"):
        G = steps(kernel_of(text))
        c = len(G)
        for _ in range(4):
            y = np.r_[np.arange(c), rng.integers(c, size=20)]
            z = np.where(rng.random(len(y)) < 0.7, y, rng.integers(c, size=len(y)))
            z = rng.permutation(c)[z]
            expected = plain_agreement(G, y, z)
            if abs(expected) <= 1.5:
                assert order_agreement(G, table_of(y, z, c)[None]) == pytest.approx(expected)


def test_agreement_is_one_for_equivalent_orders_and_zero_on_average():
    y = np.repeat(np.arange(5), 6)
    G = steps(kernel_of("ring:5"))
    for node in ((np.arange(5) + 2) % 5, -np.arange(5) % 5):
        assert order_agreement(G, table_of(y, node[y], 5)[None]) == pytest.approx(1)
    tables = np.stack([table_of(y, np.array(p)[y], 5) for p in permutations(range(5))])
    everyone = order_agreement(G, tables)
    assert_allclose(everyone, order_agreement(G, tables, best=1.0))
    assert np.mean(everyone) == pytest.approx(0, abs=1e-9)
    moved = np.minimum((np.arange(30) + 2) // 6, 4)  # other borders, the same order
    G = steps(kernel_of("chain:5"))
    nothing = table_of(np.zeros(9, int), np.zeros(9, int), 5)
    assert_allclose(order_agreement(G, np.stack([table_of(y, moved, 5), nothing])), [1, 0])


def test_places_found_by_few_starts_are_the_best_of_all():
    rng = np.random.default_rng(0)
    A = kernel_of("chain:6")
    M = rng.standard_normal((5, 6, 6))
    M = M + M.swapaxes(1, 2)
    for node, one in zip(place(A, M), M, strict=True):
        score = [(A[np.ix_(p, p)] * one).sum() for p in permutations(range(6))]
        assert (A[np.ix_(node, node)] * one).sum() == pytest.approx(max(score))


# -- repeats ----------------------------------------------------------------------------------------------------------


def test_many_runs_find_the_clusters_of_their_own_samples():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 20)
    X = 10 * np.eye(3)[y] + rng.standard_normal((60, 3))
    weight = np.ones((4, 60))
    weight[1, ::2] = 0  # takes no part
    labels = many_kmeans(X[None], weight, 3, np.random.RandomState(0), 2)
    for one in labels:
        assert len(set(zip(y, one, strict=True))) == 3
    many = many_kmeans(np.stack([X, X[::-1]]), np.ones((2, 60)), 3, np.random.RandomState(0), 2)
    assert len(set(zip(y, many[1][::-1], strict=True))) == 3


def test_means_count_weights_as_copies():
    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((12, 2)), np.repeat([0, 2], 6), rng.integers(1, 4, 12)
    means, n = cluster_means(X[None], w[None].astype(float), y[None], 3)
    again, copies = cluster_means(np.repeat(X, w, axis=0)[None], np.ones((1, w.sum())), np.repeat(y, w)[None], 3)
    assert_allclose(means, again)
    assert_allclose(n, copies)
    assert_allclose(means[0, 1], 0)


# -- noise ------------------------------------------------------------------------------------------------------------


def test_problems_that_move_together_end_where_each_would_alone_and_f_never_falls():
    rng, c = np.random.default_rng(3), 4
    X, weight, labels = rng.standard_normal((5, 40, 2)), rng.integers(1, 3, (5, 40)), rng.integers(0, c, (5, 40))
    objective = ClusterObjective(kernel_of("ring:4") + 2 * np.eye(c), np.eye(c))
    start = move_together(X, weight, objective, labels, 0)[1]
    found, values = move_together(X, weight, objective, labels, 20)
    assert (values >= start).all()
    for i in range(5):
        one, value = move_together(X[i : i + 1], weight[i : i + 1], objective, labels[i : i + 1], 20)
        assert_array_equal(one[0], found[i])
        P = np.eye(c)[found[i]] * weight[i][:, None]
        assert value[0] == pytest.approx(objective.value(P.T @ X[i] @ X[i].T @ P, P.sum(axis=0)))


def test_the_p_value_counts_draws_of_noise_and_of_random_centres():
    A = kernel_of("chain:5")
    plane, *others = noise_fits(A)
    assert all(draws.shape == (DRAWS, 2) for draws in (plane, *others)) and len(others) == 3
    assert noise_fits(A)[0] is plane  # once
    assert order_pvalue(A, 0.99, 0.99) == 1 / (DRAWS + 1)
    assert order_pvalue(A, -0.99, -0.99) == 1
    for draws in (plane, *others):
        told = np.array([order_pvalue(A, *np.tanh(one)) for one in draws])
        assert np.mean(told < 0.05) <= 0.05
    assert told.min() < 0.2
    falls = [order_pvalue(A, fit, 0.7) for fit in (0.2, 0.5, 0.8, 0.95)]
    assert falls == sorted(falls, reverse=True)


# -- the whole --------------------------------------------------------------------------------------------------------


def clusters_of(X, y, text, weight=None, **more):
    c = as_structure(text).n_clusters
    weight = np.ones(len(X)) if weight is None else weight.astype(float)
    X = X - weight @ X / weight.sum()
    sums = np.stack([weight[y == j] @ X[y == j] for j in range(c)])
    n = np.bincount(y, weight, minlength=c)
    facts = {"known": np.zeros(c, dtype=bool)} | more
    return Clusters(kernel_of(text), leading_directions(X, c), weight, y, sums @ sums.T, n, **facts)


def on_a_line(c, each=10, noise=0.3, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(c), each)
    X = np.c_[y, np.zeros((len(y), columns - 1))] + noise * rng.standard_normal((len(y), columns))
    return X, np.minimum(np.abs(X[:, :1] - np.arange(c)).argmin(axis=1), c - 1)


def test_a_clear_order_is_sure_a_shuffled_one_is_not():
    X, y = on_a_line(6)
    right = order_of(clusters_of(X, y, "chain:6"))
    assert right.confidence > 0.8 and right.pvalue <= 0.02
    assert right.fit > 0.95 and right.halves > 0.9 and right.jitter == 1
    wrong = order_of(clusters_of(X, np.array([0, 3, 1, 5, 2, 4])[y], "chain:6"))
    assert wrong.confidence < 0.2 and wrong.pvalue > 0.5


def test_links_are_symmetric_and_there_only():
    X, y = on_a_line(6)
    order = order_of(clusters_of(X, y, "ring:6"))
    assert_array_equal(np.isnan(order.links), ~links(kernel_of("ring:6")))
    assert_allclose(order.links, order.links.T)
    inside = order.links[~np.isnan(order.links)]
    assert inside.min() >= 0 and inside.max() <= 1


def test_neither_the_order_of_samples_nor_equivalent_numbers_matter():
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(6), [9, 10, 11, 12, 13, 14])
    angle = y * np.pi / 3
    X = np.c_[np.cos(angle), np.sin(angle), 0 * angle] + 2.0 * rng.standard_normal((69, 3))
    one = order_of(clusters_of(X, y, "ring:6"))
    assert 0 < one.jitter < 1
    shuffled = rng.permutation(69)
    turned = (2 - np.arange(6)) % 6
    signs = np.array([-1.0, 1.0, -1.0])  # of eigenvectors
    for other in (
        order_of(clusters_of(X[shuffled], y[shuffled], "ring:6")),
        order_of(clusters_of(X * signs, y, "ring:6")),
        order_of(clusters_of(1e-120 * X, y, "ring:6")),
        order_of(clusters_of(X, turned[y], "ring:6")),
    ):
        told = [[one.confidence, one.pvalue, one.fit, one.halves, one.jitter] for one in (one, other)]
        assert_allclose(*told, rtol=1e-6)
    assert_allclose(other.links[np.ix_(turned, turned)], one.links, rtol=1e-6)


def test_weights_are_copies_where_only_sums_count():
    rng = np.random.default_rng(0)
    X, y = on_a_line(5)
    w = rng.integers(1, 4, len(X))
    one, copies = (
        order_of(clusters_of(X, y, "chain:5", w)),
        order_of(clusters_of(np.repeat(X, w, axis=0), np.repeat(y, w), "chain:5")),
    )
    assert_allclose([one.fit, one.pvalue, one.jitter], [copies.fit, copies.pvalue, copies.jitter])
    twice = order_of(clusters_of(X, y, "chain:5", 2 * np.ones(len(X))))
    once = order_of(clusters_of(X, y, "chain:5"))
    assert_allclose([twice.confidence, twice.halves], [once.confidence, once.halves])


def test_views_are_asked_where_they_follow_the_structure_better():
    X, y = on_a_line(6)
    given = clusters_of(X, y, "chain:6")
    plain, D = order_of(given), given.distances()
    node = np.array([0, 3, 1, 5, 2, 4])
    for views in ([7.0 * D, D], [D[np.ix_(node, node)]]):
        same = order_of(replace(given, views=views))
        assert_allclose([same.confidence, same.pvalue, same.fit], [plain.confidence, plain.pvalue, plain.fit])
    lost = replace(given, S=np.diag(given.n))  # all means equally far
    assert order_of(lost).confidence < 0.5 < order_of(replace(lost, views=[D])).confidence


def test_known_places_leave_less_to_doubt():
    X, y = on_a_line(6, noise=1.5)
    given = clusters_of(X, y, "chain:6")
    told = []
    for number in range(7):
        known = np.arange(6) < number
        told.append(order_of(replace(given, known=known)).confidence)
    assert told == sorted(told)
    assert told[0] < told[1] and told[5] == told[6] == 1


def test_links_are_shares_of_repeats_that_keep_them():
    """The mean of two shares, of changed distances and of halves, times 0.6 + 0.4 confidence; the same both ways. Where
    structures are compared, changed distances alone."""
    kept = links(kernel_of("chain:6"))
    X, y = on_a_line(6)
    sure = order_of(clusters_of(X, y, "chain:6"))
    assert sure.jitter == 1
    assert_allclose(np.nanmax(sure.links), 0.6 + 0.4 * sure.confidence)
    for noise in (1.0, 2.0):
        X, y = on_a_line(6, noise=noise)
        given = clusters_of(X, y, "chain:6")
        found = order_of(given)
        given = _thinned(given, 1000)
        repeats = _jitters(given, given.distances()), _halves(given)
        shares = [
            np.mean([np.abs(at[:, None] - at) <= 1 for at in some.nodes], axis=0) * (0.6 + 0.4 * found.confidence)
            for some in repeats
        ]
        assert not np.allclose(*[share[kept] for share in shares])
        assert_allclose(found.links[kept], np.mean(shares, axis=0)[kept])
        assert np.isnan(found.links[~kept]).all()
        assert_array_equal(found.links, found.links.T)
        compared = order_of(given, compare_structures(given), "chain")
        scale = (0.6 + 0.4 * compared.confidence) / (0.6 + 0.4 * found.confidence)
        assert_allclose(compared.links[kept], shares[0][kept] * scale)
        assert np.isnan(compared.halves) and not np.isnan(found.halves)


def test_no_order_to_judge():
    X, y = on_a_line(3)
    for text in ("flat:3", "ring:3"):
        order = order_of(clusters_of(X, y, text))
        assert np.isnan([order.confidence, order.pvalue]).all() and np.isnan(order.links).all()
        assert doubt_in_words(order, text) == ""
    few = order_of(clusters_of(X[::4], y[::4], "chain:3"))  # hardly enough samples for halves
    assert 0 <= few.confidence <= 1
    assert doubt_in_words(few, "chain:3").startswith("three clusters cannot show whether there is an order at all")


def test_more_than_fifty_clusters_are_not_judged():
    y = np.arange(102) % 51
    order = order_of(clusters_of(y[:, None] + 0.0, y, "chain:51"))
    assert np.isnan([order.confidence, order.pvalue]).all() and order.links.shape == (51, 51)


def test_samples_that_are_all_equal_have_no_order():
    y = np.repeat(np.arange(4), 5)
    order = order_of(clusters_of(np.zeros((20, 3)), y, "chain:4"))
    assert order.confidence < 0.1 and order.pvalue > 0.5
    assert np.isfinite(order.links[links(kernel_of("chain:4"))]).all()


# -- estimators -------------------------------------------------------------------------------------------------------


def test_estimators_keep_it_and_it_can_be_left_out():
    X, _ = on_a_line(6, each=15)
    plain = StructuredClustering(structure="chain:6", kernel="rbf", random_state=0, compute_confidence=False).fit(X)
    assert plain.order_confidence_ is plain.order_.pvalue is plain.order_.links is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = StructuredClustering(structure="chain:6", kernel="rbf", random_state=0).fit(X)
    assert_array_equal(model.labels_, plain.labels_)
    assert model.order_confidence_ > 0.8 and model.order_.pvalue < 0.05
    assert model.order_.links.shape == (6, 6)
    with threadpool_limits(1):
        again = StructuredClustering(structure="chain:6", kernel="rbf", random_state=0).fit(X)
    assert again.order_confidence_ == model.order_confidence_
    assert_array_equal(again.order_.links, model.order_.links)
    flat = KernelKMeans(6, random_state=0).fit(X)
    assert flat.order_confidence_ is None and flat.order_ is None
    many = MultiKernelClustering(6, structure="chain", random_state=0).fit([X, X[:, :1]])
    assert many.order_confidence_ > 0.8
    assert CLUHSIC(6, structure="chain", random_state=0).fit(X).order_confidence_ > 0.8


@pytest.mark.parametrize("given", [False, True])
def test_a_confidence_that_assumes_an_order_is_doubted_where_none_shows(given):
    """Separate clusters at random places, under a kernel whose distances show no structure."""
    centre = 3 * np.random.default_rng(4).standard_normal((6, 10))
    label = np.arange(300) % 6
    X = centre[label] + np.random.default_rng(0).standard_normal((300, 10))
    model = StructuredClustering(structure="chain:6", kernel="graph", random_state=0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(X, np.where(np.arange(300) < 2, label, -1) if given else None)
    assert model.order_confidence_ >= 0.5 and model.order_.pvalue >= 0.2 and model.order_.structures is None
    said = [str(one.message) for one in seen if "assumes that there is an order" in str(one.message)]
    assert len(said) == (not given)  # who knows labels on the chain says that there is an order
    if said:
        assert f"(p = {model.order_.pvalue:.2g})" in said[0] and f"({model.order_confidence_:.2f})" in said[0]
    curve = np.linspace(0, 2, 300)
    X = np.c_[np.cos(curve), np.sin(curve)] + 0.05 * np.random.default_rng(0).standard_normal((300, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X)


def test_beyond_fifty_clusters_there_are_no_links():
    X = np.arange(52.0)[:, None]
    order = StructuredClustering(structure="chain:51", kernel="linear", random_state=0).fit(X).order_
    assert order.confidence is order.pvalue is order.links is None


def test_noise_brings_one_warning_in_words():
    X = np.random.default_rng(0).standard_normal((120, 5))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = StructuredClustering(structure="ring:6", random_state=0).fit(X)
    assert len(said) == 1
    assert str(said[0].message).startswith("the order of these clusters on 'ring:6' is uncertain (confidence 0.")
    assert model.order_confidence_ < 0.5 and model.order_.pvalue > 0.05


def test_labels_of_every_cluster_leave_no_doubt():
    X, _ = on_a_line(5, each=12, noise=0.2)
    known = np.full(len(X), -1)
    known[::12] = [0, 3, 1, 4, 2]  # against the data
    model = StructuredClustering(structure="chain:5", random_state=0).fit(X, known)
    assert model.order_confidence_ == 1


def test_what_is_asked_for_is_true_or_false():
    with pytest.raises(TypeError, match="compute_confidence='no': give True or False"):
        StructuredClustering(compute_confidence="no").fit(np.eye(9))


@pytest.mark.parametrize("kernel", ["auto", "rbf"])
def test_separate_clusters_without_an_order_have_no_confident_order(kernel):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 40)
    corners = 5 * np.eye(6)[y] + rng.standard_normal((len(y), 6))
    line = np.c_[y, np.zeros((len(y), 5))] + 0.25 * rng.standard_normal((len(y), 6))
    said = []
    for X in (corners, line):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            said.append(StructuredClustering(structure="chain:6", kernel=kernel, random_state=0).fit(X).order_)
    assert said[0].confidence < 0.2 and said[0].pvalue > 0.05
    assert said[1].confidence > 0.9 and said[1].pvalue <= 0.05


def with_probabilities(table, **p):
    """Return a table with these probabilities; "flat" has the rest."""
    p["flat"] = 1 - sum(p.values())
    return replace(table, rows=tuple(row._replace(probability=p.get(row.name, 0.0)) for row in table))


def test_a_chain_may_be_a_ring_that_is_cut_and_no_other_structure():
    X, y = on_a_line(6)
    given = clusters_of(X, y, "chain:6")
    table = compare_structures(given)
    asked = [{"chain": 0.6}, {"chain": 0.2, "ring": 0.4}, {"chain": 0.2, "tree": 0.4}, {"chain": 0.2}]
    chain, ring, tree, less = (order_of(given, with_probabilities(table, **p), "chain").confidence for p in asked)
    assert_allclose(ring, chain)
    assert_allclose(tree, less)
    assert less < chain
    around = clusters_of(X, y, "ring:6")
    as_ring = [order_of(around, with_probabilities(table, **p), "ring").confidence for p in ({"chain": 0.6}, {})]
    assert_allclose(*as_ring)


def test_confidence_rises_with_the_probability_of_the_family_asked_for():
    X, y = on_a_line(6)
    given = clusters_of(X, y, "chain:6")
    table, found = compare_structures(given), []
    for p in (0.01, 0.5, 0.99):
        found.append(order_of(given, with_probabilities(table, chain=p), "chain"))
    confidence = [order.confidence for order in found]
    assert confidence == sorted(confidence) and len(set(confidence)) == 3
    odds = np.log(np.array(confidence) / (1 - np.array(confidence)))
    assert_allclose(odds[2] - odds[1], odds[1] - odds[0])  # linear in the log odds of the family
    assert len({order.fit for order in found}) == len({order.jitter for order in found}) == 1
