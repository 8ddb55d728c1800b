"""Fit several structures, kernels and estimators to one table, and rank them without labels."""

from __future__ import annotations

import itertools
import math
import time
import warnings
from dataclasses import asdict, dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from kernelclust.cli import options

if TYPE_CHECKING:
    import numpy as np

OPTIONS = {
    **options.FILE,
    **options.in_panel(
        options.CLUSTER,
        structures=options.Option(str, "comma-separated, such as flat,chain,ring", short="-s"),
        kernels=options.Option(str, "comma-separated, such as auto,rbf", short="-k"),
        estimators=options.Option(str, "see kernelclust list", short="-e"),
        refits=options.Option(int, "number of fits of four fifths of the rows", 5),
    ),
    **options.JSON,
    **options.READING,
    **options.PREPARING,
    "n_clusters": options.STRUCTURE["n_clusters"],
    "gamma": options.KERNEL["gamma"],
    **options.SEED,
    **options.TALK,
}
REFIT_FRACTION = 0.8  # of the rows in every refit
MAX_JUDGED = 1500  # rows that similarities are judged by
MIN_ROWS = 20
NOTE = (
    "fit: how well the arranged clusters explain the similarities of rows, by one rbf kernel for all candidates. "
    "steady: share of rows that keep their label when four fifths of the rows are fitted again. Candidates are ranked "
    "by both. probability: of the structure over flat clusters, as in select structure, for 4 to 12 clusters. No "
    "labels were used: the first candidate is the best supported one, which does not make it right."
)


@dataclass
class Candidate:
    """A combination of estimator, structure and kernel, and its scores."""

    estimator: str
    structure: str
    kernel: str
    model: Any = field(repr=False)
    rank: float = 0.0
    fit: float = 0.0
    steady: float = 0.0
    probability: float | None = None
    order_confidence: float | None = None
    order_pvalue: float | None = None
    smallest: int = 0
    seconds: float = 0.0


