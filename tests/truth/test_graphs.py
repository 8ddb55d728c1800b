"""Graph kernels at size: neighbours, smoothest functions from coarse graphs, graphs that users bring."""

import warnings

import numpy as np
import pytest
from flat_parameters import build
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors, kneighbors_graph
from threadpoolctl import threadpool_limits

from kernelclust import KernelKMeans, StructuredClustering
from kernelclust.kernels import (
    Graph,
    PrecomputedGraph,
    _graphs,
    _new_samples,
    _smooth,
    _views,
    fit_kernel,
)
from kernelclust.kernels._graphs import (
    commute_factor,
    commute_kernel,
    n_neighbors_for,
    neighbour_graph,
    smoothest,
)
from kernelclust.kernels._new_samples import NeighbourSearch, nearest, nearest_others, neighbour_search
from kernelclust.kernels._smooth import filtered_smoothest

pytestmark = pytest.mark.usefixtures("few_starts")

RNG = np.random.default_rng(0)


def centred(K):
    return K - K.mean(0) - K.mean(1)[:, None] + K.mean()


def operator_of(X, kernel, weight=None, **settings):
    weight = np.ones(X.shape[0]) if weight is None else weight
    fitted = fit_kernel(X, weight, kernel=kernel, n_clusters=3, rng=np.random.RandomState(0), **settings)
    return fitted.operator @ np.eye(X.shape[0])


# -- neighbours -------------------------------------------------------------------------------------------------------


def test_every_way_finds_the_same_neighbours():
    wide, narrow = RNG.standard_normal((4500, 9)), RNG.standard_normal((500, 3))
    for data in (wide, wide[:800], narrow, sparse.csr_matrix(narrow)):
        dense = data.toarray() if sparse.issparse(data) else data
        truth = NearestNeighbors(n_neighbors=7, algorithm="brute").fit(dense).kneighbors()
        found = nearest_others(neighbour_search(data), 7)
        assert_allclose(found[0], truth[0], atol=1e-6)
        assert np.mean(found[1] == truth[1]) > 0.999


def test_a_tree_finds_neighbours_of_curves_and_products_those_of_clouds():
    place = np.linspace(0, 6, 1500)[:, None]
    curve = np.sin(place + np.arange(12)) + 0.01 * RNG.standard_normal((1500, 12))
    cloud = RNG.standard_normal((1500, 12))
    for data, expected in ((curve, cKDTree), (cloud, NearestNeighbors), (np.tile(curve, 3), NearestNeighbors)):
        search = neighbour_search(data)
        assert isinstance(search, expected)
        index = nearest(search, data[:40], 5)[1]
        assert_array_equal(index, np.argsort(cdist(data[:40], data), axis=1)[:, :5])


def test_neighbours_that_are_equally_far_do_not_depend_on_the_number_of_threads():
    bits = np.random.default_rng(0).integers(0, 2, (600, 30)).astype(float)
    search = neighbour_search(bits)
    assert isinstance(search, NearestNeighbors)
    found = []
    for n_threads in (1, 2, 3):
        with threadpool_limits(n_threads, user_api="openmp"):
            found.append((nearest_others(search, 5)[1], nearest(search, bits[:100], 5)[1]))
    for others, new in found[1:]:
        assert_array_equal(others, found[0][0])
        assert_array_equal(new, found[0][1])


def test_no_sample_is_its_own_neighbour_among_others_at_no_distance():
    close = 1e-200 * np.arange(40.0)[:, None]  # squares of the differences are zero
    search = neighbour_search(close)
    assert isinstance(search, cKDTree)
    distance, index = nearest_others(search, 3)
    assert distance.shape == index.shape == (40, 3)
    assert not (index == np.arange(40)[:, None]).any()
    assert_array_equal(distance, 0)


def test_a_fit_looks_at_every_view_once(monkeypatch):
    calls = {"view": 0, "distinct": 0, "search": 0, "neighbours": 0}

    def counted(name, function):
        def call(*args, **settings):
            calls[name] += 1
            return function(*args, **settings)

        return call

    monkeypatch.setattr(_views.View, "__call__", counted("view", _views.View.__call__))
    monkeypatch.setattr(_views, "distinct_rows", counted("distinct", _views.distinct_rows))
    monkeypatch.setattr(_new_samples, "neighbour_search", counted("search", _new_samples.neighbour_search))
    monkeypatch.setattr(_graphs, "nearest_others", counted("neighbours", _graphs.nearest_others))
    data, _ = make_blobs(90, 6, centers=3, random_state=0)
    StructuredClustering(3, structure="chain", kernel="auto", random_state=0).fit(data)
    # X as given twice: the rbf clusters that are compared are searched for in the background
    assert calls == {"view": 4, "distinct": 3, "search": 3, "neighbours": 3}


