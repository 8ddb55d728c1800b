"""Speed and memory as ratios to peers in the same run.

    python benchmarks/speed.py [--repeats 3] [--large] [--only kernel,memory,...]

Every measurement is a fresh process: imports and a small warm-up fit are not timed, peak memory is counted above what
the imports need. Processes of both sides take turns, calls are repeated in each, and the best of each side counts, so
that other load on the machine disturbs a ratio as little as possible. Compiled code is cached by a first process that
is not counted.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

MB = 1e6
COLUMNS, CLUSTERS = 20, 10
CALLS = 3  # in a row in each process: the first also pays for memory that the system has to find
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
ENOUGH = 10.0  # seconds after which no further call is made


# -- what is measured, each in a process of its own -------------------------------------------------------------------


def blobs(n: int):
    from sklearn.datasets import make_blobs

    return make_blobs(n, COLUMNS, centers=CLUSTERS, cluster_std=3.0, random_state=0)[0]


def ours(n: int, structure: str = "flat", approximation: str | None = "auto") -> Callable:
    """A default fit; prepared by a small one."""
    from kernelclust import StructuredClustering

    def model():
        return StructuredClustering(
            CLUSTERS, structure=structure, kernel="rbf", approximation=approximation, random_state=0
        )

    X = blobs(n)

    def prepare() -> Callable:
        model().fit(X[:500])
        return lambda: model().fit(X)

    return prepare


def rbf_matrix(n: int) -> Callable:
    from sklearn.metrics.pairwise import rbf_kernel

    X = blobs(n)

    def prepare() -> Callable:
        rbf_kernel(X[:500])
        return lambda: rbf_kernel(X)

    return prepare


def tiled_product(n: int) -> Callable:
    """One product of an exact kernel that is never stored with the labels of ten clusters."""
    import numpy as np

    from kernelclust.kernels import fit_kernel, one_hot

    X = blobs(n)
    Pi = one_hot(np.arange(n) % CLUSTERS, CLUSTERS, np.ones(n))

    def prepare() -> Callable:
        kernel = fit_kernel(X, np.ones(n), approximation=None, rng=np.random.RandomState(0)).operator
        return lambda: kernel @ Pi

    return prepare


def along_a_chain(n: int, columns: int):
    import numpy as np

    rng = np.random.default_rng(0)
    place = rng.uniform(0, CLUSTERS, n).astype(int)
    Z = np.c_[place + rng.normal(0, 0.25, n), np.sin(place) + rng.normal(0, 0.25, n), rng.normal(0, 0.5, n)]
    return Z @ rng.standard_normal((3, columns)) + 0.1 * rng.standard_normal((n, columns))


def spectral(n: int, columns: int) -> Callable:
    """scikit-learn's SpectralClustering of a neighbour graph."""
    from sklearn.cluster import SpectralClustering

    X = along_a_chain(n, columns)

    def model():
        return SpectralClustering(CLUSTERS, affinity="nearest_neighbors", random_state=0)

    def prepare() -> Callable:
        model().fit(X[:300])
        return lambda: model().fit(X)

    return prepare


def auto_graphs(n: int, columns: int) -> Callable:
    """kernel="auto" on a chain of ten."""
    from kernelclust import StructuredClustering

    X = along_a_chain(n, columns)

    def model():
        return StructuredClustering(CLUSTERS, structure="chain", kernel="auto", random_state=0)

    def prepare() -> Callable:
        model().fit(X[:300])
        return lambda: model().fit(X)

    return prepare


def tslearn_kmeans(n: int) -> Callable:
    """tslearn's KernelKMeans with its defaults (one start) and our width."""
    from tslearn.clustering import KernelKMeans

    X = blobs(n)
    gamma = 1 / (2 * X.var(axis=0).sum())

    def prepare() -> Callable:
        def model():
            return KernelKMeans(CLUSTERS, kernel="rbf", kernel_params={"gamma": gamma}, random_state=0)

        model().fit(X[:500, :, None])
        return lambda: model().fit(X[:, :, None])

    return prepare


