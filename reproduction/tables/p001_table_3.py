"""Zhao, Kwok and Zhang (2009), table III: max-margin clustering by NMI."""

from __future__ import annotations

from reproduction.frame import EXACT, Work
from reproduction.tables._margin import COLUMNS, FILES, STAND_INS, WHY, scores, table

__all__ = ["COLUMNS", "FILES", "STAND_INS", "WHY"]

TITLE = "NMI of max-margin clustering and its rivals"
STATE, REPEATS, QUICK = EXACT, 50, 1
PAPER = table(
    [  # KM, NC, MMC-uni, MMC-multi
        (0.975, 0.008, 1.00, 1.00),
        (0.801, 0.075, 1.00, 1.00),
        (0.714, 0.069, 0.816, 0.861),
        (0.562, 0.002, 0.845, 0.860),
        (0.072, 0.164, 0.122, 0.197),
        (0.199, 0.220, 0.207, 0.422),
        (0.323, 0.219, 0.695, 0.703),
        (0.771, 0.765, 0.894, 0.923),
        (0.021, 0.722, 0.761, 0.830),
        (0.018, 0.653, 0.808, 0.900),
    ]
)


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    return scores(row, "nmi", seed, work)
