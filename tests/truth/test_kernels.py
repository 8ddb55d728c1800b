"""Operators are the matrices they stand for; functions, factors and spectra are what they say."""

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose
from parts import kernels
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import pairwise_kernels

from kernelclust import KernelKMeans, structured_hsic
from kernelclust.kernels import (
    RBF,
    DenseKernel,
    Diffusion,
    FunctionKernel,
    Graph,
    LowRankKernel,
    RandomFeatures,
    WeightedSumKernel,
    _spectrum,
    as_approximation,
    fit_kernel,
    incomplete_cholesky,
    kernel_class,
    kernel_names,
    leading_spectrum,
)
from kernelclust.kernels._graphs import n_neighbors_for, neighbour_graph
from kernelclust.kernels.diffusion import normalized_factor, plain_factor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
WEIGHT = RNG.integers(1, 5, 40).astype(float)


def centred(K, weight):
    H = np.eye(len(K)) - np.outer(np.ones(len(K)), weight / weight.sum())
    return H @ K @ H.T


def operators(weight):
    other = np.exp(-((X[:, None] - X) ** 2).sum(-1))
    dense, low = DenseKernel(other, weight), LowRankKernel(X, weight)
    return {
        "dense": (dense, other),
        "low_rank": (low, X @ X.T),
        "sum": (WeightedSumKernel([dense, low], [0.5, 2.0]), 0.5 * other + 2 * X @ X.T),
    }


def test_sums_refuse_what_is_no_kernel():
    low = LowRankKernel(X)
    with pytest.raises(ValueError, match="negative"):
        WeightedSumKernel([low, low], [1.0, -1.0])
    with pytest.raises(ValueError, match="differ in size"):
        WeightedSumKernel([low, LowRankKernel(X[:5])], [1.0, 1.0])
    with pytest.raises(ValueError, match="2 kernels but 1"):
        WeightedSumKernel([low, low], [1.0])
    with pytest.raises(ValueError, match="differ in the weights"):
        WeightedSumKernel([low, LowRankKernel(X, WEIGHT)], [1.0, 1.0])


# -- functions --------------------------------------------------------------------------------------------------------


def fit(kernel, data=X, weight=None, **options):
    weight = np.ones(data.shape[0]) if weight is None else weight
    settings = {"n_clusters": 3, "rng": np.random.RandomState(0), "approximation": None} | options
    return fit_kernel(data, weight, kernel=kernel, **settings)


def dense_of(operator):
    return operator @ np.eye(operator.n_samples)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf", "laplacian", "cosine"])
def test_functions_are_scikit_learns(kernel, as_sparse):
    options = {"gamma": 0.3} if kernel in ("polynomial", "rbf", "laplacian") else {}
    truth = pairwise_kernels(X, metric={"polynomial": "poly"}.get(kernel, kernel), **options)
    data = sparse.csr_matrix(X) if as_sparse else X
    assert_allclose(
        dense_of(fit(kernel_class(kernel)(**options), data).operator), centred(truth, np.ones(40)), atol=1e-9
    )


def test_scale_is_one_over_the_mean_distance_and_counts_weights_as_copies():
    squared = pdist(X, "sqeuclidean").sum() * 2 / 40**2
    assert_allclose(fit("rbf").gamma, 1 / squared)
    assert_allclose(fit("laplacian").gamma, 40**2 / (2 * pdist(X, "cityblock").sum()))
    repeated = np.repeat(X, WEIGHT.astype(int), axis=0)
    for kernel in ("rbf", "laplacian"):
        assert_allclose(fit(kernel, weight=WEIGHT).gamma, fit(kernel, repeated).gamma)
        assert_allclose(fit(kernel, 1e3 * X + 7).gamma, fit(kernel).gamma / 10 ** (6 if kernel == "rbf" else 3))
    assert_allclose(fit("rbf", sparse.csr_matrix(X), WEIGHT).gamma, fit("rbf", X, WEIGHT).gamma)


