"""A miss of tables III and IV of Zhao, Kwok and Zhang (2009): how good can a linear split of ringnorm be?"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy
from scipy.stats import norm
from sklearn.cluster import KMeans

from kernelclust import MaxMarginClustering
from reproduction.data import ringnorm as made_ringnorm
from reproduction.frame import EXACT, Column, Work
from reproduction.tables import _margin

TITLE = "The best linear splits of ringnorm that true classes can choose"
STATE, REPEATS = EXACT, 1
WHY = (
    "Population: along a unit direction the classes are N(0, 4) and N(m, 1) with m at most 2; the best threshold at "
    "m = 2. Fitted: a direction and a threshold fitted to the true classes of 1000 samples by hill climbing (the best "
    "of 3 climbs), which overfits and is a lower bound of the best. rbf: the library's defaults, without labels. "
    "406 or 594 wide: so many of the 1000 samples are of the class N(0, 4), because these class sizes fit the printed "
    "numbers (001-miss-printed). k-means: mean of ten draws, one random initialization each. Printed for MMC-multi, "
    "said to be linear and without labels: NMI 0.422, Rand index 0.676; for k-means 0.199 and 0.635."
)
DRAWS = {"first 1000": None, **{f"draw {one}": one for one in range(1, 7)}}
WIDE = {"406 wide": 406, "594 wide": 594}
COLUMNS = {"NMI": Column("", 1.0), "Rand": Column("", 1.0)}
PAPER: dict[str, dict[str, float]] = {
    "population": {},
    **{f"population, {name}": {} for name in WIDE},
    **{f"fitted, {draw}": {} for draw in (*DRAWS, *WIDE)},
    "fitted, made": {},
    **{f"k-means, {name}": {} for name in WIDE},
    "rbf, first 1000": {},
}
FILES = {row: "ringnorm" for row in PAPER if not row.startswith("population") and row != "fitted, made"}
STEPS, CLIMBS = 6000, 3


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    what, _, name = row.partition(", ")
    if what == "population":
        thresholds = np.linspace(-6, 8, 1401)
        shares = np.array([[WIDE.get(name, 500)], [1000 - WIDE.get(name, 500)]]) / 1000
        below = shares * np.array([norm.cdf(thresholds, 0, 2), norm.cdf(thresholds, 2, 1)])
        return dict(zip(COLUMNS, (best.max() for best in split_scores(below)), strict=True))
    if what == "k-means":
        runs = [_labels_of_kmeans(*_samples(name, one, work), one) for one in range(2 if work.quick else 10)]
        return {column: float(np.mean([_margin.MEASURES[column.lower()](*run) for run in runs])) for column in COLUMNS}
    X, y = _samples(name, seed, work)
    if what == "rbf":
        labels = MaxMarginClustering(loss="nmi", kernel="rbf", random_state=seed).fit_predict(X)
        return {column: _margin.MEASURES[column.lower()](y, labels) for column in COLUMNS}
    steps = 50 if work.quick else STEPS
    return {
        column: max(climb(X, y == y.max(), at, steps, np.random.default_rng(one)) for one in range(CLIMBS))
        for at, column in enumerate(COLUMNS)
    }


def _samples(name: str, seed: int, work: Work) -> tuple[np.ndarray, np.ndarray]:
    """Return 1000 samples and their classes: made, or of the set."""
    if name == "made":
        return made_ringnorm(1000, np.random.default_rng(seed))
    data = work.data("ringnorm")
    X, y = data["X"].astype(float), data["y"].astype(int)
    n = min(1000, len(y))
    if name in WIDE:
        wide = y == max(np.unique(y), key=lambda one: X[y == one].std())
        n_wide, rng = n * WIDE[name] // 1000, np.random.default_rng(seed)
        parts = [rng.choice(np.flatnonzero(one), size, False) for one, size in ((wide, n_wide), (~wide, n - n_wide))]
        rows = np.concatenate(parts)
    else:
        rows = np.arange(n) if DRAWS[name] is None else np.random.default_rng(DRAWS[name]).choice(len(y), n, False)
    return X[rows], y[rows]


def _labels_of_kmeans(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return y, KMeans(2, init="random", n_init=1, random_state=seed).fit_predict(X)


def split_scores(below: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return NMI and Rand index for every threshold; `below` (2, thresholds) is the share of each class below it."""
    return table_scores(np.stack([below, below[:, -1:] - below]))


def table_scores(tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return NMI and Rand index of tables of shares (side, class, table); pairs are drawn with replacement."""
    sides, classes = tables.sum(axis=1), tables.sum(axis=0)
    entropies = [-xlogy(one, one).sum(axis=0) for one in (sides, classes)]
    information = xlogy(tables, tables).sum(axis=(0, 1)) + sum(entropies)
    root = np.sqrt(entropies[0] * entropies[1])
    nmi = np.divide(information, root, out=np.zeros_like(root), where=entropies[0] > 1e-6)
    rand = 1 - (sides**2).sum(axis=0) - (classes**2).sum(axis=0) + 2 * (tables**2).sum(axis=(0, 1))
    return nmi, rand


def climb(X: np.ndarray, positive: np.ndarray, at: int, steps: int, rng: np.random.Generator) -> float:
    """Return the best score (0: NMI, 1: Rand index) of a split across a direction that climbs by random steps."""
    n, X = len(X), X - X.mean(axis=0)

    def value(w: np.ndarray) -> float:
        ordered = positive[np.argsort(X @ w)]
        below = np.stack([np.cumsum(ordered), np.cumsum(~ordered)]) / n
        return float(split_scores(below)[at].max())

    w = X[positive].mean(axis=0) - X[~positive].mean(axis=0)
    w /= np.linalg.norm(w)
    best, size = value(w), 1.0
    for _ in range(steps):
        step = w + size * rng.standard_normal(len(w)) / np.sqrt(len(w))
        step /= np.linalg.norm(step)
        found = value(step)
        if found > best:
            w, best, size = step, found, min(1.5 * size, 1.0)
        else:
            size = max(0.98 * size, 0.01)
    return best
