"""MaxMarginClustering: scikit-learn's checks, any kind of input, new samples, and clear words for bad input."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelclust
from kernelclust import MaxMarginClustering
from kernelclust.margin import loss_names
from kernelclust.margin._losses import make_loss
from kernelclust.margin._solve import trivial_slack

X, truth = make_blobs(80, n_features=4, centers=2, cluster_std=1.0, random_state=0)
X.flags.writeable = False
THREE, three = make_blobs(60, n_features=3, centers=3, cluster_std=0.5, random_state=1)
KERNELS = ["linear", "cosine", "rbf", "laplacian", "polynomial", "graph", "diffusion", "auto"]
every_loss = pytest.mark.parametrize("loss", loss_names())


def fit(data=X, **parameters):
    return MaxMarginClustering(**{"random_state": 0, "n_init": 4, **parameters}).fit(data)


@parametrize_with_checks(
    [
        MaxMarginClustering(3, loss="error", n_init=2),
        MaxMarginClustering(kernel="rbf", loss="rand", n_init=2),
        MaxMarginClustering(kernel="graph", bias=True, n_init=2),
    ]
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


# -- what a fit leaves ------------------------------------------------------------------------------------------------


@every_loss
def test_attributes(loss):
    model = fit(loss=loss)
    assert adjusted_rand_score(truth, model.labels_) == 1
    assert model.C_ == 10 / 80**2
    assert 0 < model.objective_ < model.C_ * trivial_slack(make_loss(loss, 80, 1.5), 2)
    assert model.objective_ == min(model.history_)
    assert model.trivial_ is False
    assert 0 <= model.slack_ <= 2
    assert 1 <= model.n_iter_ <= 60
    assert model.coef_.shape == (1, 4) and model.intercept_.shape == (1,)
    assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0])
    assert_array_equal(model.labels_, model.decision_function(X) > 0)


def test_objective_is_what_the_documentation_says():
    """In samples that are centred and scaled to a mean square length of one."""
    model = fit(C=0.001)
    scale = np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).mean())
    assert model.objective_ == pytest.approx(np.square(scale * model.coef_).sum() / 2 + 0.001 * model.slack_)
    f = model.decision_function(X)
    assert f.sum() == pytest.approx(0, abs=1e-9)
    y = np.where(f > 0, 1, -1)
    assert model.slack_ == pytest.approx(kernelclust.margin.most_violated(f, y)[1] - np.abs(f).sum(), abs=1e-9)


@every_loss
def test_three_clusters(loss):
    model = fit(THREE, n_clusters=3, loss=loss)
    assert adjusted_rand_score(three, model.labels_) == 1
    assert model.C_ == 30 / 60**2
    assert model.coef_.shape == (3, 3) and model.intercept_.shape == (3,)
    assert model.decision_function(THREE).shape == (60, 3)
    assert_allclose(model.decision_function(THREE), THREE @ model.coef_.T + model.intercept_)
    assert_array_equal(model.predict(THREE), model.labels_)
    assert not model.trivial_


def test_a_cluster_in_the_middle():
    """Along a line the middle one of three needs a bias."""
    line = np.repeat([-5.0, 0.0, 5.0], 20)[:, None] + 0.3 * np.random.default_rng(0).standard_normal((60, 1))
    model = fit(line, n_clusters=3)
    assert adjusted_rand_score(np.repeat(np.arange(3), 20), model.labels_) == 1


def test_large_clusters_come_first():
    uneven = np.vstack([X[truth == 0][:15], X[truth == 1]])
    sizes = np.bincount(fit(uneven).labels_)
    assert 35 < sizes[0] < 45 and sizes[1] == 55 - sizes[0]
    sizes = np.bincount(fit(np.vstack([THREE[three == 1][:8], THREE[three != 1][:35]]), n_clusters=3).labels_)
    assert list(sizes) == sorted(sizes, reverse=True)


def test_one_cluster():
    model = fit(n_clusters=1)
    assert not model.labels_.any() and not model.trivial_
    assert not model.predict(X).any()


def test_refit_forgets():
    model = fit()
    model.set_params(kernel="rbf").fit(X)
    assert not hasattr(model, "coef_") and not hasattr(model, "intercept_")
    assert model.gamma_ > 0
    assert set(vars(model.set_params(kernel="linear").fit(X))) == set(vars(fit()))


def test_nothing_is_half_fitted():
    model = fit()
    before = dict(vars(model))
    with pytest.raises(ValueError, match="all samples are equal"):
        model.fit(np.ones((10, 2)))
    assert vars(model).keys() == before.keys() and model.n_features_in_ == 4
    fresh = MaxMarginClustering()
    with pytest.raises(ValueError, match="all samples are equal"):
        fresh.fit(np.ones((10, 2)))
    with pytest.raises(NotFittedError):
        fresh.predict(X)


# -- kernels and new samples ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("kernel", [*KERNELS, rbf_kernel])
def test_kernels_know_new_samples(kernel, n_clusters):
    model = fit(THREE, kernel=kernel, n_clusters=n_clusters)
    assert_array_equal(model.predict(THREE), model.labels_)
    near = THREE + 1e-6
    assert_array_equal(model.predict(near[::-1]), model.labels_[::-1])
    assert_allclose(model.decision_function(near), model.decision_function(THREE), atol=1e-5)
    assert hasattr(model, "coef_") == (kernel == "linear")


def test_a_kernel_separates_rings():
    rings, ring = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    assert adjusted_rand_score(ring, fit(rings, kernel="rbf", gamma=5.0).labels_) == 1
    new, new_ring = make_circles(100, factor=0.3, noise=0.05, random_state=1)
    assert adjusted_rand_score(new_ring, fit(rings, kernel="rbf", gamma=5.0).predict(new)) == 1


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_precomputed_is_the_kernel(n_clusters):
    model = fit(THREE, kernel="rbf", gamma=0.1, n_clusters=n_clusters)
    given = fit(rbf_kernel(THREE, gamma=0.1), kernel="precomputed", n_clusters=n_clusters)
    assert_array_equal(given.labels_, model.labels_)
    assert given.objective_ == pytest.approx(model.objective_, rel=1e-3)
    new = THREE[:7] + 0.1
    assert_array_equal(given.predict(rbf_kernel(new, THREE, gamma=0.1)), model.predict(new))


def test_linear_kernel_is_the_samples():
    centred = X - X.mean(axis=0)
    model, given = fit(), fit(centred @ centred.T, kernel="precomputed")
    assert_array_equal(given.labels_, model.labels_)
    assert given.objective_ == pytest.approx(model.objective_, rel=1e-2)  # both within epsilon of a minimum


@pytest.mark.parametrize("approximation", ["nystroem", "cholesky", "random_features"])
def test_low_rank_factors(approximation):
    model = fit(kernel="rbf", approximation=approximation)
    assert adjusted_rand_score(truth, model.labels_) == 1
    assert_array_equal(model.predict(X), model.labels_)
    f = model.decision_function(X)
    assert abs(f.sum()) < 1e-6 * np.abs(f).sum()  # centred


def test_components():
    wide = np.hstack([X, 0.1 * np.random.default_rng(0).standard_normal((80, 400))])
    model = fit(wide, n_components=2)
    assert adjusted_rand_score(truth, model.labels_) == 1
    assert model.coef_.shape == (1, 404)
    assert np.linalg.matrix_rank(np.vstack([model.coef_, fit(wide).coef_])) == 2
    assert_array_equal(model.predict(wide), model.labels_)
    itself = fit(wide, n_components=404)  # no principal components
    assert_allclose(itself.coef_ @ np.linalg.svd(wide - wide.mean(axis=0))[2][80:].T, 0, atol=1e-9)


# -- kinds of input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
@pytest.mark.parametrize("parameters", [{}, {"bias": True}, {"kernel": "cosine"}, {"kernel": "rbf"}, {"n_clusters": 3}])
def test_sparse_is_dense(parameters, convert):
    dense = np.where(np.abs(X) < 0.7, 0, X)
    model, same = fit(convert(dense), **parameters), fit(dense, **parameters)
    assert_array_equal(model.labels_, same.labels_)
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-6)
    assert_array_equal(model.predict(dense), model.predict(convert(dense)))


@pytest.mark.parametrize("n_components", [None, 5, 10_000])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_sparse_stays_sparse(n_components, n_clusters, monkeypatch):
    text = sparse.random(120, 10_000, density=0.002, random_state=0, format="csr")
    text = sparse.hstack([3.0 * (np.arange(120) < 60)[:, None], text[:, 1:]], format="csr")

    toarray = sparse.csr_matrix.toarray

    def only_rows(self, *arguments, **options):
        assert self.shape[0] <= n_clusters, "made dense"
        return toarray(self, *arguments, **options)

    monkeypatch.setattr(sparse.csr_matrix, "toarray", only_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(sparse.csr_matrix(text), n_components=n_components, n_clusters=n_clusters)
        assert_array_equal(model.predict(sparse.csr_matrix(text)), model.labels_)
    if n_clusters == 2:
        assert adjusted_rand_score(np.arange(120) < 60, model.labels_) > 0.9


def test_frames_lists_and_precisions():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = fit(frame)
    assert list(model.feature_names_in_) == list("abcd")
    for other in (X.tolist(), np.asfortranarray(X), X.astype(np.float32)):
        assert_array_equal(fit(other).labels_, model.labels_)
    assert_array_equal(model.predict(frame), model.labels_)


def test_units_and_order_do_not_matter():
    labels = fit().labels_
    for other in (1e6 * X, 1e-6 * X, 1e200 * X, X + 1e4):
        assert_array_equal(fit(other).labels_, labels)
    order = np.random.default_rng(0).permutation(80)
    for parameters in ({}, {"kernel": "rbf"}, {"loss": "rand"}):
        assert adjusted_rand_score(fit(X[order], **parameters).labels_, fit(**parameters).labels_[order]) == 1


def test_seeds_clones_and_pickles():
    noise = np.random.default_rng(0).standard_normal((100, 5))
    for parameters in ({}, {"kernel": "rbf"}, {"n_clusters": 3, "loss": "error"}):
        model = fit(noise, **parameters)
        assert_array_equal(clone(model).fit(noise).labels_, model.labels_)
        copy = pickle.loads(pickle.dumps(model))
        assert_array_equal(copy.predict(noise), model.labels_)


# -- options ----------------------------------------------------------------------------------------------------------


def test_bias_moves_the_threshold():
    """One in eight: through the mean, the hyperplane cuts the large cluster's side; a threshold finds the gap."""
    rng = np.random.default_rng(0)
    uneven = np.r_[rng.uniform(0, 1, 140), rng.uniform(1.6, 1.9, 20)][:, None]
    side = np.arange(160) >= 140
    plain, biased = fit(uneven), fit(uneven, bias=True, C=100 / 160**2)
    assert adjusted_rand_score(side, plain.labels_) < 0.8
    assert adjusted_rand_score(side, biased.labels_) > adjusted_rand_score(side, plain.labels_)