# -- smoothest functions ----------------------------------------------------------------------------------------------


def test_the_smoothest_functions_of_a_long_path_are_its_cosines():
    """The Lanczos method alone does not find them in its restarts."""
    m = 900
    W = sparse.diags_array([np.ones(m - 1), np.ones(m - 1)], offsets=[1, -1]).tocsr()
    values, V = smoothest(W, 20)
    k = np.arange(1, 21)
    assert_allclose(values, 1 - np.cos(np.pi * k / (m - 1)), rtol=1e-8)
    true = np.sqrt(W.sum(axis=1))[:, None] * np.cos(np.pi * np.outer(np.arange(m), k) / (m - 1))
    assert_allclose(np.abs((V * true).sum(axis=0)) / np.linalg.norm(true, axis=0), 1, rtol=1e-8)


def cosine(A, B):
    A, B = A - A.mean(0), B - B.mean(0)
    return np.sum((A.T @ B) ** 2) / np.sqrt(np.sum((A.T @ A) ** 2) * np.sum((B.T @ B) ** 2))


def some_graphs():
    even = RNG.standard_normal((1500, 3))
    far = np.vstack([RNG.standard_normal((500, 3)) + shift for shift in (0, 50, 200)])
    return [neighbour_graph(data, 8) for data in (even, far)]


@pytest.mark.parametrize("W", some_graphs(), ids=["even", "thin links"])
def test_functions_from_a_coarse_graph_are_those_of_a_full_decomposition(W, monkeypatch):
    monkeypatch.setattr(_smooth, "COARSE", 150)
    monkeypatch.setattr(_smooth, "ROUNDS", 40)
    root = 1 / np.sqrt(W.sum(axis=1))
    truth, basis = np.linalg.eigh(np.eye(1500) - root[:, None] * W.toarray() * root)
    values, V = filtered_smoothest(W, 20, tolerance=1e-4)
    assert_allclose(values[:20], truth[1:21], rtol=1e-5, atol=1e-9)
    assert_allclose(np.linalg.norm(basis[:, 1:25].T @ V[:, :20], axis=0), 1.0, atol=1e-5)
    assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-8)
    values, V = filtered_smoothest(W, 20)  # as kernels take it
    assert_allclose(values[:20], truth[1:21], rtol=0.03, atol=1e-9)
    exact, found = (root[:, None] * U[:, :20] / np.sqrt(v[:20]) for U, v in ((basis[:, 1:], truth[1:]), (V, values)))
    assert cosine(exact, found) > 0.999  # the last functions have near neighbours beyond


@pytest.mark.parametrize("kind", ["lattice", "star", "path"])
def test_graphs_of_equal_weights_get_coarser_little_by_little(kind):
    side = np.arange(40)
    at = {
        "lattice": np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2),
        "path": np.arange(1500)[:, None],
        "star": np.vstack([[[0, 0]], np.tile([[1, 0]], (1500, 1))]),  # linked with the centre alone
    }[kind]
    D = np.abs(at[:, None] - at[None]).sum(axis=2)
    D[1:, 1:] += 2 * (kind == "star")
    W = sparse.csr_array((D == 1).astype(float))
    root = 1 / np.sqrt(W.sum(axis=1))
    truth = np.linalg.eigvalsh(np.eye(len(D)) - root[:, None] * W.toarray() * root)
    values, _ = filtered_smoothest(W, 8)
    assert_allclose(values[:8], truth[1:9], rtol=0.03, atol=1e-9)


def test_large_graphs_give_the_kernel_of_small_ones(monkeypatch):
    W = neighbour_graph(RNG.standard_normal((1200, 4)), 8)
    exact = commute_factor(W, 15)
    monkeypatch.setattr(_graphs, "LARGE", 1000)
    assert cosine(commute_factor(W, 15), exact) > 0.9999
    assert_array_equal(commute_factor(W, 15), commute_factor(W, 15))


def test_a_graph_that_does_not_get_coarser_is_no_trap():
    loops = sparse.diags_array(np.ones(1000)).tocsr()
    values, _ = filtered_smoothest(loops, 5)
    assert_allclose(values, 0, atol=1e-9)


