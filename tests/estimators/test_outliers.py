"""One huge value among ordinary ones, and arrays that change after the fit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from kernelclust import KernelKMeans, MaxMarginClustering, MultiKernelClustering, StructuredClustering
from kernelclust.constraints import equal_rows
from kernelclust.kernels import RBF, Laplacian

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def _F(K, labels):
    """Return F of kernel k-means."""
    K = K - K.mean(axis=0)
    K = K - K.mean(axis=1, keepdims=True)
    return sum(K[np.ix_(own, own)].sum() / len(own) for own in (np.flatnonzero(labels == j) for j in set(labels)))


@pytest.mark.parametrize("huge", [1e6, 1e20, 9.97e36, 1e100])
@pytest.mark.parametrize("kernel", [RBF(1.0), Laplacian(1.0)])
def test_one_huge_value_leaves_the_kernel_of_the_others(kernel, huge):
    """From a mean of 1e18 all other samples would round to the same number."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), 10)
    X = np.vstack([np.c_[5.0 * groups, 0.1 * rng.standard_normal(40)], [[huge, 0]]])
    K = np.eye(41)
    K[:40, :40] = kernel.block(X[:40], X[:40])
    model = KernelKMeans(5, kernel=kernel, random_state=0).fit(X)
    np.testing.assert_allclose(model.objective_, _F(K, model.labels_), rtol=1e-9)
    assert _F(K, np.r_[groups, 4]) <= model.upper_bound_ * (1 + 1e-9)
    assert adjusted_rand_score(model.labels_, np.r_[groups, 4]) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("huge", [1e12, 1e20, 1e100])
@pytest.mark.parametrize("kernel", ["graph", "auto"])
def test_graphs_beside_one_huge_value(kernel, huge):
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(4), 30)
    X = 10 * rng.standard_normal((4, 20))[groups] + rng.standard_normal((120, 20))
    X = np.vstack([X, huge * np.eye(1, 20)])
    model = StructuredClustering(4, kernel=kernel, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_[:-1], groups) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict(X[:1]), model.labels_[:1])  # whoever else is asked about


def test_rows_beside_a_huge_one_are_not_equal():
    X = np.r_[np.repeat(np.arange(20.0), 2), 1e20][:, None]
    copies = equal_rows(X, 3, np.ones(41))
    np.testing.assert_array_equal(copies.block[:40:2], copies.block[1:40:2])
    assert copies.n_blocks == 21


@pytest.mark.parametrize("offset", [1.7e9, -1e10, 1e12])
def test_rows_far_from_the_origin_are_not_equal(offset):
    X = np.random.default_rng(0).standard_normal((300, 2)) + [offset, 0]
    assert equal_rows(X, 3, np.ones(300)) is None
    copies = equal_rows(np.r_[X, X[:50]], 3, np.ones(350))
    np.testing.assert_array_equal(copies.block[:50], copies.block[300:])
    assert copies.n_blocks == 300


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("kernel", ["polynomial", "rbf", "linear", "cosine", "laplacian"])
@pytest.mark.parametrize("estimator", [KernelKMeans, MaxMarginClustering, MultiKernelClustering])
def test_a_model_has_nothing_of_the_array_that_was_fitted(estimator, kernel, dense):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    X = X if dense else sparse.csr_matrix(X)
    new = rng.standard_normal((60, 3))
    model = estimator(2, kernel=kernel, random_state=0).fit(X)
    before = model.predict(new)
    (X if dense else X.data)[...] = 5 * rng.standard_normal(X.shape if dense else X.data.shape)
    np.testing.assert_array_equal(model.predict(new), before)


def test_sparse_new_samples_are_all_far_away():
    X = 1e-9 * np.random.default_rng(0).standard_normal((60, 2))
    model = KernelKMeans(2, random_state=0).fit(sparse.csr_matrix(X))
    new = np.array([[1.0, 1.0], [-1e3, 2.0]])
    np.testing.assert_array_equal(model.predict(sparse.csr_matrix(new)), model.predict(new))
    assert np.isfinite(model.transform(new)).all()


FAR = "sample 50 is so far from the others that"


def _one_far_row(size, kernel):
    X = np.random.default_rng(0).standard_normal((100, 3))
    X[50] *= size
    return X, StructuredClustering(structure="chain:5", kernel=kernel, compute_confidence=False, random_state=0)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_clusters_beside_a_far_row_stay_compact_on_a_structure(kernel):
    X, model = _one_far_row(1e6, kernel)
    labels = model.fit(X).labels_
    np.testing.assert_array_equal(model.predict(X), labels)
    assert np.sort(np.bincount(labels))[1] > 5


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("kernel, size", [("linear", 1e9), ("rbf", 1e9), ("polynomial", 1e7)])
def test_a_row_beside_which_others_are_lost_in_rounding_is_named(kernel, size):
    X, model = _one_far_row(size, kernel)
    with pytest.warns(UserWarning, match=FAR):
        model.fit(X)
    weight = np.ones(103)
    weight[:3] = 0
    with pytest.warns(UserWarning, match=FAR.replace("50", "53")):
        model.fit(np.r_[X[:3], X], sample_weight=weight)


def test_a_row_alone_is_not_named_where_others_are_told_apart(recwarn):
    X, model = _one_far_row(1e4, "linear")
    model.fit(X)
    copies = np.zeros((20, 2))
    copies[5], copies[6] = 1e7, -1e7
    KernelKMeans(3, kernel="linear", random_state=0).fit(copies)
    assert not any("so far from the others" in str(one.message) for one in recwarn)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e20])
@pytest.mark.parametrize("structure", ["chain:6", "ring:6", "grid:2x3"])
def test_the_default_kernel_beside_one_far_row(structure, size):
    """A far row decides the width of rbf, whose clusters then say nothing about the others."""
    rng = np.random.default_rng(0)
    place = np.arange(300) % 6
    angle = place * (np.pi / 8 if structure == "chain:6" else np.pi / 3)
    centres = np.c_[place // 3, place % 3] if structure == "grid:2x3" else 2 * np.c_[np.cos(angle), np.sin(angle)]
    X = 3 * np.c_[centres, np.zeros(300)] + 0.4 * rng.standard_normal((300, 3))
    model = StructuredClustering(structure=structure, compute_confidence=False, random_state=0)
    others = np.arange(300) != 150
    assert adjusted_rand_score(place, model.fit(X).labels_) > 0.95
    X[150] = size
    labels = model.fit(X).labels_
    assert adjusted_rand_score(place[others], labels[others]) > 0.95
    assert np.mean(model.predict(X) == labels) > 0.98
