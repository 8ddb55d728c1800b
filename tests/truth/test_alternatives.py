"""Other arrangements are the best ones by enumeration, and questions ask what tells them apart."""

from itertools import combinations, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelclust import StructuredClustering
from kernelclust.engine import alternatives, doubtful
from kernelclust.objectives import Dependence
from kernelclust.solvers import different_placements, placement_margin, placement_problem
from kernelclust.structures import as_structure

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
STRUCTURES = ["chain:4", "ring:5", "grid:2x3", "tree:2x2", "flat:2*chain:2", "chain:6"]


def problem_of(structure, seed=0, **known):
    structure = as_structure(structure)
    c = structure.n_clusters
    phi = np.random.default_rng(seed).standard_normal((c, 3))
    n = np.random.default_rng(seed + 1).integers(5, 20, c).astype(float)
    objective = Dependence(rho=2.0).bind(structure)
    return structure, placement_problem("distance", objective, np.outer(n, n) * (phi @ phi.T), n, **known), n


def every_arrangement(structure, problem):
    """The best score of every class of equivalent placements, by enumeration, with its placements."""
    found = {}
    for p in permutations(range(structure.n_clusters)):
        p = np.array(p)
        found.setdefault(structure.kernel[np.ix_(p, p)].tobytes(), []).append(p)
    scores = {key: problem.scores(np.array(some)) for key, some in found.items()}
    return found, scores


@pytest.mark.parametrize("structure", STRUCTURES)
def test_against_enumeration(structure):
    structure, problem, n = problem_of(structure)
    classes, scores = every_arrangement(structure, problem)
    spread = np.concatenate(list(scores.values())).std()
    own = problem.scores(np.arange(len(n))[None])[0]
    expected = sorted(((one.max() - own) / spread for one in scores.values()), reverse=True)
    given = alternatives(problem, structure, n, 4)
    assert_array_equal(given[0].nodes, np.arange(len(n)))
    assert given[0].score == 0
    others = sorted(expected)[::-1]
    others.remove(min(others, key=abs))  # the present one, of score zero
    assert_allclose([one.score for one in given[1:]], others[: len(given) - 1], atol=1e-9)
    assert len(given) == min(4, len(classes))
    keys = {structure.kernel[np.ix_(one.nodes, one.nodes)].tobytes() for one in given}
    assert len(keys) == len(given)  # all different


@pytest.mark.parametrize("structure", STRUCTURES)
def test_arrangements_are_written_with_most_samples_in_place(structure):
    structure, problem, n = problem_of(structure, seed=3)
    classes, _ = every_arrangement(structure, problem)
    for one in alternatives(problem, structure, n, 5):
        stay = n[one.nodes == np.arange(len(n))].sum()
        same = classes[structure.kernel[np.ix_(one.nodes, one.nodes)].tobytes()]
        assert stay == max(n[p == np.arange(len(n))].sum() for p in same)


def test_the_second_is_the_margin_away():
    for structure in ("chain:4", "tree:2x2", "chain:9"):
        structure, problem, n = problem_of(structure)
        assert alternatives(problem, structure, n, 2)[1].score == -placement_margin(problem)


def test_known_places_stay():
    movable = np.array([False, True, True, True, False])
    structure, problem, n = problem_of("chain:5", movable=movable)
    for one in alternatives(problem, structure, n, 9):
        assert_array_equal(one.nodes[[0, 4]], [0, 4])
    assert len(alternatives(problem, structure, n, 9)) == 6
    assert different_placements(problem_of("chain:5", movable=np.arange(5) == 2)[1], 3) == []


def test_many_clusters_are_searched():
    """A chain of 12 that is shuffled: the best alternative undoes it."""
    structure = as_structure("chain:12")
    order = np.random.default_rng(0).permutation(12)
    phi = order[:, None].astype(float)
    problem = placement_problem("distance", Dependence(rho=0.0).bind(structure), phi @ phi.T, np.ones(12))
    best = alternatives(problem, structure, np.ones(12), 3)[1]
    assert best.score > 0
    placed = order[np.argsort(best.nodes)]  # value of the cluster at each place
    assert_array_equal(np.abs(np.diff(placed)), 1)


