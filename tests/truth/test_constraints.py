"""What is known is kept, always; what cannot be kept is found; and the search does not get worse for it."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kernelclust import KernelKMeans
from kernelclust.constraints import _feasibility, equal_rows, make_constraints, numbered
from kernelclust.constraints._repair import repair
from kernelclust.kernels import DenseKernel, LowRankKernel, leading_spectrum, one_hot
from kernelclust.objectives import ClusterObjective, Dependence
from kernelclust.solvers import (
    Greedy,
    best_placement,
    greedy,
    low_rank_sdp,
    nmf,
    placement_margin,
    placement_problem,
    polar,
    spectral,
)
from kernelclust.solvers._base import Problem, Run
from kernelclust.solvers._climb import climb
from kernelclust.structures import as_structure


def pairs(rng, m, k):
    return np.array([rng.choice(m, 2, replace=False) for _ in range(k)], dtype=int).reshape(-1, 2)


def side_information(rng, m, c, *, tiny=False):
    """Weights and random knowledge, feasible or not."""
    weight = np.ones(m) if rng.random() < 0.6 else rng.integers(1, 4, m).astype(float)
    known = {"labels": np.where(rng.random(m) < 0.25, rng.integers(0, c, m), -1) if rng.random() < 0.5 else None}
    known["must_link"] = pairs(rng, m, rng.integers(0, 3 if tiny else m // 5))
    known["cannot_link"] = pairs(rng, m, rng.integers(0, 2 + m // 2))
    total = int(weight.sum())
    known["min_size"] = float(rng.integers(0, total // c + 1)) if rng.random() < 0.4 else None
    known["max_size"] = float(rng.integers(total // c, total)) if rng.random() < 0.4 else None
    if rng.random() < 0.1:
        known["max_size"] = rng.integers(1, total, c).astype(float)
    return weight, known


def keeps(known, weight, labels, c):
    """Said once more, plainly."""
    y = known["labels"]
    n = np.bincount(labels, weight, minlength=c)
    low = 0.0 if known["min_size"] is None else known["min_size"]
    high = np.inf if known["max_size"] is None else known["max_size"]
    return (
        (y is None or all(labels[i] == y[i] for i in range(len(y)) if y[i] >= 0))
        and all(labels[i] == labels[j] for i, j in known["must_link"])
        and all(labels[i] != labels[j] for i, j in known["cannot_link"])
        and bool(np.all(n >= low - 1e-6) and np.all(n <= high + 1e-6))
    )


def feasible(seed, m, c, **options):
    """Random knowledge that some labeling keeps."""
    rng = np.random.default_rng(seed)
    while True:
        weight, known = side_information(rng, m, c, **options)
        try:
            constraints = make_constraints(weight, c, **known, allow_empty=True)
        except ValueError:
            continue
        if constraints is not None:
            return rng, weight, known, constraints


def an_objective(rng, c):
    structure = as_structure(["flat", "chain", "ring"][rng.integers(3)], c)
    loss, normalize = [(None, "l2"), (None, None), ("zero-one", "l1"), ("structure", "l2")][rng.integers(4)]
    return Dependence(loss=loss, normalize=normalize, rho=0.0).bind(structure)


def a_kernel(rng, weight, d=3):
    X = rng.standard_normal((len(weight), d))
    return (LowRankKernel(X, weight), X) if rng.random() < 0.5 else (DenseKernel(X @ X.T, weight), X)


def a_problem(kernel, objective, constraints=None, copies=None):
    c = objective.n_clusters
    spectrum = leading_spectrum(kernel, c + 7, c - 1, np.random.RandomState(0))
    flat = ClusterObjective(np.eye(c), np.eye(c), "l2")
    return Problem(kernel, spectrum, objective, flat, constraints, copies)


def value_of(kernel, objective, labels):
    c = objective.n_clusters
    return objective.value(kernel.cluster_sums(labels, c), np.bincount(labels, kernel.weight, minlength=c))


def all_labelings(m, c):
    return np.array(list(itertools.product(range(c), repeat=m)))


# -- what can be kept, and what cannot --------------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(4))
def test_a_contradiction_is_found_if_and_only_if_no_labeling_is_left(block):
    outcomes = []
    for seed in range(150 * block, 150 * (block + 1)):
        rng = np.random.default_rng(seed)
        c = int(rng.integers(2, 5))
        m = int(rng.integers(c + 1, {2: 9, 3: 8, 4: 7}[c]))
        weight, known = side_information(rng, m, c, tiny=True)
        possible = any(keeps(known, weight, labels, c) for labels in all_labelings(m, c))
        try:
            constraints = make_constraints(weight, c, **known, allow_empty=True)
        except ValueError:
            assert not possible, seed
        else:
            assert possible, seed
            assert constraints is None or keeps(known, weight, constraints.witness[constraints.block], c), seed
        outcomes.append(possible)
    assert 20 < sum(outcomes) < 140


def test_colouring_that_greed_cannot_find_is_found_exactly():
    """Wheels: an even rim needs 3 colours, an odd one 4, and no four samples are all parted from each other."""
    wheel = [(0, i) for i in range(1, 7)] + [(i, i % 6 + 1) for i in range(1, 7)]
    make_constraints(np.ones(7), 3, cannot_link=wheel)
    odd = [(0, i) for i in range(1, 6)] + [(i, i % 5 + 1) for i in range(1, 6)]  # an odd wheel needs 4 colours
    with pytest.raises(ValueError, match="leave no labeling with 3 clusters"):
        make_constraints(np.ones(6), 3, cannot_link=odd)
    make_constraints(np.ones(6), 4, cannot_link=odd)


def test_weights_that_do_not_add_up():
    weight = np.array([3.0, 3.0, 2.0, 2.0, 2.0])
    found = make_constraints(weight, 2, min_size=6, max_size=6)  # 3 + 3 | 2 + 2 + 2
    assert_array_equal(np.bincount(found.witness, weight), [6, 6])
    with pytest.raises(ValueError, match="cannot be met together"):
        make_constraints(np.array([4.0, 4.0, 4.0, 2.0, 2.0]), 3, min_size=5, max_size=6)


def named(match, m=6, c=3, **known):
    with pytest.raises(ValueError, match=match):
        make_constraints(np.ones(m), c, **known)


def test_contradictions_are_named():
    chain = [(0, 1), (1, 2), (4, 2)]
    named(
        r"cannot_link\[1\] = \[0, 4\], but must_link joins 0 - 1 - 2 - 4", must_link=chain, cannot_link=[(3, 5), (0, 4)]
    )
    named(
        "samples 0 and 4 are labelled 1 and 2, but must_link joins 0 - 1 - 2 - 4",
        must_link=chain,
        labels=[1, -1, -1, -1, 2, -1],
    )
    named(
        "samples 0 and 3 .* are labelled 1, but cannot_link separates them",
        cannot_link=[(0, 3)],
        labels=[1, -1, -1, 1, -1, -1],
    )
    named("min_cluster_size cannot be met: 3 clusters need 9 in all, the samples weigh 6", min_size=3)
    named("max_cluster_size cannot be met: 3 clusters hold 3 in all, the samples weigh 6", max_size=1)
    named("min_cluster_size=3 is above max_cluster_size=2", min_size=3, max_size=2)
    named("samples labelled 2 .* weigh 3", max_size=2, labels=[2, 2, 2, -1, -1, -1])
    named("must_link joins samples 0, 1, 2 of weight 3", max_size=2, must_link=[(0, 1), (1, 2)])
    four = list(itertools.combinations([0, 2, 3, 5], 2))
    named(r"cannot_link separates 4 samples from each other \(0, 2, 3, 5\), but there are 3 clusters", cannot_link=four)
    around = [(0, 1), (0, 2), (0, 3)]
    named("separates sample 0 from samples whose labels take all 3", cannot_link=around, labels=[-1, 0, 1, 2, -1, -1])
    named(
        "must_link joins the samples to 2 groups, fewer than the 3 clusters", must_link=[(0, 1), (1, 2), (3, 4), (4, 5)]
    )


# -- kept by every solver ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(4))
def test_no_climb_breaks_a_constraint(block):
    """A thousand random problems, from random starts; F only rises and is what it says; sums do not drift."""
    for seed in range(250 * block, 250 * (block + 1)):
        c, m = 2 + seed % 4, 10 + seed % 21
        rng, weight, known, constraints = feasible(seed, m, c)
        kernel, X = a_kernel(rng, weight)
        objective = an_objective(rng, c)
        start = repair(constraints, rng.integers(0, c, m), X)
        assert keeps(known, weight, start, c), seed
        assert constraints.kept_by(start)
        found = climb(kernel, objective, start, constraints=constraints, allow_empty=seed % 2 == 0)
        assert keeps(known, weight, found.labels, c), seed
        assert np.all(np.diff(found.history) >= -1e-9 * np.abs(found.history[:-1]))
        assert_allclose(found.value, value_of(kernel, objective, found.labels), rtol=1e-8, atol=1e-10)
        assert found.converged
        if kernel.factor is None:
            assert_allclose(found.warm_start_sums, (kernel @ one_hot(found.labels, c, weight)).T, atol=1e-8)


@pytest.mark.parametrize("search", ["refine", "global"])
@pytest.mark.parametrize("init", ["auto", "random"])
def test_greedy_keeps_everything(search, init, few_starts):
    for seed in range(12):
        c, m = 2 + seed % 3, 16 + 2 * seed
        rng, weight, known, constraints = feasible(seed, m, c)
        kernel, _ = a_kernel(rng, weight)
        problem = a_problem(kernel, an_objective(rng, c), constraints)
        found = Greedy(search=search, init=init, n_init=3).solve(problem, Run(), np.random.RandomState(0))
        assert keeps(known, weight, found.labels, c), seed


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("solver", [low_rank_sdp, spectral, polar, nmf])
def test_relaxations_keep_everything(solver, polish):
    for seed in range(8):
        c, m = 2 + seed % 3, 12 + seed
        rng, weight, known, constraints = feasible(seed, m, c)
        kernel, _ = a_kernel(rng, weight)
        objective = Dependence(rho=0.0).bind(as_structure(["flat", "ring"][seed % 2], c))
        problem = a_problem(kernel, objective, constraints)
        params = {"max_steps": 2} if solver in (low_rank_sdp, nmf) else {}
        found = solver.PART(polish=polish, **params).solve(problem, Run(), np.random.RandomState(0))
        assert keeps(known, weight, found.labels, c), seed


def test_the_relaxation_knows_the_labels():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(20) < 0.4, rng.integers(0, 3, 20), -1)
    X = rng.standard_normal((20, 2))
    constraints = make_constraints(np.ones(20), 3, labels=y)
    problem = a_problem(LowRankKernel(X), Dependence(rho=0.0).bind(as_structure("chain:3")), constraints)
    Y, relaxed = low_rank_sdp.LowRankSDP(rank=3).relax_factor(problem, np.random.RandomState(0))
    assert relaxed.stopped_because == "converged"
    for i in np.flatnonzero(y >= 0):
        others = np.delete(np.arange(3), y[i])
        assert not Y[i][:, others].any() and Y[i][:, y[i]].any()


def test_links_between_known_groups():
    """Every pair of two groups parted, none joined: dense links, and one more group than clusters is named."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 60)
    i, j = np.triu_indices(60, 1)
    apart = np.c_[i, j][group[i] != group[j]]
    kernel = LowRankKernel(rng.standard_normal((60, 2)))
    problem = a_problem(
        kernel, Dependence(rho=0.0).bind(as_structure("flat:4")), make_constraints(np.ones(60), 4, cannot_link=apart)
    )
    found = Greedy().solve(problem, Run(), np.random.RandomState(0)).labels
    assert len(set(zip(group.tolist(), found.tolist(), strict=True))) == 4
    with pytest.raises(ValueError, match="separates 4 samples from each other"):
        make_constraints(np.ones(60), 3, cannot_link=apart)


