"""Many views as arrays of any library, against the same in memory."""

import numpy as np
import pytest

from kernelclust import MultiKernelClustering
from kernelclust._arrays import namespace_of, to_host
from kernelclust.engine.holders import ArrayPartitions, feature_gram, feature_moments
from kernelclust.engine.holders._features import last_look, look, rule_labels, sweep
from kernelclust.kernels import Nystroem
from kernelclust.multikernel import MKKMMR
from kernelclust.objectives import Assignment

pytestmark = [pytest.mark.usefixtures("few_starts"), pytest.mark.filterwarnings("ignore::UserWarning")]


def _views(m=500, seed=0):
    """Five groups on a ring, seen well, seen less well, and not at all."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * rng.integers(0, 5, m) / 5
    clock = np.c_[np.cos(angle), np.sin(angle)]
    well, less = clock + 0.2 * rng.standard_normal((m, 2)), np.c_[clock, clock[:, 0]]
    return [well, less + 0.3 * rng.standard_normal((m, 3)), rng.standard_normal((m, 2))]


def _model(**given):
    usual = {"kernel": "rbf", "approximation": Nystroem(25), "compute_confidence": False}
    return MultiKernelClustering(5, random_state=0, **usual | given)


@pytest.mark.parametrize(
    "given",
    [{"method": "average"}, {"structure": "ring:5", "kernel": ["rbf", "linear", ["laplacian", "cosine"]]}],
    ids=["average", "ring"],
)
def test_where_the_start_holds_all_samples_it_is_the_fit_in_memory(arrays, given):
    views, new = _views(), _views(70, seed=1)
    one, found = _model(**given).fit(views), _model(**given).fit([arrays.make(view) for view in views])
    there, labels = [arrays.make(view) for view in new], found.labels_
    assert namespace_of(labels) is not None and type(found.diagnostics_.embedding) is type(labels)
    np.testing.assert_array_equal(to_host(labels), one.labels_)
    np.testing.assert_allclose(found.weights_, one.weights_, atol=1e-6)
    np.testing.assert_array_equal(to_host(found.medoids_), one.medoids_)
    assert found.score(there) == pytest.approx(one.score(new), abs=1e-6)
    for name in ("predict", "transform", "membership", *(["position"] if "structure" in given else [])):
        answer = getattr(found, name)(there)
        assert namespace_of(answer) is not None
        np.testing.assert_allclose(to_host(answer), getattr(one, name)(new), atol=1e-6, err_msg=name)
        np.testing.assert_allclose(getattr(found, name)(new), getattr(one, name)(new), atol=1e-6, err_msg=name)


def test_the_same_samples_in_partitions_and_on_a_device(arrays, monkeypatch):
    """A start of some samples: weights are those of all, at the labels found."""
    monkeypatch.setattr("kernelclust.engine._rounds.MIN_SUBSAMPLE", 150)
    monkeypatch.setattr("kernelclust.engine._rounds.PER_CLUSTER", 1)
    monkeypatch.setattr("kernelclust.engine.holders._features.FeaturePool.settled", 0.0)
    views = _views()
    weight = np.random.default_rng(1).choice([1.0, 2.0], 500)
    found = _model().fit([arrays.make(view) for view in views], sample_weight=weight)
    features = found._prediction.similarities.features.raw
    B = features(np.hstack(views))
    kernels = [B[:, at] @ B[:, at].T for at in features.columns]
    method = MKKMMR(lam=found.diagnostics_.lam, center=False, unit_diagonal=False)
    one = _model(kernel="precomputed", method=method, approximation=None).fit(kernels, sample_weight=weight)
    assert np.mean(to_host(found.labels_) != one.labels_) <= 0.002
    np.testing.assert_allclose(found.objective_, one.objective_, rtol=1e-5)
    np.testing.assert_allclose(
        to_host(found.diagnostics_.embedding).T @ (weight[:, None] * to_host(found.diagnostics_.embedding)),
        np.eye(5),
        atol=1e-8,
    )


class _Cubes:
    def __call__(self, X):
        return X**3 + 1.0

    def array(self, xp, X):
        return X**3 + 1.0


def test_what_is_asked_of_partitions_is_answered_as_on_the_host(arrays, monkeypatch):
    monkeypatch.setattr("kernelclust.engine.holders._features.ROWS", 4)
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((90, 4)), rng.choice([0.0, 1.0, 2.0], 90)
    y = np.where(rng.random(90) < 0.2, rng.integers(0, 3, 90), -1)
    there = arrays.make(X)
    shards, raw, T = ArrayPartitions(there, w, y), _Cubes(), rng.random(4)
    rule, before = (Assignment(rng.standard_normal((4, 3)), rng.standard_normal(3)) for _ in range(2))
    blocks = [(X[rows], w[rows], y[rows]) for rows in shards.blocks]
    assert sum(shards.sizes) == 90 and len(blocks) > 5
    asked = [
        (sweep, {"raw": raw, "rule": rule, "before": before}),
        (last_look, {"raw": raw, "T": T, "rule": rule, "means": rng.standard_normal((4, 3))}),
        (feature_moments, {"raw": raw, "width": 4}),
    ]
    for function, given in asked:
        for found, block in zip(shards.each(function, **given), blocks, strict=True):
            for name, expected in vars(function(*block, **given)).items():
                np.testing.assert_allclose(getattr(found, name), expected, atol=1e-9, err_msg=name)
    grams = [feature_gram(*block, raw=raw, width=4) for block in blocks]
    np.testing.assert_allclose(shards.each(feature_gram, raw=raw, width=4), grams)
    seen = shards.each(look, numbered=True, share=0.5, seed=3)
    for i, (found, block) in enumerate(zip(seen, blocks, strict=True)):
        expected = look(*block, number=i, share=0.5, seed=3)
        for name in ("weight", "lightest", "least", "some", "rows", "weights", "known", "largest", "ends"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), err_msg=name)
    labels = np.where(y >= 0, y, np.argmax(raw(X) @ rule.M + rule.h, axis=1))
    np.testing.assert_array_equal(to_host(shards.rows(rule_labels, np.int64, raw=raw, rule=rule)), labels)


def test_known_labels_are_kept_and_weights_of_zero_get_labels(arrays):
    views, known, weight = [arrays.make(view) for view in _views()], np.full(500, -1), np.ones(500)
    known[::7], weight[::9] = np.arange(500)[::7] % 5, 0.0
    model = _model().fit(views, known, sample_weight=weight)
    labels = to_host(model.labels_)
    np.testing.assert_array_equal(labels[::7], known[::7])
    np.testing.assert_allclose(to_host(model.sizes_), np.bincount(labels, weight))


def test_what_is_not_there_is_refused_by_name(arrays):
    views = [arrays.make(view) for view in _views()]
    for given, words in [
        ({"method": "mkkm"}, "method='mkkm'"),
        ({"kernel": "auto"}, "kernel='auto'"),
        ({"kernel": lambda X, Y: X @ Y.T}, "kernel="),
        ({"approximation": "random_features"}, "approximation='random_features'"),
        ({"max_cluster_size": 300}, "max_cluster_size"),
    ]:
        with pytest.raises(ValueError, match=rf"{words}.*not supported yet for views on a device"):
            _model(**given).fit(views)
    with pytest.raises(ValueError, match=r"must_link and cannot_link.*not supported yet"):
        _model().fit(views, must_link=[[0, 1]])
    with pytest.raises(TypeError, match="different libraries or on different devices"):
        _model().fit([views[0], _views()[1]])
    missing = _views()
    missing[1][3] = np.nan
    with pytest.raises(ValueError, match="view 1 contains nan at row 3"):
        _model().fit([arrays.make(view) for view in missing])
    with pytest.raises(ValueError, match=r"numbers of samples: \[500, 499\]"):
        _model().fit([views[0], views[1][:499, :]])
    model = _model().fit(views)
    with pytest.raises(ValueError, match=r"views of \[2, 3\] features"):
        model.predict(views[:2])
