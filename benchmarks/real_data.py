"""Structured clustering on real data with a known arrangement: what is reached, beside KMeans + shortest path.

    python benchmarks/real_data.py --data DIR [--rows S1,S5] [--seeds 5] [--variants] [--resume FILE]

DIR holds the .npz files named in docs/real-data.md (or set KERNELCLUST_DATA). Labels are used for scoring alone.
Scores in %: structured accuracy (sacc), accuracy under the best naming (hung), NMI; min..max over seeds of the mean
over tasks. A seed shuffles the samples and starts the search. Kernels: s = columns standardised, r = as given;
rbf:tau has gamma = tau / mean squared distance between different samples.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse import csr_matrix, issparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from kernelclust import StructuredClustering
from kernelclust._checkpoint import Checkpoint
from kernelclust.metrics import clustering_accuracy, structured_accuracy
from kernelclust.structures import as_structure

sys.path.append(str(Path(__file__).resolve().parent))
from _resume import add_resume, finished
from _rivals import kmeans_path, place_on_path

from kernelclust.kernels import RBF
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy

TURNING = [y for y in range(20) if y not in (11, 14, 15, 16, 18)]  # COIL-20 objects that look different when turned
SWEEPING = [0, 2, 3, 4, 5, 7, 9, 10, 11, 12, 15, 16, 17, 18, 19]  # UMIST people with one sweep from profile to front
STAY_FLAT = 1e6  # rho at which refinement moves nothing: a flat fit, placed


@dataclass(frozen=True)
class Task:
    """Samples, their true places, and the structure that the places are on."""

    X: Any
    y: np.ndarray
    structure: Any


# -- data -------------------------------------------------------------------------------------------------------------


def standardized(tasks: Sequence[Task]) -> list[Task]:
    return [Task(StandardScaler().fit_transform(t.X), t.y, t.structure) for t in tasks]


def cho(load: Callable) -> list[Task]:
    """Genes of the yeast cell cycle, by the phase in which they peak."""
    data = load("yeast_cellcycle_cho384")
    return [Task(data["X"].astype(float), data["y"].astype(int), "ring:5")]


def sectors(n_frames: int, n_sectors: int, keep: int | float, poses: str = "middle") -> tuple[np.ndarray, np.ndarray]:
    """Frames kept of each sector of a sweep (the first or the middle ones), and their sectors."""
    frames, places = [], []
    for place, sector in enumerate(np.array_split(np.arange(n_frames), n_sectors)):
        number = keep if isinstance(keep, int) else round(keep * len(sector))
        skip = 0 if poses == "first" else (len(sector) - number) // 2
        frames.append(sector[skip : skip + number])
        places.append(np.full(number, place))
    return np.concatenate(frames), np.concatenate(places)


def coil_poses(load: Callable, thing: int, below: int) -> np.ndarray:
    """Pictures (m, 1024) of one object at 0, 5, ... degrees."""
    data = load("coil20")
    rows = np.flatnonzero((data["y"] == thing) & (data["angle_deg"] < below))
    rows = rows[np.argsort(data["angle_deg"][rows])]
    return data["X"][rows].reshape(len(rows), -1).astype(float)


def umist_frames(load: Callable, person: int) -> np.ndarray:
    """Pictures (m, 3456) of one person from profile to front."""
    data = load("umist_faces")
    rows = np.flatnonzero(data["y"] == person)
    rows = rows[np.argsort(data["frame"][rows])]
    return data["X"][rows].reshape(len(rows), -1).astype(float)


def coil_chains(load: Callable) -> list[Task]:
    """Each of 15 objects from 0 to 170 degrees, five sectors of seven poses."""
    tasks = []
    for thing in TURNING:
        X = coil_poses(load, thing, 175)
        frames, places = sectors(len(X), 5, 7)
        tasks.append(Task(X[frames], places, "chain:5"))
    return tasks


def umist_chains(load: Callable, gaps: bool, poses: str = "middle") -> list[Task]:
    """Each of 15 people, four sectors of the sweep; with gaps two thirds of every sector are kept."""
    tasks = []
    for person in SWEEPING:
        X = umist_frames(load, person)
        frames, places = sectors(len(X), 4, 2 / 3 if gaps else 1.0, poses)
        tasks.append(Task(X[frames], places, "chain:4"))
    return tasks


def picture_trees(load: Callable, what: str, draws: Sequence[int], poses: str = "middle") -> list[Task]:
    """Four objects or people drawn at random, three pose groups of each, two thirds of every group kept."""
    tasks = []
    for draw in draws:
        four = np.random.default_rng(draw).choice(TURNING if what == "coil" else SWEEPING, 4, replace=False)
        parts, places = [], []
        for number, one in enumerate(four):
            X = coil_poses(load, one, 180) if what == "coil" else umist_frames(load, one)
            frames, place = sectors(len(X), 3, 2 / 3, poses)
            parts.append(X[frames])
            places.append(3 * number + place)
        tasks.append(Task(np.vstack(parts), np.concatenate(places), "flat:4*chain:3"))
    return tasks


def news(load: Callable, shape: tuple[int, int], draws: Sequence[int], tf: str = "log", posts: int = 59) -> list[Task]:
    """Posts of random newsgroups, some in each of a few random top groups, as tf-idf; tf is counted or 1 + log."""
    data = load("news20_full_counts")
    counts = csr_matrix((data["data"], data["indices"], data["indptr"]), shape=tuple(data["shape"]))
    top_of, n_top, n_each = data["class_to_group"], *shape
    large = [top for top in np.unique(top_of) if (top_of == top).sum() >= 4]  # comp, rec, sci, talk
    tasks = []
    for draw in draws:
        rng = np.random.default_rng(draw)
        groups = [
            group
            for top in rng.choice(large, n_top, replace=False)
            for group in rng.choice(np.flatnonzero(top_of == top), n_each, replace=False)
        ]
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(data["y"] == group), posts, replace=False) for group in groups]
        )
        X = counts[rows].astype(float)
        X = TfidfTransformer(sublinear_tf=tf == "log").fit_transform(X[:, np.flatnonzero(X.getnnz(axis=0))])
        tasks.append(Task(X, np.repeat(np.arange(len(groups)), posts), f"tree:{n_top}x{n_each}"))
    return tasks


def flat_set(load: Callable, name: str) -> list[Task]:
    """A table with classes; rows with missing values and constant columns left out."""
    data = load(name)
    X, y = data["X"].astype(float), data["y"].astype(int)
    complete = np.isfinite(X).all(axis=1)
    X, y = X[complete], y[complete]
    return [Task(X[:, X.std(axis=0) > 0], y, f"flat:{len(np.unique(y))}")]


def leukemia(load: Callable) -> list[Task]:
    """Stages B1-B4 and T2-T3 of acute lymphoblastic leukaemia: two chains."""
    data = load("all_leukemia_3000g")
    stages = ["B1", "B2", "B3", "B4", "T2", "T3"]
    name = data["class_names"][data["y"]]
    rows = np.isin(name, stages)
    chains = block_diag(as_structure("chain:4").kernel, as_structure("chain:2").kernel)
    y = np.array([stages.index(one) for one in name[rows]])
    return [Task(data["X"][rows].astype(float), y, chains)]


# -- methods ----------------------------------------------------------------------------------------------------------


def mean_squared_distance(X) -> float:
    """Between different samples."""
    m = X.shape[0]
    square = X.multiply(X).sum() if issparse(X) else np.einsum("ij,ij->", X, X)
    mean = np.asarray(X.mean(axis=0)).ravel()
    return 2 * (float(square) - m * float(mean @ mean)) / (m - 1)


def ours(task: Task, seed: int, *, tau: float | None = None, **settings) -> np.ndarray:
    """Labels of StructuredClustering, with gamma from tau where that is given."""
    if tau is not None:
        settings["kernel"] = RBF(gamma=tau / mean_squared_distance(task.X))
    terms = {name: settings.pop(name) for name in ("loss", "normalize", "rho", "placement") if name in settings}
    solver = Greedy(search=settings.pop("search", "refine"))
    model = StructuredClustering(
        structure=task.structure, objective=Dependence(**terms), solver=solver, random_state=seed, **settings
    )
    return model.fit_predict(task.X)


def rival(task: Task, seed: int) -> np.ndarray:
    """KMeans numbered along the shortest path through its centres; a round trip for rings."""
    c = as_structure(task.structure).n_clusters
    return kmeans_path(task.X, c, seed, closed=str(task.structure).startswith("ring"))


def place_classes(task: Task, seed: int, *, tau: float = 1.0, placement: str = "distance") -> np.ndarray:
    """True classes, numbered at random, placed on the structure: one sample a class, at its mean in feature space."""
    c = int(task.y.max()) + 1
    scrambled = np.random.default_rng(seed).permutation(c)[task.y]
    Pi = np.eye(c)[scrambled]
    n = Pi.sum(axis=0)
    K = rbf_kernel(task.X, gamma=tau / mean_squared_distance(task.X))
    means = (Pi / n).T @ K @ (Pi / n)
    model = StructuredClustering(
        structure=task.structure, kernel="precomputed", objective=Dependence(placement=placement), random_state=seed
    )
    return model.fit(means, sample_weight=n).labels_[scrambled]


def path_of_classes(task: Task, seed: int) -> np.ndarray:
    """True classes numbered along the shortest path through their means, from the better end."""
    c = int(task.y.max()) + 1
    scrambled = np.random.default_rng(seed).permutation(c)[task.y]
    labels = place_on_path(np.array([task.X[scrambled == j].mean(axis=0) for j in range(c)]))[scrambled]
    return max(labels, c - 1 - labels, key=lambda one: structured_accuracy(task.y, one, task.structure))


# -- scores -----------------------------------------------------------------------------------------------------------


@dataclass
class Scores:
    """Percentages, one for each seed: means over the tasks."""

    sacc: list[float] = field(default_factory=list)
    hung: list[float] = field(default_factory=list)
    nmi: list[float] = field(default_factory=list)
    worst: float = 100.0  # sacc of the worst task, mean over seeds

    def text(self) -> str:
        return "/".join(span(values) for values in (self.sacc, self.hung))


def span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.1f}" if high - low < 0.05 else f"{low:.1f}..{high:.1f}"


def shuffled(task: Task, seed: int) -> Task:
    order = np.random.default_rng(seed).permutation(len(task.y))
    return Task(task.X[order], task.y[order], task.structure)


def measure(tasks: Sequence[Task], method: Callable, seeds: Sequence[int]) -> Scores:
    """Scores of a method (task, seed) -> labels."""
    scores, by_task = Scores(), np.zeros(len(tasks))
    for seed in seeds:
        rows = []
        for task in tasks:
            one = shuffled(task, seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # low placement margins
                labels = method(one, seed)
            rows.append(
                (
                    structured_accuracy(one.y, labels, task.structure),
                    clustering_accuracy(one.y, labels),
                    normalized_mutual_info_score(one.y, labels, average_method="geometric"),
                )
            )
        by_task += 100 * np.array(rows)[:, 0] / len(seeds)
        sacc, hung, nmi = 100 * np.mean(rows, axis=0)
        scores.sacc.append(sacc)
        scores.hung.append(hung)
        scores.nmi.append(nmi)
    scores.worst = float(by_task.min())
    return scores


# -- the table --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One line: the tasks, our settings, and what is demanded of the worst seed."""

    name: str
    what: str
    tasks: Callable  # load -> list[Task]
    settings: dict[str, Any]
    demand: str
    check: Callable  # (ours, flat) -> bool
    needs_flat: bool = False


