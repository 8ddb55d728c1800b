"""Speed of the baselines as ratios to scipy and scikit-learn on the same data in the same run.

    python benchmarks/baselines.py [--samples 2000] [--repeats 5]

Both sides take turns in one process after a warm-up, and the best of each side counts, so that other load on the
machine disturbs a ratio as little as possible.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans, SpectralClustering
from speed import Table

from kernelclust.baselines import XWSS, HierarchicalKernelKMeans, NormalizedCut, PlacedClustering, TreeLinkage
from kernelclust.datasets import structured_blobs

COLUMNS, TREE, RING = 20, "tree:3x3", "ring:9"
BAR = 2.0


def compare(ours: Callable, peer: Callable, repeats: int) -> list[tuple[float, float]]:
    """Best (wall, CPU) seconds of each side."""
    best = [(np.inf, np.inf)] * 2
    for _ in range(repeats):
        for side, run in enumerate((ours, peer)):
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            spent = time.perf_counter() - wall, time.process_time() - cpu
            best[side] = min(best[side][0], spent[0]), min(best[side][1], spent[1])
    return best


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Speed of the baselines as ratios to scipy and scikit-learn.")
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(argv)
    m = options.samples
    X = structured_blobs(TREE, n_samples=m, n_features=COLUMNS, noise=0.4, random_state=0).data
    gamma = 1 / (2 * X.var(axis=0).sum())

    pairs: list[tuple[str, Callable, Callable, float | None]] = []
    for method in ("average", "complete", "ward"):
        pairs.append(
            (
                f"TreeLinkage {method} {TREE} m={m} v scipy pdist + linkage",
                lambda data, method=method: TreeLinkage(TREE, linkage=method).fit(data),
                lambda data, method=method: linkage(pdist(data), method),
                BAR,
            )
        )

    def cut(data):
        return NormalizedCut(9, random_state=0).fit(data)

    def spectral(data):
        return SpectralClustering(9, gamma=gamma, random_state=0).fit(data)

    pairs += [
        (f"NormalizedCut m={m} v SpectralClustering", cut, spectral, BAR),
        (
            f"HierarchicalKernelKMeans m={m} v SpectralClustering",
            lambda data: HierarchicalKernelKMeans(TREE, random_state=0).fit(data),
            spectral,
            BAR,
        ),
        (f"XWSS m={m} v SpectralClustering", lambda data: XWSS(TREE, random_state=0).fit(data), spectral, None),
        (
            f"PlacedClustering m={m} v KMeans",
            lambda data: PlacedClustering(structure=RING, random_state=0).fit(data),
            lambda data: KMeans(9, n_init=10, random_state=0).fit(data),
            None,
        ),
    ]
    table = Table()
    for what, ours, peer, bar in pairs:
        ours(X[:200])
        peer(X[:200])
        one, other = compare(lambda run=ours: run(X), lambda run=peer: run(X), options.repeats)
        table.ratio(f"{what}, wall", one[0], other[0], bar)
        table.ratio(f"{what}, CPU", one[1], other[1], bar)
    print(f"{table.misses} missed" if table.misses else "all reached")
    return 0


if __name__ == "__main__":
    sys.exit(main())
