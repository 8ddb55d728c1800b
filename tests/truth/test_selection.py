"""The stability bound holds and is reached, its terms are what they say, and selections find what is there."""

import importlib
import tracemalloc
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from flat_parameters import build
from numpy.testing import assert_allclose

from kernelclust import KernelKMeans, StructuredClustering, select_n_clusters
from kernelclust.engine import _fit as engine
from kernelclust.kernels import RBF, Graph, Polynomial, incomplete_cholesky
from kernelclust.metrics import clustering_distance, dependence, hsic, hsic_test
from kernelclust.selection import _refits, stability_bound
from kernelclust.solvers import Greedy
from kernelclust.structures import as_structure

SPECTRAL = Greedy(init="spectral")


def centre(m):
    return np.eye(m) - 1 / m


def projection(y):
    """Centred P P' of a labelling."""
    P = np.eye(y.max() + 1)[y]
    P /= np.sqrt(P.sum(axis=0))
    return P @ P.T - 1 / len(y)


def labelling(m, c, rng):
    return rng.permutation(np.r_[np.arange(c), rng.integers(0, c, m - c)])


def problem(rng):
    """A kernel with clusters, its labels, and the same kernel after a disturbance of any size."""
    m = int(rng.integers(4, 22))
    c, d = int(rng.integers(2, min(m, 6))), int(rng.integers(1, m + 3))
    y = labelling(m, c, rng)
    B = rng.standard_normal((m, d)) + rng.exponential(2) * (np.eye(c)[y] @ rng.standard_normal((c, d)))
    disturbed = B + 10 ** rng.uniform(-4, 1) * rng.standard_normal((m, d))
    return B @ B.T, disturbed @ disturbed.T, y, c


# -- the bound ---------------------------------------------------------------------------------------------------------


def test_the_bound_is_never_violated():
    rng = np.random.default_rng(0)
    tightest = np.inf
    for draw in range(1200):
        K, disturbed, y, c = problem(rng)
        z = y if draw % 4 == 0 else labelling(len(y), c, rng)
        result = stability_bound(K, y, disturbed, z)
        assert result.distance <= result.bound * (1 + 1e-9) + 1e-9
        if result.distance > 0:
            tightest = min(tightest, result.bound / result.distance)
    assert tightest < 2  # draws come near it


def test_without_other_labels_it_holds_for_every_clustering_that_is_as_good():
    rng = np.random.default_rng(1)
    seen = 0
    for _ in range(40):
        m, c = 6, int(rng.integers(2, 4))
        y = labelling(m, c, rng)
        B = np.eye(c)[y] @ rng.standard_normal((c, 3)) + 0.3 * rng.standard_normal((m, 3))
        disturbed = B + 0.1 * rng.standard_normal((m, 3))
        result = stability_bound(B @ B.T, y, disturbed @ disturbed.T)
        assert np.isnan(result.distance)
        K = centre(m) @ disturbed @ disturbed.T @ centre(m)
        reached = np.vdot(K, projection(y))
        for labels in product(range(c), repeat=m):
            z = np.array(labels)
            if len(set(labels)) == c and np.vdot(K, projection(z)) >= reached:
                seen += 1
                assert clustering_distance(y, z) <= result.bound * (1 + 1e-9) + 1e-9
    assert seen > 100


@pytest.mark.parametrize("c", [2, 3, 4])
def test_the_bound_is_reached(c):
    rng = np.random.default_rng(c)
    y, z = labelling(15, c, rng), labelling(15, c, rng)
    two_levels = [3 * projection(labels) + centre(15) for labels in (y, z)]
    turned = stability_bound(two_levels[0], y, two_levels[1], z)  # all of it in gamma
    assert_allclose([turned.delta, turned.delta_perturbed], 0, atol=1e-12)
    assert_allclose(turned.bound, turned.distance, rtol=1e-6)
    left = stability_bound(two_levels[0], z, two_levels[0], y)  # all of it in delta
    assert_allclose([left.gamma, left.delta_perturbed], 0, atol=1e-12)
    assert_allclose(left.bound, left.distance, rtol=1e-6)
    assert_allclose(left.distance, clustering_distance(y, z))


