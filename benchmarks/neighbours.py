"""Clusters in order, by methods that people know: what each finds where the arrangement is known.

    python benchmarks/neighbours.py [--draws 8] [--data DIR]

Structured accuracy (right cluster at the right node, up to symmetries) and adjusted Rand index in %, means over draws.
All methods but HDBSCAN are given the number of clusters. The self-organizing map is a batch map with one node a cluster
on a line or ring, its neighbourhood shrinking to half a step. HDBSCAN numbers clusters without order and chooses their
number; samples that it calls noise count as one more cluster. PAGA, where scanpy is installed: the clusters of KMeans,
along the strongest links of its graph. DIR holds the .npz files named in docs/real-data.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import position
import real_data
from _rivals import kmeans_path, shortest_order, spectral_fiedler
from _simulated import noisy
from real_data import Task
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from kernelclust import StructuredClustering, arrange
from kernelclust.metrics import structured_accuracy
from kernelclust.structures import as_structure

EPOCHS = 60  # of the self-organizing map


def som(X: np.ndarray, c: int, seed: int, *, closed: bool = False) -> np.ndarray:
    """Labels of a batch self-organizing map (Kohonen) with c nodes in a row, begun along principal components."""
    node, plane = np.arange(c), PCA(2).fit(X)
    scale = np.sqrt(plane.explained_variance_)
    angle = 2 * np.pi * node / c
    start = np.c_[np.cos(angle), np.sin(angle)] if closed else np.c_[2 * node / (c - 1) - 1, np.zeros(c)]
    centres = plane.mean_ + 1.5 * (start * scale) @ plane.components_
    steps = np.abs(node[:, None] - node)
    steps = np.minimum(steps, c - steps) if closed else steps
    for width in np.geomspace(c / 2, 0.5, EPOCHS):
        nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        weight = np.exp(-0.5 * (steps[:, nearest] / width) ** 2)  # (c, m)
        centres = weight @ X / weight.sum(axis=1, keepdims=True)
    return ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)


def spectral_arranged(X: np.ndarray, c: int, seed: int, *, closed: bool = False) -> np.ndarray:
    """Labels of scikit-learn's spectral clustering, put in order by `arrange`."""
    labels = SpectralClustering(c, affinity="nearest_neighbors", random_state=seed).fit_predict(X)
    return arrange(X, labels, "ring" if closed else "chain").labels


def hdbscan(X: np.ndarray, c: int, seed: int, *, closed: bool = False) -> np.ndarray:
    return HDBSCAN(min_cluster_size=5, copy=True).fit_predict(X)


def paga(X: np.ndarray, c: int, seed: int, *, closed: bool = False) -> np.ndarray:
    """Labels of KMeans, ordered along the strongest links of PAGA's abstracted graph."""
    import scanpy
    from anndata import AnnData

    cells = AnnData(X.astype(np.float32))
    labels = KMeans(c, n_init=10, random_state=seed).fit_predict(X)
    cells.obs["group"] = [f"{label:02}" for label in labels]
    cells.obs["group"] = cells.obs["group"].astype("category")
    scanpy.pp.neighbors(cells, use_rep="X")
    scanpy.tl.paga(cells, groups="group")
    linked = cells.uns["paga"]["connectivities"].toarray()
    order = shortest_order(1.0 - linked / max(linked.max(), 1e-12), closed=closed)
    return np.argsort(order)[labels]


def ours(kernel: str) -> Callable:
    def fit(X: np.ndarray, c: int, seed: int, *, closed: bool = False) -> np.ndarray:
        structure = f"{'ring' if closed else 'chain'}:{c}"
        model = StructuredClustering(structure=structure, kernel=kernel, compute_confidence=False, random_state=seed)
        return model.fit_predict(X)

    return fit


METHODS: dict[str, Callable] = {
    "ours": ours("auto"),
    "ours, rbf": ours("rbf"),
    "KMeans, path": kmeans_path,
    "SOM": som,
    "spectral, Fiedler": spectral_fiedler,
    "spectral, arrange": spectral_arranged,
    **({"KMeans, PAGA": paga} if find_spec("scanpy") else {}),
    "HDBSCAN": hdbscan,
}


def poses(load: Callable, draws: int) -> dict[str, list[Task]]:
    """Heads and turning objects, their true order cut into pieces of equal size."""
    families = {
        "UMIST heads": position.umist(load),
        "COIL, half turn": position.coil(load, 175, "chain:5"),
        "COIL, full turn": position.coil(load, 360, "ring:8"),
    }
    cut = {}
    for name, tasks in families.items():
        some = [position.shuffled(task, seed) for seed, task in enumerate(tasks[:draws])]
        cut[name] = [
            Task(one.X, (one.time * as_structure(one.structure).n_clusters).astype(int), one.structure) for one in some
        ]
    return cut


def row(task: Task, seed: int) -> dict[str, tuple[float, float]]:
    structure = as_structure(task.structure)
    found = {}
    for name, method in METHODS.items():
        labels = np.asarray(method(task.X, structure.n_clusters, seed, closed=structure.is_cyclic))
        placed = np.nan if name == "HDBSCAN" else structured_accuracy(task.y, labels, structure)
        found[name] = placed, adjusted_rand_score(task.y, labels)
    return found


def table(families: dict[str, list[Task]]) -> None:
    print(f"{'':22}" + "".join(f"{name:>20}" for name in METHODS))
    for name, tasks in families.items():
        rows = [row(task, seed) for seed, task in enumerate(tasks)]
        means = (100 * np.mean([one[method] for one in rows], axis=0) for method in METHODS)
        print(f"{f'{name} ({len(tasks)})':22}" + "".join(f"{f'{a:.0f} / {r:.0f}':>20}" for a, r in means), flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--data", default=os.environ.get("KERNELCLUST_DATA"))
    given = parser.parse_args(argv)
    families = {f"simulated {kind}s": [noisy(kind, seed) for seed in range(given.draws)] for kind in ("chain", "ring")}
    if given.data is not None and (Path(given.data) / "coil20.npz").exists():
        families |= poses(real_data.loader(Path(given.data)), given.draws)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table(families)
    return 0


if __name__ == "__main__":
    sys.exit(main())
