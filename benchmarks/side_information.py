"""What known labels and links bring, and what they cost.

    python benchmarks/side_information.py [--data DIR] [--draws 20] [--sdp] [--kernel auto] [--seeds 1] [--tasks 15]
                                          [--families NAME] [--only protein,labels,questions,speed,copies,sizes]

protein (needs DIR/protein_localization_euk4.npz: X, y in the order EXT, MIT, CYT, NUC): transductive subcellular
localization as in figure 6 of the relaxations paper (Yang, Kwok and Lu, 2010): 100 proteins a location drawn at random,
amino-acid composition, 30 to 120 labels; testing error on the others. The tree of sorting is EXT, (MIT, (CYT, NUC)).
labels (needs DIR as benchmarks/auto.py does): structured accuracy with a typical sample of 1, 2, 3 and all places
labelled, less that without labels, on the families of benchmarks/auto.py. Typical of a class: nearest to its mean in
feature space, labelled with the class. Typical of a cluster: nearest to the mean of one of the fit without labels,
labelled with its own class, so that labels may be missing or given twice.
questions (the same families): structured accuracy without labels, and what the answers to `order_.queries(n)` add; the
accuracy under the best naming is what no order of these clusters can exceed.
speed: CPU time of a fit of 10 000 samples with 1 000 must-links and 1 000 cannot-links, as a ratio to none.
copies: F on rows repeated many times, against the same rows with weights.
sizes: equal sizes on overlapping groups: F and time against the same fit without bounds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import auto
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from kernelclust import Diffrac, DisKMeans, KernelKMeans, StructuredClustering
from kernelclust.kernels import fit_kernel

TREE = "tree:(EXT,(MIT,(CYT,NUC)))"
PER_CLASS = 100
LABELS = (30, 60, 90, 120)
ASKED = (1, 3)

Method = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (X, y with -1) -> labels of all


def methods(sdp: bool) -> dict[str, Method]:
    def fitted(make: Callable) -> Method:
        return lambda X, y: make().fit(X, y).labels_

    def spread(**settings) -> Method:
        return lambda X, y: LabelSpreading(max_iter=1000, **settings).fit(X, y).transduction_

    def supervised(make: Callable) -> Method:
        return lambda X, y: make().fit(X[y >= 0], y[y >= 0]).predict(X)

    found = {
        "DIFFRAC, no structure": fitted(lambda: Diffrac(4, random_state=0)),
        "DIFFRAC, tree": fitted(lambda: Diffrac(structure=TREE, random_state=0)),
        "DIFFRAC, no structure, kappa=0.001": fitted(lambda: Diffrac(4, kappa=1e-3, random_state=0)),
        "DIFFRAC, tree, kappa=0.001": fitted(lambda: Diffrac(structure=TREE, kappa=1e-3, random_state=0)),
        "DisKMeans, no structure": fitted(lambda: DisKMeans(4, random_state=0)),
        "DisKMeans, tree": fitted(lambda: DisKMeans(structure=TREE, random_state=0)),
        "kernel k-means": fitted(lambda: KernelKMeans(4, random_state=0)),
        "StructuredClustering, tree": fitted(
            lambda: StructuredClustering(structure=TREE, kernel="rbf", random_state=0)
        ),
        "LabelSpreading, rbf, default": spread(),
        "LabelSpreading, rbf, gamma=0.25": spread(gamma=0.25),
        "LabelSpreading, 10 neighbours": spread(kernel="knn", n_neighbors=10),
        "nearest mean, labelled only": supervised(NearestCentroid),
        "SVC, labelled only": supervised(SVC),
    }
    if sdp:
        found["DisKMeans, tree, low_rank_sdp"] = fitted(
            lambda: DisKMeans(structure=TREE, solver="low_rank_sdp", random_state=0)
        )
    return found


def draw(X: np.ndarray, y: np.ndarray, seed: int) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """(number of labels, standardised samples, truth, labels with -1) for one draw of proteins."""
    rng = np.random.default_rng(seed)
    chosen = np.concatenate([rng.choice(np.flatnonzero(y == k), PER_CLASS, replace=False) for k in range(4)])
    Z, truth = StandardScaler().fit_transform(X[chosen]), y[chosen]
    order = rng.permutation(len(truth))
    while len(np.unique(truth[order[: LABELS[0]]])) < 4:
        order = rng.permutation(len(truth))
    for number in LABELS:
        known = np.full(len(truth), -1)
        known[order[:number]] = truth[order[:number]]
        yield number, Z, truth, known


def protein(folder: Path, draws: int, sdp: bool) -> None:
    data = np.load(folder / "protein_localization_euk4.npz")
    X, y = data["X"].astype(float), data["y"].astype(int)
    every = methods(sdp)
    errors: dict[str, dict[int, list[float]]] = {name: {n: [] for n in LABELS} for name in every}
    for seed in range(draws):
        for number, Z, truth, known in draw(X, y, seed):
            for name, method in every.items():
                labels, hidden = method(Z, known), known < 0
                errors[name][number].append(float(np.mean(labels[hidden] != truth[hidden])))
    print(f"\ntesting error in %, mean of {draws} draws (standard error)")
    print(f"{'labels':34}" + "".join(f"{n:>13}" for n in LABELS))
    for name in every:
        print(f"{name:34}" + "".join(_cell(errors[name][n]) for n in LABELS))
    for one, other in (
        ("DIFFRAC, tree", "DIFFRAC, no structure"),
        ("DisKMeans, tree", "DisKMeans, no structure"),
        ("DisKMeans, tree", "DIFFRAC, no structure"),
        ("DisKMeans, tree", "LabelSpreading, rbf, gamma=0.25"),
        ("DisKMeans, tree", "SVC, labelled only"),
    ):
        gains = [np.subtract(errors[one][n], errors[other][n]) for n in LABELS]
        print(f"{one} minus {other}:".ljust(60) + "".join(_cell(gain) for gain in gains))


def families(named: str) -> dict[str, Callable]:
    return {name: make for name, make in (auto.SWEEPS | auto.OTHERS).items() if named in name}


def labels(folder: Path, kernel: str, seeds: int, n_tasks: int, named: str) -> None:
    """Do labels of typical samples ever hurt?"""
    load = auto.real_data.loader(folder)
    columns = [f"{kind} {name}" for kind in ("class", "cluster") for name in ("1", "2", "3", "all")]
    print(f"\nstructured accuracy, kernel={kernel!r}: without labels, and what labels of typical samples add")
    print(f"{'':24}{'without':>9}" + "".join(f"{name:>13}" for name in columns))
    table = []
    for name, make in families(named).items():
        rows = []
        for seed in range(seeds):
            tasks = [auto.real_data.shuffled(task, seed) for task in make(load)[:n_tasks]]
            rows += [with_labels(task, kernel, seed) for task in tasks]
        table.append(np.mean(rows, axis=0))
        _row(name, table[-1])
    _row("mean", np.mean(table, axis=0))
    _row("worst", np.min(table, axis=0))


def _row(name: str, values: np.ndarray) -> None:
    print(f"{name:24}{values[0]:9.1f}" + "".join(f"{value:+13.1f}" for value in values[1:]), flush=True)


def unlabelled(task: auto.Task, kernel: str, seed: int) -> StructuredClustering:
    return StructuredClustering(structure=task.structure, kernel=kernel, compute_confidence=False, random_state=seed)


def with_labels(task: auto.Task, kernel: str, seed: int) -> list[float]:
    """Structured accuracy in % without labels, and what labels of typical samples of 1, 2, 3 and all places add."""
    structure, rng = auto.as_structure(task.structure), np.random.default_rng(seed)
    c, y = structure.n_clusters, task.y

    def score(known: np.ndarray | None) -> tuple[float, np.ndarray]:
        model = unlabelled(task, kernel, seed).fit(task.X, known)
        return 100 * auto.structured_accuracy(y, model.labels_, structure), model.labels_

    alone, found = score(None)
    weight = np.ones(len(y))
    K = fit_kernel(task.X, weight, n_clusters=c, rng=np.random.RandomState(seed), kernel=kernel).operator
    rows = K.rows(np.arange(len(y)))
    gains = [alone]
    for groups in (y, found):
        typical = rng.permutation(typical_samples(rows, groups, c))
        for number in (1, 2, 3, c):
            known = np.full(len(y), -1)
            known[typical[:number]] = y[typical[:number]]
            gains.append(score(known)[0] - alone)
    return gains


def questions(folder: Path, kernel: str, seeds: int, n_tasks: int, named: str) -> None:
    """What answers bring."""
    load = auto.real_data.loader(folder)
    print(f"\nstructured accuracy, kernel={kernel!r}: without labels, and what answers to n questions add")
    print(f"{'':24}{'without':>9}" + "".join(f"{n:>7}" for n in ASKED) + f"{'best naming':>13}")
    table = []
    for name, make in families(named).items():
        rows = []
        for seed in range(seeds):
            tasks = [auto.real_data.shuffled(task, seed) for task in make(load)[:n_tasks]]
            rows += [answered(task, kernel, seed) for task in tasks]
        table.append(np.mean(rows, axis=0))
        _answers(name, table[-1])
    _answers("mean", np.mean(table, axis=0))


def _answers(name: str, values: np.ndarray) -> None:
    print(
        f"{name:24}{values[0]:9.1f}" + "".join(f"{v:+7.1f}" for v in values[1:-1]) + f"{values[-1]:13.1f}", flush=True
    )


def answered(task: auto.Task, kernel: str, seed: int) -> list[float]:
    """Structured accuracy in % without labels, what answers add, and the accuracy under the best naming."""
    y, model = task.y, unlabelled(task, kernel, seed)
    found = model.fit(task.X).labels_
    alone = 100 * auto.structured_accuracy(y, found, task.structure)
    if model.order_ is None:  # of flat clusters there is nothing to ask
        return [alone, *[0.0 for _ in ASKED], 100 * auto.clustering_accuracy(y, found)]
    ask, gains = model.order_.queries(max(ASKED)), []
    for n in ASKED:
        known = np.full(len(y), -1)
        known[ask[:n]] = y[ask[:n]]
        gains.append(100 * auto.structured_accuracy(y, model.fit(task.X, known).labels_, task.structure) - alone)
    return [alone, *gains, 100 * auto.clustering_accuracy(y, found)]


def typical_samples(K: np.ndarray, groups: np.ndarray, c: int) -> np.ndarray:
    """The sample nearest to the mean of each group in the feature space of K (m x m)."""
    found = []
    for j in range(c):
        here = np.flatnonzero(groups == j)
        found.append(here[np.argmin(np.diag(K)[here] - 2 * K[np.ix_(here, here)].mean(axis=1))])
    return np.array(found)


def _cell(values) -> str:
    values = 100 * np.asarray(values)
    return (
        f"{values.mean():7.1f} ({values.std(ddof=1) / np.sqrt(len(values)):.1f})"
        if len(values) > 1
        else f"{values[0]:13.1f}"
    )


def links(truth: np.ndarray, number: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of one group, and pairs of two."""
    pairs = rng.integers(len(truth), size=(100 * number, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return pairs[same][:number], pairs[~same][:number]


def speed(n: int = 10_000, number: int = 1000, calls: int = 3) -> None:
    X, truth = make_blobs(n, 20, centers=10, cluster_std=3.0, random_state=0)
    rng = np.random.default_rng(0)
    must, cannot = links(truth, number, rng)
    wild = rng.permutation(n)[: 4 * number].reshape(-1, 2)
    known = np.where(rng.random(n) < 0.05, truth, -1)
    cases: dict[str, dict] = {
        "nothing known": {},
        f"{number} + {number} links": {"must_link": must, "cannot_link": cannot},
        f"{number} + {number} links at random": {"must_link": wild[:number], "cannot_link": wild[number:]},
        "5 % labels": {"y": known},
    }
    print(f"\nn = {n}: best CPU time of {calls} fits")
    for model in (
        KernelKMeans(10, random_state=0),
        StructuredClustering(10, structure="ring", kernel="rbf", random_state=0),
    ):
        model.fit(X[:500]).fit(X[:500], must_link=[[0, 1]], cannot_link=[[2, 3]])
        took: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(calls):
            for name, given in cases.items():
                began = time.process_time()
                model.fit(X, **given)
                took[name].append(time.process_time() - began)
        best = {name: min(times) for name, times in took.items()}
        for name in cases:
            ratio = best[name] / best["nothing known"]
            print(f"{type(model).__name__:22} {name:32} {best[name]:6.2f} s   {ratio:5.2f}x")


def copies(seeds: int = 10) -> None:
    """Rows repeated 1 to 80 times; the search must not be trapped between them."""
    shortfall = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X, weight = rng.standard_normal((40, 3)), rng.integers(1, 80, 40)
        best = KernelKMeans(8, random_state=0).fit(X, sample_weight=weight).objective_
        shortfall.append(1 - KernelKMeans(8, random_state=0).fit(np.repeat(X, weight, axis=0)).objective_ / best)
    print(
        f"\ncopies: F of repeated rows is below F of weighted rows by {np.mean(shortfall):.2%}, at worst "
        f"{max(shortfall):.2%}"
    )


def sizes(n: int = 2000) -> None:
    X, _ = make_blobs([100, 200, 300, 400, 1000], 5, cluster_std=4.0, random_state=0)
    print("\nequal sizes on groups of 100 to 1000")
    for name, bounds in (("free", {}), ("equal", {"min_cluster_size": n // 5, "max_cluster_size": n // 5})):
        began = time.process_time()
        model = KernelKMeans(5, random_state=0, **bounds).fit(X)
        print(
            f"{name:8} F = {model.objective_:9.4f}  {time.process_time() - began:5.2f} s",
            f"sizes {model.sizes_.astype(int)}",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with protein_localization_euk4.npz")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--only", default="protein,labels,questions,speed,copies,sizes")
    parser.add_argument("--kernel", default="auto", help="of labels and questions")
    parser.add_argument("--seeds", type=int, default=1, help="of labels and questions")
    parser.add_argument("--tasks", type=int, default=15, help="of a family at most, for labels and questions")
    parser.add_argument("--families", default="", help="part of their names, for labels and questions")
    parser.add_argument("--sdp", action="store_true", help="also low_rank_sdp, half a minute a fit")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",")
    warnings.simplefilter("ignore")
    if "protein" in wanted and arguments.data is None:
        print("protein: needs --data DIR; left out")
    elif "protein" in wanted:
        protein(arguments.data, arguments.draws, arguments.sdp)
    for part in (labels, questions):
        if part.__name__ in wanted and (arguments.data is None or not (arguments.data / "coil20.npz").exists()):
            print(f"{part.__name__}: needs --data DIR with the .npz files, see docs/real-data.md; left out")
        elif part.__name__ in wanted:
            part(arguments.data, arguments.kernel, arguments.seeds, arguments.tasks, arguments.families)
    if "speed" in wanted:
        speed()
    if "copies" in wanted:
        copies()
    if "sizes" in wanted:
        sizes()


if __name__ == "__main__":
    main()
