"""Many kernels: the simplex program, prepared kernels, every method's objective, and the discrete refinement."""

from itertools import combinations, product

import numpy as np
import pytest
from multikernel_tasks import falls, gaussian, make_matrices, make_task, prepared_matrix
from numpy.testing import assert_allclose, assert_array_equal

from kernelclust.kernels import DenseKernel, LowRankKernel, WeightedSumKernel
from kernelclust.multikernel import (
    MKKM,
    MKKMMR,
    Average,
    Task,
    correlation_matrix,
    minimize_on_simplex,
    optimality_gap,
    prepare,
    refine,
)
from kernelclust.multikernel._refine import Unrelaxed, alignment, cluster_sums, label_scale
from kernelclust.multikernel._spectral import Subspace
from kernelclust.objectives import Dependence
from kernelclust.solvers._climb import climb
from kernelclust.structures import as_structure

# -- the simplex ------------------------------------------------------------------------------------------------------


def best_by_supports(Q):
    """Least x'Qx over the simplex, by solving the equations of every support."""
    m = len(Q)
    best = np.inf
    for size in range(1, m + 1):
        for support in combinations(range(m), size):
            inner = np.linalg.lstsq(Q[np.ix_(support, support)], np.ones(size), rcond=None)[0]
            if inner.sum() <= 0 or (inner < -1e-12).any():
                continue
            x = np.zeros(m)
            x[list(support)] = np.maximum(inner, 0) / np.maximum(inner, 0).sum()
            best = min(best, float(x @ Q @ x))
    return best


@pytest.mark.parametrize("seed", range(40))
def test_simplex_program_equals_enumeration_of_supports(seed):
    rng = np.random.default_rng(seed)
    m = 1 + seed % 6
    R = rng.standard_normal((max(1, m - seed % 2), m)) * 10.0 ** rng.uniform(-3, 3, m)
    Q = R.T @ R + np.diag(rng.uniform(0, 1, m)) * (seed % 3 > 0)
    x = minimize_on_simplex(Q)
    assert (x >= 0).all()
    assert x.sum() == pytest.approx(1, abs=1e-14)
    assert optimality_gap(Q, x) < 1e-8
    assert x @ Q @ x == pytest.approx(best_by_supports(Q), rel=1e-8, abs=1e-12 * np.abs(Q).max())


def test_simplex_program_by_hand():
    assert_allclose(minimize_on_simplex(np.diag([1.0, 2.0, 4.0])), np.array([4, 2, 1]) / 7)  # mu ~ 1 / Z
    assert_allclose(minimize_on_simplex(np.diag([1.0, 0.0, 4.0])), [0, 1, 0], atol=1e-12)  # no residual takes all
    assert_allclose(minimize_on_simplex(np.array([[1.0, 1.5], [1.5, 4.0]])), [1, 0])  # without a bound: a negative one
    assert_allclose(minimize_on_simplex(np.array([[3.0]])), [1])
    assert_allclose(minimize_on_simplex(np.zeros((2, 2))), [0.5, 0.5])
    assert optimality_gap(np.diag([1.0, 2.0]), np.array([0.5, 0.5])) > 0.1
    with pytest.raises(ValueError, match="semidefinite"):
        minimize_on_simplex(np.array([[0.0, -1.0], [-1.0, 0.0]]))


# -- kernels ----------------------------------------------------------------------------------------------------------


def test_prepared_kernels_are_centred_then_scaled():
    (K, *_), labels = make_matrices()
    before = K.copy()
    kernel, truth = prepare(DenseKernel(K)), prepared_matrix(K)
    V = np.random.default_rng(0).standard_normal((45, 4))
    assert_allclose(kernel @ V, truth @ V)
    assert_allclose(kernel.diagonal(), 1)
    assert kernel.trace() == pytest.approx(45)
    assert_allclose(kernel.affinity(V), K @ V)
    Pi = np.eye(3)[labels]
    assert_allclose(kernel.cluster_sums(labels, 3), Pi.T @ truth @ Pi)
    assert_array_equal(K, before)
    bare = prepare(DenseKernel(K, center=False), unit=False)
    assert_allclose(bare @ V, K @ V)
    only_scaled = prepare(DenseKernel(4 * K, center=False))
    assert_allclose(only_scaled @ V, K @ V)  # the Gaussian kernel has a unit diagonal already


