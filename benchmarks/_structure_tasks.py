"""Data sets that the evidence about structures is scored on: without an order, with a chain, and real ones.

`nulls`, `chains` and `real(load)` give tasks; none of them was used to fit weights. `load(name)` opens a data set of
docs/real-data.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import real_data

Rng = np.random.Generator
CELLS = 700  # of a subsample of simulated cells
C = 6  # clusters of the data sets without an order


class Task(NamedTuple):
    """Samples, true classes, and the families that count as right; `links` between classes where they are known."""

    group: str
    X: Any
    y: np.ndarray | None
    n_clusters: int
    families: tuple[str, ...]
    links: np.ndarray | None = None


NO_ORDER = ("flat", "hierarchy")


# -- without an order -------------------------------------------------------------------------------------------------


def _centres(rng: Rng, d: int, *, sizes: bool = False, shapes: bool = False) -> np.ndarray:
    n = rng.multinomial(240, rng.dirichlet(np.full(C, 3.0))) + 6 if sizes else np.full(C, 40)
    y = np.repeat(np.arange(C), n)
    noise = rng.standard_normal((len(y), d))
    if shapes:
        noise = np.concatenate([noise[y == j] * np.exp(0.7 * rng.standard_normal(d)) for j in range(C)])
    return 3 * rng.standard_normal((C, d))[y] + noise


def _autocorrelated(rng: Rng) -> np.ndarray:
    X = rng.standard_normal((240, 5))
    for i in range(1, len(X)):
        X[i] = 0.7 * X[i - 1] + 0.7 * X[i]
    return X


NULLS: dict[str, Callable[[Rng], np.ndarray]] = {
    "equidistant": lambda rng: 3 * np.eye(C)[np.repeat(np.arange(C), 40)] + 0.5 * rng.standard_normal((240, C)),
    "centres 3d": lambda rng: _centres(rng, 3),
    "centres 8d": lambda rng: _centres(rng, 8),
    "centres 50d": lambda rng: _centres(rng, 50),
    "centres 8d, sizes": lambda rng: _centres(rng, 8, sizes=True),
    "centres 8d, shapes": lambda rng: _centres(rng, 8, shapes=True),
    "heavy tails": lambda rng: rng.standard_t(2, (240, 3)),
    "counts": lambda rng: rng.poisson(0.3, (240, 20)).astype(float),
    "duplicates": lambda rng: rng.standard_normal((40, 5))[rng.integers(0, 40, 240)],
    "autocorrelated": _autocorrelated,
    "cloud 2d": lambda rng: rng.standard_normal((240, 2)),
    "cloud 5d": lambda rng: rng.standard_normal((240, 5)),
    "cloud 30d": lambda rng: rng.standard_normal((240, 30)),
}


def nulls(draws: int) -> Iterator[Task]:
    """Data without an order, of 13 kinds."""
    for number, (kind, make) in enumerate(NULLS.items()):
        for seed in range(draws):
            yield Task(kind, make(np.random.default_rng([31, number, seed])), None, C, NO_ORDER)


def chains(draws: int) -> Iterator[Task]:
    """Bent chains of six, with noise of 0.2 to 0.6 steps."""
    y = np.repeat(np.arange(C), 40)
    for noise in (0.2, 0.4, 0.6):
        for seed in range(draws):
            rng = np.random.default_rng([32, int(10 * noise), seed])
            place = y + rng.uniform(-0.3, 0.3, len(y))
            X = np.c_[place, C * rng.uniform(0, 0.5) * np.sin(np.pi * place / C), np.zeros((len(y), 3))]
            yield Task(f"chain, noise {noise}", X + noise * rng.standard_normal(X.shape), y, C, ("chain",))


# -- real -------------------------------------------------------------------------------------------------------------


def cells(load: Callable, name: str, family: str) -> Iterator[Task]:
    """Five subsamples of simulated single cells; the class of a cell is its nearest milestone."""
    data = load(name)
    counts = data["counts"].astype(float)
    total = counts.sum(axis=1, keepdims=True)
    X = np.log1p(counts / total * np.median(total))
    nodes, ends = np.unique(np.c_[data["start"], data["end"]], return_inverse=True)
    start, end = ends.reshape(-1, 2).T
    c, y = len(nodes), np.where(data["share"] >= 0.5, start, end)
    links = np.zeros((c, c), dtype=bool)
    links[start, end] = links[end, start] = True
    np.fill_diagonal(links, False)
    for seed in range(5):
        some = np.random.default_rng(seed).permutation(len(X))[:CELLS]
        U, size, _ = np.linalg.svd(X[some] - X[some].mean(axis=0), full_matrices=False)
        yield Task(name, U[:, :20] * size[:20], y[some], c, (family,), links)


def _sweeps(load: Callable) -> Iterator[Task]:
    for person in real_data.SWEEPING:
        X = real_data.umist_frames(load, person)
        for group, n_sectors, keep in (
            ("UMIST chain 4, gaps", 4, 0.6),
            ("UMIST chain 4", 4, 1.0),
            ("UMIST chain 5", 5, 1.0),
        ):
            frames, y = real_data.sectors(len(X), n_sectors, keep)
            yield Task(group, X[frames], y, n_sectors, ("chain",))
    for thing in real_data.TURNING:
        for group, below, n_sectors, keep, family in (
            ("COIL ring 8, gaps", 360, 8, 5, "ring"),
            ("COIL ring 8", 360, 8, 9, "ring"),
            ("COIL ring 6", 360, 6, 12, "ring"),
            ("COIL chain 5, gaps", 175, 5, 4, "chain"),
            ("COIL chain 5", 175, 5, 7, "chain"),
            ("COIL chain 4", 175, 4, 8, "chain"),
        ):
            X = real_data.coil_poses(load, thing, below)
            frames, y = real_data.sectors(len(X), n_sectors, keep)
            yield Task(group, X[frames], y, n_sectors, (family,))


def _without_order(load: Callable) -> Iterator[Task]:
    sets = {
        "digits_uci_optdigits_test": 10,
        "usps_test": 10,
        "glass": 6,
        "vehicle": 4,
        "segment": 7,
        "vowel": 11,
        "satellite_landsat": 6,
        "yeast_uci": 10,
        "soybean_small": 4,
        "zoo": 7,
    }
    for name, c in sets.items():
        X = load(name)["X"].astype(float)
        X = X[:, np.ptp(X, axis=0) > 0]
        for seed in range(1 if len(X) < 800 else 2):
            some = np.random.default_rng(seed).permutation(len(X))[:700]
            yield Task(name, (X[some] - X.mean(axis=0)) / X.std(axis=0), None, c, NO_ORDER)
    data = load("letter_full")
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = np.flatnonzero(np.isin(data["y"], rng.choice(26, 8, replace=False)))
        yield Task("letters", data["X"][rng.permutation(rows)[:700]].astype(float), None, 8, NO_ORDER)


def real(load: Callable) -> Iterator[Task]:
    """Real data whose structure is known; text with families counts as right when called flat or a hierarchy."""
    yield from cells(load, "trajectory_linear", "chain")
    yield from cells(load, "trajectory_tree", "tree")
    yield from _sweeps(load)
    phases = real_data.cho(load)[0]
    for seed in range(3):
        some = np.random.default_rng(seed).permutation(len(phases.y))[:300]
        yield Task("yeast cell cycle", phases.X[some], phases.y[some], 5, ("ring",))
    for shape in ((2, 3), (3, 2)):
        for task in real_data.news(load, shape, range(4)):
            yield Task("newsgroups", task.X, task.y, 6, NO_ORDER)
    yield from _without_order(load)