def test_bias_does_not_push_all_to_one_side():
    images, digit = load_digits(return_X_y=True)
    images, digit = images[(digit == 1) | (digit == 7)], digit[(digit == 1) | (digit == 7)]
    model = fit(images, bias=True)
    assert not model.trivial_
    assert adjusted_rand_score(digit, model.labels_) > 0.9


@pytest.mark.parametrize("limit", [0.0, 0.02])
def test_balance(limit):
    model = fit(center=False, balance=limit)
    assert abs(model.decision_function(X).sum()) <= limit + 1e-6
    biased = fit(bias=True, balance=limit)
    assert abs(biased.decision_function(X).mean()) <= limit / 80 + 1e-8


def test_own_loss():
    class Twice:
        PARAMETERS = ()
        phi = staticmethod(kernelclust.margin.losses.rand.phi)

        @staticmethod
        def affine(own, given, n):
            base, rate = kernelclust.margin.losses.rand.affine(own, given, n)
            return 2 * base, 2 * rate

    model, rand = fit(loss=Twice(), C=0.002, tol=0.06), fit(loss="rand", C=0.001)
    assert_array_equal(model.labels_, rand.labels_)
    assert model.objective_ == pytest.approx(4 * rand.objective_, rel=5e-3)


# -- bad input and trivial fits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_clusters": 81}, "n_samples=80 should be >= 81"),
        ({"n_clusters": 2.5}, "n_clusters=2.5"),
        ({"loss": "nmii"}, "Did you mean 'nmi'"),
        ({"loss": 3}, "has no PARAMETERS"),
        ({"beta": -0.5}, "beta=-0.5"),
        ({"C": 0}, "C=0: give a number above 0"),
        ({"C": -1.0}, "C=-1.0"),
        ({"C": "big"}, "unknown C 'big'"),
        ({"kernel": "rfb"}, "Did you mean 'rbf'"),
        ({"gamma": -1}, "gamma=-1"),
        ({"gamma": "auto"}, "unknown gamma"),
        ({"balance": -0.1}, "balance=-0.1"),
        ({"n_components": 0}, "n_components=0"),
        ({"tol": -1}, "tol=-1"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"n_init": 0}, "n_init=0"),
        ({"bias": "yes"}, "bias='yes'"),
        ({"center": 1}, "center=1"),
        ({"center": False, "kernel": "rbf"}, "center=False"),
        ({"center": False, "n_components": 2}, "center=False"),
        ({"kernel_params": {"a": 1}}, "takes none"),
        ({"approximation": "nystrom"}, "Did you mean 'nystroem'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        fit(**parameters)


def test_bad_samples():
    with pytest.raises(ValueError, match="n_samples=1"):
        fit(X[:1])
    for same in (np.full((10, 3), 0.3), sparse.csr_matrix(np.full((10, 3), 0.3))):
        with pytest.raises(ValueError, match="all samples are equal"):
            fit(same)
    with pytest.raises(ValueError, match="all samples are equal"):
        fit(np.full((10, 3), 0.3), kernel="rbf")
    with pytest.raises(ValueError, match="n_clusters=4, but only 3 samples are different"):
        fit(np.repeat(np.eye(3), 4, axis=0), n_clusters=4)
    with pytest.raises(ValueError, match="not symmetric"):
        fit(np.triu(np.ones((5, 5))), kernel="precomputed")
    with pytest.raises(ValueError, match="features"):
        fit().predict(X[:, :2])


def test_a_constant_feature_is_no_harm():
    with_constant = np.column_stack([X, np.full(80, 7.0)])
    assert_array_equal(fit(with_constant).labels_, fit().labels_)


def test_trivial_fits_are_told():
    with pytest.warns(UserWarning, match=r"trivial solution: .*larger C"):
        model = fit(C=1e-9)
    assert model.trivial_
    one_sided = X - X.min() + 1
    with pytest.warns(UserWarning, match=r"clusters are empty.*balance"):
        model = fit(one_sided, center=False, loss="error")
    assert model.trivial_ and len(np.unique(model.labels_)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not fit(one_sided, center=False, loss="error", balance=0.01).trivial_


def test_stopping_early_is_told():
    noise = np.random.default_rng(0).standard_normal((60, 10))
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        fit(noise, max_iter=2)
