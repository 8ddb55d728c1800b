"""The step from structured ridge regression to CLUHSICAL: table VI, eq. (11), lemmas 1 and 2 of the paper."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from kernelclust import structured_hsic
from kernelclust.kernels import DenseKernel, LowRankKernel
from kernelclust.objectives import loss_matrix
from kernelclust.structures import as_structure
from reproduction.first_order import StructuredRidge, first_order_error

STRUCTURES = ["flat:3", "chain:4", "ring:5", "grid:2x2", "tree:(a,(b,c))", "flat:2*chain:2"]
LOSSES = ["zero-one", "structure"]


def problem(spec, m=21, seed=0):
    rng = np.random.default_rng(seed)
    structure = as_structure(spec)
    K = rbf_kernel(rng.standard_normal((m, 3)), gamma=0.2)
    labels = rng.permutation(np.arange(m) % structure.n_clusters)
    return K, labels, structure


def pair_matrices(K, labels, structure, loss, C):
    """J and S of eqs. (5) and (6), pair by pair, with C in units of m; and the pairs (i, y), y != y_i."""
    m, A = len(K), structure.kernel
    H = np.eye(m) - 1 / m
    K = H @ K @ H
    Delta = loss_matrix(loss, structure)
    pairs = [(i, y) for i in range(m) for y in range(len(A)) if y != labels[i]]
    J = np.empty((len(pairs), len(pairs)))
    for p, (i, y) in enumerate(pairs):
        for q, (j, z) in enumerate(pairs):
            a, b = labels[i], labels[j]
            J[p, q] = K[i, j] * (A[a, b] - A[a, z] - A[y, b] + A[y, z])
    S = np.diag([m / (2 * C * m) / Delta[labels[i], y] for i, y in pairs])
    return J, S, pairs


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("spec", STRUCTURES)
def test_values_are_those_of_the_matrices(spec, loss):
    K, labels, structure = problem(spec)
    J, S, pairs = pair_matrices(K, labels, structure, loss, C=0.1)
    one, gamma = np.ones(len(pairs)), 0.7
    found = first_order_error(K, labels, structure, loss=loss, C=0.1, gamma=gamma)
    t1 = one @ np.linalg.solve(gamma * J + S, one)
    inverse = np.linalg.inv(S)
    t2 = one @ inverse @ one - gamma * one @ inverse @ J @ inverse @ one
    assert_allclose(found.t1, t1, rtol=1e-9)
    assert_allclose(found.t2, t2, rtol=1e-9)
    assert_allclose(found.relative_error, abs(t1 - t2) / t1, rtol=1e-8)
    assert_allclose(found.gamma_limit, 1 / (np.linalg.norm(inverse, 2) * np.linalg.norm(J, 2)), rtol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_condition_10_is_where_the_series_converges(loss):
    """Below the limit, powers of S^-1 gamma J vanish and their sum is the inverse; C = 0.1 m need not be below it."""
    K, labels, structure = problem("tree:(a,(b,c))")
    J, S, pairs = pair_matrices(K, labels, structure, loss, C=0.1)
    limit = first_order_error(K, labels, structure, loss=loss, C=0.1).gamma_limit
    step = -0.9 * limit * np.linalg.inv(S) @ J
    series, term = np.zeros_like(J), np.eye(len(pairs))
    for _ in range(400):
        series, term = series + term, step @ term
    assert_allclose(series @ np.linalg.inv(S), np.linalg.inv(0.9 * limit * J + S), rtol=1e-6, atol=1e-9)
    assert limit < 1  # with a unit diagonal, C = 0.1 m and gamma = 1 violate it


@pytest.mark.parametrize("C", [1.0, 0.1, 1e-4])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("spec", STRUCTURES)
def test_minus_t2_is_the_objective(spec, loss, C):
    """Proposition 2: what CLUHSICAL maximises without normalisation, eq. (11), is -t2 exactly."""
    K, labels, structure = problem(spec, seed=1)
    F = structured_hsic(K, labels, structure, loss=loss, normalize=None, C=C, gamma=0.3)
    assert_allclose(-first_order_error(K, labels, structure, loss=loss, C=C, gamma=0.3).t2, F, rtol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("spec", STRUCTURES)
def test_error_depends_on_the_product_and_falls_as_its_square(spec, loss):
    """As in the printed table: rows move along the diagonal, and a tenth of C is a hundredth of the error."""
    K, labels, structure = problem(spec, seed=2)

    def error(C, gamma):
        return first_order_error(K, labels, structure, loss=loss, C=C, gamma=gamma).relative_error

    for C, gamma in ((1.0, 1.0), (0.1, 0.01), (1e-5, 1.0)):
        assert_allclose(error(C, gamma), error(10 * C, gamma / 10), rtol=1e-9)
    errors = np.array([error(10.0**-power, 1.0) for power in range(1, 12)])
    assert (np.diff(errors) < 0).all()
    assert_allclose(errors[6:-1] / errors[7:], 100, rtol=1e-3)  # down to 1e-18, where t1 and t2 are equal in print


def test_first_order_is_exact_without_a_kernel():
    """A constant kernel is zero once centred: J = 0, and t1 = t2 = 1'S^-1 1 = 2 C m (c - 1)."""
    labels = np.arange(12) % 3
    found = first_order_error(np.full((12, 12), 5.0), labels, "chain:3", C=0.1)
    assert_allclose(found[:2], 2 * 0.1 * 12 * 2)
    assert found.relative_error < 1e-12


