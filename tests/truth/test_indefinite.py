"""Kernels that are none: told at any size, and what clipping and shifting their eigenvalues makes of them."""

import itertools

import numpy as np
import pytest
from flat_parameters import build
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from kernelclust import (
    CLUHSIC,
    DisKMeans,
    KernelKMeans,
    MaxMarginClustering,
    MultiKernelClustering,
    structured_hsic,
)
from kernelclust.kernels import DenseKernel, Precomputed, TiledKernel, fit_kernel, spectrum_ends
from kernelclust.margin import CuttingPlane
from kernelclust.multikernel import MKKMMR
from kernelclust.objectives import Dependence
from kernelclust.structures import as_structure

pytestmark = pytest.mark.usefixtures("few_starts")


def with_eigenvalues(values, seed=0):
    """A random symmetric matrix with these eigenvalues and constants in its null space."""
    Z = np.random.default_rng(seed).standard_normal((len(values) + 1, len(values)))
    Q = np.linalg.qr(Z - Z.mean(axis=0))[0]
    K = (Q * values) @ Q.T
    return (K + K.T) / 2


def similarities(m=40, c=3, seed=0):
    """Blocks with noise, far from positive semidefinite, and the truth."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(c), [m // c + (j < m % c) for j in range(c)])
    Z = rng.standard_normal((m, m))
    return (labels[:, None] == labels) + 0.3 * (Z + Z.T) - 2.0 * np.eye(m), labels


def centred(K, weight):
    H = np.eye(len(K)) - weight / weight.sum()
    return H @ K @ H.T


FAMILIES = {
    "kernel k-means": lambda **params: build(KernelKMeans, 3, kernel="precomputed", random_state=0, **params),
    "max margin": lambda **params: MaxMarginClustering(
        2, kernel=Precomputed(**params.get("kernel_params", {})), solver=CuttingPlane(n_init=1), random_state=0
    ),
    "many kernels": lambda **params: MultiKernelClustering(
        3, kernel=Precomputed(**params.get("kernel_params", {})), method=MKKMMR(n_init=1), random_state=0
    ),
}


# -- told -------------------------------------------------------------------------------------------------------------

SPECTRA = {
    "falling": lambda low, m: np.r_[1.0, low, 1 / np.arange(2, m - 1)],
    "a bulk": lambda low, m: np.r_[1.0, low, np.linspace(0, -low, m - 3)],
    "many large": lambda low, m: np.r_[np.linspace(0.8, 1.0, 10), low, np.linspace(0, 0.05, m - 12)],
}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("m", [300, 501, 900])
@pytest.mark.parametrize("low", [-0.98, -0.3, -0.15])
def test_one_negative_eigenvalue_is_found_at_any_size(name, m, low):
    K = with_eigenvalues(SPECTRA[name](low, m))
    assert_allclose(spectrum_ends(DenseKernel(K)), [low, 1.0], atol=0.01)


@pytest.mark.parametrize("m", [300, 600, 1000])
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_a_constant_kernel_is_told(m, value):
    X = np.random.default_rng(0).standard_normal((m, 2))
    model = KernelKMeans(3, kernel=lambda A, B: np.full((len(A), len(B)), value), random_state=0)
    with pytest.warns(UserWarning, match="same value for all pairs"):
        model.fit(X)
    assert model.objective_ == pytest.approx(0, abs=1e-9) and model.upper_bound_ >= model.objective_


@pytest.mark.parametrize("m", [300, 600, 1000])
@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e-50, 1e90])
def test_similarities_of_any_size_have_the_same_clusters(m, size):
    k = np.arange(m) % 3
    X = 3 * np.eye(3)[k, :2]  # a kernel of rank two, which leaves no third direction
    model = KernelKMeans(3, kernel=lambda A, B: size * (A @ B.T), random_state=0).fit(X)
    assert adjusted_rand_score(k, model.labels_) == 1
    assert adjusted_rand_score(k, KernelKMeans(3, kernel="precomputed").fit(size * (X @ X.T)).labels_) == 1


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("m", [200, 501])
def test_every_family_refuses_it_and_names_a_way_out(family, m):
    K = with_eigenvalues(SPECTRA["falling"](-0.3, m))
    with pytest.raises(ValueError, match=r"positive semidefinite.* -0\.3 to [10].*'clip'.*'shift'"):
        FAMILIES[family]().fit(K)
    slightly = with_eigenvalues(SPECTRA["falling"](-0.05, m))
    assert len(FAMILIES[family]().fit(slightly).labels_) == m


def test_functions_and_operators_are_looked_at_too():
    X = np.random.default_rng(0).standard_normal((600, 2))

    def indefinite(A, B):
        return np.exp(-np.square(A[:, None] - B).sum(axis=2)) - 0.5 * np.exp(-3 * np.abs(A[:, :1] - B[:, 0]))

    with pytest.raises(ValueError, match=r"positive semidefinite.*clip"):
        KernelKMeans(3, kernel=indefinite).fit(X)
    for operator in (DenseKernel(indefinite(X, X)), TiledKernel(indefinite, X)):
        with pytest.raises(ValueError, match=r"positive semidefinite.*clip"):
            KernelKMeans(3, kernel="precomputed").fit(operator)


def test_named_kernels_do_not_pay_for_it(monkeypatch):
    monkeypatch.setattr("kernelclust.kernels._spectrum.spectrum_ends", None)
    X = np.random.default_rng(0).standard_normal((60, 3))
    for kernel in ("rbf", "linear", "polynomial", "graph", "auto"):
        KernelKMeans(2, kernel=kernel, random_state=0).fit(X)
        MaxMarginClustering(2, kernel=kernel, solver=CuttingPlane(n_init=1), random_state=0).fit(X)
    MultiKernelClustering(2, method=MKKMMR(n_init=1), random_state=0).fit(X)
    with pytest.raises(TypeError):
        KernelKMeans(2, kernel="precomputed").fit(X @ X.T)


def test_the_weighted_matrix_is_judged():
    """A negative eigenvalue that light samples have is none to speak of."""
    K = np.diag([3.0, 3, 3, 3, -3, -3])
    with pytest.raises(ValueError, match="semidefinite"):
        KernelKMeans(2, kernel="precomputed").fit(K)
    KernelKMeans(2, kernel="precomputed").fit(K, sample_weight=[1, 1, 1, 1, 0.01, 0.01])


# -- clip -------------------------------------------------------------------------------------------------------------

WEIGHTS = {"even": np.ones(40), "uneven": np.linspace(0.5, 2.5, 40)}


def fitted(K, weight, indefinite, **options):
    return fit_kernel(
        K,
        weight,
        kernel=Precomputed(indefinite),
        rng=np.random.RandomState(0),
        **options,
    )


def clipped(K, weight, center=True):
    """By an explicit decomposition of D^1/2 H K H' D^1/2."""
    root = np.sqrt(weight)
    M = root[:, None] * (centred(K, weight) if center else K) * root
    values, vectors = np.linalg.eigh(M)
    return (vectors * np.maximum(values, 0)) @ vectors.T / root[:, None] / root


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_clip_is_the_positive_part(weight, center):
    K, _ = similarities()
    operator = fitted(K, weight, "clip", center=center).operator
    assert_allclose(operator.rows(np.arange(40)), clipped(K, weight, center), atol=1e-10)


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_clipped_similarities_of_fitted_samples_as_new_ones(weight):
    """A row of K is seen as the row of K+ that it became; what K+ does not know is left out."""
    K, labels = similarities()
    C = np.random.default_rng(0).standard_normal((40, 3))
    one = fitted(K, weight, "clip")
    assert_allclose(one.combination(C)(K), one.operator @ C, atol=1e-9)
    model = KernelKMeans(3, kernel=Precomputed(indefinite="clip"), random_state=0)
    model.fit(K, sample_weight=weight)
    assert adjusted_rand_score(labels, model.labels_) == 1
    assert_array_equal(model.predict(K), model.labels_)
    value = structured_hsic(clipped(K, weight), model.labels_, "flat:3", normalize="l2", sample_weight=weight)
    assert_allclose(model.objective_, value, rtol=1e-9)
    if len(set(weight)) == 1:
        assert_allclose(model.score(K), model.objective_ / model.upper_bound_, rtol=1e-6)


