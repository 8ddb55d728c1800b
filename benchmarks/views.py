"""Many views of the same samples without knowing them: the default, the papers' kernels, and all columns side by side.

    python benchmarks/views.py --data DIR [--seeds 3] [--only mv_msrcv1,mv_3sources]

DIR holds the .npz files named in docs/real-data.md (or set KERNELCLUST_DATA); views are the arrays X_*, as they are.
KMeans, spectral clustering and KernelKMeans get all columns side by side, standardised. Adjusted Rand index, mean over
seeds; labels are used for scoring alone. Passes where the default loses to no rival by more than 0.03 (KernelKMeans,
which has the same graphs, is shown beside them).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from kernelclust import KernelKMeans, MultiKernelClustering

SETS = ("mv_msrcv1", "mv_3sources", "proteinfold_12views", "flower17_features7", "mfeat_digital")
CLOSE = 0.03


def methods(views: list[np.ndarray], c: int, seed: int) -> dict:
    Z = np.hstack([StandardScaler().fit_transform(V) for V in views])
    spectral = SpectralClustering(c, affinity="nearest_neighbors", n_neighbors=10, random_state=seed)
    return {
        "default": lambda: MultiKernelClustering(c, random_state=seed).fit(views).labels_,
        "rbf": lambda: MultiKernelClustering(c, kernel="rbf", random_state=seed).fit(views).labels_,
        "KMeans": lambda: KMeans(c, n_init=10, random_state=seed).fit_predict(Z),
        "10-nn spectral": lambda: spectral.fit_predict(Z),
        "KernelKMeans, auto": lambda: KernelKMeans(c, kernel="auto", random_state=seed).fit(Z).labels_,
    }


def scored(path: Path, seeds: int) -> tuple[dict[str, float], float]:
    """Mean score of each method, and seconds of the default."""
    data = np.load(path)
    views, y = [data[name].astype(float) for name in data.files if name.startswith("X_")], data["y"]
    found: dict[str, list[float]] = {}
    seconds = 0.0
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(y))
        for name, run in methods([V[order] for V in views], len(np.unique(y)), seed).items():
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of units, order and unconnected graphs
                found.setdefault(name, []).append(adjusted_rand_score(y[order], run()))
            seconds += (time.perf_counter() - start) / seeds if name == "default" else 0.0
    return {name: float(np.mean(values)) for name, values in found.items()}, seconds


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("KERNELCLUST_DATA"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default=",".join(SETS))
    given = parser.parse_args(argv)
    rows, misses = [], 0
    for name in given.only.split(","):
        path = Path(given.data or ".") / f"{name}.npz"
        if given.data is None or not path.exists():
            print(f"{name}: not there; give --data DIR with the .npz files, see docs/real-data.md")
            continue
        row, seconds = scored(path, given.seeds)
        if not rows:
            print(f"{'adjusted Rand index':24}" + "".join(f"{method:>20}" for method in row))
        rivals = [row[method] for method in ("rbf", "KMeans", "10-nn spectral")]
        passed = row["default"] >= max(rivals) - CLOSE
        misses += not passed
        cells = "".join(f"{value:20.3f}" for value in row.values())
        print(f"{name:24}{cells}  {'pass' if passed else 'MISS'}, {seconds:.0f} s", flush=True)
        rows.append(list(row.values()))
    if rows:
        print(f"{'mean':24}" + "".join(f"{value:20.3f}" for value in np.mean(rows, axis=0)))
    return misses


if __name__ == "__main__":
    sys.exit(main())