def test_a_large_set_is_searched_on_a_part_and_kept_whole(monkeypatch):
    """More samples than the starts are tried on."""
    monkeypatch.setattr(greedy, "MAX_SUBSAMPLE", 60)
    monkeypatch.setattr(greedy, "MAX_FINISH_ALL", 60)
    for seed in range(6):
        rng, weight, known, constraints = feasible(seed, 150, 3)
        kernel, _ = a_kernel(rng, weight)
        problem = a_problem(kernel, an_objective(rng, 3), constraints)
        found = Greedy(search="global", n_init=3).solve(problem, Run(), np.random.RandomState(0))
        assert keeps(known, weight, found.labels, 3), seed


# -- a good search ----------------------------------------------------------------------------------------------------


def test_the_constrained_optimum_is_reached():
    """Against every labeling that keeps everything."""
    tried = 0
    for seed in range(24):
        rng, weight, known, constraints = feasible(seed, 7, 3, tiny=True)
        kernel, _ = a_kernel(rng, weight)
        objective = Dependence(rho=0.0).bind(as_structure(["flat", "chain", "ring"][seed % 3], 3))
        allowed = [labels for labels in all_labelings(7, 3) if keeps(known, weight, labels, 3)]
        if len(allowed) < 2:
            continue
        best = max(value_of(kernel, objective, labels) for labels in allowed)
        problem = a_problem(kernel, objective, constraints)
        found = Greedy(search="global", allow_empty=True).solve(problem, Run(), np.random.RandomState(0))
        assert found.value >= best - 1e-9 * abs(best), (seed, found.value, best)
        tried += 1
    assert tried > 15


