"""Liu, Dou, Yin, Wang and Zhu (2016), figure 3: NMI of the proposed method by lambda."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from reproduction.frame import CLAIM, STAND_IN, Column, Result, Work
from reproduction.tables._multikernel import SETS, fit, rounded, stack

TITLE = "The effect of lambda on NMI"
STATE, REPEATS = STAND_IN, 1
WHY = (
    "Stand-ins of 004-table-2. The paper shows curves: above MKKM over a wide range of smaller lambda. k-means run of "
    "lowest inertia out of 10."
)
POWERS = range(-15, 16)
COLUMNS = {"above MKKM": CLAIM, "NMI %": Column(""), "MKKM %": Column("")}
PAPER: dict[str, dict[str, float]] = {
    f"{name}: 2^{power}": {"above MKKM": 1.0} if power <= 0 else {}
    for name in ("Flower17", "Digital")
    for power in POWERS
}
FILES = {row: SETS[row.split(":")[0]] for row in PAPER}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    name, power = row.split(": 2^")
    y, model = stack(name, work)[1], fit(name, "proposed", work, lam=2.0 ** int(power))
    ours, plain = rounded(model.diagnostics_.embedding, y, seed, 10)[1], _plain(name, seed, work)
    return dict(zip(COLUMNS, (ours > plain, ours, plain), strict=True))


@lru_cache
def _plain(name: str, seed: int, work: Work) -> float:
    return rounded(fit(name, "MKKM", work).diagnostics_.embedding, stack(name, work)[1], seed, 10)[1]


def draw(figure: Any, result: Result, work: Work) -> None:
    at = {(cell.row, cell.column): cell.value for cell in result.cells}
    names = list(dict.fromkeys(cell.row.split(":")[0] for cell in result.cells))
    for ax, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for column in ("NMI %", "MKKM %"):
            ax.plot(POWERS, [at[f"{name}: 2^{power}", column] for power in POWERS], "o-", label=column)
        ax.set(title=name, xlabel="log2 lambda")
        ax.legend()
