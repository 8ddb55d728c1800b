"""Estimators on arrays that live elsewhere, against the same on the host."""

import pickle

import numpy as np
import pytest
from flat_parameters import build
from sklearn import get_config

from kernelclust import CLUHSICAL, DisKMeans, KernelKMeans, StructuredClustering
from kernelclust._arrays import namespace, namespace_of, to_host
from kernelclust.engine.holders._device import DevicePool
from kernelclust.engine.holders._rows import Rows
from kernelclust.kernels import RBF

pytestmark = [pytest.mark.usefixtures("few_starts"), pytest.mark.filterwarnings("ignore::UserWarning")]


def _ring(m=400, c=6, noise=0.15, seed=0):
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * rng.integers(0, c, m) / c
    X = np.c_[np.cos(angle), np.sin(angle), np.zeros(m)] + noise * rng.standard_normal((m, 3))
    return X.astype(np.float32)


@pytest.fixture(autouse=True)
def small_start(monkeypatch):
    """Three stages, as millions of samples have them."""
    monkeypatch.setattr("kernelclust.engine._rounds.MIN_SUBSAMPLE", 100)
    monkeypatch.setattr("kernelclust.engine._rounds.PER_CLUSTER", 1)
    monkeypatch.setattr("kernelclust.engine.holders._device.MIDDLE", 200)


@pytest.mark.parametrize("options", [{}, {"search": "global"}, {"loss": "structure"}, {"search": "place"}])
def test_a_fit_is_that_of_the_host(arrays, options):
    X = _ring()
    model = build(StructuredClustering, structure="ring:6", kernel="rbf", random_state=0, **options)
    host = model.fit(X)
    labels, F = host.labels_, host.objective_
    position, medoids, bound = host.position_, host.medoids_, host.upper_bound_
    distances, member = host.transform(X[:20]), host.membership(X[:20])
    score = host.score(X)
    Y = arrays.make(X)
    there = model.fit(Y)
    np.testing.assert_array_equal(to_host(there.labels_), labels)
    assert there.objective_ == pytest.approx(F, rel=1e-5)
    assert there.objective_ <= there.upper_bound_ and there.objective_ <= there.diagnostics_.size_bound
    assert there.upper_bound_ > bound * (1 - 1e-5)  # looser, never tighter than what is known to hold
    np.testing.assert_allclose(to_host(there.position_), position, atol=2e-2)
    np.testing.assert_array_equal(to_host(there.medoids_), medoids)
    assert type(there.labels_) is type(Y) and type(there.position_) is type(Y)
    assert np.all(np.diff(there.diagnostics_.history) >= 0)
    new = Y[:20, ...]
    np.testing.assert_array_equal(to_host(there.predict(new)), labels[:20])
    np.testing.assert_allclose(to_host(there.transform(new)), distances, atol=1e-3)
    np.testing.assert_allclose(to_host(there.membership(new)), member, atol=2e-2)
    assert there.score(Y) == pytest.approx(score, abs=0.2)
    assert to_host(there.position(new)).shape == (20,)
    assert len(there.order_.queries(3)) == 3 and len(there.order_.alternatives(2)) == 2


def test_presets_and_flat(arrays):
    X = _ring()
    for model in (KernelKMeans(6, random_state=0), CLUHSICAL(structure="ring:6", random_state=0)):
        expected = model.fit(X).labels_
        np.testing.assert_array_equal(to_host(model.fit(arrays.make(X)).labels_), expected)


def test_weights_are_repeats(arrays):
    X = _ring(150)
    copies = np.random.default_rng(0).integers(1, 4, len(X))
    model = StructuredClustering(structure="ring:6", kernel=RBF(gamma=0.7), random_state=0)
    weighted = model.fit(arrays.make(X), sample_weight=arrays.make(copies.astype(float)))
    labels, F = to_host(weighted.labels_), weighted.objective_
    again = model.fit(arrays.make(np.repeat(X, copies, axis=0)))
    assert again.objective_ == pytest.approx(F, rel=1e-5)
    np.testing.assert_array_equal(to_host(again.labels_), np.repeat(labels, copies))


def test_samples_of_weight_zero_are_placed_as_new_ones(arrays):
    X = _ring(300)
    weight = np.ones(300)
    weight[::5] = 0
    model = StructuredClustering(structure="ring:6", kernel=RBF(gamma=0.7), random_state=0)
    alone = to_host(model.fit(arrays.make(X[weight > 0])).labels_)
    labels = to_host(model.fit(arrays.make(X), sample_weight=weight).labels_)
    np.testing.assert_array_equal(labels[weight > 0], alone)
    np.testing.assert_array_equal(labels[::5], to_host(model.predict(arrays.make(X[::5]))))


def test_known_labels_are_kept_and_number_the_clusters(arrays):
    X = _ring(400)
    found = StructuredClustering(structure="ring:6", kernel="rbf", random_state=0).fit(X).labels_
    y = np.full(400, -1)
    chosen = np.array([np.flatnonzero(found == j)[0] for j in range(6)])
    y[chosen] = (found[chosen] + 2) % 6
    wrong = np.flatnonzero(found == 0)[5]
    y[wrong] = (found[wrong] + 5) % 6
    model = StructuredClustering(structure="ring:6", kernel="rbf", random_state=0).fit(arrays.make(X), y)
    labels = to_host(model.labels_)
    np.testing.assert_array_equal(labels[y >= 0], y[y >= 0])
    assert np.mean(labels == (found + 2) % 6) > 0.95


