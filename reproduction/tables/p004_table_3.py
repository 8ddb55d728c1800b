"""Liu, Dou, Yin, Wang and Zhu (2016), table 3: NMI of nine ways to combine kernels."""

from __future__ import annotations

from reproduction.frame import STAND_IN, Work
from reproduction.tables._multikernel import COLUMNS, WHY, files, scores, table

__all__ = ["COLUMNS", "WHY"]

TITLE = "NMI of multiple kernel clustering, in %"
STATE, REPEATS, QUICK = STAND_IN, 50, 1
PAPER = table(
    {  # A-MKKM, SB-KKM, MKKM, LMKKM, RMKKM, CRSC, RMSC, RMKC, proposed
        "Flower17": (50.19, 45.14, 45.35, 44.12, 50.73, 52.13, 53.89, 50.42, 57.11),
        "Digital": (80.59, 68.38, 48.16, 48.16, 46.87, 73.51, 81.80, 80.88, 83.87),
        "ProteinFold": (38.53, 42.03, 37.16, 34.92, 38.08, 43.34, 43.92, 39.46, 45.89),
    }
)
FILES = files(PAPER)


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    return scores(row, 1, seed, work)
