"""Is the right number and structure chosen without labels? Does the eigengap guide the Cholesky factor well?

    python benchmarks/selection.py [--seeds 20] [--first 0] [--only number,structure,table,real] [--data DIR]

number: groups of several kinds, and months, beside silhouette, the gap statistic and
the eigengap. structure: clusters on a chain, a ring, a tree, in random places: what is found, and the time it takes.
With --data (.npz files with X, y): table, table 1 of Song, Smola, Gretton and Borgwardt (2007): error before and after
incomplete Cholesky on nine UCI sets, columns kept, and time of the eigenvectors; real, structures chosen on real sets.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_score
from sklearn.metrics.pairwise import rbf_kernel

from kernelclust import KernelKMeans, StructuredClustering, select_n_clusters, select_structure
from kernelclust.datasets import rotated_images, structured_blobs
from kernelclust.kernels import RBF, incomplete_cholesky
from kernelclust.metrics import clustering_accuracy, clustering_distance

PAPER = {  # name: errors before and after, columns kept, seconds before and after
    "breastcancer_wisconsin": (3.7, 3.7, 35, 18.9, 0.0),
    "iris": (16.0, 18.0, 12, 0.2, 0.0),
    "wine": (4.5, 5.1, 61, 0.4, 0.0),
    "soybean_small": (0.0, 0.0, 32, 0.0, 0.0),
    "vehicle": (65.4, 65.4, 137, 38.0, 0.3),
    "glass": (51.4, 51.4, 93, 0.6, 0.0),
    "segment": (36.0, 36.0, 228, 647.0, 11.4),
    "usps_test": (47.0, 46.9, 1518, 537.9, 157.3),
    "vowel": (68.9, 68.9, 309, 57.1, 2.1),
}


def compare_numbers(seeds: Sequence[int], n_null: int = 20) -> int:
    """Print how often the right number of clusters is found, for each kind of reference data and by other rules."""

    def blobs(c: int, d: int, spread: float = 1.0) -> Callable:
        return lambda seed: make_blobs(40 * c, d, centers=c, cluster_std=spread, random_state=seed)[0]

    def uneven(seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return np.repeat(rng.uniform(-6, 6, (5, 3)), [20, 40, 60, 80, 100], axis=0) + rng.standard_normal((300, 3))

    sets = (
        ("3 in 2-d", blobs(3, 2), 3),
        ("5 in 10-d", blobs(5, 10, 3.0), 5),
        ("5 uneven in 3-d", uneven, 5),
        ("12 months", months, 12),
    )
    rules = ("silhouette", "gap statistic", "eigengap")
    nulls = ("gaussian", "uniform", "columns")
    print(f"\n{'right number of clusters of 2..7, 2..14':40}" + "".join(f"{name:>15}" for name in (*nulls, *rules)))
    for name, make, right in sets:
        hits, numbers = Counter(), range(2, 15 if right > 7 else 8)
        for seed in seeds:
            X = make(seed)
            settings = {"n_null": n_null, "n_perturbations": 0, "random_state": seed}
            picks = {null: select_n_clusters(X, numbers, null=null, **settings).best for null in nulls}
            hits.update(rule for rule, c in (picks | plain_numbers(X, numbers, seed)).items() if c == right)
        print(f"{name:40}" + "".join(f"{f'{hits[rule]}/{len(seeds)}':>15}" for rule in (*nulls, *rules)), flush=True)
    return 0


def months(seed: int, per_month: int = 30) -> np.ndarray:
    """A made-up climate: six measurements that follow the year, standardised."""
    rng = np.random.default_rng(seed)
    a = 2 * np.pi * np.repeat(np.arange(12), per_month) / 12
    columns = [
        (10 - 9 * np.cos(a - 0.5), 0.8),
        (150 - 90 * np.cos(a), 12),
        (70 + 20 * np.sin(a), 10),
        (11 - 5 * np.cos(a - 1.2), 0.4),
        (40 + 15 * np.cos(a - 0.8), 2),
        (np.maximum(0, 100 * np.exp(-((a - 2) ** 2))), 5),
    ]
    X = np.column_stack([mean + sd * rng.standard_normal(len(a)) for mean, sd in columns])
    return (X - X.mean(axis=0)) / X.std(axis=0)


def plain_numbers(X: np.ndarray, numbers: Sequence[int], seed: int, n_null: int = 10) -> dict[str, int]:
    """What silhouette, gap statistic (both of KMeans) and the eigengap of the rbf kernel choose."""

    def spread(Z: np.ndarray, c: int) -> tuple[float, np.ndarray]:
        model = KMeans(c, n_init=5, random_state=seed).fit(Z)
        return float(np.log(model.inertia_)), model.labels_

    rng = np.random.default_rng(seed)
    boxes = [rng.uniform(X.min(axis=0), X.max(axis=0), X.shape) for _ in range(n_null)]
    found = [spread(X, c) for c in numbers]
    null = np.array([[spread(box, c)[0] for c in numbers] for box in boxes])
    gap = null.mean(axis=0) - [value for value, _ in found]
    error = null.std(axis=0) * np.sqrt(1 + 1 / n_null)
    enough = np.append(gap[:-1] >= gap[1:] - error[1:], True)
    K = rbf_kernel(X, gamma=1 / (2 * X.var(axis=0).sum()))
    values = np.linalg.eigvalsh(K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean())[::-1]
    return {
        "silhouette": numbers[int(np.argmax([silhouette_score(X, labels) for _, labels in found]))],
        "gap statistic": numbers[int(np.argmax(enough))],
        "eigengap": max(numbers, key=lambda c: values[c - 2] - values[c - 1]),
    }


def compare_structures(seeds: Sequence[int]) -> int:
    """Print which structure is found, by kernel, how often an order is claimed above 0.9, and the mean probability of
    the right family; then the time of a selection beside that of a fit."""

    def places(make: Callable) -> Callable:
        def data(seed: int) -> np.ndarray:
            rng = np.random.default_rng(seed)
            means = make(rng)
            return np.repeat(means, 30, axis=0) + 0.5 * rng.standard_normal((30 * len(means), means.shape[1]))

        return data

    sets = (
        ("line in 2-d", "chain", 6, places(lambda rng: np.c_[2.0 * np.arange(6), np.zeros(6)])),
        ("half circle in 2-d", "chain", 6, places(lambda rng: _circle(0.6))),
        ("circle in 2-d", "ring", 6, places(lambda rng: _circle(1.0))),
        ("chain, next alone alike, 8-d", "chain", 8, lambda s: _blobs("chain:8", s)),
        ("ring, next alone alike, 8-d", "ring", 8, lambda s: _blobs("ring:8", s)),
        ("grid 3 x 3, next alone alike", "grid", 9, lambda s: _blobs("grid:3x3", s)),
        ("lineage of 7 with three arms, 3-d", "tree", 7, places(lambda rng: _arms())),
        ("three groups of three, 10-d", "hierarchy", 9, places(_groups)),
        ("photograph turned half", "chain", 6, lambda s: _turned(s, closed=False)),
        ("photograph turned fully", "ring", 6, lambda s: _turned(s, closed=True)),
        ("all equally far", "flat", 6, places(lambda rng: 3 * np.eye(6))),
        ("random places in 8-d", "flat", 6, places(lambda rng: 2 * rng.standard_normal((6, 8)))),
        ("random places in 3-d", "flat", 6, places(lambda rng: 3 * rng.standard_normal((6, 3)))),
        ("random places in 2-d", "flat", 6, places(lambda rng: rng.uniform(-6, 6, (6, 2)))),
        ("noise in 2-d, no clusters", "flat", 6, lambda s: np.random.default_rng(s).standard_normal((180, 2))),
    )
    print(f"\n{'':36}{'right':>10}{'kernel':>8}{'found':>34}{'P(right)':>10}{'order > .9':>12}")
    for name, right, c, make in sets:
        for kernel in ("auto", "rbf"):
            found, p, sure = Counter(), [], 0
            for seed in seeds:
                table = _families(make(seed), c, kernel, seed)
                found[table.rows[0].name] += 1
                p.append(table[right].probability)
                sure += 1 - table["flat"].probability - table["hierarchy"].probability > 0.9
            line = f"{name:36}{right:>10}{kernel:>8}{_counts(found):>34}"
            print(f"{line}{np.mean(p):>10.2f}{f'{sure}/{len(seeds)}':>12}", flush=True)
    _time_of_selection()
    return 0


def _families(X: np.ndarray, c: int, kernel: str = "auto", seed: int = 0):
    """The table of structures that a selection prints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = select_structure(X, n_clusters=c, kernel=kernel, random_state=seed)
    return found.best_estimator_.diagnostics_.structures