def test_a_fit_can_be_pickled_and_goes_on_predicting(arrays):
    X = arrays.make(_ring())
    model = StructuredClustering(structure="ring:6", kernel="rbf", random_state=0).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(to_host(again.predict(X)), to_host(model.predict(X)))


def test_graph_kernels_are_fitted_on_the_host_with_a_word(arrays):
    X = _ring(120)
    model = StructuredClustering(structure="ring:6", kernel="graph", random_state=0)
    expected = model.fit(X).labels_
    with pytest.warns(UserWarning, match="computed on the host"):
        model.fit(arrays.make(X))
    np.testing.assert_array_equal(to_host(model.labels_), expected)
    assert type(model.labels_) is type(arrays.make(X))
    assert type(model.predict(arrays.make(X))) is type(model.labels_)


REFUSED = [
    (StructuredClustering(kernel="rbf", solver="spectral"), {}, "solver='spectral'"),
    (StructuredClustering(kernel="rbf", min_cluster_size=3), {}, "min_cluster_size"),
    (StructuredClustering(kernel="rbf", label_weight=1.0), {}, "label_weight"),
    (StructuredClustering(kernel="rbf", approximation="nystroem"), {}, "approximation='nystroem'"),
    (StructuredClustering(kernel="precomputed"), {}, "kernel='precomputed'"),
    (StructuredClustering(kernel="rbf"), {"must_link": [[0, 1]]}, "must_link"),
    (DisKMeans(), {}, "DisKMeans"),
]


@pytest.mark.parametrize("model, given, named", REFUSED, ids=[named for *_, named in REFUSED])
def test_what_is_not_there_is_refused_by_name(arrays, model, given, named):
    with pytest.raises(ValueError, match=f"{named}.*not supported yet"):
        model.fit(arrays.make(_ring(50)), **given)
    assert not hasattr(model, "labels_")


def test_equal_samples_have_the_answer_of_the_host(arrays):
    X = np.ones((50, 3))
    with pytest.warns(UserWarning, match="all 50 samples are equal"):
        labels = KernelKMeans(3).fit(arrays.make(X)).labels_
    np.testing.assert_array_equal(to_host(labels), KernelKMeans(3).fit(X).labels_)


def test_bad_arrays_are_refused(arrays):
    model, X = KernelKMeans(3), _ring(50)
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match="nan at row 7, column 1"):
        model.fit(arrays.make(X))
    with pytest.raises(ValueError, match="two dimensions"):
        model.fit(arrays.make(np.zeros((5, 2, 2))))
    with pytest.raises(ValueError, match="fewer samples"):
        model.fit(arrays.make(X[:2]))
    with pytest.raises(ValueError, match="rescale"):
        model.fit(arrays.make(1e20 * _ring(50)))
    fitted = KernelKMeans(3).fit(arrays.make(_ring(50)))
    with pytest.raises(ValueError, match="features"):
        fitted.predict(arrays.make(_ring(50)[:, :2]))
    if arrays.name != "strict":
        with pytest.raises(TypeError, match="half precision"):
            model.fit(arrays.make(_ring(50)).half())


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_squares_that_leave_floating_point_are_refused(arrays, size):
    X = arrays.make((size * _ring(50)).astype(np.float32))
    with pytest.raises(ValueError, match="whose squares overflow or underflow; rescale"):
        KernelKMeans(3, kernel="rbf").fit(X)


def test_without_dispatch_arrays_of_the_host_are_numpy_arrays():
    strict = pytest.importorskip("array_api_strict")
    assert not get_config()["array_api_dispatch"]
    assert namespace_of(strict.asarray([[1.0]])) is None


def test_the_drift_of_the_sums_is_told(arrays, caplog):
    caplog.set_level("INFO", logger="kernelclust")
    KernelKMeans(3, verbose=1, random_state=0).fit(arrays.make(_ring(300)))
    drift = float(caplog.text.split("drifted by ")[1].split()[0])
    assert 0 <= drift < 1e-4


def test_f_is_of_a_new_pass_and_drift_calls_for_new_sums(arrays, monkeypatch):
    """All sums are made once, totals once more; sums that have drifted are made again, and the answer is the same."""
    X, passes, halves = arrays.make(_ring(300)), [], []
    made, total = Rows.sums, Rows.totals

    def sums(self, *given):
        passes.append(self.n_samples)
        return made(self, *given)

    def totals(self, *given):
        halves.append(total(self, *given))
        return halves[-1]

    monkeypatch.setattr(Rows, "sums", sums)
    monkeypatch.setattr(Rows, "totals", totals)
    model = KernelKMeans(3, kernel=_own_rbf, random_state=0)
    labels, history = to_host(model.fit(X).labels_), model.diagnostics_.history
    assert passes.count(300) == 1 and len(halves) == 1
    value = model.objective_
    monkeypatch.setattr(Rows, "totals", lambda self, *given: (1 + 1e-7) * total(self, *given))
    assert model.fit(X).objective_ == pytest.approx((1 + 1e-7) * value, rel=1e-12)
    assert passes.count(300) == 2
    monkeypatch.setattr(DevicePool, "settle", lambda self: 1.0)
    np.testing.assert_array_equal(to_host(model.fit(X).labels_), labels)
    assert passes.count(300) == 4 and model.diagnostics_.history == pytest.approx(history, rel=1e-6)


def _own_rbf(X, Y):
    """A function of one's own has no fused passes."""
    return RBF(0.5).array_block(namespace(X), X, Y)