# -- graphs that users bring ------------------------------------------------------------------------------------------

DATA, _ = make_blobs(90, 4, centers=3, cluster_std=1.5, random_state=0)
W = neighbour_graph(DATA, n_neighbors_for(90, 3))


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_the_graph_of_kernel_graph_gives_its_kernel_and_labels(approximation):
    settings = {"approximation": approximation, "n_components": 20}
    K = operator_of(DATA, Graph(n_functions=20), approximation=approximation)
    assert_allclose(operator_of(W, PrecomputedGraph(n_functions=20), approximation=approximation), K, atol=1e-9)
    for structure in ("flat:3", "chain:3"):
        own = build(StructuredClustering, structure=structure, kernel="graph", random_state=0, **settings).fit(DATA)
        for form in (W, sparse.coo_matrix(W), W.toarray()):
            given = build(
                StructuredClustering, structure=structure, kernel="precomputed_graph", random_state=0, **settings
            )
            assert_array_equal(given.fit(form).labels_, own.labels_)
            assert_allclose(given.objective_, own.objective_)


def test_regularization_order_and_units():
    K = operator_of(W, PrecomputedGraph(regularization=0.5))
    assert_allclose(K, centred(commute_kernel(W, 0.5)), atol=1e-9)
    order = RNG.permutation(90)
    K = operator_of(W, "precomputed_graph")
    assert_allclose(operator_of(W[order][:, order], "precomputed_graph"), K[np.ix_(order, order)], atol=1e-9)
    assert_allclose(operator_of(1e5 * W, "precomputed_graph"), K, atol=1e-9)
    model = KernelKMeans(3, kernel="precomputed_graph", random_state=0).fit(W + sparse.eye_array(90))
    assert_array_equal(model.labels_, KernelKMeans(3, kernel="precomputed_graph", random_state=0).fit(W).labels_)


def test_a_weight_counts_as_that_many_copies_of_a_row_of_the_kernel():
    weight = RNG.integers(1, 4, 90)
    K = np.repeat(np.repeat(commute_kernel(W), weight, axis=0), weight, axis=1)
    once = KernelKMeans(3, kernel="precomputed_graph", random_state=0).fit(W, sample_weight=weight)
    copied = KernelKMeans(3, kernel="precomputed", random_state=0).fit(K)
    assert_allclose(once.objective_, copied.objective_)
    assert_array_equal(np.repeat(once.labels_, weight), copied.labels_)


def pieces(sizes=(40, 30, 20), isolated=0):
    blocks = [neighbour_graph(RNG.standard_normal((size, 3)), n_neighbors_for(size, 2)) for size in sizes]
    blocks += [sparse.csr_array((1, 1))] * isolated
    return sparse.csr_array(sparse.block_diag(blocks)), np.repeat(np.arange(len(blocks)), [b.shape[0] for b in blocks])


def test_pieces_are_joined_by_a_hub():
    V, _ = pieces()
    with pytest.warns(UserWarning, match="3 pieces .* 40, 30, 20 samples"):
        K = operator_of(V, "precomputed_graph")
    V = V / V.data.max()
    m, degree = V.shape[0], V.sum(axis=1)
    whole = np.zeros((m + 1, m + 1))  # with the hub as one more sample
    whole[:m, :m] = V.toarray()
    weak = np.quantile(V.data, 0.1)
    whole[m, :m] = whole[:m, m] = weak * np.concatenate([d / d.sum() for d in np.split(degree, [40, 70])])
    L = np.diag(whole.sum(1)) - whole
    truth = centred(np.linalg.pinv(L, hermitian=True)[:m, :m])
    assert_allclose(K, truth, atol=1e-8)
    with pytest.warns(UserWarning, match="3 pieces"):
        functions = operator_of(V, PrecomputedGraph(n_functions=m - 1), approximation="nystroem")
    assert_allclose(functions, truth, atol=1e-2 * np.abs(truth).max())


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_pieces_are_clusters(approximation):
    V, piece = pieces(isolated=30)
    with pytest.warns(UserWarning, match="33 pieces"):
        model = KernelKMeans(3, kernel="precomputed_graph", approximation=approximation, random_state=0).fit(V)
    assert np.isfinite(model.objective_)
    labels = [set(model.labels_[piece == number]) for number in range(3)]
    assert all(len(one) == 1 for one in labels)
    assert len(set.union(*labels)) >= 2
    plain, piece = pieces()
    with pytest.warns(UserWarning, match="3 pieces"):
        model = KernelKMeans(3, kernel="precomputed_graph", approximation=approximation, random_state=0).fit(plain)
    assert adjusted_rand_score(piece, model.labels_) == 1