def test_low_rank_kernels_are_prepared_alike():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((30, 4)) + 1
    V, labels = rng.standard_normal((30, 3)), np.arange(30) % 3
    for center, unit in product((True, False), repeat=2):
        low = prepare(LowRankKernel(B, center=center), unit=unit)
        dense = prepare(DenseKernel(B @ B.T, center=center), unit=unit)
        assert_allclose(low @ V, dense @ V, atol=1e-12)
        assert_allclose(low.diagonal(), dense.diagonal())
        assert_allclose(low.affinity(V), dense.affinity(V), atol=1e-12)
        assert_allclose(low.cluster_sums(labels, 3), dense.cluster_sums(labels, 3), atol=1e-12)
    single = prepare(LowRankKernel(B.astype(np.float32)))
    assert_allclose(single @ V, prepare(LowRankKernel(B)) @ V, atol=1e-5)


def test_missing_samples_have_zero_rows():
    (K, *_), labels = make_matrices()
    held = np.array([0, 2, 3, 7, 8, 20, 21, 30, 31, 32, 44])
    truth = np.zeros((45, 45))
    truth[np.ix_(held, held)] = 45 / 11 * prepared_matrix(K[np.ix_(held, held)])
    B = np.linalg.cholesky(K + 1e-12 * np.eye(45))[held]
    V = np.random.default_rng(0).standard_normal((45, 4))
    for operator in (DenseKernel(K[np.ix_(held, held)]), LowRankKernel(B)):
        kernel = prepare(operator, np.ones(45), held)
        assert_allclose(kernel @ V, truth @ V, atol=1e-9)
        assert kernel.trace() == pytest.approx(45)
        combined = WeightedSumKernel([kernel], np.ones(1))
        assert_allclose(combined @ V, truth @ V, atol=1e-9)
        assert_allclose(kernel.cluster_sums(labels, 3), np.eye(3)[labels].T @ truth @ np.eye(3)[labels], atol=1e-9)


def test_a_constant_sample_is_at_the_mean_not_at_infinity():
    kernel = prepare(LowRankKernel(np.array([[-1.0], [0.0], [1.0]])))
    assert_allclose(kernel.diagonal(), [1, 0, 1])
    dense = prepare(DenseKernel(np.outer([-1.0, 0, 1], [-1.0, 0, 1])))
    assert_allclose(dense @ np.eye(3), [[1, 0, -1], [0, 0, 0], [-1, 0, 1]])


def test_combination():
    matrices, _ = make_matrices()
    rng = np.random.default_rng(0)
    t, mu, V = rng.uniform(size=(45, 3)), np.array([0.2, 0.0, 0.8]), rng.standard_normal((45, 2))
    truth = sum(c * np.diag(s) @ prepared_matrix(K) @ np.diag(s) for c, s, K in zip(mu, t.T, matrices, strict=True))
    dense = [prepare(DenseKernel(K)) for K in matrices]
    factors = [prepare(LowRankKernel(np.linalg.cholesky(K + 1e-13 * np.eye(45)))) for K in matrices]
    for kernels in (dense, factors, [dense[0], factors[1], factors[2]]):
        assert_allclose(WeightedSumKernel(kernels, mu, t) @ V, truth @ V, atol=1e-9)
    single = [prepare(DenseKernel(K.astype(np.float32))) for K in matrices]
    assert_allclose(WeightedSumKernel(single, mu, t) @ V, truth @ V, atol=1e-4)
    plain = sum(c * prepared_matrix(K) for c, K in zip(mu, matrices, strict=True))
    assert_allclose(WeightedSumKernel(dense, mu).diagonal(), np.diag(plain))
    for kernels in (dense, [dense[0], factors[1], factors[2]]):
        combined = WeightedSumKernel(kernels, mu, t)
        assert_allclose(combined.rows(np.arange(45)), truth, atol=1e-9)
        assert_allclose(combined.diagonal(), np.diag(truth))