# -- questions ---------------------------------------------------------------------------------------------------------


def left_open(problem, structure, clusters):
    """Entropy of the arrangement when the places of these clusters are known, up to a symmetry: by enumeration."""
    c = structure.n_clusters
    symmetric = [
        np.array(q) for q in permutations(range(c)) if np.array_equal(structure.kernel[np.ix_(q, q)], structure.kernel)
    ]
    others = [(np.arange(c), 0.0), *different_placements(problem, 200)]
    weight = np.exp(np.array([score for _, score in others]) / 0.3)
    weight /= weight.sum()
    told = [min(tuple(q[p[list(clusters)]]) for q in symmetric) for p, _ in others]
    mass = {}
    for w, one in zip(weight, told, strict=True):
        mass[one] = mass.get(one, 0.0) + w
    return sum(m * np.log(m) for m in mass.values())


@pytest.mark.parametrize("structure", ["chain:5", "ring:5", "tree:2x2"])
def test_the_first_questions_leave_least_open(structure):
    for seed in range(3):
        structure, problem, n = problem_of(structure, seed)
        asked = doubtful(problem, n)
        assert sorted(asked) == list(range(len(n)))
        best = min(left_open(problem, structure, some) for some in combinations(range(len(n)), 3))
        assert left_open(problem, structure, asked[:3]) == pytest.approx(best, abs=1e-9)


def test_a_doubtful_pair_is_asked_about():
    """Clusters 3 and 4 of a chain may be exchanged; all others are far apart and sure."""
    place = np.array([0.0, 3.0, 6.0, 9.0, 9.1, 12.0, 15.0])
    phi = np.c_[place, [0, 0, 0, 1.0, -1.0, 0, 0]]
    structure = as_structure("chain:7")
    problem = placement_problem("distance", Dependence(rho=0.0).bind(structure), phi @ phi.T, np.ones(7))
    assert_array_equal(alternatives(problem, structure, np.ones(7), 2)[1].nodes, [0, 1, 2, 4, 3, 5, 6])
    assert set(doubtful(problem, np.ones(7))[:2]) & {3, 4}


def test_where_nothing_is_open_large_clusters_come_first():
    _, problem, _ = problem_of("flat:4")
    assert_array_equal(doubtful(problem, np.array([3.0, 9.0, 3.0, 12.0])), [3, 1, 0, 2])


def test_what_is_known_is_asked_last():
    movable = np.array([True, False, True, True, False])
    _, problem, n = problem_of("chain:5", movable=movable)
    assert set(doubtful(problem, n)[-2:]) == {1, 4}


def test_a_relabelled_problem_has_relabelled_questions():
    _, problem, n = problem_of("ring:6", seed=2)
    turn = (np.arange(6) + 2) % 6  # cluster j is called turn[j], which is a symmetry
    order = np.argsort(turn)
    other = type(problem)(problem.A, problem.M[np.ix_(order, order)], n[order], problem.movable, problem.linear)
    n = n + np.arange(6) / 100  # no ties
    assert_array_equal(np.sort(turn[doubtful(problem, n)[:3]]), np.sort(doubtful(other, n[order])[:3]))


def test_answers_settle_the_order():
    """A ring whose order is doubtful: with the places of the samples asked for it comes out right."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(6), 25)
    angle = truth * np.pi / 3
    X = np.c_[np.cos(angle), np.sin(angle), 3 * np.eye(6)[truth]] + 0.3 * rng.standard_normal((150, 8))
    model = StructuredClustering(structure="ring:6", random_state=0).fit(X)
    y = np.full(150, -1)
    asked = model.order_.queries(6)
    y[asked] = truth[asked]
    assert len(set(truth[asked])) == 6
    assert np.mean(model.fit(X, y).labels_ == truth) > 0.95
    assert not set(model.order_.queries(3)) & set(asked)
