"""Relaxed values are what the propositions say, bounds hold, and labels come back from them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from flat_parameters import build
from numpy.testing import assert_allclose, assert_array_equal
from parts import RELAXATIONS
from scipy.optimize import least_squares
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from kernelclust import CLUHSIC, Diffrac, DisKMeans, KernelKMeans, StructuredClustering
from kernelclust.datasets import structured_blobs
from kernelclust.kernels import DenseKernel, LowRankKernel, Nystroem, discriminative, fit_kernel, leading_spectrum
from kernelclust.metrics import structured_accuracy
from kernelclust.objectives import Dependence
from kernelclust.solvers import SDP, Greedy, LowRankSDP, Polar, Spectral, low_rank_sdp, nmf, polar, sdp, spectral
from kernelclust.solvers._base import Problem
from kernelclust.solvers._relaxation import WeightedKernel, non_negative_orthonormal, trace_value
from kernelclust.solvers.low_rank_sdp import minimise
from kernelclust.structures import as_structure

SPECS = ["flat:3", "chain:3", "ring:4", "tree:(a,(b,c))"]


def make_problem(spec, m=12, seed=0, weighted=False, form="dense"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 5))
    weight = rng.integers(1, 4, m).astype(float) if weighted else np.ones(m)
    return kernel_problem(LowRankKernel(X, weight) if form == "low_rank" else DenseKernel(X @ X.T, weight), spec)


def kernel_problem(kernel, spec):
    objective = Dependence(rho=0.0).bind(as_structure(spec))
    c = objective.n_clusters
    return Problem(kernel, leading_spectrum(kernel, c + 7, c - 1, np.random.RandomState(0)), objective, objective)


def eigenvalues(problem):
    root = np.sqrt(problem.kernel.weight)
    K = root[:, None] * (problem.kernel @ np.diag(root))
    return np.linalg.eigvalsh(K)[::-1], np.linalg.eigvalsh(problem.objective.A)[::-1]


def optimum(problem):
    m, c = problem.kernel.n_samples, problem.objective.n_clusters
    labelings = (np.array(y) for y in product(range(c), repeat=m) if len(set(y)) == c)
    return max(problem.objective.value(problem.kernel.cluster_sums(y, c), problem.sizes(y)) for y in labelings)


# -- spectral and polar -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dense", "low_rank"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spec", SPECS)
def test_the_spectral_value_is_the_sum_of_products_and_polar_reaches_it(spec, weighted, form):
    problem = make_problem(spec, weighted=weighted, form=form)
    values, label_values = eigenvalues(problem)
    truth = float(values[: len(label_values)] @ label_values)
    best = spectral.Spectral().relax(problem)
    assert_allclose(best.value, truth)
    assert_allclose(best.P.T @ best.P, np.eye(len(label_values)), atol=1e-9)
    K = WeightedKernel(problem)
    assert_allclose(trace_value(K @ best.P, best.P, problem.objective.A), truth)
    climbed = polar.Polar(max_steps=20000, step_tol=1e-14).relax(problem, np.random.RandomState(0))
    assert_allclose(climbed.value, truth, rtol=1e-6)
    assert np.all(np.diff(climbed.history) >= -1e-9 * truth)
    assert_allclose(climbed.P.T @ climbed.P, np.eye(len(label_values)), atol=1e-9)


def test_one_polar_step_maximises_the_linearised_objective():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((10, 3))
    best = np.linalg.svd(B, compute_uv=False).sum()
    from kernelclust.solvers._relaxation import polar_factor

    assert_allclose((polar_factor(B) * B).sum(), best)
    for _ in range(50):
        P = np.linalg.qr(rng.standard_normal((10, 3)))[0]
        assert (P * B).sum() <= best


def test_orthonormal_labels_of_a_linear_kernel_are_kernel_pca():
    """Section 3 of CLUHSIC: tr(HKH Y Y') over Y'Y = I is largest at kernel PCA's components."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 4))
    for K in (X @ X.T, rbf_kernel(X)):
        pca = KernelPCA(3, kernel="precomputed").fit(K)
        problem = kernel_problem(DenseKernel(K), "flat:3")
        relaxed = spectral.Spectral().relax(problem)
        assert_allclose(relaxed.value, pca.eigenvalues_.sum())
        assert_allclose(relaxed.P @ relaxed.P.T, pca.eigenvectors_ @ pca.eigenvectors_.T, atol=1e-8)
        for _ in range(20):
            Y = np.linalg.qr(rng.standard_normal((25, 3)))[0]
            assert trace_value(problem.kernel @ Y, Y, np.eye(3)) < relaxed.value


@pytest.mark.parametrize("solver", [Spectral, Polar])
@pytest.mark.parametrize("spec", ["chain:5", "ring:6", "tree:2x3", "grid:2x3"])
def test_rounding_keeps_what_the_structure_says(spec, solver):
    """Blobs whose means are placed like the structure come out in place, without polish and without placement."""
    data = structured_blobs(spec, n_samples=120, noise=0.1, random_state=0)
    model = CLUHSIC(structure=spec, kernel="linear", solver=solver(polish=False), random_state=0).fit(data.data)
    assert structured_accuracy(data.target, model.labels_, spec) == 1


# -- semidefinite -----------------------------------------------------------------------------------------------------


def violations(P, root):
    """How far Q = vec(P) vec(P)' is from (5.23): odiag(Q) = P'P is to be I, bdiag(Q) root = P P' root to be root."""
    return np.concatenate([(P.T @ P - np.eye(P.shape[1])).ravel(), P @ (P.T @ root) - root])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spec", ["flat:2", "chain:3"])
def test_labelings_are_feasible_and_their_trace_is_f(spec, weighted):
    """The easy half of proposition 3, and the objective of (5.18), block by block."""
    problem = make_problem(spec, m=5, weighted=weighted)
    c, A, root = problem.objective.n_clusters, problem.objective.A, np.sqrt(problem.kernel.weight)
    K = WeightedKernel(problem) @ np.eye(5)
    for y in product(range(c), repeat=5):
        if len(set(y)) == c:
            n = problem.sizes(np.array(y))
            P = root[:, None] * np.eye(c)[list(y)] / np.sqrt(n)
            assert_allclose(violations(P, root), 0, atol=1e-12)
            vec = P.T.ravel()  # columns one after the other
            F = problem.objective.value(problem.kernel.cluster_sums(np.array(y), c), n)
            assert_allclose(vec @ np.kron(A, K) @ vec, F, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_every_feasible_matrix_of_rank_one_is_a_labeling(weighted):
    """Lemmas 2 and 3, so the other half of proposition 3: from anywhere in P = U * U >= 0, points that keep the
    constraints have one entry a row, and entries of a column are as sqrt(weight)."""
    rng = np.random.default_rng(0)
    root = np.sqrt(rng.integers(1, 4, 5)) if weighted else np.ones(5)
    found = set()
    for _ in range(6):
        run = least_squares(  # one equation more, 0 = 0, because the method asks for as many as unknowns
            lambda U: np.append(violations((U**2).reshape(5, 2), root), 0.0),
            rng.uniform(0, 1, 10), method="lm", xtol=1e-10, ftol=1e-10, gtol=1e-10,
        )  # fmt: skip
        if np.abs(run.fun).max() > 1e-6:
            continue  # a valley that ends above zero
        P = (run.x**2).reshape(5, 2)
        labels = np.argmax(P, axis=1)
        n = np.bincount(labels, root**2, minlength=2)
        assert_allclose(P, root[:, None] * np.eye(2)[labels] / np.sqrt(n), atol=1e-4)
        found.add(tuple(labels))
    assert len(found) >= 3


def test_without_one_of_the_constraints_rank_one_says_less():
    """What each lemma needs: signs for lemma 2, bdiag(Q) 1 = 1 for lemma 3."""
    turned = np.linalg.qr(np.c_[np.ones(4), [1.0, 2, 3, 4]])[0]  # orthonormal, 1 in its span, signs mixed
    assert_allclose(violations(turned, np.ones(4)), 0, atol=1e-12)
    assert (turned < -0.1).any() and (turned > 0.1).any() and (np.abs(turned) > 0.1).all(axis=1).any()
    uneven = np.array([[0.6, 0], [0.8, 0], [0, 1.0]])  # orthonormal, one entry a row, not equal
    assert_allclose(uneven.T @ uneven, np.eye(2), atol=1e-12)
    assert np.abs(violations(uneven, np.ones(3))).max() > 0.1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spec", ["flat:2", "chain:3"])
def test_the_sdp_bounds_the_optimum_and_lies_below_the_spectral_value(spec, weighted):
    pytest.importorskip("cvxpy")
    for seed in range(3):
        problem = make_problem(spec, m=6, seed=seed, weighted=weighted)
        relaxed = sdp.SDP().relax(problem)
        best = optimum(problem)
        values, label_values = eigenvalues(problem)
        assert best <= relaxed.bound
        assert_allclose(relaxed.bound, relaxed.value, rtol=1e-2)
        assert relaxed.bound <= float(values[: len(label_values)] @ label_values) * (1 + 1e-3)


def test_the_sdp_knows_no_unit_of_weights():
    """F is in units of the weights, and so are relaxation and bound; labels have none."""
    pytest.importorskip("cvxpy")
    X, weight = np.random.default_rng(0).standard_normal((10, 3)), np.linspace(1, 2, 10)
    model = CLUHSIC(structure="chain:2", kernel="linear", solver="sdp", random_state=0)
    one = model.fit(X, sample_weight=weight)
    values = one.diagnostics_.relaxed_objective, one.upper_bound_, one.labels_
    for unit in (1e-12, 1e12):
        other = model.fit(X, sample_weight=unit * weight)
        assert_allclose((other.diagnostics_.relaxed_objective / unit, other.upper_bound_ / unit), values[:2], rtol=1e-4)
        assert_array_equal(other.labels_, values[2])


def test_the_dual_bound_holds_for_any_prices():
    """Feasible Q are those of labelings; prices drawn at random must not cut any of them off."""
    problem = make_problem("chain:3", m=5)
    A, K = problem.objective.A, WeightedKernel(problem) @ np.eye(5)
    C, best = np.kron(A, K), optimum(problem)
    rng = np.random.default_rng(0)
    for _ in range(50):
        columns = rng.standard_normal((3, 3))
        signs = rng.uniform(0, 1, (15, 15))
        bound = sdp.dual_bound(C, np.ones(5), rng.standard_normal(5), columns + columns.T, signs)
        assert best <= bound + 1e-9
    # at zero prices it is c times the largest eigenvalue of A x K
    zero = sdp.dual_bound(C, np.ones(5), np.zeros(5), np.zeros((3, 3)), np.zeros((15, 15)))
    assert_allclose(zero, 3 * np.linalg.eigvalsh(C)[-1])


def diffrac_problem(c, m, seed, weighted):
    problem = make_problem(f"flat:{c}", m=m, seed=seed, weighted=weighted)
    return replace(problem, objective=Dependence(normalize=None, rho=0.0).bind(as_structure(f"flat:{c}")))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("c", [2, 3])
def test_the_sdp_of_diffrac_bounds_the_optimum_and_lies_below_the_spectral_bound(c, weighted):
    pytest.importorskip("cvxpy")
    for seed in range(2):
        problem = diffrac_problem(c, 6, seed, weighted)
        relaxed, weight = sdp.relax_diffrac(problem), problem.kernel.weight
        assert optimum(problem) <= relaxed.bound
        assert_allclose(relaxed.bound, relaxed.value, rtol=1e-3)
        largest = np.linalg.eigvalsh(weight[:, None] * (problem.kernel @ np.diag(weight)))[-1]
        assert relaxed.bound <= 6 * (1 - 1 / c) * largest * (1 + 1e-6)  # the trace of what M has beside 1 1' / c


def test_the_bound_of_diffrac_holds_for_any_prices():
    problem = diffrac_problem(3, 5, 0, weighted=False)
    C, best, rng = problem.kernel @ np.eye(5), optimum(problem), np.random.default_rng(0)
    for _ in range(50):
        bound = sdp.diffrac_bound(C, 3, 3 * rng.standard_normal(5), rng.uniform(0, 1, (5, 5)))
        assert best <= bound + 1e-9
    at_zero = sdp.diffrac_bound(C, 3, np.zeros(5), np.zeros((5, 5)))
    assert_allclose(at_zero, 5 * (1 - 1 / 3) * np.linalg.eigvalsh(C)[-1])


def test_the_sdp_of_diffrac_is_exact_where_groups_are_clear():
    """The relaxation is tight: its value is F of the labels, which come out without polish."""
    pytest.importorskip("cvxpy")
    data = structured_blobs("flat:3", n_samples=15, noise=0.05, random_state=0)
    model = Diffrac(3, kernel="linear", solver=SDP(polish=False), random_state=0)
    model.set_params(compute_confidence=False).fit(data.data)
    assert len(np.unique(np.c_[model.labels_, data.target], axis=0)) == 3
    assert_allclose([model.diagnostics_.relaxed_objective, model.upper_bound_], model.objective_, rtol=1e-4)


def test_the_sdp_of_diffrac_has_no_structure():
    with pytest.raises(ValueError, match=r"sdp.*l2.*greedy"):
        Diffrac(structure="chain:3", solver="sdp").fit(np.random.default_rng(0).standard_normal((9, 2)))


def test_the_estimator_takes_the_tighter_bound():
    pytest.importorskip("cvxpy")
    X = np.random.default_rng(0).standard_normal((8, 8))
    plain = CLUHSIC(structure="chain:3", kernel="linear", random_state=0).fit(X)
    tight = CLUHSIC(structure="chain:3", kernel="linear", solver="sdp", random_state=0).fit(X)
    assert tight.objective_ <= tight.upper_bound_ < plain.upper_bound_
    assert tight.diagnostics_.relaxed_objective <= tight.upper_bound_ and plain.diagnostics_.relaxed_objective is None


def test_sizes_beyond_the_conic_solver_are_refused_with_the_numbers():
    with pytest.raises(ValueError, match=r"50 x 3 = 150 rows.*low_rank_sdp"):
        CLUHSIC(structure="chain:3", solver="sdp").fit(np.random.default_rng(0).standard_normal((50, 2)))


def test_a_missing_conic_solver_names_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "cvxpy", None)
    model = CLUHSIC(structure="chain:3", solver="sdp")
    with pytest.raises(ImportError, match=r"pip install cvxpy"):
        model.fit(np.random.default_rng(0).standard_normal((8, 2)))
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spec", ["flat:3", "chain:3", "ring:4"])
def test_low_rank_sdp_is_feasible_and_its_value_consistent(spec, weighted):
    problem = make_problem(spec, m=10, weighted=weighted)
    Y, relaxed = low_rank_sdp.LowRankSDP(rank=4).relax_factor(problem, np.random.RandomState(0))
    A, root = problem.objective.A, np.sqrt(problem.kernel.weight)
    assert relaxed.stopped_because == "converged"
    assert Y.min() >= 0
    assert_allclose(np.einsum("mrc,mrd->cd", Y, Y), np.eye(len(A)), atol=1.1e-5)
    assert_allclose(np.einsum("mrc,nrc,n->m", Y, Y, root), root, atol=1.1e-5)
    K = WeightedKernel(problem) @ np.eye(10)
    assert_allclose(relaxed.value, np.einsum("mrc,mn,nrd,cd->", Y, K, Y, A), rtol=1e-9)
    values, label_values = eigenvalues(problem)
    assert relaxed.value <= float(values[: len(label_values)] @ label_values) * (1 + 1e-4)
    vec = Y.transpose(0, 2, 1).reshape(-1, 4)
    top = np.linalg.eigvalsh(vec @ vec.T)[-1]
    assert_allclose((relaxed.P**2).sum(), top)


def test_low_rank_sdp_knows_no_unit_of_the_kernel():
    """`pull` follows the kernel, so that the steps to the solution are as many for small numbers and for none."""
    X = np.random.default_rng(0).standard_normal((12, 3))
    model = CLUHSIC(structure="chain:1", kernel="linear", solver="low_rank_sdp", random_state=0)
    steps = model.fit(X).n_iter_
    assert model.fit(1e-9 * X).n_iter_ <= 1.5 * steps
    with np.errstate(all="raise", under="ignore"):  # numbers that have no inverse
        clone(model).set_params(kernel=lambda X, Y: X @ Y.T).fit(1e-160 * X)
    # nothing but rounding
    assert model.fit(np.full((12, 1), 0.1) + 1e-17 * X[:, :1]).n_iter_ <= 1.5 * steps


def test_low_rank_sdp_knows_no_unit_of_weights():
    """Not in how it goes either: with heavy samples it once took all the steps that it may."""
    X, weight = np.random.default_rng(0).standard_normal((12, 3)), np.linspace(0.5, 3.0, 12)
    alone = Dependence(rho=0, placement=None)
    model = StructuredClustering(
        structure="chain:3", kernel="rbf", objective=alone, solver="low_rank_sdp", random_state=0
    )
    one = model.fit(X, sample_weight=weight)
    steps, labels, value = one.n_iter_, one.labels_, one.diagnostics_.relaxed_objective
    other = model.fit(X, sample_weight=4.0**6 * weight)
    assert_array_equal(other.labels_, labels)
    assert_allclose(other.diagnostics_.relaxed_objective, 4.0**6 * value, rtol=1e-6)
    assert other.n_iter_ == steps


def test_the_gradient_of_the_lagrangian_is_its_derivative():
    problem = make_problem("tree:(a,(b,c))", m=7, weighted=True)
    lagrangian = low_rank_sdp._Lagrangian(problem, rank=2, pull=0.3)
    rng = np.random.default_rng(0)
    lagrangian.column_price = rng.standard_normal((3, 3))
    lagrangian.column_price += lagrangian.column_price.T
    lagrangian.row_price, lagrangian.stiffness = rng.standard_normal(7), 2.5
    y = rng.uniform(0, 1, 42)
    _, gradient = lagrangian(y)
    for k in range(0, 42, 5):
        e = 1e-6 * np.eye(42)[k]
        assert_allclose((lagrangian(y + e)[0] - lagrangian(y - e)[0]) / 2e-6, gradient[k], rtol=1e-5, atol=1e-7)


def test_projected_minimiser_solves_non_negative_least_squares():
    from scipy.optimize import nnls

    for seed in range(5):
        rng = np.random.default_rng(seed)
        M, b = rng.standard_normal((30, 12)), rng.standard_normal(30)
        x, _ = minimise(
            lambda x, M=M, b=b: (0.5 * np.sum((M @ x - b) ** 2), M.T @ (M @ x - b)),
            np.ones(12),
            max_steps=500,
            tol=1e-9,
        )
        assert_allclose(x, nnls(M, b)[0], atol=1e-6)


def test_recovery_returns_a_partition_that_was_blurred():
    labels = np.repeat(np.arange(4), [5, 3, 6, 4])
    P = np.eye(4)[labels] / np.sqrt(np.bincount(labels))
    noise = 0.05 * np.random.default_rng(0).standard_normal(P.shape)
    for sign in (1, -1):
        found = non_negative_orthonormal(sign * (P + noise))
        assert_array_equal(np.argmax(found, axis=1), labels)
        assert_allclose(found.T @ found, np.eye(4), atol=1e-2)


# -- NMF --------------------------------------------------------------------------------------------------------------


def test_nmf_stays_non_negative_and_its_shift_makes_the_kernel_so():
    for form in ("dense", "low_rank"):
        problem = make_problem("chain:3", m=20, form=form)
        K = problem.kernel @ np.eye(20)
        assert_allclose(nmf.lowest_entry(problem.kernel), K.min())
        relaxed = nmf.NMF().relax(problem, np.random.RandomState(0))
        assert relaxed.P.min() >= 0
        A, shifted = problem.objective.A, K - K.min()
        slope = shifted @ relaxed.P @ A
        fixed = relaxed.P * np.sqrt(slope / (relaxed.P @ (relaxed.P.T @ slope)))
        assert_allclose(fixed, relaxed.P, atol=1e-2)


@pytest.mark.parametrize("solver", ["greedy", "spectral", "polar", "nmf", "low_rank_sdp"])
def test_every_solver_with_polish_finds_separated_groups_in_place(solver):
    data = structured_blobs("chain:4", n_samples=60, noise=0.1, random_state=1)
    model = CLUHSIC(structure="chain:4", kernel="linear", solver=solver, random_state=0).fit(data.data)
    assert structured_accuracy(data.target, model.labels_, "chain:4") == 1
    assert np.all(np.diff(model.diagnostics_.history) >= -1e-9 * abs(model.objective_))
    assert model.objective_ <= model.upper_bound_


@pytest.mark.parametrize("solver", RELAXATIONS)
def test_relaxations_say_what_they_relax(solver):
    X = np.random.default_rng(0).standard_normal((12, 2))
    for wrong in ({"normalize": "l1"}, {"normalize": None}, {"loss": "structure"}):
        model = build(StructuredClustering, structure="chain:3", solver=solver, **wrong)
        with pytest.raises(ValueError, match=f"{solver}.*l2.*greedy"):
            model.fit(X)
        assert not hasattr(model, "labels_")


def test_solver_parameters_are_checked():
    X = np.random.default_rng(0).standard_normal((12, 2))
    with pytest.raises(ValueError, match="rank=0"):
        CLUHSIC(structure="chain:3", solver=LowRankSDP(rank=0)).fit(X)
    with pytest.raises(TypeError, match="'ranks'"):
        LowRankSDP(ranks=2)
    with pytest.raises(ValueError, match=r"no parameter 'ranks'.*pull, rank"):
        CLUHSIC(structure="chain:3", solver=LowRankSDP()).set_params(solver__ranks=2)
    with pytest.raises(ValueError, match=r"Did you mean 'spectral'"):
        CLUHSIC(structure="chain:3", solver="spectrl").fit(X)


# -- the discriminative kernels ---------------------------------------------------------------------------------------


def fitted(X, weight=None, **options):
    weight = np.ones(len(X)) if weight is None else weight
    settings = {"kernel": "linear", "approximation": None, "rng": np.random.RandomState(0)} | options
    return fit_kernel(X, weight, **settings)


def test_diffrac_is_the_regression_cost():
    """(3.5) minimised over W is (m - tr(K~ Pi Pi')) / m."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    X -= X.mean(0)
    labels, m, kappa = rng.integers(0, 3, 20), 20, 0.05
    Pi = np.eye(3)[labels]
    W = np.linalg.solve(X.T @ X + m * kappa * np.eye(3), X.T @ Pi)
    cost = ((Pi - X @ W) ** 2).sum() / m + kappa * (W**2).sum()
    for kernel in (fitted(X), fitted(X, kernel="precomputed") if False else fitted(X @ X.T, kernel="precomputed")):
        trace = np.trace(discriminative(kernel, m * kappa).operator.cluster_sums(labels, 3))
        assert_allclose(cost, (m - trace) / m)


def regression_cost(X, Pi, A, kappa):
    """(3.5) in the norm of A, minimised over W, for labelings Pi (l, m, c)."""
    m = len(X)
    W = np.linalg.solve(X.T @ X + m * kappa * np.eye(X.shape[1]), X.T @ Pi)
    rest = Pi - X @ W
    return ((rest @ A) * rest).sum(axis=(1, 2)) / m + kappa * ((W @ A) * W).sum(axis=(1, 2))


def test_diffrac_with_structure_is_the_regression_where_the_diagonal_is_even():
    """m cost = sum_j A_jj n_j - F, (3.7): labels of the largest F cost least on a levelled tree, and need not else."""
    tree, m, kappa = as_structure("tree:(a,(b,c))"), 6, 0.05
    labelings = np.array([y for y in product(range(3), repeat=m) if len(set(y)) == 3])
    best = []
    for structure in (tree, tree.levelled()):
        A, missed = structure.kernel, 0
        for seed in range(3):
            X = np.random.default_rng(seed).standard_normal((m, 2))
            X -= X.mean(0)
            kernel = X @ np.linalg.solve(X.T @ X + m * kappa * np.eye(2), X.T)
            Pi = np.eye(3)[labelings]  # (labelings, m, 3)
            F = ((kernel @ Pi @ A) * Pi).sum(axis=(1, 2))
            cost = regression_cost(X, Pi, A, kappa)
            assert_allclose(m * cost, Pi.sum(axis=1) @ np.diag(A) - F, atol=1e-9)
            model = Diffrac(
                structure=structure,
                kernel="linear",
                kappa=kappa,
                solver=Greedy(search="global", init="random", n_init=20),
            )
            model.set_params(compute_confidence=False, random_state=0).fit(X)
            assert_allclose(model.objective_, F.max())
            missed += regression_cost(X, np.eye(3)[model.labels_][None], A, kappa)[0] > cost.min() + 1e-9
        best.append(missed)
    assert best[0] > 0 == best[1]


def test_diskmeans_is_the_best_subspace():
    """Proposition 1: the trace is the maximum of (3.12) over projections, found here by a generalised eigenproblem."""
    from scipy.linalg import eigh

    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 4))
    X -= X.mean(0)
    structure, labels, lam = as_structure("chain:3"), np.arange(25) % 3, 0.7
    P = np.eye(3)[labels] / np.sqrt(np.bincount(labels))
    between = X.T @ P @ structure.kernel @ P.T @ X
    total = X.T @ X + lam * np.eye(4)
    best = eigh(between, total, eigvals_only=True).sum()  # tr(total^-1 between), the limit over all directions
    K = discriminative(fitted(X), lam).operator
    n = np.bincount(labels).astype(float)
    assert_allclose(Dependence(rho=0.0).bind(structure).value(K.cluster_sums(labels, 3), n), best)


@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_kernels_are_k_times_the_inverse_for_dense_and_low_rank(weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((18, 3))
    weight = rng.integers(1, 4, 18).astype(float) if weighted else np.ones(18)
    root = np.sqrt(weight)
    K = root[:, None] * (DenseKernel(X @ X.T, weight) @ np.diag(root))
    truth = K @ np.linalg.inv(K + 0.3 * np.eye(18)) / np.outer(root, root)
    for kernel in (fitted(X, weight), fitted(X @ X.T, weight, kernel="precomputed")):
        assert_allclose(discriminative(kernel, 0.3).operator @ np.eye(18), truth, atol=1e-9)


@pytest.mark.parametrize("options", [{"kernel": "linear"}, {"kernel": "rbf"}, {"kernel": "graph"},
                         {"kernel": "rbf", "approximation": Nystroem(20)}])  # fmt: skip
@pytest.mark.parametrize("estimator", [Diffrac, DisKMeans])
def test_discriminative_presets_cluster_and_predict(estimator, options):
    data = structured_blobs("flat:3", n_samples=60, noise=0.2, random_state=0)
    model = estimator(3, random_state=0, **options).fit(data.data)
    assert len(np.unique(np.c_[model.labels_, data.target], axis=0)) == 3
    assert_array_equal(model.predict(data.data), model.labels_)
    assert model.diagnostics_.ridge > 0


def test_large_ridges_give_back_kernel_kmeans():
    """K (K + ridge I)^-1 tends to K / ridge."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    plain = KernelKMeans(4, kernel="linear", random_state=0).fit(X)
    model = DisKMeans(4, kernel="linear", lam=1e9, random_state=0).fit(X)
    assert_array_equal(model.labels_, plain.labels_)
    assert_allclose(1e9 * model.objective_, plain.objective_, rtol=1e-5)


def test_discriminative_scales_do_not_matter():
    """Stretching an uninformative direction moves k-means, not DisKMeans with a small ridge."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 40)
    X = np.column_stack([labels + 0.05 * rng.standard_normal(80), 5 * rng.uniform(-1, 1, 80)])
    wrong = KernelKMeans(2, kernel="linear", random_state=0).fit_predict(X)
    right = DisKMeans(2, kernel="linear", lam=1e-3, random_state=0).fit_predict(X)
    share = [max(np.mean(found == labels), np.mean(found != labels)) for found in (wrong, right)]
    assert share[0] < 0.7 < 0.99 < share[1]


def test_ridges_are_checked():
    X = np.random.default_rng(0).standard_normal((12, 2))
    for model, name in ((DisKMeans(2, lam=0), "lam=0"), (Diffrac(2, kappa="small"), "kappa='small'")):
        with pytest.raises(ValueError, match=name):
            model.fit(X)
        assert not hasattr(model, "labels_")
