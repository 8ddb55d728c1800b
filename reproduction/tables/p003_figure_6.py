"""Yang, Kwok and Lu (2010), figure 6: errors of semi-supervised protein localisation."""

from __future__ import annotations

from reproduction.frame import CLAIM, STAND_IN, Column, Work
from reproduction.tables._localization import ABSENT, FILE, LABELS, WHY, errors

__all__ = ["ABSENT", "WHY"]

TITLE = "Testing error of protein localisation by the number of labels, eukaryotic"
STATE, REPEATS, QUICK = STAND_IN, 5, 1
COLUMNS = {"CLUHSIC has fewer": CLAIM, "DIFFRAC %": Column(""), "CLUHSIC %": Column("")}
PAPER = {f"{n} labels": {"CLUHSIC has fewer": 1.0} for n in LABELS}
FILES = dict.fromkeys(PAPER, FILE)


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    plain, tree = (100 * share for share in errors(int(row.split()[0]), seed, work).values())
    return dict(zip(COLUMNS, (tree < plain, plain, tree), strict=True))
