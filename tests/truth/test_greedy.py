"""The compiled climb is its plain twin, only climbs, keeps its running sums right, and stops."""

import itertools
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from kernelclust import CLUHSIC, KernelKMeans, StructuredClustering
from kernelclust.kernels import RBF, DenseKernel, LowRankKernel, one_hot
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy, _loops, _running, best_placement, greedy, placement_problem
from kernelclust.solvers import _starts as starts
from kernelclust.solvers._climb import climb
from kernelclust.structures import as_structure

LOSSES = [{}, {"loss": "structure"}, {"loss": "structure", "rescale": "margin", "C": 0.3}]
OBJECTIVES = [
    (spec, {**loss, "normalize": normalize})
    for spec in ("flat:4", "chain:4", "tree:(a,(b,(c,d)))")
    for loss in LOSSES
    for normalize in (None, "l1", "l2")
]


def problem(seed, form, weighted=True, m=25, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d))
    weight = rng.integers(1, 4, m).astype(float) if weighted else np.ones(m)
    kernel = LowRankKernel(X, weight) if form == "low_rank" else DenseKernel(X @ X.T, weight)
    return kernel, rng.permutation(np.arange(m) % 4)


def value_of(kernel, objective, labels):
    c = objective.n_clusters
    return objective.value(kernel.cluster_sums(labels, c), np.bincount(labels, kernel.weight, minlength=c))


@pytest.mark.parametrize("form", ["dense", "low_rank"])
@pytest.mark.parametrize(("spec", "terms"), OBJECTIVES)
def test_one_visit_takes_the_best_of_all_moves(spec, terms, form):
    """Sweep by sweep against moving every sample to every cluster and computing F from scratch."""
    objective = Dependence(**terms, rho=0.0).bind(as_structure(spec))
    kernel, labels = problem(0, form, m=12)
    expected = labels.copy()
    for i in range(len(labels)):
        if np.sum(expected == expected[i]) == 1:
            continue
        values = []
        for b in range(4):
            moved = expected.copy()
            moved[i] = b
            values.append(value_of(kernel, objective, moved))
        if max(values) > values[expected[i]] + 1e-9 * abs(values[expected[i]]):
            expected[i] = int(np.argmax(values))
    found = climb(kernel, objective, labels, max_iter=1)
    assert_array_equal(found.labels, expected)
    assert_allclose(found.value, value_of(kernel, objective, expected), rtol=1e-9)


@pytest.mark.parametrize("form", ["dense", "low_rank"])
@pytest.mark.parametrize(("spec", "terms"), OBJECTIVES)
def test_climbing_never_falls_and_ends_where_no_move_helps(spec, terms, form):
    objective = Dependence(**terms, rho=0.0).bind(as_structure(spec))
    kernel, labels = problem(1, form)
    found = climb(kernel, objective, labels)
    assert found.converged and found.stopped_because == "converged"
    assert np.all(np.diff(found.history) >= -1e-9 * np.abs(found.history[:-1]))
    assert_allclose(found.value, value_of(kernel, objective, found.labels), rtol=1e-9)
    assert_array_equal(climb(kernel, objective, found.labels).labels, found.labels)
    for i in range(0, len(labels), 5):
        if np.sum(found.labels == found.labels[i]) == 1:
            continue
        for b in range(4):
            moved = found.labels.copy()
            moved[i] = b
            assert value_of(kernel, objective, moved) <= found.value + 1e-8 * abs(found.value)