def test_a_large_offset_costs_no_precision():
    near, far = (dense_of(fit(RBF(0.5), X + shift).operator) for shift in (0.0, 2.0**30))
    assert_allclose(near, far, atol=1e-5)


def test_your_own_function_is_used():
    def doubled(A, B, factor=1.0):
        return factor * A @ B.T

    operator = fit(FunctionKernel(doubled, {"factor": 2.0})).operator
    assert_allclose(dense_of(operator), centred(2 * X @ X.T, np.ones(40)), atol=1e-9)


def test_names_come_from_the_folder():
    assert set(kernel_names()) == {
        "linear", "polynomial", "rbf", "laplacian", "cosine", "graph", "diffusion", "auto", "precomputed",
        "precomputed_graph",
    }  # fmt: skip


# -- graphs -----------------------------------------------------------------------------------------------------------

FAR = np.vstack([RNG.standard_normal((15, 2)) + shift for shift in (0, 100, 200)])
GROUPS = np.repeat(np.arange(3), 15)


def test_the_graph_is_made_connected_by_its_shortest_links():
    W = neighbour_graph(FAR, 3)
    count = sparse.csgraph.connected_components(W)[0]
    assert count == 1
    assert abs(W - W.T).max() == 0
    rows, columns = W.nonzero()
    between = GROUPS[rows] != GROUPS[columns]
    links = {tuple(sorted(pair)) for pair in zip(rows[between], columns[between], strict=True)}
    assert len(links) == 3  # a tree over three components, and its ends
    for a, b in ((0, 1), (1, 2)):
        inside = [(i, j) for i in np.flatnonzero(GROUPS == a) for j in np.flatnonzero(GROUPS == b)]
        shortest = min(inside, key=lambda pair: np.linalg.norm(FAR[pair[0]] - FAR[pair[1]]))
        assert tuple(sorted(shortest)) in links


@pytest.mark.parametrize("kernel", kernels(is_function=False, pairwise=False, without=("auto",)))
def test_a_disconnected_graph_scores_the_right_clustering_highest(kernel):
    K = dense_of(fit(kernel, FAR).operator)
    right = structured_hsic(K, GROUPS, "flat:3")
    assert right > 0.5 * np.trace(K) * 0.2
    for seed in range(20):
        assert right > structured_hsic(K, np.random.default_rng(seed).permutation(GROUPS), "flat:3")


def test_the_graph_kernel_is_the_pseudo_inverse_and_its_factor_the_smoothest_part():
    W = neighbour_graph(X, n_neighbors_for(len(X), 3)).toarray()
    degree = W.sum(1)
    L = np.diag(degree) - W
    truth = np.linalg.pinv(L, hermitian=True)
    assert_allclose(dense_of(fit("graph").operator), truth, atol=1e-8)
    regular = np.linalg.inv(L + 0.5 * np.diag(degree))
    found = fit(Graph(regularization=0.5)).operator
    assert_allclose(dense_of(found), centred(regular, np.ones(40)), atol=1e-8)
    root = 1 / np.sqrt(degree)
    values, vectors = np.linalg.eigh(root[:, None] * L * root)
    for rank in (5, 39):  # with all functions the commute kernel itself
        part = (root[:, None] * vectors[:, 1 : rank + 1]) / np.sqrt(values[1 : rank + 1])
        low = fit(Graph(n_functions=rank), approximation="nystroem").operator
        assert_allclose(dense_of(low), centred(part @ part.T, np.ones(40)), atol=1e-6)
    assert_allclose(dense_of(low), truth, atol=1e-6)


