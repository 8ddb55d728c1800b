"""How time and memory grow with the number of samples: exponents, and log-log plots.

    python benchmarks/scale.py [--only stored,tiled,graph,margin,gpu,dask] [--largest 1000000] [--out build/scale]

A ring of 10 in 20 columns (32 on a card). Every fit is timed once after a small one that compiles, on the host by what
the processor worked, so that others there do not matter; exponents are slopes of a line through the logarithms. "dask"
compares with a plain Lloyd over the same partitions, by two worker processes, both counted a round; "gpu" needs a card.
Results are kept in the folder, so that those of several machines come into one picture.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from pathlib import Path

import numpy as np

from kernelclust import MaxMarginClustering, StructuredClustering
from kernelclust.kernels import approximations

CLUSTERS = 10
SIZES = {
    "stored": [2000, 4000, 8000, 16000],
    "tiled": [8000, 16000, 32000, 64000],
    "low rank": [30_000, 100_000, 300_000, 1_000_000],
    "graph": [5000, 10_000, 20_000, 40_000],
    "margin": [10_000, 30_000, 100_000, 300_000],
    "gpu": [100_000, 300_000, 1_000_000, 3_000_000, 10_000_000],
    "dask": [1_000_000, 3_000_000, 10_000_000],
}
PARTITION = 100_000


def ring(m: int, d: int = 20, noise: float = 0.1, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * rng.integers(0, CLUSTERS, m) / CLUSTERS
    X = noise * rng.standard_normal((m, d), dtype=np.float32)
    X[:, 0] += np.cos(angle)
    X[:, 1] += np.sin(angle)
    return X


def model(**options) -> StructuredClustering:
    return StructuredClustering(structure=f"ring:{CLUSTERS}", **{"kernel": "rbf", "random_state": 0} | options)


FITS = {
    "stored": lambda X: model(approximation=None).fit(X),
    "tiled": lambda X: model(approximation=None).fit(X),
    "low rank": lambda X: model(approximation=approximations.Nystroem(100)).fit(X),
    "graph": lambda X: model(kernel="graph").fit(X),
    "margin": lambda X: MaxMarginClustering(random_state=0).fit(X),
}


def seconds(work, clock=time.perf_counter) -> float:
    start = clock()
    work()
    return clock() - start


def on_host(name: str, sizes: list[int]) -> list[float]:
    import sklearn

    with sklearn.config_context(working_memory=64 if name == "tiled" else 4096):
        FITS[name](ring(500))
        return [seconds(lambda X=X: FITS[name](X), time.process_time) for X in map(ring, sizes)]


def on_card(sizes: list[int]) -> list[float]:
    import torch

    if not torch.cuda.is_available():
        raise ImportError("no GPU")
    found = []
    for m in sizes:
        X = torch.as_tensor(ring(m, 32), device="cuda")
        model().fit(X)
        torch.cuda.reset_peak_memory_stats()
        found.append(seconds(lambda X=X: (model().fit(X), torch.cuda.synchronize())))
        print(f"  {m} rows: {torch.cuda.max_memory_allocated() / 2**30:.2f} GB of the card")
    return found


# -- partitions --------------------------------------------------------------------------------------------------------


def nearest(X, centers, features=None):
    """Sums and counts of a step of Lloyd's algorithm."""
    B = X if features is None else features.transform(X)
    labels = np.argmax(B @ centers.T - (centers**2).sum(axis=1) / 2, axis=1)
    return np.eye(len(centers))[labels].T @ B, np.bincount(labels, minlength=len(centers))


def lloyd(X, rounds: int, features=None) -> None:
    """k-means over partitions from random samples, a number of rounds."""
    from dask import compute, delayed

    blocks = X.to_delayed().ravel()
    first = compute(blocks[0])[0][:CLUSTERS]
    centers = first if features is None else features.transform(first)
    for _ in range(rounds):
        given = delayed(centers), delayed(features)
        found = compute(*[delayed(nearest)(block, *given) for block in blocks])
        centers = sum(sums for sums, _ in found) / np.maximum(sum(n for _, n in found), 1)[:, None]


def partitions(m: int):
    import dask
    import dask.array as da

    made = [dask.delayed(ring)(PARTITION, seed=i) for i in range(m // PARTITION)]
    return da.concatenate([da.from_delayed(one, (PARTITION, 20), dtype=np.float32) for one in made])


def by_workers(sizes: list[int]) -> list[float]:
    """Seconds of our rbf fit of rank 100; ratios to Lloyd are printed."""
    from dask.distributed import Client, LocalCluster, wait
    from sklearn.kernel_approximation import Nystroem

    found = []
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        for m in sizes:
            X = client.persist(partitions(m))
            wait(X)
            for kernel in ("linear", "rbf"):
                features = None if kernel == "linear" else Nystroem(n_components=100, random_state=0).fit(ring(2500))
                fitted = model(kernel=kernel, approximation=approximations.Nystroem(100) if features else "auto")
                mine = seconds(lambda fitted=fitted, X=X: fitted.fit(X))
                rounds = len(fitted.diagnostics_.history) + 2  # and the looks before and after
                theirs = seconds(lambda X=X, rounds=rounds, features=features: lloyd(X, rounds, features))
                ratio = f"Lloyd with {rounds} passes {theirs:.1f} s: {mine / theirs:.2f}"
                print(f"  {m} rows, {kernel}: {mine:.1f} s, {ratio}")
            used = [worker["metrics"]["memory"] / 2**20 for worker in client.scheduler_info()["workers"].values()]
            print(f"  memory of the workers: {', '.join(f'{one:.0f} MB' for one in used)}")
            found.append(mine)
    return found


# -- all of it ---------------------------------------------------------------------------------------------------------


def exponent(sizes: list[int], times: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0]) if len(sizes) > 1 else np.nan


def with_kept(results: dict, out: Path) -> dict:
    """Results and those that the folder holds, now kept there."""
    out.mkdir(parents=True, exist_ok=True)
    kept = out / "scale.json"
    results = (json.loads(kept.read_text()) if kept.exists() else {}) | results
    kept.write_text(json.dumps(results, indent=1))
    return {name: results[name] for name in SIZES if name in results}


def plot(results: dict[str, tuple[list[int], list[float]]], out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
    for (name, (sizes, times)), mark in zip(results.items(), "osD^v<>", strict=False):
        axes.loglog(sizes, times, marker=mark, label=f"{name}: m^{exponent(sizes, times):.2f}")
    axes.set(xlabel="samples", ylabel="seconds of a fit (of the processor, on the host)", title="How a fit grows")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(out / "scale.png", dpi=150)
    print(f"written: {out / 'scale.png'}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(SIZES))
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.only.split(",")) - set(SIZES):
        parser.error(f"--only knows {', '.join(SIZES)}, not {', '.join(sorted(unknown))}")
    warnings.simplefilter("ignore")
    results = {}
    for name in chosen.only.split(","):
        sizes = [m for m in SIZES[name] if m <= chosen.largest]
        try:
            times = {"gpu": on_card, "dask": by_workers}.get(name, lambda sizes, name=name: on_host(name, sizes))(sizes)
        except ImportError as error:
            print(f"{name}: left out ({error})")
            continue
        results[name] = sizes, times
        row = ", ".join(f"{m}: {t:.2f} s" for m, t in zip(sizes, times, strict=True))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{name}: {row}; exponent {exponent(sizes, times):.2f}; peak of this process {peak:.0f} MB")
    if chosen.out and results:
        plot(with_kept(results, chosen.out), chosen.out)


if __name__ == "__main__":
    main()
