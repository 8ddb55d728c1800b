"""Batches of a stream, against one fit of all of them."""

import numpy as np
import pytest
from scipy import sparse

from kernelclust import KernelKMeans, StructuredClustering, structured_hsic
from kernelclust.estimators import _stream
from kernelclust.kernels import RBF
from kernelclust.objectives import Dependence

pytestmark = [pytest.mark.usefixtures("few_starts"), pytest.mark.filterwarnings("ignore::UserWarning")]


def _ring(m, c=6, noise=0.2, seed=0):
    rng = np.random.default_rng(seed)
    place = rng.integers(0, c, m)
    angle = 2 * np.pi * place / c
    return np.c_[np.cos(angle), np.sin(angle)] + noise * rng.standard_normal((m, 2)), place


def _F(X, labels, gamma):
    K = np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))
    return structured_hsic(K, labels, "ring:6")


@pytest.mark.parametrize("ordered", [False, True])
def test_many_batches_reach_the_f_of_one_fit(ordered, monkeypatch):
    monkeypatch.setattr(_stream, "KEPT", 400)
    X, place = _ring(1600)
    if ordered:  # the stream goes round: no batch is like the whole
        X = X[np.argsort(place + np.random.default_rng(1).random(1600), kind="stable")]
    model = StructuredClustering(
        structure="ring:6", kernel="rbf", random_state=0, objective=Dependence(rho=0.0), compute_confidence=False
    )
    one = model.fit(X)
    gamma, best = one.diagnostics_.gamma, _F(X, one.labels_, one.diagnostics_.gamma)
    model = StructuredClustering(
        structure="ring:6",
        kernel=RBF(gamma=gamma),
        random_state=0,
        objective=Dependence(rho=0.0),
        compute_confidence=False,
    )
    for start in range(0, 1600, 100):
        model.partial_fit(X[start : start + 100])
    assert model.diagnostics_.n_samples_seen == 1600 and model.labels_.shape == (100,)
    assert _F(X, model.predict(X), gamma) > 0.99 * best


def test_clusters_keep_their_numbers(monkeypatch):
    monkeypatch.setattr(_stream, "KEPT", 300)
    X, _ = _ring(3000, noise=0.1)
    model = StructuredClustering(structure="ring:6", kernel="rbf", random_state=0, compute_confidence=False)
    before = model.partial_fit(X[:200]).predict(X)
    for start in range(200, 3000, 200):
        model.partial_fit(X[start : start + 200])
        now = model.predict(X)
        assert np.mean(now == before) > 0.98
        np.testing.assert_array_equal(model.labels_, model.predict(X[start : start + 200]))
        np.testing.assert_allclose(model.sizes_.sum(), len(model._stream.y))
        before = now
    np.testing.assert_allclose(model.position_, model.position(X[2800:]))


def test_the_rows_that_are_kept_are_an_even_sample(monkeypatch):
    monkeypatch.setattr(_stream, "KEPT", 500)
    rng = np.random.RandomState(0)
    empty = np.empty(0)
    stream = _stream.Stream(np.empty((0, 1)), empty, empty.astype(int), empty, rng)
    for start in range(0, 20_000, 250):
        rows = np.arange(start, start + 250.0)
        stream = stream.joined(rows[:, None], rows, np.full(250, -1))
    np.testing.assert_array_equal(stream.X[:, 0], stream.weight)
    assert stream.seen == 20_000 and len(np.unique(stream.weight)) == 500
    tenths = np.histogram(stream.weight, 10, (0, 20_000))[0]
    assert abs(tenths - 50).max() < 25  # 3.5 standard deviations


def test_known_labels_are_kept_first(monkeypatch):
    monkeypatch.setattr(_stream, "KEPT", 100)
    X, place = _ring(2000, noise=0.05)
    model = StructuredClustering(structure="ring:6", kernel="rbf", random_state=0, compute_confidence=False)
    for start in range(0, 2000, 100):
        y = np.full(100, -1)
        y[0] = place[start]
        model.partial_fit(X[start : start + 100], y)
        assert model.labels_[0] == place[start]
    assert (model._stream.y >= 0).sum() == 20
    assert np.mean(model.predict(X) == place) > 0.98


def test_sparse_batches_and_weights():
    X, _ = _ring(600)
    model = KernelKMeans(6, random_state=0)
    model.partial_fit(sparse.csr_matrix(X[:300]), sample_weight=np.ones(300))
    model.partial_fit(sparse.csr_matrix(X[300:]), sample_weight=np.full(300, 2.0))
    assert model.sizes_.sum() == 900


