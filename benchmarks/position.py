"""Does `position_` follow the true pose or time? Beside label order, a principal component and a diffusion pseudotime.

    python benchmarks/position.py [--data DIR] [--seeds 3]

Chains: absolute rank correlation with the truth. Rings: length of the mean resultant of the difference between both
orders around the circle (ranks as angles), the better of the two directions; 1 is perfect, 0 chance. Means over tasks
and seeds, the lowest task in brackets. Simulated paths are curves of three random harmonics with isotropic noise; real
ones are turning objects (COIL) and faces (UMIST), for which DIR holds the .npz files named in docs/real-data.md. The
truth is used for scoring alone. Rings of a principal component or a diffusion are the angles in the first two. Where
scanpy is installed, its diffusion pseudotime stands beside ours, with the same root.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import real_data
from scipy.stats import rankdata
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import euclidean_distances

from kernelclust import StructuredClustering

NEIGHBOURS = (5, 15)  # of the diffusion; 15 is usual


class Task(NamedTuple):
    X: np.ndarray
    time: np.ndarray
    structure: str

    @property
    def closed(self) -> bool:
        return self.structure.startswith("ring")


def path(m: int, columns: int, noise: float, seed: int, *, closed: bool, structure: str) -> Task:
    """Samples at random times of a random curve; every third curve is walked along unevenly."""
    rng = np.random.default_rng(seed)
    time = rng.beta(0.7, 1.3, m) if seed % 3 == 2 else rng.random(m)
    harmonic = np.arange(1, 4)[:, None, None]
    angle = (2 if closed else 0.8) * np.pi * harmonic * time[:, None] + rng.uniform(0, 2 * np.pi, (3, 1, columns))
    curve = (rng.standard_normal((3, 1, columns)) / harmonic**1.7 * np.sin(angle)).sum(axis=0)
    curve /= curve.std(axis=0).mean()
    if not closed:
        curve += 2 * time[:, None] * rng.standard_normal(columns)
    return Task(curve + noise * rng.standard_normal((m, columns)), time, structure)


def simulated(closed: bool) -> list[Task]:
    structure = "ring:8" if closed else "chain:6"
    settings = [(3, 0.1), (10, 0.5), (30, 1.0)]
    return [
        path(300, columns, noise, 100 + seed, closed=closed, structure=structure)
        for columns, noise in settings
        for seed in range(4)
    ]


def coil(load: Callable, below: int, structure: str) -> list[Task]:
    found = [real_data.coil_poses(load, thing, below) for thing in real_data.TURNING]
    return [Task(X, np.arange(len(X)) / len(X), structure) for X in found]


def umist(load: Callable) -> list[Task]:
    found = [real_data.umist_frames(load, person) for person in real_data.SWEEPING]
    return [Task(X, np.arange(len(X)) / len(X), "chain:4") for X in found]


def agreement(task: Task, found: np.ndarray) -> float:
    """Of two orders, whatever their direction and, on a ring, their beginning."""
    one, other = rankdata(task.time), rankdata(found)
    if not task.closed:
        return abs(float(np.corrcoef(one, other)[0, 1]))
    turn = 2j * np.pi / len(one)
    return float(max(abs(np.exp(turn * (one - other)).mean()), abs(np.exp(turn * (one + other)).mean())))


def along(task: Task, coordinates: np.ndarray) -> np.ndarray:
    return np.arctan2(coordinates[:, 1], coordinates[:, 0]) if task.closed else coordinates[:, 0]


def component(task: Task) -> np.ndarray:
    return along(task, PCA(2).fit_transform(task.X))


def diffusion(task: Task, neighbours: int) -> np.ndarray:
    """Diffusion pseudotime (Haghverdi et al. 2016): distance, over all numbers of steps, from an end of the data.

    Affinities between neighbours fall with distance in units of each sample's own neighbourhood and are divided by
    density. No root is known: it is the sample that is outermost in the first diffusion component.
    """
    D = euclidean_distances(task.X, squared=True)
    width = np.sort(D, axis=1)[:, min(neighbours, len(D) - 1)]
    both = np.add.outer(width, width)
    W = np.sqrt(2 * np.sqrt(np.outer(width, width)) / both) * np.exp(-D / both)
    W[(D > width[:, None]) & (D > width)] = 0
    W /= np.outer(W.sum(axis=1), W.sum(axis=1))
    root_degree = np.sqrt(W.sum(axis=1))
    values, vectors = np.linalg.eigh(W / np.outer(root_degree, root_degree))
    values, vectors = values[-11:-1][::-1], (vectors / root_degree[:, None])[:, -11:-1][:, ::-1]
    if task.closed:
        return along(task, vectors)
    steps = values / np.maximum(1 - values, 1e-9) * vectors  # a graph in pieces has more than one value of 1
    return np.linalg.norm(steps - steps[outermost(vectors[:, 0])], axis=1)


def outermost(coordinate: np.ndarray) -> int:
    return int(np.argmax(np.abs(coordinate - np.median(coordinate))))


def scanpy_diffusion(task: Task, neighbours: int) -> np.ndarray:
    """scanpy's pseudotime; samples of other parts of an unconnected graph, which it calls infinitely late, are last."""
    import scanpy
    from anndata import AnnData

    data = AnnData(task.X.astype(np.float32))
    scanpy.pp.neighbors(data, n_neighbors=neighbours, use_rep="X")
    scanpy.tl.diffmap(data, n_comps=min(15, len(task.X) - 2))
    components = data.obsm["X_diffmap"][:, 1:]
    if task.closed:
        return along(task, components)
    data.uns["iroot"] = outermost(components[:, 0])
    scanpy.tl.dpt(data, n_dcs=10)
    return np.nan_to_num(data.obs["dpt_pseudotime"].to_numpy(), posinf=2.0)


