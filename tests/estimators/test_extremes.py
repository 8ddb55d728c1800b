"""Degenerate data and numbers at the ends of floating point: a sound answer or one clear ValueError, nothing else.

Sound means: every label in range, every cluster taken, a finite objective that is the F of the labels, no larger than
the bound. Warnings from inside numpy are errors here, and a fit that hangs is interrupted.
"""

import itertools
import re
import signal
import traceback
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from flat_parameters import build
from numpy.testing import assert_allclose, assert_array_equal
from parts import APPROXIMATIONS, RELAXATIONS, kernels, structures
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from kernelclust import CLUHSIC, CLUHSICAL, Diffrac, DisKMeans, KernelKMeans, StructuredClustering, structured_hsic
from kernelclust._input import rows_are_equal
from kernelclust.kernels import Polynomial, kernel_class
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy
from kernelclust.structures import Custom, as_structure

pytestmark = pytest.mark.usefixtures("few_starts")

SECONDS = 20  # compiled loops that are not in the cache yet included
KERNELS = kernels(without=("auto", "precomputed_graph"))
STRUCTURES = structures(4)
LOSSES = [None, "zero-one", "structure"]
NORMALIZATIONS = ["l2", "l1", None]

m = 24
truth = np.repeat(np.arange(4), 6)
CORNERS = np.array([[1.0, 1.0, 9.0], [9.0, 1.0, 1.0], [1.0, 9.0, 1.0], [9.0, 9.0, 9.0]])
blobs = CORNERS[truth] + 0.3 * np.random.default_rng(0).standard_normal((m, 3))


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with threadpool_limits(limits=1):
        yield


