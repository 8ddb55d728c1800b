"""Speed of max-margin clustering: the search against the scan of all tables, and fits against KMeans and limits.

    python benchmarks/margin.py [--repeats 3] [--small]

Both sides take turns in one process, on one BLAS thread, after a warm-up; the best of each side counts. Sizes are
those of the data sets in the paper, filled with two blobs; NMI is the loss, ten starts each.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
import warnings
from collections.abc import Callable, Sequence

import _root  # noqa: F401
import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import normalized_mutual_info_score
from speed import Table
from threadpoolctl import threadpool_limits

from kernelclust import KernelKMeans, MaxMarginClustering
from kernelclust.margin import CuttingPlane, as_loss, most_violated
from kernelclust.margin._table_loss import make_loss
from reproduction.table_scan import scan

SIZES = {
    "digits": (357, 64),
    "ionosphere": (351, 34),
    "ringnorm": (1000, 20),
    "letter": (1555, 16),
    "satellite": (2236, 36),
}
TEXT = (1983, 8013)


def best(run: Callable, repeats: int) -> float:
    spent = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        spent.append(time.perf_counter() - start)
    return min(spent)


def compare_search(table: Table, n: int, large: int, repeats: int) -> None:
    """`most_violated` against the vectorised scan of all tables, and alone on many samples."""
    rng = np.random.default_rng(0)
    for name in ("nmi", "rand", "f", "error"):
        f = rng.standard_normal(n) / n
        y = np.where(f >= 0, 1, -1)
        loss = make_loss(as_loss(name), n)
        ours = best(lambda f=f, y=y, name=name: most_violated(f, y, name), 5 * repeats)
        theirs = best(lambda f=f, y=y, loss=loss: scan(f, y > 0, loss), repeats)
        bar = 50.0 if name == "nmi" else None
        table.ratio(
            f"most_violated {name} n={n} v scan of all tables", 1e3 * ours, 1e3 * theirs, bar, "ms", faster=True
        )
    f = rng.standard_normal(large) / large
    spent = best(lambda: most_violated(f, np.where(f >= 0, 1, -1)), 1)
    table.limit(f"most_violated nmi n={large}", 1e3 * spent, 5000.0, "ms")


def compare_fits(table: Table, sizes: dict[str, tuple[int, int]], n: int, repeats: int) -> None:
    """Fits of two clusters: at most half a second on the sizes of the paper, ten on 20 000 samples."""
    for name, (m, d) in [*sizes.items(), ("many", (n, 16))]:
        X = make_blobs(m, d, centers=2, cluster_std=8.0, random_state=0)[0]
        ours = best(lambda X=X: MaxMarginClustering(random_state=0).fit(X), repeats)
        theirs = best(lambda X=X: KMeans(2, n_init=10, random_state=0).fit(X), repeats)
        table.ratio(f"fit {name} {m} x {d} v KMeans, ten starts each", ours, theirs, None)
        table.limit(f"fit {name} {m} x {d}", 1e3 * ours, 1e4 if name == "many" else 500.0, "ms")
    m, d = TEXT
    X = sparse.random(m, d, density=0.008, random_state=0, format="csr")
    ours = best(lambda: MaxMarginClustering(random_state=0, solver=CuttingPlane(n_components=d)).fit(X), repeats)
    table.limit(f"fit text {m} x {d} sparse, all features", 1e3 * ours, 500.0, "ms")


def compare_many(table: Table, n: int) -> None:
    """Ten clusters of digits: half a minute, and an NMI that kernel k-means does not exceed."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:n], y[:n]
    for kernel in ("linear", "rbf"):
        start = time.perf_counter()
        model = MaxMarginClustering(10, kernel=kernel, random_state=0).fit(X)
        table.limit(f"fit of ten clusters, {kernel}, {len(X)} x 64", time.perf_counter() - start, 30.0, "s")
        peer = KernelKMeans(10, kernel=kernel, random_state=0).fit(X)
        nmi = functools.partial(normalized_mutual_info_score, y, average_method="geometric")
        scores = [100 * nmi(labels) for labels in (peer.labels_, model.labels_)]
        table.ratio(f"NMI of ten clusters, {kernel}, kernel k-means v max-margin", *scores, 1.0, "%")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Speed of max-margin clustering.")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="tiny sizes, to see that it runs")
    options = parser.parse_args(argv)
    small = options.small
    table = Table()
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        MaxMarginClustering(random_state=0).fit(make_blobs(100, 4, random_state=0)[0])
        compare_search(table, 300 if small else 5000, 10_000 if small else 1_000_000, options.repeats)
        compare_fits(table, {"tiny": (100, 5)} if small else SIZES, 200 if small else 20_000, options.repeats)
        compare_many(table, 60 if small else 1797)
    print(f"{table.misses} missed" if table.misses else "all reached")
    return 0


if __name__ == "__main__":
    sys.exit(main())
