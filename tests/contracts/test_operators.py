"""What every operator promises, run over every file in the folder: online = stored = the explicit formula."""

import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kernelclust.kernels.operators as package
from kernelclust import engine
from kernelclust._names import load, names
from kernelclust.constraints import make_constraints
from kernelclust.kernels import (
    DenseKernel,
    FittedKernel,
    KernelOperator,
    LowRankKernel,
    NewSamples,
    ScaledKernel,
    Source,
    WeightedSumKernel,
    certified,
    leading_spectrum,
    one_hot,
)
from kernelclust.objectives import Dependence, flat_objective
from kernelclust.solvers import Greedy
from kernelclust.structures import as_structure

NAMES = names(package)
every_operator = pytest.mark.parametrize("name", NAMES)
WEIGHTS = {"even": lambda m: np.ones(m), "weighted": lambda m: np.random.default_rng(1).uniform(0.5, 3, m)}
weightings = pytest.mark.parametrize("weighting", WEIGHTS)
SLOW = "bounds after three passes; the spectrum of `example` in {}.py must decay fast (see KernelOperator)"


def example(name, weighting="even", m=60):
    """An operator, its centred matrix, and the weights."""
    weight = WEIGHTS[weighting](m)
    operator, K = load(package, name).example(np.random.RandomState(0), weight)
    H = np.eye(m) - np.outer(np.ones(m), weight / weight.sum())
    return operator, H @ K @ H.T, weight


def test_the_folder_is_found():
    assert {"dense", "low_rank", "tiled", "weighted_sum", "scaled", "ridge"} <= set(NAMES)


@every_operator
@weightings
@pytest.mark.parametrize("m", [1, 2, 60, 700])
def test_products_rows_and_norms_are_those_of_the_matrix(name, weighting, m):
    operator, K, weight = example(name, weighting, m)
    rng = np.random.default_rng(0)
    size = max(np.abs(K).max(), 1e-3)
    assert isinstance(operator, KernelOperator)
    assert operator.n_samples == m
    assert_allclose(operator.weight, weight)
    for columns in (0, 1, 5):
        V = rng.standard_normal((m, columns))
        assert_allclose(operator @ V, K @ V, atol=1e-10 * size * m)
    for index in (np.arange(m), np.array([m - 1, 0]), slice(0, m), slice(0, 1), np.empty(0, dtype=int)):
        rows = operator.rows(index)
        assert rows.dtype == np.float64
        assert_allclose(rows, K[index], atol=1e-11 * size)
        rows[:] = np.nan  # the caller's own copy
    some = rng.integers(0, m, 7)
    assert_allclose(operator.rows(some, some[:3]), K[np.ix_(some, some[:3])], atol=1e-11 * size)
    assert_allclose(operator.diagonal(), np.diag(K), atol=1e-11 * size)
    root = np.sqrt(weight)
    assert_allclose(operator.squared_norm(), np.square(root[:, None] * K * root).sum(), rtol=1e-8, atol=1e-12)
    labels = np.arange(m) % 3
    Pi = one_hot(labels, 3, weight)
    assert_allclose(operator.cluster_sums(labels, 3), Pi.T @ K @ Pi, atol=1e-10 * size * m**2)
    assert operator.raw_size() >= 0
    if operator.factor is not None:
        assert_allclose(operator.factor @ operator.factor.T, K, atol=1e-10 * size)


@every_operator
@weightings
def test_the_spectrum_bounds_the_true_one(name, weighting):
    operator, K, weight = example(name, weighting, 700)
    root = np.sqrt(weight)
    truth = np.linalg.eigvalsh(root[:, None] * K * root)[::-1]
    spectrum = leading_spectrum(operator, 4, 2, np.random.RandomState(0))
    if not spectrum.certain:
        V = np.eye(700)[:, :3]
        spectrum, image = certified(operator, spectrum, V)
        assert_allclose(image, K[:, :3], atol=1e-9)
    assert spectrum.certain
    assert np.all(spectrum.bounds >= truth[:2] * (1 - 1e-9))
    assert_allclose(spectrum.bounds, truth[:2], rtol=0.02, err_msg=SLOW.format(name))
    assert np.all(spectrum.values <= truth[: len(spectrum.values)] + 1e-9 * truth[0])
    U = root[:, None] * spectrum.functions[:, :2]
    assert_allclose(U.T @ U, np.eye(2), atol=1e-8)


@every_operator
def test_weights_count_as_copies(name):
    """Cluster sums of a weighted operator are those of the explicit matrix with samples repeated."""
    weight = np.random.default_rng(0).integers(1, 4, 30).astype(float)
    operator, K = load(package, name).example(np.random.RandomState(0), weight)
    H = np.eye(30) - np.outer(np.ones(30), weight / weight.sum())
    copies = np.repeat(np.arange(30), weight.astype(int))
    many = DenseKernel((H @ K @ H.T)[np.ix_(copies, copies)])
    labels = np.arange(30) % 3
    assert_allclose(operator.cluster_sums(labels, 3), many.cluster_sums(labels[copies], 3), atol=1e-9)
    assert_allclose(operator.squared_norm(), many.squared_norm(), rtol=1e-9)


