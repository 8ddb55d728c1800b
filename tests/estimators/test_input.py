"""Input as it comes: what is a table of numbers is clustered, what is none is named, with the way out."""

import datetime
import re
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from kernelclust import (
    CLUHSIC,
    CLUHSICAL,
    Diffrac,
    DisKMeans,
    KernelKMeans,
    MaxMarginClustering,
    MultiKernelClustering,
    StructuredClustering,
    select_n_clusters,
)
from kernelclust._scale_warning import scale_warning
from kernelclust.constraints import different_rows
from kernelclust.kernels import kernel_names
from kernelclust.multikernel import MKKM
from kernelclust.solvers import Greedy

pytestmark = pytest.mark.usefixtures("few_starts")

MODELS = [
    StructuredClustering(structure="chain:3", random_state=0),
    KernelKMeans(3, random_state=0),
    CLUHSIC(structure="chain:3", random_state=0),
    CLUHSICAL(structure="chain:3", random_state=0),
    Diffrac(3, random_state=0),
    DisKMeans(3, random_state=0),
    MultiKernelClustering(3, random_state=0),
    MaxMarginClustering(3, random_state=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
X = np.random.default_rng(0).standard_normal((24, 4)) + 6 * np.repeat(np.eye(3, 4), 8, axis=0)
FRAME = pd.DataFrame(X, columns=["age", "height", "dose", "rate"])


def refused(model, X, *says, error=ValueError):
    with pytest.raises(error) as caught:
        model.fit(X)
    for text in says:
        assert text in str(caught.value), str(caught.value)
    return str(caught.value)


# -- sparse -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [kernel for kernel in kernel_names() if not kernel.startswith("precomputed")])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_sparse_numbers_of_every_kind_are_those_of_the_array(kernel, dtype):
    rows = np.random.default_rng(1).integers(1, 9, (30, 6)) * (np.random.default_rng(2).random((30, 6)) < 0.7)
    dense = (rows + 20 * np.repeat(np.eye(3, 6, dtype=int), 10, axis=0)).astype(dtype)
    expected = KernelKMeans(3, kernel=kernel, random_state=0).fit_predict(dense)
    for make in (sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array, sparse.coo_array):
        model = KernelKMeans(3, kernel=kernel, random_state=0).fit(make(dense))
        assert_array_equal(model.labels_, expected)
        assert_array_equal(model.predict(make(dense)), expected)


def test_single_precision_counts_as_single_cells_come():
    counts = sparse.random(200, 50, 0.1, "csr", "f4", random_state=0)
    for model in (KernelKMeans(4, random_state=0), MaxMarginClustering(2, kernel="rbf", random_state=0)):
        single, double = (model.fit(Z).diagnostics_.gamma for Z in (counts, counts.astype(float)))
        assert single == pytest.approx(double, rel=1e-6)


# -- other libraries' arrays and tables -------------------------------------------------------------------------------


class Annotated:
    """As scanpy has it: a table with notes on its rows and columns."""

    def __init__(self, X):
        self.X, self.obs, self.var = X, pd.DataFrame(index=range(len(X))), pd.DataFrame(index=range(X.shape[1]))
        self.shape = X.shape

    def __len__(self):
        return len(self.X)

    def __getitem__(self, index):
        raise AssertionError("searched row by row")


class Tensor:
    """As torch has it: an array by `__array__`, if it lies where numpy can see it."""

    def __init__(self, X, error=None):
        self.X, self.error, self.shape, self.ndim = X, error, X.shape, X.ndim

    def __array__(self, dtype=None, copy=None):
        if self.error:
            raise self.error
        return np.asarray(self.X, dtype)


@every_model
def test_an_annotated_table_is_refused_at_once(model):
    refused(model, Annotated(X), "fit(adata.X)", "obsm['X_pca']", "precomputed_graph", error=TypeError)


def test_a_frame_with_such_columns_is_a_frame():
    KernelKMeans(2, random_state=0).fit(FRAME.set_axis(["X", "obs", "var", "rate"], axis=1))


@every_model
def test_tensors(model):
    expected = model.fit(X).labels_
    assert_array_equal(model.fit(Tensor(X)).labels_, expected)
    elsewhere = Tensor(X, RuntimeError("Can't call numpy() on Tensor that requires grad."))
    refused(model, elsewhere, "requires grad", "t.detach().cpu().double().numpy()", error=TypeError)


def test_real_tensors():
    torch = pytest.importorskip("torch")
    for tensor in (torch.tensor(X), torch.tensor(X).float(), torch.tensor(X.T.copy()).T):
        for model in (KernelKMeans(3, random_state=0), MaxMarginClustering(3, random_state=0)):
            assert_array_equal(model.fit(tensor).predict(tensor), model.fit(X).labels_)
        views = MultiKernelClustering(3, random_state=0)
        assert_array_equal(views.fit([tensor[:, :2], tensor[:, 2:]]).labels_, views.fit([X[:, :2], X[:, 2:]]).labels_)
    for tensor in (torch.tensor(X, requires_grad=True), torch.tensor(X).bfloat16()):
        refused(KernelKMeans(3), tensor, "t.detach().cpu().double().numpy()", error=TypeError)
        KernelKMeans(3, random_state=0).fit(tensor.detach().cpu().double().numpy())


@every_model
def test_masks(model):
    whole = np.ma.masked_array(X, mask=np.zeros(X.shape, dtype=bool))
    assert_array_equal(model.fit(whole).labels_, model.fit(X).labels_)
    whole[5, 2] = np.ma.masked
    said = refused(model, whole)
    assert re.search(r"masked|NaN", said) and re.search(r"X\[5, 2\]|X\[:, 2\] \(row 5\)", said)


def test_masked_rows_are_missing_from_a_view():
    one, other = np.ma.masked_array(X[:, :2]), X[:, 2:]
    one[3] = np.ma.masked
    blank = np.array(X[:, :2])
    blank[3] = np.nan
    masked, nan = (MultiKernelClustering(3, random_state=0).fit([view, other]) for view in (one, blank))
    assert_array_equal(masked.labels_, nan.labels_)
    assert_array_equal(masked.weights_, nan.weights_)
    whole = MultiKernelClustering(3, random_state=0).fit([one.data, other])
    assert not np.array_equal(whole.weights_, nan.weights_)


@every_model
@pytest.mark.parametrize("shape", [(24, 4, 5, 3), (24, 4, 5)])
def test_images_are_refused_with_the_way_to_reshape(model, shape):
    images = np.random.default_rng(0).random(shape)
    says = [str(shape), "X.reshape(len(X), -1)", f"(24, {np.prod(shape[1:])})", f"dim {len(shape)}"]
    refused(model, images, *says)
    if not isinstance(model, MultiKernelClustering):  # a list of tables are its views
        refused(model, list(images), *says)


def test_a_stack_of_tables_has_to_say_what_it_is():
    refused(MultiKernelClustering(2), np.stack([X, X]), "for 2 views of 24 samples give list(X)", "kernel='precomp")


def test_arrow_columns():
    pytest.importorskip("pyarrow")
    assert_array_equal(
        KernelKMeans(3, random_state=0).fit_predict(FRAME.astype("double[pyarrow]")),
        KernelKMeans(3, random_state=0).fit_predict(X),
    )


class ArrowTable:
    """As pyarrow has it: an array without names, and a way to a frame."""

    def __init__(self, frame):
        self.frame, self.column_names, self.shape = frame, list(frame), frame.shape

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.frame, dtype)

    def to_pandas(self):
        return self.frame


def arrow_tables(frame):
    yield ArrowTable(frame)
    if find_spec("pyarrow"):
        import pyarrow as pa

        yield pa.Table.from_pandas(frame)
        yield pa.RecordBatch.from_pandas(frame)


def test_arrow_tables_keep_the_names_of_their_columns():
    labels = KernelKMeans(3, random_state=0).fit(X).labels_
    views = MultiKernelClustering(3, random_state=0)
    for table in arrow_tables(FRAME):
        model = KernelKMeans(3, random_state=0).fit(table)
        assert_array_equal(model.predict(table), labels)
        assert list(model.feature_names_in_) == list(FRAME)
        named = views.set_params(views=[["age", "height"], ["dose", "rate"]]).fit(table).labels_
        assert_array_equal(named, views.set_params(views=None).fit([X[:, :2], X[:, 2:]]).labels_)
    for table in arrow_tables(FRAME.assign(dose=[None, *X[1:, 2]])):
        refused(KernelKMeans(3), table, "'dose' (row 0)")
    for table in arrow_tables(FRAME.assign(dose="much")):
        refused(KernelKMeans(3), table, "'dose' (text, such as 'much')")


def test_a_lazy_frame_is_refused():
    refused(KernelKMeans(3), pl.DataFrame(X).lazy(), "X has a lazy LazyFrame", "collect()", error=TypeError)
    refused(MultiKernelClustering(3), [X, pl.DataFrame(X).lazy()], "lazy LazyFrame", "collect()", error=TypeError)


# -- columns ----------------------------------------------------------------------------------------------------------

DAY = datetime.date(2020, 1, 31)
NOT_NUMBERS = {"name": ["Ann"] * 24, "day": [DAY] * 24, "group": ["u", "v"] * 12}
MIXED = [
    FRAME.assign(**NOT_NUMBERS).astype({"group": "category"}),
    FRAME.assign(**NOT_NUMBERS).astype({"group": "category", "day": "datetime64[ns]", "name": object}),
    pl.DataFrame({**FRAME.to_dict("list"), **NOT_NUMBERS}, schema_overrides={"group": pl.Categorical}),
]


@every_model
@pytest.mark.parametrize("frame", MIXED, ids=["pandas", "pandas-dates", "polars"])
def test_all_columns_that_are_no_numbers_are_named_at_once(model, frame):
    said = refused(model, frame, "3 columns", "'name' (text, such as 'Ann')", "'group' (categories, such as 'u')")
    assert re.search(r"'day' \(dates, such as 2020-01-31", said)
    assert "age" not in said and "X has" in said
    for advice in ("to_numeric", "total_seconds", "get_dummies"):
        assert advice in said


def test_the_example_is_what_spoils_the_column():
    texts = FRAME.assign(rate=["1.5"] * 10 + ["NA"] + ["2"] * 13)
    refused(KernelKMeans(2), texts, "1 column that is not numeric: 'rate' (text, such as 'NA')")
    refused(KernelKMeans(2), FRAME.assign(rate=["x" * 10_000] * 24), f"such as '{'x' * 30}...')")


def test_numbers_in_other_clothes_are_numbers():
    plain = KernelKMeans(3, random_state=0).fit_predict(X)
    for frame in (FRAME.astype("Float64"), FRAME.astype(object), FRAME.astype(str), pl.DataFrame(X)):
        assert_array_equal(KernelKMeans(3, random_state=0).fit_predict(frame), plain)
    KernelKMeans(2, random_state=0).fit(FRAME.assign(smokes=[True, False] * 12))


def test_arrays_are_told_by_column_too():
    mixed = np.array(FRAME.assign(name="Ann", day=DAY), dtype=object)
    refused(KernelKMeans(2), mixed, "X[:, 4] (text, such as 'Ann')", "X[:, 5] (dates, such as 2020-01-31)")
    refused(KernelKMeans(2), np.full((24, 1), np.datetime64("2020-01-31")), "X[:, 0] (dates, such as 2020-01-31)")


def test_columns_of_no_view_may_hold_anything():
    frame = FRAME.assign(name="Ann")
    MultiKernelClustering(3, views=[["age", "height"], ["dose"]], random_state=0).fit(frame)
    refused(MultiKernelClustering(3, views=[["age"], ["dose", "name"]]), frame, "view 1 has 1 column", "'name'")


@every_model
def test_missing_values_are_told_by_column_and_row(model):
    spoilt = FRAME.copy()
    spoilt.iloc[[3, 7], 1], spoilt.iloc[5, 2] = np.nan, np.inf
    said = refused(model, spoilt, "NaN and infinity", "'height' (2 rows, the first 3)", "'dose' (row 5)")
    assert "SimpleImputer" in said and "age" not in said
    refused(model, spoilt.to_numpy(), "X[:, 1] (2 rows, the first 3)", "X[:, 2] (row 5)")


def test_missing_values_of_sparse_tables_and_of_selections():
    spoilt = X.copy()
    spoilt[3, 1] = np.nan
    refused(KernelKMeans(2), sparse.csr_array(spoilt), "NaN in X[:, 1] (row 3)")
    frame = pd.DataFrame(spoilt, columns=FRAME.columns)
    with pytest.raises(ValueError, match=r"NaN in 'height' \(row 3\)"):
        select_n_clusters(frame, [2, 3], n_null=2, n_perturbations=1)


@pytest.mark.parametrize("n", [1500, 100_000])
def test_constant_columns_are_on_no_scale(n):
    """Rounding in a mean over many samples must not turn a constant into a tiny variance."""
    income = np.random.default_rng(0).normal(50_000, 10_000, n)
    for constant in (1.0, 0.1, 1e-5):
        assert scale_warning(np.column_stack([income, np.full(n, constant)])) == ""


def test_units_are_told_by_name():
    wide = FRAME * [1, 1, 1000, 1]
    with pytest.warns(UserWarning, match=r"variance of 'dose' is .* times that of '(age|height|rate)'.*StandardScaler"):
        KernelKMeans(3, random_state=0).fit(wide)
    with pytest.warns(UserWarning, match=r"variance of X\[:, 2\] is"):
        KernelKMeans(3, random_state=0).fit(wide.to_numpy())
    with pytest.warns(UserWarning, match="variance of 'dose' is"):
        select_n_clusters(wide, [2, 3], n_null=2, n_perturbations=1, random_state=0)


# -- nothing to cluster -----------------------------------------------------------------------------------------------

EQUAL = np.full((12, 4), 0.1)
MORE = [
    StructuredClustering(structure="ring:3", solver="polar", random_state=0),
    StructuredClustering(structure="chain:3", solver="low_rank_sdp", random_state=0),
    StructuredClustering(structure="chain:3", kernel="cosine", random_state=0),
    StructuredClustering(structure="chain:3", solver=Greedy(search="global", init="random"), random_state=0),
    KernelKMeans(3, kernel="polynomial", random_state=0),
    KernelKMeans(3, approximation="nystroem", random_state=0),
    MaxMarginClustering(3, kernel="rbf", random_state=0),
    MultiKernelClustering(3, method="average", random_state=0),
    MultiKernelClustering(3, method=MKKM(refine=False), random_state=0),
]


@pytest.mark.parametrize("model", MODELS + MORE, ids=repr)
def test_equal_samples_have_the_same_answer_everywhere(model):
    for same in (EQUAL, np.zeros((12, 4)), 1e200 * EQUAL, EQUAL.astype(np.float32)):
        if getattr(model, "kernel", "") in ("linear", "polynomial") and same.max() > 1:
            continue  # products leave floating point
        with pytest.warns(UserWarning, match="all 12 samples are equal: .* All are in one cluster"):
            labels = model.fit(same).labels_
        assert len(set(labels)) == 1
        if hasattr(model, "predict"):
            assert_array_equal(model.predict(same), labels)


def test_equal_similarities_and_sparse_rows_are_equal_samples():
    for model in (KernelKMeans(2, kernel="precomputed"), MaxMarginClustering(2, kernel="precomputed")):
        with pytest.warns(UserWarning, match="all 6 samples are equal"):
            assert_array_equal(model.fit(np.ones((6, 6))).labels_, np.zeros(6))
    with pytest.warns(UserWarning, match="all 12 samples are equal"):
        KernelKMeans(3).fit(sparse.csr_array(EQUAL))
    with pytest.warns(UserWarning, match="all 12 samples are equal"):
        MultiKernelClustering(3).fit([EQUAL, EQUAL[:, :2]])


def test_what_is_known_of_equal_samples_decides():
    y = np.r_[1, 1, 2, 0, np.full(8, -1)]
    with pytest.warns(UserWarning, match="equal: there is nothing to cluster.$"):
        model = KernelKMeans(3, min_cluster_size=4, random_state=0).fit(EQUAL, y)
    assert_array_equal(model.labels_[:4], y[:4])
    assert_array_equal(np.bincount(model.labels_), [4, 4, 4])
    weight = np.r_[np.ones(10), 0, 0]
    with pytest.warns(UserWarning, match="all 10 samples are equal"):
        model = KernelKMeans(3).fit(np.r_[EQUAL[:10], X[:2]], sample_weight=weight)
    assert_array_equal(model.labels_[:10], np.zeros(10))


THREE_ROWS = np.random.default_rng(0).standard_normal((3, 2))
COPIES = THREE_ROWS[np.arange(60) % 3]


@pytest.mark.parametrize("structure", ["flat:4", "chain:4", "ring:5", "grid:2x3", "tree:2x2"])
@pytest.mark.parametrize("kernel", ["auto", "rbf", "linear"])
@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_equal_rows_are_in_one_cluster_where_there_are_fewer_different_ones(structure, kernel, as_table):
    X = as_table(COPIES)
    model = StructuredClustering(structure=structure, kernel=kernel, random_state=0)
    with pytest.warns(UserWarning, match=r"^X has 3 different rows, fewer than \d clusters: equal rows are in one"):
        model.fit(X)
    assert len(set(model.labels_[:3])) == 3
    assert_array_equal(model.labels_, model.labels_[np.arange(60) % 3])
    assert_array_equal(model.predict(X), model.labels_)
    assert model.order_confidence_ is None


def test_equal_rows_of_every_view_are_in_one_cluster():
    views = [THREE_ROWS[[0, 0, 1, 1] * 5], THREE_ROWS[[0, 1, 1, 1] * 5]]
    with pytest.warns(UserWarning, match="^X has 3 different rows, fewer than 4 clusters"):
        labels = MultiKernelClustering(4, random_state=0).fit(views).labels_
    assert len(set(labels[:3])) == 3 and labels[2] == labels[3]
    assert_array_equal(labels, np.tile(labels[:4], 5))


def test_rows_that_differ_by_little_are_different():
    """Milliseconds since 1970."""
    X = 1.7e9 + 1e-3 * (np.arange(40)[:, None] % 5)
    assert different_rows([X], 5) is None
    assert_array_equal(different_rows([X], 6), np.arange(40) % 5)
    many = np.repeat(X, 100, axis=0)
    assert_array_equal(different_rows([many], 6), np.repeat(np.arange(40) % 5, 100))


def test_labels_of_equal_rows_decide():
    y = np.r_[2, 1, np.full(58, -1)]
    with pytest.warns(UserWarning, match="some equal rows are in different clusters"):
        labels = StructuredClustering(structure="chain:4", random_state=0).fit(COPIES, y).labels_
    assert_array_equal(labels[:2], [2, 1])


def test_one_cluster_of_equal_samples_is_no_surprise(recwarn):
    KernelKMeans(1).fit(EQUAL)
    KernelKMeans(2, random_state=0).fit(np.r_[EQUAL[1:], EQUAL[:1] + 1e-9])
    assert not [w for w in recwarn if "equal" in str(w.message)]


@pytest.mark.parametrize("kernel", ["rbf", "graph", "auto"])
def test_the_order_in_memory_does_not_matter(kernel):
    """Whole numbers leave many neighbours equally far: sums rounded in another order would choose others."""
    X = np.random.default_rng(0).integers(-9, 9, (36, 2)).astype(float)
    one, other = (KernelKMeans(3, kernel=kernel, random_state=0).fit(Z) for Z in (X, np.asfortranarray(X)))
    assert one.objective_ == other.objective_
    assert_array_equal(one.labels_, other.labels_)
