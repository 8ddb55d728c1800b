"""Yang, Kwok and Lu (2010), figure 3: accuracy by the rank of the low-rank SDP."""

from __future__ import annotations

from reproduction.frame import CLAIM, STAND_IN, Column, Work
from reproduction.tables import _rank

TITLE = "Effect of the rank r on accuracy"
STATE, REPEATS, QUICK, FILES = STAND_IN, 50, 1, _rank.FILES
WHY = f"{_rank.WHY} It says: r = 1 gets stuck, accuracy rises with r and is flat from about 10."
COLUMNS = {"r = 10 no worse than 1": CLAIM, **{f"r = {rank}": Column("") for rank in _rank.RANKS}}
PAPER = {row: {"r = 10 no worse than 1": 1.0} for row in ("teapot", "face", "coil")}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    accuracies, _ = _rank.by_rank(row, seed, work)
    claim = accuracies[_rank.RANKS.index(10)] >= accuracies[0]
    return dict(zip(COLUMNS, (claim, *accuracies), strict=True))