@pytest.mark.parametrize("form", ["dense", "low_rank"])
@pytest.mark.parametrize(("spec", "terms"), OBJECTIVES)
def test_compiled_sweeps_are_the_plain_sweeps(spec, terms, form, monkeypatch):
    objective = Dependence(**terms, rho=0.0).bind(as_structure(spec))
    kernel, labels = problem(2, form)
    fast = climb(kernel, objective, labels)
    twins = {name: part.py_func for name, part in vars(_loops).items() if hasattr(part, "py_func")}
    for name, twin in twins.items():
        monkeypatch.setattr(_loops, name, twin)
    monkeypatch.setattr(_running, "sweep", twins["sweep"])
    plain = climb(kernel, objective, labels)
    assert_array_equal(fast.labels, plain.labels)
    assert_allclose(fast.history, plain.history, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_running_sums_do_not_drift(dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    kernel = DenseKernel((X @ X.T).astype(dtype))
    objective = Dependence(rho=0.0).bind(as_structure("ring:6"))
    found = climb(kernel, objective, rng.integers(0, 6, 400))
    assert_allclose(found.warm_start_sums, kernel.label_sums(found.labels, 6), atol=1e-8)
    assert_allclose(found.cluster_sums, kernel.cluster_sums(found.labels, 6), atol=1e-7)


def test_an_earlier_climb_can_be_continued():
    kernel, labels = problem(3, "dense")
    objective = Dependence(rho=2.0).bind(as_structure("chain:4"))
    flat = climb(kernel, Dependence(rho=0.0).bind(as_structure("flat:4")), labels)
    again = climb(kernel, objective, flat.labels)
    going_on = climb(kernel, objective, flat.labels, warm_start_sums=flat.warm_start_sums)
    assert_array_equal(again.labels, going_on.labels)


def test_dense_and_low_rank_climb_alike():
    for seed in range(5):
        objective = Dependence(loss="structure", normalize="l1", rho=0.0).bind(as_structure("ring:4"))
        dense, labels = problem(seed, "dense")
        low, _ = problem(seed, "low_rank")
        assert_array_equal(climb(dense, objective, labels).labels, climb(low, objective, labels).labels)


@pytest.mark.parametrize("weighted", [False, True])
def test_swapped_labels_halve_one_cluster_and_merge_two_most_promising_first(weighted):
    """Against the squares within clusters from their definition, and the best halves by enumeration on a line."""
    rng = np.random.default_rng(0)
    E = np.repeat([0.0, 2.0, 9.0, 20.0, 40.0, 46.0, 43.0], 5)[:, None] + 0.3 * rng.standard_normal((35, 1))
    weight = rng.integers(1, 4, 35).astype(float) if weighted else np.ones(35)
    labels = np.repeat([0, 0, 1, 1, 2, 2, 3], 5)

    def within(labels):
        parts = [(E[labels == j, 0], weight[labels == j]) for j in range(4)]
        return sum(w @ (x - np.average(x, weights=w)) ** 2 for x, w in parts)

    found = list(starts.swapped(E, weight, labels, 4))
    falls = [within(labels) - within(one) for one in found]
    assert len(found) == 4 and falls == sorted(falls, reverse=True)
    best = found[0]  # 9 and 20 are two, 40 to 46 are one
    assert adjusted_rand_score(best, np.repeat([0, 0, 1, 2, 3, 3, 3], 5)) == 1
    cut = [np.where(E[10:20, 0] < x, 1, 4) for x in E[10:20, 0]]
    halved = np.where(labels == 3, 2, labels)
    options = [np.r_[halved[:10], np.where(side == 4, 3, 1), halved[20:]] for side in cut if len(set(side)) == 2]
    assert_allclose(within(best), min(within(one) for one in options))


@pytest.mark.parametrize("c", [3, 4, 100])
def test_swapped_labels_merge_the_two_clusters_that_lose_least_in_memory_of_c_squared(c):
    """Against every pair; a table of what each halved cluster costs with each pair would have c^3 / 2 entries."""
    rng = np.random.default_rng(c)
    m = 4 * c
    E, weight, labels = rng.standard_normal((m, 3)), rng.random(m) + 0.5, rng.permutation(m) % c
    groups = [labels == j for j in range(c)]
    n = np.array([weight[group].sum() for group in groups])
    means = [np.average(E[group], axis=0, weights=weight[group]) for group in groups]
    lost = {
        (i, j): n[i] * n[j] / (n[i] + n[j]) * ((means[i] - means[j]) ** 2).sum()
        for i, j in itertools.combinations(range(c), 2)
    }
    cheapest = [min((pair for pair in lost if h not in pair), key=lost.get) for h in range(c)]
    tracemalloc.start()
    found = list(starts.swapped(E, weight, labels, c))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == c and peak < 2e6
    halved = set()
    for changed in found:
        (h,) = (h for h in range(c) if len(set(changed[groups[h]])) == 2)
        i, j = cheapest[h]
        assert (changed[groups[i]] == i).all() and (changed[groups[j]] == i).all()
        assert set(changed[groups[h]]) == {h, j}
        halved.add(h)
    assert halved == set(range(c))


def test_a_cluster_moves_to_where_it_is_needed():
    """Two clusters in one far group, one for two others: no move of a single sample mends it, a swap does."""
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [10.0, 0.0], [100.0, 0.0], [60.0, 80.0]], 20, axis=0) + rng.standard_normal((80, 2))
    kernel, objective = LowRankKernel(X), Dependence(rho=0.0).bind(as_structure("flat:4"))
    wrong = np.repeat([0, 0, 1, 3], 20)
    wrong[40:60] = np.where(X[40:60, 1] > 0, 1, 2)
    stuck = climb(kernel, objective, wrong)
    truth = np.repeat(np.arange(4), 20)
    assert adjusted_rand_score(stuck.labels, truth) < 0.8
    climber = greedy._Climber(objective, {"tol": 1e-6, "max_iter": 100, "allow_empty": False}, greedy._numbered)
    found = greedy._swap(greedy._Part(kernel, kernel.factor), climber, stuck, greedy.MAX_SWAPS)
    assert adjusted_rand_score(found.labels, truth) == 1 and found.value > stuck.value


