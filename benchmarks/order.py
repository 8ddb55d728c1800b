"""Does `order_confidence_` mean what it says, and does `order_.pvalue` keep its level?

    python benchmarks/order.py [--data DIR] [--only level,chains,calibration,real,cost,others] [--fits 200]

level: noise of 2 to 50 dimensions, and groups at the corners of a simplex, on rings and chains; share of p < 0.05.
chains: 8 to 24 clusters in a row, those in the right order; share of confidence > 0.8.
calibration: random smooth curves and grids with noise up to the loss of the order, and plain noise; by structure, what
the confidence says and how many are right (agreement of orders at least 0.9, as an accuracy would call other cuts along
a curve wrong). Seeds are not those that constants were fitted on.
real: chains and rings of pictures (DIR: see docs/real-data.md). Right: structured accuracy at least 0.9 of the accuracy
under the best naming. Area under the ROC curve, beside the margin.
cost: seconds with and without.
others: losses, known labels, weights, search="global", 5000 samples.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import real_data
from sklearn.metrics import roc_auc_score

from kernelclust import StructuredClustering
from kernelclust.engine import order_agreement, steps
from kernelclust.metrics import clustering_accuracy, structured_accuracy
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy
from kernelclust.structures import as_structure

RIGHT = 0.9
LEVEL, LONG_CHAINS, REAL = 0.07, 0.9, 0.88  # what is promised
NOISY = ("ring:4", "ring:6", "ring:8", "chain:4", "chain:6")
STRUCTURES = (*NOISY, "chain:8", "chain:12", "chain:24", "ring:5", "ring:12", "grid:3x3", "tree:2x3", "flat:3*chain:3")
KERNELS = ("auto", "rbf", "graph")
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


def fit(X, structure: str, seed: int, y=None, sample_weight=None, **settings) -> StructuredClustering:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the warnings are what is measured
        model = StructuredClustering(structure=structure, random_state=seed, **settings)
        return model.fit(X, y, sample_weight=sample_weight)


def is_right(y: np.ndarray, model: StructuredClustering) -> bool:
    found = structured_accuracy(y, model.labels_, model.structure_)
    return found >= RIGHT * clustering_accuracy(y, model.labels_)


def in_order(y: np.ndarray, model: StructuredClustering) -> bool:
    """Right where borders are a matter of taste: agreement of the orders, whatever the cuts along a curve."""
    c = model.structure_.n_clusters
    table = np.bincount(y * c + model.labels_, minlength=c * c).reshape(c, c).astype(float)
    return bool(order_agreement(steps(model.structure_.kernel), table[None])[0] >= RIGHT)


# -- data -------------------------------------------------------------------------------------------------------------


def noise(c: int, rng: np.random.Generator) -> np.ndarray:
    m, d = c * int(rng.choice([15, 30, 60])), int(rng.choice([2, 3, 4, 6, 10, 20, 50]))
    kind = rng.integers(3)
    if kind == 0:
        return rng.standard_normal((m, d))
    if kind == 1:
        return rng.uniform(size=(m, d))
    return rng.uniform(2, 6) * np.eye(c)[np.arange(m) % c] + rng.standard_normal((m, c))


def curve(place: np.ndarray, closed: bool, d: int, rng: np.random.Generator) -> np.ndarray:
    """A random smooth curve through d dimensions at places in [0, 1]."""
    decay, X = rng.uniform(0.5, 2.5), np.zeros((len(place), d))
    for k in range(1, 6):
        waves = (
            [np.cos(2 * np.pi * k * place), np.sin(2 * np.pi * k * place)] if closed else [np.cos(np.pi * k * place)]
        )
        X += sum(np.outer(wave, rng.standard_normal(d)) for wave in waves) / k**decay
    return X


def arranged(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Samples on a curve, a map or groups of groups, with as much noise as comes."""
    structure = as_structure(name)
    c, d = structure.n_clusters, int(rng.choice([3, 5, 10, 30]))
    y = np.repeat(np.arange(c), int(rng.choice([10, 20, 40])))
    inside = rng.choice([0.0, 0.3, 0.5]) * rng.uniform(-1, 1, len(y))
    if structure.is_one_dimensional:
        X = curve((y + 0.5 + inside) / c, name.startswith("ring"), d, rng)
    elif name.startswith("grid"):
        row, column = np.divmod(y, structure.columns)
        X = np.c_[row + inside, column + rng.permutation(inside), np.zeros((len(y), d - 2))]
    else:
        near = structure.kernel / structure.kernel.max()
        X = (np.linalg.cholesky(near + 0.3 * np.eye(c)) @ rng.standard_normal((c, d)))[y]
    means = np.stack([X[y == j].mean(axis=0) for j in range(c)])
    gap = np.median(np.linalg.norm(np.diff(means, axis=0), axis=1))
    return X + gap * rng.uniform(0.1, 3.0) / np.sqrt(d) * rng.standard_normal(X.shape), y