def test_terms_are_those_of_the_theorem():
    rng = np.random.default_rng(3)
    for _ in range(30):
        K, disturbed, y, c = problem(rng)
        z = labelling(len(y), c, rng)
        H = centre(len(y))
        (values, _), (others, V) = (np.linalg.eigh(H @ M @ H) for M in (K, disturbed))
        top, gap = values[::-1][: c - 1].sum(), values[-c + 1] - values[-c]
        other_top, other_gap = others[::-1][: c - 1].sum(), others[-c + 1] - others[-c]
        if min(gap, other_gap) < 1e-6 * values[-1]:
            continue
        V = V[:, ::-1][:, : c - 1]
        result = stability_bound(K, y, disturbed, z)
        delta = (top - np.vdot(H @ K @ H, projection(y))) / gap
        delta_perturbed = (other_top - np.vdot(H @ disturbed @ H, projection(z))) / other_gap
        gamma = (top - np.trace(V.T @ H @ K @ H @ V)) / gap
        found = [result.delta, result.delta_perturbed, result.gamma, result.gap, result.gap_perturbed]
        assert_allclose(found, [delta, delta_perturbed, gamma, gap, other_gap], rtol=1e-6, atol=1e-9)
        assert_allclose(result.distance, ((projection(y) - projection(z)) ** 2).sum(), atol=1e-9)
        assert result.distance <= result.largest + 1e-9


def test_bound_does_not_see_order_names_units_or_a_constant():
    rng = np.random.default_rng(4)
    K, disturbed, y, _ = problem(rng)
    expected = stability_bound(K, y, disturbed)
    p = rng.permutation(len(y))
    names = np.array(["d", "a", "c", "b", "f", "e"])[y]
    moved = stability_bound(K[np.ix_(p, p)], names[p], disturbed[np.ix_(p, p)])
    scaled = stability_bound(7 * K + 5, y, 7 * disturbed - 2)
    for other in (moved, scaled):
        assert_allclose([*other[3:6], other.bound], [*expected[3:6], expected.bound], rtol=1e-6)


def test_no_eigengap_no_bound():
    y = np.array([0, 0, 1, 1, 2, 2])
    assert stability_bound(np.eye(6), y, np.eye(6), np.array([0, 1, 1, 2, 2, 0])).bound == np.inf
    assert stability_bound(np.ones((6, 6)), y).bound == np.inf


def test_large_kernels_are_solved_as_small_ones(monkeypatch):
    from kernelclust.selection import _bound

    rng = np.random.default_rng(5)
    y = labelling(90, 3, rng)
    B = 3 * np.eye(3)[y] + rng.standard_normal((90, 3))
    K, disturbed = B @ B.T, B @ B.T + np.diag(rng.random(90))
    dense = stability_bound(K, y, disturbed)
    monkeypatch.setattr(_bound, "EXACT", 10)
    assert_allclose(stability_bound(K, y, disturbed), dense, rtol=1e-8)


# -- the incomplete Cholesky factor that the eigengap guides -----------------------------------------------------------


@pytest.mark.parametrize("c", [2, 3, 5])
def test_the_factor_stops_when_what_is_left_is_below_the_eigengap(c):
    rng = np.random.default_rng(c)
    X = np.repeat(4 * rng.standard_normal((c, 3)), 30, axis=0) + 0.5 * rng.standard_normal((30 * c, 3))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 8)
    m, H = len(K), centre(len(K))

    def left_and_gap(B):
        values = np.linalg.eigvalsh(H @ B @ B.T @ H)[::-1]
        return np.trace(K - B @ B.T), values[c - 2] - values[c - 1], values

    B, pivots = incomplete_cholesky(np.diag(K), lambda index: K[:, index], m, n_clusters=c)
    left, gap, values = left_and_gap(B)
    assert c - 1 <= B.shape[1] < m / 2
    assert left <= gap
    before = next(r for r in range(B.shape[1] - 1, 0, -1) if r + max(1, r // 16) <= B.shape[1])
    assert left_and_gap(B[:, :before])[0] > left_and_gap(B[:, :before])[1]
    exact = np.linalg.eigvalsh(H @ K @ H)[::-1]
    assert (values <= exact + 1e-9).all() and (exact <= values + left + 1e-9).all()
    model = KernelKMeans(c, kernel=RBF(gamma=1 / 8), random_state=0)
    same = clustering_distance(model.fit_predict(X), model.set_params(approximation="cholesky").fit_predict(X))
    assert same < 1e-9
    assert len(set(pivots)) == B.shape[1]


def test_weights_are_repeats_for_the_guided_factor():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 2)) + np.repeat([[0, 0], [5, 0]], [10, 15], axis=0)
    weight = rng.integers(1, 4, 25)

    def factor(X, **weights):
        K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
        return incomplete_cholesky(np.diag(K), lambda index: K[:, index], len(X), n_clusters=2, **weights)[0]

    weighted, repeated = factor(X, weight=weight.astype(float)), factor(np.repeat(X, weight, axis=0))
    assert weighted.shape[1] == repeated.shape[1]
    assert_allclose(weighted @ weighted.T, (repeated @ repeated.T)[np.ix_(*2 * [np.cumsum(weight) - 1])], atol=1e-9)


