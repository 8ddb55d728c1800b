"""Song, Smola, Gretton and Borgwardt (2007), figure 1: which kernels see the classes of three artificial sets?"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelclust import KernelKMeans
from kernelclust.kernels import Polynomial
from kernelclust.metrics import clustering_accuracy
from reproduction.data import collinear, ring, xor
from reproduction.frame import CLAIM, MADE, Column, Result, Work
from reproduction.tables._methods import gram

TITLE = "Leading eigenvectors of kernels on Collinear, Ring and XOR"
STATE, REPEATS = MADE, 10
WHY = (
    "Sets made by the paper's description (150 samples). Eigenvectors: the share of their variance that lies between "
    "the classes, 1 is piecewise constant. A kernel sees the classes when spectral start and k-means are 95 % right."
)
SETS = {"Collinear": collinear, "Ring": ring, "XOR": xor}
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf"},
    "graph": {"kernel": "graph"},
    "polynomial": {"kernel": Polynomial(degree=2, coef0=0, gamma=1.0)},
}
SAYS = {  # what the paper says: how many of the two eigenvectors are informative, whether the clusters come out right
    "Collinear, linear": lambda first, second, right: first > 0.8 > second,
    "Collinear, rbf": lambda first, second, right: min(first, second) > 0.8 and right,
    "Ring, rbf": lambda first, second, right: not right,
    "Ring, graph": lambda first, second, right: first > 0.8 and right,
    "XOR, graph": lambda first, second, right: not right,
    "XOR, polynomial": lambda first, second, right: first > 0.8 and right,
}
COLUMNS = {
    "as the paper says": CLAIM,
    "first eigenvector": Column("", 1.0),
    "second eigenvector": Column("", 1.0),
    "accuracy": Column("", 1.0),
}
PAPER = {row: {"as the paper says": 1.0} for row in SAYS}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    _, y, K = _kernel(row, seed)
    vectors = np.linalg.eigh(K)[1][:, :-3:-1]
    first, second = (between(vector, y) for vector in vectors.T)
    c = int(y.max()) + 1
    model = KernelKMeans(c, kernel="precomputed", init="spectral", approximation=None, random_state=seed)
    accuracy = clustering_accuracy(y, model.fit_predict(K))
    claim = SAYS[row](first, second, accuracy >= 0.95)
    return dict(zip(COLUMNS, (claim, first, second, accuracy), strict=True))


def _kernel(row: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    name, kernel = row.split(", ")
    X, y = SETS[name](150, np.random.default_rng(seed))
    return X, y, gram(X, int(y.max()) + 1, **KERNELS[kernel])


def between(vector: np.ndarray, y: np.ndarray) -> float:
    """Share of the variance that lies between classes."""
    means = np.array([vector[y == j].mean() for j in range(y.max() + 1)])
    return float(np.var(means[y]) / np.var(vector))


def draw(figure: Any, result: Result, work: Work) -> None:
    """Samples on the left, two eigenvectors on the right, samples in the order of their classes."""
    for (left, right), row in zip(figure.subplots(len(SAYS), 2), SAYS, strict=True):
        X, y, K = _kernel(row, 0)
        left.scatter(*X.T, c=y, s=4)
        left.set_title(row, fontsize=8)
        right.plot(np.linalg.eigh(K)[1][np.argsort(y, kind="stable"), :-3:-1], lw=0.8)
    figure.set_size_inches(8, 14)
