"""Commute kernels: placed and not refined, rings by a concave power, near ties settled by rbf, maps arranged by it."""

import itertools
import warnings

import numpy as np
import pytest
from flat_parameters import build
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from kernelclust import CLUHSIC, CLUHSICAL, Diffrac, DisKMeans, KernelKMeans, StructuredClustering, structured_hsic
from kernelclust.datasets import structured_blobs
from kernelclust.engine import FitConfig, Policy, Samples
from kernelclust.kernels import LowRankKernel, auto, fit_kernel, leading_spectrum
from kernelclust.metrics import structured_accuracy
from kernelclust.objectives import ClusterObjective, Dependence, flat_objective
from kernelclust.policies import AutoPolicy, policy_for
from kernelclust.policies import auto as policy
from kernelclust.policies.auto import alignment, rbf_clusters
from kernelclust.solvers import Advice, Greedy, Problem, Run, best_placement, greedy, placement_problem
from kernelclust.structures import as_structure


def fitted(data, structure, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return build(StructuredClustering, structure=structure, random_state=0, **settings).fit(data)


def months(each, seed=0):
    """Twelve places on a ring in six noisy columns."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(12), each)
    a = 2 * np.pi * y / 12
    clean = np.c_[np.cos(a - 0.5), np.cos(a), np.sin(a), np.cos(a - 1.2), np.cos(a - 0.8), np.sin(a + 0.3)]
    return clean + 0.13 * rng.standard_normal(clean.shape), y


# -- no refinement -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["auto", "graph", "precomputed_graph"])
@pytest.mark.parametrize("structure", ["chain:4", "ring:4", "tree:2x2"])
def test_clusters_of_commute_kernels_are_placed_and_left_alone(kernel, structure):
    data = np.random.default_rng(0).standard_normal((41, 3))
    if kernel == "precomputed_graph":
        data = np.exp(-cdist(data, data))
    model, flat = fitted(data, structure, kernel=kernel), fitted(data, "flat:4", kernel=kernel)
    placed = fitted(data, structure, kernel=kernel, search="place")
    assert_array_equal(model.labels_, placed.labels_)
    if structure.startswith("tree"):  # near ties on chains and rings are settled by rbf, if there is one
        assert adjusted_rand_score(flat.labels_, model.labels_) == 1
    assert fitted(data, structure, kernel=kernel, search="global").objective_ >= model.objective_ - 1e-9


def test_sweeps_of_few_samples_a_place_are_refined():
    data = np.random.default_rng(0).standard_normal((45, 3))
    for structure, refined in {"chain:4": False, "chain:5": True, "tree:(a,(b,(c,(d,e))))": False}.items():
        model, placed = fitted(data, structure), fitted(data, structure, search="place")
        assert (model.objective_ > placed.objective_) == refined, structure


def test_without_structure_other_norms_are_still_refined():
    data = np.random.default_rng(1).standard_normal((40, 3))
    model = fitted(data, "flat:3", kernel="graph", normalize=None)
    placed = fitted(data, "flat:3", kernel="graph", normalize=None, search="place")
    assert model.objective_ > placed.objective_


@pytest.mark.parametrize("kernel", ["rbf", "auto", "linear"])
def test_new_samples_of_placed_clusters_go_to_the_nearest_mean(kernel):
    data, _ = make_blobs(80, centers=5, n_features=3, cluster_std=1.5, random_state=2)
    flat = StructuredClustering(5, kernel=kernel, objective=Dependence(size_prior=0), random_state=0).fit(data)
    model = fitted(data, "tree:(a,(b,(c,(d,e))))", kernel=kernel, search="place", size_prior=0)
    assert adjusted_rand_score(flat.labels_, model.labels_) == 1
    new = data + 0.5
    assert adjusted_rand_score(flat.predict(new), model.predict(new)) == 1
    assert_array_equal(model.predict(data), model.labels_)


def test_what_is_known_is_kept_where_nothing_is_refined():
    blobs = structured_blobs("ring:4", n_samples=32, noise=0.4, random_state=0)
    known = np.where(np.arange(32) % 8 == 0, blobs.target, -1)
    sizes = np.array([10, 8, 8, 6])
    model = StructuredClustering(structure="ring:4", min_cluster_size=sizes, max_cluster_size=sizes, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(blobs.data, known, must_link=[(1, 2)], cannot_link=[(3, 30)])
    assert_array_equal(model.labels_[known >= 0], known[known >= 0])
    assert_array_equal(np.bincount(model.labels_), sizes)
    assert model.labels_[1] == model.labels_[2] and model.labels_[3] != model.labels_[30]


# -- rings -------------------------------------------------------------------------------------------------------------


def test_a_power_below_one_breaks_the_ties_of_resistances_in_series():
    place = np.array([0.0, 1.0, 2.5, 3.0, 7.0, 8.0])  # on a line: distances add up
    D = np.abs(place[:, None] - place)
    S = -D / 2  # |mu_i - mu_j|^2 = S_ii + S_jj - 2 S_ij
    ring = as_structure("ring:6")
    objective = Dependence(rho=0.0).bind(ring)
    orders = np.array(list(itertools.permutations(range(6))))
    scores = {}
    for power in (1.0, 0.9):
        problem = placement_problem("distance", objective, S, np.ones(6), power=power)
        by_definition = -(objective.A[orders[:, :, None], orders[:, None, :]] * D**power).sum(axis=(1, 2))
        assert_allclose(problem.scores(orders), by_definition)
        scores[power] = by_definition
        found = best_placement(problem)
        if power < 1:
            assert structured_accuracy(np.arange(6), found, ring) == 1

    def best(power):
        return np.sum(scores[power] > scores[power].max() - 1e-9)

    assert best(0.9) == 12  # one order, turned and turned over
    assert best(1.0) > 12
    ends = placement_problem("distance", objective, S, np.array([1, 1, 1, 0, 1, 1.0]), power=0.9)
    assert np.isfinite(ends.M).all()  # an empty cluster has no mean


def test_twelve_months_are_found_in_order():
    data, y = months(15)
    for kernel in ("auto", "graph"):
        labels = fitted(data, "ring:12", kernel=kernel).labels_
        assert structured_accuracy(y, labels, "ring:12") > 0.9


def test_structures_say_whether_they_close_and_whether_they_are_maps():
    closed = {"chain:4": False, "ring:4": True, "grid:2x2": False, "tree:2x2": False, "flat:4": False}
    assert {name: as_structure(name).is_cyclic for name in closed} == closed
    maps = {"grid:2x3": True, "grid:1x4": False, "chain:2*ring:4": True, "flat:2*chain:2": False, "ring:5": False}
    assert {name: as_structure(name).is_multidimensional for name in maps} == maps


# -- near ties ---------------------------------------------------------------------------------------------------------


def two_pairs(width, advice, tie=0.001):
    """Labels of the corners of a width x 1 rectangle in two clusters."""
    corners = np.array([[0, 0], [width, 0], [0, 1], [width, 1.0]])
    kernel = LowRankKernel(corners)
    flat = ClusterObjective(np.eye(2), np.eye(2), "l2")
    spectrum = leading_spectrum(kernel, 2, 1, np.random.RandomState(0))
    problem = Problem(kernel, spectrum, flat, flat, advice=None if advice is None else Advice(advice, None, tie))
    return Greedy().solve(problem, Run(), np.random.RandomState(0)).labels


def test_advice_settles_near_ties_and_nothing_else():
    sides, ends = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    for width in (1.0, 1.0002):
        for said in (sides, ends):
            assert adjusted_rand_score(said, two_pairs(width, said)) == 1
    assert adjusted_rand_score(ends, two_pairs(1.1, sides)) == 1  # the long sides are cut, whatever is said
    assert adjusted_rand_score(ends, two_pairs(1.1, None)) == 1
    assert adjusted_rand_score(sides, two_pairs(1.1, sides, tie=0.2)) == 1  # F is 1 against 1.21
    assert adjusted_rand_score(ends, two_pairs(1.1, sides, tie=0.17)) == 1


# -- maps --------------------------------------------------------------------------------------------------------------


def test_maps_are_arranged_refined_and_judged_by_rbf():
    blobs = structured_blobs("grid:2x3", n_samples=90, noise=0.4, random_state=0)
    model = fitted(blobs.data, "grid:2x3")
    assert structured_accuracy(blobs.target, model.labels_, "grid:2x3") > 0.9
    K = np.exp(-model.diagnostics_.gamma * cdist(blobs.data, blobs.data, "sqeuclidean"))
    assert_allclose(model.diagnostics_.gamma, fitted(blobs.data, "grid:2x3", kernel="rbf").diagnostics_.gamma)
    A = as_structure("grid:2x3").kernel + 2 * np.eye(6)
    assert_allclose(model.objective_, structured_hsic(K, model.labels_, A))
    assert model.objective_ <= model.upper_bound_
    assert np.mean(model.predict(blobs.data) == model.labels_) > 0.95
    own = fitted(blobs.data, "grid:2x3", kernel="graph")  # a kernel that was named stays
    assert own.diagnostics_.gamma is None


# -- trees -------------------------------------------------------------------------------------------------------------


def far_families(seed=0):
    """Two far families of three groups of unlike sizes."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0, 0], [0, 4], [4, 0], [60, 0], [60, 4], [64, 0]])
    y = np.repeat(np.arange(6), [40, 12, 8, 35, 10, 15])
    return centres[y] + 0.3 * rng.standard_normal((len(y), 2)), y


def test_a_tree_of_far_families_keeps_right_groups():
    data, y = far_families()
    for kernel in ("rbf", "auto"):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            model = StructuredClustering(structure="tree:2x3", kernel=kernel, random_state=0).fit(data)
        assert adjusted_rand_score(y, model.labels_) == 1
        assert len(set(model.labels_[y < 3] // 3)) == 1  # and families
        assert any("within clusters by more than a tenth" in str(one.message) for one in heard) == (kernel == "rbf")
    whole = fitted(data, "tree:2x3", kernel="rbf", search="global")
    assert whole.objective_ > fitted(data, "tree:2x3", kernel="rbf").objective_


def test_swelling_is_the_growth_of_the_spread_within_clusters():
    rng = np.random.default_rng(3)
    data, weight = rng.standard_normal((30, 4)), rng.uniform(0.5, 2, 30)
    kernel = LowRankKernel(data, weight)
    objective = Dependence(rho=2.0).bind(as_structure("chain:3"))
    problem = Problem(kernel, None, objective, flat_objective(objective))

    def solution(labels):
        return greedy.Solution(labels, 0.0, kernel.cluster_sums(labels, 3), 1, "converged")

    def within(labels):
        means = [np.average(data[labels == j], axis=0, weights=weight[labels == j]) for j in range(3)]
        return float(weight @ ((data - np.array(means)[labels]) ** 2).sum(axis=1))

    one, other = rng.integers(0, 3, 30), rng.integers(0, 3, 30)
    if within(one) > within(other):
        one, other = other, one
    expected = within(other) / within(one) - 1
    assert_allclose(greedy._swelling(problem, solution(one), solution(other)), expected)
    assert greedy._swelling(problem, solution(other), solution(one)) == 0
    exact = LowRankKernel(np.eye(3)[one], weight)  # nothing within clusters: any loss is infinite
    problem = Problem(exact, None, objective, flat_objective(objective))
    sums = [greedy.Solution(labels, 0.0, exact.cluster_sums(labels, 3), 1, "converged") for labels in (one, other)]
    assert greedy._swelling(problem, *sums) == np.inf
    assert greedy._swelling(problem, sums[0], sums[0]) == 0


def test_refining_goes_on_where_it_helps():
    data = structured_blobs("ring:5", n_samples=120, noise=0.7, random_state=0).data
    given = {"structure": "ring:5", "kernel": "rbf", "compute_confidence": False, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = StructuredClustering(**given).fit(data)
        placed = StructuredClustering(solver=Greedy(search="place"), **given).fit(data)
    assert model.objective_ > placed.objective_


# -- rbf beside the graphs ---------------------------------------------------------------------------------------------


def test_rbf_that_finds_other_clusters_is_named():
    data, _ = make_blobs(120, centers=3, n_features=8, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = StructuredClustering(3, random_state=0).fit(data)
    assert model.diagnostics_.rbf_agreement == pytest.approx(1)
    assert StructuredClustering(3, kernel="rbf", random_state=0).fit(data).diagnostics_.rbf_agreement is None
    moons, y = make_moons(200, noise=0.05, random_state=0)  # one best cut for rbf; circles have many
    with pytest.warns(UserWarning, match="Compare both"):
        model = StructuredClustering(2, random_state=0).fit(moons)
    assert adjusted_rand_score(y, model.labels_) == 1
    other = KernelKMeans(2, random_state=0).fit(moons).labels_
    assert model.diagnostics_.rbf_agreement == pytest.approx(alignment(other, model.labels_, np.ones(200)))


def test_rbf_clusters_count_weights_as_copies_in_any_order():
    data, _ = make_blobs(60, centers=4, n_features=3, random_state=1)
    rng, chain = np.random.default_rng(0), as_structure("chain:4")
    copies, order = rng.integers(1, 4, 60), rng.permutation(60)
    each = np.repeat(data, copies, axis=0)
    found = rbf_clusters(data, Samples(data, copies.astype(float)), 4)
    repeated = rbf_clusters(each, Samples(each, np.ones(copies.sum())), 4)
    turned = rbf_clusters(data[order], Samples(data[order], copies[order].astype(float)), 4)
    for labels in (lambda clusters: clusters.labels, lambda clusters: clusters.on(chain)):
        assert adjusted_rand_score(np.repeat(labels(found), copies), labels(repeated)) == 1
        assert adjusted_rand_score(labels(found)[order], labels(turned)) == 1


def test_rbf_clusters_on_a_structure_are_those_of_a_refined_fit():
    rng = np.random.default_rng(0)
    place = rng.uniform(0, 8, 240)
    wide = np.column_stack([place, np.sin(place / 2)]) + 0.5 * rng.standard_normal((240, 2))
    found = rbf_clusters(wide, Samples(wide, np.ones(240)), 8)
    refined, on_chain = fitted(wide, "chain:8", kernel="rbf").labels_, found.on(as_structure("chain:8"))
    assert adjusted_rand_score(on_chain, refined) > adjusted_rand_score(found.labels, refined)
    assert structured_accuracy(refined, on_chain, "chain:8") > 0.9


def test_presets_keep_rbf_and_commute_kernels_say_what_they_are():
    assert StructuredClustering().kernel == "auto"
    assert {one().kernel for one in (KernelKMeans, CLUHSIC, CLUHSICAL, Diffrac, DisKMeans)} == {"rbf"}
    data = np.random.default_rng(0).standard_normal((20, 4))
    for kernel in ("rbf", "linear", "diffusion", "graph", "auto"):
        made = fit_kernel(data, np.ones(20), kernel=kernel, n_clusters=3, rng=np.random.RandomState(0))
        commute = kernel in ("graph", "auto")
        assert made.supports_refinement is not commute and (made.ring_distance_exponent < 1) is commute
    assert isinstance(made.operator, LowRankKernel)


def test_the_size_prior_needs_three_views_that_disagree(monkeypatch):
    data, _ = make_blobs(60, centers=3, n_features=6, random_state=0)
    assert fitted(data, "flat:3").diagnostics_.size_prior == 0
    monkeypatch.setattr(auto, "MIN_VIEW_AGREEMENT", 2.0)  # the views are said to disagree
    assert fitted(data, "flat:3").diagnostics_.size_prior == policy.SIZE_PRIOR
    assert fitted(data[:, :3], "flat:3").diagnostics_.size_prior == 0


def tie_break(data, text, **settings):
    structure, weight = as_structure(text), np.ones(len(data))
    found = AutoPolicy(FitConfig(structure, **settings), Samples(data, weight))
    found.kernel = fit_kernel(
        data, weight, kernel="auto", n_clusters=structure.n_clusters, rng=np.random.RandomState(0)
    )
    return found.tie_break()


def test_rbf_settles_ties_of_chains_and_rings_with_more_than_a_few_samples_per_cluster():
    data, _ = months(12)
    for each in (10, 11):
        some = data[np.arange(144) % 12 < each]
        for samples in (some, np.repeat(some, 2, axis=0)):  # copies are no more samples
            advice = tie_break(samples, "ring:12")
            assert (advice is None) == (each == 10)
    found = rbf_clusters(samples - samples.mean(axis=0), Samples(samples, np.ones(264)), 12)
    assert_array_equal(advice.flat, found.labels)
    assert_array_equal(advice.structured(), found.on(as_structure("ring:12")))
    assert tie_break(data, "tree:3x4") is None and tie_break(data, "flat:12") is None
    assert tie_break(data, "chain:12").tie == policy.NEAR_TIE
    assert tie_break(data, "grid:3x4").structured is None  # rbf refines on grids itself
    assert tie_break(data, "chain:12", solver=Greedy(init=np.arange(144) % 12)) is None  # a start of the user


def test_a_kernel_that_the_user_chose_leaves_nothing_to_decide():
    data = np.random.default_rng(0).standard_normal((30, 3))
    assert {policy_for(kernel) for kernel in ("rbf", "graph", "precomputed", np.dot)} == {Policy}
    assert policy_for("auto") is AutoPolicy
    for structure in map(as_structure, ("grid:2x2", "ring:4")):
        settings = {"kernel": "graph"}
        assert Policy.arrangement_kernel(settings, structure) == settings
        expected = "rbf" if structure.is_multidimensional else "auto"
        assert AutoPolicy.arrangement_kernel({"kernel": "auto"}, structure) == {"kernel": expected}
        kernel = fit_kernel(data, np.ones(30), kernel="graph", n_clusters=4, rng=np.random.RandomState(0))
        plain = Policy(FitConfig(structure), Samples(data, np.ones(30)))
        plain.kernel = kernel
        assert (plain.size_prior(), plain.tie_break(), plain.diagnostics(np.zeros(30, dtype=int))) == (0.0, None, {})
        assert plain.solver(kernel).search == ("refine" if structure.is_multidimensional else "place")
