"""Known labels say where clusters belong, together with the data: exact answers, symmetries, and what cannot happen."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelclust import StructuredClustering
from kernelclust.constraints import make_constraints, numbered
from kernelclust.constraints._label_evidence import NEAR, contradicted, label_evidence, mistaken, mistakes
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy, place_known, placement_problem
from kernelclust.solvers._placement import DISTANCE_ERROR, TAIL_DEGREES, temperature
from kernelclust.structures import as_structure

pytestmark = pytest.mark.filterwarnings("ignore:several arrangements:UserWarning")


def groups(means, sizes, spread, seed=0):
    """Samples around means (c, d), and their groups."""
    rng = np.random.default_rng(seed)
    at = np.repeat(np.arange(len(means)), sizes)
    return np.asarray(means, dtype=float)[at] + spread * rng.standard_normal((len(at), np.shape(means)[1])), at


def a_placement(E, labels, text, weight=None, rule="distance"):
    weight = np.ones(len(E)) if weight is None else weight
    objective = Dependence(rho=2.0).bind(as_structure(text))
    c = objective.n_clusters
    sums = np.array([(E * weight[:, None])[labels == j].sum(axis=0) for j in range(c)])
    n = np.bincount(labels, weight, minlength=c)
    return placement_problem(rule, objective, sums @ sums.T, n)


def known_at(m, c, weight=None, **labels):
    """Constraints for labels given as s12=3: sample 12 is at place 3."""
    y = np.full(m, -1)
    for name, place in labels.items():
        y[int(name[1:])] = place
    return make_constraints(np.ones(m) if weight is None else weight, c, labels=y)


def a_case(seed, text, *, weight=None):
    """Random clusters with random labels on a structure."""
    rng = np.random.default_rng(seed)
    c = as_structure(text).n_clusters
    E, at = groups(3 * rng.standard_normal((c, 3)), 6, 0.8, seed)
    y = np.where(rng.random(len(E)) < 0.2, rng.integers(0, c, len(E)), -1)
    y[0] = 0
    return E, at, make_constraints(np.ones(len(E)) if weight is None else weight, c, labels=y)


@pytest.mark.parametrize("text", ["chain:5", "ring:6", "grid:2x3", "tree:2x2", "flat:4"])
@pytest.mark.parametrize("rule", ["distance", "F"])
def test_the_best_of_all_placements_is_found(text, rule):
    """By enumeration, with the formula written out once more."""
    for seed in range(4):
        E, at, known = a_case(seed, text)
        problem = a_placement(E, at, text, rule=rule)
        L = label_evidence(known, at, E, problem.A)
        every = np.array(list(itertools.permutations(range(len(L)))))
        scores = problem.scores(every)
        t = temperature(problem, every[np.argmax(scores)])
        behind = (scores.max() - scores) / (TAIL_DEGREES * t)
        total = L[np.arange(len(L)), every].sum(axis=1) - TAIL_DEGREES * np.log(1 + behind)
        node = place_known(problem, known, at, E)
        own = total[np.flatnonzero((every == node).all(axis=1))[0]]
        assert own >= total.max() - 1e-9 * np.abs(total).max()


def test_probabilities_add_up():
    """Over all labels that a sample might have: 1 - e for the right place, e over the others."""
    for text in ("chain:5", "ring:4", "tree:2x3", "flat:3", "chain:2"):
        q = mistaken(as_structure(text).kernel)
        assert_allclose(q.sum(axis=1), 1)
        assert not np.diag(q).any()
    c = 5
    E, at = groups(np.arange(c)[:, None] * np.ones((1, 2)), 8, 0.3)
    each = [label_evidence(known_at(len(E), c, s3=place), at, E, as_structure("chain:5").kernel) for place in range(c)]
    assert_allclose(sum(np.exp(L[0]) for L in each), 1)  # sample 3 is of cluster 0
    assert all(not L[1:].any() for L in each)
    assert_allclose(mistaken(np.array(as_structure("chain:5").kernel))[2], [*_around(c)])


def _around(c):
    """Mistakes at place 2 of a chain: half of them to its two neighbours, the others to all."""
    away = np.full(c, (1 - NEAR) / (c - 1))
    away[[1, 3]] += NEAR / 2
    away[2] = 0
    return away


def test_labels_of_samples_between_clusters_say_less():
    E = np.array([[0.0], [0.2], [-0.2], [4.0], [4.2], [3.8], [0.1], [1.9]])
    at = np.array([0, 0, 0, 1, 1, 1, 0, 0])
    A = as_structure("chain:2").kernel
    said = [np.ptp(label_evidence(known_at(8, 2, **{f"s{i}": 0}), at, E, A)[0]) for i in (6, 7)]
    assert said[0] > 2 * said[1] > 0


def test_where_clusters_run_into_each_other_labels_say_less():
    A = as_structure("chain:3").kernel
    said = []
    for spread in (0.05, 0.4, 3.0):
        E, at = groups([[0.0, 0], [1, 0], [2, 0]], 30, spread)
        middle = int(np.argmin(((E[:30] - E[:30].mean(axis=0)) ** 2).sum(axis=1)))
        said.append(np.ptp(label_evidence(known_at(90, 3, **{f"s{middle}": 0}), at, E, A)))
    assert said[0] > said[1] > said[2] > 0


def test_evidence_counts_in_copies():
    """A labelled sample of weight three is three labelled samples; the order of samples does not matter."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        E, at, _ = a_case(seed, "ring:5")
        weight = rng.integers(1, 4, len(E)).astype(float)
        y = np.where(rng.random(len(E)) < 0.3, at, -1)
        A = as_structure("ring:5").kernel
        L = label_evidence(make_constraints(weight, 5, labels=y), at, E, A)
        copies = np.repeat(np.arange(len(E)), weight.astype(int))
        repeated = label_evidence(make_constraints(np.ones(len(copies)), 5, labels=y[copies]), at[copies], E[copies], A)
        assert_allclose(L, repeated, rtol=1e-9, atol=1e-12)
        order = rng.permutation(len(E))
        shuffled = label_evidence(make_constraints(weight[order], 5, labels=y[order]), at[order], E[order], A)
        assert_allclose(L, shuffled, rtol=1e-9, atol=1e-12)
        number = rng.permutation(5)  # clusters called otherwise
        assert_allclose(label_evidence(make_constraints(weight, 5, labels=y), number[at], E, A)[number], L, rtol=1e-9)