def all_labelings(m, c):
    return [np.array(labels) for labels in itertools.product(range(c), repeat=m) if len(set(labels)) == c]


@pytest.mark.parametrize("spec", ["flat:3", "chain:3"])
@pytest.mark.parametrize("normalize", ["l1", "l2"])
def test_size_prior_is_its_definition_and_climbs_to_the_best(spec, normalize):
    rng = np.random.default_rng(3)
    B = rng.standard_normal((7, 3))
    weight = rng.uniform(0.5, 2, 7)
    kernel = DenseKernel(B @ B.T, weight)
    K = B - weight @ B / weight.sum()
    K = K @ K.T
    structure = as_structure(spec)
    objective = Dependence(normalize=normalize, size_prior=0.7, rho=0.0).bind(structure)

    def by_definition(labels):
        Pi = np.eye(3)[labels] * weight[:, None]
        n = Pi.sum(axis=0) + 0.7 * weight.sum() / 3
        P = Pi / (np.sqrt(n) if normalize == "l2" else n)
        return np.trace(K @ P @ structure.kernel @ P.T)

    values = []
    for labels in all_labelings(7, 3):
        values.append(by_definition(labels))
        assert_allclose(value_of(kernel, objective, labels), values[-1], rtol=1e-9, atol=1e-12)
    for form in (kernel, LowRankKernel(B, weight)):
        found = [climb(form, objective, labels) for labels in all_labelings(7, 3)[::7]]
        assert all(np.all(np.diff(one.history) >= -1e-12) for one in found)
        assert_allclose(max(one.value for one in found), max(values), rtol=1e-9)
        assert_allclose([one.value for one in found], [by_definition(one.labels) for one in found], rtol=1e-9)
    n = np.bincount(found[0].labels, weight, minlength=3)
    eigenvalues = np.sort(np.linalg.eigvalsh(np.sqrt(np.outer(weight, weight)) * K))[::-1]
    assert objective.size_bound(eigenvalues, n) >= found[0].value - 1e-9
    assert objective.upper_bound(eigenvalues, weight.sum(), weight.min()) >= max(values) - 1e-9


def test_size_prior_gives_no_cluster_to_a_lone_sample():
    X = np.r_[np.zeros(30), np.ones(30), 7.0][:, None] + 0.01 * np.random.default_rng(0).standard_normal((61, 1))
    lone = StructuredClustering(2, kernel="linear", random_state=0).fit(X)
    even = StructuredClustering(2, kernel="linear", objective=Dependence(size_prior=1.0), random_state=0).fit(X)
    assert sorted(lone.sizes_) == [1, 60]
    assert sorted(even.sizes_) == [30, 31]


def test_place_keeps_the_flat_clusters_and_gives_them_the_best_places():
    moved = 0
    for seed in range(5):
        X = np.random.default_rng(seed).standard_normal((60, 2))
        flat = KernelKMeans(5, random_state=0).fit(X)
        placed, refined = (
            StructuredClustering(kernel="rbf", structure="chain:5", solver=Greedy(search=search), random_state=0).fit(X)
            for search in ("place", "refine")
        )
        assert adjusted_rand_score(flat.labels_, placed.labels_) == 1
        objective = Dependence(rho=2.0).bind(placed.structure_)
        K = rbf_kernel(X, gamma=placed.diagnostics_.gamma)
        kernel = DenseKernel(K)
        assert_allclose(placed.objective_, value_of(kernel, objective, placed.labels_), rtol=1e-9)
        assert refined.objective_ >= placed.objective_ - 1e-9
        moved += refined.objective_ > placed.objective_ * (1 + 1e-9)
        means = np.array([[np.mean(K[np.ix_(placed.labels_ == a, placed.labels_ == b)]) for b in range(5)]
                          for a in range(5)])  # fmt: skip
        apart = np.diag(means)[:, None] + np.diag(means) - 2 * means
        lengths = [sum(apart[p[j], p[j + 1]] for j in range(4)) for p in itertools.permutations(range(5))]
        assert_allclose(sum(apart[j, j + 1] for j in range(4)), min(lengths), rtol=1e-9)
    assert moved > 0


