"""A miss of tables III to V of Zhao, Kwok and Zhang (2009): text as the paper prepares it, read literally."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from reproduction.frame import STAND_IN, Column, Work
from reproduction.tables import _margin
from reproduction.tables._methods import best_by_labels
from reproduction.tables.p001_miss_preprocessing import UNSCALED_OF_ALL, WORDS, _given, _text

TITLE = "tf-idf of all four groups whose rows are not scaled to length one, samples not centred"
STATE, REPEATS, QUICK = STAND_IN, 50, 1
WHY = (
    "Another edition of the newsgroups than the paper's. k-means (KM): NMI, Rand index and F measure from one random "
    "initialization in each repetition. Printed: NMI 0.021 and 0.018, Rand index 0.499 and 0.500, F measure 0.761 and "
    "0.762, which are those of clusters of 8 and 1972, and of 6 and 1983 posts (001-miss-printed). NC and max-margin "
    "clustering: NMI, settings by labels as in 001-table-3, but only those that leave samples as given, because "
    "eq. (12) does not centre them. Printed: NC 0.722 and 0.653, MMC-uni 0.761 and 0.808, MMC-multi 0.830 and 0.900."
)
LOSSES = {"MMC-uni": "error", "MMC-multi": "nmi"}
INITS = {"": "random", ", principal": "principal"}
COLUMNS = {f"KM, {name}": Column("", 1.0) for name in _margin.MEASURES} | {"smaller cluster of KM": Column("")}
COLUMNS |= {name: Column("", 1.0) for name in ("NC", *(f"{method}{init}" for method in LOSSES for init in INITS))}
PAPER: dict[str, dict[str, float]] = {"Text-1": {}, "Text-2": {}}
FILES = {row: _margin.FILES[row] for row in PAPER}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    X, y = _samples(row, work)
    labels = KMeans(2, init="random", n_init=1, random_state=seed).fit_predict(X)
    found = {f"KM, {name}": score(y, labels) for name, score in _margin.MEASURES.items()}
    found["smaller cluster of KM"] = float(np.bincount(labels, minlength=2).min())
    found["NC"] = _normalized_cut(row, work)
    for method, loss in LOSSES.items():
        for name, init in INITS.items():
            setting = best_by_labels(_grid(row, loss, init, work), lambda one: one[1])[0]
            found[f"{method}{name}"] = _nmi(row, loss, init, seed, setting, work)
    return found


@cache
def _samples(row: str, work: Work) -> tuple[Any, np.ndarray]:
    return _text(row, WORDS[UNSCALED_OF_ALL], work)


@cache
def _normalized_cut(row: str, work: Work) -> float:
    """Return the NMI of the best of ten widths by labels."""
    X, y = _samples(row, work)
    return max(_margin.MEASURES["nmi"](y, labels) for labels in _margin.cuts(X)[:-1])


@cache
def _grid(row: str, loss: str, init: str, work: Work) -> list[tuple[dict[str, Any], float]]:
    """Return every setting that leaves samples as given, and its mean NMI over runs of other seeds."""
    settings = [one for one in _margin.GRID if not one.get("center", True)]
    seeds = range(_margin.CHOICE, _margin.CHOICE + (1 if work.quick else _margin.N_CHOICE))
    return [
        (one, float(np.mean([_nmi(row, loss, init, seed, one, work) for seed in seeds])))
        for one in (settings[:2] if work.quick else settings)
    ]


def _nmi(row: str, loss: str, init: str, seed: int, setting: dict[str, Any], work: Work) -> float:
    """Return the NMI of one run from one start."""
    X, y = _samples(row, work)
    model = _margin.margin(loss, seed, n_init=1, init=init, **_given(setting, len(y)))
    return _margin.MEASURES["nmi"](y, model.fit_predict(X))
