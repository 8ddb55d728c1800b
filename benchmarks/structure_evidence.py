"""Train and test the evidence about structures (`order_.structures`, `order_confidence_`).

    python benchmarks/structure_evidence.py draw --out NAME [--first 0] [--draws 1000] [--jobs 2]
    python benchmarks/structure_evidence.py train NAME-0.pkl.xz NAME-1.pkl.xz ...
    python benchmarks/structure_evidence.py score [--data DIR] [--draws 40] [--jobs 2] [--only nulls,chains,real,orders]

draw: random data sets (`_structure_draws`), clustered by the library or with their true clusters; measurements of all
pairs of clusters, and what the confidence of the order is made of, are stored with the truth in pickles of your own.
train: fits the weights of engine/_structure_weights.py and prints them, with scores of draws that were left out.
score: what a fit with the weights in use says of data that they were not fitted to (`_structure_tasks`). nulls: data
without an order, on chain:6 and ring:6. chains: true chains of six. real (DIR: see docs/real-data.md): the most
probable structure over clusters of our own. orders: chains and rings of pictures, is the confidence larger where the
order is right?
"""

from __future__ import annotations

import argparse
import lzma
import os
import pickle
import sys
import warnings
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from joblib import Parallel, delayed
from scipy.cluster.hierarchy import linkage
from scipy.optimize import minimize
from scipy.spatial.distance import squareform
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_predict

sys.path.append(str(Path(__file__).resolve().parent))
import _structure_tasks
import real_data
from _structure_draws import FAMILIES, GRIDS, Draw, draw
from auto import SWEEPS

from kernelclust import KernelKMeans, StructuredClustering, arrange
from kernelclust.engine import _order, _structures
from kernelclust.metrics import clustering_accuracy, structured_accuracy

SOURCES = {"asked": 0.55, "flat": 0.25, "true": 0.2}  # of the clusters
KERNELS = ("rbf", "auto")


class Recorded:
    """Record, while it is open, the samples and pairs of clusters that were compared, the table of structures, and what
    the order was judged by."""

    def __enter__(self) -> Recorded:
        self.pairs = self.signals = self.rows = self.table = self.samples = None
        self._functions = _structures.pairs_of, _order._order_of, _order._kept, _order.structure_table

        def pairs_of(*given: Any) -> Any:
            found = self._functions[0](*given)
            self.pairs = found if len(given) == 3 else self.pairs  # second clusters bring the loops of the first
            return found

        def order_of(*given: Any) -> Any:
            order = self._functions[1](*given)
            self.signals = order.fit, order.halves, order.jitter
            return order

        def kept(*given: Any) -> np.ndarray:
            self._last = self._functions[2](*given)
            return self._last

        def table(*given: Any) -> Any:
            self.rows, self.samples, self.table = self._last, given, self._functions[3](*given)
            return self.table

        _structures.pairs_of, _order._order_of, _order._kept, _order.structure_table = pairs_of, order_of, kept, table
        return self

    def classes(self, y: np.ndarray, c: int) -> np.ndarray:
        """Return the class of most samples of each cluster, as `pairs_of` numbers them."""
        return np.bincount(y[self.rows] * c + self.samples[2], minlength=c * c).reshape(c, c).argmax(axis=0)

    def __exit__(self, *_: Any) -> None:
        _structures.pairs_of, _order._order_of, _order._kept, _order.structure_table = self._functions


def asked_for(one: Draw, rng: np.random.Generator) -> tuple[str, Any]:
    """Return the family and the structure that a user might ask for: the true one, or another."""
    c = one.n_clusters
    others = ["chain", "ring", "tree", *(["grid"] if c in GRIDS else [])]
    family = one.family if one.family in others and rng.random() < 0.6 else str(rng.choice(others))
    if family == "grid":
        rows = int(rng.choice(GRIDS[c]))
        return family, f"grid:{rows}x{c // rows}"
    if family == "tree":
        if one.family == "tree" and one.links is not None and rng.random() < 0.8:
            order = rng.permutation(c)
            graph = nx.from_numpy_array(one.links[np.ix_(order, order)].astype(int))
        else:
            graph = nx.Graph([(int(rng.integers(j)), j) for j in range(1, c)])
            if max(dict(graph.degree).values()) < 3:
                graph = nx.star_graph(c - 1)
        return family, nx.relabel_nodes(graph, {j: f"n{j:02d}" for j in graph})
    return family, f"{family}:{c}"


