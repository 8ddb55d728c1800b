"""Dask: random cuts, partitions without rows, types and names of columns, against the same rows on the host.

`predict` gives what the host gives for the same rows, `objective_` of the linear kernel is F of the labels by the
formula, with weights too, known labels are kept, no cluster is empty without a warning, and what is spoiled or has its
columns in another order is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
from cases import Pick
from invariants import Broken

from kernelclust import StructuredClustering
from kernelclust.objectives import Dependence
from kernelclust.structures import as_structure

EXAMPLES = 3
REL_TOL = {"float64": 1e-6, "float32": 1e-3}  # of the objective: other sums of the same numbers round
KINDS = ["array", "frame", "frame with bools", "nullable frame"]
SPOILED = ["nothing", "nothing", "nothing", "nan", "infinity", "text", "all equal"]


@dataclass(frozen=True)
class Case:
    """One table and its partitions."""

    structure: str
    kernel: str
    n: int
    scale: float
    kind: str
    dtype: str
    partitions: int
    empty: int
    spoiled: str
    turned: bool
    seed: int
    source: str  # of a frame
    weights: str
    known: int  # labels

    @property
    def n_clusters(self) -> int:
        return int(self.structure.rpartition(":")[2])

    @property
    def is_integer(self) -> bool:
        return self.dtype.startswith("int") and self.spoiled not in ("nan", "infinity")  # which integers are not


def draw(pick: Pick) -> Case:
    return Case(
        structure=pick(["flat:3", "chain:4", "ring:5"]),
        kernel=pick(["linear", "rbf"]),
        n=pick([40, 200, 1000, 3000]),
        scale=pick([1.0, 1e-9, 1e9, 1e100, 1e300]),
        kind=pick(KINDS),
        dtype=pick(["float64", "float64", "float32", "float32", "int64", "int8"]),
        partitions=pick([1, 3, 8]),
        empty=pick([0, 0, 1, 3]),
        spoiled=pick(SPOILED),
        turned=pick([False, True]),
        seed=pick(range(1000)),
        source=pick(["from_map", "from_delayed"]),
        weights=pick(["none", "none", "integers", "zeros"]),
        known=pick([0, 0, 5]),
    )


def covers(case: Case) -> Iterable[str]:
    words = [case.structure, case.kernel, case.kind, case.dtype, f"n={case.n}", f"{case.empty} empty"]
    return [*words, f"spoiled {case.spoiled}", f"weights {case.weights}", f"{case.known} known"]


def _rows(case: Case) -> pd.DataFrame:
    rng = np.random.default_rng(case.seed)
    angle = np.pi * rng.integers(0, case.n_clusters, case.n) / case.n_clusters
    X = np.c_[np.cos(angle), np.sin(angle), np.zeros(case.n)] + 0.05 * rng.standard_normal((case.n, 3))
    scale = case.scale if case.dtype != "float32" or case.scale < 1e30 else 1.0  # single precision ends at 3e38
    if case.is_integer:
        X, scale = np.rint(80 * X), 1
    dtype = case.dtype if case.is_integer or case.dtype == "float32" else "float64"
    frame = pd.DataFrame((scale * X).astype(dtype), columns=["a", "b", "c d"])
    if case.spoiled in ("nan", "infinity"):
        frame.loc[case.n // 2, "b"] = np.nan if case.spoiled == "nan" else np.inf
    if case.kind == "frame with bools":
        frame["d"] = rng.random(case.n) < 0.5
    if case.spoiled == "all equal":
        frame = frame.iloc[np.zeros(case.n, dtype=int)].reset_index(drop=True)
    if case.kind == "nullable frame":
        frame = frame.astype({"a": "Float64"})
    if case.spoiled == "text" and case.kind != "array":
        frame["word"] = "x"
    return frame


def _about(case: Case) -> dict[str, np.ndarray]:
    """Return weights and known labels, as `fit` takes them."""
    rng, given = np.random.default_rng(case.seed), {}
    node = rng.integers(0, case.n_clusters, case.n)  # that `_rows` draws
    if case.known:
        given["y"] = np.where(np.arange(case.n) < case.known, node, -1)
    if case.weights != "none":
        given["sample_weight"] = rng.integers(0 if case.weights == "zeros" else 1, 4, case.n).astype(float)
    return given


def _partitioned(case: Case, frame: pd.DataFrame) -> Any:
    """Return the rows as a Dask array or frame, in random cuts."""
    rng = np.random.default_rng(case.seed + 1)
    cuts = np.sort(rng.integers(1, case.n, case.partitions - 1)).tolist()
    cuts += [cuts[-1] if cuts else case.n] * case.empty
    parts = [frame[start:stop] for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), case.n], strict=True)]
    if case.kind == "array":
        return da.concatenate([da.from_array(part.to_numpy(), chunks=(max(len(part), 1), -1)) for part in parts])
    import dask.dataframe as dd

    if case.source == "from_delayed":
        return dd.from_delayed([dask.delayed(part) for part in parts], meta=frame[:0])
    return dd.from_map(lambda number: parts[number], range(len(parts)), meta=frame[:0])


def check(case: Case) -> str:
    with warnings.catch_warnings(record=True) as heard, dask.config.set(scheduler="synchronous"):
        warnings.simplefilter("always")
        return _checked(case, heard)


def _checked(case: Case, heard: list[warnings.WarningMessage]) -> str:
    frame = _rows(case)
    X = _partitioned(case, frame)
    exact = case.kernel == "rbf" and case.n <= 1000
    model = StructuredClustering(
        structure=case.structure,
        kernel=case.kernel,
        approximation=None if exact else "auto",
        compute_confidence=False,
        random_state=0,
    )
    refused = case.spoiled in ("nan", "infinity", "all equal") or "word" in frame
    given = _about(case)
    try:
        model.fit(X, **given)
    except (ValueError, TypeError) as error:
        if refused or "rescale" in str(error):
            return "refused"
        raise Broken(f"fit: {type(error).__name__}: {error}") from error
    if refused:
        raise Broken(f"refused: {case.spoiled} was taken")
    labels = np.asarray(model.labels_)
    rows = frame.to_numpy(dtype=float if case.kind != "array" else None)
    warned = any("clusters are empty" in str(one.message) for one in heard)
    used = np.asarray(given.get("sample_weight", np.ones(case.n))) > 0  # the others are predicted
    every = len(np.unique(labels[used])) == case.n_clusters
    if len(labels) != case.n or every == warned or (warned and not _has_a_column_that_decides(case)):
        raise Broken(f"labels: {len(labels)} rows, clusters {np.unique(labels)}, warned of empty ones: {warned}")
    if not np.array_equal(np.asarray(model.predict(X)), model.predict(rows if case.kind == "array" else frame)):
        raise Broken("predict: partitions and the host differ")
    weight = given.get("sample_weight", np.ones(case.n))
    if case.known and not np.array_equal(labels[: case.known], given["y"][: case.known]):
        raise Broken(f"known: {labels[: case.known]} instead of {given['y'][: case.known]}")
    if not np.allclose(np.asarray(model.sizes_), np.bincount(labels, weight, minlength=case.n_clusters)):
        raise Broken(f"sizes: {np.asarray(model.sizes_)}")
    if case.kernel == "linear":
        own = _objective(case, rows.astype(float), labels, weight)
        if not abs(own - model.objective_) <= REL_TOL.get(case.dtype, 1e-6) * abs(own):
            raise Broken(f"objective: {model.objective_!r}, of these labels {own!r}")
    if case.turned and case.kind != "array":
        try:
            model.predict(X[list(frame.columns[::-1])])
        except ValueError as error:
            if "feature names" not in str(error):
                raise Broken(f"names: {error}") from error
        else:
            raise Broken("names: columns in another order were taken")
    return "fitted"


def _has_a_column_that_decides(case: Case) -> bool:
    """Return whether squares of the other columns are lost in the rounding of one: then there are two kinds of rows."""
    return case.kind == "frame with bools" and case.scale < 1 and not case.is_integer


def _objective(case: Case, X: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> float:
    """Return F of the labels under the linear kernel, by the formula."""
    structure = as_structure(case.structure)
    Pi = (labels[:, None] == np.arange(structure.n_clusters)) * weight[:, None]
    sums = Pi.T @ (X - np.average(X, axis=0, weights=weight))
    return float(Dependence().bind(structure).value(sums @ sums.T, Pi.sum(axis=0)))
