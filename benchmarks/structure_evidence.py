"""Train and test the evidence about structures (`order_.structures`, `order_confidence_`).

    python benchmarks/structure_evidence.py draw --out FILE [--first 0] [--draws 1000] [--jobs 2]
    python benchmarks/structure_evidence.py train FILE ...      # prints the weights of engine/_structure_weights.py

draw: random data sets (`_structure_draws`), clustered by the library or with their true clusters; measurements of all
pairs of clusters, and what the confidence of the order is made of, are stored with the truth.
"""

from __future__ import annotations

import argparse
import lzma
import pickle
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from joblib import Parallel, delayed

sys.path.append(str(Path(__file__).resolve().parent))
from _structure_draws import GRIDS, Draw, draw

from kernelclust import KernelKMeans, StructuredClustering, arrange
from kernelclust.engine import _order, _structures

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


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("--out", required=True)
    drawing.add_argument("--first", type=int, default=0, help="another number draws other data sets")
    drawing.add_argument("--draws", type=int, default=1000)
    drawing.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(argv)
    if given.command == "draw":
        draw_all(given.out, given.first, given.draws, given.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
