"""kernel="auto": the mean of the graph kernels of three views by definition, its invariances, and its evidence."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from parts import kernels
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.sparsefuncs import mean_variance_axis

from kernelclust import KernelKMeans, StructuredClustering
from kernelclust.engine._steps import distance_fit, squared_distances
from kernelclust.kernels import _graphs, _nodes, auto, fit_kernel
from kernelclust.kernels._graphs import (
    commute_factor,
    commute_kernel,
    distinct_rows,
    fuzzy_union,
    n_neighbors_for,
    neighbour_graph,
    smoothest,
)
from kernelclust.kernels._views import informative_views
from kernelclust.objectives import Dependence
from kernelclust.policies import auto as policy
from kernelclust.policies.auto import alignment

RNG = np.random.default_rng(0)
X = RNG.standard_normal((45, 6)) * [1, 2, 3, 1, 1, 5] + 2.0


def mean_kernel(data, weight=None, n_clusters=3, **settings):
    weight = np.ones(data.shape[0]) if weight is None else weight
    fitted = fit_kernel(data, weight, kernel="auto", n_clusters=n_clusters, rng=np.random.RandomState(0), **settings)
    return fitted.operator @ np.eye(data.shape[0])


def graph_by_definition(Z, k):
    """UMAP weights with numbers and loops, a spanning tree by Kruskal."""
    m = len(Z)
    D = cdist(Z, Z)
    w = np.zeros((m, m))
    for i in range(m):
        near = [j for j in np.argsort(D[i], kind="stable") if j != i][:k]
        beyond = np.maximum(D[i, near] - D[i, near[0]], 0)
        low, high = 1e-9, 1e9
        for _ in range(200):
            sigma = np.sqrt(low * high)
            low, high = (low, sigma) if np.exp(-beyond / sigma).sum() > np.log2(k) else (sigma, high)
        w[i, near] = np.exp(-beyond / sigma)
    W = w + w.T - w * w.T
    least = max(1e-3, np.quantile(W[W > 0], 0.1))
    group = np.arange(m)
    for i, j in sorted(itertools.combinations(range(m), 2), key=lambda pair: D[pair]):
        if group[i] != group[j]:
            group[group == group[j]] = group[i]
            W[i, j] = W[j, i] = max(W[i, j], least)
    return W


def test_the_mean_kernel_is_its_definition():
    m, c = len(X), 3
    H = np.eye(m) - 1 / m
    total = np.zeros((m, m))
    for Z in (X, (X - X.mean(0)) / X.std(0), X / np.linalg.norm(X, axis=1, keepdims=True)):
        W = graph_by_definition(Z, round(1.5 * np.clip(m // (2 * c), 3, 10)))
        root = 1 / np.sqrt(W.sum(1))
        values, U = np.linalg.eigh(np.eye(m) - root[:, None] * W * root)
        smooth = slice(1, 2 * c + 10 + 1)
        F = root[:, None] * U[:, smooth]
        low = H @ (F * np.maximum(1 / values[smooth] - 1, 0)) @ F.T @ H
        total += low * m / (np.trace(low) + np.sum(root**2)) / 3
    assert_allclose(mean_kernel(X), total, atol=1e-6)


def test_functions_that_are_left_out_are_a_diagonal_where_their_eigenvalues_are_one():
    """L^+ = F (1 / values - 1) F' + D^-1 with all functions; with all of them the kernel is L^+ itself."""
    W = neighbour_graph(X, 30)
    degree, m = W.sum(axis=1), len(X)
    values, vectors = smoothest(W, m - 1)
    F = vectors / np.sqrt(degree)[:, None]
    H = np.eye(m) - 1 / m
    whole = (F * (1 / values - 1)) @ F.T + np.diag(1 / degree)
    assert_allclose(H @ whole @ H, H @ commute_kernel(W) @ H, atol=1e-8)
    B, K = auto._graph_factor(W, m - 1, np.full(m, 1 / m)), H @ commute_kernel(W) @ H
    assert_allclose(B @ B.T, K * m / np.trace(K), atol=1e-8)
    B = auto._graph_factor(W, 20, np.full(m, 1 / m))
    low = H @ (F[:, :20] * np.maximum(1 / values[:20] - 1, 0)) @ F[:, :20].T @ H
    assert_allclose(B @ B.T, low * m / (np.trace(low) + np.sum(1 / degree)), atol=1e-8)