def test_ties_keep_the_label():
    kernel = DenseKernel(np.ones((12, 12)))
    labels = np.arange(12) % 3
    found = climb(kernel, Dependence(rho=0.0).bind(as_structure("chain:3")), labels)
    assert_array_equal(found.labels, labels)
    assert found.n_iter == 1


def test_clusters_stay_non_empty_unless_allowed():
    X = np.array([[0.0], [0.0], [0.0], [10.0]])
    kernel = DenseKernel(X @ X.T)
    objective = Dependence(normalize=None, rho=0.0).bind(as_structure("chain:3"))
    assert len(np.unique(climb(kernel, objective, np.array([0, 1, 2, 0])).labels)) == 3
    free = climb(kernel, objective, np.array([0, 1, 2, 0]), allow_empty=True)
    assert len(np.unique(free.labels)) == 2
    assert_allclose(free.value, value_of(kernel, objective, free.labels))


def test_max_iter_is_said():
    kernel, labels = problem(4, "dense", m=200)
    found = climb(kernel, Dependence(rho=0.0).bind(as_structure("flat:4")), labels, max_iter=1)
    assert not found.converged and found.stopped_because == "max_iter" and found.n_iter == 1


# -- starts -----------------------------------------------------------------------------------------------------------


def test_spectral_starts_find_blocks():
    from kernelclust.kernels import leading_spectrum

    labels = np.repeat(np.arange(5), [4, 7, 5, 6, 8])
    K = (labels[:, None] == labels) + 0.01
    spectrum = leading_spectrum(DenseKernel(K), 8, 4, np.random.RandomState(0))
    found = starts.spectral_start(spectrum, 5)
    assert len(np.unique(found)) == 5
    assert len(np.unique(np.c_[labels, found], axis=0)) == 5


def test_projected_starts_know_the_structure():
    """Blocks whose similarity is the chain come out in chain order without any placement."""
    from kernelclust.kernels import leading_spectrum

    structure = as_structure("chain:4")
    labels = np.repeat(np.arange(4), 10)
    K = structure.kernel[np.ix_(labels, labels)]
    spectrum = leading_spectrum(DenseKernel(K), 6, 3, np.random.RandomState(0))
    hits = 0
    for seed in range(20):
        found = starts.projected_start(spectrum, structure.kernel, np.random.RandomState(seed))
        hits += any(np.array_equal(found, order[labels]) for order in (np.arange(4), np.arange(4)[::-1]))
    assert hits >= 2  # a quarter of the sign choices is right


def test_empty_clusters_are_filled_with_far_samples():
    E = np.array([[0.0], [0.1], [0.2], [9.0]])
    filled = starts.fill_empty(np.zeros(4, dtype=int), E, 2)
    assert_array_equal(filled, [0, 0, 0, 1])
    assert_array_equal(np.unique(starts.fill_empty(np.zeros(4, dtype=int), 0 * E, 4)), np.arange(4))


@pytest.mark.filterwarnings("ignore:the order of these clusters")
@pytest.mark.parametrize("init", ["auto", "spectral", "projected", "k-means++", "random"])
@pytest.mark.parametrize("search", ["refine", "global"])
def test_every_start_and_search_reaches_separated_blobs(init, search):
    X, y = make_blobs(150, centers=[[0, 0], [6, 0], [12, 0], [18, 0]], random_state=0)
    model = StructuredClustering(
        kernel=RBF(gamma=0.02), structure="chain:4", solver=Greedy(search=search, init=init), random_state=0
    ).fit(X)
    order = model.labels_[[np.flatnonzero(y == k)[0] for k in range(4)]]
    assert order.tolist() in ([0, 1, 2, 3], [3, 2, 1, 0])
    assert np.mean(order[y] == model.labels_) == 1


def test_given_labels_are_a_start_and_their_places_are_kept_in_a_global_search():
    X, y = make_blobs(120, centers=[[0, 0], [6, 0], [12, 0]], random_state=0)
    for search in ("refine", "global"):
        model = StructuredClustering(
            kernel=RBF(gamma=0.02), structure="chain:3", solver=Greedy(search=search, init=y)
        ).fit(X)
        assert model.labels_.tolist() in (y.tolist(), (2 - y).tolist())


