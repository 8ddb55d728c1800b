"""Every kernel operator is climbed alike: as the matrix that it stands for, whatever rows are fetched when."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelclust import _names
from kernelclust.constraints import equal_rows, make_constraints
from kernelclust.constraints._repair import repair
from kernelclust.kernels import operators
from kernelclust.kernels.operators import DenseKernel, KernelOperator, LowRankKernel, one_hot
from kernelclust.objectives import Dependence
from kernelclust.solvers import (
    _climb,
    _exchange,
    _loops,
    _running,
    best_placement,
    placement_problem,
)
from kernelclust.solvers._climb import climb
from kernelclust.solvers._running import Members
from kernelclust.structures import as_structure

OPERATORS = _names.names(operators)
OBJECTIVES = {
    "flat": {},
    "chain": {"rho": 1.0},
    "ring": {"loss": "structure", "normalize": "l1"},
    "prior": {"size_prior": 0.5},
}
KNOWN = ["nothing", "labels", "links", "sizes", "both", "copies", "soft"]
m, c = 36, 4


def an_operator(name, seed, weighted):
    rng = np.random.RandomState(seed)
    weight = rng.randint(1, 4, m).astype(float) if weighted else np.ones(m)
    return _names.load(operators, name).example(rng, weight)[0]


def as_matrix(kernel):
    return DenseKernel(kernel.rows(np.arange(kernel.n_samples)), kernel.weight, center=False)


def an_objective(kind):
    spec = {"prior": "flat"}.get(kind, kind)
    return Dependence(**{"rho": 0.0} | OBJECTIVES[kind]).bind(as_structure(spec, c))


def side_information(kind, weight, seed):
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(m).reshape(-1, 2)
    heavy = weight.sum() / c
    known = {
        "labels": {"labels": np.where(rng.random(m) < 0.2, rng.integers(0, c, m), -1)},
        "links": {"must_link": pairs[:6], "cannot_link": pairs[6:14]},
        "sizes": {"min_size": heavy - 2, "max_size": heavy + 2},
        "both": {"must_link": pairs[:4], "cannot_link": pairs[4:9], "max_size": heavy + 4},
        "soft": {"labels": np.where(rng.random(m) < 0.3, rng.integers(0, c, m), -1), "label_weight": 0.1},
    }
    if kind == "nothing":
        return None
    if kind == "copies":
        return equal_rows(np.repeat(rng.standard_normal((m // 2, 2)), 2, axis=0), c, weight)
    return make_constraints(weight, c, **known[kind])


def a_start(kernel, constraints, seed):
    labels = np.random.default_rng(seed).permutation(np.arange(m) % c)
    if constraints is None:
        return labels
    return repair(constraints, labels, np.random.default_rng(seed).standard_normal((m, 2)))


def in_parts(step):
    """`row_blocks` of so many rows."""
    return lambda rows, columns: [slice(i, min(i + step, rows)) for i in range(0, rows, step)]


def assert_same(one, other):
    assert_array_equal(one.labels, other.labels)
    assert_allclose(one.history, other.history, rtol=1e-8, atol=1e-10)
    assert one.n_iter == other.n_iter and one.stopped_because == other.stopped_because
    assert_allclose(one.cluster_sums, other.cluster_sums, atol=1e-8)


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_is_climbed_as_its_matrix(name, known):
    """Single precision may differ by rounding; what is compared here is computed in double precision."""
    for seed, kind in enumerate(OBJECTIVES):
        for weighted in (False, True):
            kernel, objective = an_operator(name, seed, weighted), an_objective(kind)
            constraints = side_information(known, kernel.weight, seed)
            start = a_start(kernel, constraints, seed)
            found = climb(kernel, objective, start, constraints=constraints)
            assert_same(found, climb(as_matrix(kernel), objective, start, constraints=constraints))
            assert constraints is None or constraints.kept_by(found.labels)
            S, n = kernel.cluster_sums(found.labels, c), np.bincount(found.labels, kernel.weight, minlength=c)
            gain = 0.0 if constraints is None else constraints.gain(found.labels)
            assert_allclose(found.value, objective.value(S, n) + gain, rtol=1e-8, atol=1e-10)
            G = kernel @ one_hot(found.labels, c, kernel.weight)
            if kernel.factor is None:
                assert_allclose(found.warm_start_sums, G.T, atol=1e-8)
            else:
                assert_allclose(kernel.factor @ found.warm_start_sums.T, G, atol=1e-8)
            again = climb(
                kernel, objective, found.labels, warm_start_sums=found.warm_start_sums.copy(), constraints=constraints
            )
            assert_array_equal(again.labels, found.labels)


class Expensive(KernelOperator):
    """A kernel that makes its rows when asked, and counts."""

    cheap = False

    def __init__(self, matrix, weight=None):
        self._dense = DenseKernel(matrix, weight)
        self.weight, self.passes, self.asked = self._dense.weight, 0, []

    def __matmul__(self, V):
        self.passes += 1
        return self._dense @ V

    def rows(self, index, columns=None):
        self.asked.append((len(index), None if columns is None else len(columns)))
        return self._dense.rows(index, columns)

    def diagonal(self):
        return self._dense.diagonal()

    def raw_size(self):
        return self._dense.raw_size()


def expensive(seed, n=150, weight=None):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    return Expensive(np.exp(-0.3 * np.square(X[:, None] - X).sum(axis=2)), weight)


@pytest.mark.parametrize("known", ["nothing", "both"])
@pytest.mark.parametrize("kind", ["flat", "ring"])
def test_how_many_rows_come_at_a_time_changes_nothing(kind, known, monkeypatch):
    for seed in range(4):
        kernel, objective = expensive(seed, m), an_objective(kind)
        constraints = side_information(known, kernel.weight, seed)
        start = a_start(kernel, constraints, seed)
        found = []
        for first, ahead, hold in ((1, 1, 0), (3, 5, 0), (16, 128, 0), (16, 128, 2**20), (1, 10**6, 0)):
            monkeypatch.setattr(_running, "FIRST_ROWS", first)
            monkeypatch.setattr(_running, "LOOK_AHEAD", ahead)
            monkeypatch.setattr(_running, "MAX_HELD_ENTRIES", hold)
            monkeypatch.setattr(_running, "BLOCK", first * m)
            found.append(climb(kernel, objective, start, constraints=constraints))
        for other in found[1:]:
            assert_array_equal(found[0].labels, other.labels)
            assert found[0].n_iter == other.n_iter
            if known == "nothing":
                assert found[0].history == other.history
            assert_allclose(found[0].history, other.history, rtol=1e-12)


def test_rows_are_asked_for_many_at_a_time_and_only_where_something_moves(monkeypatch):
    monkeypatch.setattr(_running, "MAX_HELD_ENTRIES", 0)
    kernel, objective = expensive(0, 600), Dependence(rho=0.0).bind(as_structure("flat:5"))
    found = climb(kernel, objective, np.random.default_rng(0).integers(0, 5, 600))
    rows = sum(number for number, _ in kernel.asked)
    assert kernel.passes == 1 and found.n_iter > 2
    assert len(kernel.asked) < rows / 5
    kernel.asked.clear()
    again = climb(kernel, objective, found.labels, warm_start_sums=found.warm_start_sums)
    assert kernel.passes == 1 and not kernel.asked
    assert_array_equal(again.labels, found.labels)


def test_a_dear_pass_is_made_once_more_where_weights_leave_rounding_behind():
    weight = np.where(np.arange(150) % 10 == 0, 1e5, 1.0)
    kernel, objective = expensive(1, weight=weight), Dependence(rho=0.0).bind(as_structure("flat:4"))
    start = np.random.default_rng(0).integers(0, 4, 150)
    found = climb(kernel, objective, start)
    assert kernel.passes == 2 and found.converged
    assert_allclose(found.warm_start_sums, (kernel @ one_hot(found.labels, 4, weight)).T, atol=1e-8)


def test_gains_made_of_rounding_are_taken_back(monkeypatch):
    """A sweep that reports moves which do not pay leaves everything as it was, with no further pass."""
    kernel, objective = expensive(2), Dependence(rho=0.0).bind(as_structure("flat:4"))
    found = climb(kernel, objective, np.random.default_rng(0).integers(0, 4, 150))
    kernel.passes, sums = 0, found.warm_start_sums.copy()

    def worse(self, blocks, known, state, form, loss, threshold):
        state.label[:20] = (state.label[:20] + 1) % 4
        self.sums = self.kernel._dense.label_sums(state.label, 4)
        return 20

    monkeypatch.setattr(_running.Similarities, "sweep", worse)
    back = climb(kernel, objective, found.labels, warm_start_sums=found.warm_start_sums)
    assert_array_equal(back.labels, found.labels)
    assert_allclose(back.warm_start_sums, sums, atol=1e-9)
    assert_allclose(back.cluster_sums, found.cluster_sums, atol=1e-9)
    assert back.stopped_because == "converged" and kernel.passes == 0


def test_placement_turns_the_sums_of_any_kernel():
    structure = as_structure("chain:4")
    labels = np.repeat(np.arange(4), 10)
    kernel, objective = Expensive(structure.kernel[np.ix_(labels, labels)]), Dependence(rho=0.0).bind(structure)

    def by_value(S, n):
        return best_placement(placement_problem("F", objective, S, n))

    found = climb(kernel, objective, np.array([2, 0, 3, 1])[labels], placement=by_value)
    assert found.labels.tolist() in (labels.tolist(), (3 - labels).tolist())
    assert_allclose(found.warm_start_sums, (kernel @ one_hot(found.labels, 4, kernel.weight)).T, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_features_in_single_precision_are_visited_in_parts(dtype, monkeypatch):
    """In parts of ten rows as all at once, with and without blocks."""
    B = np.random.default_rng(0).standard_normal((m, 3)).astype(np.float32).astype(dtype)
    kernel, objective = LowRankKernel(B, center=False), an_objective("chain")
    for known in ("nothing", "both"):
        constraints = side_information(known, kernel.weight, 0)
        start = a_start(kernel, constraints, 0)
        whole = climb(LowRankKernel(B.astype(float), center=False), objective, start, constraints=constraints)
        monkeypatch.setattr(_running, "BLOCK", 0)
        monkeypatch.setattr(_running, "row_blocks", in_parts(10))
        assert_same(climb(kernel, objective, start, constraints=constraints), whole)
        monkeypatch.undo()


# -- blocks -----------------------------------------------------------------------------------------------------------


def test_means_over_blocks_are_their_definition(monkeypatch):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        kernel = expensive(seed, 40, rng.integers(1, 4, 40).astype(float))
        links = rng.integers(0, 40, (15, 2))
        constraints = make_constraints(kernel.weight, 2, must_link=links[links[:, 0] != links[:, 1]])
        members, mean = Members(40, constraints.mean), constraints.mean.toarray()
        K, which = kernel.rows(np.arange(40)), rng.permutation(constraints.n_blocks)[:7]
        for step in (3, 10**6):  # some samples at a time
            monkeypatch.setattr(_running, "row_blocks", in_parts(step))
            monkeypatch.setattr(_running, "SAMPLES_AT_A_TIME", step)
            assert_allclose(members.mean_rows(kernel, which), mean[which] @ K, atol=1e-12)
            assert_allclose(members.similarities(kernel, which), mean[which] @ K @ mean[which].T, atol=1e-12)
            assert_allclose(members.own(kernel), np.diag(mean @ K @ mean.T), atol=1e-12)


def test_own_similarity_of_many_small_blocks_asks_for_few_entries():
    kernel = expensive(0, 600)
    constraints = make_constraints(np.ones(600), 2, must_link=np.arange(600).reshape(-1, 2))
    Members(600, constraints.mean).own(kernel)
    assert len(kernel.asked) <= 6
    assert sum(rows * columns for rows, columns in kernel.asked) < 600 * 600 / 3


def test_exchanges_need_rows_only_of_what_moved(monkeypatch):
    monkeypatch.setattr(_running, "MAX_HELD_ENTRIES", 0)
    kernel, objective = expensive(3), Dependence(rho=0.0).bind(as_structure("flat:3"))
    constraints = make_constraints(np.ones(150), 3, min_size=50, max_size=50)
    found = climb(kernel, objective, np.arange(150) % 3, constraints=constraints)
    whole = sum(rows for rows, columns in kernel.asked if columns is None)
    assert found.value > found.history[0] and 0 < whole < 600
    kernel.asked.clear()
    climb(kernel, objective, found.labels, warm_start_sums=found.warm_start_sums, constraints=constraints)
    assert all(columns is not None for _, columns in kernel.asked)


def test_portions_are_the_list(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(_exchange, "BLOCKS_AT_A_TIME", 9)
    size = rng.integers(2, 6, 80)
    first = np.concatenate([[0], np.cumsum(size)])
    ids, new, was = (rng.integers(0, 40, first[-1]) for _ in range(3))
    parts = list(_exchange.portions(_exchange.Listed(first, ids, new, was)))
    assert all(len(np.unique(part.ids)) <= 9 for part in parts) and len(parts) > 3
    for at, whole in ((1, ids), (2, new), (3, was)):
        assert_array_equal(np.concatenate([part[at] for part in parts]), whole)
    assert_array_equal(np.concatenate([np.diff(part.first) for part in parts]), size)


def test_lists_of_swaps_are_their_loops():
    """Said once more, plainly, for blocks in line between three or four clusters."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        k, depth, width = 3 + seed % 2, 4, 2
        tops = rng.permutation(k * k * depth).reshape(k, k, depth)
        gain = np.sort(rng.standard_normal((k, k, depth)), axis=2)[:, :, ::-1]
        gain[:, :, -1] = -np.inf
        best, crossed, threes = set(), set(), set()
        for a in range(k):
            for b in range(a + 1, k):
                for t in range(depth):
                    if gain[a, b, t] + gain[b, a, t] > 0:
                        best.add(((tops[a, b, t], a, b), (tops[b, a, t], b, a)))
                    for s in range(depth):
                        if max(t, s) < width and gain[a, b, t] + gain[b, a, s] > 0.1:
                            crossed.add(((tops[a, b, t], a, b), (tops[b, a, s], b, a)))
        for a, b, d, t, s, r in np.ndindex(k, k, k, width, width, width):
            pair = gain[a, b, t] + gain[b, d, s]
            if len({a, b, d}) < 3:
                continue
            if pair > 0.1:
                threes.add(((tops[a, b, t], a, b), (tops[b, d, s], b, d)))
            if a < min(b, d) and pair + gain[d, a, r] > 0.1:
                threes.add(((tops[a, b, t], a, b), (tops[b, d, s], b, d), (tops[d, a, r], d, a)))
        for lists, expected in (
            (_exchange.best_pairs(tops, gain), best),
            (_exchange.crossed_pairs(tops, gain, width, 0.1), crossed),
            (_exchange.in_threes(tops, gain, width, 0.1), threes),
        ):
            found = []
            for whole in lists:
                for p, q in zip(whole.first[:-1], whole.first[1:], strict=True):
                    found.append(tuple(zip(whole.ids[p:q], whole.was[p:q], whole.new[p:q], strict=True)))
            assert len(found) == len(set(found))
            assert set(found) == expected and len(expected)