# -- what is measured -------------------------------------------------------------------------------------------------


def judged(name: str, value: float, passed: bool) -> int:
    print(f"  {name}: {value:.3f} {'pass' if passed else 'MISS'}", flush=True)
    return int(not passed)


def level(fits: int) -> int:
    said: dict[str, list] = {}
    for seed in range(fits):
        rng = np.random.default_rng([7, seed])
        kernel, name = ("rbf", "auto")[seed % 2], NOISY[seed // 2 % len(NOISY)]
        X = noise(as_structure(name).n_clusters, rng)
        model = fit(X, name, seed, kernel=kernel)
        for group in (kernel, name, "in the plane" if X.shape[1] == 2 else "beyond the plane", "all"):
            said.setdefault(group, []).append((model.order_.pvalue < 0.05, model.order_confidence_ > 0.5))
    print("noise: p < 0.05, confidence > 0.5")
    for group, rows in said.items():
        p, confidence = np.mean(rows, axis=0)
        print(f"  {group:18}{p:6.2f}{confidence:6.2f}  ({len(rows)})")
    found = float(np.mean(said["all"], axis=0)[0])
    return judged(f"level, at most {LEVEL}", found, found <= LEVEL)


def chains(fits: int) -> int:
    sure = []
    for seed in range(fits):
        rng = np.random.default_rng([8, seed])
        c = int(rng.integers(8, 25))
        y = np.repeat(np.arange(c), int(rng.choice([15, 30])))
        place = y + rng.uniform(-0.3, 0.3, len(y))
        bent = np.c_[place, c * rng.uniform(0, 0.5) * np.sin(np.pi * place / c), np.zeros((len(y), 2))]
        model = fit(bent + 0.15 * rng.standard_normal(bent.shape), f"chain:{c}", seed, kernel=("rbf", "auto")[seed % 2])
        if in_order(y, model):
            sure.append(model.order_confidence_)
    print(f"true chains of 8 to 24, {len(sure)} of {fits} in the right order; lowest confidence {min(sure):.2f}")
    share = float(np.mean(np.array(sure) > 0.8))
    return judged(f"confidence > 0.8, at least {LONG_CHAINS}", share, share >= LONG_CHAINS)


def calibration(fits: int) -> None:
    rows = []
    for seed in range(fits):
        rng = np.random.default_rng([9, seed])
        name, kernel = STRUCTURES[seed % len(STRUCTURES)], ("rbf", "auto", "graph")[seed % 3]
        if seed % 4 == 3:
            X, right = noise(as_structure(name).n_clusters, rng), False
            model = fit(X, name, seed, kernel=kernel)
        else:
            X, y = arranged(name, rng)
            model = fit(X, name, seed, kernel=kernel)
            right = in_order(y, model)
        rows.append((name, model.order_confidence_, right, model.order_.pvalue, model.order_.margin))
    print_calibration([row[:3] for row in rows])
    print_calibration([(kind_of(name), told, right) for name, told, right, *_ in rows])
    names, told, right, p, margin = (np.array(column) for column in zip(*rows, strict=True))
    few = np.isin(names, ["ring:4"])
    print(f"  AUC {roc_auc_score(right, told):.2f}, margin {roc_auc_score(right, margin):.2f}")
    print(f"  p < 0.05 where the order is right, but for ring:4: {np.mean(p[right & ~few] < 0.05):.2f}")


def kind_of(name: str) -> str:
    """Structures whose confidence is read alike; ring:4 has three arrangements only."""
    return name if name == "ring:4" else "product" if "*" in name else name.split(":")[0]


def print_calibration(rows: Sequence[tuple[str, float, bool]]) -> None:
    """For every structure and range of confidence: number, mean said / share right."""
    names = list(dict.fromkeys(row[0] for row in rows))
    print(f"{'said / right (fits)':18}" + "".join(f"{f'{a:g}..{b:g}':>19}" for a, b in pairwise(BINS)))
    for name in [*names, "all"]:
        some = [(told, right) for one, told, right in rows if name in (one, "all")]
        told, right = (np.array(column, dtype=float) for column in zip(*some, strict=True))
        at = np.clip(np.searchsorted(BINS, told, side="right") - 1, 0, len(BINS) - 2)
        cells = (at == k for k in range(len(BINS) - 1))
        text = [f"{told[i].mean():.2f} / {right[i].mean():.2f} ({i.sum()})" if i.any() else "" for i in cells]
        print(f"  {name:16}" + "".join(f"{cell:>19}" for cell in text), flush=True)


def real(load) -> int:
    from auto import SWEEPS

    misses = 0
    for kernel in KERNELS:
        rows = []
        for make in SWEEPS.values():
            for task in make(load):
                one = real_data.shuffled(task, 0)
                model = fit(one.X, task.structure, 0, kernel=kernel)
                kind = "chains" if "chain" in str(task.structure) else "rings"
                rows.append((kind, model.order_confidence_, model.order_.margin, is_right(one.y, model)))
        kind, told, margin, right = (np.array(column) for column in zip(*rows, strict=True))
        auc = roc_auc_score(right, told)
        print(f"kernel={kernel!r}: {len(right)} real chains and rings, {right.sum()} in the right order")
        print(f"  margin {roc_auc_score(right, margin):.2f}")
        for one in ("chains", "rings"):
            print(f"  {one}: AUC {roc_auc_score(right[kind == one], told[kind == one]):.2f}")
        print_calibration(list(zip(kind, told, right, strict=True)))
        if kernel == "auto":
            misses += judged(f"AUC, at least {REAL}", auc, auc >= REAL)
        else:
            print(f"  AUC {auc:.3f}")
    return misses


def cost() -> None:
    print("seconds of a fit without / with, second of its structure (first)")
    for m, structure in (
        (100, "chain:6"),
        (800, "chain:8"),
        (800, "chain:12"),
        (5000, "ring:12"),
        (20_000, "chain:10"),
    ):
        rng = np.random.default_rng(0)
        place = rng.uniform(0, 10, m)
        X = np.c_[place, np.sin(place), np.zeros((m, 8))] + 0.5 * rng.standard_normal((m, 10))

        def seconds(X=X, structure=structure, **settings) -> float:
            start = time.perf_counter()
            fit(X, structure, 0, **settings)
            return time.perf_counter() - start

        first, without, again = seconds(), seconds(compute_confidence=False), seconds()
        print(f"  {m:6} {structure:9}{without:7.2f} / {again:5.2f} ({first:.2f})", flush=True)


def others() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 40)
    X = np.c_[y, np.sin(y), np.zeros((len(y), 3))] + 0.4 * rng.standard_normal((len(y), 5))
    Z = rng.standard_normal(X.shape)
    labels = np.full(len(y), -1)
    labels[::40] = np.arange(8)
    some = np.where(y < 3, labels, -1)
    large = np.repeat(np.arange(8), 625)
    L = np.c_[large, np.sin(large), np.zeros((5000, 3))] + 0.4 * rng.standard_normal((5000, 5))
    settings = {
        "plain": {},
        "loss": {"objective": Dependence(loss="structure", normalize="l1")},
        "labels of 3 clusters": {"y": some},
        "labels of all": {"y": labels},
        "weights": {"sample_weight": rng.uniform(0.2, 3.0, len(y))},
        "global": {"solver": Greedy(search="global")},
    }
    print(f"{'chain:8: confidence (p)':26}{'a chain':>16}{'noise':>16}")
    for name, given in settings.items():
        cells = [fit(data, "chain:8", 0, **given) for data in (X, Z)]
        print(f"  {name:24}" + "".join(f"{f'{m.order_confidence_:.2f} ({m.order_.pvalue:.2f})':>16}" for m in cells))
    cells = [fit(data, "chain:8", 0) for data in (L, rng.standard_normal(L.shape))]
    print(f"  {'m = 5000':24}" + "".join(f"{f'{m.order_confidence_:.2f} ({m.order_.pvalue:.2f})':>16}" for m in cells))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("KERNELCLUST_DATA"))
    parser.add_argument("--only", default="level,chains,calibration,real,cost,others")
    parser.add_argument("--fits", type=int, default=200)
    given = parser.parse_args(argv)
    wanted = given.only.split(",")
    misses = level(given.fits) if "level" in wanted else 0
    misses += chains(given.fits // 4) if "chains" in wanted else 0
    if "calibration" in wanted:
        calibration(2 * given.fits)
    if "cost" in wanted:
        cost()
    if "others" in wanted:
        others()
    if "real" in wanted and given.data and (Path(given.data) / "coil20.npz").exists():
        misses += real(real_data.loader(Path(given.data)))
    elif "real" in wanted:
        print("no real data: give --data DIR with the .npz files, see docs/real-data.md")
    return misses


if __name__ == "__main__":
    sys.exit(main())
