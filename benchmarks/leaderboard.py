"""Clustering suite: flat clusterings by the defaults, compared with published results of other methods.

    python benchmarks/leaderboard.py --data DIR [--seeds 3] [--jobs 2] [--plot FILE] [--resume FILE]

DIR (or KERNELCLUST_DATA) holds two files that docs/real-data.md describes: clustering_suite_wut_sipu.npz, the sets with
fewer than 10 000 samples of the batteries wut and sipu of Gagolewski's clustering suite, and
clustering_suite_published.csv, the adjusted Rand index of published results on them.

The score follows the rule of the suite: the number of clusters of a reference labelling is given, samples that it marks
as noise are clustered but not scored, and where a set has several reference labellings the best score counts. A seed
shuffles the samples and starts the search; our scores are means over seeds. The output is Markdown.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from _resume import add_resume, finished
from joblib import Parallel, delayed
from sklearn.metrics import adjusted_rand_score

from kernelclust import StructuredClustering

SUITE, PUBLISHED = "clustering_suite_wut_sipu.npz", "clustering_suite_published.csv"
OURS = {
    "default": {},
    'kernel="graph"': {"kernel": "graph"},
    'kernel="rbf"': {"kernel": "rbf"},
}
# Columns of the published table; the best one counts where several start like this.
RIVALS = {
    "Genie, G = 0.3": "Genie_G0.3",
    "Genie, G = 0.5": "Genie_G0.5",
    "GIc": "GIc",
    "ITM": "ITM",
    "Gaussian mixture": "sklearn_gm",
    "spectral": "sklearn_spectral_",
    "KMeans": "sklearn_kmeans",
    "Birch": "sklearn_birch_",
    "Ward": "fastcluster_ward",
    "average linkage": "fastcluster_average",
    "HDBSCAN": "FCPS_HDBSCAN_",
}
DRAWN = ("Genie, G = 0.3", "Gaussian mixture", "spectral", "KMeans", "HDBSCAN")
TIE = 0.01  # scores that differ by no more than this are a tie
TUNED = (
    "The default kernel and the size of its neighbourhoods (1.5 x clip(m / 2c, 3, 10)) were chosen among few "
    "alternatives with this suite and the families of benchmarks/auto.py in sight; rivals named 'best' are the setting "
    "with the highest mean on this suite, chosen by labels."
)

# -- scores ------------------------------------------------------------------------------------------------------------


def suite_score(references: Sequence[np.ndarray], cluster: Callable[[int], np.ndarray]) -> float:
    """Return the highest adjusted Rand index over the reference labellings.

    `cluster` maps a number of clusters to labels; it is called once for each number that a reference has. References
    are 1, 2, ..., with 0 for noise, which is not scored.
    """
    labels = {k: cluster(k) for k in sorted({int(y.max()) for y in references})}
    return max(adjusted_rand_score(y[y > 0], labels[int(y.max())][y > 0]) for y in references)


def tally(ours: np.ndarray, rival: np.ndarray) -> tuple[int, int, int]:
    """Count the sets where ours is better, within `TIE`, and worse."""
    difference = np.asarray(ours) - np.asarray(rival)
    tied = np.abs(difference) <= TIE + 1e-9  # scores are decimal numbers
    return int((difference[~tied] > 0).sum()), int(tied.sum()), int((difference[~tied] < 0).sum())


def mean_difference(ours: np.ndarray, rival: np.ndarray) -> tuple[float, float]:
    """Return the mean of ours less the rival's over sets, and its standard error."""
    difference = np.asarray(ours) - np.asarray(rival)
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))


def best_setting(published: Mapping[str, np.ndarray], start: str) -> str:
    """Return the setting with the highest mean, of those whose name starts like this and that have every set."""
    complete = [name for name, scores in published.items() if name.startswith(start) and np.isfinite(scores).all()]
    return max(complete, key=lambda name: published[name].mean())


