"""kernel="auto": the mean of nine commute kernels by definition, its invariances, and the evidence it gives."""

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
from kernelclust.kernels import _graphs, auto, fit_kernel
from kernelclust.kernels._graphs import (
    commute_factor,
    commute_kernel,
    distinct_rows,
    fuzzy_union,
    n_neighbors_for,
    neighbour_graphs,
    smoothest,
)
from kernelclust.kernels._views import informative_views
from kernelclust.objectives import Dependence
from kernelclust.policies import auto as policy
from kernelclust.policies.auto import ViewClusterings, alignment
from kernelclust.structures import as_structure

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
        for size in (1, 1.5, 2):
            k = round(size * np.clip(m // (2 * c), 3, 10))
            W = graph_by_definition(Z, k)
            root = 1 / np.sqrt(W.sum(1))
            L = np.eye(m) - root[:, None] * W * root
            K = H @ (root[:, None] * np.linalg.pinv(L, hermitian=True) * root) @ H
            total += K * m / np.trace(K) / 9
    assert_allclose(np.trace(total), m)
    assert_allclose(mean_kernel(X), total, atol=1e-6)


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
    W = neighbour_graphs(data, [6])[0]
    values, vectors = smoothest(W, 12)
    root = 1 / np.sqrt(W.sum(axis=1))
    dense, basis = np.linalg.eigh(np.eye(260) - root[:, None] * W.toarray() * root)
    assert_allclose(values, dense[1:13], atol=1e-9)
    assert_allclose(np.abs(np.sum(vectors * basis[:, 1:13], axis=0)), 1.0, atol=1e-5)
    again, same = smoothest(W, 12)
    assert_array_equal(again, values)
    assert_array_equal(same, vectors)


def test_all_functions_of_a_graph_make_its_kernel():
    W = neighbour_graphs(X, [5])[0]
    B = commute_factor(W, len(X) - 1)
    H = np.eye(len(X)) - 1 / len(X)
    assert_allclose(H @ B @ B.T @ H, H @ commute_kernel(W) @ H, atol=1e-8)


def test_the_low_rank_kernel_with_all_functions_is_the_dense_one(monkeypatch):
    monkeypatch.setattr(auto, "FUNCTIONS", len(X))
    assert_allclose(mean_kernel(X, approximation="nystroem"), mean_kernel(X, approximation=None), atol=1e-6)


def test_large_sets_cluster_as_small_ones_do():
    data, y = make_blobs(400, centers=5, n_features=8, random_state=1)
    dense = KernelKMeans(5, kernel="auto", random_state=0).fit(data)
    low = KernelKMeans(5, kernel=auto.Auto(dense_limit=100), random_state=0).fit(data)
    assert_array_equal(dense.labels_, low.labels_)
    assert adjusted_rand_score(y, low.labels_) == 1


def test_far_groups_are_joined_by_their_shortest_links():
    far = np.vstack([RNG.standard_normal((15, 2)) + shift for shift in (0, 100, 200)])
    for W in neighbour_graphs(far, [3, 5]):
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
    assert [n_neighbors_for(m, 5, 1.0) for m in (10, 50, 1000)] == [3, 5, 10]
    assert n_neighbors_for(1000, 5, 1.5) == 15


# -- evidence ---------------------------------------------------------------------------------------------------------


def aligned_by_definition(A, one, other, weight):
    H = np.eye(len(one)) - np.outer(np.ones(len(one)), weight) / weight.sum()
    half = np.sqrt(weight)[:, None]
    L, M = (half * H @ np.eye(len(A))[labels] @ A @ np.eye(len(A))[labels].T @ H.T * half.T for labels in (one, other))
    return (L * M).sum() / np.sqrt((L**2).sum() * (M**2).sum())


@pytest.mark.parametrize("spec", ["flat:4", "chain:4", "ring:5", "tree:2x2"])
def test_alignment_is_the_cosine_of_two_label_kernels(spec):
    structure = as_structure(spec)
    A, c = structure.kernel, structure.n_clusters
    for seed in range(20):
        rng = np.random.default_rng(seed)
        one, other, weight = rng.integers(0, c, 30), rng.integers(0, c, 30), rng.uniform(0.1, 3, 30)
        found = alignment(A, one, other, weight)
        assert_allclose(found, aligned_by_definition(A, one, other, weight))
        assert_allclose(alignment(A, one, one, weight), 1.0)
        assert found <= 1 + 1e-12
        node = structure.align(rng.standard_normal((c, c)))
        assert_allclose(alignment(A, node[one], other, weight), found)
        copies = rng.integers(1, 4, 30)
        repeated = alignment(A, np.repeat(one, copies), np.repeat(other, copies), np.ones(copies.sum()))
        assert_allclose(repeated, alignment(A, one, other, copies.astype(float)))


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
    agreement = ViewClusterings(mean_of_graphs(noisy, 3).view_factors, np.ones(120), 3).agreement()
    assert agreement < policy.MIN_VIEW_AGREEMENT
    with pytest.warns(UserWarning, match="similar sizes"):
        model.fit(noisy)
    assert model.diagnostics_.size_prior == policy.SIZE_PRIOR
    assert model.diagnostics_.view_agreement == agreement
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*look at both")
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