@pytest.mark.parametrize("spec", ["flat:3", "ring:4"])
@pytest.mark.parametrize("loss", [None, "structure"])
def test_climbing_without_a_combined_matrix_is_climbing_with_it(spec, loss):
    matrices, _ = make_matrices()
    mu = np.array([0.5, 0.2, 0.3])
    combined = WeightedSumKernel([prepare(DenseKernel(K)) for K in matrices], mu)
    K = sum(c * prepared_matrix(K) for c, K in zip(mu, matrices, strict=True))
    values, vectors = np.linalg.eigh(K)
    factor = LowRankKernel(vectors * np.sqrt(np.maximum(values, 0)), center=False)
    objective = Dependence(loss=loss, rho=0.0).bind(as_structure(spec))
    for seed in range(5):
        labels = np.random.default_rng(seed).permutation(np.arange(45) % objective.n_clusters)
        one, other = climb(combined, objective, labels), climb(factor, objective, labels)
        assert_array_equal(one.labels, other.labels)
        assert_allclose(one.history, other.history, rtol=1e-8)
        fresh = (combined @ np.eye(objective.n_clusters)[one.labels]).T
        assert_allclose(one.warm_start_sums, fresh, atol=1e-9)


def test_weighted_kernels_are_prepared_as_copies():
    (K, *_), labels = make_matrices()
    weight = np.random.default_rng(0).integers(1, 4, 45)
    copy = np.repeat(np.arange(45), weight)
    truth = prepared_matrix(K[np.ix_(copy, copy)])
    kernel = prepare(DenseKernel(K, weight.astype(float)))
    first = np.cumsum(weight) - weight
    assert_allclose(kernel.rows(np.arange(45)), truth[np.ix_(first, first)], atol=1e-12)
    assert kernel.trace() == pytest.approx(weight.sum())
    Pi = np.eye(3)[labels[copy]]
    assert_allclose(kernel.cluster_sums(labels, 3), Pi.T @ truth @ Pi, atol=1e-9)
    held = np.arange(0, 45, 2)
    some = prepare(DenseKernel(K[np.ix_(held, held)], weight[held].astype(float)), weight.astype(float), held)
    assert some.trace() == pytest.approx(weight.sum())  # however few it holds


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200])
def test_prepared_kernels_have_no_size(size):
    (K, *_), _ = make_matrices()
    V = np.random.default_rng(0).standard_normal((45, 2))
    kernel, truth = prepare(DenseKernel(size * K)), prepared_matrix(K)
    assert_allclose(kernel.diagonal(), 1, rtol=1e-9)
    assert_allclose(kernel.rows(np.arange(45)), truth, atol=1e-9)
    assert_allclose(kernel @ V, truth @ V, atol=1e-8)
    assert np.isfinite(kernel.raw_size())


# -- correlation between kernels --------------------------------------------------------------------------------------


def test_correlations():
    matrices, _ = make_matrices()
    kernels, K = [prepare(DenseKernel(one)) for one in matrices], [prepared_matrix(one) for one in matrices]
    H = np.eye(45) - 1 / 45
    assert_allclose(correlation_matrix(kernels), [[np.trace(a @ b) for b in K] for a in K])
    assert_allclose(
        correlation_matrix(kernels, "hsic"), [[np.trace(a @ H @ b @ H) / 44**2 for b in K] for a in K], rtol=1e-10
    )
    unit = [a / np.linalg.norm(a) for a in K]
    assert_allclose(
        correlation_matrix(kernels, "mmd"), [[np.exp(-(np.linalg.norm(a - b) ** 2)) for b in unit] for a in unit]
    )
    shares = [(1 + a) / (1 + a).sum() for a in K]

    def divergence(a, b):
        middle = (a + b) / 2
        return 0.5 * (a * np.log(a / middle)).sum() + 0.5 * (b * np.log(b / middle)).sum()

    assert_allclose(correlation_matrix(kernels, "kl"), [[np.exp(-divergence(a, b)) for b in shares] for a in shares])
    assert_allclose(correlation_matrix(kernels, lambda a, b: (a * b).sum()), correlation_matrix(kernels))
    for name in ("trace", "hsic", "mmd", "kl"):
        assert np.linalg.eigvalsh(correlation_matrix(kernels, name))[0] > 0
        low = [prepare(LowRankKernel(np.linalg.cholesky(one + 1e-13 * np.eye(45)))) for one in matrices]
        assert_allclose(correlation_matrix(low, name), correlation_matrix(kernels, name), rtol=1e-6)