def test_sizes_that_fill_every_cluster_do_not_freeze_the_search():
    """No single move is allowed; swaps find the groups, from a start that has them wrong."""
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]], 20, axis=0) + rng.standard_normal((60, 2))
    constraints = make_constraints(np.ones(60), 3, min_size=20, max_size=20)
    found = climb(
        LowRankKernel(X), Dependence(rho=0.0).bind(as_structure("flat:3")), np.arange(60) % 3, constraints=constraints
    )
    assert_array_equal(found.labels.reshape(3, 20), found.labels[::20][:, None] * np.ones(20))


def test_where_swaps_are_needed_none_is_left():
    for seed in range(15):
        rng = np.random.default_rng(seed)
        kernel, _ = a_kernel(rng, np.ones(12))
        objective = an_objective(rng, 3)
        constraints = make_constraints(np.ones(12), 3, min_size=4, max_size=4)
        found = climb(kernel, objective, np.arange(12) % 3, constraints=constraints)
        for i, j in itertools.combinations(range(12), 2):
            swapped = found.labels.copy()
            swapped[[i, j]] = swapped[[j, i]]
            assert value_of(kernel, objective, swapped) <= found.value + 1e-8 * abs(found.value), seed


def test_cannot_links_do_not_freeze_the_search():
    """Two groups, every sample tied to one of the other: only exchanges of a pair can mend a start that is wrong."""
    rng = np.random.default_rng(1)
    X = np.r_[np.full(15, -4.0), np.full(15, 4.0)][:, None] + rng.standard_normal((30, 1))
    constraints = make_constraints(np.ones(30), 2, cannot_link=[(i, i + 15) for i in range(15)])
    start = np.arange(30) % 2
    start[15:] = 1 - start[:15]
    found = climb(
        DenseKernel(X @ X.T), Dependence(rho=0.0).bind(as_structure("flat:2")), start, constraints=constraints
    )
    assert_array_equal(found.labels, np.repeat(found.labels[[0, 15]], 15))