def strictly_right(y: np.ndarray, labels: np.ndarray, links: np.ndarray, asked: str, structure: Any) -> bool:
    """Return whether every cluster is at its true node: along chains and rings by the mean true place of its samples,
    else by the class of most of them, which must be different for all."""
    c = len(links)
    table = np.bincount(y * c + labels, minlength=c * c).reshape(c, c).astype(float)
    if not (table.sum(axis=0) > 0).all():
        return False
    if asked == "chain":
        place = (np.arange(c) @ table) / table.sum(axis=0)
        return bool((np.diff(place) > 0).all() or (np.diff(place) < 0).all())
    if asked == "ring":
        angle = np.angle(np.exp(2j * np.pi * np.arange(c) / c) @ table)
        turn = np.sort(np.mod(np.diff(np.r_[angle, angle[0]]), 2 * np.pi))
        forward = np.mod(np.diff(np.r_[angle, angle[0]]), 2 * np.pi)
        return bool(np.isclose(forward.sum(), 2 * np.pi) or np.isclose((2 * np.pi - turn).sum(), 2 * np.pi))
    node = table.argmax(axis=0)
    return len(set(node)) == c and bool(np.array_equal(links[np.ix_(node, node)], structure))


def record(seed: int, first: int = 0) -> dict[str, Any] | None:
    """Return what the library says of one data set, and the truth."""
    rng = np.random.default_rng([first, seed])
    one = draw(rng)
    order = rng.permutation(one.X.shape[0])
    X, y = one.X[order], None if one.y is None else one.y[order]
    source = str(rng.choice(list(SOURCES), p=list(SOURCES.values())))
    source = "flat" if y is None and source == "true" else source
    kernel, (asked, structure) = KERNELS[int(rng.integers(2))], asked_for(one, rng)
    c = one.n_clusters
    with warnings.catch_warnings(), Recorded() as seen:
        warnings.simplefilter("ignore")
        if source == "asked":
            model = StructuredClustering(structure=structure, kernel=kernel, random_state=0).fit(X)
            labels, shape = model.labels_, model.structure_
            pvalue = None if model.order_ is None else model.order_.pvalue
        else:
            flat = y if source == "true" else KernelKMeans(c, kernel=kernel, random_state=0).fit_predict(X)
            if len(np.unique(flat)) < c:
                return None
            found = arrange(X, rng.permutation(c)[flat], structure, kernel=kernel)
            labels, shape, pvalue = found.labels, found.structure, found.order_pvalue
    if seen.pairs is None or seen.signals is None:
        return None
    linked = _structures.links(shape.kernel)
    right, links = False, None
    if y is not None and one.links is not None:
        follows = asked == one.family or (asked, one.family) == ("chain", "ring")  # a ring that is cut at one place
        right = follows and strictly_right(y, labels, one.links, one.family, linked)
        node = seen.classes(y, c)
        links = one.links[np.ix_(node, node)] if len(set(node)) == c else None
    return {
        "seed": seed,
        "family": one.family,
        "kind": one.kind,
        "c": c,
        "m": X.shape[0],
        "source": source,
        "kernel": kernel,
        "asked": asked,
        "right": right,
        "samples": packed(seen.samples[0]),
        "labels": seen.samples[2].astype(np.int8),
        "second": None if seen.samples[3] is None else seen.samples[3].astype(np.int8),
        "signals": seen.signals,
        "structure": np.asarray(shape.kernel, dtype=np.float32),
        "pvalue": pvalue,
        "links": links,
    }


def packed(E: np.ndarray) -> tuple[bytes, int]:
    """Return samples in their principal directions as whole numbers up to 1000, compressed, and their number."""
    E = _structures._dimensions(E)
    whole = np.round(E * (1000 / np.abs(E).max())).astype("<i2")
    return lzma.compress(whole.T.tobytes(), preset=6), len(E)


def unpacked(stored: tuple[bytes, int]) -> np.ndarray:
    """Return the samples (m, q) that `packed` was given, in another unit."""
    return np.frombuffer(lzma.decompress(stored[0]), "<i2").reshape(-1, stored[1]).T.astype(float)


