"""Placements against all of them, and against exact dynamic programming where there are too many."""

from itertools import combinations, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelclust.objectives import Dependence
from kernelclust.solvers import _loops, best_placement, placement_margin, placement_problem
from kernelclust.solvers import _placement as placement
from kernelclust.solvers._placement_loops import cycle_rise, fill_pull, neighbours, search
from kernelclust.structures import as_structure


def sums(c, seed):
    X = np.random.default_rng(seed).standard_normal((c, c))
    return X @ X.T, np.random.default_rng(seed).integers(1, 9, c).astype(float)


def scores_of_all(rule, objective, S, n):
    """Score of every placement from the definition: rearrange (S, n) and evaluate."""
    c = len(n)
    out = {}
    for node in permutations(range(c)):
        order = np.argsort(node)
        placed_S, placed_n = S[np.ix_(order, order)], n[order]
        if rule == "F":
            out[node] = objective.value(placed_S, placed_n)
        else:
            mean = placed_S / np.outer(placed_n, placed_n)
            distance = np.diag(mean)[:, None] + np.diag(mean) - 2 * mean
            out[node] = -(objective.A * distance).sum()
    return out


def place(node, S, n):
    order = np.argsort(node)
    return S[np.ix_(order, order)], n[order]


@pytest.mark.parametrize("exhaustive", [8, 0])
@pytest.mark.parametrize("loss", [None, "structure"])
@pytest.mark.parametrize("rule", ["distance", "F"])
@pytest.mark.parametrize("spec", ["chain:5", "ring:5", "tree:(a,(b,(c,(d,e))))", "grid:2x3"])
def test_the_best_of_all_placements_is_found(spec, rule, loss, exhaustive, monkeypatch):
    monkeypatch.setattr(placement, "MAX_EXHAUSTIVE", exhaustive)  # 0: by local search
    structure = as_structure(spec)
    objective = Dependence(loss=loss, rho=0.0).bind(structure)
    for seed in range(3):
        S, n = sums(structure.n_clusters, seed)
        every = scores_of_all(rule, objective, S, n)
        found = best_placement(placement_problem(rule, objective, S, n))
        assert_allclose(every[tuple(found)], max(every.values()), rtol=1e-9)


@pytest.mark.parametrize("exhaustive", [8, 0])
@pytest.mark.parametrize("rule", ["distance", "F"])
@pytest.mark.parametrize("spec", ["chain:5", "ring:5", "tree:2x2"])
def test_the_margin_is_its_definition(spec, rule, exhaustive, monkeypatch):
    monkeypatch.setattr(placement, "MAX_EXHAUSTIVE", exhaustive)
    structure = as_structure(spec)
    objective, A = Dependence(rho=0.0).bind(structure), structure.kernel
    for seed in range(3):
        S, n = sums(structure.n_clusters, seed)
        S, n = place(best_placement(placement_problem(rule, objective, S, n)), S, n)
        every = scores_of_all(rule, objective, S, n)
        different = [value for node, value in every.items() if not np.array_equal(A[np.ix_(node, node)], A)]
        expected = (max(every.values()) - max(different)) / np.std(list(every.values()))
        found = placement_margin(placement_problem(rule, objective, S, n))
        assert_allclose(found, expected, rtol=1e-6 if exhaustive else 0.1)
        assert found > 0


def test_a_wrong_arrangement_has_a_negative_margin_and_a_flat_one_an_infinite_margin():
    S, n = sums(5, 0)
    objective = Dependence(rho=0.0).bind(as_structure("chain:5"))
    S, n = place(best_placement(placement_problem("distance", objective, S, n)), S, n)
    wrong = place([1, 0, 2, 3, 4], S, n)
    assert placement_margin(placement_problem("distance", objective, *wrong)) < 0
    for spec in ("flat:5", "ring:3"):
        structure = as_structure(spec)
        problem = placement_problem("distance", Dependence(rho=0.0).bind(structure), *sums(structure.n_clusters, 0))
        assert placement_margin(problem) == np.inf
        assert best_placement(problem).tolist() == list(range(structure.n_clusters))


def test_tied_arrangements_have_no_margin():
    objective = Dependence(rho=0.0).bind(as_structure("chain:4"))
    problem = placement_problem("distance", objective, np.eye(4), np.ones(4))  # all means equally far apart
    assert placement_margin(problem) == pytest.approx(0, abs=1e-9)


def best_path(M, closed):
    """Largest sum of M over neighbours on a path or cycle through all nodes, by Held and Karp."""
    c = len(M)
    best = {(1 << k, k): 0.0 for k in range(c)} if not closed else {(1, 0): 0.0}
    for _ in range(c - 1):
        longer = {}
        for (used, end), value in best.items():
            for k in range(c):
                if not used >> k & 1:
                    key = (used | 1 << k, k)
                    longer[key] = max(longer.get(key, -np.inf), value + M[end, k])
        best = longer
    return max(value + (M[end, 0] if closed else 0.0) for (_, end), value in best.items())


