"""Tables III to V of Zhao, Kwok and Zhang (2009): what they compare, for any of their three measures.

Tuned, as in the paper: the setting of a grid with the best true score, held for all repetitions. A repetition starts
from one random hyperplane, as printed, and the grid is judged by the mean of three such runs of other seeds; a second
column starts from the principal direction, so that its repetitions differ by the order of the samples alone. The
normalised cut takes the best of ten widths (shares of the largest distance); no seed enters it. Label-free: the
library's defaults. MMC-uni has the error rate for its loss, MMC-multi the measure itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score, rand_score
from sklearn.metrics.pairwise import euclidean_distances

from kernelclust import MaxMarginClustering
from kernelclust.margin import CuttingPlane, F
from kernelclust.metrics import pair_f_score
from reproduction.baselines import normalized_cut
from reproduction.data import counts
from reproduction.data import ringnorm as made_ringnorm
from reproduction.frame import Column, Work
from reproduction.tables._methods import best_by_labels

BETA, CHOICE, FEW = 1.5, 1000, 80  # of the F measure; first seed of the runs that choose settings; in a quick run
MEASURES: dict[str, Callable[..., float]] = {
    "nmi": partial(normalized_mutual_info_score, average_method="geometric"),
    "rand": rand_score,
    "f": lambda y, labels: pair_f_score(y, labels, BETA),
}
FORMS: list[dict[str, Any]] = [  # balance in units of 1 / n
    {},  # centred samples
    *({"center": False, "balance": size} for size in (1.0, 10.0, 100.0)),  # as given
    *({"bias": True, "balance": size} for size in (10.0, 30.0, 100.0, 300.0)),  # centred, with a bias
]
GRID = [
    {"kappa": kappa, "tol": tol, **form}
    for kappa, tol, form in product((1.0, 3.0, 10.0, 30.0, 100.0), (0.01, 0.03, 0.1, 0.3), FORMS)
]
QUICK_GRID = [{"kappa": 10.0, "tol": 0.03, **form} for form in FORMS[:2]]
N_CHOICE = 3  # runs that judge a setting
TUNED, OURS = Column("higher", 1.0), Column("", 1.0)
COLUMNS = dict.fromkeys(("KM", "NC", "MMC-uni", "MMC-multi"), TUNED) | dict.fromkeys(
    ("MMC-uni, principal", "MMC-multi, principal", "NC, label-free", "MMC-uni, label-free", "MMC-multi, label-free"),
    OURS,
)
FILES = {
    "ionosphere": "ionosphere",
    "ringnorm": "ringnorm",
    "letterAvB": "letter_AvB",
    "satellite": "satellite_landsat",
    "Text-1": "news20_rec4_counts",
    "Text-2": "news20_rec4_counts",
}
MADE, N_DIRECTIONS = "ringnorm, made", 100
ROWS = ("digits1v7", "digits2v7", "digits3v8", "digits8v9", *FILES, MADE)
STAND_INS = ("Text-1", "Text-2", "ringnorm")
WHY = (
    "Exact but for ringnorm (which 1000 of the 7400 is not stated) and text (another edition, 18846 posts). Settings "
    "are chosen by true labels, as in the paper, on runs of their own; MMC starts at random, as printed; 'principal' "
    "starts from the principal direction; label-free columns are the library's defaults."
)


def table(printed: list[tuple[float, ...]]) -> dict[str, dict[str, float]]:
    """PAPER of one measure: KM, NC, MMC-uni and MMC-multi in the order of the rows."""
    return {row: dict(zip(COLUMNS, one, strict=False)) for row, one in zip(ROWS, [*printed, ()], strict=True)}


def load(row: str, seed: int, work: Work) -> tuple[Any, np.ndarray]:
    """Return the samples and classes of a row, shuffled by the seed."""
    X, y, _ = _samples(row, seed if row == MADE else 0, work)
    return work.few(X, y, seed, FEW)


@lru_cache(maxsize=2)
def _samples(row: str, draw: int, work: Work) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return samples, classes, and the coordinates of centred fits: of text the leading directions in use there."""
    if row.startswith("digits"):
        images, digits = load_digits(return_X_y=True)
        X, y = _pair(images, digits, int(row[6]), int(row[8]))
        return X, y, X
    if row == MADE:
        X, y = made_ringnorm(1000, np.random.default_rng(draw))
        return X, y, X
    data = work.data(FILES[row])
    if row.startswith("Text"):  # (1 + log tf) idf, words of three posts or more
        X, y = _pair(counts(data), data["y"], *((0, 1) if row == "Text-1" else (2, 3)))
        X = TfidfTransformer(sublinear_tf=True).fit_transform(X[:, np.flatnonzero(X.getnnz(axis=0) >= 3)])
        rank = min(N_DIRECTIONS, *(size - 1 for size in X.shape))
        return X, y, PCA(rank, svd_solver="arpack", random_state=0).fit_transform(X)
    X, y = data["X"].astype(float), data["y"].astype(int)
    if row == "satellite":
        names = [str(name) for name in data["class_names"]]
        X, y = _pair(X, y, names.index("red soil"), names.index("cotton crop"))
    X, y = (X[:1000], y[:1000]) if row == "ringnorm" else (X, y)
    return X, y, X