@pytest.mark.parametrize(
    ("laplacian", "time", "rank"), [("normalized", 4.0, 30), ("plain", 1.0, 30), ("plain", 8.0, 12)]
)
def test_diffusion_is_the_exponential_of_the_laplacian(laplacian, time, rank):
    from scipy.linalg import expm

    W = neighbour_graph(X, n_neighbors_for(len(X), 3)).toarray()
    D = np.diag(W.sum(1))
    root = 1 / np.sqrt(W.sum(1))
    truth = expm(-time * (root[:, None] * (D - W) * root if laplacian == "normalized" else D - W))
    assert_allclose(dense_of(fit(Diffusion(time, laplacian)).operator), centred(truth, np.ones(40)), atol=1e-8)
    low = fit(Diffusion(time, laplacian, n_functions=rank), approximation="nystroem").operator
    assert_allclose(dense_of(low), centred(truth, np.ones(40)), atol=0.02)


def test_laplacians_of_a_graph_of_equal_degrees_differ_by_time_alone():
    """D = d I: exp(-t (D - W)) = exp(-t d (I - W / d))."""
    W = nx.to_scipy_sparse_array(nx.circulant_graph(30, [1, 2]), dtype=float).tocsr()
    for number in (30, 7):  # equal eigenvalues come in pairs
        one, other = plain_factor(W, number, 0.5), normalized_factor(W, number, 2.0)
        assert_allclose(one @ one.T, other @ other.T, atol=1e-8)


def test_the_plain_laplacian_of_a_long_path():
    """Eigenvalues 2 - 2 cos(pi k / m), so close to each other that the graph is factorised."""
    m, k = 400, np.arange(5)
    W = nx.to_scipy_sparse_array(nx.path_graph(m), dtype=float).tocsr()
    B = plain_factor(W, 5, 1000.0)
    lengths = np.sort((B**2).sum(axis=0))[::-1]
    assert_allclose(lengths, np.exp(-1000 * (2 - 2 * np.cos(np.pi * k / m))), rtol=1e-6)


def test_graphs_follow_curves_that_balls_cannot():
    data, moon = make_moons(200, noise=0.05, random_state=0)
    graph, ball = (KernelKMeans(2, kernel=kernel, random_state=0).fit_predict(data) for kernel in ("graph", "linear"))
    right = [max(np.mean(labels == moon), np.mean(labels != moon)) for labels in (graph, ball)]
    assert right[0] > 0.98 > 0.9 > right[1]
    model = KernelKMeans(2, kernel="graph", random_state=0).fit(data)
    assert np.mean(model.predict(data) == model.labels_) == 1
    assert np.mean(model.predict(data + 0.001) == model.labels_) > 0.97


# -- low rank ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", kernels(is_function=True, without=("linear",)))
@pytest.mark.parametrize("method", ["nystroem", "cholesky"])
def test_full_rank_factors_are_exact(method, kernel):
    exact = dense_of(fit(kernel).operator)
    found = fit(kernel, approximation=type(as_approximation(method))(40)).operator
    assert found.factor is not None
    assert_allclose(dense_of(found), exact, atol=1e-3 * np.abs(exact).max())  # cholesky stops at 1e-6 of the trace


def test_incomplete_cholesky_stops_at_its_tolerance_and_reproduces_its_pivots():
    K = np.exp(-((X[:, None] - X) ** 2).sum(-1))
    for tol in (0.5, 0.1, 1e-3):
        B, pivots = incomplete_cholesky(np.diag(K), lambda index: K[:, index], 40, tol=tol)
        error = np.trace(K - B @ B.T)
        assert 0 <= error <= tol * 40
        shorter = B[:, :-1]
        assert np.trace(K - shorter @ shorter.T) > tol * 40  # not one column too many
        assert_allclose((B @ B.T)[pivots], K[pivots], atol=1e-9)
    rank_three, _ = incomplete_cholesky(np.diag(X @ X.T), lambda index: X @ X[index].T, 40, tol=1e-12)
    assert rank_three.shape[1] == 3


@pytest.mark.parametrize("kernel", kernels(has_frequencies=True))
def test_random_features_approach_the_kernel(kernel):
    exact = dense_of(fit(kernel).operator)
    errors = []
    for rank in (100, 10000):
        found = fit(kernel, approximation=RandomFeatures(rank)).operator
        errors.append(np.abs(dense_of(found) - exact).max())
    assert errors[1] < 0.06 < errors[0]