def test_where_it_ends_no_allowed_move_helps():
    for seed in range(20):
        rng, weight, known, constraints = feasible(seed, 14, 3)
        kernel, X = a_kernel(rng, weight)
        objective = an_objective(rng, 3)
        start = repair(constraints, rng.integers(0, 3, 14), X)
        found = climb(kernel, objective, start, constraints=constraints, allow_empty=True)
        for u in range(constraints.n_blocks):
            for b in range(3):
                moved = np.where(constraints.block == u, b, found.labels)
                if keeps(known, weight, moved, 3):
                    assert value_of(kernel, objective, moved) <= found.value + 1e-8 * abs(found.value), seed


# -- identities -------------------------------------------------------------------------------------------------------


def merged(kernel, constraints):
    """Blocks as samples: means of the kernel, sums of the weights."""
    mean = constraints.mean
    if kernel.factor is not None:
        return LowRankKernel(mean @ kernel.factor, constraints.weight)
    K = kernel.rows(np.arange(kernel.n_samples))
    return DenseKernel(np.asarray(mean @ np.asarray(mean @ K).T), constraints.weight)


@pytest.mark.parametrize("form", ["dense", "low_rank"])
def test_blocks_move_like_samples_of_the_merged_kernel(form):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, weight = rng.standard_normal((30, 3)), rng.integers(1, 4, 30).astype(float)
        kernel = LowRankKernel(X, weight) if form == "low_rank" else DenseKernel(X @ X.T, weight)
        objective = an_objective(rng, 4)
        constraints = make_constraints(weight, 4, must_link=pairs(rng, 30, 12))
        small = merged(kernel, constraints)
        start = np.arange(constraints.n_blocks) % 4
        blocks = climb(kernel, objective, start[constraints.block], constraints=constraints)
        samples = climb(small, objective, start)
        assert_array_equal(blocks.labels, samples.labels[constraints.block])
        assert_allclose(blocks.value, samples.value, rtol=1e-9)