@pytest.mark.parametrize("spec", ["chain:10", "ring:10"])
def test_local_search_reaches_the_exact_optimum_of_ten_clusters(spec):
    structure = as_structure(spec)
    objective = Dependence(rho=0.0).bind(structure)
    for seed in range(8):
        S, n = sums(10, seed)
        problem = placement_problem("distance", objective, S, n)
        found = best_placement(problem)
        score = (structure.kernel[np.ix_(found, found)] * problem.M).sum()
        diagonal = 2 * np.trace(problem.M)
        assert_allclose(score, diagonal + 2 * best_path(problem.M, spec.startswith("ring")), rtol=1e-9)


def test_many_clusters_in_order_are_found_in_order():
    position = np.random.default_rng(0).permutation(40).astype(float)
    S = -0.5 * (position[:, None] - position) ** 2
    H = np.eye(40) - 1 / 40
    problem = placement_problem("distance", Dependence(rho=0.0).bind(as_structure("chain:40")), H @ S @ H, np.ones(40))
    found = best_placement(problem)
    assert found.tolist() in (position.astype(int).tolist(), (39 - position).astype(int).tolist())


def one_move_away(c):
    """Every placement one exchange, reversal or insertion from the identity, as a set."""
    found = set()
    for i in range(c):
        for j in range(c):
            p = list(range(c))
            p[i], p[j] = j, i
            found.add(tuple(p))
            rest = [*range(i), *range(i + 1, c)]
            found.add(tuple(np.argsort([*rest[:j], i, *rest[j:]])))
            if i < j:
                found.add((*range(i), *range(j, i - 1, -1), *range(j + 1, c)))
    return found - {tuple(range(c))}


@pytest.mark.parametrize("c", [4, 9])
def test_neighbours_are_all_placements_one_move_away_best_first(c):
    """Their scores, which the search counts in c steps each, are those of the definition."""
    rng = np.random.default_rng(c)
    A, M, linear = (rng.standard_normal((c, c)) for _ in range(3))
    A, M = A + A.T, M + M.T
    found = neighbours(np.ones(c, dtype=bool), A, M, linear)
    assert {tuple(p) for p in found} == one_move_away(c)
    scores = np.array([(A[np.ix_(p, p)] * M).sum() + linear[np.arange(c), p].sum() for p in found])
    assert_allclose(scores, -np.sort(-scores), rtol=0, atol=1e-9)
    assert_allclose(neighbours(np.ones(c, dtype=bool), A, M, linear, 3), found[:3])
    held = neighbours(np.arange(c) > 0, A, M, linear)
    assert len(held) == (c - 1) * (c - 2) / 2 and (held[:, 0] == 0).all()


@pytest.mark.parametrize("c", [12, 33])
def test_no_placement_one_move_away_from_an_optimum_is_better(c):
    rng = np.random.default_rng(c)
    A, M, linear = (rng.standard_normal((c, c)) for _ in range(3))
    A, M = A + A.T, M + M.T
    starts = np.array([rng.permutation(c) for _ in range(3)])
    for start, p in zip(starts, search(starts, np.ones(c, dtype=bool), A, M, linear, 1e-9), strict=True):
        every = np.array([p, start, *(np.array(q)[p] for q in one_move_away(c))])
        scores = [(A[np.ix_(q, q)] * M).sum() + linear[np.arange(c), q].sum() for q in every]
        assert max(scores) <= scores[0] + 1e-8
        assert scores[0] > scores[1]


@pytest.mark.parametrize(("spec", "drawn", "held"), [("grid:3x4", 0, 0), ("ring:12", 1, 0), ("chain:12", 0, 1)])
def test_no_cycle_of_three_adds_to_an_optimum_unless_clusters_are_free_on_a_chain_or_ring(spec, drawn, held):
    rng, A = np.random.default_rng(1), as_structure(spec).kernel
    c = len(A)
    for _ in range(4):
        M, linear = rng.standard_normal((c, c)), drawn * rng.standard_normal((c, c))
        M = M + M.T
        movable = np.arange(c) >= held
        for p in search(np.array([rng.permutation(c) for _ in range(3)]), movable, A, M, linear, 1e-9):
            score = (A[np.ix_(p, p)] * M).sum() + linear[np.arange(c), p].sum()
            for i, j, k in permutations(np.flatnonzero(movable), 3):
                q = p.copy()
                q[[i, j, k]] = p[[j, k, i]]
                assert (A[np.ix_(q, q)] * M).sum() + linear[np.arange(c), q].sum() <= score + 1e-8