def test_a_given_rank_is_kept():
    X = np.random.default_rng(0).standard_normal((60, 4))
    K = X @ X.T + np.eye(60)
    assert incomplete_cholesky(np.diag(K), lambda index: K[:, index], 17)[0].shape == (60, 17)


# -- HSIC test ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_level_of_the_permutation_test(estimator):
    rng = np.random.default_rng(0)
    p_values = []
    for draw in range(400):
        x, y = rng.standard_exponential((12, 1)), rng.integers(0, 3, 12)
        K, L = np.exp(-((x - x.T) ** 2)), (y[:, None] == y).astype(float)
        p_values.append(hsic_test(K, L, 19, random_state=draw, estimator=estimator).p_value)
    p_values = np.array(p_values)
    for level in (0.05, 0.1, 0.25, 0.5):  # at most the level, within three standard errors, and not far below it
        share = np.mean(p_values <= level + 1e-12)
        assert level / 2 < share <= level + 3 * np.sqrt(level * (1 - level) / 400)


def test_permutation_test_holds_one_copy(monkeypatch):
    monkeypatch.setattr(dependence, "BLOCK", 2**14)
    monkeypatch.setattr(dependence, "GATHER", 2**14)
    K = np.random.default_rng(0).standard_normal((500, 3))
    K = K @ K.T
    tracemalloc.start()
    result = hsic_test(K, K, 2, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert K.nbytes < peak < 1.6 * K.nbytes
    assert_allclose(result.statistic, hsic(K, K))


# -- statistics --------------------------------------------------------------------------------------------------------


def fitted(X, **params):
    ((only, _),) = _refits._fit_all(X, [build(StructuredClustering, **({"kernel": "rbf", "random_state": 0} | params))])
    return only


def test_statistics_equal_their_dense_formulas():
    rng = np.random.default_rng(0)
    X = np.repeat(3 * rng.standard_normal((5, 3)), [8, 6, 9, 5, 7], axis=0) + 0.3 * rng.standard_normal((35, 3))
    fit = fitted(X, structure="ring:5")
    K = fit.kernel.operator @ np.eye(35)
    P = np.eye(5)[fit.labels] / np.sqrt(fit.n)
    L = centre(35) @ P @ as_structure("ring:5").kernel @ P.T @ centre(35)
    within = sum(K[i, i] for i in range(35)) - np.vdot(K, P @ P.T)
    assert_allclose(_refits.explained(fit), -np.log(within / np.trace(K)))
    other = fitted(X + 0.5 * rng.standard_normal(X.shape), structure="ring:5")
    Q = np.eye(5)[other.labels] / np.sqrt(other.n)
    M = centre(35) @ Q @ as_structure("ring:5").kernel @ Q.T @ centre(35)
    dense = np.vdot(L, M) / np.linalg.norm(L) / np.linalg.norm(M)
    assert_allclose(_refits.label_alignment(fit, other), dense)
    turned = (3 - fit.labels) % 5  # a ring turned and mirrored is the same arrangement
    swapped = np.array([1, 0, 2, 3, 4])[fit.labels]
    same, different = (
        replace(fit, labels=labels, n=np.bincount(labels, minlength=5).astype(float)) for labels in (turned, swapped)
    )
    assert_allclose(_refits.label_alignment(fit, same), 1)
    assert _refits.label_alignment(fit, different) < 0.95


def test_flat_movement_is_the_distance_of_the_theorem():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 2))
    a, b = fitted(X, n_clusters=4), fitted(X + rng.standard_normal(X.shape), n_clusters=4)
    assert_allclose(1 - _refits.label_alignment(a, b), clustering_distance(a.labels, b.labels) / 6)


