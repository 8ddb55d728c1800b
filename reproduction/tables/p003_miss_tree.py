"""A miss of figure 6 of Yang, Kwok and Lu (2010): does the error depend on the depth of the leaves of the tree?"""

from __future__ import annotations

from reproduction.frame import STAND_IN, Column, Work
from reproduction.tables import _localization

TITLE = "Testing error of protein localisation with no tree, the levelled tree and the uneven one"
STATE, REPEATS, QUICK = STAND_IN, 5, 1
WHY = (
    "Stand-in of 003-figure-6. Levelled: all leaves at one depth, as (3.7) assumes; uneven: EXT, (MIT, (CYT, NUC)) as "
    "drawn, so that A_ii is 1, 2, 3 and 3. Two groups: ((EXT), (MIT, CYT, NUC))."
)
TREES = {
    "no tree": "flat:4",
    "levelled": _localization.TREE,
    "uneven": "tree:(EXT,(MIT,(CYT,NUC)))",
    "two groups": "tree:((EXT),(MIT,CYT,NUC))",
}
COLUMNS = {f"{name} %": Column("") for name in TREES}
PAPER: dict[str, dict[str, float]] = {f"{n} labels": {} for n in _localization.LABELS}
FILES = dict.fromkeys(PAPER, _localization.FILE)


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    found = _localization.errors(int(row.split()[0]), seed, work, TREES)
    return {f"{name} %": 100 * error for name, error in found.items()}