def test_units_of_the_features_do_not_matter():
    E, at, known = a_case(3, "chain:5")
    node = place_known(a_placement(E, at, "chain:5"), known, at, E)
    assert_array_equal(node, place_known(a_placement(1e-6 * E, at, "chain:5"), known, at, 1e-6 * E))
    small, large = (temperature(a_placement(unit * E, at, "chain:5"), np.arange(5)) for unit in (1.0, 10.0))
    assert_allclose(large, 100 * small)


def test_the_temperature_of_a_chain_of_equal_steps():
    """c - 1 links of squared length one, each seen from both ends."""
    for c in (2, 3, 6):
        E = np.arange(c, dtype=float)[:, None]
        problem = a_placement(E, np.arange(c), f"chain:{c}")
        assert_allclose(temperature(problem, np.arange(c)), DISTANCE_ERROR * np.sqrt(2 * (c - 1) / c))


def test_what_all_distances_share_does_not_count():
    """Groups far from each other in dimensions of their own: of 33 between neighbours counts what these save, the mean
    over other pairs, 3 x 4 + 2 x 9 + 16 over 6, less 1."""
    flat = np.c_[np.arange(5.0), np.zeros((5, 5))]
    apart = flat + np.c_[np.zeros(5), 4 * np.eye(5)]
    one, other = (temperature(a_placement(E, np.arange(5), "chain:5"), np.arange(5)) for E in (flat, apart))
    assert_allclose(other, (46 / 6 - 1) * one)
    even = temperature(a_placement(4 * np.eye(5), np.arange(5), "chain:5"), np.arange(5))
    assert 0 < even < 0.01 * other


def test_labels_that_clusters_can_bear_change_nothing_else():
    """Clusters are those found without labels, whatever else a search with them might find."""
    for seed in range(3):
        E, _ = groups(np.random.default_rng(seed).standard_normal((5, 8)), 12, 0.7, seed)
        model = StructuredClustering(
            structure="tree:(a,b,(c,d,e))", kernel="rbf", solver=Greedy(search="place"), random_state=0
        )
        alone = model.fit(E).labels_
        y = np.full(60, -1)
        y[7] = 3
        labels = model.fit(E, y).labels_
        assert labels[7] == 3
        rest = np.delete(np.arange(60), 7)
        assert len(set(zip(alone[rest].tolist(), labels[rest].tolist(), strict=True))) == 5


