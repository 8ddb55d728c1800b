"""Zhong, Pan, Kwok and Tsang (2010), table VI: how far the first-order step is from the regression it approximates."""

from __future__ import annotations

import numpy as np

from kernelclust.objectives import loss_matrix
from kernelclust.structures import as_structure
from reproduction.first_order import first_order_error
from reproduction.frame import FREE, STAND_IN, Column, Work
from reproduction.tables import _sets

TITLE = "Relative errors of the first-order approximation (20) at the true labels"
STATE, REPEATS = STAND_IN, 1
WHY = (
    "Stand-ins of tables I to IV, kernels divided by the number of samples: with a unit diagonal the errors are larger "
    "by orders of magnitude. Printed are the first four values of C; further ones fall by 100 each, as do these. The "
    "errors go as the square of the loss, whose scale is not stated: structured losses here have mean one between "
    "different clusters, which gives about the printed ratio to the zero-one loss (1.2 to 1.4). gamma of (10): the "
    "condition holds for smaller ones, at C = m; at C = 0.1m for ten times as large ones."
)
C = {"C = m": 1.0, "C = 0.1m": 0.1, "C = 0.01m": 0.01, "C = 0.001m": 0.001}
COLUMNS = {**dict.fromkeys(C, Column("lower", 1.0)), "gamma of (10)": FREE}
ORDER = ("face", "WIPO", "teapot", "SCOP K1", "SCOP K2", "SCOP K3")
PRINTED = {  # gamma = 1; a smaller gamma is a smaller C
    "zero-one": [(2.82, 3.77e-2, 3.94e-4, 3.95e-6), (1.26e-2, 1.29e-4, 1.29e-6, 1.29e-8),
                 (4.36e-1, 4.69e-3, 4.74e-5, 4.74e-7), (2.75e-1, 3.04e-3, 3.09e-5, 3.09e-7),
                 (5.27e-1, 6.47e-3, 6.67e-5, 6.70e-7), (2.95e-1, 3.32e-3, 3.38e-5, 3.39e-7)],
    "structure": [(4.26, 5.40e-2, 5.60e-4, 5.62e-6), (1.48e-2, 1.52e-4, 1.52e-6, 1.52e-8),
                  (5.53e-1, 5.88e-3, 5.93e-5, 5.93e-7), (3.47e-1, 3.92e-3, 3.99e-5, 4.00e-7),
                  (6.84e-1, 8.64e-3, 8.95e-5, 8.99e-7), (3.74e-1, 4.32e-3, 4.41e-5, 4.43e-7)],
}  # fmt: skip
PAPER = {
    f"{name}, {loss} loss": dict(zip(C, printed, strict=True))
    for loss, every in PRINTED.items()
    for name, printed in zip(ORDER, every, strict=True)
}
FILES = {row: _sets.FILES[row.split(",")[0]] for row in PAPER if row.split(",")[0] in _sets.FILES}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    name, loss = row.removesuffix(" loss").split(", ")
    K, y, structure = _sets.SETS[name](work)
    Delta = loss_matrix(loss, as_structure(structure))
    assert Delta is not None  # both names are losses
    Delta = Delta / Delta[~np.eye(len(Delta), dtype=bool)].mean()
    found = {column: first_order_error(K / len(K), y, structure, loss=Delta, C=c) for column, c in C.items()}
    errors = {column: one.relative_error for column, one in found.items()}
    return errors | {"gamma of (10)": found["C = m"].gamma_limit}
