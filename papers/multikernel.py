"""The UCI-Digital row of Liu et al. (2016), tables 2 and 3: all nine columns beside the paper's, and honest baselines.

    python papers/multikernel.py --data DIR [--seeds 3] [--skip rmsc]

DIR holds mfeat_digital.npz (UCI "multiple features": X_fou, X_fac, X_kar, X_pix, X_zer, X_mor and y). The paper does
not say which three views its kernels came from; fou, pix and mor, Gaussian of median width, reproduce its columns.
Cells are accuracy under the best naming / NMI over the larger entropy, in %. "label-free": settings of the library, the
k-means run of lowest inertia. "by labels": the best of a grid by true accuracy, as the paper reports its tuned methods.
A seed shuffles the samples (the file is sorted by class) and starts the search; figures are means over seeds.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from kernelclust import KernelKMeans, MultiKernelClustering
from kernelclust.metrics import clustering_accuracy, normalized_mutual_info

sys.path.append(str(Path(__file__).resolve().parent))
from _resume import add_resume, finished

THREE, SIX = ("fou", "pix", "mor"), ("fou", "fac", "kar", "pix", "zer", "mor")
PAPER = {
    "average": (88.75, 80.59),
    "single best": (75.40, 68.38),
    "mkkm": (47.00, 48.16),
    "lmkkm": (47.00, 48.16),
    "rmkkm": (40.45, 46.87),
    "crsc": (84.80, 73.51),
    "rmsc": (90.40, 81.80),
    "rmkc": (88.90, 80.88),
    "mkkm-mr": (90.95, 83.87),
}
GRIDS: dict[str, list[dict[str, Any]]] = {
    "rmkkm": [{"method_params": {"gamma": gamma}} for gamma in (0.1, 0.3, 0.5, 0.7, 0.9)],
    "crsc": [{"method_params": {"strength": strength}} for strength in (0.01, 0.02, 0.05, 0.1, 0.2)],
    "rmkc": [{"method_params": {"bad_share": share}} for share in (0.05, 0.1, 0.2, 0.4)],
    "mkkm-mr": [{"lam": 2.0**power} for power in range(-15, 16)],
}

Score = tuple[float, float, float]


def score(y: np.ndarray, labels: np.ndarray) -> Score:
    accuracy, information = clustering_accuracy(y, labels), normalized_mutual_info(y, labels, average="max")
    return 100 * accuracy, 100 * information, adjusted_rand_score(y, labels)


class Digital:
    """The data in one order, kernels of three views made once."""

    def __init__(self, data: dict[str, np.ndarray], seed: int):
        order = np.random.default_rng(seed).permutation(len(data["y"]))
        self.seed, self.y = seed, np.asarray(data["y"])[order]
        self.views = {name: np.asarray(data[f"X_{name}"], dtype=float)[order] for name in SIX}
        self.n_clusters = len(np.unique(self.y))
        self.stack = np.stack([median_gaussian(self.views[name]) for name in THREE])

    def fit(self, kernels: np.ndarray | None = None, **options) -> tuple[Score, MultiKernelClustering]:
        model = MultiKernelClustering(
            self.n_clusters, kernels="precomputed", n_init=50, random_state=self.seed, **options
        ).fit(self.stack if kernels is None else kernels)
        return score(self.y, model.labels_), model

    def baselines(self, names: Iterable[str]) -> dict[str, Score]:
        c, seed = self.n_clusters, self.seed
        scaled = {name: StandardScaler().fit_transform(self.views[name]) for name in names}
        together = np.hstack(list(scaled.values()))
        even = np.hstack([X / np.sqrt(X.shape[1]) for X in scaled.values()])
        spectral = SpectralClustering(c, affinity="nearest_neighbors", random_state=seed)
        raw = [self.views[name] for name in names]

        def many(views, **options):
            return MultiKernelClustering(c, random_state=seed, **options).fit(views).labels_

        found = {
            "concatenated, KMeans": KMeans(c, n_init=10, random_state=seed).fit_predict(together),
            "concatenated, 10-nn spectral": spectral.fit_predict(together),
            "concatenated, views of equal size, 10-nn spectral": spectral.fit_predict(even),
            "concatenated, views of equal size, KernelKMeans(kernel='graph')": KernelKMeans(
                c, kernel="graph", random_state=seed
            ).fit_predict(even),
            "MultiKernelClustering()": many(raw),
            "MultiKernelClustering(kernels='rbf')": many(raw, kernels="rbf"),
            "MultiKernelClustering(kernels='graph')": many(raw, kernels="graph"),
            "MultiKernelClustering(kernels='diffusion', method='average'), standardised": many(
                list(scaled.values()), kernels="diffusion", method="average"
            ),
        }
        return {name: score(self.y, labels) for name, labels in found.items()}


def median_gaussian(X: np.ndarray) -> np.ndarray:
    norms = np.square(X).sum(axis=1)
    D = np.maximum(norms[:, None] + norms - 2 * X @ X.T, 0)
    return np.exp(-D / (2 * np.median(D[np.triu_indices(len(X), 1)])))


def column(digital: Digital, method: str) -> dict[str, Score]:
    """One column of the paper: without labels, by labels, and refined without labels."""
    if method == "single best":
        alone = [digital.fit(digital.stack[[p]], method="average", refine=False)[0] for p in range(len(digital.stack))]
        return {"by labels": max(alone)}
    found = {"label-free": digital.fit(method=method, refine=False)[0]}
    if method in GRIDS:
        found["by labels"] = max(digital.fit(method=method, refine=False, **options)[0] for options in GRIDS[method])
    found["refined"] = digital.fit(method=method)[0]
    return found


def show(found: Iterable[Score | None]) -> str:
    """Mean over seeds."""
    values = [one for one in found if one is not None]
    if not values:
        return ""
    return "{:.1f} / {:.1f}".format(*np.mean(values, axis=0)[:2])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("KERNELCLUST_DATA"))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--skip", default="", help="methods to leave out, e.g. rmsc, which takes a minute")
    add_resume(parser)
    options = parser.parse_args(argv)
    path = Path(options.data or ".") / "mfeat_digital.npz"
    if not options.data or not path.exists():
        print(f"no {path.name} found: give --data DIR or set KERNELCLUST_DATA; papers/README.md says what it holds.")
        return 1
    kept = finished(options)
    warnings.simplefilter("ignore")
    with np.load(path) as data:
        runs = [Digital(dict(data), seed) for seed in range(options.seeds)]

    print(f"Digital, views {', '.join(THREE)}, {options.seeds} seed(s), ACC / NMI\n")
    print("| method | paper | label-free | by labels | refined, label-free | s |\n|---|---|---|---|---|---|")
    for method, (accuracy, information) in PAPER.items():
        if method in options.skip.split(","):
            continue

        def cells_of(method=method) -> str:
            start = time.process_time()
            found = [column(run, method) for run in runs]
            cells = [show(one.get(kind) for one in found) for kind in ("label-free", "by labels", "refined")]
            return f"{' | '.join(cells)} | {(time.process_time() - start) / len(runs):.0f} |"

        print(f"| {method} | {accuracy:.2f} / {information:.2f} | {kept.part(method, cells_of)}", flush=True)

    print(
        "\nmkkm-mr by lambda, ACC / NMI\n\n| lambda | relaxed | refined | weights of the refined |\n|---|---|---|---|"
    )
    for lam in (2.0**-10, 2.0**-9, 2.0**-8, 2.0**-7, 2.0**-5, 1.0, 2.0**10, "auto"):

        def by_lam(lam=lam) -> str:
            relaxed = [run.fit(lam=lam, refine=False)[0] for run in runs]
            refined = [run.fit(lam=lam) for run in runs]
            used = np.mean([model.lam_ for _, model in refined])
            name = f"2^{np.log2(used):.1f}" + (" (auto)" if isinstance(lam, str) else "")
            weights = ", ".join(f"{w:.2f}" for w in np.mean([model.weights_ for _, model in refined], axis=0))
            return f"| {name} | {show(relaxed)} | {show(one for one, _ in refined)} | {weights} |"

        print(kept.part(f"lambda {lam}", by_lam), flush=True)

    for names in (THREE, SIX):
        print(f"\nbaselines on {', '.join(names)}\n\n| what | ACC / NMI | ARI, lowest..highest |\n|---|---|---|")
        every = kept.part(f"baselines {names}", lambda names=names: [run.baselines(names) for run in runs])
        for what in every[0]:
            values = [one[what] for one in every]
            rand = [value[2] for value in values]
            print(f"| {what} | {show(values)} | {min(rand):.3f}..{max(rand):.3f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