def test_clip_leaves_a_kernel_as_it_is():
    X = np.random.default_rng(0).standard_normal((40, 3))
    weight = WEIGHTS["uneven"]
    K = X @ X.T
    assert_allclose(fitted(K, weight, "clip").operator.rows(np.arange(40)), centred(K, weight), atol=1e-12)
    assert_allclose(fitted(K, weight, "shift").operator.rows(np.arange(40)), centred(K, weight), atol=1e-12)
    constant = KernelKMeans(2, kernel=Precomputed(indefinite="clip")).fit(np.ones((9, 9)))
    assert_allclose(constant.objective_, 0, atol=1e-12)


# -- shift ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_shift_lifts_the_lowest_eigenvalue_to_zero(weight, center):
    K, _ = similarities()
    root = np.sqrt(weight)
    lowest = np.linalg.eigvalsh(root[:, None] * (centred(K, weight) if center else K) * root)[0]
    operator = fitted(K, weight, "shift", center=center).operator
    whole = K - lowest * np.diag(1 / weight)
    assert_allclose(operator.rows(np.arange(40)), centred(whole, weight) if center else whole, atol=1e-9)
    assert_allclose(spectrum_ends(operator)[0], 0, atol=1e-9)


def test_shift_of_many_samples_by_products():
    K = with_eigenvalues(SPECTRA["falling"](-0.4, 700))
    raised = fitted(K, np.ones(700), "shift").operator.diagonal() - np.diagonal(K)
    assert_allclose(raised, 0.4 * (1 - 1 / 700), rtol=1e-6)


