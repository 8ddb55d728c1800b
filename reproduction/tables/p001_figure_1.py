"""Zhao, Kwok and Zhang (2009), figure 1: does the multivariate loss cost time?"""

from __future__ import annotations

import time
from typing import Any

from reproduction.frame import CLAIM, EXACT, Column, Work
from reproduction.tables._margin import FILES, ROWS, STAND_INS, load, margin

__all__ = ["FILES", "STAND_INS"]

TITLE = "CPU seconds of max-margin clustering with error rate and Rand index"
STATE, REPEATS = EXACT, 5
WHY = (
    "Bars without numbers in the paper; it says that both take about as long (here: less than three times the other). "
    "Data as in 001-table-3; linear kernel, one start."
)
COLUMNS = {"as the paper says": CLAIM, "MMC-uni s": Column(""), "MMC-multi s": Column("")}
PAPER = {row: {"as the paper says": 1.0} for row in ROWS}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    X, _ = load(row, seed, work)
    margin("rand", seed, n_init=1).fit(X)  # compiled, and the data in cache
    spent = [min(_seconds(loss, seed, X) for _ in range(3)) for loss in ("error", "rand")]  # the least disturbed
    return dict(zip(COLUMNS, (max(spent) < 3 * min(spent), *spent), strict=True))


def _seconds(loss: str, seed: int, X: Any) -> float:
    start = time.process_time()
    margin(loss, seed, n_init=1).fit(X)
    return time.process_time() - start
