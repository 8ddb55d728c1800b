"""The rival multi-kernel methods: every one's objective, written out; `tests/contracts/` holds them to the rest."""

from itertools import combinations

import numpy as np
import pytest
from multikernel_tasks import falls, gaussian, make_matrices, make_task, prepared_matrix
from numpy.testing import assert_allclose

from kernelclust import MultiKernelClustering
from kernelclust.kernels import DenseKernel
from kernelclust.multikernel import MKKM, Task, prepare
from reproduction.multikernel import CRSC, LMKKM, RMKC, RMKKM, RMSC, lmkkm, rmkc, rmsc
from reproduction.multikernel._eigen import leading_eigenvectors
from reproduction.multikernel._simplex import project_on_simplex


def test_projection_on_the_simplex_is_the_nearest_point():
    rng = np.random.default_rng(0)
    V = 2 * rng.standard_normal((50, 4))
    P = project_on_simplex(V)
    assert (P >= 0).all()
    assert_allclose(P.sum(axis=1), 1)
    for _ in range(50):  # no point of the simplex lies on the far side
        other = rng.dirichlet(np.ones(4), 50)
        assert (((V - P) * (other - P)).sum(axis=1) <= 1e-12).all()
    assert_allclose(project_on_simplex(P), P, atol=1e-12)


def test_block_eigenvectors_equal_a_full_decomposition():
    rng = np.random.default_rng(0)
    for n in (60, 400):
        R = np.linalg.qr(rng.standard_normal((n, n)))[0]
        values = np.r_[10, 9, 8.5, 8, np.linspace(7.5, 0, n - 4)]
        K = (R * values) @ R.T
        found, V = leading_eigenvectors(lambda X, K=K: K @ X, rng.standard_normal((n, 8)), 4)
        assert_allclose(found[:4], values[:4], rtol=1e-9)
        assert_allclose(V[:, :4] @ V[:, :4].T, R[:, :4] @ R[:, :4].T, atol=1e-5)
        image = K @ V
        again = leading_eigenvectors(lambda X, K=K: K @ X, V, 4, image)[0]
        assert again[:4].sum() >= found[:4].sum() - 1e-10


def test_lmkkm_states_its_objective_and_falls():
    matrices, _ = make_matrices(0, n=30)
    found = LMKKM(tol=1e-9, n_steps=300).solve(make_task(matrices))
    assert falls(found.history)
    t, H = found.by_sample, found.embedding
    assert (t >= 0).all()
    assert_allclose(t.sum(axis=1), 1)
    rest = np.eye(30) - H @ H.T
    local = [np.diag(t[:, p]) @ prepared_matrix(K) @ np.diag(t[:, p]) for p, K in enumerate(matrices)]
    assert found.objective == pytest.approx(np.trace(sum(local) @ rest), rel=1e-9)
    slope = np.column_stack([(prepared_matrix(K) * rest) @ t[:, p] for p, K in enumerate(matrices)])
    gap = ((t * slope).sum(axis=1) - slope.min(axis=1)).sum()  # optimal for every sample
    assert 0 <= gap < 1e-3 * found.objective
    plain = MKKM(tol=1e-12).solve(make_task(matrices))
    assert found.objective <= plain.objective * (1 + 1e-6)  # equal weights for all samples are among its choices


def test_lmkkm_descends_fast():
    """Accelerated steps: an ill-conditioned program is solved in far fewer steps than its condition number."""
    rng = np.random.default_rng(0)
    A = np.diag(10.0 ** -np.arange(0, 4, 0.5))

    def half_gradient(t):
        return A @ t

    t, value = lmkkm._descend(half_gradient, project_on_simplex, rng.dirichlet(np.ones(2), 8), 0.5, 150, 0.0)
    best = sum(a / 2 for a in np.diag(A))  # one half each
    assert best - 1e-12 <= value <= best * (1 + 2e-6)
    assert_allclose(t.sum(axis=1), 1)


def test_lmkkm_prefers_the_view_that_is_good_for_a_sample():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    good, half = 4 * np.eye(3)[labels] + 0.3 * rng.standard_normal((60, 3)), np.arange(60) < 30
    first = np.where(half[:, None], good, 3 * rng.standard_normal((60, 3)))
    second = np.where(half[:, None], 3 * rng.standard_normal((60, 3)), good)
    t = LMKKM().solve(make_task([gaussian(first), gaussian(second)])).by_sample
    assert t[half, 0].mean() > 0.5 > t[~half, 0].mean()


