"""Zhong, Pan, Kwok and Tsang (2010), figure 6: where the samples of one cluster go."""

from __future__ import annotations

import numpy as np

from reproduction.frame import STAND_IN, Column, Work
from reproduction.tables.p000_figure_5 import FILES, PAPER, labels_and_tree

__all__ = ["FILES", "PAPER"]

TITLE = "Assignments of the ten proteins of one fold: right, within its class, elsewhere"
STATE, REPEATS = STAND_IN, 10
WHY = (
    "Stand-in of 000-table-1, the mean of all twelve kernels, first fold of the first class. The paper shows one run. "
    "It says: with the tree loss fewer go far away."
)
COLUMNS = {"right": Column(""), "within the class": Column(""), "elsewhere": Column("")}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    y, labels, tree = labels_and_tree(row, seed, work)
    found, classes = labels[y == 0], tree.levels()[0]
    right, near = np.sum(found == 0), np.sum(classes[found] == classes[0])
    return dict(zip(COLUMNS, (right, near - right, len(found) - near), strict=True))