def _time_of_selection(repeats: int = 5) -> None:
    """Print seconds of a selection, of structure="auto" and of a default fit on 1000 x 20, medians of single-thread CPU
    time."""
    X = structured_blobs("chain:8", n_samples=1000, n_features=20, noise=0.3, random_state=0).data
    calls = {
        'StructuredClustering("chain:8")': lambda: StructuredClustering(structure="chain:8", random_state=0).fit(X),
        "KernelKMeans(8)": lambda: KernelKMeans(8, random_state=0).fit(X),
        'StructuredClustering("auto")': lambda: StructuredClustering(8, structure="auto", random_state=0).fit(X),
        "select_structure, all families": lambda: select_structure(X, n_clusters=8, random_state=0),
        "select_structure, two candidates": lambda: select_structure(X, ["flat:8", "ring:8"], random_state=0),
    }
    for name, call in calls.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
            spent = []
            for _ in range(repeats):
                began = time.process_time()
                call()
                spent.append(time.process_time() - began)
        print(f"{name:44}{np.median(spent):8.2f} s of CPU", flush=True)


def _arms() -> np.ndarray:
    """Seven places, three arms of two around one."""
    means = np.zeros((7, 3))
    for k in range(3):
        means[1 + 2 * k, k], means[2 + 2 * k, k] = 2.5, 5.0
    return means


