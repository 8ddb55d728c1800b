"""Beyond Liu, Dou, Yin, Wang and Zhu (2016): the views of Digital side by side, and the discrete moves by lambda."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score

from kernelclust import KernelKMeans, MultiKernelClustering
from reproduction.frame import STAND_IN, Column, Work
from reproduction.tables._methods import accuracy_and_information, standardized
from reproduction.tables._multikernel import fit, stack

TITLE = "Digital without labels: views side by side, neighbour graphs, and the discrete moves by lambda"
STATE, REPEATS, QUICK = STAND_IN, 3, 1
WHY = (
    "Adjusted Rand index of three views (fou, pix, mor) and of all six; kernels of 004-table-2 for the rows of lambda, "
    "of the k-means run of lowest inertia out of 50, without and with the discrete moves. Seeds start the methods."
)
VIEWS = {"three views": ("X_fou", "X_pix", "X_mor"), "six views": ()}
Method = Callable[[list[np.ndarray], int], np.ndarray]


def _side_by_side(model: Callable[[int], KMeans | SpectralClustering | KernelKMeans], even: bool = False) -> Method:
    def labels(views: list[np.ndarray], seed: int) -> np.ndarray:
        X = np.hstack([view / np.sqrt(view.shape[1]) if even else view for view in views])
        return np.asarray(model(seed).fit_predict(X))

    return labels


def _views(**given: Any) -> Method:
    return lambda views, seed: MultiKernelClustering(
        10, random_state=seed, compute_confidence=False, **given
    ).fit_predict(views)


def _spectral(seed: int) -> SpectralClustering:
    return SpectralClustering(10, affinity="nearest_neighbors", n_neighbors=10, random_state=seed)


METHODS: dict[str, Method] = {
    "side by side, k-means": _side_by_side(lambda seed: KMeans(10, n_init=10, random_state=seed)),
    "side by side, spectral": _side_by_side(_spectral),
    "side by side, even, spectral": _side_by_side(_spectral, even=True),
    "side by side, even, graph": _side_by_side(lambda seed: KernelKMeans(10, kernel="graph", random_state=seed), True),
    "MultiKernelClustering": _views(),
    "MultiKernelClustering, rbf": _views(kernel="rbf"),
    "MultiKernelClustering, graph": _views(kernel="graph"),
    "MultiKernelClustering, diffusion, average": _views(kernel="diffusion", method="average"),
}
POWERS = (-10, -9, -8, -7, -5, 0, 10)
COLUMNS = dict.fromkeys(VIEWS, Column("", 1.0)) | {
    name: Column("") for name in ("acc %", "NMI %", "refined acc %", "refined NMI %")
}
PAPER: dict[str, dict[str, float]] = {
    **{name: {} for name in METHODS},
    **{f"lambda 2^{power}": {} for power in POWERS},
    "lambda auto": {},
}
FILES = dict.fromkeys(PAPER, "mfeat_digital")


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    if row in METHODS:
        data = work.data("mfeat_digital")
        rows, y = work.few(np.arange(len(data["y"])), data["y"].astype(int), 0, 100)
        every = [view for view in data if view.startswith("X_")]
        return {
            name: adjusted_rand_score(
                y, METHODS[row]([standardized(data[view][rows]) for view in names or every], seed)
            )
            for name, names in VIEWS.items()
        }
    lam = row.removeprefix("lambda ")
    found: list[float] = []
    for refine in (False, True):
        given: dict[str, Any] = {
            "lam": "auto" if lam == "auto" else 2.0 ** int(lam[2:]),
            "refine": refine,
            "n_init": 50,
        }
        model = fit("Digital", "proposed", work, random_state=seed, **given)
        found += accuracy_and_information(stack("Digital", work)[1], model.labels_)
    return dict(zip(("acc %", "NMI %", "refined acc %", "refined NMI %"), found, strict=True))