def test_nothing_known_is_no_constraint():
    assert make_constraints(np.ones(5), 2, labels=[-1] * 5, must_link=[], cannot_link=np.empty((0, 2))) is None
    for seed in range(8):
        rng = np.random.default_rng(seed)
        kernel, _ = a_kernel(rng, np.ones(40))
        objective = an_objective(rng, 4)
        constraints = make_constraints(np.ones(40), 4, max_size=40)
        start = np.arange(40) % 4
        known, free = (climb(kernel, objective, start, constraints=one) for one in (constraints, None))
        assert_array_equal(known.labels, free.labels)


def test_weights_are_copies_that_must_be_together():
    for seed in range(10):
        rng, weight, known, _ = feasible(seed, 12, 3)
        weight = rng.integers(1, 4, 12).astype(float)
        known |= {"min_size": None, "max_size": weight.sum() - 2}
        X = rng.standard_normal((12, 2))
        copies = np.repeat(np.arange(12), weight.astype(int))
        first = np.searchsorted(copies, np.arange(12))
        y = known["labels"]
        repeated = {
            "labels": None if y is None else y[copies],
            "must_link": np.r_[first[known["must_link"]], np.c_[first[copies], np.arange(len(copies))]],
            "cannot_link": first[known["cannot_link"]],
            "max_size": known["max_size"],
        }
        objective = an_objective(rng, 3)
        try:
            weighted = make_constraints(weight, 3, **known, allow_empty=True)
        except ValueError:
            with pytest.raises(ValueError):
                make_constraints(np.ones(len(copies)), 3, **repeated, allow_empty=True)
            continue
        separate = make_constraints(np.ones(len(copies)), 3, **repeated, allow_empty=True)
        start = repair(weighted, np.arange(12) % 3, X)
        one = climb(LowRankKernel(X, weight), objective, start, constraints=weighted)
        other = climb(LowRankKernel(X[copies]), objective, start[copies], constraints=separate)
        assert_array_equal(one.labels[copies], other.labels)
        assert_allclose(one.value, other.value, rtol=1e-9)


