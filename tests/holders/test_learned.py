"""The default kernel beyond the host: features that some samples learn, and all others get where they lie."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kernelclust import StructuredClustering
from kernelclust._arrays import namespace, to_host
from kernelclust.kernels import _nodes, auto, fit_kernel
from kernelclust.metrics import structured_accuracy

da = pytest.importorskip("dask.array")


@pytest.fixture
def few(monkeypatch):
    """Graphs of 300 samples at most, which a fit of more begins with."""
    monkeypatch.setattr(_nodes, "MAX_GRAPH_SAMPLES", 300)
    monkeypatch.setattr(auto.Auto, "start_samples", 300)
    monkeypatch.setattr("kernelclust.engine._rounds.MIN_SUBSAMPLE", 300)


def on_a_ring(m, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 6, m)
    angle = (y + rng.uniform(-0.2, 0.2, m)) * np.pi / 3
    waves = np.column_stack([np.cos(angle), np.sin(angle), 0.3 * np.cos(2 * angle), 0.3 * np.sin(2 * angle)])
    return waves @ rng.standard_normal((4, 8)) + 0.05 * rng.standard_normal((m, 8)), y


def test_features_are_the_same_numbers_in_every_library(arrays):
    X, _ = on_a_ring(200)
    X[150:160] = X[10]  # equal samples are one node
    fitted = fit_kernel(X, np.ones(200), kernel="auto", n_clusters=6, rng=np.random.RandomState(0))
    features = fitted.source.features
    new = np.vstack([X[:40], X[40:80] + 0.01, 1e3 * X[:3], np.zeros((1, 8))])
    made = arrays.make(new)
    found = to_host(features.array(namespace(made), made))
    assert_allclose(found, features(new), atol=1e-6)
    assert_allclose(features(X) - fitted.operator.offset, fitted.operator.factor, atol=1e-9)


@pytest.mark.parametrize("structure", ["flat:6", "ring:6", "grid:2x3"])
def test_partitions_and_devices_find_the_clusters_of_the_host(structure, arrays, few):
    X, y = make_blobs(1500, centers=6, n_features=5, random_state=3) if structure != "ring:6" else on_a_ring(1500)
    model = StructuredClustering(structure=structure, random_state=0)
    host = model.fit(X).labels_
    assert adjusted_rand_score(y, host) > 0.95
    for elsewhere in (arrays.make(X), da.from_array(X, chunks=(400, -1))):
        model.fit(elsewhere)
        labels = np.asarray(model.labels_.compute()) if hasattr(model.labels_, "compute") else to_host(model.labels_)
        assert adjusted_rand_score(labels, host) > 0.95
        if structure == "ring:6":
            assert structured_accuracy(y, labels, structure) > 0.95
        again = model.predict(elsewhere)
        again = np.asarray(again.compute()) if hasattr(again, "compute") else to_host(again)
        assert_array_equal(again, labels)


def test_f_of_all_samples_is_that_of_their_features(few):
    X, _ = on_a_ring(1200)
    model = StructuredClustering(structure="flat:6", random_state=0).fit(da.from_array(X, chunks=(500, -1)))
    labels = np.asarray(model.labels_.compute())
    B = model._prediction.similarities.features(X)
    B = B - B.mean(axis=0)
    sums = np.array([B[labels == j].sum(axis=0) for j in range(6)])
    assert_allclose(model.objective_, sum((sums[j] @ sums[j]) / (labels == j).sum() for j in range(6)), rtol=1e-9)
    assert 0 < model.diagnostics_.extension_error < 0.5
