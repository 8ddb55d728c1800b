"""Memory is an assertion: no second kernel matrix, none at all in low rank, blocks in predict, one warning."""

import gc
import tracemalloc
import warnings

import numpy as np
import pytest
from flat_parameters import build
from parts import kernels
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from kernelclust import CLUHSIC, KernelKMeans, StructuredClustering
from kernelclust.kernels import DenseKernel, Kernel, LowRankKernel, Nystroem, leading_spectrum

pytestmark = pytest.mark.usefixtures("few_starts")

m = 3000
MATRIX = 8 * m * m  # 72 MB
rng = np.random.default_rng(0)
X = rng.standard_normal((m, 10))
MIB = 2**20


@pytest.fixture(autouse=True, scope="module")
def compiled_once():
    """Compiled loops are made or loaded before anything is measured; one thread, so that blocks are few."""
    with threadpool_limits(limits=1):
        for dtype in (np.float64, np.float32):
            small = X[:60].astype(dtype)
            for approximation in (None, "nystroem"):
                model = StructuredClustering(
                    3, kernel="rbf", structure="ring", approximation=approximation, random_state=0
                )
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(small).predict(small)
        yield


def peak(function):
    """Most bytes held at once by what a call allocates."""
    gc.collect()
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


quick = {"n_init": 2, "random_state": 0}
quiet = pytest.mark.filterwarnings("ignore:the order of these clusters:UserWarning")


@quiet
@pytest.mark.parametrize(("kernel", "structure"), [("rbf", "flat"), ("rbf", "ring"), ("laplacian", "flat")])
def test_exact_fit_holds_one_kernel_matrix(kernel, structure):
    model = build(StructuredClustering, 6, structure=structure, kernel=kernel, approximation=None, **quick)
    used = peak(lambda: model.fit(X))
    assert used < 1.4 * MATRIX, f"{used / MATRIX:.2f} kernel matrices"


BLOCKS = 110e6  # temporary blocks of 2^22 entries, a few at a time, whatever the size of the matrix


def test_single_precision_halves_it():
    Z = rng.standard_normal((5000, 5)).astype(np.float32)
    used = peak(lambda: KernelKMeans(6, approximation=None, init="spectral").fit(Z))
    assert used < 4 * 5000**2 + BLOCKS, f"{used / 5000**2:.1f} bytes an entry"


def test_precomputed_kernels_are_not_copied():
    K = rbf_kernel(rng.standard_normal((5000, 5)))  # 200 MB
    for weight in (None, np.linspace(0.5, 2, 5000)):
        model = KernelKMeans(6, kernel="precomputed", init="spectral")
        used = peak(lambda model=model, weight=weight: model.fit(K, sample_weight=weight))
        assert used < BLOCKS, f"{used / K.nbytes:.2f} kernel matrices beside the one given"


def test_centring_never_makes_a_second_matrix():
    """Products, diagonal, norm, sums and spectrum of a centred kernel: all on the way."""
    K = rbf_kernel(X)
    weight = np.linspace(0.5, 2, m)
    labels = np.arange(m) % 6

    def everything():
        kernel = DenseKernel(K, weight)
        _ = kernel @ np.ones((m, 6))
        kernel.diagonal()
        kernel.squared_norm()
        kernel.cluster_sums(labels, 6)
        leading_spectrum(kernel, 12, 5, np.random.RandomState(0))

    used = peak(everything)
    assert used < 0.6 * MATRIX, f"{used / MATRIX:.2f} kernel matrices beside the one given"


def test_the_fitted_model_holds_no_matrix():
    gc.collect()
    tracemalloc.start()
    models = [KernelKMeans(6, kernel=kernel, init="spectral").fit(X[:1500]) for kernel in ("rbf", "laplacian", "graph")]
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(models) == 3
    assert held < 0.2 * 8 * 1500**2, f"{held / 1e6:.1f} MB are kept"


# -- low rank ---------------------------------------------------------------------------------------------------------

LARGE = rng.standard_normal((20_000, 3))  # its kernel matrix would take 3.2 GB


@quiet
@pytest.mark.parametrize("approximation", ["nystroem", "cholesky", "random_features"])
def test_low_rank_never_holds_the_matrix(approximation):
    model = build(
        StructuredClustering,
        5,
        kernel="rbf",
        structure="ring",
        approximation=approximation,
        n_components=50,
        init="spectral",
        random_state=0,
    )
    used = peak(lambda: model.fit(LARGE))
    factor = 8 * 50 * len(LARGE)
    assert used < 8 * factor + 64 * MIB, f"{used / 1e6:.0f} MB, the factor takes {factor / 1e6:.0f}"


def test_linear_kernels_of_few_columns_need_no_matrix():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kernel in ("linear", "cosine"):
            model = KernelKMeans(5, kernel=kernel, n_init=1, max_iter=300, random_state=0)
            used = peak(lambda model=model: model.fit(LARGE))
            assert used < 60 * LARGE.nbytes, f"{used / 1e6:.0f} MB"


def test_low_rank_kernels_overwrite_only_what_is_theirs():
    B = rng.standard_normal((5000, 40))
    before = B.copy()
    used = peak(lambda: LowRankKernel(B))
    np.testing.assert_array_equal(B, before)
    assert used < 2.2 * B.nbytes
    used = peak(lambda: LowRankKernel(B, overwrite=True))
    assert used < 0.3 * B.nbytes


# -- predict ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
def test_predict_works_in_blocks(kernel):
    """40 000 new samples against 1000 fitted ones would take 320 MB at once."""
    model = KernelKMeans(5, kernel=kernel, init="spectral").fit(X[:1000])
    many = rng.standard_normal((40_000, 10))
    for method in (model.predict, model.score):
        used = peak(lambda method=method: method(many))
        assert used < 150 * MIB, f"{used / MIB:.0f} MiB"