def test_soft_labels_add_what_they_say():
    """F rises by t b / m for every label kept; t = 0 changes nothing; a large t keeps every label."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.where(rng.random(40) < 0.3, rng.integers(0, 3, 40), -1)
    objective = Dependence(rho=0.0).bind(as_structure("chain:3"))
    for t in (0.5, 100.0):
        for scale in (1.0, 1e4):
            constraints = make_constraints(np.ones(40), 3, labels=y, label_weight=t)
            problem = a_problem(DenseKernel(scale * X @ X.T), objective, constraints)
            found = Greedy().solve(problem, Run(), np.random.RandomState(0))
            F = value_of(problem.kernel, objective, found.labels)
            bound = objective.size_bound(problem.spectrum.bounds, np.full(3, 40 / 3))
            kept = np.sum(found.labels[y >= 0] == y[y >= 0])
            assert_allclose(found.value, F + t * bound / 40 * kept, rtol=1e-9)
            if scale == 1.0:
                before = found.labels
        assert_array_equal(found.labels, before)
    assert kept == np.sum(y >= 0)
    free = Greedy().solve(a_problem(DenseKernel(X @ X.T), objective), Run(), np.random.RandomState(0))
    nothing = make_constraints(np.ones(40), 3, labels=y, label_weight=0.0)
    zero = Greedy().solve(a_problem(DenseKernel(X @ X.T), objective, nothing), Run(), np.random.RandomState(0))
    assert_allclose(zero.value, free.value)


def test_soft_labels_turn_a_chain():
    """Both directions have the same F; what the labels add decides, by placement alone."""
    X = np.repeat(np.arange(4.0), 5)[:, None]
    place = np.repeat(np.arange(4), 5)
    objective = Dependence(rho=0.0).bind(as_structure("chain:4"))
    constraints = make_constraints(np.ones(20), 4, labels=np.where(place == 0, 0, -1), label_weight=0.01)

    def by_value(S, n, **known):
        return best_placement(placement_problem("F", objective, S, n, **known))

    found = climb(LowRankKernel(X), objective, 3 - place, placement=by_value, constraints=constraints)
    assert_array_equal(found.labels, place)
    assert_allclose(found.history[-1] - found.history[0], 0.05, rtol=1e-6)


# -- places -----------------------------------------------------------------------------------------------------------


def random_placing(seed, spec, loss=None, wished=False):
    rng = np.random.default_rng(seed)
    structure = as_structure(spec)
    c = structure.n_clusters
    objective = Dependence(loss=loss, normalize="l1" if loss else "l2", rho=0.0).bind(structure)
    Z = rng.standard_normal((c, c))
    movable = rng.random(c) < 0.6
    linear = 5 * rng.random((c, c)) if wished else None
    n = rng.integers(1, 9, c).astype(float)
    return placement_problem("F", objective, Z @ Z.T, n, movable=movable, linear=linear), objective, Z @ Z.T, n, linear


@pytest.mark.parametrize("wished", [False, True])
@pytest.mark.parametrize(
    ("spec", "loss"), [("flat:5", None), ("ring:6", None), ("chain:5", "structure"), ("grid:2x4", None)]
)
def test_clusters_of_known_places_stay_there(spec, loss, wished):
    for seed in range(8):
        problem, objective, S, n, linear = random_placing(seed, spec, loss, wished)
        c, free = len(n), np.flatnonzero(problem.movable)
        scores = {}
        for order in itertools.permutations(free):
            p = np.arange(c)
            p[free] = order
            at = np.argsort(p)
            wish = 0.0 if linear is None else linear[np.arange(c), p].sum()
            scores[tuple(p)] = objective.value(S[np.ix_(at, at)], n[at]) + wish
        found = best_placement(problem)
        assert_array_equal(found[~problem.movable], np.flatnonzero(~problem.movable))
        assert_allclose(scores[tuple(found)], max(scores.values()), rtol=1e-9)
        if spec.startswith("flat") or len(free) < 2:
            assert placement_margin(problem) == np.inf
            continue
        A = objective.A
        here = tuple(range(c))
        other = [s for p, s in scores.items() if not np.array_equal(A[np.ix_(p, p)], A)]
        if other and not loss:
            assert_allclose(
                placement_margin(problem), (scores[here] - max(other)) / np.std(list(scores.values())), rtol=1e-6
            )


def test_local_search_leaves_clusters_of_known_places():
    for seed in range(3):
        problem, *_ = random_placing(seed, "ring:14")
        problem.movable[:] = np.arange(14) > 2
        found = best_placement(problem)
        assert_array_equal(found[:3], [0, 1, 2])
        assert sorted(found) == list(range(14))
        assert np.isfinite(placement_margin(problem))


def test_local_search_hears_wishes():
    rng = np.random.default_rng(0)
    wanted = rng.permutation(12)
    linear = np.zeros((12, 12))
    linear[np.arange(12), wanted] = 1e3
    Z = rng.standard_normal((12, 12))
    objective = Dependence(rho=0.0).bind(as_structure("ring:12"))
    problem = placement_problem("F", objective, Z @ Z.T, np.ones(12), linear=linear)
    assert_array_equal(best_placement(problem), wanted)


def test_starts_are_numbered_as_the_labels_say():
    place = np.arange(30) % 5
    known = np.where(np.arange(30) < 20, place, -1)
    shuffled = np.array([3, 0, 4, 1, 2])[place]
    constraints = make_constraints(np.ones(30), 5, labels=known)
    assert_array_equal(numbered(constraints, shuffled, np.eye(5)[place]), place)
    sized = make_constraints(np.ones(30), 2, min_size=[10, 20], max_size=[10, 20])
    assert_array_equal(np.bincount(numbered(sized, np.repeat([0, 1], [20, 10]), np.eye(30))), [10, 20])
    whole = greedy._Part(LowRankKernel(np.eye(30)), np.eye(30), constraints)
    assert whole.at(np.arange(30)).constraints is constraints  # all samples: sizes are promises still
    assert not whole.at(np.arange(15)).constraints.strict


# -- copies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, lambda X: X.astype(np.float32)])
def test_equal_rows_are_found(kind):
    rng = np.random.default_rng(0)
    distinct = rng.standard_normal((50, 7)).astype(np.float32).astype(np.float64)
    which = rng.integers(0, 50, 400)
    found = equal_rows(kind(distinct[which]), 4, np.ones(400))
    for u in range(found.n_blocks):
        assert len(np.unique(which[found.block == u])) == 1
    assert found.n_blocks == len(np.unique(which))
    assert equal_rows(kind(distinct), 4, np.ones(50)) is None
    assert equal_rows(kind(np.ones((30, 2))), 4, np.ones(30)) is None
    assert equal_rows(kind(np.zeros((30, 2))), 4, np.ones(30)) is None


def test_copies_do_not_trap_the_search():
    """Many copies of few samples reach the F of the same samples with weights."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        distinct, weight = rng.standard_normal((25, 2)), rng.integers(5, 40, 25)
        copies = np.repeat(np.arange(25), weight)
        objective = Dependence(rho=0.0).bind(as_structure("flat:6"))
        weighted = a_problem(LowRankKernel(distinct, weight.astype(float)), objective)
        X = distinct[copies]
        repeated = a_problem(LowRankKernel(X), objective, copies=equal_rows(X, 6, np.ones(len(X))))
        one, other = (Greedy().solve(p, Run(), np.random.RandomState(0)) for p in (weighted, repeated))
        assert other.value >= one.value * (1 - 1e-9)


def test_hard_problems_are_given_up_in_words(monkeypatch):
    class Stopped:
        x, status = None, 1

    monkeypatch.setattr(_feasibility, "milp", lambda *args, **kwargs: Stopped())
    with pytest.raises(ValueError, match="none was ruled out"):
        make_constraints(np.array([4.0, 4.0, 4.0, 2.0, 2.0]), 3, min_size=5, max_size=6)


@pytest.mark.parametrize("seed", range(6))
def test_a_start_takes_the_numbers_that_labels_give(seed):
    """One start with the right clusters under other numbers, and no time to move them sample by sample."""
    truth = np.repeat(np.arange(4), 15)
    data = 20.0 * np.eye(4)[truth] + np.random.default_rng(0).standard_normal((60, 4))
    place = np.random.default_rng(seed).permutation(4)[truth]
    y = np.where(np.arange(60) % 15 == 0, place, -1)
    model = KernelKMeans(4, kernel="linear", init="spectral", max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert_array_equal(model.fit(data, y).labels_, place)