def test_batches_go_by_the_names_of_columns():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(_ring(200)[0], columns=["a", "b"])
    model = KernelKMeans(6, random_state=0).partial_fit(X[:100])
    for columns in (["b", "a"], ["a", "other"]):
        with pytest.raises(ValueError, match="feature names should match"):
            model.partial_fit(X[100:][columns] if "other" not in columns else X[100:].set_axis(columns, axis=1))
    model.partial_fit(X[100:])  # clustered again
    assert list(model.feature_names_in_) == ["a", "b"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(X[["b", "a"]])


@pytest.mark.parametrize("structure", ["flat:6", "ring:6", "chain:6"])
@pytest.mark.parametrize("known", [[2], [2, 4], []])
def test_clusters_keep_their_numbers_where_some_labels_are_known(structure, known):
    """One label leaves all other clusters free to be numbered anew: they are not."""
    rng = np.random.default_rng(3)
    centres = 3 * rng.standard_normal((6, 4))
    if structure != "flat:6":
        angle = np.arange(6) * (np.pi / 3 if structure == "ring:6" else np.pi / 8)
        centres = 4 * np.c_[np.cos(angle), np.sin(angle)]
    place = rng.integers(0, 6, 1600)
    X = centres[place] + 0.3 * rng.standard_normal((1600, centres.shape[1]))
    y = np.full(50, -1)
    for j in known:
        y[np.flatnonzero(place[:50] == j)[0]] = j
    model = StructuredClustering(structure=structure, kernel="rbf", random_state=0, compute_confidence=False)
    before = model.partial_fit(X[:50], y).predict(X)
    for start, stop in ((50, 100), (100, 200), (200, 400), (400, 800), (800, 1600)):
        now = model.partial_fit(X[start:stop]).predict(X)
        assert np.mean(now == before) > 0.9
        before = now


def test_rows_far_from_all_others_are_clustered_soon():
    rng = np.random.default_rng(0)
    two = np.r_[rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 10]
    third = rng.normal(size=(99, 2)) + [30, -30]
    for kernel in ("rbf", "auto"):
        model = KernelKMeans(3, kernel=kernel, random_state=0).partial_fit(two)
        assert model.diagnostics_.drift == 0
        model.partial_fit(third)
        assert len(np.unique(model.predict([[0, 0], [10, 10], [30, -30]]))) == 3


def test_drift_is_reported_and_a_refit_can_be_asked_for():
    rng = np.random.default_rng(0)
    model = KernelKMeans(3, random_state=0).partial_fit(rng.normal(size=(1000, 2)))
    model.partial_fit(rng.normal(size=(300, 2)))
    assert model.diagnostics_.drift < 0.05
    with pytest.warns(UserWarning, match="out of date"):
        model.partial_fit(rng.normal(size=(60, 2)) + 50, refit=False)
    assert model.diagnostics_.drift > 0.1
    model.partial_fit(rng.normal(size=(1, 2)), refit=True)
    assert model.diagnostics_.drift == 0 and model.sizes_.sum() == 1361
    assert (model.predict([[50, 50]]) != model.predict([[0, 0]])).all()
    with pytest.raises(ValueError, match="refit="):
        model.partial_fit(rng.normal(size=(5, 2)), refit="sometimes")


@pytest.mark.parametrize("offset", [0.0, 1.7e9, -1e12])
@pytest.mark.parametrize("n_columns", [2, 20])
def test_drift_is_seen_far_from_the_origin(n_columns, offset):
    X = np.random.default_rng(0).normal(size=(700, n_columns)) + offset
    X[600:] += 50
    model = KernelKMeans(3, random_state=0).partial_fit(X[:500]).partial_fit(X[500:600], refit=False)
    assert model.diagnostics_.drift < 0.05
    model.partial_fit(X[600:], refit=False)
    assert 0.45 < model.diagnostics_.drift <= 0.55


@pytest.mark.parametrize("first", [0, 1])
def test_sparse_and_dense_batches_alternate(first):
    X, _ = _ring(600)
    plain = KernelKMeans(6, random_state=0)
    mixed = KernelKMeans(6, random_state=0)
    for k in range(6):
        batch = X[100 * k : 100 * (k + 1)]
        plain.partial_fit(sparse.csr_matrix(batch))
        mixed.partial_fit(batch if k % 2 == first else sparse.csr_matrix(batch))
    assert mixed.diagnostics_.n_samples_seen == 600
    assert np.mean(mixed.predict(X) == plain.predict(X)) > 0.9


def test_a_failed_batch_leaves_no_trace_and_fit_starts_anew():
    X, _ = _ring(300)
    model = KernelKMeans(6, random_state=0).partial_fit(X)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :1])
    assert model.diagnostics_.n_samples_seen == 300
    model.fit(X[:100])
    assert model.partial_fit(X).diagnostics_.n_samples_seen == 300
    with pytest.raises(ValueError, match="fewer samples"):
        KernelKMeans(6).partial_fit(X[:3])
    with pytest.raises(ValueError, match="a kernel of samples"):
        KernelKMeans(6, kernel="precomputed").partial_fit(X @ X.T)


def test_a_new_structure_needs_new_clusters():
    X, _ = _ring(200)
    model = StructuredClustering(structure="chain:3", kernel="rbf", random_state=0, compute_confidence=False)
    model.partial_fit(X[:100]).set_params(structure="ring:5")
    with pytest.raises(ValueError, match="structure is ring:5, and the clusters of the earlier batches are on chain:3"):
        model.partial_fit(X[100:110], refit=False)
    model.partial_fit(X[100:110])
    assert model.sizes_.shape == model.medoids_.shape == (5,) and model.sizes_.sum() == 110
    assert str(model.structure_) == "ring:5" and set(model.predict(X)) == set(range(5))


def test_soft_labels_are_no_more_than_evidence():
    X, place = _ring(300, noise=0.1)
    y = np.where(np.arange(300) < 100, place, -1)
    y[0] = (place[0] + 3) % 6
    for label_weight, kept in ((None, True), (0.01, False)):
        model = StructuredClustering(
            structure="ring:6", kernel="rbf", label_weight=label_weight, random_state=0, compute_confidence=False
        )
        assert (model.fit(X, y).labels_[0] == y[0]) == (model.partial_fit(X, y).labels_[0] == y[0]) == kept