@pytest.mark.parametrize("gamma", [0.2, 0.5, 0.8])
def test_rmkkm_states_its_objective_and_falls(gamma):
    matrices, labels = make_matrices(1)
    found = RMKKM(tol=1e-10, gamma=gamma).solve(make_task(matrices, max_iter=300))
    assert found.converged
    assert falls(found.history)
    w = found.weights / (found.weights**gamma).sum() ** (1 / gamma)
    K = sum(v * prepared_matrix(one) for v, one in zip(w, matrices, strict=True))
    total = 0.0
    for c in range(3):  # geometric medians: the sum of distances to the best centre of each cluster
        inside = K[np.ix_(found.labels == c, found.labels == c)]
        share = np.full(len(inside), 1 / len(inside))
        for _ in range(500):
            r = np.sqrt(np.maximum(np.diag(inside) - 2 * inside @ share + share @ inside @ share, 1e-14))
            share = (1 / r) / (1 / r).sum()
        total += r.sum()
    assert found.objective == pytest.approx(total, rel=1e-4)
    assert len(set(zip(found.labels, labels, strict=True))) == 3


def test_rmkkm_weights_are_the_best_for_its_constraint():
    matrices, _ = make_matrices(1)
    gamma = 0.5
    found = RMKKM(tol=1e-12, gamma=gamma).solve(make_task(matrices, max_iter=300))
    cost = np.empty(3)
    K = sum(v * prepared_matrix(one) for v, one in zip(found.weights, matrices, strict=True))
    pull = np.zeros(45)
    centre = np.zeros((45, 45))
    for c in range(3):
        at = np.flatnonzero(found.labels == c)
        inside = K[np.ix_(at, at)]
        share = np.full(len(at), 1 / len(at))
        for _ in range(500):
            r = np.sqrt(np.diag(inside) - 2 * inside @ share + share @ inside @ share)
            share = (1 / r) / (1 / r).sum()
        pull[at] = 1 / r
        centre[np.ix_(at, at)] = np.tile(share, (len(at), 1))
    for p, one in enumerate(matrices):
        one = prepared_matrix(one)
        C = np.eye(45) - centre
        cost[p] = pull @ np.einsum("ij,jk,ik->i", C, one, C)
    best = cost ** (1 / (gamma - 1))
    assert_allclose(found.weights, best / best.sum(), rtol=1e-2)


def test_crsc_states_its_objective_and_falls():
    matrices, _ = make_matrices(1)
    found = CRSC(tol=1e-10, strength=0.1).solve(make_task(matrices))
    assert falls(found.history)
    assert len(found.history) > 2
    U = np.split(found.embedding, 3, axis=1)
    value = 0.0
    for V, K in zip(U, matrices, strict=True):
        assert_allclose(V.T @ V, np.eye(3), atol=1e-10)
        L = K / np.sqrt(np.outer(K.sum(axis=1), K.sum(axis=1)))
        value += np.trace(V.T @ L @ V)
    value += 0.1 * sum(np.trace(V @ V.T @ W @ W.T) for V, W in combinations(U, 2))
    assert found.objective == pytest.approx(-value)
    alone = CRSC(strength=0.0).solve(make_task(matrices))
    for V, K in zip(np.split(alone.embedding, 3, axis=1), matrices, strict=True):
        L = K / np.sqrt(np.outer(K.sum(axis=1), K.sum(axis=1)))
        assert np.trace(V.T @ L @ V) == pytest.approx(np.linalg.eigvalsh(L)[-3:].sum())


def test_crsc_in_small_spaces_ends_where_nothing_improves():
    matrices, _ = make_matrices(1, n=400, noise=(1.5, 2.0))
    found = CRSC(tol=1e-9, strength=0.05).solve(make_task(matrices))
    assert found.converged
    U = np.split(found.embedding, 2, axis=1)
    for V, W, K in ((*U, matrices[0]), (*U[::-1], matrices[1])):
        L = K / np.sqrt(np.outer(K.sum(axis=1), K.sum(axis=1))) + 0.05 * W @ W.T
        assert np.trace(V.T @ L @ V) == pytest.approx(np.linalg.eigvalsh(L)[-3:].sum(), rel=1e-6)


@pytest.mark.parametrize("sparsity", [0.05, 0.3])
def test_rmsc_reaches_the_least_objective(sparsity):
    cvxpy = pytest.importorskip("cvxpy")
    matrices, _ = make_matrices(0, n=8, noise=(0.6, 0.9))
    found = RMSC(sparsity=sparsity, growth=1.01).solve(make_task(matrices, max_iter=2000))
    P = cvxpy.Variable((8, 8), nonneg=True)
    errors = sum(cvxpy.sum(cvxpy.abs(K / K.sum(axis=1, keepdims=True) - P)) for K in matrices)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm(P, "nuc") + sparsity * errors), [cvxpy.sum(P, axis=1) == 1])
    problem.solve()
    assert found.converged
    assert found.objective == pytest.approx(problem.value, rel=2e-3)


def test_rmsc_recovers_a_walk_from_views_with_gross_errors():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 10)
    clean = (labels[:, None] == labels).astype(float)
    views = []
    for _ in range(3):
        error = np.triu(rng.uniform(size=(30, 30)) < 0.08, 1) * rng.uniform(0.5, 2, (30, 30))
        views.append(clean + error + error.T)
    task = make_task(views, 3)
    found = RMSC(sparsity=0.05).solve(task)
    assert found.converged
    truth = np.linalg.qr(np.eye(3)[labels])[0]
    overlap = np.linalg.svd(truth.T @ found.embedding)[1]
    noisy = np.linalg.eigh(sum(views))[1][:, -3:]
    assert overlap.min() > max(0.99, np.linalg.svd(truth.T @ noisy)[1].min())