def test_labels_against_the_clusters_take_part_in_the_search():
    E, at = groups([[0.0, 0], [4, 0], [8, 0]], 20, 0.3)
    some = np.arange(60) % 3 == 0
    assert not contradicted(make_constraints(np.ones(60), 3, labels=np.where(some, (at + 1) % 3, -1)), at, E)
    assert contradicted(make_constraints(np.ones(60), 3, labels=np.where(some, np.arange(60) // 3 % 3, -1)), at, E)


@pytest.mark.parametrize("c", [6, 12])
def test_one_label_turns_a_ring_and_two_say_which_way_round(c):
    angle = 2 * np.pi * np.arange(c) / c
    E, at = groups(np.c_[np.cos(angle), np.sin(angle)] * c / 6, 8, 0.1)
    problem, ring = a_placement(E, at, f"ring:{c}"), np.arange(c)
    for shift in range(c):
        node = place_known(problem, known_at(8 * c, c, s16=shift), at, E)
        assert node[2] == shift
        assert_array_equal(np.sort(np.abs(np.diff(np.r_[node, node[0]])))[[0, -2]], [1, 1])
        node = place_known(problem, known_at(8 * c, c, s0=shift, s8=(shift - 1) % c), at, E)
        assert_array_equal(node, (shift - ring) % c)


def test_one_label_tells_the_ends_of_a_chain_apart():
    E, at = groups(np.c_[np.arange(9.0), np.zeros(9)], 8, 0.15)
    problem = a_placement(E, at, "chain:9")
    assert_array_equal(place_known(problem, known_at(72, 9, s0=0), at, E), np.arange(9))
    assert_array_equal(place_known(problem, known_at(72, 9, s0=8), at, E), np.arange(9)[::-1])


def test_a_contradicting_label_moves_its_sample_and_nothing_else():
    """A clear chain, every cluster labelled right, and one sample more that is labelled as another cluster."""
    E, at = groups(np.c_[np.arange(6.0), np.arange(6.0)], 10, 0.08)
    y = np.full(60, -1)
    y[::10] = at[::10]
    y[13] = 4
    model = StructuredClustering(
        structure="chain:6", kernel="linear", solver=Greedy(search="place"), random_state=0
    ).fit(E, y)
    expected = at.copy()
    expected[13] = 4
    assert_array_equal(model.labels_, expected)
    y[::10] = -1
    y[0] = 0
    assert_array_equal(model.fit(E, y).labels_, expected)


def test_labels_settle_what_the_data_leave_open_and_many_overrule_them():
    """Corners of a square on a chain: three orders tie but for rounding. And a clear chain, labelled otherwise."""
    E, at = groups([[0, 0], [1, 0], [1, 1], [0, 1]], 12, 0.05)
    problem = a_placement(E, at, "chain:4")
    for order in ([0, 1, 2, 3], [1, 2, 3, 0], [3, 0, 1, 2]):
        y = np.full(48, -1)
        y[::12] = order
        node = place_known(problem, make_constraints(np.ones(48), 4, labels=y), at, E)
        assert_array_equal(node, order)
    E, at = groups(np.c_[np.arange(4.0), np.zeros(4)], 30, 0.1)
    wrong = np.array([0, 2, 1, 3])
    y = np.where(np.arange(120) % 3 == 0, wrong[at], -1)
    problem = a_placement(E, at, "chain:4")
    assert_array_equal(place_known(problem, make_constraints(np.ones(120), 4, labels=y), at, E), wrong)


@pytest.mark.parametrize("search", ["refine", "place"])
def test_labels_of_typical_samples_keep_a_right_order_right(search):
    """Overlapping groups, where the sample nearest to a group's mean may well be of another cluster."""
    for seed in range(4):
        E, at = groups(np.c_[np.arange(5.0), np.zeros(5), np.zeros(5)], 14, 0.22, seed)
        model = StructuredClustering(structure="chain:5", kernel="linear", solver=Greedy(search=search), random_state=0)
        alone = model.fit(E).labels_
        y = np.full(70, -1)
        for j in range(5):
            here = np.flatnonzero(at == j)
            y[here[np.argmin(((E[here] - E[here].mean(axis=0)) ** 2).sum(axis=1))]] = j
        labels = model.fit(E, y).labels_
        assert_array_equal(labels[y >= 0], y[y >= 0])
        assert np.mean(labels == at) >= max(np.mean(alone == at), np.mean(4 - alone == at)) - 0.03


def test_soft_labels_are_evidence_as_far_as_they_are_trusted():
    E, at, _ = a_case(1, "chain:5")
    y = np.where(np.arange(len(E)) % 5 == 0, at, -1)
    A, weight = as_structure("chain:5").kernel, np.ones(len(E))
    hard = label_evidence(make_constraints(weight, 5, labels=y), at, E, A)
    for trust, share in ((0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (7.0, 1.0)):
        soft = make_constraints(weight, 5, labels=y, label_weight=trust)
        for one in (soft, soft.with_bonus_unit(0.01)):
            assert_allclose(label_evidence(one, at, E, A), share * hard)


def test_flat_starts_are_numbered_at_the_least_cost():
    """Of all numberings, by the sum of squared distances of labelled samples from the cluster of their label."""
    for seed in range(8):
        E, at, known = a_case(seed, "flat:4")
        y = known.seeds
        means = np.array([E[(at == j) & (y < 0)].mean(axis=0) for j in range(4)])
        given = np.flatnonzero(y >= 0)

        def cost(number, E=E, y=y, means=means, given=given):  # cluster j is called number[j]
            return ((E[given] - means[np.argsort(number)][y[given]]) ** 2).sum()

        found = numbered(known, at, E)[::6]
        least = min(cost(np.array(number)) for number in itertools.permutations(range(4)))
        assert_allclose(cost(found), least, rtol=1e-9)


def test_a_label_that_is_given_twice_to_one_cluster_goes_to_the_next():
    """Two samples of one cluster of a row have different labels: the cluster beside it gets the other number."""
    E, at = groups(np.c_[np.arange(5.0), np.zeros(5)], 8, 0.05)
    E[1] += [0.1, 0]
    found = numbered(known_at(40, 5, s0=3, s1=2), at, E)[::8]
    assert set(found[:2].tolist()) == {2, 3} and found[0] == 3


def test_where_there_is_nothing_to_tell_apart():
    """Equal samples, a single cluster, clusters without samples: no division by zero, and labels still count."""
    A = as_structure("chain:3").kernel
    E, at = np.zeros((9, 2)), np.repeat([0, 1, 2], 3)
    known = known_at(9, 3, s0=2)
    assert np.isfinite(label_evidence(known, at, E, A)).all()
    assert np.isfinite(temperature(a_placement(E, at, "chain:3"), np.arange(3)))
    assert place_known(a_placement(E, at, "chain:3"), known, at, E).shape == (3,)
    assert not label_evidence(known, np.zeros(9, dtype=int), E, A).any()  # one cluster holds all: nothing is said
    all_known = make_constraints(np.ones(9), 3, labels=at)
    assert np.isfinite(label_evidence(all_known, at, np.arange(9.0)[:, None], A)).all()


@pytest.mark.parametrize("spread", [0.1, 0.2, 0.3, 0.4])
def test_rates_of_mistakes_are_about_right(spread):
    """Of round groups on a line: as many samples are nearest to another group's mean as the rates add up to."""
    E, at = groups(np.c_[np.arange(5.0), np.zeros((5, 2))], 200, spread)
    known = make_constraints(np.ones(1000), 5, labels=at)
    _, _, near, e = mistakes(known, at, E)
    assert abs(e.mean() - np.mean(near != at)) < 0.03


@pytest.mark.parametrize("spread", [0.1, 0.2, 0.3, 0.4])
def test_small_clusters_have_the_mistakes_of_their_neighbours(spread):
    """Groups of different sizes: what spills over from a large one is much where little is."""
    E, at = groups(np.c_[np.arange(5.0), np.zeros((5, 2))], [50, 400, 100, 250, 200], spread)
    _, _, near, e = mistakes(make_constraints(np.ones(1000), 5, labels=at), at, E)
    said = np.bincount(near, e) / np.bincount(near)
    true = np.bincount(near, near != at) / np.bincount(near)
    assert np.abs(said - true).max() < 0.12
    assert said[[0, 2]].min() > said[[1, 3, 4]].max() or spread == 0.1


@pytest.mark.parametrize("text", ["flat:3", "chain:3", "tree:(a,(b,c))"])
def test_no_label_is_evidence_against_its_own_place(text):
    """However little a cluster weighs, and however unclear it is."""
    for spread, tiny in itertools.product((0.1, 1.0, 10.0), (1.0, 1e-3, 1e-9, 1e-300)):
        E, at = groups(np.c_[np.arange(3.0), np.zeros(3)], 20, spread)
        weight = np.where(at == 1, tiny, 1.0)
        for place in range(3):
            L = label_evidence(known_at(60, 3, weight, s25=place), at, E, as_structure(text).kernel)
            said = L[np.flatnonzero(L.any(axis=1))[0]]
            assert np.isfinite(L).all()
            assert said[place] > np.delete(said, place).max()
