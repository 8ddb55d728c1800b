"""Train and test the evidence about structures (`order_.structures`, `order_confidence_`).

    python benchmarks/structure_evidence.py draw --out NAME [--first 0] [--draws 1000] [--jobs 2]
    python benchmarks/structure_evidence.py train NAME-0.pkl.xz NAME-1.pkl.xz ...

draw: random data sets (`_structure_draws`), clustered by the library or with their true clusters; measurements of all
pairs of clusters, and what the confidence of the order is made of, are stored with the truth in pickles of your own.
train: fits the weights of engine/_structure_weights.py to four fifths of the draws, scores the others, and prints the
weights. The weights in use are of the 12 500 draws of `--first 2 --draws 15000` that were finished first.
"""

from __future__ import annotations

import argparse
import lzma
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

sys.path.append(str(Path(__file__).resolve().parent))
from _structure_draws import FAMILIES, GRIDS, Draw, draw

from kernelclust import KernelKMeans, StructuredClustering, arrange
from kernelclust.engine import _order, _structures
from kernelclust.engine._arrangement_sums import tree_sum

SOURCES = {"asked": 0.55, "flat": 0.25, "true": 0.2}  # of the clusters
KERNELS = ("rbf", "auto")


class Recorded:
    """While it is open, the pairs of clusters that were compared, their numbering, and what the order was judged by."""

    def __enter__(self) -> Recorded:
        self.pairs, self.signals, self.rank = None, None, None
        self._functions = _structures.pairs_of, _order._order_of, _order.Clusters.rank

        def pairs_of(*given: Any) -> Any:
            self.pairs = self._functions[0](*given)
            return self.pairs

        def order_of(*given: Any) -> Any:
            order = self._functions[1](*given)
            self.signals = order.fit, order.halves, order.jitter
            return order

        def rank(given: Any) -> np.ndarray:
            self.rank = self._functions[2].fget(given)
            return self.rank

        _structures.pairs_of, _order._order_of, _order.Clusters.rank = pairs_of, order_of, property(rank)
        return self

    def __exit__(self, *_: Any) -> None:
        _structures.pairs_of, _order._order_of, _order.Clusters.rank = self._functions


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
    order = rng.permutation(len(one.X))
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
        right = asked == one.family and strictly_right(y, labels, one.links, asked, linked)
        node = np.bincount(y * c + labels, minlength=c * c).reshape(c, c).argmax(axis=0)[np.argsort(seen.rank)]
        links = one.links[np.ix_(node, node)] if len(set(node)) == c else None  # clusters as `pairs_of` numbers them
    return {
        "seed": seed,
        "family": one.family,
        "kind": one.kind,
        "c": c,
        "m": len(X),
        "source": source,
        "kernel": kernel,
        "asked": asked,
        "right": right,
        "pairs": [np.asarray(part, dtype=np.float32) for part in seen.pairs],
        "signals": seen.signals,
        "pvalue": pvalue,
        "links": links,
    }


def draw_all(out: str, first: int, draws: int, jobs: int) -> None:
    """Write files of 2500 records each: OUT-0.pkl.xz, OUT-1.pkl.xz, ..."""
    work = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=4)
    found: list[Any] = []
    failed = stored = 0
    for number, one in enumerate(work(delayed(_safe)(seed, first) for seed in range(draws))):
        failed += isinstance(one, str)
        if isinstance(one, str):
            print(one, flush=True)
        elif one is not None:
            found.append(one)
        if len(found) == 2500 or number == draws - 1:
            with lzma.open(f"{out}-{stored}.pkl.xz", "wb", preset=1) as file:
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
    """Return the weights that maximise the likelihood of the true chain or tree among all spanning trees."""
    known = [one for one in records if one["links"] is not None and one["family"] in ("chain", "tree")]

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = 0.0, np.zeros_like(theta)
        for one in known:
            features, true = one["pairs"].features, np.triu(one["links"])
            trees = tree_sum(features @ theta)
            value += trees.log_sum - float((features @ theta)[true].sum())
            slope += np.einsum("jk,jkf->f", np.triu(trees.links, 1) - true, features)
        return value / len(known) + ridge * float(theta @ theta), slope / len(known) + 2 * ridge * theta

    start = np.zeros(known[0]["pairs"].features.shape[2])
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 40}).x)


def numbers(pairs: Any, theta: np.ndarray) -> dict[str, float]:
    """Return what the softmax weighs, under these weights of links."""
    _structures.LINK_WEIGHTS = tuple(theta)
    s = _structures.link_scores(pairs.features)
    merges = linkage(squareform(pairs.distance, checks=False), "average")
    return _structures.numbers_of(pairs, s, _structures.families_of(s, pairs.distance), merges)


def train(files: Sequence[str], jobs: int) -> None:
    records: list[dict[str, Any]] = []
    for file in files:
        with lzma.open(file) as stream:
            records += pickle.load(stream)
    for one in records:
        parts = [np.asarray(part, dtype=float) for part in one["pairs"]]
        one["pairs"] = _structures.Pairs(*parts[:3], float(parts[3]))
    fresh = np.arange(len(records)) >= 0.8 * len(records)
    theta = link_weights([one for one, is_fresh in zip(records, fresh, strict=True) if not is_fresh])
    rows = Parallel(n_jobs=jobs, batch_size=50)(delayed(numbers)(one["pairs"], theta) for one in records)
    names = list(rows[0])
    X = np.array([[row[name] for name in names] for row in rows])
    mean, sd = X.mean(axis=0), X.std(axis=0) + 1e-9
    Z = np.clip((X - mean) / sd, -3, 3)
    family = np.array([list(FAMILIES).index(one["family"]) for one in records])
    softmax = LogisticRegression(C=1.0, max_iter=400, tol=1e-3).fit(Z[~fresh], family[~fresh])
    p = softmax.predict_proba(Z)
    best = p.argmax(axis=1)
    print(f"{fresh.sum()} fresh draws: most probable structure right {np.mean(best == family, where=fresh):.3f}")
    asked = np.array([list(FAMILIES).index(one["asked"]) for one in records])
    odds = np.log(np.clip(p, 1e-4, 1 - 1e-4) / np.clip(1 - p, 1e-4, 1 - 1e-4))[np.arange(len(p)), asked]
    fit, _, jitter = np.array([one["signals"][:3] for one in records]).T
    signals = np.c_[np.arctanh(np.clip(fit, -0.99, 0.99)), jitter, odds, *(asked == k for k in (2, 3, 4))]
    right = np.array([one["right"] for one in records])
    confidence = LogisticRegression(C=10.0).fit(signals[~fresh], right[~fresh])
    said = confidence.predict_proba(signals)[:, 1]
    for low, high in pairwise((0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)):
        cell = fresh & (said >= low) & (said <= high)
        print(
            f"  confidence {low} to {high}: {said[cell].mean():.2f} said, {right[cell].mean():.2f} right ({cell.sum()})"
        )
    print(
        "links", theta.round(5).tolist(), "confidence", [*confidence.coef_[0].round(4), *confidence.intercept_.round(4)]
    )
    for name, one, spread, weights in zip(names, mean, sd, softmax.coef_.T, strict=True):
        print(f'    "{name}": ({", ".join(f"{value:.5g}" for value in (one, spread, *weights))}),')
    print("intercepts", softmax.intercept_.round(5).tolist())


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
    given = parser.parse_args(argv)
    if given.command == "draw":
        Path(given.out).parent.mkdir(parents=True, exist_ok=True)
        draw_all(given.out, given.first, given.draws, given.jobs)
    else:
        train(given.files, given.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
