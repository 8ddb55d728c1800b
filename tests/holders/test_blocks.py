"""Max-margin clustering of samples in blocks, against the same samples in one piece."""

import numpy as np
import pytest

from kernelclust import MaxMarginClustering
from kernelclust._arrays import to_host
from kernelclust.engine.holders import ArrayPartitions
from kernelclust.margin import CuttingPlane, _blocks, _cuts, _fit
from kernelclust.margin._blocks import block_features
from kernelclust.margin._features import make_features
from kernelclust.margin._weights import make_weights

pytestmark = [pytest.mark.usefixtures("few_starts"), pytest.mark.filterwarnings("ignore::UserWarning")]


def _halves(m=400, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 4)) + 5.0
    X[:, 0] *= 2 if k == 2 else 1
    X[:, 1] = 0.3 * X[:, 1] + 3 * rng.integers(0, k, m)
    return X.astype(np.float32)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(_fit, "FEW", 100)
    monkeypatch.setattr(_blocks, "ROWS", 64)


def _ways(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    yield np.load(tmp_path / "x.npy", mmap_mode="r")
    da = pytest.importorskip("dask.array")
    yield da.from_array(X, chunks=(130, 2))


def _check_identities(blocks, X, weight, center, bias):
    weights, rng = make_weights(weight), np.random.default_rng(1)
    whole = make_features(X.astype(float), center=center, bias=bias, weights=weights)
    parts = block_features(blocks, X.shape[1], center=center, bias=bias, weights=weights)
    assert parts.n_features == whole.n_features
    np.testing.assert_allclose(parts.mean, whole.mean, atol=1e-12)
    assert parts.scale == pytest.approx(whole.scale, rel=1e-12)
    for shape in ((), (3,)):
        W, Y = rng.standard_normal((whole.n_features, *shape)), rng.standard_normal((len(X), *shape))
        np.testing.assert_allclose(parts.scores(W), whole.scores(W), atol=1e-10)
        np.testing.assert_allclose(parts.sums(Y), whole.sums(Y), atol=1e-10)
        np.testing.assert_allclose(parts.sums(np.sign(Y)), whole.sums(np.sign(Y)), atol=1e-10)
    other = parts.without_bias()
    np.testing.assert_allclose(other.scores(np.ones(4)), whole.without_bias().scores(np.ones(4)), atol=1e-10)


@pytest.mark.parametrize(("center", "bias"), [(True, False), (True, True), (False, True)])
def test_scores_and_sums_are_those_of_one_piece(center, bias):
    X, weight = _halves(), np.random.default_rng(0).choice([1.0, 2.5], 400)
    _check_identities(ArrayPartitions(X), X, weight, center, bias)
    _check_identities(ArrayPartitions(X), X, np.ones(400), center, bias)


def test_scores_and_sums_on_devices(arrays):
    X = _halves()
    _check_identities(ArrayPartitions(arrays.make(X)), X, np.ones(400), True, True)


@pytest.mark.parametrize("k", [2, 3])
def test_a_fit_in_blocks_is_that_of_one_piece(k, tmp_path):
    X = _halves(400 if k == 2 else 200, k)
    model = MaxMarginClustering(k, solver=CuttingPlane(n_init=6), random_state=0)
    labels, F = model.fit(X).labels_, model.objective_
    for there in _ways(X, tmp_path):
        model.fit(there)
        assert np.mean(np.asarray(model.labels_) == labels) > 0.995
        assert model.objective_ == pytest.approx(F, rel=0.02)  # up to tol
        np.testing.assert_array_equal(model.predict(there), model.labels_)
        np.testing.assert_allclose(model.decision_function(there), model.decision_function(X), atol=1e-12)
        assert type(model.labels_) is type(model.predict(there))
        assert model.score(X) > 0.3


def test_a_fit_on_a_device_gives_labels_there(arrays):
    X = _halves()
    labels = MaxMarginClustering(solver=CuttingPlane(n_init=6), random_state=0).fit(X).labels_
    Y = arrays.make(X)
    model = MaxMarginClustering(solver=CuttingPlane(n_init=6), random_state=0).fit(Y)
    assert type(model.labels_) is type(Y) and type(model.predict(Y)) is type(Y)
    np.testing.assert_array_equal(to_host(model.labels_), labels)
    np.testing.assert_array_equal(to_host(model.predict(Y)), labels)


def test_known_labels_and_weights_in_blocks(tmp_path):
    X, y = _halves(), np.full(400, -1)
    found = MaxMarginClustering(solver=CuttingPlane(n_init=6), random_state=0).fit(X).labels_
    y[:30] = 1 - found[:30]  # the other way round,
    y[0] = found[0]  # but for one
    copies = np.random.default_rng(0).integers(1, 4, 400)
    for there in _ways(X, tmp_path):
        model = MaxMarginClustering(solver=CuttingPlane(n_init=6), random_state=0).fit(there, y)
        labels = np.asarray(model.labels_)
        np.testing.assert_array_equal(labels[:30], y[:30])
        assert np.mean(labels == 1 - found) > 0.99
        weighted = MaxMarginClustering(solver=CuttingPlane(n_init=6), random_state=0).fit(there, sample_weight=copies)
        assert weighted.sizes_.sum() == copies.sum()
        repeated = MaxMarginClustering(solver=CuttingPlane(n_init=6), random_state=0).fit(np.repeat(X, copies, axis=0))
        F = repeated.objective_
        assert weighted.objective_ == pytest.approx(F, rel=0.02)


def test_the_price_of_slack_is_that_of_all_samples(tmp_path, monkeypatch):
    X = _halves()
    seen, solve = [], _fit.solve
    monkeypatch.setattr(
        _fit, "solve", lambda Z, w, problem, **more: seen.append((len(Z), problem.C)) or solve(Z, w, problem, **more)
    )
    there = next(_ways(X, tmp_path))
    model = MaxMarginClustering(C=3e-5, solver=CuttingPlane(n_init=6), random_state=0).fit(there)
    ((few, C),) = seen
    assert few < 100 and C * few**2 == pytest.approx(3e-5 * 400**2) and model.C_ == 3e-5


def test_losses_of_many_rivals_are_the_same_one_by_one(monkeypatch):
    X = _halves(150, k=3)
    for k in (2, 3):
        model = MaxMarginClustering(k, solver=CuttingPlane(n_init=2), random_state=0)
        history = model.fit(X).diagnostics_.history
        monkeypatch.setattr(_cuts, "TOGETHER", 0)
        assert model.fit(X).diagnostics_.history == history
        monkeypatch.undo()


def test_bad_blocks_are_refused(tmp_path):
    da = pytest.importorskip("dask.array")
    X = _halves()
    model = MaxMarginClustering(solver=CuttingPlane(n_init=6), random_state=0)
    with pytest.raises(ValueError, match="zeros"):
        model.fit(da.from_array(X, chunks=100), sample_weight=np.arange(400))
    with pytest.raises(ValueError, match="all samples are equal"):
        model.fit(da.ones((400, 3), chunks=(100, 3)))
    X[213, 1] = np.nan
    with pytest.raises(ValueError, match="partition 2, row 13 of it"):
        model.fit(da.from_array(X, chunks=100))
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ValueError, match="row 213"):
        model.fit(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert not hasattr(model, "labels_")