@pytest.fixture(autouse=True)
def guard():
    """No warning from numpy, no hang."""

    def interrupt(*_):
        raise TimeoutError(f"not done after {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(SECONDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "invalid value encountered in reduce")  # scikit-learn's own sum of X
        warnings.filterwarnings("ignore", "the order of these clusters", UserWarning)
        yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@contextmanager
def in_own_words():
    """Errors on the way must be ValueErrors that this library (or scikit-learn's check of X) words itself."""
    try:
        yield
    except ValueError as error:
        words = str(error)
        origin = traceback.extract_tb(error.__traceback__)[-1].filename.replace("\\", "/")
        assert "/kernelclust/" in origin or "/sklearn/utils/validation" in origin, f"{origin}: {words}"
        assert re.search(r"rescale|overflow|too large|infinity|beyond floating point|too small|underflow", words), words
        assert not re.search("positive semidefinite", words), f"the kernel is one, rounding aside: {words}"
        raise


def check_sound(model, X, sample_weight=None):
    c = model.structure_.n_clusters
    assert model.labels_.shape == (len(X),)
    used = slice(None) if sample_weight is None else np.asarray(sample_weight) > 0
    rows, labels = 1.0 * np.asarray(X)[used], model.labels_[used]
    different = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    n_different = 1 if rows_are_equal(rows) else len(np.unique(different))
    if n_different >= c or not (n_different == 1 or kernel_class(model.kernel).equal_rows_are_equal):
        assert_array_equal(np.unique(labels), np.arange(c))
    else:
        assert len(np.unique(labels)) == n_different
        assert n_different == 1 or len(np.unique(np.c_[different, labels], axis=0)) == n_different
    assert np.isfinite([model.objective_, model.diagnostics_.size_bound]).all()
    assert np.isfinite(model.sizes_).all()
    assert not np.isnan([model.upper_bound_, model.gap_]).any()
    order = model.order_
    assert order is None or all(value is None or np.isfinite(value) for value in (order.margin, order.pvalue))
    assert model.upper_bound_ >= model.objective_
    assert model.diagnostics_.size_bound >= model.objective_
    assert model.gap_ >= 0
    assert np.isfinite(model.diagnostics_.history).all()
    fresh = model.predict(X)
    assert ((fresh >= 0) & (fresh < c)).all()
    assert np.isfinite(model.score(X, sample_weight=sample_weight))


def outcome(model, X, sample_weight=None):
    """The sound model, or None when there was a clear error."""
    try:
        with in_own_words():
            model.fit(X, sample_weight=sample_weight)
    except ValueError:
        assert not hasattr(model, "labels_")
        return None
    check_sound(model, X, sample_weight)
    return model


def samples_for(kernel, X):
    if kernel != "precomputed":
        return X
    with np.errstate(all="ignore"):
        return np.asarray(X, dtype=float) @ np.asarray(X, dtype=float).T


# -- degenerate data: always an answer --------------------------------------------------------------------------------

DEGENERATE = {
    "zeros": np.zeros((m, 3)),
    "constant": np.full((m, 3), 3.7),
    "constant 0.1": np.full((m, 1), 0.1),
    "duplicates": CORNERS[truth],
    "two distinct": CORNERS[truth % 2],
    "one distinct from the rest": np.vstack([np.ones((m - 1, 3)), [[2.0, 3.0, 4.0]]]),
    "one feature": blobs[:, :1],
    "a constant feature": np.column_stack([blobs, np.full(m, 1e6)]),
    "rows of zeros": blobs * (truth > 1)[:, None],
    "wide": np.tile(blobs, 20),
    "integers": np.round(blobs).astype(int),
    "as many as clusters": CORNERS,
    "one more than clusters": np.vstack([CORNERS, CORNERS[:1]]),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_data(name, kernel):
    X = samples_for(kernel, DEGENERATE[name])
    for structure in STRUCTURES:
        init = {"flat:4": "auto", "ring:4": "k-means++"}.get(structure, "spectral")
        model = StructuredClustering(structure=structure, kernel=kernel, solver=Greedy(init=init), random_state=0)
        model.set_params(compute_confidence=structure in ("chain:4", "tree:2x2"))  # an order once, a tree once
        check_sound(model.fit(X), X)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_data_in_low_rank(name, approximation):
    X = DEGENERATE[name]
    fitting = kernels(has_frequencies=True) if approximation == "random_features" else KERNELS
    for kernel, (components, init) in itertools.product(fitting, [(None, "spectral"), (2, "k-means++")]):
        options = {"approximation": approximation, "n_components": components, "init": init, "n_init": 1}
        model = build(KernelKMeans, 4, kernel=kernel, random_state=0, **options)
        Z = samples_for(kernel, X)
        check_sound(model.fit(Z), Z)


@pytest.mark.parametrize("init", ["auto", "spectral", "projected", "k-means++", "random"])
@pytest.mark.parametrize("name", ["constant", "duplicates", "two distinct", "as many as clusters"])
def test_degenerate_data_from_every_start(name, init):
    X = DEGENERATE[name]
    for search in ("refine", "global"):
        model = StructuredClustering(
            kernel="rbf", structure="ring:4", solver=Greedy(search=search, init=init, n_init=3), random_state=0
        ).set_params(compute_confidence=False)
        check_sound(model.fit(X), X)


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_degenerate_data_under_every_objective(loss, normalize):
    names = ["constant", "two distinct", "as many as clusters", "one feature"]
    for name, structure, search in itertools.product(names, STRUCTURES, ["refine", "global"]):
        X = DEGENERATE[name]
        model = StructuredClustering(
            kernel="rbf",
            structure=structure,
            objective=Dependence(loss=loss, normalize=normalize),
            solver=Greedy(search=search, init="k-means++", n_init=1),
            compute_confidence=False,
            random_state=0,
        )
        check_sound(model.fit(X), X)


@pytest.mark.parametrize("Estimator", [DisKMeans, Diffrac])
def test_a_kernel_too_small_to_be_inverted_is_refused_at_once(Estimator):
    Z = np.random.default_rng(0).standard_normal((12, 2))
    K = Z @ Z.T
    for weight in (None, np.full(12, 1e9)):
        with pytest.raises(ValueError, match=r"eigenvalue is .*, too small to be inverted .* or give (lam|kappa)"):
            Estimator(1, kernel="precomputed").fit(1e-320 * K, sample_weight=weight)
    model = Estimator(2, kernel="precomputed", random_state=0)
    assert_array_equal(model.fit(1e-290 * K).predict(1e-290 * K), model.fit(K).predict(K))


@pytest.mark.parametrize("Estimator", [DisKMeans, Diffrac])
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_data_of_discriminative_kernels(name, Estimator):
    X = DEGENERATE[name]
    for kernel in ("rbf", "linear", "laplacian"):
        model = build(Estimator, 4, kernel=kernel, init="spectral", compute_confidence=False, random_state=0)
        check_sound(model.fit(X), X)


@pytest.mark.parametrize("solver", RELAXATIONS)
@pytest.mark.parametrize("name", ["constant", "duplicates", "two distinct", "as many as clusters"])
def test_degenerate_data_with_every_solver(name, solver):
    X = DEGENERATE[name][::3]
    for structure in ("flat:2", "ring:2"):
        model = StructuredClustering(kernel="rbf", structure=structure, solver=solver, random_state=0)
        check_sound(model.set_params(compute_confidence=False).fit(X), X)


def test_duplicates_stay_together():
    X = CORNERS[truth]
    for kernel in kernels(is_function=True):
        for structure in ("flat:4", "ring:4"):
            model = StructuredClustering(structure=structure, kernel=kernel, compute_confidence=False, random_state=0)
            model.fit(X)
            assert adjusted_rand_score(truth, model.labels_) == 1
            assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("kernel", [*kernels(is_function=True), "precomputed"])
@pytest.mark.parametrize("value", [0.1, 3.7, 1e6])
def test_constant_data_have_no_dependence(value, kernel):
    X = samples_for(kernel, np.full((m, 3), value))
    model = KernelKMeans(4, kernel=kernel, random_state=0).fit(X)
    if not kernel_class(kernel).cancels:
        assert_allclose(model.objective_, 0, atol=1e-9 * max(value, 1) ** 2)
    if kernel_class(kernel).has_gamma:
        assert model.diagnostics_.gamma <= 1e9, "made of rounding"
        nearby = model.predict(X + 1e-6 * value)
        assert ((nearby >= 0) & (nearby < 4)).all()


@pytest.mark.parametrize("kernel", ["auto", "rbf", "linear"])
@pytest.mark.parametrize("structure", ["chain:4", "ring:6", "tree:2x3"])
def test_constant_data_have_no_order(structure, kernel):
    """Equal samples are one cluster, which has no order."""
    model = StructuredClustering(structure=structure, kernel=kernel, random_state=0)
    model.fit(np.ones((60, 3)))
    assert model.order_confidence_ is None
    assert len(np.unique(model.labels_)) == 1


@pytest.mark.parametrize("kernel", ["graph", "diffusion", "rbf"])
def test_fewer_different_rows_than_clusters_beyond_a_full_decomposition(kernel):
    X = np.repeat([0.0, 1.0], 300)[:, None]
    model = KernelKMeans(8, kernel=kernel, approximation=None, random_state=0).fit(X)
    assert sorted(model.sizes_)[-2:] == [300, 300]
    assert model.objective_ <= model.upper_bound_
    if kernel != "diffusion":  # two nodes after many steps are one, but for rounding
        assert model.gap_ < 1e-3  # clusters hold all that tells samples apart


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_columns_are_seen_from_themselves(dtype):
    """A mean of equal numbers that is rounded to another one would make a kernel of its rounding."""
    X = np.full((25, 2), -4.378386e07, dtype=dtype)
    weight = np.random.default_rng(0).random(25)
    for w in (weight, weight[::-1], 1e12 * weight):
        model = KernelKMeans(3, kernel="linear", random_state=0).fit(X, sample_weight=w)
        assert model.objective_ == model.upper_bound_ == 0


# -- few clusters, few samples ----------------------------------------------------------------------------------------


ONE_CLUSTER = ["flat:1", "chain:1", "ring:1", "grid:1x1", "tree:1", [[2.0]]]


@pytest.mark.parametrize(
    ("kernel", "loss", "normalize"),
    [(kernel, None, "l2") for kernel in KERNELS]
    + [("rbf", *pair) for pair in itertools.product(LOSSES, NORMALIZATIONS)],
)
def test_one_cluster(kernel, loss, normalize):
    X = samples_for(kernel, blobs)
    for structure in ONE_CLUSTER:
        model = StructuredClustering(
            structure=structure,
            kernel=kernel,
            objective=Dependence(loss=loss, normalize=normalize),
            solver=Greedy(n_init=1),
        )
        check_sound(model.fit(X), X)
        assert_array_equal(model.labels_, 0)
        assert_allclose(model.objective_, 0, atol=1e-8 * np.abs(X).max() ** 2)
        assert_array_equal(model.predict(X), 0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_sample(kernel):
    X = samples_for(kernel, blobs[:1])
    for Estimator in (KernelKMeans, StructuredClustering, CLUHSIC, CLUHSICAL):
        model = Estimator(1, kernel=kernel).fit(X)
        check_sound(model, X)
        assert_allclose(model.objective_, 0, atol=1e-9)


@pytest.mark.parametrize("approximation", ["nystroem", "cholesky", "random_features", "auto"])
def test_one_or_two_samples_in_low_rank(approximation):
    for kernel in ["rbf"] if approximation == "random_features" else KERNELS:
        for size in (1, 2, 3):
            X = samples_for(kernel, blobs[:: m // 3][:size])
            model = KernelKMeans(size, kernel=kernel, approximation=approximation, random_state=0).fit(X)
            check_sound(model, X)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("structure", ["flat", "chain", "ring"])
def test_as_many_clusters_as_samples(kernel, structure):
    """Each sample is its own cluster; for a flat l2 fit F is then the trace of the centred kernel: the bound."""
    size = 7
    X = samples_for(kernel, blobs[:size])
    model = StructuredClustering(size, structure=structure, kernel=kernel, random_state=0).fit(X)
    check_sound(model, X)
    assert_array_equal(np.sort(model.labels_), np.arange(size))
    if structure == "flat":
        assert_allclose(model.gap_, 0, atol=1e-9)


def test_as_many_clusters_as_samples_of_positive_weight():
    weight = np.zeros(m)
    weight[[0, 6, 12, 18]] = [1.0, 2.0, 3.0, 4.0]
    for structure in STRUCTURES:
        model = StructuredClustering(kernel="rbf", structure=structure, compute_confidence=False, random_state=0)
        model.fit(blobs, sample_weight=weight)
        assert adjusted_rand_score(truth, model.labels_) == 1
        assert_array_equal(np.sort(model.sizes_), [1, 2, 3, 4])


# -- ends of floating point -------------------------------------------------------------------------------------------

SCALES = [1e-308, 1e-300, 1e-200, 1e-160, 1e-150, 1e-100, 1e-30, 1e-5, 1e5, 1e30, 1e100, 1e150, 1e200, 1e300, 1e307]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("structure", ["flat:4", "ring:4"])
def test_scale(scale, kernel, structure):
    """The same clusters in any unit, or a clear error: never an answer that has nothing to do with the data."""
    with np.errstate(under="ignore"):
        X = samples_for(kernel, blobs * scale)
    if kernel == "precomputed" and not X.any():
        return  # underflow before we were asked
    model = StructuredClustering(structure=structure, kernel=kernel, solver=Greedy(init="k-means++"), random_state=0)
    model = outcome(model.set_params(compute_confidence=kernel in ("linear", "rbf", "precomputed")), X)
    if model is not None:
        assert adjusted_rand_score(truth, model.labels_) == 1
        assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("kernel", kernels(pairwise=False, without=("auto", "linear", "polynomial")))
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_kernels_that_know_no_unit_answer_in_every_unit(kernel, scale):
    model = KernelKMeans(4, kernel=kernel, random_state=0).fit(blobs * scale)
    assert adjusted_rand_score(truth, model.labels_) == 1


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scale", [1e-44, 1e-38, 1e-30, 1e-23, 1e-19, 1e-10, 1e10, 1e18, 1e19, 1e30, 1e37])
def test_scale_in_single_precision(scale, kernel):
    if kernel == "precomputed":
        X = (rbf_kernel(blobs) * scale).astype(np.float32)
    else:
        X = (blobs * scale).astype(np.float32)
    few_digits = scale < 1e-40  # the data themselves are rounded
    model = outcome(KernelKMeans(4, kernel=kernel, init="k-means++", random_state=0), X)
    if model is not None and not few_digits:
        assert adjusted_rand_score(truth, model.labels_) == 1


@pytest.mark.parametrize("kernel", kernels(pairwise=False, without=("auto", "cosine")))
@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9, 1e12])
def test_far_from_the_origin(kernel, offset):
    """At 1e12 doubles still hold four digits after the point, ten times what these clusters need."""
    for X in (blobs + offset, np.tile(blobs, 10) + offset):
        model = outcome(KernelKMeans(4, kernel=kernel, random_state=0), X)
        assert model is not None or kernel_class(kernel).cancels
        if model is not None:
            assert adjusted_rand_score(truth, model.labels_) == 1
            assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("kernel", kernels(translation_invariant=True))
def test_far_from_the_origin_in_single_precision(kernel):
    for X in (blobs + 1e4, np.tile(blobs, 10) + 1e4):
        model = KernelKMeans(4, kernel=kernel, random_state=0).fit(X.astype(np.float32))
        assert adjusted_rand_score(truth, model.labels_) == 1


MIXTURES = {
    "some entries 1e300": np.where(blobs > 8, 1e300, blobs),
    "one entry 1e300": np.where(np.arange(m * 3).reshape(m, 3) == 5, 1e300, blobs),
    "one row 1e300": np.where(np.arange(m)[:, None] == 5, 1e300, blobs),
    "columns 1e300, 1, 1e-300": blobs * [1e300, 1.0, 1e-300],
    "rows of every size": blobs * 10.0 ** np.linspace(-300, 300, m)[:, None],
    "plus and minus the largest": np.where(blobs > 5, 1.7e308, -1.7e308),
    "largest and zero": np.where(blobs > 5, 1.7e308, 0.0),
    "smallest": np.where(blobs > 5, 5e-324, 0.0),
    "subnormal": blobs * 1e-310,
    "smallest and one": np.where(blobs > 5, 5e-324, 1.0),
    "1e155 and 1": np.where(blobs > 8, 1e155, blobs),
    "1e12 and 1": np.where(blobs > 8, 1e12, blobs),
    "single, largest": np.where(blobs > 5, 3.4e38, -3.4e38).astype(np.float32),
    "single, 1e19": (blobs * 1e19).astype(np.float32),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", MIXTURES)
def test_mixtures(name, kernel):
    X = samples_for(kernel, MIXTURES[name])
    for structure, init in (("flat:4", "k-means++"), ("ring:4", "spectral")):
        outcome(StructuredClustering(structure=structure, kernel=kernel, solver=Greedy(init=init), random_state=0), X)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("name", MIXTURES)
def test_mixtures_in_low_rank(name, approximation):
    X = MIXTURES[name]
    for kernel in kernels(has_frequencies=True) if approximation == "random_features" else KERNELS:
        model = KernelKMeans(4, kernel=kernel, approximation=approximation, init="spectral")
        outcome(model, samples_for(kernel, X))


@pytest.mark.parametrize("kernel", kernels(pairwise=False, without=("auto",)))
@pytest.mark.parametrize("new", [1e300, -1e300, 1.7e308, 1e-300, 5e-324, 0.0])
def test_new_samples_far_away(kernel, new):
    model = KernelKMeans(4, kernel=kernel, random_state=0).fit(blobs)
    try:
        with in_own_words():
            labels = model.predict(np.full((2, 3), new))
    except ValueError:
        return
    assert ((labels >= 0) & (labels < 4)).all()


def test_rows_far_away_have_no_say_over_the_nearest_mean():
    """A linear kernel's nearest mean is known for a row of any size that does not overflow."""
    model = KernelKMeans(4, kernel="linear", random_state=0).fit(blobs)
    means = np.array([blobs[model.labels_ == j].mean(axis=0) for j in range(4)])
    new = np.array([[1e100, 0.0, 0.0], [0.0, 1e100, 0.0], [-1e100, -1e100, -1e100]])
    assert_array_equal(model.predict(new), np.argmax(new @ means.T, axis=1))


@pytest.mark.parametrize("gamma", [1e-300, 1e-100, 1e-12, 1e12, 1e100, 1e300])
@pytest.mark.parametrize("kernel", kernels(has_gamma=True))
def test_gamma(kernel, gamma):
    """A kernel far too wide is constant, one far too narrow the identity: both are kernels."""
    for approximation in (None, "nystroem"):
        model = build(KernelKMeans, 4, kernel=kernel, gamma=gamma, approximation=approximation, random_state=0)
        model = outcome(model, blobs)
        assert model is not None or kernel_class(kernel).cancels


@pytest.mark.parametrize("degree", [1, 10, 50, 300, 2000])
def test_degree(degree):
    outcome(KernelKMeans(4, kernel=Polynomial(degree=degree), random_state=0), blobs)


@pytest.mark.parametrize("value", [0.0, 1e-300, 1e300, -1e12, 1e12])
def test_constant_in_a_precomputed_kernel(value):
    """A constant added to a kernel is taken out by centring; where it leaves no digits, that is said."""
    K = rbf_kernel(blobs, gamma=0.01)
    model = outcome(KernelKMeans(4, kernel="precomputed", random_state=0), K + value)
    if model is not None and abs(value) < 1e100:
        assert adjusted_rand_score(truth, model.labels_) == 1


@pytest.mark.parametrize("rho", [0.0, 1e-300, 1e12, 1e300])
@pytest.mark.parametrize("structure", STRUCTURES, ids=str)
def test_rho(structure, rho):
    outcome(
        StructuredClustering(kernel="rbf", structure=structure, objective=Dependence(rho=rho), random_state=0), blobs
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e150, 1e300])
def test_scale_of_a_label_kernel(scale):
    model = outcome(
        StructuredClustering(
            kernel="rbf", structure=scale * as_structure("ring:4").kernel, objective=Dependence(rho=0), random_state=0
        ),
        blobs,
    )
    if model is not None:
        assert adjusted_rand_score(truth, model.labels_) == 1


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("normalize", NORMALIZATIONS)
def test_scale_of_a_loss(scale, normalize):
    loss = scale * (1 - np.eye(4))
    model = StructuredClustering(
        4, kernel="rbf", structure="chain", objective=Dependence(loss=loss, normalize=normalize), random_state=0
    )
    check_sound(model.fit(blobs), blobs)


@pytest.mark.parametrize("loss", [np.zeros((4, 4)), np.diag([1.0, 1, 1], 1), np.triu(np.ones((4, 4)), 1)], ids=str)
@pytest.mark.parametrize("normalize", NORMALIZATIONS)
def test_odd_losses(loss, normalize):
    for search in ("refine", "global"):
        model = StructuredClustering(
            kernel="rbf",
            structure="chain:4",
            objective=Dependence(loss=loss, normalize=normalize),
            solver=Greedy(search=search, n_init=2),
            random_state=0,
        ).set_params(compute_confidence=False)  # of an order, whatever the loss
        check_sound(model.fit(blobs), blobs)


@pytest.mark.parametrize("A", [np.zeros((4, 4)), np.ones((4, 4)), np.diag([1.0, 0, 0, 0])], ids=["0", "1", "one"])
def test_odd_label_kernels(A):
    for rho, normalize, search in itertools.product([0.0, 2.0], NORMALIZATIONS, ["refine", "global"]):
        model = StructuredClustering(
            kernel="rbf",
            structure=A,
            objective=Dependence(normalize=normalize, rho=rho),
            solver=Greedy(search=search, n_init=2),
            random_state=0,
        )
        check_sound(model.fit(blobs), blobs)


# -- weights ----------------------------------------------------------------------------------------------------------

WEIGHTS = {
    "1e-12": np.full(m, 1e-12),
    "1e12": np.full(m, 1e12),
    "one 1e-12": np.where(np.arange(m) == 5, 1e-12, 1.0),
    "one 1e12": np.where(np.arange(m) == 5, 1e12, 1.0),
    "zeros": (np.arange(m) % 3 > 0) * 1.0,
    "zero, 1e-12, 1e12": np.array([0.0, 1e-12, 1e12, 1.0] * (m // 4)),
    "every size": 10.0 ** np.random.default_rng(0).integers(-12, 13, m),
}
BEYOND = {
    "1e-300": np.full(m, 1e-300),
    "5e-324": np.full(m, 5e-324),
    "1e300": np.full(m, 1e300),
    "one 1e-300": np.where(np.arange(m) == 5, 1e-300, 1.0),
    "one 1e300": np.where(np.arange(m) == 5, 1e300, 1.0),
}
WEIGHTED = {"blobs": blobs, "constant": np.full((m, 3), 3.7), "two distinct": CORNERS[truth % 2]}


@pytest.mark.parametrize("data", WEIGHTED)
@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_under_every_objective(name, data):
    X, weight = WEIGHTED[data], WEIGHTS[name]
    options = itertools.product([("flat:4", "refine"), ("ring:4", "global")], LOSSES, NORMALIZATIONS)
    for (structure, search), loss, normalize in options:
        model = StructuredClustering(
            kernel="rbf",
            structure=structure,
            objective=Dependence(loss=loss, normalize=normalize),
            solver=Greedy(search=search, init="k-means++", n_init=1),
            compute_confidence=False,
            random_state=0,
        )
        check_sound(model.fit(X, sample_weight=weight), X, weight)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_with_every_kernel(name, kernel):
    X, weight = samples_for(kernel, blobs), WEIGHTS[name]
    for approximation in ("auto", "nystroem", "cholesky"):
        model = KernelKMeans(4, kernel=kernel, approximation=approximation, init="spectral", random_state=0)
        check_sound(model.fit(X, sample_weight=weight), X, weight)


@pytest.mark.parametrize("name", BEYOND)
def test_weights_beyond_reason(name):
    for normalize, search in itertools.product(NORMALIZATIONS, ["refine", "global"]):
        model = StructuredClustering(
            kernel="rbf",
            structure="ring:4",
            objective=Dependence(normalize=normalize),
            solver=Greedy(search=search, n_init=2),
            random_state=0,
        ).set_params(compute_confidence=search == "refine")
        try:
            model.fit(blobs, sample_weight=BEYOND[name])
        except ValueError as error:
            assert re.search("weight", str(error)), error
        else:
            check_sound(model, blobs, BEYOND[name])


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_common_factor_of_weights(scale):
    """Scaling all weights changes no label; F for l2 scales with them."""
    weight = np.random.default_rng(0).uniform(0.5, 2, m)
    for structure in STRUCTURES:
        model = StructuredClustering(kernel="rbf", structure=structure, compute_confidence=False, random_state=0)
        one = clone(model).fit(blobs, sample_weight=weight)
        other = clone(model).fit(blobs, sample_weight=weight * scale)
        assert_array_equal(one.labels_, other.labels_)
        assert_allclose(other.objective_, one.objective_ * scale, rtol=1e-9)


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", WEIGHTS)
def test_objective_is_the_value_of_the_labels(name, loss, normalize):
    """Running sums lose digits when heavy samples pass through light clusters; what is reported must not."""
    weight = WEIGHTS[name]
    used = weight > 0
    for structure, search in (("flat:4", "global"), ("ring:4", "refine"), ("ring:4", "global")):
        model = StructuredClustering(
            kernel="rbf",
            structure=structure,
            objective=Dependence(loss=loss, normalize=normalize, rho=0),
            solver=Greedy(search=search, init="k-means++", n_init=2),
            compute_confidence=False,
            random_state=0,
        ).fit(blobs, sample_weight=weight)
        K = rbf_kernel(blobs[used], gamma=model.diagnostics_.gamma)
        Delta = as_structure(structure).loss if loss == "structure" else loss
        A = Custom(as_structure(structure).kernel)
        value = structured_hsic(K, model.labels_[used], A, loss=Delta, normalize=normalize, sample_weight=weight[used])
        assert_allclose(model.objective_, value, rtol=1e-6)
        assert (np.diff(model.diagnostics_.history) >= -1e-9 * np.abs(model.diagnostics_.history[1:])).all()