def fit(task: Task, kernel: str, seed: int) -> StructuredClustering:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return StructuredClustering(structure=task.structure, kernel=kernel, random_state=seed).fit(task.X)


def scores(task: Task, seed: int) -> dict[str, float]:
    found = {"component": component(task)} | {f"diffusion, {k}": diffusion(task, k) for k in NEIGHBOURS}
    if find_spec("scanpy"):
        found |= {f"scanpy, {k}": scanpy_diffusion(task, k) for k in NEIGHBOURS}
    for kernel in ("rbf", "auto"):
        model = fit(task, kernel, seed)
        found |= {f"labels, {kernel}": model.labels_, f"position, {kernel}": model.position_}
    return {name: agreement(task, one) for name, one in found.items()}


def shuffled(task: Task, seed: int) -> Task:
    order = np.random.default_rng(seed).permutation(len(task.X))
    return Task(task.X[order], task.time[order], task.structure)


def table(families: dict[str, list[Task]], seeds: Sequence[int]) -> None:
    for number, (name, tasks) in enumerate(families.items()):
        rows = [[scores(shuffled(task, seed), seed) for seed in seeds] for task in tasks]
        ways = list(rows[0][0])
        if not number:
            print(f"{'':32}" + "".join(f"{way:>18}" for way in ways))
        values = {way: np.array([[one[way] for one in row] for row in rows]) for way in ways}
        cells = "".join(f"{f'{v.mean():.3f} ({v.min():.2f})':>18}" for v in values.values())
        print(f"{f'{name}, {tasks[0].structure} ({len(tasks)})':32}{cells}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("KERNELCLUST_DATA"))
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args(argv)
    families = {"simulated": simulated(False), "simulated, closed": simulated(True)}
    if given.data is None or not (Path(given.data) / "coil20.npz").exists():
        print("simulated paths only: give --data DIR with the .npz files, see docs/real-data.md")
    else:
        load = real_data.loader(Path(given.data))
        families |= {
            "COIL, half turn": coil(load, 175, "chain:5"),
            "UMIST": umist(load),
            "COIL, full turn": coil(load, 360, "ring:8"),
        }
    table(families, range(given.seeds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