def _groups(rng: np.random.Generator) -> np.ndarray:
    return np.repeat(6 * rng.standard_normal((3, 10)), 3, axis=0) + 1.5 * rng.standard_normal((9, 10))


def _circle(turn: float) -> np.ndarray:
    """Six places two apart around a share of a circle; 0.6 leaves out four of ten."""
    angle = 2 * np.pi * turn * np.arange(6) / 6
    return np.c_[np.cos(angle), np.sin(angle)] / np.sin(np.pi * turn / 6)


def _blobs(structure: str, seed: int) -> np.ndarray:
    return structured_blobs(structure, n_samples=240, noise=0.3, random_state=seed).data


def _turned(seed: int, *, closed: bool) -> np.ndarray:
    return rotated_images(6, per_cluster=12, skip=3, closed=closed, size=16, random_state=seed).data


def _counts(counter: Counter) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.most_common())


def table_1(folder: Path, seeds: Sequence[int], scale: float = 1.0) -> int:
    """Print the paper's table beside ours; return the number of sets whose error moves by more than two points."""
    print(f"\nincomplete Cholesky, rbf with gamma {scale:g}/d on standardised columns (the paper's below)")
    print(f"{'':26}{'m, d, c':>16}{'error':>8}{'after':>8}{'columns':>9}{'eig s':>8}{'svd s':>8}{'moved':>8}")
    misses = 0
    for name, paper in PAPER.items():
        X, y = _load(folder / f"{name}.npz")
        c, gamma = len(np.unique(y)), scale / X.shape[1]
        K = rbf_kernel(X, gamma=gamma)
        B, _ = incomplete_cholesky(np.diag(K), lambda index, K=K: K[:, index], len(K), n_clusters=c)
        H = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
        before = _seconds(lambda H=H: np.linalg.eigh(H))
        after = _seconds(lambda B=B: np.linalg.svd(B - B.mean(axis=0), full_matrices=False))
        errors, moved = [], []
        for seed in seeds:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # columns of B are not measurements
                exact = KernelKMeans(c, kernel=RBF(gamma=gamma), approximation=None, random_state=seed).fit_predict(X)
                low = KernelKMeans(c, kernel="linear", random_state=seed).fit_predict(B)
            errors.append([100 - 100 * clustering_accuracy(y, labels) for labels in (exact, low)])
            moved.append(clustering_distance(exact, low) / (2 * (c - 1)))
        first, second = np.mean(errors, axis=0)
        misses += abs(second - first) > 2
        size = f"{len(X)}, {X.shape[1]}, {c}"
        print(
            f"{name:26}{size:>16}{first:>8.1f}{second:>8.1f}{B.shape[1]:>9}{before:>8.2f}{after:>8.2f}{np.mean(moved):>8.3f}\n"
            f"{'':42}{paper[0]:>8.1f}{paper[1]:>8.1f}{paper[2]:>9}{paper[3]:>8.1f}{paper[4]:>8.1f}",
            flush=True,
        )
    return misses