ZERO_ONE = {"loss": "zero-one", "normalize": "l1", "rho": 0.0}
STRUCTURE = {"loss": "structure", "normalize": "l1", "rho": 0.0}


def rows(poses: str, tf: str) -> list[Row]:
    def flat_row(label: str, name: str, bar: float, prepare: Callable) -> Row:
        kind = "s" if prepare is standardized else "r"
        return Row(
            "S11",
            f"{label}, flat; {kind}-rbf:1",
            lambda load: prepare(flat_set(load, name)),
            {"tau": 1.0},
            f"hung >= {bar:g}",
            lambda got, flat: min(got.hung) >= bar - 1e-9,
        )

    return [
        Row(
            "S1",
            "cho, ring 5; s-rbf:1, refined with A",
            lambda load: standardized(cho(load)),
            {"tau": 1.0, "rho": 0.0},
            "sacc >= 70",
            lambda got, flat: min(got.sacc) >= 70,
        ),
        Row(
            "S1",
            "cho, ring 5, as given; rbf, else our defaults",
            cho,
            {"kernel": "rbf"},
            "sacc >= 70",
            lambda got, flat: min(got.sacc) >= 70,
        ),
        Row(
            "S4",
            "COIL chains of 5, 15 objects; r-graph, zero-one l1",
            coil_chains,
            {"kernel": "graph"} | ZERO_ONE,
            "hung >= 82",
            lambda got, flat: min(got.hung) >= 82,
        ),
        Row(
            "S5",
            "UMIST chains of 4 with gaps, 15 people; s-rbf:0.5, refined with A",
            lambda load: standardized(umist_chains(load, True, poses)),
            {"tau": 0.5, "rho": 0.0},
            "sacc >= 94",
            lambda got, flat: min(got.sacc) >= 94,
        ),
        Row(
            "S6",
            "UMIST chains of 4 without gaps; s-rbf:0.5, structured loss l1",
            lambda load: standardized(umist_chains(load, False)),
            {"tau": 0.5} | STRUCTURE,
            "sacc >= 83, flat + 5",
            lambda got, flat: min(got.sacc) >= 83 and np.mean(got.sacc) >= np.mean(flat.sacc) + 5,
            needs_flat=True,
        ),
        Row(
            "S7",
            "COIL 4 objects x chain of 3, draws 0-9; r-graph, flat l2 placed",
            lambda load: picture_trees(load, "coil", range(10), poses),
            {"kernel": "graph", "rho": STAY_FLAT},
            "hung >= 90, NMI >= 93",
            lambda got, flat: min(got.hung) >= 90 and min(got.nmi) >= 93,
        ),
        Row(
            "S8",
            "UMIST 4 people x chain of 3, draws 0-5; r-graph, flat l2 placed",
            lambda load: picture_trees(load, "umist", range(6), poses),
            {"kernel": "graph", "rho": STAY_FLAT},
            "sacc >= 76, hung >= 90",
            lambda got, flat: min(got.sacc) >= 76 and min(got.hung) >= 90,
        ),
        Row(
            "S9",
            "news tree 2x3, draws 0-2; cosine, zero-one l1",
            lambda load: news(load, (2, 3), range(3), tf),
            {"kernel": "cosine"} | ZERO_ONE,
            "sacc >= 70",
            lambda got, flat: min(got.sacc) >= 70,
        ),
        Row(
            "S10",
            "news tree 3x2, draws 0-2; cosine, zero-one l1",
            lambda load: news(load, (3, 2), range(3), tf),
            {"kernel": "cosine"} | ZERO_ONE,
            "sacc >= 75, flat l2 hung + 10",
            lambda got, flat: min(got.sacc) >= 75 and np.mean(got.sacc) >= np.mean(flat.hung) + 10,
            needs_flat=True,
        ),
        flat_row("wine", "wine", 96, standardized),
        flat_row("breast cancer, 683 rows", "breastcancer_wisconsin", 96, standardized),
        flat_row("soybean", "soybean_small", 100, standardized),
        flat_row("iris", "iris", 88, list),
    ]