def test_what_a_cycle_of_three_adds_is_the_difference_of_scores():
    rng, c = np.random.default_rng(0), 7
    A, M, linear = (rng.standard_normal((c, c)) for _ in range(3))
    A, M, p, pull = A + A.T, M + M.T, rng.permutation(c), np.empty((c, c))
    for node in range(c):
        fill_pull.py_func(pull, node, p, A, M)
    before, *after = [p, *(p.copy() for _ in range(6))]
    cycles = [tuple(rng.permutation(c)[:3]) for _ in after]
    for q, (i, x, y) in zip(after, cycles, strict=True):
        q[[i, x, y]] = p[[x, y, i]]
    scores = [(A[np.ix_(q, q)] * M).sum() + linear[np.arange(c), q].sum() for q in (before, *after)]
    found = [cycle_rise.py_func(p, *cycle, pull, A, M, linear) for cycle in cycles]
    assert_allclose(found, np.array(scores[1:]) - scores[0])


@pytest.mark.parametrize("normalize", [None, "l1", "l2"])
def test_scores_under_a_loss_are_the_objective(normalize):
    """Compare scores of placements with the objective, and the tangent with differences of scores."""
    objective = Dependence(loss="structure", normalize=normalize, rho=1.0).bind(as_structure("chain:7"))
    S, n = sums(7, 0)
    linear = np.random.default_rng(1).random((7, 7))
    problem = placement_problem("F", objective, S, n, linear=linear)
    p, free = np.random.default_rng(2).permutation(7), np.array([0, 2, 3, 6])
    swapped = exchanged(p, free)
    assert len(swapped) == 6 and all((one != p).sum() == 2 for one in swapped)
    expected = [objective.value(*place(q, S, n)) + linear[np.arange(7), q].sum() for q in swapped]
    assert_allclose(problem.scores(swapped), expected)
    small = placement_problem("F", objective, S, n + 1e8, linear=linear)  # sizes hardly change with places here
    A, M, L = small.tangent(p)
    quadratic = [(A[np.ix_(q, q)] * M).sum() + L[np.arange(7), q].sum() for q in (p, *swapped)]
    assert_allclose(np.diff(quadratic), np.diff(small.scores(np.vstack([p, swapped]))), rtol=1e-5)


def exchanged(p, free):
    swapped = []
    for i, j in combinations(free, 2):
        swapped.append(p.copy())
        swapped[-1][[i, j]] = p[[j, i]]
    return np.array(swapped)


@pytest.mark.parametrize("structure", ["chain:9", "ring:9", "tree:3x3", "flat:9"])
@pytest.mark.parametrize("normalize", [None, "l1", "l2"])
@pytest.mark.parametrize("loss", ["structure", "zero-one"])
def test_no_exchange_raises_F_under_a_loss(structure, normalize, loss):
    objective = Dependence(loss=loss, normalize=normalize, rho=1.0).bind(as_structure(structure))
    S, n = sums(9, 3)
    for seed, free in enumerate([np.arange(9), np.array([0, 2, 3, 6])]):
        rng = np.random.default_rng(seed)
        movable = np.isin(np.arange(9), free)
        problem = placement_problem("F", objective, S, n, linear=rng.random((9, 9)), movable=movable)
        start = np.arange(9)
        start[free] = rng.permutation(free)
        p = placement._by_exchanges(problem, start[None])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(placement, "improve_under_loss", _loops.improve_under_loss.py_func)
            assert (placement._by_exchanges(problem, start[None]) == p).all()
        best, first, noise = problem.scores(p)[0], problem.scores(start[None])[0], problem.noise
        assert first < best or normalize is None or structure == "flat:9"
        assert problem.scores(exchanged(p[0], free)).max() <= best + 2 * noise
        assert (p[0] == start)[~movable].all()


def test_ties_go_to_the_first_and_the_present_one():
    objective = Dependence(rho=0.0).bind(as_structure("chain:4"))
    for n in (np.ones(4), np.full(4, 0.1)):
        assert best_placement(placement_problem("F", objective, np.eye(4), n)).tolist() == [0, 1, 2, 3]


def test_the_search_ends_where_rounding_made_scores_uneven():
    """Scores that differ between (j, k) and (k, j) let moves gain round and round."""
    rng = np.random.default_rng(0)
    A = np.kron(np.eye(2), [[2.0, 1, 0], [1, 2, 1], [0, 1, 2]])
    for _ in range(50):
        M = -rng.integers(0, 4, (6, 6)) * 1.0
        starts = np.array([rng.permutation(6) for _ in range(4)])
        found = search(starts, np.ones(6, dtype=bool), A, M, np.zeros((6, 6)), 1e-12 * np.abs(M).sum())
        scores = [(A[np.ix_(p, p)] * M).sum() for p in (*starts, *found)]
        assert np.all(np.array(scores[4:]) >= scores[:4])
