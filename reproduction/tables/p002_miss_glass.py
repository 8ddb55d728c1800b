"""A miss of table 1 of Song, Smola, Gretton and Borgwardt (2007): which kernel gives the printed errors on glass?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import minmax_scale

from kernelclust import KernelKMeans
from kernelclust.metrics import clustering_accuracy
from reproduction.frame import EXACT, Column, Work
from reproduction.tables._methods import standardized

TITLE = "Errors on glass by the scaling of columns and the width of the kernel"
STATE, REPEATS = EXACT, 1
WHY = (
    "The paper does not say which kernel. gamma is in units of 1 over the total variance; the table has standardised "
    "columns and gamma = 1. Printed: 51.4 %."
)
SCALINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "as given": lambda X: X,
    "standardised": standardized,
    "in [0, 1]": minmax_scale,
}
GAMMAS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)
COLUMNS = {f"gamma = {gamma:g}": Column("") for gamma in GAMMAS}
PAPER: dict[str, dict[str, float]] = {scaling: {} for scaling in SCALINGS}
FILES = dict.fromkeys(PAPER, "glass")


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    data = work.data("glass")
    X, y = work.few(SCALINGS[row](data["X"].astype(float)), data["y"].astype(int), seed)
    c, unit = len(np.unique(y)), 1 / X.var(axis=0).sum()
    errors = []
    for gamma in GAMMAS:
        model = KernelKMeans(c, kernel="precomputed", init="spectral", approximation=None, random_state=seed)
        errors.append(100 * (1 - clustering_accuracy(y, model.fit_predict(rbf_kernel(X, gamma=gamma * unit)))))
    return dict(zip(COLUMNS, errors, strict=True))