def test_weights_of_a_graph_add_up_and_do_not_depend_on_units():
    D = np.sort(RNG.uniform(1, 2, (30, 8)), axis=1)
    index = np.array([RNG.permutation(np.delete(np.arange(30), i))[:8] for i in range(30)])
    W = fuzzy_union(D, index)
    one_sided = np.exp(-(D - D[:, :1]) / _graphs._widths(D - D[:, :1], 3.0)[:, None])
    assert_allclose(one_sided.sum(1), 3.0)
    assert_allclose(one_sided[:, 0], 1.0)
    assert 0 < W.data.min() and W.data.max() <= 1
    assert abs(W - W.T).max() == 0
    assert_allclose(fuzzy_union(1e-7 * D, index).toarray(), W.toarray(), atol=1e-9)
    assert_allclose(fuzzy_union(D + 5, index).toarray(), W.toarray(), atol=1e-9)  # only what is beyond the nearest
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = fuzzy_union(np.ones((30, 8)), index)  # all neighbours equally far
        two = fuzzy_union(D[:, :2], index[:, :2])  # no width makes two weights add up to one
    assert_allclose(same.data, 1.0)
    assert np.isfinite(two.data).all()


def test_samples_in_any_order_and_views_in_any_units_give_the_same_kernel():
    K = mean_kernel(X)
    order = RNG.permutation(len(X))
    assert_allclose(mean_kernel(X[order]), K[np.ix_(order, order)], atol=1e-8)
    for factor in (1e-120, 1e-3, 1e6, 1e120):
        assert_allclose(mean_kernel(X * factor), K, atol=1e-8)
    assert_allclose(mean_kernel(sparse.csr_matrix(X)), K, atol=1e-6)
    assert_allclose(mean_kernel(sparse.csr_matrix(X[:, :3] + 1e6)), mean_kernel(X[:, :3] + 1e6), atol=1e-12)
    assert_allclose(mean_kernel(X.astype(np.float32)), K, atol=1e-2)


def test_sparse_columns_of_equal_numbers_have_no_deviation():
    """scikit-learn's variance of equal numbers is below zero for some weights, by rounding."""
    rng = np.random.default_rng(488)
    equal, below = sparse.csr_array(np.tile(rng.standard_normal(5), (33, 1))), 0
    for _ in range(20):
        weight = 10 ** rng.uniform(-5, 5, 33)
        below += np.any(mean_variance_axis(equal, axis=0, weights=weight)[1] < 0)
        with np.errstate(all="raise"):
            assert all(np.isfinite(one.view.scale).all() for one in informative_views(equal, weight))
    assert below


@pytest.mark.parametrize("restarts", [50, 1])
def test_sparse_eigenvectors_are_the_dense_ones(restarts, monkeypatch):
    """By products with the graph (50), and by factorising it when they do not converge (1)."""
    monkeypatch.setattr(_graphs, "RESTARTS", restarts)
    data = RNG.standard_normal((260, 3))
    W = neighbour_graph(data, 6)
    values, vectors = smoothest(W, 12)
    root = 1 / np.sqrt(W.sum(axis=1))
    dense, basis = np.linalg.eigh(np.eye(260) - root[:, None] * W.toarray() * root)
    assert_allclose(values, dense[1:13], atol=1e-9)
    assert_allclose(np.abs(np.sum(vectors * basis[:, 1:13], axis=0)), 1.0, atol=1e-5)
    again, same = smoothest(W, 12)
    assert_array_equal(again, values)
    assert_array_equal(same, vectors)


def test_all_functions_of_a_graph_make_its_kernel():
    W = neighbour_graph(X, 5)
    B = commute_factor(W, len(X) - 1)
    H = np.eye(len(X)) - 1 / len(X)
    assert_allclose(H @ B @ B.T @ H, H @ commute_kernel(W) @ H, atol=1e-8)


def test_no_approximation_changes_the_kernel():
    assert_array_equal(mean_kernel(X, approximation=None), mean_kernel(X))