def test_shift_adds_a_constant_to_f_of_flat_clusters():
    """By enumeration: s (c - 1) for every labeling with all c clusters taken, so the best one stays the best."""
    K, _ = similarities(8, 3)
    weight = np.linspace(0.5, 2, 8)
    root = np.sqrt(weight)
    s = -np.linalg.eigvalsh(root[:, None] * centred(K, weight) * root)[0]
    assert s > 1
    plain, lifted = DenseKernel(K, weight), DenseKernel(K + s * np.diag(1 / weight), weight)
    objective, values = Dependence(rho=0.0).bind(as_structure("flat:3")), {}
    for labels in itertools.product(range(3), repeat=8):
        if list(dict.fromkeys(labels)) == [0, 1, 2]:  # one numbering of each clustering
            n = np.bincount(labels, weight)
            before, after = (objective.value(one.cluster_sums(np.array(labels), 3), n) for one in (plain, lifted))
            assert_allclose(after - before, 2 * s, rtol=1e-9)
            values[labels] = after
    model = KernelKMeans(3, kernel=Precomputed(indefinite="shift"), n_init=20, random_state=0)
    assert_allclose(model.fit(K, sample_weight=weight).objective_, max(values.values()), rtol=1e-9)


@pytest.mark.parametrize("sizes", [(20, 20), (4, 36)])
def test_new_samples_go_by_similarities_as_given(sizes):
    """The shift is between a sample and itself: it must not push new samples towards large clusters."""
    labels = np.repeat([0, 1], sizes)
    u = np.tile([1.0, -1.0], 20) / np.sqrt(40)  # nothing to do with the clusters
    K = (labels[:, None] == labels) - 20 * np.outer(u, u)
    model = KernelKMeans(2, kernel=Precomputed(indefinite="shift"), random_state=0).fit(K)
    assert adjusted_rand_score(labels, model.labels_) == 1
    assert_array_equal(model.predict((labels[:, None] == labels) * 1.0), model.labels_)
    assert 0 <= model.score(K) <= 1
    many = MultiKernelClustering(2, kernel=Precomputed(indefinite="shift"), random_state=0).fit([K, K])
    assert adjusted_rand_score(labels, many.labels_) == 1
    assert_array_equal(many.predict([(labels[:, None] == labels) * 1.0] * 2), many.labels_)


# -- both -------------------------------------------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("indefinite", ["clip", "shift"])


@BOTH
def test_weights_are_repeats(indefinite):
    K, _ = similarities(24)
    copies = np.arange(24) % 3 + 1
    again = np.repeat(np.arange(24), copies)
    C = np.random.default_rng(0).standard_normal((24, 2))
    light, heavy = fitted(K, copies * 1.0, indefinite), fitted(K[np.ix_(again, again)], np.ones(len(again)), indefinite)
    assert_allclose(light.combination(copies[:, None] * C)(K), heavy.combination(C[again])(K[:, again]), atol=1e-8)
    labels = np.arange(24) % 3
    sums = heavy.operator.cluster_sums(labels[again], 3)
    assert_allclose(light.operator.cluster_sums(labels, 3), sums, atol=1e-8)


@BOTH
def test_the_order_of_samples_does_not_count(indefinite):
    K, labels = similarities()
    order = np.random.default_rng(1).permutation(40)
    model = CLUHSIC(3, kernel=Precomputed(indefinite=indefinite), random_state=0)
    one = model.fit(K)
    assert adjusted_rand_score(labels, one.labels_) == 1
    value, found = one.objective_, one.labels_
    other = model.fit(K[np.ix_(order, order)])
    assert_allclose(other.objective_, value, rtol=1e-9)
    assert adjusted_rand_score(found[order], other.labels_) == 1


@BOTH
def test_every_family_takes_it(indefinite):
    K, labels = similarities(40, 2)
    before = K.copy()
    for make in (
        *FAMILIES.values(),
        lambda **params: build(DisKMeans, 2, kernel="precomputed", random_state=0, **params),
    ):
        model = make(kernel_params={"indefinite": indefinite})
        if hasattr(model, "n_clusters"):
            model.set_params(n_clusters=2)
        model.fit(K)
        assert adjusted_rand_score(labels, model.labels_) == 1
        assert adjusted_rand_score(labels, model.predict(K + 2 * np.eye(40))) > 0.8
    assert_array_equal(K, before)


@BOTH
def test_samples_of_weight_zero_and_missing_ones(indefinite):
    K, labels = similarities()
    weight = np.ones(40)
    weight[[3, 20, 39]] = 0
    model = KernelKMeans(3, kernel=Precomputed(indefinite=indefinite), random_state=0)
    assert adjusted_rand_score(labels, model.fit(K, sample_weight=weight).labels_) == 1
    gone = K.copy()
    gone[5], gone[:, 5] = np.nan, np.nan
    many = MultiKernelClustering(3, kernel=Precomputed(indefinite=indefinite), random_state=0)
    assert adjusted_rand_score(labels, many.fit([K, gone]).labels_) == 1
