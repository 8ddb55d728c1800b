"""What every kernel promises, run over every file in the folder: the same however it is held."""

import inspect
import sys
import types

import numpy as np
import pytest
from flat_parameters import build
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from kernelclust import KernelKMeans, StructuredClustering, _terms, kernels
from kernelclust._arrays import knows_numpy
from kernelclust._terms import term_class, term_names
from kernelclust.kernels import (
    RBF,
    Kernel,
    Nystroem,
    _fit,
    approximations,
    as_kernel,
    fit_kernel,
    kernel_class,
    kernel_names,
    one_hot,
)

pytestmark = pytest.mark.usefixtures("few_starts")

NAMES = kernel_names()
FUNCTIONS = [name for name in NAMES if kernel_class(name).is_function]
every_kernel = pytest.mark.parametrize("name", NAMES)
every_function = pytest.mark.parametrize("name", FUNCTIONS)

GENERATOR = np.random.default_rng(0)
CENTRES = 5 * np.array([[1, 0, 0, 1], [0, 1, 1, 0], [-1, 0, 1, 1]])
truth = np.repeat(np.arange(3), [25, 20, 15])
blobs = CENTRES[truth] + 0.5 * GENERATOR.standard_normal((60, 4))
WEIGHT = GENERATOR.integers(1, 4, 60).astype(float)


def given(name, X):
    """X as the kernel takes it: samples, or similarities between them."""
    if not kernel_class(name).pairwise:
        return X
    if name == "precomputed_graph":
        return sparse.csr_array(rbf_kernel(X, gamma=0.1))
    return rbf_kernel(X, gamma=0.1)


def fitted(name, X, weight=None, **options):
    X = as_kernel(name).check_samples(given(name, X))
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
def test_parameters_are_those_of_its_constructor(name):
    part = kernel_class(name)
    assert set(part().get_params()) <= set(inspect.signature(part).parameters)
    with pytest.raises(TypeError, match=r"nonsense|takes no arguments"):
        part(nonsense=1)
    with pytest.raises(ValueError, match="nonsense"):
        StructuredClustering(3, kernel=part()).set_params(kernel__nonsense=1)


class Cauchy(Kernel):
    """A kernel whose `block` uses array API operations alone, and nothing else."""

    def __init__(self, width=2.0):
        self.width = width

    def block(self, X, Y):
        squares = (X * X).sum(axis=1)[:, None] + (Y * Y).sum(axis=1)[None, :] if isinstance(X, np.ndarray) else None
        if squares is None:
            xp = X.__array_namespace__()
            squares = xp.sum(X * X, axis=1)[:, None] + xp.sum(Y * Y, axis=1)[None, :]
        return 1 / (1 + (squares - 2 * X @ Y.T) / self.width**2)


@pytest.fixture
def cauchy(monkeypatch):
    """A new file of the folder."""
    part = types.ModuleType("kernelclust.kernels.cauchy")
    part.PART = Cauchy
    monkeypatch.setitem(sys.modules, part.__name__, part)
    listed = _terms.names
    monkeypatch.setattr(_terms, "names", lambda package: [*listed(package), "cauchy"])
    return "cauchy"


def test_a_new_kernel_with_a_parameter_of_its_own_is_one_file(cauchy):
    """A class with `block` is all that a kernel needs, whatever its parameters are called."""
    model = build(StructuredClustering, 3, kernel=cauchy, kernel_params={"width": 3.0}, random_state=0).fit(blobs)
    assert len(set(zip(truth.tolist(), model.labels_.tolist(), strict=True))) == 3
    assert_array_equal(StructuredClustering(3, kernel=Cauchy(3.0), random_state=0).fit(blobs).labels_, model.labels_)
    K = matrix_of(fit_kernel(blobs, np.ones(60), kernel=cauchy, rng=None).operator)
    H = np.eye(60) - 1 / 60
    assert_allclose(K, H @ Cauchy().block(blobs, blobs) @ H, atol=1e-12)


@pytest.mark.skipif(not knows_numpy(), reason="needs NumPy 2 and scikit-learn 1.7")
@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_a_new_kernel_runs_in_partitions(approximation):
    da = pytest.importorskip("dask.array")
    model = KernelKMeans(3, kernel=Cauchy(3.0), approximation=approximation, random_state=0)
    labels = np.asarray(model.fit(da.from_array(blobs, chunks=(20, 4))).labels_)
    assert len(set(zip(truth.tolist(), labels.tolist(), strict=True))) == 3


def test_a_new_kernel_runs_on_a_device():
    xp = pytest.importorskip("array_api_strict")
    model = KernelKMeans(3, kernel=Cauchy(3.0), random_state=0)
    labels = np.asarray(model.fit(xp.asarray(blobs)).labels_)
    assert len(set(zip(truth.tolist(), labels.tolist(), strict=True))) == 3


class HostOnly(Kernel):
    def block(self, X, Y):
        return np.asarray(X, dtype=object) @ None


def test_a_kernel_of_the_host_is_refused_by_name_on_a_device():
    xp = pytest.importorskip("array_api_strict")
    X = xp.asarray(blobs)
    with pytest.raises(TypeError, match=r"kernel=HostOnly\(\) does not run on arrays of .*array_block"):
        HostOnly().array_block(xp, X, X)


# -- terms -------------------------------------------------------------------------------------------------------------

TERMS = [kernel_class(name) for name in NAMES] + [term_class(approximations, one) for one in term_names(approximations)]
every_term = pytest.mark.parametrize("term", TERMS)