def draw_all(out: str, first: int, draws: int, jobs: int) -> None:
    """Write files of 2000 records each: OUT-0.pkl.xz, OUT-1.pkl.xz, ..."""
    work = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=4)
    found: list[Any] = []
    failed = stored = 0
    for number, one in enumerate(work(delayed(_safe)(seed, first) for seed in range(draws))):
        failed += isinstance(one, str)
        if isinstance(one, str):
            print(one, flush=True)
        elif one is not None:
            found.append(one)
        if len(found) == 2000 or number == draws - 1:
            with lzma.open(f"{out}-{stored}.pkl.xz", "wb", preset=0) as file:
                pickle.dump(found, file)
            found, stored = [], stored + 1
            print(f"{number + 1} draws, {stored} files, {failed} failed", flush=True)


def _safe(seed: int, first: int) -> Any:
    try:
        return record(seed, first)
    except Exception as error:
        return f"seed {seed}: {type(error).__name__}: {error}"


# -- training ---------------------------------------------------------------------------------------------------------


def link_weights(records: list[dict[str, Any]], ridge: float = 1e-3) -> np.ndarray:
    """Return the weights (2, 7) that maximise the likelihood of the true chain or tree among all spanning trees."""
    known: dict[int, list[Any]] = {}  # by the number of clusters
    for one in records:
        if one["links"] is not None and one["family"] in ("chain", "tree"):
            pairs = one["pairs"]
            f = np.concatenate([(1 - pairs.touch) * pairs.features, pairs.touch * pairs.features], axis=2)
            known.setdefault(one["c"], []).append((f, np.triu(one["links"])))
    stacked = [tuple(map(np.stack, zip(*some, strict=True))) for some in known.values()]

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = 0.0, np.zeros_like(theta)
        for features, true in stacked:
            s, c = features @ theta, true.shape[1]
            top = np.where(np.eye(c), -np.inf, s).max(axis=(1, 2), keepdims=True)
            w = np.where(np.eye(c), 0.0, np.exp(np.maximum(s - top, -30.0)))  # less would make the sums singular
            laplacian = np.eye(c) * w.sum(axis=2)[:, None] - w
            inverse = np.zeros_like(w)
            inverse[:, 1:, 1:] = np.linalg.inv(laplacian[:, 1:, 1:])
            own = np.diagonal(inverse, axis1=1, axis2=2)
            shares = w * (own[:, :, None] + own[:, None] - 2 * inverse)  # of links in the sum over all trees
            log_sum = np.linalg.slogdet(laplacian[:, 1:, 1:])[1] + (c - 1) * top[:, 0, 0]
            value += float(log_sum.sum() - s[true].sum())
            slope += np.einsum("njk,njkf->f", np.triu(shares, 1) - true, features)
        n = sum(len(true) for _, true in stacked)
        return value / n + ridge * float(theta @ theta), slope / n + 2 * ridge * theta

    found = minimize(loss, np.zeros(stacked[0][0].shape[3]), jac=True, method="L-BFGS-B", options={"maxiter": 300})
    return np.asarray(found.x).reshape(2, -1)


def measured(one: dict[str, Any]) -> tuple[Any, Any]:
    """Return the measurements of pairs of clusters of a draw, and of its second clusters (or of the first again)."""
    E, labels, second = unpacked(one["samples"]), one["labels"].astype(np.intp), one["second"]
    pairs = _structures.pairs_of(E, np.ones(len(E)), labels)
    if second is None or not np.bincount(second, minlength=one["c"]).all():
        return pairs, pairs
    rows = np.argsort(second, kind="stable")
    return pairs, _structures.pairs_of(E[rows], np.ones(len(E)), second[rows].astype(np.intp), pairs.loops) or pairs


def numbers(pairs: Any, theta: np.ndarray) -> dict[str, float]:
    """Return what the softmax weighs, under these weights of links."""
    _structures.LINK_WEIGHTS = tuple(map(tuple, theta))
    s = _structures.link_scores(pairs)
    merges = linkage(squareform(pairs.distance, checks=False), "average")
    return _structures.numbers_of(pairs, s, _structures.families_of(s, pairs.distance), merges)