def test_samples_beyond_the_graphs_have_the_features_of_their_neighbours(monkeypatch):
    data, y = make_blobs(400, centers=5, n_features=8, random_state=1)
    whole = KernelKMeans(5, kernel="auto", random_state=0).fit(data)
    monkeypatch.setattr(_nodes, "MAX_GRAPH_SAMPLES", 150)
    fitted = fit_kernel(data, np.ones(400), kernel="auto", n_clusters=5, rng=np.random.RandomState(0))
    assert len(fitted.graphed) == 150
    features, B = fitted.source.features, fitted.operator.factor + fitted.operator.offset
    assert_allclose(features(data), B, atol=1e-12)
    some = fit_kernel(data[fitted.graphed], np.ones(150), kernel="auto", n_clusters=5, rng=np.random.RandomState(0))
    here = some.operator.factor + some.operator.offset
    assert_allclose(B[fitted.graphed], here, atol=1e-12)  # samples of the graph have their own
    assert 0 < features.error() < 0.3
    few = KernelKMeans(5, kernel="auto", random_state=0).fit(data)
    assert adjusted_rand_score(whole.labels_, few.labels_) == 1
    assert adjusted_rand_score(y, few.labels_) == 1


def test_views_that_disagree_have_wider_graphs(monkeypatch):
    narrow = mean_kernel(X)
    monkeypatch.setattr(auto, "MIN_VIEW_AGREEMENT", 1.1)
    k = n_neighbors_for(len(X), 3)
    assert_allclose(mean_kernel(X), mean_of(X, auto.WIDE * k))
    assert_allclose(mean_kernel(X[:, :3]), mean_of(X[:, :3], k))  # few columns, two views: no noise
    assert_allclose(narrow, mean_of(X, k))


def mean_of(data, k):
    kernel = auto.Auto(n_neighbors=k)
    fitted = fit_kernel(data, np.ones(len(data)), kernel=kernel, n_clusters=3, rng=np.random.RandomState(0))
    return fitted.operator @ np.eye(len(data))


def test_far_groups_are_joined_by_their_shortest_links():
    far = np.vstack([RNG.standard_normal((15, 2)) + shift for shift in (0, 100, 200)])
    for W in (neighbour_graph(far, 3), neighbour_graph(far, 5)):
        assert sparse.csgraph.connected_components(W)[0] == 1
        assert abs(W - W.T).max() == 0
        between = W.toarray()[:15, 15:30]
        i, j = np.unravel_index(np.argmin(cdist(far[:15], far[15:30])), (15, 15))
        assert np.count_nonzero(between) == 1
        inside = np.concatenate(
            [block[block > 0] for block in (W.toarray()[g : g + 15, g : g + 15] for g in (0, 15, 30))]
        )
        assert 0.07 < np.mean(inside <= between[i, j]) < 0.13
        ends = W.toarray()[:15, 30:]  # the second nearest part, a weaker link
        near, far_apart = cdist(far[:15], far[15:30]).min(), cdist(far[:15], far[30:]).min()
        assert np.count_nonzero(ends) == 1
        assert_allclose(ends.max(), between.max() * (near / far_apart) ** 2, rtol=0.1)


def test_a_ring_of_far_groups_is_closed():
    data, _ = on_a_ring(noise=0.02)
    model = StructuredClustering(structure="ring:6", kernel="graph", random_state=0).fit(data)
    assert model.order_.margin > 0.5  # a tree of links would leave orders that are exactly as good
    assert_array_equal(np.sort(np.diff(model.labels_[::12]) % 6)[[0, -1]] % 4, [1, 1])


@pytest.mark.parametrize("kernel", kernels(is_function=False, pairwise=False))
def test_a_weight_counts_as_that_many_copies(kernel):
    data, _ = make_blobs(60, centers=4, n_features=5, random_state=0)
    weight = RNG.integers(1, 4, 60)
    once = KernelKMeans(4, kernel=kernel, random_state=0).fit(data, sample_weight=weight)
    copied = KernelKMeans(4, kernel=kernel, random_state=0).fit(np.repeat(data, weight, axis=0))
    assert_array_equal(copied.labels_, np.repeat(once.labels_, weight))
    assert_allclose(copied.objective_, once.objective_, rtol=1e-6)