def rivals(published: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the scores of RIVALS; a name tells the setting where it was the best of several."""
    columns = {}
    for name, start in RIVALS.items():
        setting = best_setting(published, start)
        several = sum(other.startswith(start) for other in published) > 1
        columns[f"best {name} ({setting.removeprefix(start)})" if several else name] = published[setting]
    return columns


# -- data and fits -----------------------------------------------------------------------------------------------------


def read_suite(path: Path) -> dict[str, tuple[np.ndarray, list[np.ndarray]]]:
    """Return X and the reference labellings by "battery/set"."""
    with np.load(path, allow_pickle=False) as arrays:
        names = sorted(key.removesuffix("/X") for key in arrays.files if key.endswith("/X"))
        return {
            name: (arrays[f"{name}/X"], [arrays[key] for key in sorted(arrays.files) if key.startswith(f"{name}/y")])
            for name in names
        }


def read_published(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the scores by setting, in the order of these sets; NaN where there is no result."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = {f"{row.pop('battery')}/{row.pop('set')}": row for row in csv.DictReader(file)}
    settings = rows[names[0]]
    return {setting: np.array([float(rows[name][setting] or "nan") for name in names]) for setting in settings}


def measure(X: np.ndarray, references: Sequence[np.ndarray], settings: dict[str, str], n_seeds: int) -> float:
    """Return the mean score over seeds."""
    scores = []
    for seed in range(n_seeds):
        order = np.random.default_rng(seed).permutation(len(X))

        def cluster(k: int, X=X[order], seed=seed) -> np.ndarray:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # advice on the choice of a kernel
                return StructuredClustering(k, random_state=seed, **settings).fit(X).labels_

        scores.append(suite_score([y[order] for y in references], cluster))
    return float(np.mean(scores))


def fit_all(suite: Mapping, options: argparse.Namespace) -> dict[str, np.ndarray]:
    """Return our scores by method, in the order of the suite."""
    kept = finished(argparse.Namespace(resume=options.resume, seeds=options.seeds, benchmark="leaderboard"))
    tasks = [(name, method) for name in sorted(suite, key=lambda name: -len(suite[name][0])) for method in OURS]
    missing = [task for task in tasks if " ".join(task) not in kept]

    def one(name: str, method: str) -> tuple[str, float]:
        return f"{name} {method}", measure(*suite[name], OURS[method], options.seeds)

    run = Parallel(n_jobs=options.jobs, return_as="generator")
    for part, score in run(delayed(one)(*task) for task in missing):
        kept.part(part, lambda score=score: score)
        print(f"{part}: {score:.3f}", file=sys.stderr, flush=True)
    return {method: np.array([kept.part(f"{name} {method}", lambda: None) for name in suite]) for method in OURS}


# -- output ------------------------------------------------------------------------------------------------------------


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for cells in (head, ["---"] * len(head), *rows):
        print(f"| {' | '.join(cells)} |")
    print(flush=True)


def print_means(names: Sequence[str], columns: Mapping[str, np.ndarray]) -> None:
    of = np.array([name.partition("/")[0] for name in names])
    groups = {"all": np.full(len(names), True)} | {battery: of == battery for battery in np.unique(of)}
    rows = []
    for name in sorted(columns, key=lambda name: -columns[name].mean()):
        title = f"**{name}**" if name in OURS else name
        rows.append([title, *(f"{columns[name][group].mean():.3f}" for group in groups.values())])
    head = [f"{battery} ({group.sum()} sets)" for battery, group in groups.items()]
    print_table(["adjusted Rand index, mean", *head], rows)


def print_rank(ours: Mapping[str, np.ndarray], published: Mapping[str, np.ndarray]) -> None:
    """Compare the means with every published setting, those without results on some sets apart."""
    complete = [scores.mean() for scores in published.values() if np.isfinite(scores).all()]
    for name, scores in ours.items():
        above = sum(mean > scores.mean() for mean in complete)
        print(f"{name}: rank {above + 1} beside the {len(complete)} published settings that have every set")
    partial = {name: scores for name, scores in published.items() if not np.isfinite(scores).all()}
    if partial:
        best = max(partial, key=lambda name: np.nanmean(partial[name]))
        there = np.isfinite(partial[best])
        means = ", ".join(f"{name} {scores[there].mean():.3f}" for name, scores in ours.items())
        print(
            f"{len(partial)} settings lack sets; of these {best} has the highest mean, {np.nanmean(partial[best]):.3f} "
            f"on its {there.sum()} sets; there {means}"
        )
    print()


def plot(names: Sequence[str], columns: Mapping[str, np.ndarray], path: Path) -> None:
    """Draw one row a set, one mark a method; sets by battery, in the order of our default's score."""
    from matplotlib.figure import Figure

    default = columns["default"]
    order = sorted(range(len(names)), key=lambda i: (names[i].partition("/")[0], -default[i]))
    figure = Figure(figsize=(9, 1.5 + 0.34 * len(names)), layout="constrained")
    panel = figure.subplots()
    for row in range(0, len(names), 2):
        panel.axhspan(row - 0.5, row + 0.5, color="0.95", lw=0)
    for row in range(1, len(names)):
        if names[order[row]].partition("/")[0] != names[order[row - 1]].partition("/")[0]:
            panel.axhline(row - 0.5, color="0.5", lw=0.8)
    colours = ("#D55E00", "#E69F00", "#CC79A7", "#009E73", "#56B4E9", "#0072B2", "#000000", "#888888")
    shifts = np.linspace(-0.36, 0.36, len(columns))  # equal scores stay visible
    for (name, scores), mark, colour, shift in zip(columns.items(), "oDs^v<>P", colours, shifts, strict=False):
        style = {"s": 50, "zorder": 3} if name == "default" else {"s": 22, "zorder": 2}
        faces = colour if name in OURS else "white"
        label = f"ours, {name}" if name in OURS else name
        y = np.arange(len(names)) + shift
        panel.scatter(scores[order], y, marker=mark, facecolors=faces, edgecolors=colour, lw=1.2, label=label, **style)
    panel.set_yticks(range(len(names)), [names[i] for i in order])
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.set(xlabel="adjusted Rand index (1 is the reference, 0 is chance)")
    panel.grid(axis="x", alpha=0.4)
    figure.legend(loc="outside upper center", ncols=4, fontsize=9, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("KERNELCLUST_DATA"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="picture of the scores by set")
    add_resume(parser)
    options = parser.parse_args(argv)
    if not options.data or not all((Path(options.data) / file).is_file() for file in (SUITE, PUBLISHED)):
        print(f"nothing to measure: pass --data DIR (or set KERNELCLUST_DATA) with {SUITE} and {PUBLISHED}")
        return 0
    suite = read_suite(Path(options.data) / SUITE)
    names = list(suite)
    published = read_published(Path(options.data) / PUBLISHED, names)
    others = rivals(published)
    ours = fit_all(suite, options)

    print_means(names, ours | others)
    print_rank(ours, published)
    rows = [
        [
            rival,
            *(" / ".join(map(str, tally(scores, theirs))) for scores in ours.values()),
            "{:z.3f} ± {:.3f}".format(*mean_difference(ours["default"], theirs)),
        ]
        for rival, theirs in others.items()
    ]
    print_table(["sets won / tied / lost", *ours, "default, mean difference ± standard error"], rows)
    shown = ours | {title: others[title] for title in others if any(name in title for name in DRAWN)}
    rows = [[name, *(f"{scores[i]:z.3f}" for scores in shown.values())] for i, name in enumerate(names)]
    print_table(["set", *shown], rows)
    print(TUNED)
    if options.plot:
        plot(names, shown, options.plot)
        print(f"written: {options.plot}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
