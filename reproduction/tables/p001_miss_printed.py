"""Tables III to V of Zhao, Kwok and Zhang (2009): which two clusters do the printed means describe?"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from sklearn.cluster import KMeans

from reproduction.frame import EXACT, Column, Work
from reproduction.tables import p001_table_3, p001_table_4, p001_table_5
from reproduction.tables._margin import BETA, MEASURES, load
from reproduction.tables.p001_miss_ringnorm import table_scores

TITLE = "The two clusters whose NMI, Rand index and F measure are nearest to the printed means"
STATE, REPEATS = EXACT, 1
WHY = (
    "Every table of two classes by two clusters is tried; distance: the largest difference between its three measures "
    "and the printed ones. The printed numbers are means of 50 runs. If runs differ, the means of the three measures "
    "are in general those of no table; a distance within rounding says that the runs were alike. KM, ours: means of 50 "
    "runs of k-means from single random starts, which differ, as a control. Class sizes are those of the sets (text: "
    "halves of the printed size); ringnorm also with the sizes that fit best."
)
COLUMNS = {name: Column("", 1.0) for name in ("distance", "smaller cluster", "mistakes")}
SIZES = {
    "digits1v7": (182, 179),
    "digits2v7": (177, 179),
    "digits3v8": (183, 174),
    "digits8v9": (174, 180),
    "ionosphere": (126, 225),
    "ringnorm": (500, 500),
    "ringnorm, 406 and 594": (406, 594),
    "letterAvB": (789, 766),
    "satellite": (1533, 703),
    "Text-1": (990, 990),
    "Text-2": (994, 995),
}
METHODS = ("KM", "NC", "MMC-uni", "MMC-multi")
TABLES = (p001_table_3, p001_table_4, p001_table_5)
CONTROL, N_RUNS = "KM, ours", 50
ROWS = [(name, method) for name in SIZES for method in METHODS]
ROWS += [(name, CONTROL) for name in SIZES if name.startswith("digits")]
PAPER: dict[str, dict[str, float]] = {f"{name}: {method}": {} for name, method in ROWS}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    name, method = row.split(": ")
    if method == CONTROL:
        means = _means(name, work)
    else:
        means = [table.PAPER[name.split(",")[0]][method] for table in TABLES]
    tables, scores = _all_tables(*SIZES[name])
    distance = np.max([abs(ours - value) for ours, value in zip(scores, means, strict=True)], axis=0)
    best = int(np.argmin(distance))
    (a, b), (c, d) = tables[:, :, best]
    values = distance[best], min(a + b, c + d), min(a + d, b + c)
    return dict(zip(COLUMNS, map(float, values), strict=True))


def _means(name: str, work: Work) -> list[float]:
    """Return the mean NMI, Rand index and F measure of k-means from 50 single random starts."""
    X, y = load(name, 0, Work(work.data))
    runs = [KMeans(2, init="random", n_init=1, random_state=seed).fit_predict(X) for seed in range(N_RUNS)]
    return [float(np.mean([score(y, labels) for labels in runs])) for score in MEASURES.values()]


@lru_cache(maxsize=1)
def _all_tables(first: int, second: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Return all tables (cluster, class, table) of counts, and their NMI, Rand index and F measure."""
    a, b = (counts.ravel() for counts in np.meshgrid(np.arange(first + 1), np.arange(second + 1), indexing="ij"))
    keep = (a + b > 0) & (a + b < first + second)
    a, b = a[keep], b[keep]
    tables = np.array([[a, b], [first - a, second - b]])
    n = first + second
    pairs = (tables * (tables - 1) / 2).sum(axis=(0, 1))  # in one cluster and one class
    clusters, classes = tables.sum(axis=1), tables.sum(axis=0)
    together, alike = ((sizes * (sizes - 1) / 2).sum(axis=0) for sizes in (clusters, classes))
    rand = 1 - (together + alike - 2 * pairs) / (n * (n - 1) / 2)
    f = (1 + BETA**2) * pairs / (BETA**2 * alike + together)
    nmi = table_scores(tables / n)[0]
    return tables, (nmi, rand, f)