def test_walks_add_up_to_one_also_for_missing_samples():
    matrices, _ = make_matrices(n=12)
    held = np.array([0, 1, 2, 4, 5, 8, 9])
    kernels = [
        prepare(DenseKernel(matrices[0])),
        prepare(DenseKernel(matrices[1][np.ix_(held, held)]), np.ones(12), held),
    ]
    walks = rmsc._walks(Task(kernels, 3, np.random.RandomState(0), np.eye(2)))
    assert_allclose(walks.sum(axis=2), 1)
    assert walks[1, 3, 3] == 1
    assert_allclose(walks[0], matrices[0] / matrices[0].sum(axis=1, keepdims=True))


def test_singular_values_are_shrunk():
    X = np.random.default_rng(0).standard_normal((12, 12))
    left, values, right = np.linalg.svd(X)
    found, size = rmsc._shrink_singular_values(X, values[4])
    assert_allclose(found, (left * np.maximum(values - values[4], 0)) @ right, atol=1e-10)
    assert size == pytest.approx(np.maximum(values - values[4], 0).sum())


def test_rmkc_states_its_objective_falls_and_cleans():
    matrices, labels = make_matrices(3, noise=(0.5, 0.5))
    matrices[0][:, :4] = matrices[0][:4] = 0.0  # four broken samples
    matrices[0][:4, :4] = np.eye(4)
    found = RMKC(tol=1e-8).solve(make_task(matrices))
    assert falls(found.history)
    assert_allclose(found.embedding.T @ found.embedding, np.eye(3), atol=1e-8)
    truth = np.linalg.qr(np.eye(3)[labels] - np.eye(3)[labels].mean(axis=0))[0][:, :2]
    assert np.linalg.svd(truth.T @ found.embedding[:, :2])[1].min() > 0.95


@pytest.mark.parametrize("extra", [0, 2, 5])
def test_rmkc_first_kernel_has_so_many_dimensions(extra):
    """Bad rows as costly as possible: the first K is then the mean kernel, all but c + extra eigenvalues cut off."""
    matrices, _ = make_matrices()
    prepared = [prepared_matrix(K) for K in matrices]
    found = RMKC(bad_share=1e-9, extra_rank=extra).solve(make_task(matrices, max_iter=1))
    values, vectors = (part[..., ::-1] for part in np.linalg.eigh(np.mean(prepared, axis=0)))
    kept = np.maximum(values - values[3 + extra], 0)
    K = (vectors * kept) @ vectors.T
    assert np.count_nonzero(kept > 1e-9) == 3 + extra
    by_hand = 3 * values[3 + extra] * kept.sum() + sum(0.5 * np.square(one - K).sum() for one in prepared)
    assert found.objective == pytest.approx(by_hand, rel=1e-6)


def test_bad_rows_are_found_by_falling_steps():
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(0)
    rest = 0.2 * rng.standard_normal((6, 6))
    rest[2] += rng.standard_normal(6)
    rest = rest + rest.T
    F = cvxpy.Variable((6, 6))
    value = 0.5 * cvxpy.sum_squares(rest - F - F.T) + 0.8 * cvxpy.sum(cvxpy.norm(F, 2, axis=1))
    best = cvxpy.Problem(cvxpy.Minimize(value)).solve()

    def cost(E):
        return 0.5 * np.square(rest - E - E.T).sum() + 0.8 * np.sqrt(np.square(E).sum(axis=1)).sum()

    path = [cost(rmkc._bad_rows(np.zeros((6, 6)), rest, 0.8, steps)) for steps in (0, 1, 2, 4, 8, 500)]
    assert path == sorted(path, reverse=True)
    assert path[-1] == pytest.approx(best, rel=1e-5)


def test_rows_are_shrunk_by_the_proximal_map():
    rng = np.random.default_rng(0)
    E = rng.standard_normal((6, 5))
    P = rmkc._shrink_rows(E, 0.7)

    def value(F):
        return 0.5 * ((F - E) ** 2).sum() + 0.7 * np.sqrt((F**2).sum(axis=1)).sum()

    for _ in range(200):
        assert value(P + 0.05 * rng.standard_normal(P.shape)) >= value(P) - 1e-12


def test_affinities_must_add_up():
    B = np.random.default_rng(0).standard_normal((20, 2))
    for method in (CRSC(), RMSC()):
        with pytest.raises(ValueError, match="affinities"):
            method.solve(make_task([B @ B.T], 2))


@pytest.mark.parametrize("refine", [True, False])
def test_distances_leave_no_cluster_empty(refine):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((rng.integers(8, 30), 2))
        model = MultiKernelClustering(5, method=RMKKM(refine=refine), random_state=0).fit(Z)
        assert len(np.unique(model.labels_)) == 5
