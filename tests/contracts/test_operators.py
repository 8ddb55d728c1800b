"""What every operator promises, run over every file in the folder: online = stored = the explicit formula."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kernelclust.kernels.operators as package
from kernelclust._names import load, names
from kernelclust.kernels import DenseKernel, Kernel, certified, leading_spectrum, one_hot

NAMES = names(package)
every_operator = pytest.mark.parametrize("name", NAMES)
WEIGHTS = {"even": lambda m: np.ones(m), "weighted": lambda m: np.random.default_rng(1).uniform(0.5, 3, m)}
weightings = pytest.mark.parametrize("weighting", WEIGHTS)


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
    assert isinstance(operator, Kernel)
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
    assert_allclose(spectrum.bounds, truth[:2], rtol=0.02)
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