def test_a_large_graph_in_pieces(monkeypatch):
    monkeypatch.setattr(PrecomputedGraph, "dense_limit", 200)
    monkeypatch.setattr(_graphs, "LARGE", 200)
    monkeypatch.setattr(_smooth, "COARSE", 100)
    V, piece = pieces((300, 200, 150), isolated=40)
    with pytest.warns(UserWarning, match="43 pieces"):
        model = KernelKMeans(3, kernel="precomputed_graph", random_state=0).fit(V)
    assert adjusted_rand_score(piece[:650], model.labels_[:650]) == 1


def test_a_one_sided_graph_is_made_symmetric_with_a_warning():
    one_sided = kneighbors_graph(DATA, 40, mode="connectivity")
    both = one_sided.maximum(one_sided.T)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        truth = KernelKMeans(3, kernel="precomputed_graph", random_state=0).fit(both)
    with pytest.warns(UserWarning, match="not symmetric .* one direction only"):
        model = KernelKMeans(3, kernel="precomputed_graph", random_state=0).fit(one_sided)
    assert_array_equal(model.labels_, truth.labels_)
    assert_allclose(model.objective_, truth.objective_)


def changed(i, j, value):
    V = W.toarray()
    V[i, j] = V[j, i] = value
    return V


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (changed(3, 7, -0.5), r"X\[3, 7\] = -0.5 is negative"),
        (sparse.csr_matrix(changed(3, 7, np.nan)), r"X\[3, 7\] = nan is not finite"),
        (changed(2, 5, np.inf), r"X\[2, 5\] = inf is not finite"),
        (np.eye(20), "no links"),
        (sparse.csr_matrix((20, 20)), "no links"),
        (W[:50], r"square matrix of affinities.*\(50, 90\)"),
    ],
)
def test_what_is_no_graph_is_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(3, kernel="precomputed_graph").fit(bad)


def test_new_samples_are_averages_by_affinity():
    model = StructuredClustering(3, structure="chain", kernel="precomputed_graph", random_state=0).fit(W)
    assert model.__sklearn_tags__().input_tags.pairwise and model.__sklearn_tags__().input_tags.sparse
    assert np.mean(model.predict(sparse.eye_array(90).tocsr()) == model.labels_) > 0.95
    new = RNG.uniform(size=(5, 90)) * (RNG.uniform(size=(5, 90)) < 0.1)
    share = new / new.sum(1, keepdims=True)
    Pi = np.eye(3)[model.labels_]
    sums = share @ (centred(commute_kernel(W)) @ Pi)
    for form in (new, sparse.csr_matrix(new), 3 * new):
        assert_allclose(model._prediction.similarities(form), sums, atol=1e-9)
    new[3] = 0
    with pytest.raises(ValueError, match="new sample 3 has no affinity"):
        model.predict(new)
    with pytest.raises(ValueError, match=r"X\[1, 4\] = -1 is negative"):
        model.predict(-np.eye(90)[[3, 4]] * [[0], [1]] + np.eye(90)[[3, 5]])
    with pytest.raises(ValueError, match="features"):
        model.predict(new[:, :40])


def test_samples_without_weight_are_placed_by_their_links():
    weight = np.ones(90)
    weight[::9] = 0
    model = KernelKMeans(3, kernel="precomputed_graph", random_state=0).fit(W, sample_weight=weight)
    used = weight > 0
    rest = KernelKMeans(3, kernel="precomputed_graph", random_state=0).fit(W[used][:, used])
    assert_array_equal(model.labels_[used], rest.labels_)
    assert_array_equal(model.labels_[~used], rest.predict(W[~used][:, used]))


def test_all_views_are_kept_for_the_evidence():
    fitted = fit_kernel(DATA, np.ones(90), kernel="auto", n_clusters=3, rng=np.random.RandomState(0))
    for search, Z in zip(fitted.source.features.searches, fitted.view_data, strict=True):
        assert_array_equal(search.prepare(DATA), Z)


def test_a_search_names_every_row():
    """Refuse rows without a name in a forged model file, which would be an error on use."""
    with pytest.raises(ValueError, match=r"^3 rows to search, but names of 2 samples"):
        NeighbourSearch(np.zeros((3, 2)), np.arange(2), None)