def test_bad_correlations():
    kernels = [prepare(DenseKernel(K)) for K in make_matrices()[0]]
    with pytest.raises(ValueError, match="negative eigenvalue"):
        correlation_matrix(kernels, lambda a, b: np.linalg.norm(a - b))
    with pytest.raises(ValueError, match="not symmetric"):
        correlation_matrix(kernels, lambda a, b: a[0, 1])
    with pytest.raises(ValueError, match="Did you mean 'trace'"):
        correlation_matrix(kernels, "tracee")


# -- weights and eigenvectors (mkkm, mkkm-mr, average) ----------------------------------------------------------------


def objective_8(matrices, H, mu, lam):
    K = [prepared_matrix(one) for one in matrices]
    M = np.array([[np.trace(a @ b) for b in K] for a in K])
    rest = np.eye(len(H)) - H @ H.T
    return sum(w**2 * np.trace(one @ rest) for w, one in zip(mu, K, strict=True)) + lam / 2 * mu @ M @ mu


@pytest.mark.parametrize("lam", [0.0, 0.01, 1.0, "auto"])
@pytest.mark.parametrize("seed", range(3))
def test_objective_is_equation_8_and_falls(lam, seed):
    matrices, _ = make_matrices(seed)
    found = MKKMMR(lam=lam, tol=1e-12).solve(make_task(matrices))
    assert found.converged
    assert falls(found.history)
    assert len(found.history) > 2
    assert_allclose(found.embedding.T @ found.embedding, np.eye(3), atol=1e-10)
    value = objective_8(matrices, found.embedding, found.weights, found.lam)
    assert found.objective == pytest.approx(value, rel=1e-10)
    assert found.gap < 1e-8
    K = sum(w**2 * prepared_matrix(one) for w, one in zip(found.weights, matrices, strict=True))
    best = np.linalg.eigvalsh(K)[::-1][:3].sum()  # H is the best for the weights, too
    assert np.trace(found.embedding.T @ K @ found.embedding) == pytest.approx(best, rel=1e-5)


def test_the_small_space_ends_at_eigenvectors_and_best_weights():
    """Beyond the size up to which all is decomposed."""
    matrices, _ = make_matrices(n=400, noise=(1.0, 1.5, 3.0))
    found = MKKMMR(lam=0.01).solve(make_task(matrices))
    assert found.converged
    assert falls(found.history)
    value = objective_8(matrices, found.embedding, found.weights, found.lam)
    assert found.objective == pytest.approx(value, rel=1e-10)
    K = sum(w**2 * prepared_matrix(one) for w, one in zip(found.weights, matrices, strict=True))
    best = np.linalg.eigvalsh(K)[::-1][:3].sum()
    assert np.trace(found.embedding.T @ K @ found.embedding) == pytest.approx(best, rel=1e-6)


def test_without_lam_it_is_mkkm():
    matrices, _ = make_matrices()
    found, plain = MKKMMR(lam=0.0, tol=1e-12).solve(make_task(matrices)), MKKM(tol=1e-12).solve(make_task(matrices))
    assert_allclose(found.weights, plain.weights)
    rest = np.eye(45) - found.embedding @ found.embedding.T
    Z = np.array([np.trace(prepared_matrix(K) @ rest) for K in matrices])
    assert_allclose(found.weights, (1 / Z) / (1 / Z).sum())


def test_large_lam_leaves_the_regularisation_alone():
    matrices, _ = make_matrices()
    task = make_task(matrices)
    assert_allclose(MKKMMR(lam=1e9).solve(task).weights, minimize_on_simplex(task.M), atol=1e-6)


