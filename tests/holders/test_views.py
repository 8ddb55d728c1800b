"""Many views in partitions, against the same kernels in one piece."""

import numpy as np
import pytest

from kernelclust import MultiKernelClustering
from kernelclust.engine.holders import feature_gram, feature_moments
from kernelclust.kernels import Nystroem
from kernelclust.multikernel import MKKMMR, Average
from kernelclust.multikernel._sums import Part, PreparedFeatures

da = pytest.importorskip("dask.array")
pytestmark = [pytest.mark.usefixtures("few_starts"), pytest.mark.filterwarnings("ignore::UserWarning")]
PLAIN = {"kernel": "precomputed", "approximation": None}
AS_GIVEN = {"center": False, "unit_diagonal": False}


@pytest.fixture(autouse=True)
def small_start(monkeypatch):
    monkeypatch.setattr("kernelclust.engine._rounds.MIN_SUBSAMPLE", 150)
    monkeypatch.setattr("kernelclust.engine._rounds.PER_CLUSTER", 1)
    monkeypatch.setattr("kernelclust.engine.holders._features.FeaturePool.settled", 0.0)
    monkeypatch.setattr("kernelclust.engine.holders._features.ROWS", 100)


def _views(m=600, seed=0):
    """Five groups on a ring, seen well, seen less well, and not at all."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * rng.integers(0, 5, m) / 5
    clock = np.c_[np.cos(angle), np.sin(angle)]
    well, less = clock + 0.2 * rng.standard_normal((m, 2)), np.c_[clock, clock[:, 0]]
    return [well, less + 0.3 * rng.standard_normal((m, 3)), rng.standard_normal((m, 2))]


def _parts(views, rows=170):
    return [da.from_array(view, chunks=(rows, -1)) for view in views]


def _model(**given):
    usual = {"kernel": "rbf", "approximation": Nystroem(25), "compute_confidence": False}
    return MultiKernelClustering(5, random_state=0, **usual | given)


def _kernels(model, views):
    """The kernels that a model of partitions knew, as matrices."""
    features = model._prediction.similarities.features.raw
    B = features(np.hstack(views))
    return [B[:, at] @ B[:, at].T for at in features.columns]


@pytest.mark.parametrize("structure", ["flat", "ring:5"])
@pytest.mark.parametrize("method", ["average", "mkkm-mr"])
def test_labels_and_weights_are_those_of_the_same_kernels_in_one_piece(method, structure):
    views = _views()
    weight = np.random.default_rng(1).choice([1.0, 2.0], 600)
    found = _model(method=method, structure=structure).fit(_parts(views), sample_weight=weight)
    same = Average(**AS_GIVEN) if method == "average" else MKKMMR(lam=found.diagnostics_.lam, **AS_GIVEN)
    one = _model(structure=structure, method=same, **PLAIN).fit(_kernels(found, views), sample_weight=weight)
    assert isinstance(found.labels_, da.Array) and found.labels_.chunks == ((170, 170, 170, 90),)
    labels = found.labels_.compute()
    assert np.mean(labels != one.labels_) <= 0.002
    np.testing.assert_allclose(found.diagnostics_.relaxed_objective, one.diagnostics_.relaxed_objective, rtol=1e-6)
    np.testing.assert_allclose(found.weights_, one.weights_, atol=1e-6 if (labels == one.labels_).all() else 1e-3)
    np.testing.assert_allclose(found.objective_, one.objective_, rtol=1e-6)
    np.testing.assert_allclose(found.sizes_, np.bincount(labels, weight))
    overlap = found.diagnostics_.embedding.compute().T @ (weight[:, None] * one.diagnostics_.embedding)
    np.testing.assert_allclose(np.linalg.svd(overlap)[1], 1.0, atol=1e-6)


def test_where_the_start_holds_all_samples_it_is_the_fit_in_memory(monkeypatch):
    monkeypatch.setattr("kernelclust.engine._rounds.MIN_SUBSAMPLE", 600)
    views, kernels = _views(), ["rbf", "linear", ["rbf", 2.0]]
    found, one = _model(kernel=kernels).fit(_parts(views)), _model(kernel=kernels).fit(views)
    np.testing.assert_array_equal(found.labels_.compute(), one.labels_)
    np.testing.assert_allclose(found.weights_, one.weights_, atol=1e-6)
    np.testing.assert_allclose(found.explained_, one.explained_, atol=1e-6)
    np.testing.assert_allclose(found.diagnostics_.lam, one.diagnostics_.lam, rtol=1e-4)
    new = _views(50, seed=3)
    np.testing.assert_allclose(found.transform(new), one.transform(new), atol=1e-6)


def test_prepared_features_are_centred_and_of_unit_norm_over_all_samples():
    X, w = np.hstack(_views()), np.random.default_rng(0).choice([0.0, 1.0, 3.0], 600)
    raw = PreparedFeatures(
        [Part(slice(0, 2), _cubes, None, np.zeros(2)), Part(slice(4, 7), _cubes, None, np.zeros(3))], False
    )
    moments = [feature_moments(X[at], w[at], None, raw, 5) for at in (slice(0, 250), slice(250, 600))]
    total = moments[0] + moments[1]
    given = total.weight, total.first, total.second, total.largest
    centred = raw.over_all(*given, unit=False, center=True)
    np.testing.assert_allclose(w @ centred(X), 0.0, atol=1e-9)
    B = raw.over_all(*given, unit=True, center=True)(X)
    for at in centred.columns:
        np.testing.assert_allclose(B[:, at], centred(X)[:, at] / np.linalg.norm(centred(X)[:, at], axis=1)[:, None])
    gram = feature_gram(X, w, None, raw, 5)
    np.testing.assert_allclose(gram, raw(X).T @ (w[:, None] * raw(X)))
    np.testing.assert_allclose(total.second, np.diag(gram))


def _cubes(X):
    return X**3 + 1.0


def test_new_samples_are_placed_lazily_as_in_memory():
    views, new = _views(), _views(130, seed=5)
    model = _model(structure="ring:5").fit(_parts(views))
    lazy = model.predict(_parts(new, 60))
    assert isinstance(lazy, da.Array) and lazy.chunks == ((60, 60, 10),)
    np.testing.assert_array_equal(lazy.compute(), model.predict(new))
    for name in ("transform", "membership", "position"):
        there = getattr(model, name)(_parts(new, 60))
        np.testing.assert_allclose(there.compute(), getattr(model, name)(new), err_msg=name)
    assert model.score(_parts(new)) == pytest.approx(model.score(new))
    np.testing.assert_array_equal(model.predict(_parts(views)).compute(), model.labels_.compute())
    assert model.position_.compute().shape == (600,)
    memory = _model(approximation=None).fit(views)
    np.testing.assert_array_equal(memory.predict(_parts(new, 60)).compute(), memory.predict(new))


def test_views_may_be_columns_of_one_table_or_lie_in_other_partitions():
    views = _views()
    first = _model().fit(_parts(views))
    other = [da.from_array(view, chunks=(rows, 1)) for view, rows in zip(views, (170, 200, 600), strict=True)]
    moved = _model().fit(other)
    assert moved.labels_.chunks == first.labels_.chunks
    np.testing.assert_array_equal(moved.labels_.compute(), first.labels_.compute())
    table = da.from_array(np.hstack(views), chunks=(170, -1))
    columns = _model(views=[slice(0, 2), [2, 3, 4], slice(5, 7)]).fit(table)
    np.testing.assert_array_equal(columns.labels_.compute(), first.labels_.compute())
    np.testing.assert_array_equal(columns.predict(table).compute(), columns.predict(np.hstack(views)))
    assert columns.n_features_in_ == first.n_features_in_ == 7
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(np.hstack(views), columns=list("abcdefg"))
    named = _model(views={"one": ["a", "b"], "two": ["c", "d", "e"], "three": ["f", "g"]})
    named.fit(dd.from_pandas(frame, npartitions=3))
    assert named.feature_names_in_.tolist() == list("abcdefg") and named._widths == [2, 3, 2]
    np.testing.assert_array_equal(named.predict(frame), named.labels_.compute())
    several = _model(kernel=["linear", 0.5, 2.0]).fit(table)
    assert several.weights_.shape == (3,)


def test_known_labels_are_kept():
    views, known = _views(), np.full(600, -1)
    known[::7] = np.arange(600)[::7] % 5
    labels = _model().fit(_parts(views), known).labels_.compute()
    np.testing.assert_array_equal(labels[::7], known[::7])


@pytest.mark.parametrize(
    ("given", "fit", "words"),
    [
        ({"method": "mkkm"}, {}, "method='mkkm'"),
        ({"kernel": "auto"}, {}, "kernel='auto'"),
        ({"kernel": "precomputed"}, {}, "kernel='precomputed'"),
        ({"kernel": ["rbf", "graph", "rbf"]}, {}, "kernel="),
        ({"method": MKKMMR(refine=False)}, {}, "refine=False"),
        ({"method": MKKMMR(correlation="hsic")}, {}, "correlation='hsic'"),
        ({"approximation": "cholesky"}, {}, "approximation='cholesky'"),
        ({"approximation": None}, {}, "approximation=None"),
        ({"min_cluster_size": 3}, {}, "min_cluster_size"),
        ({}, {"must_link": [[0, 1]]}, "must_link and cannot_link"),
        ({}, {"observed": np.ones((600, 3), bool)}, "observed"),
    ],
)
def test_what_is_not_there_is_refused_by_name(given, fit, words):
    with pytest.raises(ValueError, match=rf"{words}.*not supported yet for views in partitions"):
        _model(**given).fit(_parts(_views()), **fit)


def test_bad_views_are_named():
    views = _views()
    with pytest.raises(TypeError, match="view 1 is in memory"):
        _model().fit([_parts(views)[0], views[1]])
    with pytest.raises(ValueError, match=r"numbers of samples: \[600, 599\]"):
        _model().fit([_parts(views)[0], _parts(views)[1][:599]])
    with pytest.raises(ValueError, match="already; give views=None"):
        _model(views=[[0]]).fit(_parts(views))
    missing = [view.copy() for view in views]
    missing[1][200] = np.nan
    with pytest.raises(ValueError, match="partition 1, row 30 of it, column 0 of view 1"):
        _model().fit(_parts(missing))
    model = _model().fit(_parts(views))
    with pytest.raises(ValueError, match="sample 200 is missing from view 1"):
        model.predict(missing)
    with pytest.raises(ValueError, match="missing from view 1"):
        model.predict(_parts(missing)).compute()
    with pytest.raises(ValueError, match="observed: not supported yet"):
        model.predict(_parts(views), observed=np.ones((600, 3), bool))
    with pytest.raises(ValueError, match=r"views of \[2, 3\] features"):
        model.predict(_parts(views[:2]))
