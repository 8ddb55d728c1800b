"""Kernels are exact to 1e-6 at any spread that floating point can hold, against extended precision."""

import numpy as np
import pytest
from parts import kernels
from scipy import sparse
from sklearn import config_context

from kernelclust import KernelKMeans
from kernelclust.kernels import Nystroem, fit_kernel, kernel_class

pytestmark = pytest.mark.usefixtures("few_starts")

m = 60
rng = np.random.default_rng(0)
noise = rng.standard_normal((m, 5))
centres = rng.uniform(-1, 1, (10, 5))[np.arange(m) % 10]
SAMPLES = {
    "plain": noise,
    "spread 1e3": 1e3 * centres + noise,
    "spread 1e4": 1e4 * centres + noise,
    "spread 1e9": 1e9 * centres + noise,
    "a column of 1e9": np.c_[noise, 1e9 * rng.standard_normal(m)],
    "a constant column of 1e9": np.c_[noise, np.full(m, 1e9)],
    "two places 1e12 apart": np.c_[noise, np.where(np.arange(m) % 2, 1e12, -1e12)],
    "small": 1e-9 * noise,
}
FUNCTIONS = {
    "rbf": lambda X, gamma: np.exp(-gamma * np.square(X[:, None] - X).sum(axis=2)),
    "laplacian": lambda X, gamma: np.exp(-gamma * np.abs(X[:, None] - X).sum(axis=2)),
    "polynomial": lambda X, gamma: (gamma * (X[:, None] * X).sum(axis=2) + 1) ** 3,
}


def error(operator, X, kernel, gamma):
    """Largest error of an entry beside sqrt(K_ii K_jj)."""
    K = FUNCTIONS[kernel](X.astype(np.longdouble), np.longdouble(gamma))
    own = np.sqrt(np.diagonal(K))
    return float((np.abs(operator.affinity(np.eye(m)) - K) / np.outer(own, own)).max())


@pytest.mark.parametrize("kernel", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SAMPLES)
def test_entries_at_any_spread(name, dtype, kernel):
    X = SAMPLES[name].astype(dtype)
    for gamma in ("scale", 0.5, 1e-6) if name != "small" else ("scale", 0.5e18):
        for kept, as_sparse in [(1024, False), (0, False), (1024, True)]:  # stored, tiled, sparse
            if as_sparse and kernel == "laplacian":
                continue
            Z = sparse.csr_matrix(X) if as_sparse else X
            with config_context(working_memory=kept):
                width = {"gamma": gamma} if kernel_class(kernel).has_gamma else {}
                options = {"kernel": kernel_class(kernel)(**width), "approximation": None, "center": False}
                fitted = fit_kernel(Z, np.ones(m), rng=np.random.RandomState(0), **options)
            assert error(fitted.operator, X, kernel, fitted.gamma) < 1e-6
        if name != "a constant column of 1e9":
            options |= {"approximation": Nystroem(m)}
            fitted = fit_kernel(X, np.ones(m), rng=np.random.RandomState(0), **options)
            assert error(fitted.operator, X, kernel, fitted.gamma) < 1e-6


@pytest.mark.parametrize("kernel", kernels(pairwise=False))
@pytest.mark.filterwarnings("ignore:the views of X")
def test_sparse_samples_in_single_precision(kernel):
    """The natural width once needed weights of the samples' own precision."""
    X = sparse.csr_matrix(np.maximum(noise, 0).astype(np.float32))
    single, double = (KernelKMeans(3, kernel=kernel, random_state=0).fit(Z) for Z in (X, X.astype(np.float64)))
    close = 1e-5 if kernel != "auto" else 0.05  # neighbours at nearly the same distance change places
    assert single.objective_ == pytest.approx(double.objective_, rel=close)


@pytest.mark.parametrize("approximation", [None, "nystroem", "cholesky"])
def test_a_polynomial_that_loses_samples_in_rounding_says_so(approximation):
    with pytest.raises(ValueError, match="loses the differences between samples"):
        KernelKMeans(3, kernel="polynomial", approximation=approximation).fit(noise + 1e9)
