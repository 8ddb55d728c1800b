"""Streams: batches of random lengths in random order, sparse or dense, with and without labels, weights and forced
refits; some are saved and loaded in between.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from cases import Pick
from invariants import Broken
from scipy import sparse

from kernelclust import StructuredClustering, load

EXAMPLES = 3


@dataclass(frozen=True)
class Case:
    structure: str
    kernel: str
    n: int
    scale: float
    batches: int
    ordered: bool
    known: int
    sparse: bool
    refits: bool
    seed: int
    weights: bool
    saved: bool


def draw(pick: Pick) -> Case:
    return Case(
        structure=pick(["flat:3", "chain:4", "ring:6", "flat:20", "chain:30"]),
        kernel=pick(["rbf", "auto", "linear"]),
        n=pick([60, 200, 1000, 3000]),
        scale=pick([1.0, 1e-9, 1e9, 1e100, 1e300]),
        batches=pick([1, 3, 7]),
        ordered=pick([False, True]),
        known=pick([0, 1, 5]),
        sparse=pick([False, True]),
        refits=pick([False, True]),
        seed=pick(range(1000)),
        weights=pick([False, True]),
        saved=pick([False, True]),
    )


def covers(case: Case) -> Iterable[str]:
    return [
        case.structure,
        case.kernel,
        f"n={case.n}",
        *(["labels"] if case.known else []),
        *(["saved"] if case.saved else []),
    ]


def check(case: Case) -> str:
    rng = np.random.default_rng(case.seed)
    c = int(case.structure.rpartition(":")[2])
    place = rng.integers(0, c, case.n)
    place = np.sort(place) if case.ordered else place
    X = case.scale * (np.c_[3.0 * place, np.zeros(case.n)] + rng.standard_normal((case.n, 2)))
    first = max(case.n // case.batches, c)
    cuts = np.unique(np.r_[0, first, rng.integers(first, case.n + 1, case.batches - 1), case.n])
    model = StructuredClustering(structure=case.structure, kernel=case.kernel, random_state=0, compute_confidence=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (start, stop) in enumerate(pairwise(cuts)):
            try:
                _add(model, case, X[start:stop], place[start:stop], c, number)
            except ValueError as error:
                if "rescale X" in str(error) and case.scale >= 1e100:
                    return "refused"
                raise
            if model.diagnostics_.n_samples_seen != stop:
                raise Broken(f"seen: {model.diagnostics_.n_samples_seen} of {stop}")
            model = _saved(model, X) if case.saved else model
    return "fitted"


def _add(model: Any, case: Case, X: np.ndarray, place: np.ndarray, c: int, number: int) -> None:
    y = np.where(np.arange(len(X)) < case.known, place, -1) if number == 0 else np.full(len(X), -1)
    batch = sparse.csr_matrix(X) if case.sparse and number % 2 else X
    least = 0 if number else 1  # as many samples as clusters in the first batch
    weight = np.random.default_rng(case.seed + number).integers(least, 3, len(X)) if case.weights else None
    if weight is not None and not weight.any():
        weight[0] = 1
    model.partial_fit(batch, y if case.known else None, weight, refit=case.refits or "auto")
    labels = model.labels_
    if labels.shape != (len(X),) or not ((labels >= 0) & (labels < c)).all():
        raise Broken("labels: are not places of the batch")
    if (labels[y >= 0] != y[y >= 0]).any():
        raise Broken("known: labels are not kept")
    if not np.array_equal(labels[y < 0], model.predict(X)[y < 0]):
        raise Broken("predict: gives other labels than partial_fit")


def _saved(model: Any, X: np.ndarray) -> Any:
    """Return the model as it is loaded from a file."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(os.path.join(folder, "m"))
        again = load(os.path.join(folder, "m"))
    if not np.array_equal(again.predict(X), model.predict(X)):
        raise Broken("saved: predicts other labels")
    return again