@every_operator
def test_sketches_are_rows_or_nearly(name):
    operator, K, _ = example(name, m=700)
    some = np.arange(0, 700, 2)
    sketch = operator.sketch(some)
    assert_allclose(sketch, K[some], atol=0.2 * np.abs(K).max())
    operator @ np.ones((700, 1))  # after a pass nothing is left to guess
    assert_allclose(operator.sketch(some), K[some], atol=1e-9)


# -- whole fits -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ByRows(Source):
    """New samples are numbers of fitted ones: their sums by the definition."""

    def combination(self, operator, C, image=None):
        return Sums(operator, C)


@dataclass(frozen=True)
class Sums(NewSamples):
    operator: KernelOperator
    C: np.ndarray

    def both(self, X_new):
        return self.operator.rows(X_new) @ self.C, self.operator.diagonal()[X_new]


def fitted(operator, structure="ring:4", known=None, **request):
    """How sure the order is depends on the operator alone: it is judged once."""
    confidence = known is None and not request
    terms = {"objective": Dependence(**{"rho": 0.0} | request), "solver": Greedy(n_init=3)}
    asked = engine.FitConfig(as_structure(structure), **terms, confidence=confidence, random_state=0)
    return engine.fit(engine.InMemory(None, operator.weight, known, FittedKernel(operator, ByRows())), asked)


@every_operator
@weightings
@pytest.mark.parametrize("structure", ["flat:3", "ring:4", "tree:((a,b),c)"])
def test_a_fit_and_its_predictions_are_those_of_the_matrix(name, weighting, structure, few_starts):
    operator, K, weight = example(name, weighting, 40)
    links = {"must_link": [(0, 1), (2, 3)], "cannot_link": [(0, 2)]}
    known = make_constraints(weight, as_structure(structure).n_clusters, **links)
    for request in ({}, {"loss": "structure", "normalize": "l1"}):
        for constraints in (None, known):
            found = fitted(operator, structure, constraints, **request)
            plain = fitted(DenseKernel(K, weight), structure, constraints, **request)
            assert_array_equal(found.labels, plain.labels)
            assert_allclose(found.value, plain.value, rtol=1e-8, atol=1e-10)
            Pi = one_hot(found.labels, len(found.n), weight)
            assert_allclose(found.value, found.objective.value(Pi.T @ K @ Pi, Pi.sum(axis=0)), rtol=1e-8, atol=1e-10)
            assert found.value <= found.size_bound * (1 + 1e-9)
            new = np.array([5, 0, 39, 5])
            ruling = flat_objective(found.objective) if found.solution.placed else found.objective
            M, h = ruling.slopes(Pi.T @ K @ Pi, Pi.sum(axis=0))
            rises = found.prediction().rises(new)
            assert_allclose(rises, (K[new] @ Pi) @ M + h, atol=1e-8 * np.abs(rises).max())
            inside = found.prediction().explained(np.arange(40), weight)
            assert_allclose(inside, plain.prediction().explained(np.arange(40), weight), rtol=1e-8)


@every_operator
def test_neither_passes_nor_fits_make_another_matrix(name):
    m = 2000
    operator = example(name, m=m)[0]
    labels, whole = np.arange(m) % 4, 8 * m * m

    def peak(work):
        tracemalloc.start()
        work()
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    V = np.random.default_rng(0).standard_normal((m, 4))
    assert peak(lambda: operator @ V) < 0.8 * whole
    assert peak(lambda: operator.label_sums(labels, 4)) < 0.8 * whole
    assert peak(operator.diagonal) < 0.8 * whole
    assert peak(operator.squared_norm) < 0.8 * whole
    assert peak(lambda: fitted(operator, "flat:4")) < 0.8 * whole


@every_operator
@weightings
def test_what_is_said_to_be_centred_is(name, weighting):
    operator, K, weight = example(name, weighting)
    assert operator.centred
    assert_allclose(operator @ weight[:, None], 0, atol=1e-10 * np.abs(K).max() * weight.sum())


def test_kernels_scaled_sample_by_sample_are_no_longer_centred():
    """Clusters then have c directions, and F is bounded by c eigenvalues."""
    rng = np.random.RandomState(0)
    kernel = LowRankKernel(rng.standard_normal((40, 5)))
    scaled = ScaledKernel(kernel, 1 / np.sqrt(kernel.diagonal()))
    assert not scaled.centred and not DenseKernel(np.eye(3), center=False).centred
    assert ScaledKernel(kernel, np.full(40, 2.0)).centred
    both = WeightedSumKernel([kernel, scaled], [1.0, 1.0])
    assert not both.centred and WeightedSumKernel([kernel, scaled], [1.0, 0.0]).centred
    assert not WeightedSumKernel([kernel], [1.0], rng.uniform(1, 2, (40, 1))).centred
    labels = np.arange(40) % 4
    clusters = np.eye(4)[labels] + 0.01 * rng.standard_normal((40, 4))
    found = fitted(LowRankKernel(clusters, center=False), "flat:4")
    assert len(found.spectrum.bounds) == 4
    assert 0.99 * found.upper_bound < found.value <= found.upper_bound