def nystroem_kmeans(n: int) -> Callable:
    from sklearn.cluster import KMeans
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    X = blobs(n)
    gamma = 1 / (2 * X.var(axis=0).sum())

    def prepare() -> Callable:
        def model():
            return make_pipeline(
                Nystroem(gamma=gamma, n_components=300, random_state=0), KMeans(CLUSTERS, random_state=0)
            )

        model().fit(X[:500])
        return lambda: model().fit(X)

    return prepare


def predict(n: int, fitted: int = 10_000) -> Callable:
    """Places of new samples; the model is there already."""
    from kernelclust import KernelKMeans

    X = blobs(fitted + n)
    model = KernelKMeans(CLUSTERS, random_state=0).fit(X[:fitted])

    def prepare() -> Callable:
        model.predict(X[:500])
        return lambda: model.predict(X[fitted:])

    return prepare


def first_fit(n: int) -> Callable:
    """The first fit of a process: nothing is warmed up."""
    from kernelclust import StructuredClustering

    X = blobs(n)
    return lambda: lambda: StructuredClustering(CLUSTERS, structure="ring", kernel="rbf", random_state=0).fit(X)


def importing(module: str) -> Callable:
    return lambda: lambda: importlib.import_module(module)


JOBS: dict[str, Callable] = {
    job.__name__: job
    for job in (
        ours,
        rbf_matrix,
        tiled_product,
        auto_graphs,
        spectral,
        tslearn_kmeans,
        nystroem_kmeans,
        predict,
        first_fit,
        importing,
    )
}
ONCE = ("first_fit", "importing")


def peak_memory(*, reset: bool = False) -> float:
    """Largest resident memory of this process in bytes, from now on where the system can start anew (Linux)."""
    try:
        if reset:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        with open("/proc/self/status") as file:
            return 1024 * next(float(line.split()[1]) for line in file if line.startswith("VmHWM"))
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure(job: str, arguments: Sequence[Any]) -> dict[str, float]:
    """Wall and CPU seconds of a job, and its peak memory above what was there before it was prepared."""
    import warnings

    warnings.simplefilter("ignore")  # "auto" says that it takes Nystrom
    prepare = JOBS[job](*arguments)
    base = peak_memory(reset=True)
    run = prepare()
    walls: list[float] = []
    cpus: list[float] = []
    peak = base
    while len(walls) < (1 if job in ONCE else CALLS) and sum(walls) < ENOUGH:
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        peak = peak if len(walls) > 1 else peak_memory()  # of the first call
    return {"wall": min(walls), "cpu": min(cpus), "peak": peak - base, "total": peak, "misses": cache_misses()}


def cache_misses() -> int:
    """Functions of kernelclust that this process had to compile."""
    if "numba" not in sys.modules:
        return 0
    from numba.core.dispatcher import Dispatcher

    parts = [vars(module) for name, module in sys.modules.items() if name.startswith("kernelclust")]
    found = {id(v): v for part in parts for v in list(part.values()) if isinstance(v, Dispatcher)}
    return sum(sum(one.stats.cache_misses.values()) for one in found.values())


# -- the comparisons --------------------------------------------------------------------------------------------------