def scores(row: str, measure: str, seed: int, work: Work) -> dict[str, float]:
    """Return all columns of one row."""
    X, y = load(row, seed, work)
    score = MEASURES[measure]
    found = {"KM": score(y, KMeans(2, init="random", n_init=1, random_state=seed).fit_predict(X))}
    shuffled_only = not work.quick and row != MADE
    classes, tuned, free = _cuts(row, 0 if shuffled_only else seed, work)
    found["NC"] = max(score(classes, labels) for labels in tuned)
    found["NC, label-free"] = score(classes, free)
    for name, loss in (("MMC-uni", "error"), ("MMC-multi", measure)):
        for column, init in ((name, "random"), (f"{name}, principal", "principal")):
            setting = best_by_labels(_grid(row, loss, init, work), lambda one: one[1][measure])[0]
            found[column] = score(*_tuned(row, loss, seed, work, init, **setting))
        defaults = margin(loss, seed, n_init=2 if work.quick else "auto")
        found[f"{name}, label-free"] = score(y, defaults.fit_predict(_centred(row, seed, work)))
    return {name: found[name] for name in COLUMNS}


def margin(loss: str, seed: int, C: float | str = "auto", bias: bool = False, **settings: Any) -> MaxMarginClustering:
    """Return the estimator; `settings` are those of its solver."""
    chosen = F(beta=BETA) if loss == "f" else loss
    return MaxMarginClustering(loss=chosen, C=C, bias=bias, solver=CuttingPlane(**settings), random_state=seed)


def _centred(row: str, seed: int, work: Work) -> np.ndarray:
    """Return the coordinates of centred fits, in the order of `load`."""
    _, y, Z = _samples(row, seed if row == MADE else 0, work)
    return work.few(Z, y, seed, FEW)[0]


@lru_cache(maxsize=4)
def _cuts(row: str, seed: int, work: Work) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Return classes, the normalised cuts of the ten widths, and that of the mean squared distance."""
    X, y = load(row, seed, work)
    *tuned, free = cuts(X)
    return y, tuned, free


def cuts(X: Any) -> list[np.ndarray]:
    """Return the normalised cuts of ten widths, shares of the largest distance, and of the mean squared distance."""
    D = euclidean_distances(X, squared=True)
    widths = [share * np.sqrt(D.max()) for share in np.arange(0.1, 1.01, 0.1)]
    gammas = [*(1 / (2 * width**2) for width in widths), 1 / D.mean()]
    return [normalized_cut(np.exp(-gamma * D), 2, random_state=0) for gamma in gammas]


@cache  # the three tables share the grids of the error rate
def _grid(row: str, loss: str, init: str, work: Work) -> list[tuple[dict[str, Any], dict[str, float]]]:
    """Return every setting and its mean scores over runs of their own."""
    seeds = range(CHOICE, CHOICE + (1 if work.quick else N_CHOICE))
    found = []
    for setting in QUICK_GRID if work.quick else GRID:
        runs = [_tuned(row, loss, seed, work, init, **setting) for seed in seeds]
        found.append(
            (setting, {name: float(np.mean([score(*run) for run in runs])) for name, score in MEASURES.items()})
        )
    return found


def _tuned(
    row: str,
    loss: str,
    seed: int,
    work: Work,
    init: str,
    *,
    kappa: float,
    tol: float,
    center: bool = True,
    bias: bool = False,
    balance: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return classes and the labels of one run from one start; C = kappa / n^2, balance in units of 1 / n."""
    X, y = load(row, seed, work)
    limit = None if balance is None else balance / len(y)
    solver = {"n_init": 1, "init": init, "tol": tol, "center": center, "balance": limit}
    model = margin(loss, seed, C=kappa / len(y) ** 2, bias=bias, **solver)
    return y, model.fit_predict(_centred(row, seed, work) if center else X)


def _pair(X: Any, y: np.ndarray, first: int, second: int) -> tuple[Any, np.ndarray]:
    rows = np.flatnonzero((y == first) | (y == second))
    return X[rows], (y[rows] == second).astype(int)