def flat_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """The same kernel, clustered without structure or loss, then placed."""
    kernel = {name: settings[name] for name in ("tau", "kernel") if name in settings}
    return kernel | {"rho": STAY_FLAT}


def table(load: Callable, seeds: Sequence[int], wanted: set[str] | None, poses: str, tf: str, kept: Checkpoint) -> int:
    """Print the table; return the number of misses."""
    print(f"{'row':4} {'ours sacc/hung':27} {'KMeans + path':27} {'our defaults':27} {'demand':30} {'':5} what")
    ways = {f"{row.name} {row.what}": lambda row=row: line_of(row, load, seeds) for row in rows(poses, tf)}
    ways |= {f"S12 {tau:g}": lambda tau=tau: stages_placed(load, seeds, tau) for tau in (1.0, 2.0)}
    misses = 0
    for name, way in ways.items():
        if not wanted or name.split()[0] in wanted:
            line, passed = kept.part(name, way)
            misses += not passed
            print(line, flush=True)
    return misses


def line_of(row: Row, load: Callable, seeds: Sequence[int]) -> tuple[str, bool]:
    """A line of the table, and whether it reaches what is demanded."""
    began = time.perf_counter()
    tasks = row.tasks(load)
    got = measure(tasks, lambda task, seed: ours(task, seed, **row.settings), seeds)
    flat_scores = None
    if row.needs_flat:
        flat = flat_settings(row.settings)
        flat_scores = measure(tasks, lambda task, seed: ours(task, seed, **flat), seeds)
    other = measure(tasks, rival, seeds)
    default = measure(tasks, ours, seeds)
    passed = bool(row.check(got, flat_scores))
    extra = f"; flat l2 {flat_scores.text()}" if flat_scores else ""
    extra += f"; NMI {span(got.nmi)}" if "NMI" in row.demand else ""
    extra += f"; worst task {got.worst:.0f}" if len(tasks) > 1 else ""
    line = (
        f"{row.name:4} {got.text():27} {other.text():27} {default.text():27} {row.demand:30} "
        f"{'pass' if passed else 'MISS':5} {row.what}{extra} ({time.perf_counter() - began:.0f} s)"
    )
    return line, passed