def different(value):
    """Another value of a parameter, of the same kind."""
    return {str: value, bool: value, type(None): None}.get(type(value), 7 if value != 7 else 8)


@every_term
def test_a_term_prints_as_it_is_written(term):
    assert getattr(kernels, term.__name__) is term
    changed = term(**{name: different(value) for name, value in term().get_params().items()})
    for made in (term(), changed, eval(term.example, vars(kernels) | {term.__name__: term, **classes()})):
        again = eval(repr(made), classes())
        assert type(again) is type(made) and again.get_params() == made.get_params()
        copy = clone(made)
        assert copy is not made and copy.get_params() == made.get_params()


def classes():
    return {one.__name__: one for one in TERMS}


@every_term
def test_a_term_is_what_its_file_says(term):
    made = term()
    assert term.__module__.rpartition(".")[2].replace("_", "") == term.__name__.lower()
    assert set(vars(made)) == set(made.get_params())
    made.check()


@every_kernel
def test_declared_capabilities_are_written(name):
    """A method that a capability promises is there, and no other."""
    kernel = kernel_class(name)
    for flag, method in {"is_function": "block", "has_features": "features", "has_frequencies": "frequencies"}.items():
        assert getattr(kernel, flag) == (getattr(kernel, method) is not getattr(Kernel, method)), method
    assert kernel.is_function == (kernel.fit is Kernel.fit)
    assert kernel.has_gamma == ("gamma" in kernel().get_params())


def test_nested_parameters_are_set():
    model = KernelKMeans(3, kernel=RBF(0.1), approximation=Nystroem(20), random_state=0)
    model.set_params(kernel__gamma=0.3, approximation__n_components=10).fit(blobs)
    assert model.diagnostics_["gamma"] == 0.3
    by_name = KernelKMeans(3, kernel=RBF(gamma=0.3), approximation=Nystroem(10), random_state=0)
    assert_array_equal(by_name.fit(blobs).labels_, model.labels_)
    assert by_name.objective_ == model.objective_
    with pytest.raises(ValueError, match=r"has no parameter 'gama' \(it has: gamma\)"):
        model.set_params(kernel__gama=1)


WRONG = {
    "a class": ({"kernel": RBF}, r"kernel=RBF is a class, not an object: write kernel=RBF\(\)"),
    "another class": ({"kernel": Nystroem}, r"kernel=Nystroem is a class.*kernel=RBF\(gamma=0.5\)"),
    "another term": (
        {"kernel": Nystroem(5)},
        r"Nystroem is an approximation.*kernel=RBF\(gamma=0.5\)",
    ),
    "no term": ({"kernel": 3}, r"kernel=3: .*'rbf'.*kernel=RBF\(gamma=0.5\)"),
    "a name": ({"kernel": "rbv"}, r"unknown kernel 'rbv'.*kernel=RBF\(gamma=0.5\).*Did you mean 'rbf'"),
    "a kernel": (
        {"approximation": RBF()},
        r"RBF is a kernel.*approximation=Nystroem\(n_components=300\)",
    ),
    "its class": ({"approximation": Nystroem}, r"approximation=Nystroem is a class.*Nystroem\(\)"),
    "its name": ({"approximation": "nystrom"}, r"unknown approximation 'nystrom'.*Did you mean 'nystroem'"),
    "its rank": ({"approximation": Nystroem(0)}, r"n_components=0"),
    "a parameter": ({"kernel": RBF(-1)}, r"gamma=-1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_term_is_refused_with_a_correct_example(case):
    parameters, says = WRONG[case]
    with pytest.raises((TypeError, ValueError), match=says):
        StructuredClustering(3, **parameters).fit(blobs)


# -- functions of two samples: stored = tiled = explicit, in both precisions -------------------------------------------


@every_function
@pytest.mark.parametrize("as_sparse", [False, True])
def test_tiled_is_stored_is_explicit(name, as_sparse):
    wide = kernel_class(name).has_features  # where columns are few, exact features need no tiles
    X = np.abs(GENERATOR.standard_normal((700, 400 if wide else 3)))
    data, weight = sparse.csr_array(X) if as_sparse else X, GENERATOR.uniform(0.5, 2, 700)
    stored = fit_kernel(data, weight, kernel=name, approximation=None, rng=None)
    with config_context(working_memory=1):
        tiled = fit_kernel(data, weight, kernel=name, approximation=None, rng=None)
    assert stored.operator.cheap and not tiled.operator.cheap
    params = {} if stored.gamma is None else {"gamma": stored.gamma}
    H = np.eye(700) - np.outer(np.ones(700), weight / weight.sum())
    K = H @ kernel_class(name)(**params).block(X, X) @ H.T
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
    if kernel_class(name).has_features:
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
    operator = fit_kernel(X, np.ones(size), kernel=RBF(0.5), approximation=None, rng=None).operator
    some = rng.choice(size, 50, replace=False)
    Z = X[some].astype(np.float64)
    K = np.exp(-0.5 * np.square(Z[:, None] - Z).sum(axis=2))
    raw = operator.raw_diagonal()
    assert_allclose(raw, 1, rtol=2e-6)
    mean = operator.mean_sums(np.eye(size)[:, some])  # r_i - t
    raw = operator.rows(some, some) + mean[:, None] + mean + operator.mean
    assert_allclose(raw, K, atol=2e-6)
