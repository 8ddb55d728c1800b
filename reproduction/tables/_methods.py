"""Methods and scores that several tables share."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from kernelclust.kernels import RBF, DenseKernel, Kernel, fit_kernel
from kernelclust.metrics import clustering_accuracy
from kernelclust.objectives import Dependence
from kernelclust.solvers import climb, fill_empty
from kernelclust.structures import as_structure
from reproduction.baselines import hierarchical_kmeans


def standardized(X: Any) -> np.ndarray:
    """Columns of mean 0 and variance 1; constant ones left out."""
    X = np.asarray(X, dtype=float)
    return StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])


def gram(X: Any, n_clusters: int, kernel: Kernel | str = "rbf") -> np.ndarray:
    """The centred kernel matrix (m, m)."""
    weight, rng = np.ones(X.shape[0]), np.random.RandomState(0)
    fitted = fit_kernel(X, weight, kernel=kernel, n_clusters=n_clusters, approximation=None, rng=rng)
    return fitted.operator @ np.eye(X.shape[0])


def gaussian(X: np.ndarray) -> np.ndarray:
    """The papers' kernel of pictures (m, m): pixels standardised, exp(-|x - x'|^2 / d)."""
    X = standardized(X)
    return gram(X, 2, RBF(gamma=1 / X.shape[1]))


def algorithm_1(K: np.ndarray, structure: Any, starts: list[np.ndarray], **objective: Any) -> np.ndarray:
    """Algorithm 1 of CLUHSIC: point moves alone, no placement, from every start; the labels of the largest F."""
    F, kernel = Dependence(**{"rho": 0.0} | objective).bind(as_structure(structure)), DenseKernel(K)
    return max((climb(kernel, F, start) for start in starts), key=lambda found: found.value).labels


def random_starts(K: np.ndarray, n_clusters: int, number: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [fill_empty(rng.integers(n_clusters, size=len(K)), K, n_clusters) for _ in range(number)]


def starts_of(K: np.ndarray, structure: str, number: int, seed: int) -> list[np.ndarray]:
    """Return labelings by kernel k-means down a tree, random ones on another structure."""
    if structure.startswith("tree"):
        return tree_starts(K, structure, number, seed)
    return random_starts(K, as_structure(structure).n_clusters, number, seed)


def tree_starts(K: np.ndarray, structure: Any, number: int, seed: int) -> list[np.ndarray]:
    """Return labelings by kernel k-means down the tree, one random start a node; methods share them."""
    return [labels.copy() for labels in _tree_starts(K.tobytes(), len(K), structure, number, seed)]


@lru_cache(maxsize=16)
def _tree_starts(entries: bytes, m: int, structure: Any, number: int, seed: int) -> list[np.ndarray]:
    K, seeds = np.frombuffer(entries).reshape(m, m), range(number * seed, number * (seed + 1))
    return [hierarchical_kmeans(K, structure, n_init=1, random_state=one) for one in seeds]


def best_naming(y: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Labels renamed so that most samples are right, whatever that does to the structure."""
    counts = np.zeros((n_clusters, n_clusters))
    np.add.at(counts, (labels, y), 1)
    return linear_sum_assignment(counts, maximize=True)[1][labels]


def placed(y: np.ndarray, labels: np.ndarray, structure: Any, loss: np.ndarray) -> np.ndarray:
    """Labels renamed for the least loss, as far as the structure allows."""
    made = as_structure(structure)
    counts = np.zeros_like(loss)
    np.add.at(counts, (y, labels), 1)
    return made.align(-(loss.T @ counts))[labels]


def accuracy_and_information(y: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """In %, the second over the larger entropy."""
    information = normalized_mutual_info_score(y, labels, average_method="max")
    return 100 * clustering_accuracy(y, labels), 100 * float(information)


def best_by_labels(settings: list[Any], score: Callable[[Any], float]) -> Any:
    """The setting that the true labels like best: what papers call a grid search."""
    return max(settings, key=score)
