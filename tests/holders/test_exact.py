"""Exact kernels in partitions, against the same samples in one piece."""

import pickle

import numpy as np
import pytest
from flat_parameters import build

from kernelclust import KernelKMeans, StructuredClustering
from kernelclust._arrays import knows_numpy
from kernelclust.engine.holders import DaskPartitions, _exact
from kernelclust.kernels import RBF

da = pytest.importorskip("dask.array")
pytestmark = [
    pytest.mark.usefixtures("few_starts"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.skipif(not knows_numpy(), reason="needs NumPy 2 and scikit-learn 1.7"),
]


def _ring(m=300, c=6, noise=0.15, seed=0):
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * rng.integers(0, c, m) / c
    return np.c_[np.cos(angle), np.sin(angle), np.zeros(m)] + noise * rng.standard_normal((m, 3))


@pytest.fixture(autouse=True)
def small_start(monkeypatch):
    monkeypatch.setattr("kernelclust.engine._rounds.MIN_SUBSAMPLE", 100)
    monkeypatch.setattr("kernelclust.engine._rounds.PER_CLUSTER", 1)
    monkeypatch.setattr(_exact, "TILE", 64)


def _model(structure="ring:6", **options):
    options = {"kernel": "rbf", "approximation": None, "compute_confidence": False, "random_state": 0} | options
    return build(StructuredClustering, structure=structure, **options)


@pytest.mark.parametrize(("kernel", "m"), [("rbf", 2000), ("laplacian", 1000), ("polynomial", 1000)])
def test_labels_and_f_are_those_of_one_piece(kernel, m, monkeypatch):
    monkeypatch.setattr("kernelclust.engine._rounds.MIN_SUBSAMPLE", 300)
    X = _ring(m)
    model = _model(kernel=kernel, gamma=0.5)
    labels, F = model.fit(X).labels_, model.objective_
    model.fit(da.from_array(X, chunks=(450, -1)))
    assert model.labels_.chunks == (m // 450 * (450,) + (m % 450,),)
    assert np.mean(model.labels_.compute() != labels) <= 0.001
    assert model.objective_ == pytest.approx(F, rel=1e-6)
    assert np.all(np.diff(model.diagnostics_.history) > 0)


@pytest.mark.parametrize(
    "options", [{"search": "global"}, {"loss": "structure"}, {"search": "place"}, {"structure": "flat:6"}]
)
def test_evidence_is_that_of_one_piece(options):
    X = _ring()
    model = _model(**options).fit(X)
    labels, bound, medoids, position = model.labels_, model.upper_bound_, model.medoids_, model.position_
    F, gamma = model.objective_, model.diagnostics_.gamma
    model.fit(da.from_array(X, chunks=(70, 2)))
    np.testing.assert_array_equal(model.labels_.compute(), labels)
    assert model.objective_ == pytest.approx(F, rel=1e-9) and model.diagnostics_.gamma == pytest.approx(gamma, rel=1e-9)
    assert bound * (1 - 1e-9) <= model.upper_bound_ and model.objective_ <= model.diagnostics_.size_bound
    np.testing.assert_array_equal(model.medoids_, medoids)
    if position is not None:
        turn = np.abs(model.position_.compute() - position)
        assert np.max(np.minimum(turn, 6 - turn)) < 0.2  # ranks among the samples that the fit starts from


def test_new_samples_are_compared_with_all_partitions_when_asked_for():
    X, new = _ring(), _ring(60, seed=1)
    model = _model().fit(X)
    expected = {name: getattr(model, name)(new) for name in ("predict", "transform", "membership")}
    score = model.score(new)
    model.fit(da.from_array(X, chunks=(70, -1)))
    parts = da.from_array(new, chunks=(25, 2))
    for name, values in expected.items():
        lazy = getattr(model, name)(parts)
        assert lazy.chunks[0] == (25, 25, 10)
        np.testing.assert_allclose(lazy.compute(), values, atol=0.02 if name == "membership" else 1e-9)
        np.testing.assert_allclose(getattr(model, name)(new), lazy.compute(), atol=1e-12)
    np.testing.assert_allclose(model.position(parts).compute(), model.position(new))
    assert model.score(parts) == pytest.approx(model.score(new))
    assert 0 < model.score(new) <= score * (1 + 1e-9)  # the share that could be explained is bounded more loosely
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(new), expected["predict"])
    with pytest.raises(ValueError, match="3 features"):
        model.predict(parts[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        model.predict(parts * np.nan).compute()


def test_weights_are_repeats_and_known_labels_are_kept():
    X, rng = _ring(150, noise=0.1), np.random.default_rng(0)
    copies = rng.integers(0, 4, len(X))
    model = _model(gamma=0.7)
    weighted = model.fit(da.from_array(X, chunks=(40, -1)), sample_weight=copies)
    labels, F = weighted.labels_.compute(), weighted.objective_
    repeated = model.fit(np.repeat(X, copies, axis=0))
    assert repeated.objective_ == pytest.approx(F, rel=1e-9)
    np.testing.assert_array_equal(labels, repeated.predict(X))
    y = np.full(len(X), -1)
    y[:20] = (model.fit(X).labels_[:20] + 2) % 6
    y[3] = (y[3] + 2) % 6  # the others of its cluster say something else
    expected = model.fit(X, y).labels_
    told = model.fit(da.from_array(X, chunks=(40, -1)), y).labels_.compute()
    np.testing.assert_array_equal(told, expected)
    np.testing.assert_array_equal(told[:20], y[:20])


def test_rounds_end_where_no_single_move_gains_however_few_may_move(monkeypatch):
    monkeypatch.setattr(_exact, "SHOWN", 7)
    monkeypatch.setattr("kernelclust.engine._rounds.MIN_SUBSAMPLE", 30)
    X = _ring(90, noise=0.5)
    model = KernelKMeans(3, kernel=RBF(gamma=1.0), approximation=None, random_state=0)
    labels = model.fit(da.from_array(X, chunks=(40, -1))).labels_.compute()
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    H = np.eye(90) - 1 / 90

    def value(labels):
        P = np.eye(3)[labels]
        return np.trace((P.T @ H @ K @ H @ P) / P.sum(axis=0)[:, None])

    F = value(labels)
    assert F == pytest.approx(model.objective_, rel=1e-9)
    for i in range(90):
        for j in range(3):
            moved = labels.copy()
            moved[i] = j
            assert value(moved) <= F * (1 + 1e-9)


@pytest.mark.parametrize("during", [(DaskPartitions, "one"), (_exact.PartitionPool, "accept")], ids=["pass", "round"])
def test_a_worker_that_is_lost_costs_time_and_nothing_else(during, monkeypatch):
    distributed = pytest.importorskip("distributed")
    X = _ring(noise=0.3)
    parts = da.from_array(X, chunks=(70, -1))
    expected = _model().fit(parts)
    steps, step = [], getattr(*during)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):

        def lose(*given):
            if len(steps) == 1:  # of several partitions, or rounds
                cluster.sync(cluster.workers[0].close, nanny=False)
            steps.append(given)
            return step(*given)

        monkeypatch.setattr(*during, lose)
        model = _model().fit(parts)
        assert len(cluster.scheduler.workers) == 1
        np.testing.assert_array_equal(model.labels_.compute(), expected.labels_.compute())
    assert len(steps) > 1 and model.objective_ == expected.objective_
