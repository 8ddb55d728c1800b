"""Max-margin clustering against enumeration, identities and theorems."""

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, rand_score, v_measure_score

from kernelclust.margin import cutting_plane, most_violated
from kernelclust.margin._cuts import Options, solve_cuts
from kernelclust.margin._features import make_features
from kernelclust.margin._fit import lowest_on_line
from kernelclust.margin._loops import best_table
from kernelclust.margin._models import ManyClusters, TwoClusters
from kernelclust.margin._search import search, two_by_two, value_of
from kernelclust.margin._solve import Search, _directions, solve_two, trivial_slack
from kernelclust.margin._table_loss import make_loss
from kernelclust.margin._table_search import _batches, _new_names, _Task, search_table, table
from kernelclust.margin._weights import SampleWeights
from kernelclust.margin.cutting_plane import PATIENCE, from_labels, from_weights
from kernelclust.margin.losses import NMI, F, Loss, as_loss
from kernelclust.metrics import pair_f_score
from reproduction.table_scan import scan

BETA = 1.5
DELTA = {  # y', y -> loss, by other people's code
    "nmi": lambda z, y: 1 - normalized_mutual_info_score(y, z, average_method="geometric"),
    "rand": lambda z, y: 1 - rand_score(y, z),
    "f": lambda z, y: 1 - pair_f_score(y, z, BETA),
    "error": lambda z, y: np.mean(np.asarray(z) != np.asarray(y)),
    "adjusted_rand": lambda z, y: 1 - adjusted_rand_score(y, z),
    "v_measure": lambda z, y: 1 - v_measure_score(y, z, beta=BETA),
}
every_loss = pytest.mark.parametrize("name", sorted(DELTA))
PAPER = ("nmi", "rand", "f", "error")


def labelings(n, k=2):
    return np.array(list(product(range(k), repeat=n)))


class Own(Loss):
    """A loss of one's own: 1 - rate(own, n) joint."""

    def __init__(self, function=np.square, rate=None):
        self.function, self.rate = function, rate

    def phi(self, counts):
        return self.function(counts)

    def affine(self, own, given, n):
        return 1.0, self.rate(own, n)


class ScaledNMI(NMI):
    def __init__(self, factor=1.0):
        self.factor = factor

    def affine(self, own, given, n):
        return tuple(self.factor * part for part in super().affine(own, given, n))


def scaled_nmi(s):
    """A loss of one's own: s (1 - NMI)."""
    return ScaledNMI(s)


def random_problem(rng, n):
    """Scores around the size at which they compete with the loss, some of them tied, and labels of any balance."""
    f = rng.standard_normal(n) * 10 ** rng.uniform(-2.5, 0)
    if rng.random() < 0.3:
        f = np.round(f, 1)
    y = np.where(f >= 0, 1, -1) if rng.random() < 0.5 else np.where(rng.random(n) < rng.random(), 1, -1)
    return f, y


