"""Zhong, Pan, Kwok and Tsang (2010), figure 5: do mistakes stay within the subtree?"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelclust.structures import as_structure
from reproduction.frame import STAND_IN, Column, Result, Work
from reproduction.tables._methods import placed
from reproduction.tables._sets import scop, shuffled
from reproduction.tables._structured import labels_of

TITLE = "Confusion matrices on the SCOP data, and how many mistakes stay within the class"
STATE, REPEATS = STAND_IN, 10
WHY = (
    "Stand-in of 000-table-1, the mean of all twelve kernels. The paper shows one run of each method; it says: with "
    "the tree loss mistakes stay within the subtree."
)
METHODS = ("complete linkage", "kernel hierarchical k-means", "XWSS", "CLUHSIC", "CLUHSICAL l1, 0-1 loss",
           "CLUHSICAL l1, structured loss")  # fmt: skip
COLUMNS = {"mistakes within the class %": Column(""), "accuracy %": Column("")}
PAPER: dict[str, dict[str, float]] = {method: {} for method in METHODS}
FILES = dict.fromkeys(PAPER, "proteinfold_12views")


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    y, labels, tree = labels_and_tree(row, seed, work)
    near, wrong = tree.levels()[0][y] == tree.levels()[0][labels], labels != y
    return dict(zip(COLUMNS, (100 * near[wrong].mean(), 100 * (1 - wrong.mean())), strict=True))


def labels_and_tree(method: str, seed: int, work: Work) -> tuple[np.ndarray, np.ndarray, Any]:
    K, y, structure = shuffled(scop(work, range(1, 13)), seed)
    tree = as_structure(structure)
    return y, placed(y, labels_of(method, K, structure, seed, 2 if work.quick else 10), structure, tree.loss), tree


def draw(figure: Any, result: Result, work: Work) -> None:
    for ax, method in zip(figure.subplots(2, 3).ravel(), METHODS, strict=True):
        y, labels, tree = labels_and_tree(method, 0, work)
        counts = np.zeros_like(tree.loss)
        np.add.at(counts, (y, labels), 1)
        ax.imshow(counts, cmap="Greys")
        ax.set_title(method, fontsize=8)