def run(arguments: SimpleNamespace) -> None:
    """Fit every candidate, rank them, and print the table of evidence."""
    from kernelclust import _progress
    from kernelclust.cli.guard import warn
    from kernelclust.cli.inputs import load
    from kernelclust.cli.outputs import print_json, print_table

    candidates = _candidates(arguments)
    if arguments.refits < 1:
        raise ValueError("--refits must be 1 or more: the stability of the clusters is measured by them.")
    data = load(arguments)
    if data.prepared is None or len(data.rows) < MIN_ROWS:
        raise ValueError(f"compare takes tables of columns with {MIN_ROWS} rows or more.")
    for doubt in data.doubts:
        warn(arguments, doubt)
    done: list[Candidate] = []
    tables: dict[tuple[str, int], Any] = {}
    with _progress.working("comparing"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what each fit has to say is for who fits it
        with _progress.progress_listener(None):
            for k, one in enumerate(candidates):
                _progress.overall_progress(k, len(candidates))
                _progress.set_task(
                    f"comparing, {k + 1} of {len(candidates)}: {one.estimator} {one.structure} {one.kernel}"
                )
                if reason := _measure(one, data.X, arguments.refits, arguments.random_state):
                    warn(arguments, f"{one.estimator}, {one.structure}, {one.kernel} is left out: {reason}")
                else:
                    done.append(one)
                    one.probability = _probability(one, data.X, tables)
    if not done:
        raise ValueError("no candidate could be fitted; the warnings say why.")
    _rank(done)
    done.sort(key=lambda one: (one.rank, -one.fit))
    if arguments.json:
        rows = [{name: value for name, value in asdict(one).items() if name != "model"} for one in done]
        print_json({"file": arguments.file, "candidates": rows, "warnings": arguments.warnings, "note": NOTE})
        return
    head = ["", "estimator", "structure", "kernel", "fit", "steady", "probability", "order sure"]
    head += ["order p", "smallest", "seconds"]
    print_table(head, [_cells(k, one) for k, one in enumerate(done, start=1)], NOTE)


def _candidates(arguments: SimpleNamespace) -> list[Candidate]:
    """Return all combinations of estimators, structures and kernels that fit together."""
    from kernelclust.cli.models import ESTIMATORS, as_value, estimator, sized, with_parameter
    from kernelclust.structures import as_structure
    from kernelclust.tables import split

    c = arguments.n_clusters
    structures = sized(split(arguments.structures or "flat,chain,ring"), c if c is not None else 8)
    kernels = split(arguments.kernels or ("auto" if arguments.gamma is None else "rbf"))
    found = []
    for name, structure, kernel in itertools.product(split(arguments.estimators or "structured"), structures, kernels):
        kind = estimator(name)
        shape = as_structure(structure)
        if "structure" in kind().get_params():
            model = kind(structure=structure)
        elif shape == as_structure("flat", shape.n_clusters):
            model = kind(shape.n_clusters)
        else:
            continue  # a flat method has no business with an order
        width = arguments.gamma
        wide = (
            kernel if width is None else with_parameter("kernel", kernel, "gamma", as_value(width), f"--gamma {width}")
        )
        model.set_params(kernel=wide, random_state=arguments.random_state)
        found.append(Candidate(ESTIMATORS[name], structure, kernel, model))
    if len(found) < 2:
        raise ValueError("there is one candidate; give several --structures, --kernels or --estimators.")
    return found


def _measure(one: Candidate, X: np.ndarray, refits: int, seed: int) -> str:
    """Fill in the evidence; the reason where a candidate cannot be fitted."""
    import numpy as np
    from sklearn.base import clone

    from kernelclust.metrics import structured_accuracy
    from kernelclust.structures import as_structure

    rng, shape = np.random.default_rng(seed), as_structure(one.structure)
    started = time.perf_counter()
    try:
        model = clone(one.model).fit(X)
        one.seconds = time.perf_counter() - started
        kept = []
        for _ in range(refits):
            rows = np.sort(rng.choice(len(X), int(np.ceil(REFIT_FRACTION * len(X))), replace=False))
            again = clone(one.model).fit(X[rows]).labels_
            kept.append(structured_accuracy(model.labels_[rows], again, shape))
    except (ValueError, TypeError) as error:
        return str(error)
    one.steady = float(np.mean(kept))
    one.fit = explained(X, model.labels_, shape.kernel, seed)
    one.order_confidence = getattr(model, "order_confidence_", None)
    one.order_pvalue = None if getattr(model, "order_", None) is None else model.order_.pvalue
    one.smallest = int(np.bincount(model.labels_, minlength=shape.n_clusters).min())
    return ""


def _probability(one: Candidate, X: np.ndarray, tables: dict[tuple[str, int], Any]) -> float | None:
    """Return the probability of a structure over clusters without structure; None where it cannot be compared."""
    from sklearn.base import clone

    from kernelclust import StructuredClustering
    from kernelclust.engine import structure_probabilities
    from kernelclust.structures import Auto, as_structure

    if type(one.model) is not StructuredClustering:
        return None
    shape = as_structure(one.structure)
    key = one.kernel, shape.n_clusters
    try:
        if key not in tables:
            model = clone(one.model).set_params(structure=Auto(shape.n_clusters))
            tables[key] = model.fit(X).diagnostics_.structures
        return None if tables[key] is None else structure_probabilities(tables[key], [shape])[0]
    except ValueError:
        return None  # too few or too many clusters, a kernel or a structure that is not compared


def explained(X: np.ndarray, labels: np.ndarray, A: np.ndarray, seed: int = 0) -> float:
    """Return the normalised HSIC of an rbf kernel of X and the labels L = P A P', from some of the rows."""
    import numpy as np
    from sklearn.metrics.pairwise import euclidean_distances

    from kernelclust.metrics import hsic

    some = np.sort(np.random.default_rng(seed).permutation(len(X))[:MAX_JUDGED])
    Z, y = X[some], labels[some]
    distance = euclidean_distances(Z - Z.mean(axis=0), squared=True)
    K = np.exp(-distance / (distance.mean() or 1.0))
    n = np.sqrt(np.bincount(y, minlength=len(A)))
    L = (A / np.outer(np.maximum(n, 1), np.maximum(n, 1)))[np.ix_(y, y)]
    size = hsic(K, K) * hsic(L, L)
    return float(hsic(K, L) / np.sqrt(size)) if size > 0 else 0.0


def _rank(done: list[Candidate]) -> None:
    """Set the rank of each: the mean of the ranks by fit and by steadiness."""
    from scipy.stats import rankdata

    fit = rankdata([-round(one.fit, 3) for one in done])
    steady = rankdata([-round(one.steady, 2) for one in done])
    for one, rank in zip(done, (fit + steady) / 2, strict=True):
        one.rank = float(rank)


def _cells(place: int, one: Candidate) -> list[str]:
    def number(value: float | None, digits: int) -> str:
        return "" if value is None or math.isnan(value) else f"{value:.{digits}f}"

    evidence = [number(one.fit, 3), number(one.steady, 2), number(one.probability, 2)]
    rest = [number(one.order_confidence, 2), number(one.order_pvalue, 3), str(one.smallest), number(one.seconds, 1)]
    return [str(place), one.estimator, one.structure, one.kernel, *evidence, *rest]