def test_predict_works_in_blocks_in_low_rank():
    model = KernelKMeans(5, approximation=Nystroem(300), init="spectral", random_state=0).fit(X)
    many = rng.standard_normal((100_000, 10))  # its features would take 240 MB
    used = peak(lambda: model.predict(many))
    assert used < 180 * MIB, f"{used / MIB:.0f} MiB"


def test_sparse_samples_stay_sparse():
    """Dense, these would take 240 MB."""
    wide = sparse.random(600, 50_000, density=1e-3, format="csr", random_state=0)
    for kernel in ("cosine", "linear", "rbf"):
        model = KernelKMeans(4, kernel=kernel, init="spectral")
        used = peak(lambda model=model: model.fit(wide).predict(wide))
        assert used < 100 * MIB, f"{kernel}: {used / MIB:.0f} MiB"


# -- the budget -------------------------------------------------------------------------------------------------------


def caught_warnings(model, X, budget):
    with config_context(working_memory=budget), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    return [warning for warning in caught if "order of these clusters" not in str(warning.message)]


@pytest.fixture
def few_are_many(monkeypatch):
    """As if 300 samples were the most that "auto" takes exactly."""
    monkeypatch.setattr(Kernel, "dense_limit", 300)


@pytest.mark.parametrize("kernel", [*kernels(is_function=True, has_features=False), rbf_kernel])
def test_beyond_the_size_there_is_one_warning_with_a_way_out(kernel, few_are_many):
    (warning,) = caught_warnings(build(KernelKMeans, 4, kernel=kernel, **quick), X[:400], budget=1024)
    message = str(warning.message)
    assert issubclass(warning.category, UserWarning)
    for telling in ("400 samples", "Nystrom", "300 components", "approximation=None", "approximation='nystroem'"):
        assert telling in message
    assert warning.filename == __file__, "the warning points at the line that called fit"


@pytest.mark.parametrize("method", ["fit", "fit_predict"])
@pytest.mark.parametrize("Estimator", [StructuredClustering, KernelKMeans, CLUHSIC])
def test_warnings_point_at_the_users_line(Estimator, method, few_are_many):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(build(Estimator, 3, **quick), method)(X[:400])
    assert len(caught) >= 1
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("kernel", kernels(is_function=True, has_features=False))
@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2, 700)], ids=["even", "weighted"])
def test_beyond_the_budget_the_kernel_is_exact_and_not_stored(kernel, weight):
    """700 x 700 doubles are 3.7 MiB; the same labels, F and predictions without them, and no warning."""
    model = StructuredClustering(structure="ring:5", kernel=kernel, random_state=0)
    stored = clone(model).fit(X[:700], sample_weight=weight)
    with config_context(working_memory=1), warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", message="the order of these clusters")
        tiled = clone(model).fit(X[:700], sample_weight=weight)
    np.testing.assert_allclose(tiled.objective_, stored.objective_, rtol=0.05)  # noise: many optima, other starts
    start = clone(model).set_params(solver__init=stored.labels_)
    again = clone(start).fit(X[:700], sample_weight=weight)
    with config_context(working_memory=1):
        tiled = clone(start).fit(X[:700], sample_weight=weight)
    np.testing.assert_array_equal(tiled.labels_, again.labels_)
    np.testing.assert_allclose(tiled.objective_, again.objective_, rtol=1e-9)
    np.testing.assert_array_equal(tiled.predict(X), again.predict(X))
    assert tiled.upper_bound_ >= tiled.objective_


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"approximation": None},
        {"approximation": "nystroem"},
        {"approximation": "cholesky"},
        {"approximation": "random_features"},
        {"kernel": "linear"},
        {"kernel": "cosine"},
        {"kernel": "precomputed"},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_warning_up_to_the_size_or_by_choice(options, dtype):
    Z = X[:400].astype(dtype)
    if options.get("kernel") == "precomputed":
        Z = rbf_kernel(Z)
    assert caught_warnings(build(KernelKMeans, 4, **quick, **options), Z, budget=1) == []


def test_auto_beyond_the_size_is_nystroem(few_are_many):
    with pytest.warns(UserWarning, match="Nystrom"):
        auto = KernelKMeans(4, random_state=0).fit(X[:400])
    chosen = KernelKMeans(4, approximation=Nystroem(300), random_state=0).fit(X[:400])
    np.testing.assert_array_equal(auto.labels_, chosen.labels_)
    assert auto.objective_ == chosen.objective_


@quiet
def test_tiled_fits_hold_no_matrix():
    """6000 x 6000 floats would take 144 MB."""
    Z = rng.standard_normal((6000, 5))
    with config_context(working_memory=16):
        model = StructuredClustering(kernel="rbf", structure="ring:6", approximation=None, random_state=0)
        used = peak(lambda: model.fit(Z).predict(Z))
    assert used < 100e6, f"{used / 1e6:.0f} MB"


def test_auto_within_the_budget_is_exact():
    auto = KernelKMeans(4, random_state=0).fit(X[:400])
    exact = KernelKMeans(4, approximation=None, random_state=0).fit(X[:400])
    np.testing.assert_array_equal(auto.labels_, exact.labels_)
    assert auto.objective_ == exact.objective_


def test_weightless_samples_do_not_count_towards_the_size(few_are_many):
    weight = np.r_[np.ones(300), np.zeros(100)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(KernelKMeans, 4, **quick).fit(X[:400], sample_weight=weight)