def test_the_authors_program_may_rise():
    matrices, _ = make_matrices(6)
    rising = MKKMMR(lam=0.0, tol=-1.0, power=1).solve(make_task(matrices, max_iter=15)).history
    assert not falls(rising, 1e-5)
    assert falls(MKKMMR(lam=0.0, tol=-1.0).solve(make_task(matrices, max_iter=15)).history)


def test_order_of_kernels_and_of_samples_does_not_matter():
    matrices, _ = make_matrices()
    found = MKKMMR().solve(make_task(matrices))
    turned = MKKMMR().solve(make_task([matrices[p] for p in (2, 0, 1)]))
    assert_allclose(turned.weights, found.weights[[2, 0, 1]], rtol=1e-5)
    order = np.random.default_rng(0).permutation(45)
    shuffled = MKKMMR().solve(make_task([K[np.ix_(order, order)] for K in matrices]))
    assert_allclose(shuffled.weights, found.weights, rtol=1e-5)


def test_copies_of_a_kernel_share_its_weight():
    matrices, _ = make_matrices()
    two, three = matrices[:2], [matrices[0], matrices[0], matrices[1]]
    for lam in (1e-3, 0.1, 1e9):
        weights = MKKMMR(lam=lam).solve(make_task(three)).weights
        assert weights[0] == pytest.approx(weights[1], abs=1e-6)
    assert_allclose([2 * weights[0], weights[2]], MKKMMR(lam=1e9).solve(make_task(two)).weights, atol=1e-4)
    copied = MKKM().solve(make_task(three)).weights  # plain weights give the copy a second vote
    single = MKKM().solve(make_task(two)).weights
    assert copied[:2].sum() > single[0] + 0.05


def test_auto_lam_does_not_depend_on_scale_or_number_of_samples():
    matrices, _ = make_matrices()

    def solve(matrices):
        kernels = [prepare(DenseKernel(K), unit=False) for K in matrices]
        return MKKMMR().solve(Task(kernels, 3, np.random.RandomState(0), correlation_matrix(kernels)))

    found, scaled = solve(matrices), solve([7 * K for K in matrices])
    assert scaled.lam == pytest.approx(found.lam / 7)
    assert_allclose(scaled.weights, found.weights, rtol=1e-5)
    twice = solve([np.kron(np.ones((2, 2)), K) for K in matrices])
    assert_allclose(twice.weights, found.weights, rtol=1e-5)
    M = correlation_matrix([prepare(DenseKernel(K)) for K in matrices])
    auto = MKKMMR().solve(make_task(matrices))
    H = Average().solve(make_task(matrices)).embedding
    Z = [45 - np.trace(H.T @ prepared_matrix(K) @ H) for K in matrices]
    assert auto.lam == pytest.approx(2 * np.mean(Z) / np.mean(np.diag(M)))


def test_average_is_the_mean_kernel():
    matrices, _ = make_matrices()
    found = Average().solve(make_task(matrices))
    values = np.linalg.eigvalsh(sum(prepared_matrix(K) for K in matrices) / 3)
    assert found.objective == pytest.approx(values[:-3].sum())
    assert_allclose(found.weights, 1 / 3)


def test_a_degenerate_kernel_takes_all_unless_prevented():
    matrices, _ = make_matrices()
    matrices[2] = np.outer(np.sin(np.arange(45)), np.sin(np.arange(45)))  # of rank one
    assert MKKM().solve(make_task(matrices)).weights[2] > 0.999
    ridge = MKKM(ridge=0.1).solve(make_task(matrices))
    assert ridge.weights[2] < 0.8
    assert falls(ridge.history)
    assert MKKMMR().solve(make_task(matrices)).weights[2] < 0.5


def test_a_single_kernel_is_kernel_k_means():
    (K, *_), _ = make_matrices()
    for method in (MKKMMR(lam=0.0), MKKM(), Average()):
        found = method.solve(make_task([K]))
        assert_array_equal(found.weights, [1])
        assert found.objective == pytest.approx(np.linalg.eigvalsh(prepared_matrix(K))[:-3].sum())


# -- refinement -------------------------------------------------------------------------------------------------------


