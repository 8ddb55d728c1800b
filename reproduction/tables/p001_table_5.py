"""Zhao, Kwok and Zhang (2009), table V: max-margin clustering by the F measure (beta 1.5)."""

from __future__ import annotations

from reproduction.frame import EXACT, Work
from reproduction.tables._margin import COLUMNS, FILES, STAND_INS, WHY, scores, table

__all__ = ["COLUMNS", "FILES", "STAND_INS", "WHY"]

TITLE = "F measure of max-margin clustering and its rivals"
STATE, REPEATS, QUICK = EXACT, 50, 1
PAPER = table(
    [  # KM, NC, MMC-uni, MMC-multi
        (0.994, 0.503, 1.00, 1.00),
        (0.940, 0.549, 1.00, 1.00),
        (0.904, 0.544, 0.945, 0.961),
        (0.835, 0.498, 0.956, 0.962),
        (0.594, 0.652, 0.627, 0.672),
        (0.689, 0.685, 0.688, 0.724),
        (0.706, 0.644, 0.897, 0.900),
        (0.944, 0.942, 0.978, 0.986),
        (0.761, 0.887, 0.907, 0.940),
        (0.762, 0.849, 0.931, 0.970),
    ]
)


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    return scores(row, "f", seed, work)