def test_movement_in_a_study_is_that_of_refits_on_noisy_copies():
    X = np.random.RandomState(0).standard_normal((40, 3)) + np.repeat(
        [[0, 0, 0], [4, 0, 0], [0, 4, 0], [4, 4, 0]], 10, axis=0
    )
    model = StructuredClustering(4, kernel=RBF(gamma=0.1), random_state=0)
    settings = {"noise": 0.2, "n_perturbations": 3, "null": "gaussian", "n_null": 0, "seed": 5, "report": print}
    (measured,) = _refits.study(X, [("rbf", model)], _refits.explained, **settings)
    for t, noise in enumerate([0.1, 0.2, 0.05]):
        Z = _refits.disturbed(X, noise, np.random.RandomState(6 + t))
        ((other, _),) = _refits._fit_all(Z, [model])
        distance = clustering_distance(measured.model.labels_, other.labels)
        assert_allclose(measured.moved[t], distance / 6, atol=1e-12)


@pytest.mark.parametrize("kernel, made", [("rbf", 5), ("graph", 15)])
def test_kernels_are_made_once_for_every_data_set(kernel, made, monkeypatch):
    count, make = [], engine.fit_kernel

    def counted(*args, **settings):
        count.append(1)
        return make(*args, **settings)

    monkeypatch.setattr(engine, "fit_kernel", counted)
    X = np.random.default_rng(0).standard_normal((60, 2))
    select_n_clusters(X, [2, 5, 9], kernel=kernel, n_perturbations=2, n_null=2, solver=SPECTRAL, random_state=0)
    assert len(count) == made  # a neighbour graph looks at the number of clusters, so each has its own


def test_noise_is_a_share_of_every_column():
    X = np.random.RandomState(0).standard_normal((5000, 3)) * [1, 10, 0] + 7
    added = _refits.disturbed(X, 0.2, np.random.RandomState(1)) - X
    assert_allclose(added.std(axis=0), [0.2, 2, 0], rtol=0.05)


@pytest.mark.parametrize("null", _refits.NULLS)
def test_references_keep_what_they_say(null):
    rng = np.random.RandomState(0)
    X = np.repeat([[0.0, 0, 0], [5, 5, 0]], 2000, axis=0) + rng.standard_normal((4000, 3)) * [1, 1, 3]
    Z = _refits.references(X, null)(rng)
    assert Z.shape == X.shape
    assert_allclose(Z.mean(axis=0), X.mean(axis=0), atol=0.5)
    if null == "gaussian":
        assert_allclose(np.cov(Z.T), np.cov(X.T), atol=0.6)
        fourth = ((Z - Z.mean(axis=0)) ** 4).mean(axis=0) / Z.var(axis=0) ** 2  # 3 for a normal cloud, less for two
        assert_allclose(fourth, 3, atol=0.4)
    elif null == "columns":
        assert_allclose(np.sort(Z, axis=0), np.sort(X, axis=0))
        assert abs(np.corrcoef(Z.T)[0, 1]) < 0.1 < abs(np.corrcoef(X.T)[0, 1])
    else:
        main = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2]
        along, reach = (Z - X.mean(axis=0)) @ main.T, (X - X.mean(axis=0)) @ main.T
        assert (along.min(axis=0) >= reach.min(axis=0) - 1e-9).all()
        assert_allclose(along.std(axis=0), np.ptp(reach, axis=0) / np.sqrt(12), rtol=0.05)


# -- selections --------------------------------------------------------------------------------------------------------


def ring(rng):
    y, angle = np.repeat([0, 4], 80), rng.uniform(0, 2 * np.pi, 160)
    noise = np.where(y == 0, 0.6, 0.25)[:, None] * rng.standard_normal((160, 2))
    return y[:, None] * np.c_[np.cos(angle), np.sin(angle)] + noise, 2


def xor(rng):
    return 2.0 * rng.permutation(np.tile([[1, 1], [-1, -1], [1, -1], [-1, 1]], (30, 1))) + 0.6 * rng.standard_normal(
        (120, 2)
    ), 2


