"""Numbers at the edge, one by one: what once gave NaN, infinity or an error from inside."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from parts import ESTIMATORS, kernels
from sklearn import config_context
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, euclidean_distances
from sklearn.metrics.pairwise import rbf_kernel

from kernelclust import (
    Diffrac,
    DisKMeans,
    KernelKMeans,
    MaxMarginClustering,
    MultiKernelClustering,
    metrics,
)
from kernelclust.datasets import rotated_images
from kernelclust.kernels import Precomputed, check_precomputed
from kernelclust.margin import CuttingPlane
from kernelclust.multikernel import as_method, method_names
from kernelclust.objectives import Dependence

pytestmark = pytest.mark.usefixtures("few_starts")

X, y = make_blobs(40, n_features=3, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 0]], random_state=0)


@pytest.fixture(autouse=True)
def no_warnings_from_numpy():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


# -- symmetry ---------------------------------------------------------------------------------------------------------


def skewed(large):
    K = rbf_kernel(X)
    K[7, 3] += 0.1
    K[large] = 1e9
    return K


@pytest.mark.parametrize("large", [(0, 0), ([0] * 40, range(40))], ids=["one entry", "one row"])
def test_a_large_entry_does_not_hide_that_a_matrix_is_not_symmetric(large):
    K = skewed(large)
    K[:, 0] = K[0]
    with pytest.raises(ValueError, match=r"not symmetric: K\[7, 3\]|not symmetric: K\[3, 7\]"):
        KernelKMeans(3, kernel="precomputed").fit(K)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_is_no_lack_of_symmetry(dtype):
    """Entries near zero are as wrong as the large ones that they are the difference of."""
    rng = np.random.default_rng(0)
    Z = np.vstack([X, X + 1e-9, 1e3 * X[:5]]).astype(dtype)
    for K in (Z @ Z.T, -euclidean_distances(Z.astype(float), squared=True).astype(dtype)):
        noise = np.finfo(dtype).eps * rng.standard_normal(K.shape)
        own = np.sqrt(np.abs(np.diagonal(K)))
        size = np.maximum(np.outer(own, own), np.median(np.abs(K)))
        check_precomputed((K + noise * size).astype(dtype))


# -- scales -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_a_width_beyond_floating_point_is_said(scale):
    with pytest.warns(UserWarning, match="gamma is (inf|0): X has entries of size"):
        model = KernelKMeans(3, random_state=0).fit(X * scale)
    assert adjusted_rand_score(y, model.labels_) == 1


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e300])
@pytest.mark.filterwarnings("ignore:gamma is")
def test_many_kernels_know_no_unit(scale):
    one = MultiKernelClustering(3, random_state=0).fit(X)
    other = MultiKernelClustering(3, random_state=0).fit(X * scale)
    assert_allclose(other.weights_, one.weights_, rtol=1e-3)
    assert_allclose(other.objective_, one.objective_, rtol=1e-3)
    assert_array_equal(other.predict(X * scale), one.labels_)


@pytest.mark.parametrize("scale", [1e-310, 1e-320])
def test_tiny_kernels_are_kernels(scale):
    K = rbf_kernel(X, gamma=0.1)
    model = MultiKernelClustering(3, kernel="precomputed", random_state=0).fit([K * scale, K])
    assert np.isfinite(model.weights_).all() and adjusted_rand_score(y, model.labels_) == 1


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("scale", [5e-324, 1e-320, 1e-300, 1e-150, 1e150, 1e250, 1e306, 5e306])
def test_hyperplanes_at_any_scale_or_a_clear_error(n_clusters, scale):
    with np.errstate(all="ignore"):
        Z = np.clip(X * scale, -1.7e308, 1.7e308)
    try:
        model = MaxMarginClustering(n_clusters, solver=CuttingPlane(n_init=2), random_state=0).fit(Z)
    except ValueError as error:
        assert not 1e-300 <= scale <= 1e300
        assert "rescale X" in str(error) or "all samples are equal" in str(error) or "different" in str(error)
    else:
        assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()
        assert len(np.unique(model.labels_)) == n_clusters


@pytest.mark.parametrize("kernel", kernels(is_function=False, pairwise=False))
@pytest.mark.parametrize("scale", [5e-324, 1.7e308])
@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")  # scikit-learn's own sum of X
def test_graphs_of_the_smallest_and_the_largest_numbers(kernel, scale):
    corners = np.sign(np.array([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]]) - (scale > 1) * 0.5)
    model = KernelKMeans(3, kernel=kernel, random_state=0).fit(np.repeat(corners, 8, axis=0) * scale)
    assert adjusted_rand_score(np.repeat(np.arange(3), 8), model.labels_) == 1


# -- weights of metrics -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e200, 1e308, 1.7e308])
def test_metrics_are_shares_whatever_unit_weights_have(size):
    guess, weight = np.arange(40) % 3, np.full(40, size)
    for name in ("clustering_accuracy", "purity_score"):
        score = getattr(metrics, name)
        assert_allclose(score(y, guess, sample_weight=weight), score(y, guess), rtol=1e-9)
    for name in ("structured_accuracy", "structured_loss"):
        score = getattr(metrics, name)
        assert_allclose(score(y, guess, "ring:3", sample_weight=weight), score(y, guess, "ring:3"), rtol=1e-9)


# -- others -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [{"size": 0}, {"n_clusters": 0}, {"per_cluster": 0}, {"skip": -1}, {"noise": -1.0}])
def test_rotated_images_of_nothing(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
        rotated_images(**{"photo": np.eye(9)} | wrong)


DATA = {
    "constant": np.ones((20, 2)),
    "two distinct": np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0),
    "one apart": np.r_[np.zeros((19, 2)), [[1.0, 1.0]]],
}


@pytest.mark.parametrize("method", method_names())
@pytest.mark.parametrize("name", DATA)
def test_many_kernels_of_degenerate_data(name, method):
    """Equal rows are together, no weight is no number; what is equal to all kernels has nothing to lose."""
    for c, refine in [(1, True), (2, True), (2, False), (3, True), (3, False)]:
        model = MultiKernelClustering(c, method=as_method(method).with_params(refine=refine), random_state=0).fit(
            DATA[name]
        )
        assert len(np.unique(model.labels_)) == min(c, len(np.unique(DATA[name], axis=0)))
        assert np.isfinite(model.weights_).all() and np.isfinite(model.objective_)
        if name == "two distinct" and c == 2:
            assert_array_equal(np.bincount(model.labels_), [10, 10])
        if name == "constant":
            assert_allclose(model.objective_, 0, atol=1e-12)


@pytest.mark.parametrize("method", method_names())
def test_one_cluster_of_many_kernels_under_a_loss(method):
    model = MultiKernelClustering(1, method=method, objective=Dependence(loss="zero-one"), random_state=0).fit(X)
    assert np.isfinite(model.objective_) and not model.labels_.any()


@pytest.mark.parametrize("Estimator", ESTIMATORS)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial", "graph"])
def test_one_cluster_has_no_order(Estimator, kernel):
    """K adds up to zero over all samples, so F is zero: to the last bit, and in any order of the samples."""
    weight = np.random.default_rng(0).uniform(0.5, 2, 40)
    for order in (np.arange(40), np.arange(40)[::-1]):
        for kept in (1024, 0):  # stored, tiled
            with config_context(working_memory=kept):
                model = Estimator(1, kernel=kernel, approximation=None, random_state=0)
                model.fit(X[order], sample_weight=weight[order])
            assert model.objective_ == model.upper_bound_ == model.gap_ == 0 and model.diagnostics_.history == [0.0]


@pytest.mark.parametrize("strength", [0.5, 1e-3])
def test_discriminative_kernels_of_a_rounded_kernel(strength):
    """Rounded to two digits its lowest eigenvalue is about -0.01: beyond that ridge there is no inverse."""
    K = np.round(rbf_kernel(X, gamma=0.1), 2)
    for model in (DisKMeans(3, lam=strength), Diffrac(3, kappa=strength / 40)):
        model.set_params(kernel="precomputed", random_state=0)
        if strength == 0.5:
            assert adjusted_rand_score(y, model.fit(K).labels_) == 1
        else:
            with pytest.raises(ValueError, match=r"beyond the ridge 0\.001.*raise the ridge"):
                model.fit(K)
        model.set_params(kernel=Precomputed(indefinite="clip"))
        assert adjusted_rand_score(y, model.fit(K).labels_) == 1


def test_a_ridge_lost_in_rounding_is_refused_in_any_order():
    """With weights of 10^12 the eigenvalues of the kernel are rounded by more than the ridge."""
    for order in (np.arange(len(X)), np.arange(len(X))[::-1]):
        model, weight = DisKMeans(3, kernel="rbf", lam=1e-3, random_state=0), np.full(len(X), 1e12)
        with pytest.raises(ValueError, match=r"ridge 0\.001 is lost in rounding.*Raise it to .* or scale the weights"):
            model.fit(X[order], sample_weight=weight)
        assert adjusted_rand_score(y, model.set_params(lam=1e9).fit(X, sample_weight=weight).labels_) == 1
