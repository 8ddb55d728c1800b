"""kernel="auto" on real data with a known arrangement, beside its rivals.

    python benchmarks/auto.py --data DIR [--only speed,simulated,table,choice] [--seeds 3] [--methods auto,rbf]

DIR holds the .npz files named in docs/real-data.md (or set KERNELCLUST_DATA). Labels are used for scoring alone.
table: structured accuracy / accuracy under the best naming in %, mean over tasks and seeds. The rivals get X as given.
choice: graphs or rbf? Would a stability without labels (cluster one half, predict the other, compare with clustering
that; adjusted Rand index, 4 halvings) have chosen between kernel="auto" and "rbf"?
simulated: the same on made-up months (m = 360, 1440, 4800), random noisy chains, rings and grids, and tables whose
columns rise over five stages beside columns of noise; needs no DIR.
speed: seconds and memory on made-up data; needs no DIR.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import real_data
from _rivals import kmeans_path, spectral_fiedler
from _simulated import months, noisy, ordinary
from real_data import Task
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kernelclust import KernelKMeans, StructuredClustering
from kernelclust.metrics import clustering_accuracy, structured_accuracy
from kernelclust.objectives import Dependence
from kernelclust.structures import as_structure

TABLES = ((3, 2), (12, 6))  # columns that rise over stages, and columns of noise
BARS = {"COIL chain 7": (1, 83.0), "UMIST chain, gaps": (0, 94.0), "news 2x3": (0, 68.0), "UMIST trees": (1, 90.0)}


def coil_sweeps(load: Callable, below: int, n_sectors: int, keep: int, structure: str) -> list[Task]:
    """Each of 15 turning objects, some poses of every sector."""
    tasks = []
    for thing in real_data.TURNING:
        X = real_data.coil_poses(load, thing, below)
        frames, places = real_data.sectors(len(X), n_sectors, keep)
        tasks.append(Task(X[frames], places, structure))
    return tasks


def zoo(load: Callable) -> list[Task]:
    return real_data.flat_set(load, "zoo")


SWEEPS: dict[str, Callable] = {
    "COIL chain 4": lambda load: coil_sweeps(load, 175, 5, 4, "chain:5"),
    "COIL chain 7": real_data.coil_chains,
    "COIL ring 7": lambda load: coil_sweeps(load, 360, 8, 7, "ring:8"),
    "COIL ring 9": lambda load: coil_sweeps(load, 360, 8, 9, "ring:8"),
    "UMIST chain, gaps": lambda load: real_data.umist_chains(load, True),
    "UMIST chain": lambda load: real_data.umist_chains(load, False),
}
OTHERS: dict[str, Callable] = {
    "COIL trees": lambda load: real_data.picture_trees(load, "coil", range(6)),
    "UMIST trees": lambda load: real_data.picture_trees(load, "umist", range(6)),
    "news 2x3": lambda load: real_data.news(load, (2, 3), range(3)),
    "news 3x2": lambda load: real_data.news(load, (3, 2), range(3)),
    "cell cycle (cho)": real_data.cho,
    "leukaemia (all)": real_data.leukemia,
    "zoo": zoo,
}


def fit(task: Task, seed: int, **settings) -> StructuredClustering:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the warnings are what is measured
        return StructuredClustering(structure=task.structure, random_state=seed, **settings).fit(task.X)


def closed(task: Task) -> bool:
    return str(task.structure).startswith("ring")


def n_clusters(task: Task) -> int:
    return as_structure(task.structure).n_clusters


METHODS: dict[str, Callable] = {
    "auto": lambda task, seed: fit(task, seed, kernel="auto").labels_,
    "graph": lambda task, seed: fit(task, seed, kernel="graph").labels_,
    "rbf": lambda task, seed: fit(task, seed, kernel="rbf").labels_,
    "KMeans + path": lambda task, seed: kmeans_path(task.X, n_clusters(task), seed, closed=closed(task)),
    "spectral + Fiedler": lambda task, seed: spectral_fiedler(task.X, n_clusters(task), seed, closed=closed(task)),
}


def score(tasks: Sequence[Task], method: Callable, seeds: Sequence[int]) -> tuple[float, float]:
    rows = []
    for seed in seeds:
        for task in tasks:
            one = real_data.shuffled(task, seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # unconnected graphs of the rivals
                labels = method(one, seed)
            rows.append((structured_accuracy(one.y, labels, task.structure), clustering_accuracy(one.y, labels)))
    sacc, hung = 100 * np.mean(rows, axis=0)
    return float(sacc), float(hung)


def heading(methods: Iterable[str]) -> None:
    print(f"{'structured / best-naming accuracy':34}" + "".join(f"{name:>20}" for name in methods))


def line(name: str, found: dict[str, tuple[float, float]], judged: str = "") -> None:
    cells = "".join(f"{f'{a:.1f} / {b:.1f}':>20}" for a, b in found.values())
    print(f"{name:34}{cells}{judged}", flush=True)


def simulated(methods: dict[str, Callable], n_draws: int) -> None:
    heading(methods)
    made = {f"months, m = {12 * each}": [months(each, seed) for seed in range(n_draws)] for each in (30, 120, 400)}
    made |= {f"noisy {kind}s": [noisy(kind, seed) for seed in range(8 * n_draws)] for kind in ("chain", "ring", "grid")}
    made |= {f"tables, {r} + {n} columns": [ordinary(r, n, seed) for seed in range(20 * n_draws)] for r, n in TABLES}
    for name, tasks in made.items():
        line(f"{name} ({len(tasks)})", {method: score(tasks, run, [0]) for method, run in methods.items()})


def table(load: Callable, methods: dict[str, Callable], seeds: Sequence[int]) -> int:
    heading(methods)
    misses, whole = 0, []
    for name, make in (SWEEPS | OTHERS).items():
        tasks = make(load)
        found = {method: score(tasks, run, seeds) for method, run in methods.items()}
        whole.append(list(found.values()))
        judged = ""
        if name in BARS and "auto" in found:
            which, bar = BARS[name]
            passed = found["auto"][which] >= bar
            misses += not passed
            judged = f"  {'pass' if passed else 'MISS'} (auto {('structured', 'best-naming')[which]} >= {bar:g})"
        line(f"{name} ({len(tasks)})", found, judged)
    line("mean of families", dict(zip(methods, np.mean(whole, axis=0), strict=True)))
    return misses


def halves(X, c: int, kernel: str, rng: np.random.Generator, times: int = 4) -> float:
    """Agreement of a clustering with the one that the other half predicts."""
    agreement = []
    for _ in range(times):
        order = rng.permutation(X.shape[0])
        half = X.shape[0] // 2
        one, other = (
            StructuredClustering(c, kernel=kernel, objective=Dependence(size_prior=0), random_state=0).fit(X[part])
            for part in (order[:half], order[half:])
        )
        agreement.append(adjusted_rand_score(other.labels_, one.predict(X[order[half:]])))
    return float(np.mean(agreement))


def choice(load: Callable) -> None:
    made = {"cell cycle (cho)": real_data.cho, "leukaemia (all)": real_data.leukemia} | {
        name: lambda load, name=name: real_data.standardized(real_data.flat_set(load, name))
        for name in ("zoo", "iris", "wine", "breastcancer_wisconsin", "vehicle", "glass", "ionosphere", "segment")
    }
    made |= {name: SWEEPS[name] for name in ("COIL chain 7", "UMIST chain")} | {"news 2x3": OTHERS["news 2x3"]}
    print(f"{'best-naming accuracy; halves':28}{'auto':>8}{'rbf':>8}{'auto':>10}{'rbf':>8}")
    for name, make in made.items():
        rows = []
        for task in make(load)[:5]:
            rng = np.random.default_rng(0)
            few = rng.permutation(len(task.y))[:700]
            X, y, c = task.X[few], task.y[few], n_clusters(task)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                right = [
                    clustering_accuracy(y, KernelKMeans(c, kernel=kernel, random_state=0).fit_predict(X))
                    for kernel in ("auto", "rbf")
                ]
                rows.append([*right, *(halves(X, c, kernel, rng) for kernel in ("auto", "rbf"))])
        auto, rbf, one, other = np.mean(rows, axis=0)
        told = "right" if (auto - rbf) * (one - other) > 0 else "wrong" if abs(auto - rbf) > 0.01 else "no matter"
        print(f"{name:28}{100 * auto:8.1f}{100 * rbf:8.1f}{one:10.2f}{other:8.2f}  {told}", flush=True)


def speed() -> int:
    misses = 0
    X, _ = make_blobs(50, n_features=5, random_state=0)
    for structure in ("flat:10", "chain:10"):
        fit(Task(X, np.zeros(50), structure), 0, kernel="auto")  # compiles
    for m, limit in ((1000, 3.0), (20_000, 60.0)):
        for structure in ("flat:10", "chain:10"):
            X, _ = make_blobs(m, n_features=20, centers=10, cluster_std=4.0, random_state=0)
            start = time.perf_counter()
            fit(Task(X, np.zeros(m), structure), 0, kernel="auto")
            seconds = time.perf_counter() - start
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            passed = seconds < limit and peak < 2.0
            misses += not passed
            print(
                f"m={m}, {structure}: {seconds:.1f} s (limit {limit:g}), peak {peak:.2f} GB (limit 2): "
                f"{'pass' if passed else 'MISS'}",
                flush=True,
            )
    return misses


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("KERNELCLUST_DATA"))
    parser.add_argument("--only", default="speed,simulated,table,choice")
    parser.add_argument("--methods", default=",".join(METHODS), help="columns of the tables")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args(argv)
    wanted = given.only.split(",")
    methods = {name: METHODS[name] for name in given.methods.split(",")}
    misses = speed() if "speed" in wanted else 0
    if "simulated" in wanted:
        simulated(methods, given.seeds)
    if given.data is None or not (Path(given.data) / "coil20.npz").exists():
        print("no tables: give --data DIR with the .npz files, see docs/real-data.md")
        return misses
    load = real_data.loader(Path(given.data))
    if "table" in wanted:
        misses += table(load, methods, range(given.seeds))
    if "choice" in wanted:
        choice(load)
    return misses


if __name__ == "__main__":
    sys.exit(main())