def unrelaxed_8(matrices, labels, mu, lam):
    """Eq. (8) with true labels: distances to means in the feature space of every kernel."""
    K = [prepared_matrix(one) for one in matrices]
    M = np.array([[np.trace(a @ b) for b in K] for a in K])
    total = lam / 2 * mu @ M @ mu
    for w, one in zip(mu, K, strict=True):
        for c in np.unique(labels):
            inside = one[np.ix_(labels == c, labels == c)]
            total += w**2 * (np.trace(inside) - inside.mean() * len(inside))
    return total


@pytest.mark.parametrize("lam", [0.0, 0.02, "auto"])
@pytest.mark.parametrize("seed", range(3))
def test_flat_refinement_is_the_unrelaxed_equation_8(lam, seed):
    matrices, _ = make_matrices(seed, noise=(1.0, 1.5, 3.0))
    task = make_task(matrices)
    relaxed = MKKMMR(lam=lam).solve(task)
    start = np.random.default_rng(seed).permutation(np.arange(45) % 3)
    found = refine(task, relaxed, start, Dependence(rho=0.0).bind(as_structure("flat", 3)))
    assert found.converged
    assert falls(found.history)
    assert found.gap < 1e-8
    value = unrelaxed_8(matrices, found.labels, found.weights, relaxed.lam)
    assert found.objective == pytest.approx(value, rel=1e-9)
    assert found.objective >= relaxed.objective  # the relaxation is a bound
    for i, c in product(range(45), range(3)):  # no move of a sample helps
        moved = found.labels.copy()
        moved[i] = c
        assert unrelaxed_8(matrices, moved, found.weights, relaxed.lam) >= value - 1e-8


