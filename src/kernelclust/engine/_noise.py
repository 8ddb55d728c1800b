"""How well noise is arranged on a structure: what an order is tested against."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from kernelclust._threads import one_thread
from kernelclust.engine._repeats import cluster_means, many_kmeans
from kernelclust.engine._steps import distance_fit, place, steps

DIMENSIONS = (2, 3)
DRAWS = 99  # in each number of dimensions, Gaussian and uniform in turn
SMALL, FEWER = 12, 39  # beyond so many clusters fewer draws
SAMPLES = 15  # a cluster
STARTS = 1
ROUNDS = 5  # of refinement at most
RHO = 2.0


def order_pvalue(A: np.ndarray, fit: float, rank_fit: float) -> float:
    """Share of draws of noise that follow the structure A at least as well: the larger of noise in 2 and 3 dimensions.

    u = (atanh T - mean) / sd + (atanh R - mean) / sd, T and R the correlations of `distance_fit`, means and standard
    deviations over the draws, and p = (1 + number of draws with no smaller u) / (1 + draws). In the plane noise is
    arranged like a ring or a grid more often than in space, beyond which it is less and less.
    """
    told = []
    for draws in noise_fits(A):
        spread = np.where(draws.std(axis=0) > 0, draws.std(axis=0), 1.0)
        u = ((draws - draws.mean(axis=0)) / spread).sum(axis=1)
        own = float(((np.arctanh([fit, rank_fit]) - draws.mean(axis=0)) / spread).sum())
        told.append((1 + int((u >= own - 1e-9).sum())) / (1 + len(u)))
    return float(max(told))


def noise_fits(A: np.ndarray) -> tuple[np.ndarray, ...]:
    """(atanh T, atanh R) of draws of noise (draws, 2), for each number of dimensions; kept for the next fit."""
    return _noise_fits(np.ascontiguousarray(A, dtype=float).tobytes(), len(A))


@lru_cache(maxsize=64)
def _noise_fits(A: bytes, c: int) -> tuple[np.ndarray, ...]:
    kernel, rng = np.frombuffer(A).reshape(c, c), np.random.RandomState(0)
    with one_thread():
        return tuple(_draw(kernel, d, rng) for d in DIMENSIONS)


def _draw(A: np.ndarray, dimensions: int, rng: np.random.RandomState) -> np.ndarray:
    c = len(A)
    shape = (DRAWS if c <= SMALL else FEWER, SAMPLES * c, dimensions)
    X = rng.standard_normal(shape)
    X[1::2] = rng.uniform(-1.0, 1.0, X[1::2].shape)
    X -= X.mean(axis=1, keepdims=True)
    weight = np.ones(shape[:2])
    labels = many_kmeans(X, weight, c, rng, STARTS)
    means, _ = cluster_means(X, weight, labels, c)
    nodes = np.stack([place(A, -_squares(mu)) for mu in means])
    labels = _refined(X, weight, A + RHO * np.eye(c), np.take_along_axis(nodes, labels, axis=1))
    means, _ = cluster_means(X, weight, labels, c)
    found = [distance_fit(_squares(mu), steps(A)) for mu in means]
    return np.arctanh(found)


def _squares(means: np.ndarray) -> np.ndarray:
    return np.asarray(((means[:, None] - means) ** 2).sum(axis=2))


def _refined(X: np.ndarray, weight: np.ndarray, A: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """All samples of a draw moved at once to where F = sum A_jk S_jk / sqrt(n_j n_k) rises fastest, while it does."""
    c, best, kept = len(A), np.full(len(X), -np.inf), labels
    for _ in range(ROUNDS + 1):
        means, n = cluster_means(X, weight, labels, c)
        x = 1 / np.sqrt(np.maximum(n, 1.0))
        sums = means * n[:, :, None]
        pull = A * (sums @ sums.transpose(0, 2, 1)) * x[:, None, :]  # times x_j: the terms of F
        value = np.where((n > 0).all(axis=1), (pull.sum(axis=2) * x).sum(axis=1), -np.inf)
        risen = value > best
        if not risen.any():
            break
        best, kept = np.where(risen, value, best), np.where(risen[:, None], labels, kept)
        M = 2 * A * x[:, :, None] * x[:, None, :]
        labels = (X @ (sums.transpose(0, 2, 1) @ M) - (x**3 * pull.sum(axis=2))[:, None, :]).argmax(axis=2)
    return kept