def real_structures(folder: Path, kernels: Sequence[str] = ("auto", "rbf")) -> None:
    """Print which structure is chosen for turning objects, turning heads and sets without a known order."""
    turning = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    coil, faces = np.load(folder / "coil20.npz"), np.load(folder / "umist_faces.npz")
    pictures, objects, angle = coil["X"].reshape(len(coil["y"]), -1).astype(float), coil["y"], coil["angle_deg"]
    heads = faces["X"].reshape(len(faces["y"]), -1).astype(float)
    kinds = {
        "COIL full turn (ring:8)": [(pictures[objects == o], 8) for o in turning],
        "COIL half turn (chain:5)": [(pictures[(objects == o) & (angle < 175)], 5) for o in turning],
        "UMIST (chain:4)": [(heads[faces["y"] == person], 4) for person in (0, 2, 3, 4, 5, 7, 9, 10)],
        "no order known": [
            (_load(folder / f"{name}.npz", 200)[0], c)
            for name, c in (("wine", 4), ("soybean_small", 4), ("vehicle", 4), ("glass", 6), ("segment", 7), ("zoo", 7))
        ],
    }
    print(f"\n{'':40}{'found':>60}")
    for kernel in kernels:
        for kind, sets in kinds.items():
            found = Counter(_families(X, c, kernel).rows[0].name for X, c in sets)
            print(f"{f'{kind}, {kernel}':40}{_counts(found):>60}", flush=True)


def _load(path: Path, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Complete rows (some of them), columns that vary, standardised."""
    with np.load(path, allow_pickle=False) as file:
        X, y = file["X"].astype(float), file["y"]
    X, y = X[~np.isnan(X).any(axis=1)], y[~np.isnan(X).any(axis=1)]
    if rows is not None and rows < len(X):
        some = np.sort(np.random.default_rng(0).choice(len(X), rows, replace=False))
        X, y = X[some], y[some]
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def _seconds(work: Callable) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Selection without labels.")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--only", default="number,structure,table,real", help="parts to run")
    parser.add_argument("--data", type=Path, help="folder with the nine sets of table 1")
    options = parser.parse_args(argv)
    parts, seeds, misses = options.only.split(","), range(options.first, options.first + options.seeds), 0
    if "number" in parts:
        misses += compare_numbers(seeds)
    if "structure" in parts:
        misses += compare_structures(seeds)
    if options.data and "table" in parts:
        misses += table_1(options.data, seeds[:3])
    if options.data and "real" in parts:
        real_structures(options.data)
    print(f"{misses} missed" if misses else "all reached")
    return 0


if __name__ == "__main__":
    sys.exit(main())
