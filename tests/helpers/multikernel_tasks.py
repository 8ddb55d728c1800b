"""Kernels of several views of the same clusters, as tasks of multi-kernel methods."""

from itertools import pairwise

import numpy as np

from kernelclust.kernels import DenseKernel
from kernelclust.multikernel import Task, correlation_matrix, prepare


def gaussian(X, width=1.0):
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    return np.exp(-D / (2 * width**2 * np.median(D[np.triu_indices(len(X), 1)])))


def prepared_matrix(K):
    """Centring then unit diagonal, written out."""
    H = np.eye(len(K)) - 1 / len(K)
    K = H @ K @ H
    return K / np.sqrt(np.outer(np.diag(K), np.diag(K)))


def make_matrices(seed=0, n=45, c=3, noise=(0.6, 0.9, 3.0)):
    """Gaussian kernels of views of the same clusters, better and worse."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % c
    return [gaussian(3 * np.eye(c)[labels] + size * rng.standard_normal((n, c))) for size in noise], labels


def make_task(matrices, c=3, *, correlation="trace", **options):
    kernels = [prepare(DenseKernel(K)) for K in matrices]
    return Task(kernels, c, np.random.RandomState(0), correlation_matrix(kernels, correlation), **options)


def falls(history, slack=1e-10):
    return all(b <= a + slack * abs(a) for a, b in pairwise(history))
