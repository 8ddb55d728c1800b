"""A miss of tables III to V of Zhao, Kwok and Zhang (2009): what does k-means find on text that is not normalised?"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from reproduction.frame import STAND_IN, Column, Work
from reproduction.tables import _margin
from reproduction.tables.p001_miss_preprocessing import UNSCALED, WORDS, _text

TITLE = "k-means on tf-idf whose rows are not scaled to length one"
STATE, REPEATS, QUICK = STAND_IN, 50, 2
WHY = (
    "Another edition of the newsgroups than the paper's, and words of one post or more. One random initialization in "
    "each repetition. Printed for k-means: NMI 0.021 and 0.018, Rand index 0.499 and 0.500, F measure 0.761 and 0.762, "
    "which are those of clusters of 8 and 1972, and of 6 and 1983 posts (001-miss-printed)."
)
COLUMNS = {name: Column("", 1.0) for name in _margin.MEASURES} | {"smaller cluster": Column("")}
PAPER: dict[str, dict[str, float]] = {"Text-1": {}, "Text-2": {}}
FILES = {row: _margin.FILES[row] for row in PAPER}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    X, y = _text(row, WORDS[UNSCALED], work)
    labels = KMeans(2, init="random", n_init=1, random_state=seed).fit_predict(X)
    scores = {name: score(y, labels) for name, score in _margin.MEASURES.items()}
    return scores | {"smaller cluster": float(np.bincount(labels, minlength=2).min())}
