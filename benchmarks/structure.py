"""Does structure help over flat: in accuracy, or only in order?

    python benchmarks/structure.py [--data DIR] [--kernel rbf] [--seeds 1] [--tasks 5]

On one and the same kernel: flat kernel k-means, its clusters placed afterwards (`arrange`); the default search, which
places flat clusters and then lets the structure move samples; search="global", where the structure has its say from the
start, as in the papers. Each cell is the accuracy under the best naming / with names only as the structure allows, in
%, means over tasks and seeds; "truth" is the second of the true classes, placed: what their order in the kernel allows.
Sets that stand in for the papers' own have the kernel of their table; with --data (see docs/real-data.md) also the
families of benchmarks/auto.py, at most so many tasks of each.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import _root  # noqa: F401
import auto
import numpy as np
import real_data
from real_data import Task

from kernelclust import KernelKMeans, StructuredClustering, arrange
from kernelclust.metrics import clustering_accuracy, structured_accuracy
from kernelclust.solvers import Greedy
from kernelclust.structures import as_structure
from reproduction import Data, Work
from reproduction.tables import _sets

MADE: dict[str, Callable] = {
    "002: shifted photographs": _sets.expressions,
    "000: turned photograph, ring": _sets.teapot_ring,
    "003: turned photograph, chain": _sets.teapot_chain,
}
STAND_INS: dict[str, Callable] = {
    "000: SCOP, K3": lambda work: _sets.scop(work, (9, 10, 11, 12)),
    "000: WIPO": _sets.wipo,
    "000, 003: faces": _sets.face,
    "003: COIL": _sets.coil,
}


def structured(task: Task, search: str, **given: Any) -> np.ndarray:
    """Labels with the task's structure."""
    model = StructuredClustering(
        structure=task.structure, solver=Greedy(search=search), compute_confidence=False, **given
    )
    return model.fit_predict(task.X)


WAYS: dict[str, Callable] = {
    "flat": lambda task, **given: KernelKMeans(as_structure(task.structure).n_clusters, **given).fit_predict(task.X),
    "structured": lambda task, **given: structured(task, "refine", **given),
    "global": lambda task, **given: structured(task, "global", **given),
}


def families(data: str | None, kernel: str, tasks: int) -> Iterator[tuple[str, list[Task], str]]:
    """Name, tasks and kernel of each."""
    made = MADE | (STAND_INS if data else {})
    for name, make in made.items():
        yield name, [Task(*make(Work(Data(data))))], "precomputed"
    if data:
        load = real_data.loader(Path(data))
        for name, find in (auto.SWEEPS | auto.OTHERS).items():
            if name != "zoo":  # is flat
                yield name, find(load)[:tasks], kernel


def mixed(task: Task, kernel: str, seed: int) -> Task:
    """Samples in another order."""
    order = np.random.default_rng(seed).permutation(len(task.y))
    X = task.X[np.ix_(order, order)] if kernel == "precomputed" else task.X[order]
    return Task(X, task.y[order], task.structure)


def scores(task: Task, kernel: str, seed: int) -> dict[str, tuple[float, float]]:
    """Accuracy under the best naming and as the structure allows, of every way."""
    found = {}
    for name, way in WAYS.items():
        labels = way(task, kernel=kernel, random_state=seed)
        places = arrange(task.X, labels, task.structure, kernel=kernel).labels if name == "flat" else labels
        found[name] = clustering_accuracy(task.y, labels), structured_accuracy(task.y, places, task.structure)
    truth = arrange(task.X, task.y, task.structure, kernel=kernel).labels
    return found | {"truth": (1.0, structured_accuracy(task.y, truth, task.structure))}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("KERNELCLUST_DATA"))
    parser.add_argument("--kernel", default="rbf", help="of the families")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=5)
    given = parser.parse_args(argv)
    warnings.simplefilter("ignore", UserWarning)
    print(f"{'best naming / by structure, %':34}" + "".join(f"{way:>16}" for way in (*WAYS, "truth")))
    for name, tasks, kernel in families(given.data, given.kernel, given.tasks):
        every = [scores(mixed(one, kernel, seed), kernel, seed) for one in tasks for seed in range(given.seeds)]
        means = {way: 100 * np.mean([one[way] for one in every], axis=0) for way in every[0]}
        cells = "".join(f"{f'{best:.1f} / {right:.1f}':>16}" for best, right in means.values())
        print(f"{f'{name} ({len(tasks)})':34}{cells}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
