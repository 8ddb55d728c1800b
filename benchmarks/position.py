"""Does `position_` follow the true pose or time? Beside label order, a principal component and a diffusion pseudotime.

    python benchmarks/position.py [--data DIR] [--seeds 3] [--only positions,intervals,tree]

Chains: absolute rank correlation with the truth. Rings: length of the mean resultant of the difference between both
orders around the circle (ranks as angles), the better of the two directions; 1 is perfect, 0 chance. Means over tasks
and seeds, the lowest task in brackets. Simulated paths are curves of three random harmonics with isotropic noise; real
ones are turning objects (COIL) and faces (UMIST), for which DIR holds the .npz files named in docs/real-data.md. The
truth is used for scoring alone. Rings of a principal component or a diffusion are the angles in the first two. Where
scanpy is installed, its diffusion pseudotime stands beside ours, with the same root.

Intervals: the share of samples whose true position is in `position_interval()`, 80 % asked; the true position is the
number of the same rank in the true order. Simulated paths (other seeds than above), and simulated cells on a line
(trajectory_linear: all 2000, and subsamples of 700), as logarithms of counts in 20 principal components.

Tree: pseudotime on simulated cells (trajectory_tree) with the true graph given; rank correlation with the number of
milestones from the root, beside scanpy's diffusion pseudotime from the same
root, the most typical cell of the root milestone. We are given that cell alone, or the most typical one of each. All
cells, and subsamples of 700.
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

import networkx as nx
import numpy as np
import real_data
from scipy.stats import rankdata, spearmanr
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import euclidean_distances

from kernelclust import StructuredClustering

NEIGHBOURS = (5, 15)  # of the diffusion; 15 is usual
CELLS = 700  # of a subsample
SURE = 0.5  # confidence of an order from which there is no warning


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


# -- intervals ---------------------------------------------------------------------------------------------------------


def true_position(task: Task, found: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return found positions, given to samples by their true rank; direction and beginning that suit best."""
    m, number = len(found), np.sort(found)
    candidates = []
    for rank in (rankdata(task.time) - 1, m - rankdata(task.time)):
        for shift in np.linspace(0, m, 200, endpoint=False) if task.closed else (0,):
            place = (rank + shift) % m if task.closed else rank
            truth = np.interp(place, np.arange(2 * m), np.concatenate([number, number + n_clusters]))
            truth = truth % n_clusters if task.closed else truth
            away = np.abs(truth - found)
            away = np.minimum(away, n_clusters - away) if task.closed else away
            candidates.append((float(away.mean()), truth))
    return min(candidates, key=lambda one: one[0])[1]


def coverage(task: Task, model: StructuredClustering) -> tuple[float, float]:
    """Return the share of true positions that are in their interval, and the mean length of intervals."""
    c = len(model.sizes_)
    truth, (low, high) = true_position(task, model.position_, c), model.position_interval().T
    turns = (-c, 0, c) if task.closed else (0,)
    held = np.any([(low <= truth + turn) & (truth + turn <= high) for turn in turns], axis=0)
    return float(held.mean()), float((high - low).mean())


def milestones(data: Path, name: str) -> tuple[np.ndarray, nx.Graph, dict, int]:
    """Return principal components of cells, the graph of milestones, (start, end, share) of cells, and the root."""
    stored = np.load(data / f"{name}.npz")
    counts = stored["counts"].astype(float)
    total = counts.sum(axis=1, keepdims=True)
    X = np.log1p(counts / total * np.median(total))
    start, end = stored["start"].astype(int), stored["end"].astype(int)
    graph = nx.Graph([(a, b) for a, b in zip(start.tolist(), end.tolist(), strict=True) if a != b])
    where = {"start": start, "end": end, "share": stored["share"].astype(float)}
    return X, graph, where, int(stored["root"][0])


def components(X: np.ndarray) -> np.ndarray:
    return PCA(20, svd_solver="full").fit_transform(X)


def true_time(graph: nx.Graph, where: dict, root: int) -> np.ndarray:
    """Return how many milestones every cell is from the root."""
    steps = dict(nx.single_source_shortest_path_length(graph, root))
    at = np.array([steps[node] for node in range(len(steps))], dtype=float)
    return at[where["end"]] + where["share"] * (at[where["start"]] - at[where["end"]])


def subsamples(m: int, seeds: Sequence[int]) -> list[tuple[str, np.ndarray]]:
    """Return all cells, and some of them."""
    return [("all", np.arange(m))] + [("700", np.random.default_rng(seed).permutation(m)[:CELLS]) for seed in seeds]