def test_alternating_with_placement_stops_when_neither_helps():
    """From a start in the wrong places: the placement is taken once, F rises, and then nothing moves."""
    labels = np.repeat(np.arange(4), 10)
    structure = as_structure("chain:4")
    kernel, objective = DenseKernel(structure.kernel[np.ix_(labels, labels)]), Dependence(rho=0.0).bind(structure)
    wrong = np.array([2, 0, 3, 1])[labels]

    def by_value(S, n):
        return best_placement(placement_problem("F", objective, S, n))

    stuck = climb(kernel, objective, wrong)
    found = climb(kernel, objective, wrong, placement=by_value)
    assert_array_equal(stuck.labels, wrong)  # no single sample wants to move
    assert found.converged and found.n_iter <= 3
    assert found.value > stuck.value
    assert found.labels.tolist() in (labels.tolist(), (3 - labels).tolist())
    assert_allclose(found.warm_start_sums, (kernel @ one_hot(found.labels, 4, kernel.weight)).T, atol=1e-9)


def algorithm_1(K, A, labels, normalize):
    """CLUHSIC as printed: every sample in turn where tr(K P A P') is largest, again until none moves."""

    def dependence(labels):
        P = np.eye(len(A))[labels]
        P = P / np.sqrt(np.maximum(P.sum(axis=0), 1)) if normalize else P
        return np.trace(K @ P @ A @ P.T)

    labels, before = labels.copy(), None
    while not np.array_equal(labels, before):
        before = labels.copy()
        for i in range(len(labels)):
            tried = np.tile(labels, (len(A), 1))
            tried[:, i] = np.arange(len(A))
            values = np.array([dependence(one) for one in tried])
            if values.max() > values[labels[i]] + 1e-9:
                labels = tried[np.argmax(values)]
    return labels


@pytest.mark.parametrize("normalize", ["l2", None])
def test_without_placement_cluhsic_is_algorithm_1_of_its_paper(normalize):
    A = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 2.5]])  # no two places are alike: labels are unique
    different = 0
    for seed in range(4):
        rng = np.random.RandomState(seed)
        K = rbf_kernel(rng.standard_normal((14, 2)))
        start = rng.permutation(np.arange(14) % 3)
        greedy = Greedy(search="global", init=start, allow_empty=True)
        settings = {"structure": A, "kernel": "precomputed", "solver": greedy, "compute_confidence": False}
        alone = Dependence(normalize=normalize, rho=0, placement=None)
        found = StructuredClustering(objective=alone, **settings).fit(K)
        model = CLUHSIC(normalize=normalize, **settings)
        centred = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
        assert_array_equal(found.labels_, algorithm_1(centred, A, start, normalize))
        different += not np.array_equal(model.fit_predict(K), found.labels_)
    assert different  # placement is more than point moves


def test_point_moves_alone_leave_whole_clusters_in_wrong_places():
    labels = np.repeat(np.arange(4), 10)
    K = as_structure("chain:4").kernel[np.ix_(labels, labels)]
    wrong = np.array([2, 0, 3, 1])[labels]
    model = StructuredClustering(
        structure="chain:4",
        kernel="precomputed",
        objective=Dependence(rho=0),
        solver=Greedy(search="global", init=wrong),
        compute_confidence=False,
    )
    stuck, placed = (clone(model).set_params(objective__placement=rule).fit(K) for rule in (None, "F"))
    assert stuck.labels_.tolist() in (wrong.tolist(), (3 - wrong).tolist())
    assert placed.labels_.tolist() in (labels.tolist(), (3 - labels).tolist())
    assert placed.objective_ > stuck.objective_ and stuck.order_.margin < 0 < placed.order_.margin


def test_no_placement_with_a_search_that_places_is_refused():
    with pytest.raises(ValueError, match="search='global'"):
        StructuredClustering(structure="chain:3", objective=Dependence(placement=None)).fit(np.arange(9.0)[:, None])


@pytest.mark.parametrize("solver", ["greedy", "spectral"])
def test_known_labels_are_kept_without_placement(solver):
    X, y = make_blobs(60, centers=[[0, 0], [6, 0], [12, 0]], random_state=0)
    known = np.where(np.arange(60) < 12, y, -1)
    alone = {"objective": Dependence(rho=0, placement=None), "kernel": RBF(gamma=0.02), "compute_confidence": False}
    solver = Greedy(search="global", init="spectral") if solver == "greedy" else solver
    model = StructuredClustering(structure="chain:3", solver=solver, random_state=0, **alone).fit(X, known)
    assert_array_equal(model.labels_, y)


def test_a_sweep_that_brings_nothing_ends_the_search():
    """Gains of rounding, beside weights of many sizes, went to and fro until max_iter."""
    rng = np.random.default_rng(6)
    X, weight = rng.standard_normal((8, 1)), 10 ** rng.uniform(-5, 5, 8)
    model = KernelKMeans(6, kernel="linear", max_cluster_size=1.2 * weight.max(), init="random", n_init=1)
    history = model.set_params(random_state=0).fit(X, sample_weight=weight).diagnostics_.history
    assert np.all(np.diff(history) > 0)