def run(job: str, *arguments: Any, environment: dict[str, str] | None = None) -> dict[str, float]:
    """Measure in a fresh process."""
    command = [sys.executable, os.path.abspath(__file__), "--measure", json.dumps([job, *arguments])]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | (environment or {}), check=False)
    if done.returncode:
        raise RuntimeError(f"{job} {arguments} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def best(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: min(one[key] for one in runs) for key in runs[0]}


def compare(one: Sequence[Any], other: Sequence[Any], repeats: int) -> tuple[dict[str, float], dict[str, float]]:
    """Best of each side, measured in turn."""
    pairs = [(run(*one), run(*other)) for _ in range(repeats)]
    return best([a for a, _ in pairs]), best([b for _, b in pairs])


class Table:
    """Lines of what, ours, peer, ratio, bar; printed as they come."""

    def __init__(self) -> None:
        self.misses = 0
        self.add("what", "ours", "peer", "ratio", "bar", "")

    def add(self, *cells: str) -> None:
        print("{:58} {:>10} {:>10} {:>8} {:>9}  {}".format(*cells), flush=True)

    def ratio(self, what: str, ours: float, peer: float, bar: float | None, unit: str = "s", *, faster=False) -> None:
        """ours / peer at most bar, or (faster) peer / ours at least bar."""
        value = peer / ours if faster else ours / peer
        passed = None if bar is None else value >= bar if faster else value <= bar
        self.misses += passed is False
        limit = "" if bar is None else f"{'>=' if faster else '<='} {bar:g}x"
        verdict = {None: "", True: "pass", False: "MISS"}[passed]
        self.add(what, f"{ours:.2f} {unit}", f"{peer:.2f} {unit}", f"{value:.2f}x", limit, verdict)

    def limit(self, what: str, value: float, bar: float, unit: str) -> None:
        passed = value <= bar
        self.misses += not passed
        self.add(what, f"{value:.0f} {unit}", "", "", f"<= {bar:g} {unit}", "pass" if passed else "MISS")


def compare_kernel(table: Table, repeats: int, n: int = 10_000) -> None:
    """A fit against the kernel matrix alone; memory against one matrix."""
    matrix_bytes = 8.0 * n * n
    for structure, bar in (("flat", 1.1), ("ring", 1.1)):
        fit, matrix = compare(("ours", n, structure), ("rbf_matrix", n), repeats)
        name = "KernelKMeans" if structure == "flat" else f"{structure} of {CLUSTERS}"
        table.ratio(f"{name} n={n} v rbf_kernel(X) alone, wall", fit["wall"], matrix["wall"], bar)
        table.ratio(f"{name} n={n} v rbf_kernel(X) alone, CPU", fit["cpu"], matrix["cpu"], None)
        what = f"{name} n={n} peak above imports v one float64 matrix"
        table.ratio(what, fit["peak"] / MB, matrix_bytes / MB, 0.8, "MB")


def compare_exact(table: Table, repeats: int, n: int = 30_000) -> None:
    """An exact fit past memory against one pass over the kernel in tiles."""
    fit, one = compare(("ours", n, "ring", None), ("tiled_product", n), min(repeats, 2))
    table.ratio(f"ring of {CLUSTERS} n={n} exact v one product K @ Pi, wall", fit["wall"], one["wall"], 3.0)
    table.limit(f"ring of {CLUSTERS} n={n} exact, peak above imports", fit["peak"] / MB, 700, "MB")


def compare_exact_large(table: Table, n: int = 100_000) -> None:
    fit = run("ours", n, "ring", None)
    table.limit(f"ring of {CLUSTERS} n={n} exact ({fit['wall']:.0f} s), peak", fit["peak"] / MB, 1000, "MB")
    fit = run("auto_graphs", n, COLUMNS)
    table.limit(f"default n={n} ({fit['wall']:.0f} s), peak above imports", fit["peak"] / MB, 1000, "MB")


def compare_auto(table: Table, repeats: int, columns: int = 10) -> None:
    """The default fit against spectral clustering of one neighbour graph of the same samples."""
    for n, bar in ((500, 12.0), (1000, 12.0), (2000, 12.0), (2900, 12.0), (10_000, 4.0), (20_000, 2.0)):
        fit, peer = compare(("auto_graphs", n, columns), ("spectral", n, columns), repeats if n < 5000 else 1)
        table.ratio(f"default, chain of {CLUSTERS}, n={n} v SpectralClustering, CPU", fit["cpu"], peer["cpu"], bar)


def compare_tslearn(table: Table, repeats: int, n: int = 5000) -> None:
    what = f"KernelKMeans n={n} v tslearn KernelKMeans"
    if importlib.util.find_spec("tslearn") is None:
        table.add(what, "", "", "", ">= 8x", "not installed")
        return
    fit, peer = compare(("ours", n), ("tslearn_kmeans", n), min(repeats, 2))
    table.ratio(f"{what}, CPU", fit["cpu"], peer["cpu"], 8.0, faster=True)
    table.ratio(f"{what}, wall", fit["wall"], peer["wall"], None, faster=True)


def compare_large(table: Table, repeats: int, n: int = 100_000) -> None:
    for structure, bar in (("flat", 3.0), ("ring", None)):
        fit, peer = compare(("ours", n, structure), ("nystroem_kmeans", n), min(repeats, 3))
        name = "KernelKMeans" if structure == "flat" else f"{structure} of {CLUSTERS}"
        table.ratio(f"{name} n={n} v Nystroem(300) + KMeans, wall", fit["wall"], peer["wall"], bar)
        table.ratio(f"{name} n={n} v Nystroem(300) + KMeans, CPU", fit["cpu"], peer["cpu"], bar)
        table.limit(f"{name} n={n} peak of the whole process", fit["total"] / MB, 1000, "MB")


def compare_million(table: Table, n: int = 1_000_000) -> None:
    fit = run("ours", n)
    table.limit(f"KernelKMeans n={n} peak of the whole process ({fit['wall']:.0f} s)", fit["total"] / MB, 4000, "MB")


def compare_predict(table: Table, n: int = 100_000) -> None:
    told = run("predict", n)
    table.limit(f"predict n={n} peak above the model ({told['wall']:.1f} s)", told["peak"] / MB, 500, "MB")


def compare_import(table: Table, repeats: int) -> None:
    ours_, peer = compare(("importing", "kernelclust.estimators"), ("importing", "sklearn.cluster"), max(repeats, 5))
    table.ratio("import kernelclust.estimators v sklearn.cluster, wall", ours_["wall"], peer["wall"], 1.5)
    table.ratio("import kernelclust.estimators v sklearn.cluster, CPU", ours_["cpu"], peer["cpu"], 1.5)
    with tempfile.TemporaryDirectory() as folder:
        cache = {"NUMBA_CACHE_DIR": folder}
        first, second = (run("first_fit", 500, environment=cache) for _ in range(2))
    table.add("first fit (ring, n=500) in a first process, which compiles", f"{first['wall']:.2f} s", "", "", "", "")
    table.add("first fit in a second process", f"{second['wall']:.2f} s", "", "", "", "")
    table.limit("functions compiled in the second process", second["misses"], 0, "")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Speed and memory as ratios to peers in the same run.")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="also 100 000 exactly and a million samples")
    parser.add_argument("--only", default="import,kernel,exact,auto,tslearn,predict,large", help="parts")
    parser.add_argument("--threads", type=int, help="of every process; 1 makes ratios steadier on a busy machine")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.measure:
        job, *arguments = json.loads(options.measure)
        print(json.dumps(measure(job, arguments)))
        return 0
    if options.threads:
        os.environ.update({name: str(options.threads) for name in THREADS})
    parts = options.only.split(",")
    for structure in ("flat", "ring"):
        run("ours", 600, structure)  # compiles, if that was not done yet
    table = Table()
    if "import" in parts:
        compare_import(table, options.repeats)
    if "kernel" in parts:
        compare_kernel(table, options.repeats)
    if "exact" in parts:
        compare_exact(table, options.repeats)
    if "auto" in parts:
        compare_auto(table, options.repeats)
    if "tslearn" in parts:
        compare_tslearn(table, options.repeats)
    if "predict" in parts:
        compare_predict(table)
    if "large" in parts:
        compare_large(table, options.repeats)
    if options.large:
        compare_exact_large(table)
        compare_million(table)
    print(f"{table.misses} missed" if table.misses else "all reached")
    return 0


if __name__ == "__main__":
    sys.exit(main())