# -- losses -----------------------------------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("k", [2, 3])
def test_losses_from_tables(name, k):
    """Of any two labelings, those with one cluster, with singletons and with one sample included."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 5, 9):
        loss = make_loss(as_loss(name), n)
        pairs = [(rng.integers(0, k, n), rng.integers(0, k, n)) for _ in range(20)]
        pairs += [(np.zeros(n, int), np.zeros(n, int)), (np.zeros(n, int), np.ones(n, int))]
        pairs += [(np.zeros(n, int), np.arange(n) % k), (np.arange(n) % k, np.zeros(n, int))]
        for z, y in pairs:
            assert_allclose(loss.of_tables(table(z, y, k)), DELTA[name](z, y), atol=1e-12)


@every_loss
def test_one_cluster_is_one_cluster_whatever_the_rounding(name):
    """log n - (n log n) / n is not exactly zero for some n."""
    for n in range(2, 60):
        loss = make_loss(as_loss(name), n)
        one, two = np.zeros(n, int), np.arange(n) % 2
        assert loss.of_tables(table(one, one, 2)) == pytest.approx(0, abs=1e-12)
        assert loss.of_tables(table(one, two, 2)) == pytest.approx(DELTA[name](one, two), abs=1e-12)
        assert loss.of_tables(table(two, one, 2)) == pytest.approx(DELTA[name](two, one), abs=1e-12)


@pytest.mark.parametrize("name", ["f", "v_measure"])
def test_beta_weighs(name):
    """Splitting a cluster of y costs more with a larger beta, joining two less."""
    y = np.repeat([0, 1], 4)
    split, join = np.array([0, 0, 2, 2, 1, 1, 1, 1]), np.zeros(8, int)
    for z, sign in ((split, 1), (join, -1)):
        low, high = (make_loss(as_loss(name).set_params(beta=beta), 8).of_tables(table(z, y, 3)) for beta in (0.5, 3.0))
        assert sign * (high - low) > 0 if name == "f" or z is split else high >= low


# -- the most violated labeling ---------------------------------------------------------------------------------------


@every_loss
def test_most_violated_is_the_best_of_all(name):
    rng = np.random.default_rng(2)
    for trial in range(24):
        n = 1 + trial % 6
        f, y = random_problem(rng, n)
        every = 2 * labelings(n) - 1
        values = every @ f + [DELTA[name](z, y) for z in every]
        z, value = most_violated(f, y, loss=name)
        assert set(np.unique(z)) <= {-1, 1}
        assert value == pytest.approx(values.max(), abs=1e-10)
        assert z @ f + DELTA[name](z, y) == pytest.approx(value, abs=1e-10)


@every_loss
def test_fast_search_is_the_scan(name):
    rng = np.random.default_rng(3)
    for _ in range(400):
        f, y = random_problem(rng, int(rng.integers(1, 80)))
        loss = make_loss(as_loss(name), len(f))
        chosen = search(f, y > 0, loss)
        assert value_of(f, y > 0, chosen, loss) == pytest.approx(scan(f, y > 0, loss)[2], abs=1e-9)


@pytest.mark.parametrize("name", PAPER)
def test_fast_search_is_the_scan_where_steps_are_long(name):
    """Blocks of equal scores and one-sided labels make the best table jump from one size to the next."""
    rng = np.random.default_rng(4)
    for n_pos in (0, 1, 100, 199, 200):
        y = np.arange(200) < n_pos
        for f in (np.zeros(200), np.repeat(rng.standard_normal(4), 50) / 200, np.where(y, 1, -1) * 0.004):
            loss = make_loss(as_loss(name), 200)
            assert value_of(f, y, search(f, y, loss), loss) == pytest.approx(scan(f, y, loss)[2], abs=1e-9)
    for _ in range(200):
        n = int(rng.integers(20, 120))
        f = rng.choice([0.3, 0.1, 0.0, -0.2, -0.4], n, p=rng.dirichlet(np.ones(5))) / n ** rng.uniform(0.5, 1)
        y = rng.random(n) < rng.random()
        loss = make_loss(as_loss(name), n)
        assert value_of(f, y, search(f, y, loss), loss) == pytest.approx(scan(f, y, loss)[2], abs=1e-9)


def test_fast_search_is_the_scan_where_the_rate_leaps():
    """A loss whose weight differs wildly from one size to the next sends the best table to and fro."""
    leaping = Own(np.square, lambda own, n: (1 + np.sin(7.3 * own)) ** 4 / n**2)
    rng = np.random.default_rng(15)
    for _ in range(6):
        f, y = random_problem(rng, int(rng.integers(30, 90)))
        f = f / len(f)
        loss = make_loss(leaping, len(f))
        up, down = -np.sort(-f[y > 0]), -np.sort(-f[y < 0])
        base, rate = loss.affine(loss.phi + loss.phi[::-1], 0.0)
        for p in range(1, len(f)):  # the best of every size, not only the best of all
            only = np.where(np.arange(len(f) + 1) == p, base, -1e3)
            found = best_table(up, down, loss.phi, loss.off, only, np.array(rate))
            assert sum(found) == p
            value = _table_value(up, down, found, loss, rate)
            options = [(i, p - i) for i in range(max(0, p - len(down)), min(p, len(up)) + 1)]
            assert value == pytest.approx(max(_table_value(up, down, o, loss, rate) for o in options), abs=1e-12)


def _table_value(up, down, found, loss, rate):
    a, b = found
    cells = loss.phi[[a, b, len(up) - a, len(down) - b]].sum()
    return 2 * (up[:a].sum() + down[:b].sum()) - rate[a + b] * cells


def test_most_violated_takes_a_loss_of_ones_own():
    f, y = random_problem(np.random.default_rng(5), 30)
    z, value = most_violated(2 * f, y, loss=ScaledNMI(2.0))
    assert value == pytest.approx(2 * most_violated(f, y)[1])
    assert 2 * (z @ f + DELTA["nmi"](z, y)) == pytest.approx(value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, 0.2], [1]), "same length"),
        (([], []), "same length"),
        (([0.1, np.nan], [1, -1]), "not finite"),
        (([0.1, 0.2], [0, 1]), "-1 and [+]1"),
        (([0.1, 0.2], [1, -1], "nmo"), "Did you mean 'nmi'"),
        (([0.1, 0.2], [1, -1], F(beta=-1.0)), "beta"),
        (([0.1, 0.2], [1, -1], None), "loss=None"),
    ],
)
def test_most_violated_refuses(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        most_violated(*arguments)


def test_a_loss_of_ones_own_must_be_concave():
    for phi, rate, message in ((np.sqrt, 1.0, "phi is not convex"), (np.square, -1.0, "rate below 0")):
        with pytest.raises(ValueError, match=message):
            most_violated([0.1, 0.2, 0.3], [1, -1, 1], loss=Own(phi, lambda own, n, rate=rate: rate))


# -- many clusters ----------------------------------------------------------------------------------------------------


def best_of_all(F, y, loss):
    n, k = F.shape
    every = labelings(n, k)
    tables = np.zeros((len(every), k, k), dtype=int)
    np.add.at(tables, (np.arange(len(every))[:, None], every, y), 1)
    return float((F[np.arange(n), every].sum(axis=1) + loss.of_tables(tables)).max())


@every_loss
def test_table_search_is_the_best_of_all(name):
    """But for one in a thousand or so, by a little, of the losses with entropies."""
    rng = np.random.default_rng(6)
    misses, trials = 0, 40
    for trial in range(trials):
        n, k = [(4, 3), (5, 3), (6, 3), (5, 4)][trial % 4]
        F = rng.standard_normal((n, k)) * 10 ** rng.uniform(-2.5, 0)
        F = np.round(F, 2) if trial % 3 == 0 else F
        y = F.argmax(axis=1) if trial % 2 else rng.integers(0, k, n)
        loss = make_loss(as_loss(name), n)
        z, value = search_table(F, y, loss)
        assert F[np.arange(n), z].sum() + DELTA[name](z, y) == pytest.approx(value, abs=1e-10)
        best = best_of_all(F, y, loss)
        assert value <= best + 1e-10
        misses += value < best - 1e-9
    assert misses <= (name in ("nmi", "v_measure"))


@every_loss
def test_table_search_on_two_clusters_is_the_exact_one(name):
    rng = np.random.default_rng(7)
    for _ in range(15):
        f, y = random_problem(rng, int(rng.integers(5, 120)))
        loss = make_loss(as_loss(name), len(f))
        exact = value_of(f, y > 0, search(f, y > 0, loss), loss)
        value = search_table(np.c_[f, -f], (y < 0).astype(int), loss)[1]
        assert exact - 2e-3 <= value <= exact + 1e-10


@every_loss
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_have_the_value_that_they_lead_to(name, weighted):
    rng = np.random.default_rng(17)
    for _ in range(4):
        n, k = 12, 3
        F, (z, y) = rng.standard_normal((n, k)) / n, rng.integers(0, k, (2, n))
        weight = rng.uniform(0.5, 2, n) if weighted else None
        loss = make_loss(as_loss(name), SampleWeights(n, weight))
        if loss.only_diagonal:
            continue  # each sample for itself: no batches
        task = _Task(F, y, loss, weight)
        batches = _batches(task, z)
        for e, at in product(range(k), range(n)):
            if np.isfinite(batches.values[e, at]):
                assert batches.values[e, at] == pytest.approx(task.value(batches.apply(z, [(e, at)])), abs=1e-12)
                s = np.ones(n) if weight is None else weight
                assert batches.sizes[e, at] == pytest.approx(s[batches.apply(z, [(e, at)]) != z].sum())


def test_clusters_get_the_best_names():
    rng = np.random.default_rng(16)
    for _ in range(10):
        F, z = rng.standard_normal((12, 4)), rng.integers(0, 4, 12)
        scores = [F[np.arange(12), np.array(names)[z]].sum() for names in permutations(range(4))]
        named = _new_names(None, _Task(F, z, None, None), z)
        assert F[np.arange(12), named].sum() == pytest.approx(max(scores))


def test_error_rate_of_many_clusters_is_a_sum_over_samples():
    """max_y' = sum_i max_c f_ic + [c != y_i] / n: the hinge of Crammer and Singer."""
    rng = np.random.default_rng(8)
    F = rng.standard_normal((300, 5)) / 300
    y = F.argmax(axis=1)
    hinge = (F + (np.arange(5) != y[:, None]) / 300).max(axis=1).sum()
    assert search_table(F, y, make_loss(as_loss("error"), 300))[1] == pytest.approx(hinge)


