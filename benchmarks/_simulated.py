"""Smooth noisy data with a known arrangement, made up: months, and random chains, rings and grids."""

from __future__ import annotations

import numpy as np
from real_data import Task

from kernelclust.metrics import structured_accuracy
from kernelclust.objectives import Dependence
from kernelclust.solvers import best_placement, placement_problem
from kernelclust.structures import Structure, as_structure

COLUMNS = (2, 3, 5, 10, 20, 50)
WAVES = ((1, 1.0), (2, 0.35), (3, 0.15))  # (half) waves along a direction, and their sizes


def months(each: int, seed: int) -> Task:
    """A climate: twelve months on a ring in six noisy columns, standardised."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(12), each)
    a = 2 * np.pi * y / 12
    clean = np.column_stack(
        [
            10 - 9 * np.cos(a - 0.5),
            150 - 90 * np.cos(a),
            70 + 20 * np.sin(a),
            11 - 5 * np.cos(a - 1.2),
            40 + 15 * np.cos(a - 0.8),
            np.maximum(0, 100 * np.exp(-((a - 2) ** 2))),
        ]
    )
    X = clean + rng.standard_normal(clean.shape) * [0.8, 12, 10, 0.4, 2, 5]
    return Task((X - X.mean(axis=0)) / X.std(axis=0), y, "ring:12")


def ordinary(rising: int, noise: int, seed: int) -> Task:
    """A table, standardised: columns that rise over five stages, each at its own time and with its own errors, beside
    columns of noise."""
    rng = np.random.default_rng([seed, rising, noise])
    y = np.repeat(np.arange(5), rng.integers(20, 120))
    place = (y + rng.uniform(0, 1, len(y))) / 5
    middle, slope = rng.uniform(0.2, 0.8, rising), rng.uniform(2, 12, rising)
    rises = 1 / (1 + np.exp(-slope * (place[:, None] - middle)))
    rises /= rises.std(axis=0)
    X = np.c_[rises + rng.uniform(0.3, 1.2, rising) * rng.standard_normal(rises.shape), np.zeros((len(y), noise))]
    X[:, rising:] = rng.standard_normal((len(y), noise))
    return Task((X - X.mean(axis=0)) / X.std(axis=0), y, "chain:5")


def noisy(kind: str, seed: int) -> Task:
    """Places on a random curved chain, ring or grid under isotropic noise, such that the nearest true mean is right for
    80 to 99 %: 10 to 60 samples a place, even and uneven, apart or touching, in 2 to 50 columns. Draws whose true
    classes are not placed right by the distances of their means are drawn again."""
    rng = np.random.default_rng([seed, ("ring", "chain", "grid").index(kind)])
    while True:
        task = _draw(kind, rng)
        if task is not None and _placed_right(task):
            order = rng.permutation(len(task.y))
            return Task(task.X[order], task.y[order], task.structure)


def _draw(kind: str, rng: np.random.Generator) -> Task | None:
    rows, columns = (
        (int(rng.integers(2, 4)), int(rng.integers(2, 5))) if kind == "grid" else (1, int(rng.integers(4, 13)))
    )
    c, each = rows * columns, int(rng.integers(10, 60))
    sizes = np.maximum(5, each * (rng.uniform(0.4, 1.6, c) if rng.random() < 0.5 else np.ones(c))).astype(int)
    y = np.repeat(np.arange(c), sizes)
    spread = 0.2 if rng.random() < 0.5 else 1.0  # apart or touching
    place = np.column_stack(np.divmod(y, columns)) + 0.5 + spread * rng.uniform(-0.5, 0.5, (len(y), 2))
    place = place / max(rows, columns) if kind == "grid" else place[:, 1:] / columns
    turns = 2 * np.pi if kind == "ring" else np.pi
    waves = [size * wave(turns * n * place) for n, size in WAVES for wave in (np.cos, np.sin)[: 1 + (kind == "ring")]]
    basis = np.column_stack(waves if kind == "ring" else [*waves, 2 * place])
    d = int(rng.choice(COLUMNS))
    Z = basis @ rng.standard_normal((basis.shape[1], d)) / np.sqrt(d)
    noise, target = rng.standard_normal(Z.shape), rng.uniform(0.8, 0.99)
    offset = rng.normal(0, 2 * Z.std(), d) * (rng.random() < 0.5)
    if _nearest(Z, y) < target:
        return None
    low, high = 0.0, 20 * Z.std()
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (middle, high) if _nearest(Z + middle * noise, y) > target else (low, middle)
    return Task(Z + low * noise + offset, y, f"grid:{rows}x{columns}" if kind == "grid" else f"{kind}:{c}")


def _means(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array([X[y == j].mean(axis=0) for j in range(y.max() + 1)])


def _nearest(X: np.ndarray, y: np.ndarray) -> float:
    """Share of samples whose nearest class mean is their own."""
    return float(np.mean(((X[:, None] - _means(X, y)) ** 2).sum(axis=2).argmin(axis=1) == y))


def _placed_right(task: Task) -> bool:
    structure: Structure = as_structure(task.structure)
    M, n = _means(task.X, task.y), np.bincount(task.y).astype(float)
    node = best_placement(
        placement_problem("distance", Dependence(rho=0.0).bind(structure), (M @ M.T) * np.outer(n, n), n)
    )
    return structured_accuracy(task.y, node[task.y], structure) == 1