def test_refinement_finds_the_best_of_all_labelings_of_a_tiny_problem():
    matrices, _ = make_matrices(1, n=9, noise=(0.5, 0.8))
    task, method = make_task(matrices), MKKMMR(lam=0.05)
    objective = Dependence(rho=0.0).bind(as_structure("flat", 3))
    J = Unrelaxed(task, objective)
    best = np.inf
    for rest in product(range(3), repeat=8):
        labels = np.array([0, *rest])
        if len(set(labels)) == 3:
            Q = np.diag(J.residuals(J.sums(labels), J.sizes(labels))) + 0.025 * task.M
            mu = minimize_on_simplex(Q)
            best = min(best, float(mu @ Q @ mu))
    found = refine(task, method.solve(task), np.arange(9) // 3, objective)
    assert found.objective == pytest.approx(best)


@pytest.mark.parametrize("normalize", ["l2", "l1", None])
@pytest.mark.parametrize(("text", "loss"), [("ring:5", None), ("tree:2x2", "structure"), ("chain:4", "zero-one")])
def test_residuals_are_never_negative_and_refinement_falls(text, loss, normalize):
    structure = as_structure(text)
    objective = Dependence(loss=loss, normalize=normalize, rho=1.0).bind(structure)
    c = structure.n_clusters
    rng = np.random.default_rng(0)
    K = rng.standard_normal((20, 2))
    task, method = make_task([K @ K.T, gaussian(K)], c), MKKMMR(lam=0.1)
    try:
        J = Unrelaxed(task, objective)
    except ValueError as error:
        assert "no finite bound" in str(error) and normalize == "l1"
        return
    for _ in range(50):
        labels = rng.integers(c, size=20)
        n = np.bincount(labels, minlength=c).astype(float)
        E = objective.weights(n)[np.ix_(labels, labels)]
        assert np.linalg.eigvalsh(E)[-1] <= J.t * (1 + 1e-12)
    start = np.arange(20) % c
    found = refine(task, method.solve(task), start, objective)
    assert falls(found.history)
    n = J.sizes(found.labels)
    Q = np.diag(J.residuals(J.sums(found.labels), n)) + 0.05 * task.M
    value = found.weights @ Q @ found.weights + J.penalty(n)
    assert found.objective == pytest.approx(value)


def test_structured_refinement_states_its_objective():
    matrices, _ = make_matrices(2, c=5)
    task, method = make_task(matrices, 5), MKKMMR(lam=0.03)
    objective = Dependence(rho=1.0).bind(as_structure("ring:5"))
    found = refine(task, method.solve(task), np.arange(45) % 5, objective)
    P = np.eye(5)[found.labels] / np.sqrt(np.bincount(found.labels))
    A = objective.A / np.linalg.eigvalsh(objective.A)[-1]
    rest = np.eye(45) - P @ A @ P.T
    value = sum(w**2 * np.trace(prepared_matrix(K) @ rest) for w, K in zip(found.weights, matrices, strict=True))
    assert found.objective == pytest.approx(value + 0.015 * found.weights @ task.M @ found.weights)


def test_label_scale_is_reached():
    assert label_scale(Dependence(rho=0.0).bind(as_structure("flat", 4)), 30) == 1
    objective = Dependence(rho=1.0).bind(as_structure("ring:5"))
    n = np.full(5, 6.0)
    E = objective.weights(n)[np.ix_(np.arange(30) % 5, np.arange(30) % 5)]
    assert np.linalg.eigvalsh(E)[-1] == pytest.approx(label_scale(objective, 30))


def test_refinement_with_fixed_weights_is_kernel_k_means_of_the_combination():
    matrices, _ = make_matrices(2, noise=(1.0, 2.0))
    task = make_task(matrices)
    found = refine(task, Average().solve(task), np.arange(45) // 15, Dependence(rho=0.0).bind(as_structure("flat", 3)))
    mean = sum(prepared_matrix(K) for K in matrices) / 2
    value = np.trace(mean) - sum(
        mean[np.ix_(found.labels == c, found.labels == c)].sum() / (found.labels == c).sum() for c in range(3)
    )
    assert found.objective == pytest.approx(value)
    assert falls(found.history)


def test_alignment():
    matrices, labels = make_matrices()
    task = make_task(matrices)
    T, c, n = task.M, np.array([0.2, 0.5, 0.1]), np.full(3, 15.0)
    K = sum(w * prepared_matrix(one) for w, one in zip(c, matrices, strict=True))
    P = np.eye(3)[labels] / np.sqrt(15)
    value = (K * (P @ P.T)).sum() / np.linalg.norm(K) / np.linalg.norm(P @ P.T)
    assert alignment(cluster_sums(task.kernels, labels, 3), n, T, c) == pytest.approx(value)
    far = np.bincount(5 * labels, minlength=11).astype(float)  # empty clusters and scale do not count
    assert alignment(cluster_sums(task.kernels, 5 * labels, 11), far, T, 7 * c) == pytest.approx(value)
    ideal = Task([prepare(DenseKernel(P @ P.T, center=False))], 3, np.random.RandomState(0), np.eye(1))
    one = alignment(cluster_sums(ideal.kernels, labels, 3), n, correlation_matrix(ideal.kernels), np.ones(1))
    assert one == pytest.approx(1)


def test_a_path_of_lam_shares_a_space():
    matrices, _ = make_matrices(n=400)
    method, task = MKKMMR(), make_task(matrices)
    balanced = method.solve(task)
    variants = method.variants(task)
    assert len({id(one.space) for _, one in variants}) == 1
    for variant, one in variants:
        found, alone = variant.solve(one), MKKMMR(lam=variant.lam).solve(make_task(matrices))
        assert found.objective == pytest.approx(alone.objective, rel=1e-5)
        assert_allclose(found.weights, alone.weights, atol=1e-3)
    assert balanced.lam in [pytest.approx(variant.lam, rel=1e-3) for variant, _ in variants]


def test_the_space_serves_one_combination_after_another():
    matrices, _ = make_matrices(n=400)
    kernels = [prepare(DenseKernel(K)) for K in matrices]
    space = Subspace(kernels, 3, np.random.RandomState(0), traces=np.full(3, 400.0))
    for mu in ([1.0, 0.0, 0.0], [0.3, 0.3, 0.4], [0.0, 0.0, 1.0]):
        residuals = space.converge(np.array(mu))
        K = sum(w * prepared_matrix(one) for w, one in zip(mu, matrices, strict=True))
        H = np.linalg.eigh(K)[1][:, -3:]
        truth = [400 - np.trace(H.T @ prepared_matrix(one) @ H) for one in matrices]
        assert_allclose(residuals, truth, rtol=1e-5)
