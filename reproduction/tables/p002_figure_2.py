"""Song, Smola, Gretton and Borgwardt (2007), figure 2: is the right kernel the most stable one?"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelclust import stability_bound
from reproduction.frame import CLAIM, MADE, Column, Result, Work
from reproduction.tables import p002_figure_1 as figure_1
from reproduction.tables._methods import gram

TITLE = "gamma of theorem 1 against the size of a perturbation, for three kernels"
STATE, REPEATS = MADE, 10
WHY = (
    "Sets made by the paper's description (150 samples), normal noise added to the samples. The paper shows curves, no "
    "numbers; it says: rbf and graph alike on Collinear (taken as: one of them is lowest), graph lowest on Ring, "
    "polynomial on XOR."
)
KERNELS = {name: figure_1.KERNELS[name] for name in ("rbf", "graph", "polynomial")}
LOWEST = {"Collinear": ("rbf", "graph"), "Ring": ("graph",), "XOR": ("polynomial",)}
NOISES = (0.05, 0.1, 0.2, 0.3)
COLUMNS = {"as the paper says": CLAIM, **{kernel: Column("", 1.0) for kernel in KERNELS}}
PAPER = {f"{name}, noise {noise}": {"as the paper says": 1.0} for name in figure_1.SETS for noise in NOISES}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    name, noise = row.split(", noise ")
    rng = np.random.default_rng(seed)
    X, y = figure_1.SETS[name](150, rng)
    moved, c = X + float(noise) * rng.standard_normal(X.shape), int(y.max()) + 1
    found = {
        kernel: stability_bound(gram(X, c, **settings), y, gram(moved, c, **settings)).gamma
        for kernel, settings in KERNELS.items()
    }
    return {"as the paper says": min(found, key=lambda one: found[one]) in LOWEST[name], **found}


def draw(figure: Any, result: Result, work: Work) -> None:
    at = {(cell.row, cell.column): cell.value for cell in result.cells}
    for ax, name in zip(figure.subplots(1, 3), figure_1.SETS, strict=True):
        for kernel in KERNELS:
            ax.plot(NOISES, [at[f"{name}, noise {noise}", kernel] for noise in NOISES], "o-", label=kernel)
        ax.set(title=name, xlabel="noise", ylabel="gamma", yscale="log")
        ax.legend()
