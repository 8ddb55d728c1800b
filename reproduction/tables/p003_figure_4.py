"""Yang, Kwok and Lu (2010), figure 4: time by the rank of the low-rank SDP."""

from __future__ import annotations

import numpy as np

from reproduction.frame import CLAIM, STAND_IN, Column, Work
from reproduction.tables import _rank

TITLE = "Effect of the rank r on CPU seconds"
STATE, REPEATS, QUICK, FILES = STAND_IN, 5, 1, _rank.FILES
WHY = f"{_rank.WHY} It says: linear in r (here: a power of r of at most 1.3 fits)."
COLUMNS = {"as the paper says": CLAIM, "power of r": Column(""), **{f"r = {rank}": Column("") for rank in _rank.RANKS}}
PAPER = {row: {"as the paper says": 1.0} for row in ("teapot", "face", "coil")}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    _, seconds = _rank.by_rank(row, seed, work)
    power = np.polyfit(np.log(_rank.RANKS), np.log(seconds), 1)[0]
    return dict(zip(COLUMNS, (power <= 1.3, power, *seconds), strict=True))
