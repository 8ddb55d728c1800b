"""Yang, Kwok and Lu (2010), figure 7: recall of every location of the cell."""

from __future__ import annotations

from reproduction.frame import CLAIM, STAND_IN, Column, Work
from reproduction.tables._localization import ABSENT, FILE, LABELS, NAMES, WHY, recalls

__all__ = ["ABSENT", "WHY"]

TITLE = "Recall in % of every location by the number of labels, eukaryotic: DIFFRAC, then CLUHSIC"
STATE, REPEATS, QUICK = STAND_IN, 5, 1
COLUMNS = {"EXT gains most": CLAIM, **{f"{name}, {method}": Column("") for name in NAMES for method in ("D", "C")}}
PAPER = {f"{n} labels": {"EXT gains most": 1.0} for n in LABELS}
FILES = dict.fromkeys(PAPER, FILE)


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    plain, tree = (100 * recall for recall in recalls(int(row.split()[0]), seed, work).values())
    every = [value for pair in zip(plain, tree, strict=True) for value in pair]
    return dict(zip(COLUMNS, ((tree - plain).argmax() == 0, *every), strict=True))
