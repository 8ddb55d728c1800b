"""Figures 3 and 4 of Yang, Kwok and Lu (2010): what the rank of the low-rank SDP does to accuracy and time."""

from __future__ import annotations

import time
from functools import lru_cache

from kernelclust.metrics import structured_accuracy
from reproduction.frame import Work
from reproduction.tables import p003_table_1
from reproduction.tables._sets import shuffled

RANKS = (1, 2, 5, 10, 15)
FILES = {"face": "umist_faces", "coil": "coil20"}
WHY = "Stand-ins of 003-table-1; curves without numbers in the paper."


@lru_cache
def by_rank(row: str, seed: int, work: Work) -> tuple[list[float], list[float]]:
    """Structured accuracy in % and CPU seconds for every rank."""
    K, y, structure = shuffled(p003_table_1.SETS[row](work), seed)
    accuracies, seconds = [], []
    for rank in RANKS:
        start = time.process_time()
        steps = {"max_steps": 2} if work.quick else {}
        labels = p003_table_1.labels_of("SDPLR", K, structure, seed, rank=rank, **steps)
        seconds.append(time.process_time() - start)
        accuracies.append(100 * structured_accuracy(y, labels, structure))
    return accuracies, seconds
