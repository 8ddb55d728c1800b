"""Zhong, Pan, Kwok and Tsang (2010), figure 4: the dendrogram of the faces and the clusters cut from it."""

from __future__ import annotations

from typing import Any

from scipy.cluster.hierarchy import dendrogram, linkage

from kernelclust.kernels import DenseKernel
from kernelclust.metrics import level_accuracies
from reproduction.baselines import tree_linkage
from reproduction.baselines.linkage import pair_distances
from reproduction.frame import STAND_IN, Column, Result, Work
from reproduction.tables._sets import face
from reproduction.tables._structured import LINKAGES

TITLE = "Dendrograms of the faces, and the clusters traced down them"
STATE, REPEATS = STAND_IN, 1
WHY = (
    "Stand-in of 000-table-3. The paper shows one dendrogram, its top 30 branches, without numbers; here are those of "
    "three linkages, and how many faces the cut along the tree has right."
)
COLUMNS = {"level 1 %": Column(""), "level 2 %": Column("")}
PAPER: dict[str, dict[str, float]] = {method: {} for method in LINKAGES}
FILES = dict.fromkeys(PAPER, "umist_faces")


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    K, y, tree = face(work)
    accuracies = level_accuracies(y, tree_linkage(K, tree, LINKAGES[row]), tree)
    return dict(zip(COLUMNS, (100 * share for share in accuracies), strict=True))


def draw(figure: Any, result: Result, work: Work) -> None:
    distances = pair_distances(DenseKernel(face(work)[0]))
    for ax, (row, method) in zip(figure.subplots(len(LINKAGES), 1), LINKAGES.items(), strict=True):
        dendrogram(linkage(distances, method), p=30, truncate_mode="lastp", no_labels=True, ax=ax)
        ax.set_title(row, fontsize=8)