# -- plain twins ------------------------------------------------------------------------------------------------------


def compiled(module):
    return {
        name: part.py_func
        for name, part in vars(module).items()
        if hasattr(part, "py_func") and inspect.getmodule(part.py_func) is module
    }


@pytest.mark.parametrize("known", ["nothing", "links", "sizes", "both", "soft"])
@pytest.mark.parametrize("kind", OBJECTIVES)
def test_the_compiled_climb_is_the_plain_climb(kind, known, monkeypatch):
    """All compiled functions of the climb replaced by their plain twins, in every module that uses them."""
    kernels = [an_operator(name, 0, True) for name in ("dense", "low_rank", "tiled")]
    objective = an_objective(kind)
    constraints = side_information(known, kernels[0].weight, 1)
    start = a_start(kernels[0], constraints, 1)
    fast = [climb(kernel, objective, start, constraints=constraints) for kernel in kernels]
    twins = compiled(_loops)
    assert {"sweep", "exchange", "list_chains", "visit_plain", "visit_loss"} <= set(twins)
    for module in (_loops, _running, _exchange, _climb):
        for name, twin in twins.items():
            if hasattr(module, name):
                monkeypatch.setattr(module, name, twin)
    for kernel, expected in zip(kernels, fast, strict=True):
        assert_same(climb(kernel, objective, start, constraints=constraints), expected)