@pytest.mark.parametrize("kernel", kernels(is_function=False, pairwise=False))
def test_equal_rows_are_one_node(kernel):
    five = RNG.standard_normal((5, 4)) * 10
    model = KernelKMeans(5, kernel=kernel, random_state=0).fit(np.repeat(five, 30, axis=0))
    assert_array_equal(model.sizes_, np.full(5, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        constant = KernelKMeans(2, kernel=kernel, random_state=0).fit(np.ones((20, 4)))
    assert constant.objective_ == 0
    assert set(constant.labels_) <= {0, 1}


def test_distinct_rows():
    data = np.array([[0.0, 1], [-0.0, 1], [2, 3], [0, 1], [2, 3.0000001]])
    for form in (data, sparse.csr_matrix(data)):
        first, which = distinct_rows(form)
        assert len(first) == 3
        assert_array_equal(data[first[which]], data + 0.0)


def test_a_view_that_tells_nothing_is_left_out():
    names = [view.name for view in auto.views(X, np.ones(len(X)))]
    assert names == ["given", "standardised", "unit rows"]
    on_rays = np.outer(np.arange(1.0, 31), np.ones(5))  # all in one direction
    assert "unit rows" not in [view.name for view in auto.views(on_rays, np.ones(30))]
    assert "unit rows" not in [view.name for view in auto.views(X[:, :2], np.ones(len(X)))]


def test_number_of_neighbours():
    assert [n_neighbors_for(m, 5) for m in (10, 50, 1000)] == [4, 8, 15]


# -- evidence ---------------------------------------------------------------------------------------------------------


def cosine_by_definition(factors, weight):
    H = np.eye(len(weight)) - np.outer(np.ones(len(weight)), weight) / weight.sum()
    half = np.sqrt(weight)[:, None]
    L, M = (half * H @ B @ B.T @ H.T * half.T for B in factors)
    return (L * M).sum() / np.sqrt((L**2).sum() * (M**2).sum())


def test_alignment_is_the_cosine_of_two_kernels():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        one, other, weight = rng.integers(0, 4, 30), rng.integers(0, 5, 30), rng.uniform(0.1, 3, 30)
        found = alignment(one, other, weight)
        assert_allclose(found, cosine_by_definition([np.eye(5)[one], np.eye(5)[other]], weight))
        assert_allclose(alignment(one, one, weight), 1.0)
        assert found <= 1 + 1e-12
        assert_allclose(alignment(rng.permutation(4)[one], other, weight), found)
        copies = rng.integers(1, 4, 30)
        repeated = alignment(np.repeat(one, copies), np.repeat(other, copies), np.ones(copies.sum()))
        assert_allclose(repeated, alignment(one, other, copies.astype(float)))
        factors = [rng.standard_normal((30, r)) for r in (3, 6)]
        centred = [B - weight @ B / weight.sum() for B in factors]
        assert_allclose(auto.alignment(centred, weight), cosine_by_definition(factors, weight))
        assert_allclose(auto.alignment([centred[0], 2 * centred[0]], weight), 1.0)
    assert auto.alignment(centred[:1], weight) == 1.0


def on_a_ring(c=6, each=12, noise=0.15, columns=8):
    angle = np.repeat(np.arange(c), each) * 2 * np.pi / c
    plane = np.c_[np.cos(angle), np.sin(angle)] + noise * np.random.default_rng(1).standard_normal((c * each, 2))
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((columns, columns)))[0][:2]
    return plane @ turn, np.repeat(np.arange(c), each)


def mean_of_graphs(data, c):
    return fit_kernel(data, np.ones(len(data)), kernel="auto", n_clusters=c, rng=np.random.RandomState(0))


def test_rbf_kernels_of_the_views_see_an_order_that_commute_times_lose():
    data, y = on_a_ring()
    kernel, n = mean_of_graphs(data, 6), np.full(6, 12.0)
    one_ring = np.minimum(np.arange(6), 6 - np.arange(6))[(np.arange(6)[:, None] - np.arange(6)) % 6]
    own = squared_distances(kernel.operator.cluster_sums(y, 6), n)
    companions = kernel.companion_sums(y, 6)
    assert len(companions) == 6  # two widths for each of three views
    given = companions[1][0]
    D = cdist(data, data, "sqeuclidean")
    K, Pi = np.exp(-D * (72 * 71) / D.sum()), np.eye(6)[y]
    assert_allclose(given, Pi.T @ K @ Pi)
    for S, sizes in companions:
        assert_array_equal(sizes, n)
        assert distance_fit(squared_distances(S, sizes), one_ring)[0] > max(0.85, distance_fit(own, one_ring)[0])
    assert kernel.companion_sums(np.zeros(72, dtype=int), 6) == []  # clusters without samples have no distances
    model = StructuredClustering(structure="ring:6", kernel="auto", random_state=0).fit(data)
    assert model.order_confidence_ > 0.8  # though commute times between clusters with gaps know no order


def test_views_that_disagree_bring_the_size_prior():
    rng = np.random.default_rng(0)
    direction = rng.standard_normal((3, 40))[np.repeat(np.arange(3), 40)]
    noisy = rng.lognormal(0, 3, (120, 1)) * (direction + 0.3 * rng.standard_normal((120, 40)))
    noisy = noisy * np.r_[np.ones(20), np.full(20, 5.0)]
    model = KernelKMeans(3, kernel="auto", random_state=0)
    agreement = mean_of_graphs(noisy, 3).view_agreement
    assert agreement < auto.MIN_VIEW_AGREEMENT
    with pytest.warns(UserWarning, match="similar size"):
        model.fit(noisy)
    assert model.diagnostics_.size_prior == policy.SIZE_PRIOR
    assert model.diagnostics_.view_agreement == agreement
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*Compare both")
        told = StructuredClustering(3, objective=Dependence(size_prior=0), random_state=0).fit(noisy)
    assert told.diagnostics_.size_prior == 0
    data, _ = make_blobs(120, centers=3, n_features=8, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clear = KernelKMeans(3, kernel="auto", random_state=0).fit(data)
    assert clear.diagnostics_.size_prior == 0 and clear.diagnostics_.view_agreement > 0.9


def test_new_samples_are_placed_by_their_neighbours_in_every_view():
    data, _ = on_a_ring(each=30)
    model = StructuredClustering(structure="ring:6", kernel="auto", random_state=0).fit(data)
    assert_array_equal(model.predict(data), model.labels_)
    rng = np.random.default_rng(5)
    assert np.mean(model.predict(data + 0.01 * rng.standard_normal(data.shape)) == model.labels_) > 0.98


# -- units ------------------------------------------------------------------------------------------------------------


def test_unlike_units_are_named():
    narrow = RNG.standard_normal((40, 5))
    wide = narrow * [1, 1, 1, 1, 50]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelKMeans(2, random_state=0).fit(narrow)
        KernelKMeans(2, kernel="precomputed", random_state=0).fit(wide @ wide.T)
        KernelKMeans(2, random_state=0).fit(np.c_[narrow, np.ones(40)])  # a constant column has no unit
        pixels = RNG.standard_normal((40, 64)) * np.r_[np.full(20, 1e-3), np.ones(44)]
        KernelKMeans(2, random_state=0).fit(pixels)  # a dark border
    with pytest.warns(UserWarning, match=r"The variance of X\[:, 4\] is"):
        KernelKMeans(2, random_state=0).fit(wide)
    with pytest.warns(UserWarning, match="standardise"):
        KernelKMeans(2, random_state=0).fit(RNG.standard_normal((40, 64)) * np.r_[1e3, np.ones(63)])


def test_the_kernel_of_a_view_is_the_formula_of_the_page():
    """Commute times, less their limit on large graphs, by the smoothest functions, with a mean diagonal of one."""
    X = np.random.default_rng(0).standard_normal((60, 3))
    W = _graphs.neighbour_graph(X, 6)
    A, degree = W.toarray(), W.sum(axis=1)
    values, vectors = np.linalg.eigh(np.eye(60) - A / np.sqrt(np.outer(degree, degree)))
    values, u = values[1:], vectors[:, 1:] / np.sqrt(degree)[:, None]  # all but the constant

    def squared(K):
        return np.diag(K)[:, None] + np.diag(K) - 2 * K

    commute = squared(np.linalg.pinv(np.diag(degree) - A))
    assert_allclose(squared(u / values @ u.T), commute, atol=1e-12)
    shorter = commute - (1 / degree[:, None] + 1 / degree) * (1 - np.eye(60))
    assert_allclose(squared(u * (1 / values - 1) @ u.T), shorter, atol=1e-12)
    b = u[:, :20] * np.sqrt(1 / values[:20] - 1)
    b -= b.mean(axis=0)
    tau = ((b**2).sum(axis=1) + 1 / degree).mean()
    B = auto._graph_factor(W, 20, np.full(60, 1 / 60))
    assert_allclose(B @ B.T, b @ b.T / tau, atol=1e-9)
