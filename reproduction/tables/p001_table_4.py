"""Zhao, Kwok and Zhang (2009), table IV: max-margin clustering by the Rand index."""

from __future__ import annotations

from reproduction.frame import EXACT, Work
from reproduction.tables._margin import COLUMNS, FILES, STAND_INS, WHY, scores, table

__all__ = ["COLUMNS", "FILES", "STAND_INS", "WHY"]

TITLE = "Rand index of max-margin clustering and its rivals"
STATE, REPEATS, QUICK = EXACT, 50, 1
PAPER = table(
    [  # KM, NC, MMC-uni, MMC-multi
        (0.995, 0.504, 1.00, 1.00),
        (0.940, 0.550, 1.00, 1.00),
        (0.904, 0.545, 0.945, 0.961),
        (0.835, 0.500, 0.956, 0.962),
        (0.564, 0.626, 0.599, 0.640),
        (0.635, 0.653, 0.642, 0.676),
        (0.706, 0.644, 0.873, 0.895),
        (0.922, 0.919, 0.971, 0.982),
        (0.499, 0.884, 0.905, 0.939),
        (0.500, 0.842, 0.929, 0.969),
    ]
)


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    return scores(row, "rand", seed, work)
