"""Dask frames as they come: names of columns, partitions without rows, columns of several types."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from kernelclust import KernelKMeans, MaxMarginClustering, MultiKernelClustering, StructuredClustering
from kernelclust._arrays import knows_numpy
from kernelclust.solvers import Greedy

pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def _frame(n=120):
    rng = np.random.default_rng(0)
    k = np.arange(n) % 3
    return pd.DataFrame(
        {"a": 5.0 * k + rng.normal(size=n), "b": rng.normal(size=n), "c": -4.0 * k + rng.normal(size=n)}
    )


MODELS = {
    "features": StructuredClustering(structure="chain:3", kernel="rbf", approximation="nystroem", random_state=0),
    "exact": StructuredClustering(structure="chain:3", kernel="rbf", approximation=None, random_state=0),
    "learned": StructuredClustering(structure="chain:3", random_state=0),
    "margin": MaxMarginClustering(2, random_state=0),
    "views": MultiKernelClustering(3, kernel="linear", method="average", views=[["a", "b"], ["c"]], random_state=0),
}


exact = pytest.mark.skipif(not knows_numpy(), reason="exact kernels in partitions need NumPy 2 and scikit-learn 1.7")
NAMES = [pytest.param(name, marks=exact) if name == "exact" else name for name in MODELS]


@pytest.mark.parametrize("fitted_on", ["host", "partitions"])
@pytest.mark.parametrize("name", NAMES)
def test_columns_are_checked_by_name(name, fitted_on):
    D = _frame()
    model = MODELS[name].fit(D if fitted_on == "host" else dd.from_pandas(D, npartitions=3))
    methods = [name for name in ("predict", "transform", "membership", "position", "score") if hasattr(model, name)]
    if name == "views":
        methods.remove("position")
    for bad in (D[["c", "b", "a"]], D.set_axis(["a", "b", "other"], axis=1)):
        for method in methods:
            with pytest.raises(ValueError, match="feature names should match"):
                getattr(model, method)(dd.from_pandas(bad, npartitions=2))
    np.testing.assert_array_equal(model.predict(dd.from_pandas(D, npartitions=2)).compute(), model.predict(D))


@pytest.mark.parametrize("fitted_on", ["host", "partitions"])
def test_columns_of_views_in_a_list_are_checked_by_name(fitted_on):
    views = [_frame()[["a", "b"]], _frame()[["c"]]]
    parts = [dd.from_pandas(view, npartitions=2) for view in views]
    model = MultiKernelClustering(3, kernel="linear", method="average", random_state=0)
    model.fit(views if fitted_on == "host" else parts)
    np.testing.assert_array_equal(model.predict(parts).compute(), model.predict(views))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict([parts[0][["b", "a"]], parts[1]])


@pytest.mark.parametrize("name", NAMES)
def test_partitions_without_rows(name):
    D = _frame()
    frame = dd.from_pandas(D.assign(row=np.arange(120)), npartitions=4)
    frame = frame[(frame.row < 30) | (frame.row >= 60)][["a", "b", "c"]]
    D = D[(np.arange(120) < 30) | (np.arange(120) >= 60)]
    model = MODELS[name].fit(frame)
    assert model.labels_.chunks == model.predict(frame).chunks == ((30, 0, 30, 30),)
    whole = MODELS[name].fit(dd.from_pandas(D, npartitions=1)).labels_.compute()
    assert np.mean(model.labels_.compute() == whole) > 0.9
    np.testing.assert_array_equal(model.predict(frame).compute(), model.predict(D))
    if name != "margin":
        assert model.transform(frame).compute().shape == (90, 3)
        np.testing.assert_allclose(model.score(frame), model.score(D))


def test_an_error_counts_partitions_without_rows():
    X = np.arange(40.0).reshape(20, 2)
    X[15, 1] = np.nan
    with pytest.raises(ValueError, match="partition 3, row 5 of it"):
        KernelKMeans(2).fit(da.from_array(X, chunks=((0, 10, 0, 10), 2)))


def test_columns_of_several_types():
    D = _frame().assign(b=lambda D: D.b > 0, d=np.arange(120) % 4)
    plain = KernelKMeans(3, random_state=0).fit(dd.from_pandas(D.astype(float), npartitions=3)).labels_.compute()
    for frame in (D, D.convert_dtypes(), D.astype({"a": "float32"})):
        model = KernelKMeans(3, random_state=0).fit(dd.from_pandas(frame, npartitions=3))
        np.testing.assert_array_equal(model.labels_.compute(), plain)
    missing = D.convert_dtypes()
    missing.loc[50, "d"] = pd.NA
    with pytest.raises(ValueError, match="partition 1, row 10"):
        KernelKMeans(3).fit(dd.from_pandas(missing, npartitions=3))
    with pytest.raises(TypeError, match="not numeric: 'words'"):
        KernelKMeans(3).fit(dd.from_pandas(D.assign(words="x"), npartitions=3))


def test_sparse_blocks_are_refused():
    from scipy import sparse

    X = da.from_array(_frame().to_numpy(), chunks=(60, 3)).map_blocks(sparse.csr_matrix)
    with pytest.raises(TypeError, match="sparse blocks"):
        KernelKMeans(3).fit(X)


def test_frames_of_delayed_parts():
    from dask import delayed

    parts = [_frame()[start : start + 40] for start in (0, 40, 80)]
    model = MODELS["features"].fit(dd.from_delayed([delayed(part) for part in parts]))
    again = MODELS["features"].fit(dd.from_map(lambda number: parts[number], range(3)))
    np.testing.assert_array_equal(model.labels_.compute(), again.labels_.compute())


def _two_kinds_of_rows():
    return da.from_array(np.repeat(np.eye(2), 60, axis=0), chunks=(30, 2))


def test_clusters_that_no_rule_reaches_are_warned_of():
    model = StructuredClustering(structure="chain:4", kernel="linear", compute_confidence=False, random_state=0)
    with pytest.warns(UserWarning, match="^2 of 4 clusters are empty: samples in partitions"):
        model.fit(_two_kinds_of_rows())
    assert len(np.unique(model.labels_.compute())) == 2
    with pytest.warns(UserWarning, match="^X has 2 different rows, fewer than 4 clusters"):
        model.fit(np.asarray(_two_kinds_of_rows()))
    assert len(np.unique(model.labels_)) == 2


def test_clusters_that_may_be_empty_are_not_warned_of():
    model = StructuredClustering(structure="flat:4", kernel="linear", solver=Greedy(allow_empty=True), random_state=0)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert len(np.unique(model.fit(_two_kinds_of_rows()).labels_.compute())) == 2
        MODELS["features"].fit(dd.from_pandas(_frame(), npartitions=3))
    assert not [one for one in heard if "clusters are empty" in str(one.message)]


@exact
def test_columns_on_different_scales_are_warned_of():
    wide = dd.from_pandas(_frame().assign(b=lambda D: 1e4 * D.b), npartitions=3)
    with pytest.warns(UserWarning, match=r"^The variance of 'b' is .* times that of 'c'"):
        MODELS["exact"].fit(wide)


@pytest.mark.parametrize("size", [1e-200, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("approximation", ["nystroem", pytest.param(None, marks=exact)])
def test_squares_that_leave_floating_point_are_refused(size, approximation):
    frame = dd.from_pandas(size * _frame(), npartitions=3)
    model = StructuredClustering(structure="chain:3", kernel="rbf", approximation=approximation, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(ValueError, match="whose squares overflow or underflow; rescale"):
            model.fit(frame)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "bool", "longdouble", ">f8"])
@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_every_type_are_those_in_double_precision(name, dtype):
    X = np.rint(4 * (_frame() - _frame().min())).to_numpy()
    X = (X > X.mean(axis=0)) if dtype == "bool" else X.clip(0, 120)
    given = X.astype(dtype)
    if name == "views":
        X, given = ([part[:, :2], part[:, 2:]] for part in (X, given))
        lazy = [da.from_array(part, chunks=(40, -1)) for part in given]
        model = MODELS[name].set_params(views=None)
    else:
        lazy, model = da.from_array(given, chunks=(40, 3)), MODELS[name]
    labels = np.asarray(model.fit(lazy).labels_)
    np.testing.assert_array_equal(np.asarray(model.predict(lazy)), labels)
    double = [da.from_array(1.0 * part, chunks=(40, -1)) for part in X] if name == "views" else da.from_array(1.0 * X)
    np.testing.assert_array_equal(np.asarray(model.predict(double)), labels)
    if name != "views":
        assert np.asarray(model.fit(dd.from_pandas(pd.DataFrame(given), npartitions=3)).labels_).shape == (120,)
    MODELS["views"].set_params(views=[["a", "b"], ["c"]])


@pytest.mark.parametrize("offset", [1.7e9, -1e12])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "auto"])
def test_samples_far_from_the_origin(kernel, offset):
    """Products of seconds since 1970 have no digits left for their differences."""
    X = np.round(1024 * _frame(300).to_numpy()) / 1024  # which stay as they are
    model = StructuredClustering(structure="chain:3", kernel=kernel, compute_confidence=False, random_state=0)
    near = np.asarray(model.fit(da.from_array(X, chunks=(100, 3))).labels_)
    value = model.objective_
    far = np.asarray(model.fit(da.from_array(X + offset, chunks=(100, 3))).labels_)
    assert adjusted_rand_score(near, far) > 0.98
    np.testing.assert_allclose(model.objective_, value, rtol=1e-3)
    np.testing.assert_array_equal(np.asarray(model.predict(X + offset)), far)


def test_what_holds_no_real_numbers_is_refused():
    X = da.from_array(_frame().to_numpy(), chunks=(60, 3))
    with pytest.raises(TypeError, match=r"not numeric: 'd' .complex128"):
        KernelKMeans(3).fit(dd.from_pandas(_frame().assign(d=1j), npartitions=2))
    with pytest.raises(TypeError, match="masked blocks"):
        KernelKMeans(3).fit(da.ma.masked_greater(X, 9))
    with pytest.raises(ValueError, match="two dimensions"):
        KernelKMeans(3).fit(dd.from_pandas(_frame()["a"], npartitions=2))
    with pytest.raises(ValueError, match="invalid labels in partition 0"):
        KernelKMeans(3).fit(X, np.arange(120) == 1)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "margin"])
def test_weights_are_checked_as_on_the_host(name):
    frame = dd.from_pandas(_frame(), npartitions=3)
    model = MODELS[name].fit(frame)
    unknown = da.ones(120, chunks=40)[
        da.from_array(_frame().to_numpy(), chunks=(40, 3))[:, 0] > -1e9
    ]  # of no known length
    np.testing.assert_allclose(model.score(frame, sample_weight=unknown), model.score(frame))
    for wrong in (-1.0, np.nan, np.inf):
        weight = np.r_[wrong, np.ones(119)]
        for method in (model.fit, model.score):
            with pytest.raises(ValueError, match="negative or not finite"):
                method(frame, sample_weight=weight)
    with pytest.raises(ValueError, match="nothing to score"):
        model.score(frame, sample_weight=np.zeros(120))
    for few in (0, 2):
        with pytest.raises(ValueError, match=f"n_samples={few} should be >= n_clusters=3"):
            model.fit(frame, sample_weight=np.arange(120) < few)
