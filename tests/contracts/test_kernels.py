"""What every kernel promises, run over every file in the folder: the same however it is held."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.metrics.pairwise import rbf_kernel

from kernelclust import KernelKMeans, StructuredClustering
from kernelclust._names import keywords
from kernelclust.kernels import _fit, fit_kernel, is_pairwise, kernel_names, kernel_part, one_hot

pytestmark = pytest.mark.usefixtures("few_starts")

NAMES = kernel_names()
FUNCTIONS = [name for name in NAMES if hasattr(kernel_part(name), "block")]
every_kernel = pytest.mark.parametrize("name", NAMES)
every_function = pytest.mark.parametrize("name", FUNCTIONS)

GENERATOR = np.random.default_rng(0)
CENTRES = 5 * np.array([[1, 0, 0, 1], [0, 1, 1, 0], [-1, 0, 1, 1]])
truth = np.repeat(np.arange(3), [25, 20, 15])
blobs = CENTRES[truth] + 0.5 * GENERATOR.standard_normal((60, 4))
WEIGHT = GENERATOR.integers(1, 4, 60).astype(float)


def given(name, X):
    """X as the kernel takes it: samples, or similarities between them."""
    if not is_pairwise(name):
        return X
    if name == "precomputed_graph":
        return sparse.csr_array(rbf_kernel(X, gamma=0.1))
    return rbf_kernel(X, gamma=0.1)


def fitted(name, X, weight=None, **options):
    part, X = kernel_part(name), given(name, X)
    X = part.check(X) if hasattr(part, "check") else X
    weight = np.ones(X.shape[0]) if weight is None else weight
    settings = {"n_clusters": 3, "approximation": None, "rng": np.random.RandomState(0)} | options
    return fit_kernel(X, weight, kernel=name, **settings)


def matrix_of(operator):
    return operator.rows(np.arange(operator.n_samples))


def test_the_folder_is_found():
    wanted = {"rbf", "laplacian", "linear", "polynomial", "cosine", "graph", "diffusion", "auto", "precomputed"}
    assert wanted | {"precomputed_graph"} <= set(NAMES)


@every_kernel
def test_it_is_symmetric_centred_and_positive(name):
    for weight in (np.ones(60), WEIGHT):
        K = matrix_of(fitted(name, blobs, weight).operator)
        assert_allclose(K, K.T, atol=1e-9 * np.abs(K).max())
        assert_allclose(weight @ K, 0, atol=1e-7 * np.abs(K).max() * 60)
        assert np.linalg.eigvalsh(K)[0] >= -1e-8 * np.linalg.eigvalsh(K)[-1]


@every_kernel
def test_sample_order_does_not_matter(name):
    order = GENERATOR.permutation(60)
    one, other = (matrix_of(fitted(name, X).operator) for X in (blobs, blobs[order]))
    assert_allclose(one[np.ix_(order, order)], other, atol=1e-6 * np.abs(one).max())


@every_kernel
def test_clear_clusters_are_found_and_fitted_samples_keep_their_labels(name):
    X = given(name, blobs)
    model = KernelKMeans(3, kernel=name, random_state=0).fit(X)
    assert len(set(zip(truth.tolist(), model.labels_.tolist(), strict=True))) == 3
    assert_array_equal(model.predict(X), model.labels_)
    assert 0.1 < model.score(X) <= 1
    assert model.upper_bound_ >= model.objective_ > 0


@every_kernel
def test_parameters_are_those_of_its_signature(name):
    part = kernel_part(name)
    taken = keywords(part.fit if hasattr(part, "fit") else part.block)
    allowed = [one for one in taken if one not in _fit.FITTED_KEYWORDS]
    assert _fit.kernel_parameters(name) == allowed
    with pytest.raises(ValueError, match="kernel_params has 'nonsense', which kernel"):
        StructuredClustering(3, kernel=name, kernel_params={"nonsense": 1}).fit(given(name, blobs))


def test_a_new_kernel_with_a_parameter_of_its_own_is_one_file(monkeypatch):
    """A file with `block` is all that a kernel needs, whatever its parameters are called."""
    import sys
    import types

    part = types.ModuleType("kernelclust.kernels.cauchy")
    code = "import numpy as np\ndef block(X, Y, *, width=2.0):\n    D = ((X[:, None] - Y) ** 2).sum(axis=2)\n"
    exec(code + "    return 1 / (1 + D / width**2)\n", part.__dict__)
    monkeypatch.setitem(sys.modules, part.__name__, part)
    monkeypatch.setattr(_fit, "names", lambda package: [*NAMES, "cauchy"])
    model = StructuredClustering(3, kernel="cauchy", kernel_params={"width": 3.0}, random_state=0).fit(blobs)
    assert len(set(zip(truth.tolist(), model.labels_.tolist(), strict=True))) == 3
    K = matrix_of(fit_kernel(blobs, np.ones(60), kernel="cauchy", rng=None).operator)
    H = np.eye(60) - 1 / 60
    assert_allclose(K, H @ part.block(blobs, blobs) @ H, atol=1e-12)


# -- functions of two samples: stored = tiled = explicit, in both precisions -------------------------------------------


@every_function
@pytest.mark.parametrize("as_sparse", [False, True])
def test_tiled_is_stored_is_explicit(name, as_sparse):
    wide = hasattr(kernel_part(name), "features")  # where columns are few, exact features need no tiles
    X = np.abs(GENERATOR.standard_normal((700, 400 if wide else 3)))
    data, weight = sparse.csr_array(X) if as_sparse else X, GENERATOR.uniform(0.5, 2, 700)
    stored = fit_kernel(data, weight, kernel=name, approximation=None, rng=None)
    with config_context(working_memory=1):
        tiled = fit_kernel(data, weight, kernel=name, approximation=None, rng=None)
    assert stored.operator.cheap and not tiled.operator.cheap
    part = kernel_part(name)
    params = {} if stored.gamma is None else {"gamma": stored.gamma}
    H = np.eye(700) - np.outer(np.ones(700), weight / weight.sum())
    K = H @ part.block(X, X, **params) @ H.T
    V = GENERATOR.standard_normal((700, 4))
    Pi = one_hot(np.arange(700) % 3, 3, weight)
    for one in (stored, tiled):
        assert_allclose(one.operator @ V, K @ V, atol=1e-9 * np.abs(K).max() * 700)
        assert_allclose(one.operator.rows(np.array([5, 699])), K[[5, 699]], atol=1e-9 * np.abs(K).max())
        assert_allclose(one.combination(Pi)(data), K @ Pi, atol=1e-8 * np.abs(K).max() * 700)


@every_function
def test_single_precision_keeps_F(name, monkeypatch):
    """Stored and tiled in single precision: F within 1e-6 of its size, and the same labels on clear clusters."""
    X = np.repeat(blobs, 12, axis=0) + 0.1 * GENERATOR.standard_normal((720, 4))
    if hasattr(kernel_part(name), "features"):
        X = np.hstack([X, 0.01 * GENERATOR.standard_normal((720, 396))])
    model = StructuredClustering(structure="ring:3", kernel=name, random_state=0)
    exact = model.fit(X)
    labels, value = exact.labels_, exact.objective_
    monkeypatch.setattr(_fit, "DOUBLE_UP_TO", 0)
    for budget in (1024, 1):
        with config_context(working_memory=budget):
            found = StructuredClustering(structure="ring:3", kernel=name, random_state=0).fit(X)
        assert_array_equal(found.labels_, labels)
        assert_allclose(found.objective_, value, rtol=1e-6)


@pytest.mark.parametrize("spread", [1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [60, 5000])
def test_rbf_is_exact_at_any_spread(spread, dtype, size):
    """k(x, x) = 1 and near neighbours are near, however far apart groups lie beside their width."""
    rng = np.random.default_rng(0)
    X = (spread * rng.integers(-9, 9, (size, 3)) + rng.standard_normal((size, 3))).astype(dtype)
    operator = fit_kernel(X, np.ones(size), kernel="rbf", gamma=0.5, approximation=None, rng=None).operator
    some = rng.choice(size, 50, replace=False)
    Z = X[some].astype(np.float64)
    K = np.exp(-0.5 * np.square(Z[:, None] - Z).sum(axis=2))
    raw = operator.raw_diagonal()
    assert_allclose(raw, 1, rtol=2e-6)
    mean = operator.mean_sums(np.eye(size)[:, some])  # r_i - t
    raw = operator.rows(some, some) + mean[:, None] + mean + operator.mean
    assert_allclose(raw, K, atol=2e-6)