def interval_tasks(closed: bool) -> list[Task]:
    settings = [(300, 3, 0.1), (300, 10, 0.5), (300, 30, 1.0), (1000, 10, 0.4), (600, 50, 1.0)]
    structure = "ring:8" if closed else "chain:6"
    return [
        path(m, columns, noise, 1000 + seed, closed=closed, structure=structure)
        for m, columns, noise in settings
        for seed in range(6)
    ]


def interval_table(data: Path | None, seeds: Sequence[int]) -> None:
    families = {"simulated": interval_tasks(False), "simulated, closed": interval_tasks(True)}
    if data is not None:
        X, graph, where, root = milestones(data, "trajectory_linear")
        time = true_time(graph, where, root)
        for name, some in subsamples(len(X), seeds):
            families.setdefault(f"trajectory_linear, {name}", []).append(
                Task(components(X[some]), time[some], "chain:5")
            )
    print("share in 80 % intervals: mean (least to greatest), mean length; confidence 0.5 or more, and less")
    for name, tasks in families.items():
        for kernel in ("rbf", "linear", "auto"):
            found: dict[bool, list] = {True: [], False: []}
            for task in tasks:
                model = fit(task, kernel, 0)
                found[bool(model.order_confidence_ >= SURE)].append(coverage(task, model))
            cells = []
            for some in found.values():
                held, length = zip(*some, strict=True) if some else ((np.nan,), (np.nan,))
                least, most = min(held), max(held)
                cells.append(
                    f"{np.mean(held):.2f} ({least:.2f} to {most:.2f}), {np.mean(length):.2f}, {len(some)} fits"
                )
            print(f"{name:24} {kernel:8}" + "".join(f"{cell:>42}" for cell in cells), flush=True)


# -- a tree with the true graph given ----------------------------------------------------------------------------------


def tree_table(data: Path, seeds: Sequence[int]) -> None:
    X, graph, where, root = milestones(data, "trajectory_tree")
    time = true_time(graph, where, root)
    rows: dict[str, dict[str, list[float]]] = {}
    for name, some in subsamples(len(X), seeds):
        task, order = Task(components(X[some]), time[some], "tree"), list(graph.nodes)
        milestone = typical_cells(task.X, where, some, order)
        first, begin = milestone[order.index(root)], order.index(root)
        only_root, each = np.full(len(some), -1), np.full(len(some), -1)
        only_root[first], each[milestone] = begin, np.arange(len(order))
        found = {}
        for kernel in ("rbf", "auto"):
            for told, known in (("root", only_root), ("milestones", each)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    model = StructuredClustering(structure=graph, kernel=kernel, random_state=0).fit(task.X, known)
                pseudotime = model.pseudotime(root=begin)
                found[f"ours, {kernel}, {told}"] = spearmanr(pseudotime, task.time)[0]
        if find_spec("scanpy"):
            for k in NEIGHBOURS:
                found[f"scanpy dpt, {k}"] = spearmanr(scanpy_pseudotime(task.X, k, first), task.time)[0]
        for key, value in found.items():
            rows.setdefault(name, {}).setdefault(key, []).append(float(value))
    for name, found in rows.items():
        cells = [f"{key}: {np.mean(v):.3f} ({min(v):.3f} to {max(v):.3f})" for key, v in found.items()]
        print(f"trajectory_tree, {name} ({len(seeds) if name != 'all' else 1}): " + "; ".join(cells), flush=True)


def typical_cells(X: np.ndarray, where: dict, some: np.ndarray, order: list[int]) -> np.ndarray:
    """Return the cell at each milestone that is nearest to the mean of the cells there."""
    found = []
    for node in order:
        at = np.flatnonzero((where["start"][some] == node) & (where["end"][some] == node))
        found.append(at[np.argmin(((X[at] - X[at].mean(axis=0)) ** 2).sum(axis=1))])
    return np.array(found)


def scanpy_pseudotime(X: np.ndarray, neighbours: int, root: int) -> np.ndarray:
    """Return scanpy's diffusion pseudotime from a cell."""
    import scanpy
    from anndata import AnnData

    data = AnnData(X.astype(np.float32))
    scanpy.pp.neighbors(data, n_neighbors=neighbours, use_rep="X")
    scanpy.tl.diffmap(data, n_comps=15)
    data.uns["iroot"] = root
    scanpy.tl.dpt(data, n_dcs=10)
    return np.nan_to_num(data.obs["dpt_pseudotime"].to_numpy(), posinf=2.0)


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
    parser.add_argument("--only", default="positions,intervals,tree")
    given = parser.parse_args(argv)
    parts, data = given.only.split(","), None if given.data is None else Path(given.data)
    if "intervals" in parts:
        interval_table(data, range(given.seeds))
    if "tree" in parts and data is not None:
        tree_table(data, range(given.seeds))
    if "positions" not in parts:
        return 0
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
