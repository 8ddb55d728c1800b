"""Zhong, Pan, Kwok and Tsang (2010), table I: proteins in the tree of SCOP."""

from __future__ import annotations

from reproduction.frame import STAND_IN, Column, Work
from reproduction.tables._sets import SETS, shuffled
from reproduction.tables._structured import ON_TREES, labels_of, tree_scores

TITLE = "Clustering performance on the SCOP data"
STATE, REPEATS = STAND_IN, 10
WHY = (
    "The alignment kernels of 150 proteins are not available. Stand-in: ten proteins of each of 15 folds in 4 classes "
    "(Ding and Dubchak), three means of four kernels each. It has the paper's first two levels, class and fold. "
    "* best of its kernel and column, or not significantly worse (t-test, p >= 0.05; the paper's bold)."
)
COLUMNS = {
    "level 1 %": Column(),
    "level 2 %": Column(),
    "tree loss": Column("lower", 2.0),
    "level 3 %": Column(),
    "tree loss, level 3": Column("lower", 3.0),
}
SIGNIFICANCE = 0.05
ABSENT = {"level 3, superfamilies": "the stand-in has classes and folds only"}
PRINTED = {  # levels 1 and 2, loss at level 2, in the order of the methods
    "K1": [(75.3, 34.7, 0.90), (88.7, 43.3, 0.68), (55.3, 32.7, 1.12), (55.2, 35.2, 1.10), (55.2, 35.2, 1.10),
           (40.9, 31.9, 1.27), (71.0, 47.7, 0.81), (84.9, 54.1, 0.61), (65.9, 44.4, 0.90), (86.6, 53.7, 0.60)],
    "K2": [(54.7, 14.0, 1.31), (54.0, 12.0, 1.34), (72.0, 41.3, 0.87), (51.9, 32.1, 1.17), (51.8, 32.1, 1.17),
           (50.1, 29.6, 1.20), (69.1, 39.0, 0.92), (80.0, 45.5, 0.75), (66.7, 39.3, 0.94), (69.4, 40.1, 0.91)],
    "K3": [(74.0, 29.3, 0.97), (51.3, 28.0, 1.21), (64.7, 34.7, 1.01), (53.2, 35.7, 1.12), (53.2, 35.7, 1.12),
           (36.6, 25.5, 1.38), (58.6, 38.0, 1.03), (71.3, 43.3, 0.86), (75.5, 51.3, 0.73), (76.9, 47.5, 0.76)],
}  # fmt: skip
LEVEL_3 = {  # accuracy and loss, as printed
    "K1": [(32.7, 1.57), (43.3, 1.25), (30.7, 1.81), (35.2, 1.74), (35.2, 1.74), (31.9, 1.95), (47.6, 1.34),
           (53.9, 1.07), (44.1, 1.46), (53.7, 1.06)],
    "K2": [(12.0, 2.19), (10.0, 2.24), (38.0, 1.49), (32.1, 1.84), (32.1, 1.84), (29.6, 1.91), (39.0, 1.53),
           (45.3, 1.29), (38.5, 1.56), (39.6, 1.51)],
    "K3": [(25.3, 1.71), (28.0, 1.93), (32.7, 1.68), (35.7, 1.76), (35.7, 1.76), (25.5, 2.12), (38.0, 1.65),
           (43.2, 1.42), (50.9, 1.22), (47.1, 1.29)],
}  # fmt: skip
PAPER: dict[str, dict[str, float]] = {
    f"{kernel}: {method}": dict(zip(COLUMNS, (*printed, *third), strict=bool(printed)))
    for kernel in PRINTED
    for method, printed, third in zip(ON_TREES, [*PRINTED[kernel], ()], [*LEVEL_3[kernel], ()], strict=True)
}
FILES = dict.fromkeys(PAPER, "proteinfold_12views")


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    kernel, method = row.split(": ", 1)
    K, y, tree = shuffled(SETS[f"SCOP {kernel}"](work), seed)
    return tree_scores(y, labels_of(method, K, tree, seed, 2 if work.quick else 10), tree)