def stages_placed(load: Callable, seeds: Sequence[int], tau: float) -> tuple[str, bool]:
    """S12: the classes are given, only placed."""
    tasks = standardized(leukemia(load))
    path = measure(tasks, path_of_classes, seeds)
    by = {
        rule: measure(tasks, lambda t, s, r=rule: place_classes(t, s, tau=tau, placement=r), seeds)
        for rule in ("distance", "F")
    }
    passed = bool(min(by["distance"].sacc) >= 100 - 1e-9)
    line = (
        f"{'S12':4} {by['distance'].text():27} {path.text():27} {'':27} {'sacc 100':30} "
        f"{'pass' if passed else 'MISS':5} leukaemia stages given, only placed; s-rbf:{tau:g}; by F instead: "
        f"{by['F'].text()}"
    )
    return line, passed


def variants(load: Callable, seeds: Sequence[int], poses: str, tf: str, kept: Checkpoint) -> None:
    """sacc (mean over seeds) of settings that could be defaults."""
    loss = {"loss": "structure", "normalize": "l1"}
    zero_one = {"loss": "zero-one", "normalize": "l1"}
    columns: list[tuple[str, list[Task], dict[str, Any]]] = [
        ("cho s", standardized(cho(load)), {}),
        ("cho r", cho(load), {}),
        ("umist1", standardized(umist_chains(load, True, poses)), {}),
        ("umist0", standardized(umist_chains(load, False)), {}),
        ("umist0 loss", standardized(umist_chains(load, False)), loss),
        ("news cos", news(load, (2, 3), range(3), tf), {"kernel": "cosine"} | zero_one),
        ("news rbf", news(load, (2, 3), range(3), tf), {}),
    ]
    print("\nsacc, mean over seeds, of settings that could be defaults (cho: s standardised, r as given)")
    print(f"{'tau':>4} {'rho':>4} {'placement':10} {'search':7} " + " ".join(f"{name:>11}" for name, *_ in columns))
    for search in ("refine", "global"):
        for placement in ("distance", "F"):
            for rho in (0.0, 2.0):
                for tau in (0.5, 1.0, 2.0):
                    cells = []
                    for name, tasks, fixed in columns:
                        s: dict[str, Any] = {"rho": rho, "placement": placement, "search": search} | fixed
                        s |= {} if "kernel" in fixed else {"tau": tau}

                        def mean_accuracy(tasks=tasks, s=s) -> float:
                            return float(np.mean(measure(tasks, lambda t, seed: ours(t, seed, **s), seeds).sacc))

                        key = f"{name} {sorted((k, str(v)) for k, v in s.items())}"
                        cells.append(f"{kept.part(key, mean_accuracy):11.1f}")
                    print(f"{tau:4g} {rho:4g} {placement:10} {search:7} " + " ".join(cells), flush=True)
    print("\nflat sets: hung, mean over seeds, s = standardised, r = as given")
    names = ["wine", "breastcancer_wisconsin", "soybean_small", "iris"]
    print(f"{'':6}" + " ".join(f"{name:>22}" for name in names))
    for prepare, letter in ((standardized, "s"), (list, "r")):
        for tau in (0.5, 1.0, 2.0):
            hung = [
                np.mean(measure(prepare(flat_set(load, n)), lambda t, s, tau=tau: ours(t, s, tau=tau), seeds).hung)
                for n in names
            ]
            print(f"{letter} {tau:<4g}" + " ".join(f"{value:22.1f}" for value in hung), flush=True)


