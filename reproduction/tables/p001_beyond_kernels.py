"""Beyond Zhao, Kwok and Zhang (2009): what other kernels do on the sets of tables III to V, without labels."""

from __future__ import annotations

from typing import Any

from sklearn.cluster import KMeans

from kernelclust import MaxMarginClustering
from kernelclust.margin import CuttingPlane
from reproduction.frame import EXACT, Column, Work
from reproduction.tables import _margin

TITLE = "NMI of max-margin clustering without labels, with other kernels"
STATE, REPEATS, QUICK = EXACT, 3, 1
WHY = (
    "The library's defaults (linear, loss NMI), with the error rate, a bias, or another kernel; seeds shuffle the "
    "samples and start the search. k-means: ten restarts. Data as in 001-table-3; text: tf-idf, of which linear "
    "fits use the 100 leading directions."
)
WAYS: dict[str, dict[str, Any]] = {
    "linear": {},
    "error rate": {"loss": "error"},
    "bias": {"bias": True},
    "rbf": {"kernel": "rbf"},
    "graph": {"kernel": "graph"},
    "auto": {"kernel": "auto"},
}
COLUMNS = {name: Column("", 1.0) for name in ("k-means", *WAYS)}
PAPER: dict[str, dict[str, float]] = {row: {} for row in _margin.ROWS if row != _margin.MADE}
FILES = _margin.FILES


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    X, y = _margin.load(row, seed, work)
    nmi = _margin.MEASURES["nmi"]
    found = {"k-means": nmi(y, KMeans(2, n_init=10, random_state=seed).fit_predict(X))}
    for name, given in WAYS.items():
        solver = CuttingPlane(n_init=2 if work.quick else 10)
        settings: dict[str, Any] = {"loss": "nmi", "solver": solver, "random_state": seed} | given
        model = MaxMarginClustering(**settings)
        found[name] = nmi(y, model.fit_predict(X))
    return found