@pytest.mark.parametrize("make, best", [(ring, 2), (xor, 1)])
def test_noise_turns_the_right_kernel_least_as_figure_2_of_the_paper_shows(make, best):
    X, c = make(np.random.default_rng(0))
    gamma = np.zeros((3, 3))  # levels of noise, kernels
    for t, noise in enumerate([0.1, 0.2, 0.05]):
        noisy = _refits.disturbed(X, noise, np.random.RandomState(t))
        for k, kernel in enumerate([RBF(), Polynomial(degree=2, coef0=0), Graph()]):
            before, after = (fitted(Z, n_clusters=c, kernel=kernel) for Z in (X, noisy))
            K, disturbed = (one.kernel.operator @ np.eye(len(X)) for one in (before, after))
            gamma[t, k] = stability_bound(K, before.labels, disturbed, after.labels).gamma
    assert np.argmin((gamma / gamma.sum(axis=1, keepdims=True)).mean(axis=0)) == best


@pytest.mark.parametrize("c", [2, 4, 5])
def test_the_number_of_separate_groups_is_found(c):
    rng = np.random.default_rng(c)
    X = np.repeat(10 * np.eye(5)[:c], 15, axis=0) + rng.standard_normal((15 * c, 5))
    selection = select_n_clusters(X, [2, 3, 4, 5, 6], n_perturbations=0, n_null=6, random_state=0)
    assert selection.best == c
    assert selection.rows[selection.best_index].p_value == pytest.approx(1 / 7)
    assert len(np.unique(selection.labels_)) == c


def test_p_values_keep_their_level_without_clusters():
    rng = np.random.default_rng(0)
    p_values = []
    for draw in range(24):
        X = rng.standard_normal((40, 3)) * [3, 2, 1] + 5
        selection = select_n_clusters(X, [2, 4], n_perturbations=0, n_null=4, solver=SPECTRAL, random_state=draw)
        p_values.append([row.p_value for row in selection.rows])
    low = np.sum(np.array(p_values) <= 0.2, axis=0)  # a fifth is expected
    assert (low <= 11).all() and low.sum() > 1


def test_selection_does_not_see_order_of_samples():
    X, _ = xor(np.random.default_rng(3))
    p = np.random.default_rng(4).permutation(len(X))
    K = X @ X.T + 0.1 * np.eye(len(X))

    def everything(X, K):
        settings = {"n_perturbations": 2, "n_null": 2, "random_state": 0, "solver": Greedy(n_init=2)}
        return [
            select_n_clusters(X, [2, 3], **settings),
            select_n_clusters(K, [2, 3], kernel="precomputed", **settings),
        ]

    for given, moved in zip(everything(X, K), everything(X[p], K[np.ix_(p, p)]), strict=True):
        assert repr(given.rows) == repr(moved.rows)
        assert given.best == moved.best
        assert clustering_distance(given.labels_[p], moved.labels_) < 1e-9


def test_benchmark_reads_tables_and_counts(tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    benchmark = importlib.import_module("selection")
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = np.c_[4.0 * y, rng.standard_normal(40), np.ones(40)] + 0.1 * rng.standard_normal((40, 1)) * [1, 1, 0]
    X[3, 1] = np.nan
    np.savez(tmp_path / "iris.npz", X=X, y=y)
    monkeypatch.setattr(benchmark, "PAPER", {"iris": benchmark.PAPER["iris"]})
    assert benchmark.table_1(tmp_path, range(1)) == 0
    assert "39, 2, 2     0.0     0.0" in capsys.readouterr().out


def test_the_sentence_says_what_the_table_says():
    """The smallest number that one more does not beat by two standard errors of the difference; and by how much."""
    X = np.repeat(4 * np.eye(3), 20, axis=0) + np.random.default_rng(0).standard_normal((60, 3))
    found = select_n_clusters(X, range(2, 6), n_perturbations=0, n_null=5, random_state=0)
    score = np.array([row.score for row in found.rows])
    null = np.array([found.null[row.name] for row in found.rows])
    errors = 2 * np.std(null[1:] - null[:-1], axis=1) * np.sqrt(1 + 1 / 5)
    enough = [i for i in range(3) if score[i] >= score[i + 1] - errors[i]]
    assert found.best == range(2, 6)[enough[0]] == 3
    change = score[2] - score[1]
    said = f"falls by {-change:.2g}" if change < 0 else f"rises by {change:.2g}, within two standard errors"
    assert found.reason.startswith("3 clusters: with 4") and said in found.reason