@pytest.mark.parametrize("kernel", ["dense", "low rank"])
def test_scores_are_those_of_the_trained_predictor(kernel):
    """f(x_i, y) = sum_jz alpha_jz <phi(x_i, y), delta phi_j(z)> with alpha = (gamma J + S)^-1 1."""
    _, labels, structure = problem("tree:2x2", m=16)
    X = np.random.default_rng(0).standard_normal((16, 3))
    J, S, pairs = pair_matrices(X @ X.T, labels, structure, "structure", C=0.2)
    alpha = np.linalg.solve(0.5 * J + S, np.ones(len(pairs)))
    Xc, A = X - X.mean(axis=0), structure.kernel
    K = Xc @ Xc.T
    expected = np.zeros((16, 4))
    for value, (j, z) in zip(alpha, pairs, strict=True):
        expected += 0.5 * value * np.outer(K[:, j], A[labels[j]] - A[z])
    operator = DenseKernel(X @ X.T) if kernel == "dense" else LowRankKernel(X)
    ridge = StructuredRidge(operator, labels, A, loss_matrix("structure", structure), C=0.2, gamma=0.5)
    assert_allclose(ridge.scores(), expected, atol=1e-9)
    slack = np.array([expected[i, labels[i]] - expected[i, y] for i, y in pairs])
    assert_allclose(slack + np.diag(S) * alpha, 1, atol=1e-9)  # the constraints of eq. (3), slacks m alpha / 2C Delta


def test_pairs_that_cost_nothing_take_no_part():
    K, labels, _ = problem("flat:3")
    Delta = np.array([[0.0, 1, 0], [1, 0, 2], [0, 2, 0]])
    tiny = np.where((Delta == 0) & ~np.eye(3, dtype=bool), 1e-12, Delta)
    found = first_order_error(K, labels, "flat:3", loss=Delta)
    assert_allclose(found, first_order_error(K, labels, "flat:3", loss=tiny), rtol=1e-9)


def test_no_matrix_over_pairs_is_formed():
    m, c = 500, 10
    rng = np.random.default_rng(0)
    K = rbf_kernel(rng.standard_normal((m, 3))) / m
    labels = rng.permutation(np.arange(m) % c)
    first_order_error(K, labels, f"ring:{c}")
    tracemalloc.start()
    first_order_error(K, labels, f"ring:{c}")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6, f"peak {peak / 1e6:.0f} MB, where J alone would take {8 * (m * (c - 1)) ** 2 / 1e6:.0f} MB"


# -- lemmas 1 and 2: eq. (14) at its best centres, clusters of equal size ---------------------------------------------


def weighted_distances(X, Pi):
    """Objective (14): sum_jc |Pi_ic| |sgn(Pi_ic) x_i - mu_c|^2 at the centres (18)."""
    total = 0.0
    for column in Pi.T:
        mu = column @ X / np.abs(column).sum()
        total += np.abs(column) @ ((np.sign(column)[:, None] * X - mu) ** 2).sum(axis=1)
    return total


@pytest.mark.parametrize("c", [2, 3, 5])
def test_lemmas_with_the_corrected_constant(c):
    """(14) = constant - tr(K P A P'), P of l1 norm one: A = (m / c) I for CLUHSIC, constant sum_i K_ii;
    A = (2 (c - 1) m / c) I for CLUHSICAL with zero-one loss, constant 2 (c - 1) sum_i K_ii."""
    m = 6 * c
    rng = np.random.default_rng(c)
    X = rng.standard_normal((m, 4))
    X -= X.mean(axis=0)
    for _ in range(5):
        labels = rng.permutation(np.arange(m) % c)
        one_hot = np.eye(c)[labels]
        cluhsic = structured_hsic(X @ X.T, labels, f"flat:{c}", normalize="l1")
        assert_allclose(weighted_distances(X, one_hot), (X**2).sum() - m / c * cluhsic)
        cluhsical = structured_hsic(X @ X.T, labels, f"flat:{c}", loss="zero-one", normalize="l1")
        factor = 2 * (c - 1)
        assert_allclose(weighted_distances(X, c * one_hot - 1), factor * (X**2).sum() - factor * m / c * cluhsical)


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"K": np.ones((3, 4))}, "square"),
        ({"K": np.diag([1.0, 1, 1, -1])}, "positive semidefinite"),
        ({"labels": [0, 1, 0]}, "labels must be one integer a row"),
        ({"labels": [0, 1, 2, 0]}, "from 0 to 1"),
        ({"loss": None}, "about a loss"),
        ({"loss": "zero-onr"}, "Did you mean 'zero-one'"),
        ({"loss": np.zeros((2, 2))}, "zero for these labels"),
        ({"C": 0}, "C=0: give a positive"),
        ({"gamma": np.inf}, "gamma=inf: give a positive"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_input(change, says):
    given = {"K": np.eye(4), "labels": [0, 0, 1, 1], "structure": "chain:2"} | change
    with pytest.raises(ValueError, match=says):
        first_order_error(**given)