def loader(folder: Path) -> Callable:
    """Function from a name to the arrays of its file, each read once."""
    kept: dict[str, dict[str, np.ndarray]] = {}

    def load(name: str) -> dict[str, np.ndarray]:
        if name not in kept:
            with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
                kept[name] = {key: arrays[key] for key in arrays.files}
        return kept[name]

    return load


FILES = (
    "yeast_cellcycle_cho384 coil20 umist_faces news20_full_counts wine breastcancer_wisconsin soybean_small iris "
    "all_leukemia_3000g"
).split()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Real data with a known arrangement: what is reached.")
    parser.add_argument("--data", default=os.environ.get("KERNELCLUST_DATA"), help="folder of the .npz files")
    parser.add_argument("--rows", help="only these, e.g. S1,S5")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--poses", choices=("middle", "first"), default="middle", help="which of a sector are kept")
    parser.add_argument("--tf", choices=("log", "count"), default="log", help="how words are counted in news")
    parser.add_argument("--variants", action="store_true", help="also settings that could be defaults (minutes)")
    add_resume(parser)
    options = parser.parse_args(argv)
    if not options.data:
        print("nothing to measure: pass --data DIR (or set KERNELCLUST_DATA); docs/real-data.md lists the files")
        return 0
    folder = Path(options.data)
    missing = [name for name in FILES if not (folder / f"{name}.npz").is_file()]
    if missing:
        print(
            f"nothing to measure: {folder} lacks {', '.join(f'{name}.npz' for name in missing)}; see docs/real-data.md"
        )
        return 0
    load, seeds = loader(folder), range(options.seeds)
    kept = finished(options)
    wanted = set(options.rows.split(",")) if options.rows else None
    misses = table(load, seeds, wanted, options.poses, options.tf, kept)
    print(f"{misses} missed" if misses else "all reached")
    if options.variants:
        variants(load, range(min(options.seeds, 3)), options.poses, options.tf, kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
