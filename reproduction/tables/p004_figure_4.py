"""Liu, Dou, Yin, Wang and Zhu (2016), figure 4: the objective at each iteration."""

from __future__ import annotations

import numpy as np

from reproduction.frame import CLAIM, STAND_IN, Column, Work
from reproduction.tables._multikernel import SETS, fit

TITLE = "The objective falls at each iteration and soon stands"
STATE, REPEATS = STAND_IN, 1
WHY = (
    "Stand-ins of 004-table-2, lambda 2^-9. The paper says: it falls, and converges in less than ten iterations (here: "
    "is within 1 % of its end after ten)."
)
COLUMNS = {"never rises": CLAIM, "stands after ten": CLAIM, "iterations": Column("")}
PAPER = {name: {"never rises": 1.0, "stands after ten": 1.0} for name in ("Flower17", "Digital")}
FILES = {row: SETS[row] for row in PAPER}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    values = -np.array(fit(row, "proposed", work, lam=2.0**-9).diagnostics_.history)  # the library maximises
    stands = abs(values[min(10, len(values)) - 1] - values[-1]) <= 0.01 * abs(values[-1])
    falls = np.all(np.diff(values) <= 1e-9 * abs(values[0]))
    return dict(zip(COLUMNS, (falls, stands, len(values)), strict=True))