# -- spectra ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [np.ones(40), WEIGHT], ids=["even", "weighted"])
@pytest.mark.parametrize("name", ["dense", "low_rank", "sum"])
def test_the_spectrum_is_that_of_the_weighted_matrix(name, weight):
    operator, K = operators(weight)[name]
    root = np.sqrt(weight)
    truth = np.linalg.eigvalsh(root[:, None] * centred(K, weight) * root)[::-1]
    spectrum = leading_spectrum(operator, 3, 3, np.random.RandomState(0))
    k = len(spectrum.values)  # a small matrix gives more than asked for, to hold nearly all of the trace
    assert k == 3 or truth[:k].sum() >= 0.999 * truth[truth > 0].sum() > truth[: k - 1].sum()
    assert_allclose(spectrum.values, truth[:k], rtol=1e-7, atol=1e-9)
    assert_allclose(spectrum.bounds, truth[:3], rtol=1e-9)
    U = root[:, None] * spectrum.functions
    assert_allclose(U.T @ U, np.eye(k), atol=1e-9)


@pytest.mark.parametrize("passes", [1, 2, 4])
@pytest.mark.parametrize("tail", [0.0, 0.3, 1.0])
def test_few_passes_never_bound_an_eigenvalue_too_low(passes, tail, monkeypatch):
    """Even where Lanczos has not converged; with a long tail it cannot."""
    monkeypatch.setattr(_spectrum, "EXACT", 0)
    monkeypatch.setattr(_spectrum, "PASSES", passes)
    monkeypatch.setattr(_spectrum, "LANDMARKS", 12)
    monkeypatch.setattr(_spectrum, "SLACK", 0.0)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        Q = np.linalg.qr(rng.standard_normal((120, 120)))[0]
        values = np.concatenate([[10, 5, 4, 3.9], tail * rng.uniform(0, 4, 116)])
        kernel = DenseKernel((Q * values) @ Q.T, rng.uniform(0.5, 2, 120))
        root = np.sqrt(kernel.weight)
        truth = np.linalg.eigvalsh(root[:, None] * (kernel @ np.diag(root)))[::-1]
        spectrum = leading_spectrum(kernel, 6, 4, np.random.RandomState(seed))
        assert np.all(spectrum.bounds >= truth[:4] * (1 - 1e-9))
        assert np.all(spectrum.values <= truth[:6] + 1e-9)
        if passes == 4 and tail == 0.0:
            assert_allclose(spectrum.bounds, truth[:4], rtol=1e-6)


@pytest.mark.parametrize("approximation", [None, "nystroem", "cholesky"])
@pytest.mark.parametrize("copies", [1, 20])  # by features, and by its matrix where columns are many
def test_a_linear_kernel_that_is_not_to_be_centred_is_not(approximation, copies):
    rng = np.random.RandomState(0)
    X = np.hstack([rng.standard_normal((40, 3)) + 5.0] * copies)
    if approximation is not None:
        approximation = type(as_approximation(approximation))(40)
    fitted = fit_kernel(X, np.ones(40), kernel="linear", approximation=approximation, center=False, rng=rng)
    np.testing.assert_allclose(fitted.operator.rows(np.arange(40)), X @ X.T, rtol=1e-8)
    np.testing.assert_allclose(fitted.combination(np.eye(40))(X[:3]), X[:3] @ X.T, rtol=1e-8)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("offset", [0.0, 30.0, 1e5])
def test_the_gaussian_kernel_is_its_formula_however_far_from_the_origin(offset, layout):
    """Far away, squared distances are differences of the large numbers that a product has."""
    X, Y = (offset + np.random.default_rng(seed).standard_normal((20, 3)) for seed in (0, 1))
    expected = np.exp(-0.3 * ((X[:, None] - Y[None]) ** 2).sum(axis=2))
    assert_allclose(RBF(0.3).block(layout(X), layout(Y)), expected, rtol=1e-9)
