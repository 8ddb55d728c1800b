"""kernel="auto" of many views: each beside all of them together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kernelclust import KernelKMeans, MultiKernelClustering
from kernelclust.kernels import LowRankKernel, WeightedSumKernel, fit_kernel
from kernelclust.metrics import structured_accuracy
from kernelclust.multikernel import as_method, check_views

pytestmark = pytest.mark.usefixtures("few_starts")

X, y = make_blobs(90, n_features=6, centers=3, cluster_std=1.5, random_state=1)
VIEWS = [X[:, :2], X[:, 2:4], X[:, 4:]]


def columns(views):
    return np.hstack([(V - V.mean(axis=0)) / V.std(axis=0) for V in views])


def matrix(Z, c=3):
    """kernel="auto" by its smoothest functions, of unit diagonal."""
    kernel = fit_kernel(Z, np.ones(len(Z)), kernel="auto", n_clusters=c, rng=np.random.RandomState(0))
    K = kernel.operator.rows(np.arange(len(Z)))
    return K / np.sqrt(np.outer(np.diag(K), np.diag(K)))


@pytest.mark.parametrize("method", ["average", "mkkm-mr"])
def test_it_is_the_method_on_views_beside_all_of_them(method):
    whole = matrix(columns(VIEWS))
    given = [(matrix(V) + whole) / 2 for V in VIEWS]
    model = MultiKernelClustering(3, method=method, random_state=0).fit(VIEWS)
    plain = as_method(method).with_params(unit_diagonal=False, center=False)
    other = MultiKernelClustering(3, method=plain, kernel="precomputed", random_state=0).fit(given)
    assert adjusted_rand_score(model.labels_, other.labels_) == 1
    assert_allclose(model.weights_, other.weights_, rtol=1e-5)
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-6)
    assert adjusted_rand_score(y, model.labels_) == 1
    Pi = np.eye(3)[model.labels_]
    shares = [np.trace(Pi.T @ matrix(V) @ Pi / Pi.sum(axis=0)) / 90 for V in VIEWS]
    assert_allclose(model.explained_, shares, rtol=1e-8)
    assert_array_equal(model.predict(VIEWS), model.labels_)


def test_one_table_is_kernel_k_means():
    model = MultiKernelClustering(3, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, KernelKMeans(3, kernel="auto", random_state=0).fit(X).labels_) == 1
    assert_array_equal(model.weights_, [1])


def test_samples_may_miss_views():
    observed = np.random.default_rng(0).uniform(size=(90, 3)) < 0.75
    observed[~observed.any(axis=1), 0] = True
    model = MultiKernelClustering(3, random_state=0).fit(VIEWS, observed=observed)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    blank = [np.where(seen[:, None], V, np.nan) for V, seen in zip(VIEWS, observed.T, strict=True)]
    assert_array_equal(MultiKernelClustering(3, random_state=0).fit(blank).labels_, model.labels_)
    assert_array_equal(model.predict(blank), model.predict(VIEWS, observed=observed))
    assert np.mean(model.predict(blank) == model.labels_) > 0.9


def test_units_and_the_order_of_views_do_not_matter_to_the_whole():
    one = MultiKernelClustering(3, method="average", random_state=0).fit(VIEWS)
    other = MultiKernelClustering(3, method="average", random_state=0).fit([1e6 * VIEWS[2], VIEWS[0], 1e-6 * VIEWS[1]])
    assert_array_equal(one.labels_, other.labels_)
    assert_allclose(one.objective_, other.objective_, rtol=1e-6)


def test_columns_are_standardised_over_samples_that_hold_them():
    from kernelclust.multikernel._together import Columns

    rng = np.random.default_rng(0)
    V, W = 5 + 3 * rng.standard_normal((8, 2)), rng.standard_normal((8, 3))
    V[6:] = np.nan
    W[:, 2] = 4.0
    weight = np.array([1.0, 2, 1, 1, 3, 1, 1, 1])
    views = check_views([V, W], ["0", "1"], None)
    Z = Columns.of(views, weight)(views)
    assert_allclose(weight[:6] @ Z[:6, :2], 0, atol=1e-12)
    assert_allclose(weight[:6] @ Z[:6, :2] ** 2, weight[:6].sum())
    assert_array_equal(Z[6:, :2], 0)
    assert_array_equal(Z[:, 4], 0)
    repeated = check_views(
        [np.repeat(V, weight.astype(int), axis=0), np.repeat(W, weight.astype(int), axis=0)], ["0", "1"], None
    )
    assert_allclose(Columns.of(repeated, np.ones(11))(views), Z, atol=1e-12)
    thin = check_views([sparse.csr_array(np.nan_to_num(V)), W], ["0", "1"], None)
    found = Columns.of(thin, weight)(thin)
    assert sparse.issparse(found)
    assert_allclose(weight @ found.toarray()[:, :2] ** 2, weight.sum())
    huge = check_views([1e200 * W[:, :2], W], ["0", "1"], None)
    assert np.isfinite(Columns.of(huge, weight)(huge)).all()
    for size in (1e-200, 1e200):
        scaled = check_views([size * thin.arrays[0], W], ["0", "1"], None)
        assert_allclose(Columns.of(scaled, weight)(scaled).toarray(), found.toarray())


def test_a_sum_of_sums_holds_every_kernel_once():
    rng = np.random.default_rng(0)
    one, two, three = (LowRankKernel(rng.standard_normal((12, 2))) for _ in range(3))
    nested = WeightedSumKernel(
        [WeightedSumKernel([one, two], [0.5, 0.5]), WeightedSumKernel([three, two], [0.5, 2.0])], [2.0, 3.0]
    )
    plain = WeightedSumKernel([one, two, three], [1.0, 7.0, 1.5])
    V = rng.standard_normal((12, 3))
    assert_allclose(nested @ V, plain @ V)
    assert nested.factor.shape == (12, 6)


def test_clusters_are_placed_and_kept():
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(6), 30)
    angle = np.pi * place / 3
    circle = 4 * np.c_[np.cos(angle), np.sin(angle)]
    views = [circle @ rng.standard_normal((2, 4)) + rng.standard_normal((180, 4)) for _ in range(3)]
    ring = MultiKernelClustering(structure="ring:6", random_state=0).fit(views)
    flat = MultiKernelClustering(6, random_state=0).fit(views)
    assert adjusted_rand_score(ring.labels_, flat.labels_) == 1
    assert structured_accuracy(place, ring.labels_, "ring:6") > 0.9
    known = np.full(180, -1)
    known[[0, 40, 70]] = 2, 3, 4
    told = MultiKernelClustering(structure="ring:6", random_state=0).fit(views, known)
    assert_array_equal(told.labels_[[0, 40, 70]], [2, 3, 4])
    assert np.mean(told.labels_ == (place + 2) % 6) > 0.9


def test_bad_views():
    with pytest.raises(ValueError, match=r"kernel 1 \(view 1\) is constant"):
        MultiKernelClustering(3).fit([X, np.ones((90, 2))])
    with pytest.raises(ValueError, match="views differ in their numbers of samples"):
        MultiKernelClustering(3).fit([X, X[:80]])
    assert MultiKernelClustering(2).fit([np.ones((9, 2)), np.ones((9, 1))]).labels_.shape == (9,)