def confidence_signals(records: list[dict[str, Any]], p: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return atanh T, J, logit P(family) and log c; a chain may be a ring that is cut at one place."""
    chosen = p[np.arange(len(p)), asked] + np.where(asked == 1, p[:, 2], 0.0)
    chosen = np.clip(chosen, 1e-4, 1 - 1e-4)
    fit, _, jitter = np.array([one["signals"][:3] for one in records]).T
    n_clusters = [one["c"] for one in records]
    return np.c_[np.arctanh(np.clip(fit, -0.99, 0.99)), jitter, np.log(chosen / (1 - chosen)), np.log(n_clusters)]


def _pooled(p: np.ndarray, q: np.ndarray, share: float) -> np.ndarray:
    found = p ** (1 - share) * q**share
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _log_likelihood(p: np.ndarray, family: np.ndarray, weight: np.ndarray) -> float:
    return float(np.average(np.log(p[np.arange(len(p)), family]), weights=weight))


def train(files: Sequence[str], jobs: int) -> None:
    records: list[dict[str, Any]] = []
    for file in files:
        with lzma.open(file) as stream:
            records += pickle.load(stream)
    both = Parallel(n_jobs=jobs, batch_size=50)(delayed(measured)(one) for one in records)
    records = [{**one, "pairs": pairs} for one, (pairs, _) in zip(records, both, strict=True)]
    fresh = np.arange(len(records)) >= 0.8 * len(records)
    theta = link_weights([one for one, is_fresh in zip(records, fresh, strict=True) if not is_fresh])
    work = Parallel(n_jobs=jobs, batch_size=50)
    rows, second = (work(delayed(numbers)(pairs, theta) for pairs in column) for column in zip(*both, strict=True))
    names = list(rows[0])
    X, other = (np.array([[row[name] for name in names] for row in found]) for found in (rows, second))
    mean, sd = X.mean(axis=0), X.std(axis=0) + 1e-9
    Z, other = (np.clip((found - mean) / sd, -3, 3) for found in (X, other))
    family = np.array([list(FAMILIES).index(one["family"]) for one in records])
    asked = np.array([list(FAMILIES).index(one["asked"]) for one in records])
    right = np.array([one["right"] for one in records])

    softmax = LogisticRegression(C=0.1, max_iter=400, tol=1e-3)
    without = np.isin(family, (0, 5))
    weight = np.where(without, 0.5 / without.mean(), 0.5 / (1 - without.mean()))  # half have no order
    p, q = np.empty((2, len(Z), len(FAMILIES)))
    for fitted, left_out in StratifiedKFold(5).split(Z, family):
        softmax.fit(Z[fitted], family[fitted], weight[fitted])
        p[left_out], q[left_out] = softmax.predict_proba(Z[left_out]), softmax.predict_proba(other[left_out])
    shares = np.linspace(0, 1, 21)
    told = [_log_likelihood(_pooled(p, q, share), family, weight) for share in shares]
    share = shares[np.argmax(told)]
    print(f"log likelihood {told[0]:.4f}, with a share of {share:.2f} for second clusters {max(told):.4f}")
    p = _pooled(p, q, _structures.SECOND_SHARE)
    best = p.argmax(axis=1)
    print(
        f"most probable structure right: {np.mean(best == family):.3f} of {len(best)}, the last fifth apart "
        f"{np.mean(softmax.fit(Z[~fresh], family[~fresh], weight[~fresh]).predict(Z[fresh]) == family[fresh]):.3f}"
    )
    kinds = np.unique([one["kind"] for one in records], return_inverse=True)[1]
    fitted = {"params": {"sample_weight": weight}, "n_jobs": jobs}
    unseen = cross_val_predict(softmax, Z, family, groups=kinds, cv=GroupKFold(8), **fitted)
    print(f"  of kinds that were left out of the training: {np.mean(unseen == family):.3f}")
    print("  by family", {name: round(float(np.mean(best[family == k] == k)), 2) for k, name in enumerate(FAMILIES)})
    order = p[:, 1:5].sum(axis=1)[without]
    print(f"  without an order: P(order) > .5 in {np.mean(order > 0.5):.3f}, > .9 in {np.mean(order > 0.9):.3f}")
    signals = confidence_signals(records, p, asked)
    constants = {}
    for k, name in enumerate(FAMILIES):
        some = asked == k
        if not some.any():
            continue
        logistic = LogisticRegression(C=10.0)
        said = cross_val_predict(logistic, signals[some], right[some], method="predict_proba")[:, 1]
        cells = []
        for low, high in pairwise((0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.01)):
            cell = (said >= low) & (said < high)
            cells.append(
                f"{said[cell].mean():.2f} / {right[some][cell].mean():.2f} ({cell.sum()})" if cell.any() else ""
            )
        print(f"  {name}, said / right: " + ", ".join(cells))
        logistic.fit(signals[some], right[some])
        constants[name] = [*logistic.coef_[0], *logistic.intercept_]
    softmax.fit(Z, family, weight)
    print("LINK_WEIGHTS", theta.round(4).tolist())
    for name, values in constants.items():
        print(f'    "{name}": ({", ".join(f"{value:.5g}" for value in values)}),')
    for name, one, spread, weights in zip(names, mean, sd, softmax.coef_.T, strict=True):
        print(f'    "{name}": ({", ".join(f"{value:.5g}" for value in (one, spread, *weights))}),')
    print("INTERCEPTS", softmax.intercept_.round(5).tolist())


# -- scoring ----------------------------------------------------------------------------------------------------------


def judged(task: Any, kernel: str, structure: Any = None) -> dict[str, Any]:
    """Return what a fit on a structure says of a task; the table is that of any structure."""
    c = task.n_clusters
    with warnings.catch_warnings(), Recorded() as seen:
        warnings.simplefilter("ignore")
        model = StructuredClustering(structure=structure or f"chain:{c}", kernel=kernel, random_state=0).fit(task.X)
    return {
        "group": task.group,
        "kernel": kernel,
        "classes": None if seen.samples is None or task.y is None else seen.classes(task.y, c),
        "samples": None if seen.samples is None else (seen.samples[0], seen.samples[2]),
        "labels": model.labels_,
        "table": seen.table,
        "pairs": seen.pairs,
        "signals": seen.signals,
        "confidence": model.order_confidence_,
        "pvalue": model.order_.pvalue,
        "structure": model.structure_,
    }


def score_nulls(draws: int, work: Parallel) -> list[Any]:
    """Print how often data without an order have a confidence of 0.7 or p <= 0.05: shares of the fits."""
    tasks = [(task, k, s) for task in _structure_tasks.nulls(draws) for k in KERNELS for s in ("chain:6", "ring:6")]
    found = work(delayed(judged)(*task) for task in tasks)
    print("without an order: confidence >= .7 / p <= .05")
    columns = [(k, s) for k in KERNELS for s in ("chain:6", "ring:6")]
    print(f"{'':22}" + "".join(f"{f'{k} {s}':>16}" for k, s in columns))
    for kind in _structure_tasks.NULLS:
        cells = []
        for k, s in columns:
            rows = [one for task, one in zip(tasks, found, strict=True) if (task[0].group, *task[1:]) == (kind, k, s)]
            sure, small = (np.mean([f(one) for one in rows]) for f in (_is_sure, lambda one: one["pvalue"] <= 0.05))
            cells.append(f"{sure:.2f} / {small:.2f}")
        print(f"  {kind:20}" + "".join(f"{cell:>16}" for cell in cells), flush=True)
    return found


def _is_sure(one: dict[str, Any]) -> bool:
    return bool(one["confidence"] >= 0.7)


def score_chains(draws: int, work: Parallel) -> list[Any]:
    """Print how often true chains that come out in order have a confidence of 0.7 and p <= 0.05."""
    tasks = [(task, kernel, "chain:6") for task in _structure_tasks.chains(draws) for kernel in KERNELS]
    found = work(delayed(judged)(*task) for task in tasks)
    for group in dict.fromkeys(one["group"] for one in found):
        for kernel in KERNELS:
            rows = [
                one
                for (task, k, _), one in zip(tasks, found, strict=True)
                if (task.group, k) == (group, kernel)
                and strictly_right(task.y, one["labels"], np.eye(6), "chain", None)
            ]
            sure, small = (np.mean([f(one) for one in rows]) for f in (_is_sure, lambda one: one["pvalue"] <= 0.05))
            print(f"  {group}, {kernel}: {len(rows)} in order, >= .7 in {sure:.2f}, p <= .05 in {small:.2f}")
    return found


def score_real(load: Any, work: Parallel) -> list[Any]:
    """Print how often the most probable structure is the true one, with clusters of our own."""
    tasks = [(task, kernel) for task in _structure_tasks.real(load) for kernel in KERNELS]
    found = work(delayed(judged)(*task) for task in tasks)
    for task, one in zip([task for task, _ in tasks], found, strict=True):
        p = {} if one["table"] is None else {row.name: row.probability for row in one["table"]}
        one["said"] = max(p, key=p.get) if p else "flat"
        one["right"] = one["said"] in task.families
        one["order"] = sum(p.get(name, 0.0) for name in ("chain", "ring", "tree", "grid")) if p else 0.0
        one["y"], one["families"], one["true links"] = task.y, task.families, task.links
        one["no order"] = task.families == _structure_tasks.NO_ORDER
        if task.families == ("tree",) and p:
            node = one["classes"]
            one["links right"] = sum(bool(task.links[node[j], node[k]]) for j, k in one["table"]["tree"].arrangement)
    for kernel in KERNELS:
        rows = [one for one in found if one["kernel"] == kernel]
        print(f"real data, clusters by {kernel!r}:")
        for group in dict.fromkeys(one["group"] for one in rows):
            some = [one for one in rows if one["group"] == group]
            links = f", links {[one['links right'] for one in some if 'links right' in one]}" if "tree" in group else ""
            print(f"  {group:28}{sum(one['right'] for one in some):3} of {len(some)}{links}")
        coil = np.array([one["group"].startswith("COIL") for one in rows])
        right = np.array([one["right"] for one in rows])
        claimed = [one["order"] > 0.5 for one in rows if one["no order"]]
        print(f"  COIL {right[coil].mean():.3f}, all others {right[~coil].mean():.3f}", flush=True)
        print(f"  without an order: P(order) > .5 in {np.mean(claimed):.3f} of {len(claimed)}", flush=True)
    return found


def score_orders(load: Any, work: Parallel) -> list[Any]:
    """Print the area under the ROC curve of the confidence, over chains and rings of pictures."""
    names, given = zip(*((name, task) for name, make in SWEEPS.items() for task in make(load)), strict=True)
    shuffled = [real_data.shuffled(task, 0) for task in given]
    c = [int(str(task.structure).split(":")[1]) for task in given]
    tasks = [_structure_tasks.Task(n, t.X, t.y, k, ()) for n, t, k in zip(names, shuffled, c, strict=True)]
    fits = [(task, kernel, one.structure) for task, one in zip(tasks, given, strict=True) for kernel in KERNELS]
    found = work(delayed(judged)(*fit) for fit in fits)
    for (task, _, _), one in zip(fits, found, strict=True):
        ours = structured_accuracy(task.y, one["labels"], one.pop("structure"))
        one["right"] = bool(ours >= 0.9 * clustering_accuracy(task.y, one["labels"]))
    for kernel in KERNELS:
        rows = [one for one in found if one["kernel"] == kernel]
        told, right = np.array([one["confidence"] for one in rows]), np.array([one["right"] for one in rows])
        sure = told >= 0.7
        print(
            f"orders of pictures, {kernel!r}: AUC {roc_auc_score(right, told):.3f}, {sure.sum()} of {len(sure)} have "
            f".7 or more, {right[sure].mean():.2f} of them right; below .3 {right[told < 0.3].sum()} of "
            f"{(told < 0.3).sum()} right",
            flush=True,
        )
    return found


def score(given: argparse.Namespace) -> int:
    work, wanted, found = Parallel(n_jobs=given.jobs, batch_size=4), given.only.split(","), {}
    for name, run in (("nulls", score_nulls), ("chains", score_chains)):
        if name in wanted:
            found[name] = run(given.draws, work)
    for name, run in (("real", score_real), ("orders", score_orders)):
        if name in wanted and given.data:
            found[name] = run(real_data.loader(Path(given.data)), work)
    if given.out:
        with lzma.open(given.out, "wb", preset=1) as file:
            pickle.dump(found, file)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("--out", required=True)
    drawing.add_argument("--first", type=int, default=0, help="another number draws other data sets")
    drawing.add_argument("--draws", type=int, default=1000)
    drawing.add_argument("--jobs", type=int, default=2)
    training = commands.add_parser("train")
    training.add_argument("files", nargs="+")
    training.add_argument("--jobs", type=int, default=2)
    scoring = commands.add_parser("score")
    scoring.add_argument("--data", default=os.environ.get("KERNELCLUST_DATA"))
    scoring.add_argument("--draws", type=int, default=40, help="data sets of each kind")
    scoring.add_argument("--jobs", type=int, default=2)
    scoring.add_argument("--only", default="nulls,chains,real,orders")
    scoring.add_argument("--out", help="also write all measurements to this file, to train or score with other weights")
    given = parser.parse_args(argv)
    if given.command == "score":
        return score(given)
    if given.command == "draw":
        Path(given.out).parent.mkdir(parents=True, exist_ok=True)
        draw_all(given.out, given.first, given.draws, given.jobs)
    else:
        train(given.files, given.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
