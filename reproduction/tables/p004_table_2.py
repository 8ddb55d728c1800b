"""Liu, Dou, Yin, Wang and Zhu (2016), table 2: ACC of nine ways to combine kernels."""

from __future__ import annotations

from reproduction.frame import STAND_IN, Work
from reproduction.tables._multikernel import COLUMNS, WHY, files, scores, table

__all__ = ["COLUMNS", "WHY"]

TITLE = "ACC of multiple kernel clustering, in %"
STATE, REPEATS, QUICK = STAND_IN, 50, 1
PAPER = table(
    {  # A-MKKM, SB-KKM, MKKM, LMKKM, RMKKM, CRSC, RMSC, RMKC, proposed
        "Flower17": (51.03, 42.06, 45.37, 42.94, 48.38, 52.72, 53.90, 52.35, 60.00),
        "Digital": (88.75, 75.40, 47.00, 47.00, 40.45, 84.80, 90.40, 88.90, 90.95),
        "ProteinFold": (28.10, 33.86, 27.23, 23.49, 26.95, 34.87, 33.00, 28.82, 37.32),
    }
)
FILES = files(PAPER)


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    return scores(row, 0, seed, work)
