"""Baselines are scikit-learn clusterers: its checks, any kind of input, and one clear error for a bad one."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelclust.baselines import XWSS, HierarchicalKernelKMeans, NormalizedCut, PlacedClustering, TreeLinkage
from kernelclust.datasets import structured_blobs

ON_A_TREE = [TreeLinkage, HierarchicalKernelKMeans, XWSS]
ON_A_KERNEL = [TreeLinkage("tree:2x2"), HierarchicalKernelKMeans("tree:2x2"), XWSS("tree:2x2"), NormalizedCut(4)]
EVERY = [*ON_A_KERNEL, PlacedClustering(structure="chain:4")]
every_estimator = pytest.mark.parametrize("model", EVERY, ids=lambda model: type(model).__name__)
every_kernel_estimator = pytest.mark.parametrize("model", ON_A_KERNEL, ids=lambda model: type(model).__name__)

blobs = structured_blobs("tree:2x2", n_samples=40, noise=0.1, random_state=0)
X = blobs.data
X.flags.writeable = False


def fresh(model):
    model = clone(model)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


@parametrize_with_checks(
    [
        *[Estimator("flat:3") for Estimator in ON_A_TREE],  # scikit-learn brings three blobs
        *[Estimator("tree:(a,(b,c))") for Estimator in ON_A_TREE],
        TreeLinkage("flat:3", linkage="ward", kernel="linear"),
        NormalizedCut(),
        PlacedClustering(structure="chain:3"),
        PlacedClustering(AgglomerativeClustering(), structure="chain:3"),
    ]
)
def test_scikit_learn_checks(estimator, check, few_starts):
    check(estimator)


@every_estimator
def test_kinds_of_input(model):
    expected = fresh(model).fit_predict(X)
    assert_array_equal(np.unique(expected), np.arange(4))
    for other in (sparse.csr_matrix(X), pd.DataFrame(X, columns=list("abcd")), np.asfortranarray(X), X.tolist()):
        assert_array_equal(fresh(model).fit_predict(other), expected)
    assert_array_equal(fresh(model).fit_predict(X.astype(np.float32)), expected)
    fitted = fresh(model).fit(pd.DataFrame(X, columns=list("abcd")))
    assert fitted.n_features_in_ == 4 and list(fitted.feature_names_in_) == list("abcd")
    assert fitted.structure_.n_clusters == 4


@every_kernel_estimator
def test_a_given_matrix_and_a_function_are_the_kernel(model):
    by_name = fresh(model).set_params(gamma=0.3).fit(X)
    assert by_name.gamma_ == 0.3
    K = rbf_kernel(X, gamma=0.3)
    K.flags.writeable = False
    assert_array_equal(fresh(model).set_params(kernel="precomputed").fit_predict(K), by_name.labels_)
    function = fresh(model).set_params(kernel=rbf_kernel, kernel_params={"gamma": 0.3})
    assert_array_equal(function.fit_predict(X), by_name.labels_)


@every_kernel_estimator
@pytest.mark.parametrize("kernel", ["laplacian", "linear", "polynomial", "cosine", "graph", "diffusion"])
def test_every_kernel(model, kernel):
    """Far from the origin all similarities are positive, so that a normalised cut has no complaint."""
    if isinstance(model, NormalizedCut) and kernel == "graph":
        with pytest.raises(ValueError, match="not negative"):  # commute times are centred
            fresh(model).set_params(kernel=kernel).fit(X + 3)
        return
    labels = fresh(model).set_params(kernel=kernel).fit_predict(X + 3)
    assert_array_equal(np.unique(labels), np.arange(4))


@every_estimator
def test_same_seed_same_labels(model):
    assert_array_equal(fresh(model).fit_predict(X), fresh(model).fit_predict(X))


@every_estimator
@pytest.mark.parametrize("m", [4, 5, 7])
@pytest.mark.parametrize("data", ["distinct", "equal", "two"])
def test_every_place_is_taken_when_samples_are_few_or_equal(model, m, data):
    few = {"distinct": X[:m], "equal": np.ones((m, 4)), "two": np.eye(4)[np.arange(m) % 2]}[data]
    if isinstance(model, PlacedClustering) and data == "two":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ValueError, match=r"KMeans found \d clusters"):
                fresh(model).fit(few)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        assert_array_equal(np.unique(fresh(model).fit_predict(few)), np.arange(4))


@every_estimator
def test_one_sample(model):
    one = {"n_clusters": 1} if isinstance(model, NormalizedCut) else {"structure": "flat:1"}
    assert_array_equal(fresh(model).set_params(**one).fit_predict([[1.0, 2.0]]), [0])


# -- bad input --------------------------------------------------------------------------------------------------------


def refused(model, X, says, error=ValueError):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error) as caught:
            model.fit(X)
    assert re.search(says, str(caught.value)), str(caught.value)
    assert len(str(caught.value)) < 700
    left = {name for name in vars(model) if name.endswith("_") or name.startswith("_")}
    assert left <= {"n_features_in_", "feature_names_in_"}


@pytest.mark.parametrize("Estimator", ON_A_TREE)
@pytest.mark.parametrize("structure", ["chain:4", "ring:4", "grid:2x2", "flat:2*chain:3"])
def test_a_structure_that_is_no_tree(Estimator, structure):
    refused(Estimator(structure), X, f"'{re.escape(structure)}' is no tree.*tree:3x3.*flat:.*PlacedClustering")


@pytest.mark.parametrize("Estimator", ON_A_TREE)
@pytest.mark.parametrize(
    ("structure", "says", "error"),
    [
        ("tree", "needs its shape", ValueError),
        ("flat", "needs a number of clusters", ValueError),
        ("tre:2x2", "Did you mean 'tree'", ValueError),
        (4, "a structure is text", TypeError),
        ("tree:5x9", "n_samples=40 should be >= n_clusters=45", ValueError),
    ],
)
def test_bad_structures(Estimator, structure, says, error):
    refused(Estimator(structure), X, says, error)


@every_estimator
def test_bad_samples(model):
    refused(fresh(model), np.where(X > 1, np.nan, X), "NaN")
    refused(fresh(model), X[:3], "n_samples=3 should be >= n_clusters=4")
    refused(fresh(model), X[:, 0], "2D")


@every_estimator
def test_a_failed_fit_leaves_no_trace(model):
    unfitted, fitted = fresh(model), fresh(model).fit(X)
    for one in (unfitted, fitted):
        before = dict(vars(one))
        with pytest.raises(ValueError, match="n_samples=3"):
            one.fit(X[:3, :1])
        assert vars(one).keys() == before.keys() and all(vars(one)[name] is before[name] for name in before)


@every_kernel_estimator
def test_bad_kernels(model):
    refused(fresh(model).set_params(kernel="rbg"), X, "Did you mean 'rbf'")
    refused(fresh(model).set_params(gamma=-1), X, "gamma=-1")
    refused(fresh(model).set_params(kernel="precomputed"), X, "square")
    refused(fresh(model).set_params(kernel="precomputed"), np.triu(np.ones((6, 6))), "not symmetric")


def test_bad_approximations():
    refused(HierarchicalKernelKMeans("tree:2x2", approximation="nystrom"), X, "Did you mean 'nystroem'")
    refused(XWSS("tree:2x2", n_components=0), X, "n_components=0: give a whole number of 1 or more")


@every_kernel_estimator
def test_distances_are_no_kernel(model):
    D = np.abs(X[:, :1] - X[:, :1].T)
    if not isinstance(model, NormalizedCut):
        refused(fresh(model).set_params(kernel="precomputed"), D, "positive semidefinite.*similarities")


def test_slightly_indefinite_kernels_are_no_ridge():
    values, vectors = np.linalg.eigh(rbf_kernel(X))
    values[0] = -1e-3 * values[-1]
    K = (vectors * values) @ vectors.T
    refused(XWSS("tree:2x2", kernel="precomputed"), (K + K.T) / 2, "not positive semidefinite")


def test_bad_linkage():
    refused(TreeLinkage(linkage="wards"), X, "unknown linkage 'wards'.*Did you mean 'ward'")


def test_negative_similarities_cannot_be_cut():
    refused(NormalizedCut(4, kernel="linear"), X - X.mean(axis=0), "not negative; kernel='linear' has -.*rbf")
    refused(NormalizedCut(4, assign_labels="qr"), X, "unknown assign_labels 'qr'")
    refused(NormalizedCut("4"), X, "whole number", TypeError)
    refused(NormalizedCut(0), X, "at least 1")


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"C": 0}, "C=0: give a positive"),
        ({"C": "1"}, "C='1': give a positive"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"loss": None}, "needs a loss"),
        ({"loss": "structur"}, "Did you mean 'structure'"),
        ({"init": "randon"}, "Did you mean 'random'"),
        ({"init": np.zeros(40, dtype=int)}, r"leaves place\(s\) \[1, 2, 3\]"),
        ({"init": np.arange(4)}, "4 labels for 40 samples"),
        ({"init": np.arange(40)}, "from 0 to 3"),
    ],
    ids=str,
)
def test_bad_settings_of_xwss(params, says):
    refused(XWSS("tree:2x2", **params), X, says)


def test_clusterers_that_cannot_be_placed():
    refused(PlacedClustering("kmeans", structure="chain:4"), X, "no scikit-learn clusterer", TypeError)
    refused(PlacedClustering(DBSCAN(eps=1e-9), structure="chain:4"), X, "DBSCAN found 0 clusters and left 40 samples")
    refused(PlacedClustering(GaussianMixture(3), structure="chain:4"), X, "found 3 clusters.*'chain:4' has 4 places")


def test_numbers_whose_squares_overflow_cannot_be_placed():
    model = PlacedClustering(structure="chain:4", random_state=0)
    refused(model, 1e160 * X, "size 1.*e\\+160, whose squares overflow in float64: rescale X")
    refused(model, (1e25 * X).astype(np.float32), "overflow in float32")