@pytest.mark.parametrize("k", [2, 3])
@every_loss
def test_slack_of_no_weights(name, k):
    loss = make_loss(as_loss(name), 6)
    assert trivial_slack(loss, k) == pytest.approx(best_of_all(np.zeros((6, k)), np.zeros(6, dtype=int), loss))


# -- quadratic programs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [None, 0.0, 0.05])
@pytest.mark.parametrize(("K", "D"), [(1, 3), (4, 6), (12, 3), (30, 10)])
def test_quadratic_programs_are_solved(K, D, limit):
    """Against an interior-point solver of the primal; cuts repeat, and outnumber dimensions."""
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(K)
    cuts, losses = rng.standard_normal((K, D)) + 0.5, rng.uniform(0, 1, K)
    cuts[K // 2 :] = cuts[: K - K // 2]
    sides = np.zeros((0, D)) if limit is None else rng.standard_normal((1, D))
    for C in (0.01, 1.0, 100.0):
        w, xi, weights = solve_cuts(cuts, losses, C, sides, limit or 0.0)
        assert xi == pytest.approx(max((losses - cuts @ w).max(), 0))
        assert np.all(np.abs(sides @ w) <= (limit or 0.0) + 1e-6)
        v, slack = cvxpy.Variable(D), cvxpy.Variable(nonneg=True)
        conditions = [cuts @ v >= losses - slack]
        conditions += [cvxpy.abs(sides @ v) <= limit] if len(sides) else []
        best = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(v) / 2 + C * slack), conditions).solve(solver="CLARABEL")
        assert w @ w / 2 + C * xi == pytest.approx(best, rel=1e-6, abs=1e-8)
        assert weights.min() >= 0 and weights.sum() <= 1 + 1e-8
        for start in (weights, weights[: K // 2], np.full(K, 1 / K)):
            assert_allclose(solve_cuts(cuts, losses, C, sides, limit or 0.0, start)[0], w, atol=1e-5 * np.abs(w).max())


def test_degenerate_programs():
    for cuts in (np.zeros((1, 3)), np.full((2, 3), 1e-17), np.eye(3)):
        w, xi, _ = solve_cuts(cuts, np.full(len(cuts), 0.5), 0.1, np.zeros((0, 3)), 0.0)
        assert_allclose(w, 0.1 / 3 if len(cuts) == 3 else 0.0, atol=1e-9)
        assert xi == pytest.approx(0.5 - 0.1 / 3 if len(cuts) == 3 else 0.5)
        w, xi, _ = solve_cuts(cuts, np.full(len(cuts), 2e-16), 0.1, np.ones((1, 3)), 1.0)
        assert not w.any() and xi == 0


# -- cutting planes ---------------------------------------------------------------------------------------------------


def small_problem(seed, n=9, d=3, name="nmi", **options):
    rng = np.random.default_rng(seed)
    features = make_features(rng.standard_normal((n, d)) + 1.5 * rng.choice([-1, 1], n)[:, None], **options)
    return TwoClusters(features, make_loss(as_loss(name), n)), rng.standard_normal(features.n_features) / n


def objective(machine, w, C):
    """|w|^2 / 2 + C xi(w) over all labelings."""
    f = machine.features.X @ w
    y = f >= 0
    every = labelings(len(f)).astype(bool)
    gaps = machine.losses(every, y) - 2 * ((y != every) * np.abs(f)).sum(axis=1)
    return w @ w / 2 + C * gaps.max()


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("bias", [False, True])
def test_objective_is_true_and_the_best_is_kept(name, bias):
    """The slack told is the largest over all 2^n labelings: (w, xi) is feasible, as theorem 1 says.

    With a bias all samples on one side may have a lower objective; what is kept has two sides wherever one was seen.
    """
    for seed in range(8):
        machine, w = small_problem(seed, name=name, bias=bias)
        first = from_weights(machine, w, Options(C=0.2))
        second = from_labels(machine, first.labels, Options(C=0.2))
        third = from_labels(machine, np.random.default_rng(seed).random(9) < 0.5, Options(C=0.2))
        for fit in (first, second, third):
            assert fit.objective == pytest.approx(objective(machine, fit.w, 0.2))
            assert_array_equal(fit.labels, machine.features.X @ fit.w >= 0)
            assert bias or 0 < fit.labels.mean() < 1
            assert fit.objective == min(fit.history) or (bias and fit.objective in fit.history)


@pytest.mark.parametrize("name", PAPER)
def test_epsilon_bounds_the_loss_of_not_using_all_cuts(name):
    """Theorem 1: with all 2^n - 1 cuts and the labels found, the objective is lower by C epsilon at most."""
    for seed in range(6):
        for epsilon in (0.1, 1e-6):
            machine, _ = small_problem(seed, n=7, name=name)
            start = machine.labels(machine.features.X[:, 0])
            fit = from_labels(machine, start, Options(C=0.3, tol=epsilon, max_iter=200))
            assert fit.stopped_because == "converged"
            if fit.objective != fit.history[-1]:  # an earlier round was better: its weights are of other labels
                continue
            every = labelings(7).astype(bool)
            psi = machine.psi(fit.labels)
            cuts = np.array([psi - machine.psi(other) for other in every])
            w, xi, _ = solve_cuts(cuts, machine.losses(every, fit.labels), 0.3, np.zeros((0, len(psi))), 0.0)
            best = w @ w / 2 + 0.3 * xi
            assert best - 1e-6 <= fit.objective <= best + 0.3 * epsilon + 1e-6


def best_for(machine, labels, C):
    """The lowest objective of weights for these labels, with all 2^n cuts."""
    every = labelings(len(labels)).astype(bool)
    cuts = machine.psi(labels) - np.array([machine.psi(other) for other in every])
    w, xi, _ = solve_cuts(cuts, machine.losses(every, labels), C, np.zeros((0, cuts.shape[1])), 0.0)
    return w @ w / 2 + C * xi


@pytest.mark.parametrize("name", PAPER)
def test_cuts_are_added_until_none_is_violated(name):
    """So a run that ends on labels that stay is within C epsilon of the best for them; most do, all when polished."""
    near = 0
    for seed in range(12):
        machine, w = small_problem(seed, n=8, name=name)
        options = Options(C=3.0, tol=0.01)
        fit = from_weights(machine, w, options)
        best = best_for(machine, fit.labels, 3.0)
        assert fit.objective >= best - 1e-6
        near += fit.objective <= best + 3.0 * 0.01 + 1e-6
        polished = solve_two(machine.features, machine.loss, options, Search(2, np.random.RandomState(seed)))
        assert polished.objective <= best_for(machine, polished.labels, 3.0) + 3.0 * 0.001 + 1e-6
    assert near >= 6


@pytest.mark.parametrize("name", ["error", "rand"])
def test_objective_never_rises_for_losses_of_the_number_of_errors(name):
    moved = 0
    for seed in range(20):
        machine, _ = small_problem(seed, n=30, d=4, name=name)
        start = np.random.default_rng(seed).random(30) < 0.5
        fit = from_labels(machine, start, Options(C=0.05, tol=1e-9, max_iter=500))
        assert np.all(np.diff(fit.history) <= 1e-7 * fit.history[0])
        moved += len(fit.history) > 2
    assert moved > 3


def test_error_rate_is_the_hinge_loss():
    """Theorem 2: xi = mean_i (1 - 2 n |f_i|)_+ for every w, the slack of conventional max-margin clustering."""
    machine, _ = small_problem(0, n=50, name="error")
    rng = np.random.default_rng(1)
    for scale in (0.001, 0.01, 0.1):
        f = scale * rng.standard_normal(50)
        y = f >= 0
        slack = value_of(f, y, search(f, y, machine.loss), machine.loss) - np.abs(f).sum()
        assert slack == pytest.approx(np.maximum(1 - 2 * 50 * np.abs(f), 0).mean())


def test_labels_held_the_error_rate_is_a_support_vector_machine():
    """Weights for given labels minimise |v|^2 / 2 + C mean_i (1 - 2 n y_i v . x_i)_+, a convex function."""
    machine, _ = small_problem(0, n=50, name="error")
    X, C = machine.features.X, 0.002
    fit = from_labels(machine, X[:, 0] >= 0, Options(C=C, tol=1e-10, max_iter=2000))
    while len(fit.history) > 1:  # labels that stay
        fit = from_labels(machine, fit.labels, Options(C=C, tol=1e-10, max_iter=2000))
    signs = np.where(fit.labels, 1, -1)

    def svm(v):
        return v @ v / 2 + C * np.maximum(1 - 100 * signs * (X @ v), 0).mean()

    assert svm(fit.w) == pytest.approx(fit.objective)
    rng = np.random.default_rng(1)
    steps = rng.standard_normal((300, X.shape[1])) * np.linalg.norm(fit.w) * 10 ** rng.uniform(-4, 0, (300, 1))
    assert all(svm(fit.w) <= svm(fit.w + step) + 1e-12 for step in steps)


@pytest.mark.parametrize("k", [2, 3])
def test_known_labels_are_kept_and_their_slack_is_true(k):
    """xi over all k^n labelings, of labels that are those of w but where they are known."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        known = np.where(rng.random(7) < 0.4, rng.integers(0, k, 7), -1)
        features = make_features(rng.standard_normal((7, 3)))
        loss = make_loss(as_loss("nmi"), 7)
        machine = TwoClusters(features, loss, known) if k == 2 else ManyClusters(features, loss, k, known=known)
        start = np.where(known >= 0, known, np.arange(7) % k)
        fit = from_labels(machine, start == 1 if k == 2 else start, Options(C=0.5, tol=1e-6, max_iter=300))
        scores = machine.scores(fit.w)
        free = known < 0
        assert_array_equal(fit.labels[~free], (known == 1 if k == 2 else known)[~free])
        assert_array_equal(fit.labels[free], (scores >= 0 if k == 2 else scores.argmax(axis=1))[free])
        every = labelings(7, k).astype(bool if k == 2 else int)
        psi = machine.psi(fit.labels)
        gaps = machine.losses(every, fit.labels) - [fit.w @ (psi - machine.psi(other)) for other in every]
        assert fit.slack == pytest.approx(gaps.max(), abs=1e-9)
        assert fit.objective == pytest.approx(fit.w @ fit.w / 2 + 0.5 * gaps.max(), abs=1e-9)


@pytest.mark.parametrize("name", PAPER)
def test_all_labels_known_the_objective_is_the_minimum_of_a_convex_one(name):
    """No labels to follow: the multivariate support vector machine, with all 2^n cuts solved at once."""
    for seed in range(4):
        machine, _ = small_problem(seed, n=8, name=name)
        y = np.random.default_rng(seed).random(8) < 0.5
        taught = replace(machine, known=y.astype(int))
        search = Search(2, np.random.RandomState(0))
        fit = solve_two(taught.features, taught.loss, Options(0.5, tol=1e-5, max_iter=400), search, taught.known)
        assert_array_equal(fit.labels, y)
        assert fit.objective == pytest.approx(best_for(machine, y, 0.5), rel=1e-4)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("center, bias", [(True, False), (False, False), (False, True)])
def test_initial_hyperplanes_run_through_the_mean(convert, center, bias):
    """The first is the leading eigenvector of the covariance among these unless all are random."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4)) * [3.0, 1.0, 0.5, 0.2] + 5
    features = make_features(convert(X), center=center, bias=bias)
    model = TwoClusters(features, make_loss(as_loss("nmi"), 40))
    starts = {
        init: list(_directions(model, Search(4, np.random.RandomState(0), init=init)))
        for init in ("principal", "random")
    }
    for every in starts.values():
        assert len(every) == 4
        for w in every:
            f = features.scores(w)
            assert abs(f.mean()) < 1e-9 * np.abs(f).max() and 0 < np.mean(f > 0) < 1
    assert_allclose(starts["principal"][1:], starts["random"][1:])
    phi = np.column_stack([(X - features.mean) / features.scale, *([np.ones(40)] if bias else [])])
    mean = phi.mean(axis=0)
    away = np.eye(len(mean)) - np.outer(mean, mean) / max(mean @ mean, 1e-300) * (not center)
    first = np.linalg.eigh(away @ np.cov(phi.T) @ away)[1][:, -1]
    cosines = [abs(first @ every[0]) / np.linalg.norm(every[0]) for every in starts.values()]
    assert cosines[0] > 1 - 1e-6 and cosines[1] < 0.99


@pytest.mark.parametrize("name", PAPER)
def test_samples_as_given_are_separated_from_the_first_start(name):
    """Pixels are positive: their largest moment is the mean, and a start along it has all samples on one side."""
    X, digit = load_digits(return_X_y=True)
    X, digit = X[(digit == 3) | (digit == 8)], digit[(digit == 3) | (digit == 8)]
    n = len(X)
    features, options = make_features(X, center=False), Options(C=30 / n**2, limit=1 / n)
    fit = solve_two(features, make_loss(as_loss(name), n), options, Search(1, np.random.RandomState(0)))
    right = np.mean(fit.labels == (digit == 8))
    assert max(right, 1 - right) > 0.95


def test_why_a_run_stopped():
    machine, w = small_problem(0, n=40)
    assert from_weights(machine, w, Options(C=0.01, tol=2.0)).stopped_because == "converged"
    assert from_weights(machine, w, Options(C=0.01, tol=0.0, max_iter=2)).stopped_because == "max_iter"
    assert from_labels(machine, w[0] * machine.features.X[:, 0] > 0, Options(0.01, None, 0.0, 1)).n_iter == 1
    stalled = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        machine = TwoClusters(make_features(rng.standard_normal((40, 3))), make_loss(as_loss("nmi"), 40))
        fit = from_weights(machine, rng.standard_normal(3) / 40, Options(C=0.02, tol=0.001, max_iter=1000))
        since = len(fit.history) - 1 - fit.history.index(min(fit.history))
        assert fit.stopped_because != "max_iter"
        assert since == PATIENCE if fit.stopped_because == "stalled" else since <= PATIENCE
        stalled += fit.stopped_because == "stalled"
    assert 0 < stalled < 8


@pytest.mark.parametrize("name", ["error", "nmi"])
def test_the_inner_loop_ends_where_the_objective_falls_by_a_hundredth_of_a_percent(name, monkeypatch):
    """Or where labels stay, or after all its steps. The paper: less than alpha %, and alpha is 0.01."""
    loops = []

    class Watched(cutting_plane.Cuts):
        def add(self, *cut):
            loops.append([])
            super().add(*cut)

        def solve(self, labels, psi):
            w, value = super().solve(labels, psi)
            stays = np.array_equal(self.model.labels(self.model.scores(w)), labels)
            loops[-1].append((value, stays))
            return w, value

    monkeypatch.setattr(cutting_plane, "Cuts", Watched)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        machine = TwoClusters(make_features(rng.standard_normal((60, 5))), make_loss(as_loss(name), 60))
        from_weights(machine, rng.standard_normal(5) / 60, Options(C=0.02, tol=0.01))
    settled = 0
    for loop in loops:
        values, stays = zip(*loop, strict=True)
        falls = -np.diff(values) / np.array(values[1:])
        assert (falls[:-1] > 1e-4).all() and not any(stays[:-1])
        assert stays[-1] or falls[-1] <= 1e-4 or len(loop) == cutting_plane.CCCP_STEPS
        settled += not stays[-1]
    assert settled  # some loops end by the rule


def test_rounds_that_run_out_are_not_convergence(monkeypatch):
    monkeypatch.setattr(cutting_plane, "ROUNDS", 1)
    machine, _ = small_problem(0, n=30, d=4)
    start = np.random.default_rng(0).random(30) < 0.5
    fit = from_labels(machine, start, Options(C=0.05))
    assert not np.array_equal(machine.labels(machine.scores(fit.w)), start)
    assert fit.stopped_because == "stalled"


# -- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_weights_are_repeats_for_features_and_machines(k, convert):
    rng = np.random.default_rng(18)
    X, weight = rng.standard_normal((12, 3)) + 1, rng.integers(1, 4, 12)
    many = np.repeat(X, weight, axis=0)
    weights = SampleWeights(12, weight.astype(float))
    machines = []
    for Z, m in ((X, weights), (many, None)):
        features = make_features(convert(Z), bias=k > 2, weights=m)
        loss = make_loss(as_loss("nmi"), features.weights)
        machines.append(TwoClusters(features, loss) if k == 2 else ManyClusters(features, loss, k))
    one, other = machines
    assert_allclose(one.features.mean, other.features.mean)
    assert one.features.scale == pytest.approx(other.features.scale)
    w = rng.standard_normal(len(one.psi(np.zeros(12, int)))) / 30
    direction = rng.standard_normal(one.features.n_features)
    assert_allclose(one.features.principal(direction), other.features.principal(direction), atol=1e-9)
    scores = one.scores(w)
    assert_allclose(np.repeat(scores, weight, axis=0), other.scores(w))
    labels = one.labels(scores)
    psi = one.psi(labels)
    assert_allclose(psi, other.psi(np.repeat(labels, weight)))
    assert_allclose(one.sides(), other.sides(), atol=1e-9)
    rivals = [m.most_violated(m.scores(w), y) for m, y in ((one, labels), (other, np.repeat(labels, weight)))]
    for m, rival, y in zip(machines, rivals, (labels, np.repeat(labels, weight)), strict=True):
        value = w @ m.psi_of(rival) + m.losses(rival[None], y)[0]
        assert value == pytest.approx(w @ one.psi_of(rivals[0]) + one.losses(rivals[0][None], labels)[0], abs=1e-9)


@every_loss
def test_units_of_weights_do_not_matter_below_one(name):
    """A loss counts in the smallest weight: pairs exist, however small the weights are."""
    rng = np.random.default_rng(19)
    weight = rng.uniform(0.3, 2.0, 10)
    z, y = rng.integers(0, 2, (2, 10))
    one, other = (make_loss(as_loss(name), SampleWeights(10, weight * s)) for s in (1.0, 1e-3))
    value = one.of_tables(table(z, y, 2, weight))
    assert value > 0
    assert other.of_tables(table(z, y, 2, 1e-3 * weight)) == pytest.approx(value)


def test_scales_of_loss_price_and_balance_are_one():
    """(s Delta, s C, s l, s epsilon) gives s w and s^2 times the objective."""
    s = 3.0
    for seed, limit in ((0, None), (1, 0.02), (2, 0.02)):
        machine, w = small_problem(seed, n=40, center=limit is None)
        options = Options(C=0.01, limit=limit)
        fit = from_weights(machine, w, options)
        other = from_weights(
            replace(machine, loss=make_loss(scaled_nmi(s), 40)),
            s * w,
            Options(C=s * 0.01, limit=None if limit is None else s * limit, tol=s * 0.03),
        )
        assert_allclose(other.w, s * fit.w, rtol=1e-5, atol=1e-9)
        assert other.objective == pytest.approx(s**2 * fit.objective, rel=1e-6)


@pytest.mark.parametrize("limit", [0.0, 0.01, 0.1])
def test_balance_is_kept(limit):
    for seed in range(5):
        machine, w = small_problem(seed, n=40, center=False)
        fit = from_weights(machine, w, Options(C=0.01, limit=limit))
        assert abs(machine.scores(fit.w).sum()) <= limit + 1e-6


def test_turning_the_features_changes_nothing():
    """So eigen-features of a linear kernel give what the samples give."""
    rng = np.random.default_rng(9)
    X = rng.standard_normal((60, 5)) + 2 * rng.choice([-1, 1], 60)[:, None] * np.array([1, 0, 0, 1, 0])
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    w = rng.standard_normal(5) / 60
    loss = make_loss(as_loss("nmi"), 60)
    fits = [from_weights(TwoClusters(make_features(Z), loss), v, Options(0.003)) for Z, v in ((X, w), (X @ Q, Q.T @ w))]
    assert_array_equal(fits[0].labels, fits[1].labels)
    assert fits[0].objective == pytest.approx(fits[1].objective)
    assert_allclose(Q.T @ fits[0].w, fits[1].w, atol=1e-8)


def test_joint_form_of_two_clusters_is_the_binary_one():
    """w_1 = -w_2 = w: the same slack, twice the square length, so twice the objective at twice the C."""
    for seed in range(5):
        machine, _ = small_problem(seed, n=9)
        y = machine.features.X[:, 0] >= 0
        joint = ManyClusters(machine.features, machine.loss, 2)
        one = from_labels(machine, y, Options(C=0.1, tol=1e-9, max_iter=300))
        two = from_labels(joint, (~y).astype(int), Options(C=0.2, tol=1e-9, max_iter=300))
        assert_array_equal(two.labels == 0, one.labels)
        assert two.objective == pytest.approx(2 * one.objective, rel=1e-5)
        W = two.w.reshape(-1, 2)
        assert_allclose(W[:, 0], one.w, atol=1e-5)
        assert_allclose(W.sum(axis=1), 0, atol=1e-8)


def test_balance_of_many_clusters():
    rng = np.random.default_rng(10)
    features = make_features(rng.standard_normal((30, 4)) + np.repeat(np.eye(4)[:3] * 4, 10, axis=0), bias=True)
    machine = ManyClusters(features, make_loss(as_loss("nmi"), 30), 3)
    fit = from_labels(machine, np.repeat(np.arange(3), 10), Options(C=0.05, limit=0.01))
    sums = machine.scores(fit.w).sum(axis=0)
    assert np.ptp(sums) <= 0.01 + 1e-6


# -- features ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_sparse_features_are_the_dense_ones(center, bias):
    rng = np.random.default_rng(11)
    X = np.where(rng.random((30, 6)) < 0.6, 0, rng.standard_normal((30, 6)) + 1)
    dense, thin = (make_features(Z, center=center, bias=bias) for Z in (X, sparse.csr_array(X)))
    assert sparse.issparse(thin.X)
    for columns in ((), (3,)):
        W, Y = rng.standard_normal((6 + bias, *columns)), rng.standard_normal((30, *columns))
        assert_allclose(thin.scores(W), dense.scores(W))
        assert_allclose(thin.sums(Y), dense.sums(Y))
        V, b = dense.raw(W)
        assert_allclose(X @ V + b, dense.scores(W))
    assert dense.without_bias().n_features == thin.without_bias().n_features == 6


def test_features_have_mean_square_length_one():
    X = 1e5 + 30 * np.random.default_rng(12).standard_normal((50, 4))
    for Z in (X, 1e200 * X, 1e-200 * X):
        features = make_features(Z)
        assert_allclose(features.X.mean(axis=0), 0, atol=1e-9)
        assert np.square(features.X).sum(axis=1).mean() == pytest.approx(1)
    assert np.square(make_features(X, center=False).X).sum(axis=1).mean() == pytest.approx(1)
    for same in (np.ones((5, 3)), np.full((5, 3), 0.1), np.zeros((5, 3)), sparse.csr_array(np.full((5, 3), 0.1))):
        with pytest.raises(ValueError, match="all samples are equal"):
            make_features(same)


@every_loss
def test_order_of_samples_and_sign_of_labels_do_not_matter(name):
    rng = np.random.default_rng(13)
    X = rng.standard_normal((80, 3)) + 2 * rng.choice([-1, 1], 80)[:, None]
    order = rng.permutation(80)
    loss, options = make_loss(as_loss(name), 80), Options(10 / 80**2)
    fits = [solve_two(make_features(Z), loss, options, Search(5, np.random.RandomState(0))) for Z in (X, X[order])]
    one, other = fits[0].labels[order], fits[1].labels
    assert abs(np.mean(one == other) - 0.5) == 0.5
    assert fits[0].objective == pytest.approx(fits[1].objective, rel=2e-3)  # epsilon


def test_tables_of_two_labelings():
    rng = np.random.default_rng(14)
    y, others = rng.random(20) < 0.5, rng.random((4, 20)) < 0.5
    for other, N in zip(others, two_by_two(others, y), strict=True):
        assert_array_equal(N, table((~other).astype(int), (~y).astype(int), 2))


@pytest.mark.parametrize("seed", range(6))
def test_the_program_on_a_line_is_the_best_of_all_its_corners(seed):
    rng = np.random.default_rng(seed)
    C, scale = 10.0 ** rng.uniform(-6, 2), 10.0 ** rng.uniform(-3, 9)
    g, d = scale * rng.standard_normal(7), rng.random(7)
    t, value = lowest_on_line(g, d, C)
    lines = np.append(g, 0.0), np.append(d, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # where two cuts cross, and where one alone is stationary
        corners = np.subtract.outer(lines[1], lines[1]) / np.subtract.outer(lines[0], lines[0])
    tried = np.concatenate([C * lines[0], corners[np.isfinite(corners)]])
    values = tried**2 / 2 + C * np.max(lines[1] - np.outer(tried, lines[0]), axis=1)
    assert value == pytest.approx(values.min(), rel=1e-6)
    assert value == t * t / 2 + C * max(0.0, (d - t * g).max())
    assert value <= C * d.max()
