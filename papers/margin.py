"""Max-margin clustering with multivariate loss (Zhao, Kwok and Zhang, 2009): tables III, IV and V beside ours.

    python papers/margin.py [--data DIR] [--rows digits3v8,satellite] [--measures nmi,rand,f] [--seeds 5] [--no-tuned]

Two protocols, never mixed. *Label-free*: the defaults, and the defaults with other kernels; labels are used for
scoring alone. Mean over seeds, which shuffle the samples and start the search; the measure is the loss. *Label-tuned*:
as in the paper, the settings with the best score by true labels on a grid of C, centring or balance, and tol
(linear kernel, one start): the mean of that setting over seeds, and the best single run of all. Digits come with
scikit-learn; DIR holds the other .npz files named in papers/README.md (or set KERNELCLUST_DATA).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer

from kernelclust import MaxMarginClustering
from kernelclust.metrics import normalized_mutual_info, pair_f_score, rand_index

sys.path.append(str(Path(__file__).resolve().parent))
from _resume import add_resume, finished

BETA = 1.5
MEASURES: dict[str, Callable] = {
    "nmi": normalized_mutual_info,
    "rand": rand_index,
    "f": lambda y, labels: pair_f_score(y, labels, BETA),
}
PAPER = {  # MMC-uni and MMC-multi of tables III, IV, V
    "digits1v7": {"nmi": (1.00, 1.00), "rand": (1.00, 1.00), "f": (1.00, 1.00)},
    "digits2v7": {"nmi": (1.00, 1.00), "rand": (1.00, 1.00), "f": (1.00, 1.00)},
    "digits3v8": {"nmi": (0.816, 0.861), "rand": (0.945, 0.961), "f": (0.945, 0.961)},
    "digits8v9": {"nmi": (0.845, 0.860), "rand": (0.956, 0.962), "f": (0.956, 0.962)},
    "ionosphere": {"nmi": (0.122, 0.197), "rand": (0.599, 0.640), "f": (0.627, 0.672)},
    "ringnorm": {"nmi": (0.207, 0.422), "rand": (0.642, 0.676), "f": (0.688, 0.724)},
    "letterAvB": {"nmi": (0.695, 0.703), "rand": (0.873, 0.895), "f": (0.897, 0.900)},
    "satellite": {"nmi": (0.894, 0.923), "rand": (0.971, 0.982), "f": (0.978, 0.986)},
    "text1": {"nmi": (0.761, 0.830), "rand": (0.905, 0.939), "f": (0.907, 0.940)},
    "text2": {"nmi": (0.808, 0.900), "rand": (0.929, 0.969), "f": (0.931, 0.970)},
}
LABEL_FREE: dict[str, dict[str, Any]] = {
    "linear": {},
    "error rate": {"loss": "error"},
    "bias": {"bias": True},
    "rbf": {"kernel": "rbf"},
    "graph": {"kernel": "graph"},
    "auto": {"kernel": "auto"},
}
KAPPAS = (1.0, 3.0, 10.0, 30.0, 100.0)  # C n^2
TOLS = (0.01, 0.03, 0.1, 0.3)
BALANCES = (None, 1.0, 10.0)  # None: centred; else l n on samples as given


# -- data -------------------------------------------------------------------------------------------------------------


def digits(first: int, second: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    both = (y == first) | (y == second)
    return X[both], (y[both] == second).astype(int)


def text(data, first: int, second: int) -> tuple[csr_matrix, np.ndarray]:
    """(1 + log tf) idf of two groups, rows of length one; words of three posts or more."""
    X = csr_matrix((data["data"], data["indices"], data["indptr"]), shape=tuple(data["shape"])).astype(float)
    both = (data["y"] == first) | (data["y"] == second)
    X = X[both]
    X = X[:, X.getnnz(axis=0) >= 3]
    return TfidfTransformer(sublinear_tf=True).fit_transform(X), (data["y"][both] == second).astype(int)


def load_row(name: str, folder: Path | None) -> tuple[Any, np.ndarray] | None:
    """Samples and classes, or None where the file is not at hand."""
    if name.startswith("digits"):
        return digits(int(name[6]), int(name[8]))
    file = {
        "letterAvB": "letter_AvB",
        "satellite": "satellite_landsat",
        "text1": "news20_rec4_counts",
        "text2": "news20_rec4_counts",
    }.get(name, name)
    if folder is None or not (folder / f"{file}.npz").exists():
        return None
    data = np.load(folder / f"{file}.npz", allow_pickle=False)
    if name.startswith("text"):
        return text(data, *((0, 1) if name == "text1" else (2, 3)))
    X, y = data["X"].astype(float), data["y"].astype(int)
    if name == "satellite":
        names = [str(one) for one in data["class_names"]]
        both = np.isin(y, [names.index("red soil"), names.index("cotton crop")])
        X, y = X[both], y[both]
    return (X[:1000], y[:1000]) if name == "ringnorm" else (X, y)


# -- protocols --------------------------------------------------------------------------------------------------------


def runs(X, y: np.ndarray, measure: str, seeds: Sequence[int], **parameters: Any) -> list[float]:
    """Scores of fits to shuffled samples."""
    scores = []
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(y))
        model = MaxMarginClustering(**{"loss": measure, "beta": BETA, "random_state": seed, **parameters})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores.append(float(MEASURES[measure](y[order], model.fit_predict(X[order]))))
    return scores


def kmeans(X, y: np.ndarray, measure: str, seeds: Sequence[int]) -> float:
    labels = [KMeans(2, n_init=10, random_state=seed).fit(X).labels_ for seed in seeds]
    return float(np.mean([MEASURES[measure](y, one) for one in labels]))


def tuned(X, y: np.ndarray, measure: str, seeds: Sequence[int]) -> tuple[float, float, dict[str, Any]]:
    """Mean of the best setting over seeds, the best single run of all settings, and that setting."""
    n = len(y)
    best, single, setting = -1.0, -1.0, {}
    for kappa, tol, balance in product(KAPPAS, TOLS, BALANCES):
        options = {"C": kappa / n**2, "tol": tol, "n_init": 1}
        if balance is not None:
            options |= {"center": False, "balance": balance / n}
        scores = runs(X, y, measure, seeds, **options)
        single = max(single, *scores)
        if np.mean(scores) > best:
            best, setting = float(np.mean(scores)), {"kappa": kappa, "tol": tol, "l n": balance}
    return best, single, setting


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Max-margin clustering with multivariate loss: tables III, IV and V.")
    parser.add_argument("--data", default=os.environ.get("KERNELCLUST_DATA"))
    parser.add_argument("--rows", default=",".join(PAPER))
    parser.add_argument("--measures", default="nmi")
    parser.add_argument("--kernels", default=",".join(LABEL_FREE))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--no-tuned", action="store_true")
    add_resume(parser)
    options = parser.parse_args(argv)
    kept = finished(options)
    seeds, kernels = range(options.seeds), options.kernels.split(",")
    for measure in options.measures.split(","):
        print(f"\n{measure}: label-free {', '.join(kernels)} | label-tuned mean (best run) | paper uni, multi")
        for name in options.rows.split(","):
            row = load_row(name, None if options.data is None else Path(options.data))
            if row is None:
                print(f"{name}: nothing to measure, no data")
                continue

            def line(row=row, name=name, measure=measure) -> str:
                start = time.perf_counter()
                cells = [f"KMeans {kmeans(*row, measure, seeds):.3f}"]
                for kernel in kernels:
                    scores = runs(*row, measure, seeds, **LABEL_FREE[kernel])
                    cells.append(f"{kernel} {np.mean(scores):.3f} ({min(scores):.3f}..{max(scores):.3f})")
                if not options.no_tuned:
                    mean, single, setting = tuned(*row, measure, seeds)
                    cells.append(f"| tuned {mean:.3f} ({single:.3f}) {setting}")
                uni, multi = PAPER[name][measure]
                spent = time.perf_counter() - start
                return f"{name}: {', '.join(cells)} | paper {uni}, {multi} [{spent:.0f} s]"

            print(kept.part(f"{measure} {name}", line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
