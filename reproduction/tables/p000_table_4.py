"""Zhong, Pan, Kwok and Tsang (2010), table IV: a turning teapot on a ring."""

from __future__ import annotations

from reproduction.frame import STAND_IN, Column, Work
from reproduction.tables._sets import shuffled, teapot_ring
from reproduction.tables._structured import ON_RINGS, labels_of, ring_scores

TITLE = "Clustering performance on the teapot subset"
STATE, REPEATS = STAND_IN, 10
WHY = (
    "The teapot pictures are not available. Stand-in: a photograph turned full circle, 5 of every 40 steps left out as "
    "in the paper; standardised pixels, exp(-|x - x'|²/d)."
)
COLUMNS = {"accuracy %": Column(), "ring loss": Column("lower", 2.0)}
PRINTED = [(32.32, 1.16), (13.06, 1.54), (65.51, 0.39), (93.83, 0.06), (98.20, 0.02), (55.29, 0.85), (54.71, 0.85), ()]
PAPER = {method: dict(zip(COLUMNS, printed, strict=False)) for method, printed in zip(ON_RINGS, PRINTED, strict=True)}


def measure(row: str, seed: int, work: Work) -> dict[str, float]:
    K, y, ring = shuffled(teapot_ring(work), seed)
    return ring_scores(y, labels_of(row, K, ring, seed, 2 if work.quick else 10), ring)
