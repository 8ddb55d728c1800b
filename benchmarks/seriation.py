"""Orders of single samples: `seriate` beside optimal leaf ordering (scipy) and spectral seriation.

    python benchmarks/seriation.py [--data DIR]

For every family the mean over its tasks: agreement with the true order (absolute rank correlation; on rings the mean
resultant length, see position.py), the path length and the anti-Robinson events relative to optimal leaf ordering, and
processor time. `spectral` is the Fiedler vector of 1 / (1 + d), as in R's package seriation, on rings the angle of the
two slowest eigenvectors. The last columns compare the confidence of `seriate` with the fraction of pairs in the
true order (chains). The bar: a path no longer than that of optimal leaf ordering and a better agreement, on the mean of
every family of chains.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import position
import real_data
from position import Task
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform
from scipy.stats import kendalltau
from sklearn.datasets import load_sample_image
from sklearn.metrics import pairwise_distances

from kernelclust import seriate
from kernelclust.metrics import anti_robinson_events, path_length

ROWS = 200  # of a photograph


def leaf_order(D: np.ndarray, closed: bool) -> np.ndarray:
    condensed = squareform(D, checks=False)
    return leaves_list(optimal_leaf_ordering(linkage(condensed, "average"), condensed))


def spectral_order(D: np.ndarray, closed: bool) -> np.ndarray:
    S = 1 / (1 + D)
    np.fill_diagonal(S, 0.0)
    slow = np.linalg.eigh(np.diag(S.sum(axis=1)) - S)[1][:, 1:3]
    return np.argsort(np.arctan2(slow[:, 1], slow[:, 0]) if closed else slow[:, 0])


def our_order(D: np.ndarray, closed: bool) -> np.ndarray:
    return seriate(D, metric="precomputed", cyclic=closed, compute_confidence=False).order


METHODS = {"leaf order": leaf_order, "spectral": spectral_order, "seriate": our_order}


def photographs() -> list[Task]:
    """Rows of two photographs, in grey, in random order: the true order is theirs."""
    tasks = []
    for name in ("china.jpg", "flower.jpg"):
        grey = load_sample_image(name).mean(axis=2)[:ROWS]
        tasks.append(Task(grey, np.arange(ROWS) / ROWS, "chain"))
    return tasks


def trajectory(path: Path) -> list[Task]:
    """Simulated cells on a line (logarithms of counts), 500 of them."""
    stored = np.load(path)
    ends = np.column_stack([stored["start"], stored["end"]])
    after = dict(ends[ends[:, 0] != ends[:, 1]].tolist())
    chain = [int(stored["root"][0])]
    while chain[-1] in after:
        chain.append(after[chain[-1]])
    start, end = np.argsort(chain)[ends].T
    place = end + stored["share"] * (start - end)
    some = np.random.default_rng(0).choice(len(place), 500, replace=False)
    return [Task(np.log1p(stored["counts"][some].astype(float)), place[some], "chain")]


def row(task: Task, seed: int) -> dict[str, list[float]]:
    """Return agreement, relative path, relative events and seconds of each method; confidence and right pairs."""
    task = position.shuffled(task, seed)
    D = pairwise_distances(task.X)
    found, first = {}, None
    for name, method in METHODS.items():
        begun = time.process_time()
        order = method(D, task.closed)
        spent = time.process_time() - begun
        ranks = np.argsort(order).astype(float)
        costs = path_length(D, order, cyclic=task.closed), anti_robinson_events(D, order, cyclic=task.closed)
        first = first or costs
        found[name] = [position.agreement(task, ranks), costs[0] / first[0], costs[1] / max(first[1], 1), spent]
    pairs = np.nan if task.closed else (1 + abs(kendalltau(ranks, task.time)[0])) / 2
    found["confidence"] = [float(seriate(D, metric="precomputed", cyclic=task.closed).confidence or np.nan), pairs]
    return found


def table(families: dict[str, list[Task]], seed: int = 0) -> list[str]:
    """Print a line a family; return the names of those that miss the bar."""
    print(f"{'':24}" + "".join(f"{name + ': agreement path events s':>38}" for name in METHODS) + "  confidence, right")
    missed = []
    for name, tasks in families.items():
        rows = [row(task, seed) for task in tasks]
        means = {key: np.mean([one[key] for one in rows], axis=0) for key in rows[0]}
        cells = "".join(f"{a:20.3f} {p:5.2f} {e:6.2f} {s:4.1f}" for a, p, e, s in (means[key] for key in METHODS))
        print(
            f"{name:18} ({len(tasks):3}){cells}  {means['confidence'][0]:9.2f} {means['confidence'][1]:6.2f}",
            flush=True,
        )
        if not tasks[0].closed and (means["seriate"][1] > 1 or means["seriate"][0] < means["leaf order"][0]):
            missed.append(name)
    return missed


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("KERNELCLUST_DATA"))
    given = parser.parse_args(argv)
    families = {
        "simulated chains": position.simulated(False),
        "simulated rings": position.simulated(True),
        "rows of photographs": photographs(),
    }
    if given.data is None or not (Path(given.data) / "coil20.npz").exists():
        print("without COIL and UMIST: give --data DIR with the .npz files, see docs/real-data.md")
    else:
        load = real_data.loader(Path(given.data))
        families |= {
            "COIL, half turn": position.coil(load, 175, "chain"),
            "UMIST": position.umist(load),
            "COIL, full turn": position.coil(load, 360, "ring"),
            "trajectory_linear": trajectory(Path(given.data) / "trajectory_linear.npz"),
        }
    missed = table(families)
    print(f"families that miss the bar: {', '.join(missed) or 'none'}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
