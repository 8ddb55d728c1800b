"""Model files forged at random: a file is refused by `load` with a ValueError that names it, or the model works.

A model works if its methods return something, or refuse with a ValueError or TypeError that kernelclust or
scikit-learn raises; anything else on use is a raw error that `load` should have prevented.
"""

from __future__ import annotations

import functools
import io
import json
import os
import tempfile
import time
import tracemalloc
import warnings
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from cases import Pick
from invariants import Broken, spoken

import kernelclust
from kernelclust import (
    CLUHSICAL,
    KernelKMeans,
    MaxMarginClustering,
    MultiKernelClustering,
    StructuredClustering,
    load,
)
from kernelclust.solvers import Greedy

EXAMPLES = 30
MAX_LOAD_SECONDS, MAX_BYTES = 1.0, 100e6
QUICK = Greedy(n_init=1)
MODELS = {
    "chain rbf": lambda: StructuredClustering(structure="chain:3", kernel="rbf", solver=QUICK, random_state=0),
    "ring auto": lambda: StructuredClustering(structure="ring:4", solver=QUICK, random_state=0),
    "tree graph": lambda: StructuredClustering(structure="tree:2x2", kernel="graph", solver=QUICK, random_state=0),
    "grid nystroem": lambda: StructuredClustering(
        structure="grid:2x2", kernel="rbf", approximation="nystroem", solver=QUICK, random_state=0
    ),
    "kernel k-means": lambda: KernelKMeans(3, kernel="laplacian", random_state=0),
    "cluhsical": lambda: CLUHSICAL(structure="chain:3", random_state=0),
    "margin": lambda: MaxMarginClustering(2, random_state=0),
    "views": lambda: MultiKernelClustering(structure="chain:3", kernel="rbf", random_state=0),
}
VALUES = [None, True, 0, -1, 3, 10**6, 10**30, 0.5, -1e300, "", "chain:5", "rbf", [], [0], [[1]], {"float": "nan"}]
VALUES += [{"tuple": []}, {"tuple": [0, 1]}, {"dict": []}, {"type": "<f8"}, {"scalar": "<i8", "value": 2}]
VALUES += [{"slice": [None, None, None]}]
ARRAYS = ["nan", "huge", "zeros", "negative", "fewer", "more", "flat", "float", "int", "text", "empty"]


@dataclass(frozen=True)
class Forgery:
    """One change of a file: which model, what kind of change, and where, as numbers that are taken modulo."""

    model: str
    kind: str
    at: tuple[int, int]
    value: Any


def draw(pick: Pick) -> Forgery:
    kind = pick(["value", "array", "swap", "drop", "bytes", "cut"])
    value = pick(VALUES) if kind == "value" else pick(ARRAYS) if kind == "array" else pick(range(256))
    return Forgery(pick(list(MODELS)), kind, (pick(range(1000)), pick(range(1000))), value)


def covers(case: Forgery) -> list[str]:
    """Return the model and the kind of change."""
    return [case.model, f"{case.kind}" if case.kind != "array" else f"array {case.value}"]


def samples(name: str) -> Any:
    rng = np.random.default_rng(0)
    X = 5.0 * (np.arange(24) % 4)[:, None] + rng.standard_normal((24, 3))
    return [X, X[:, :2]] if name == "views" else X


@functools.cache
def members(name: str) -> dict[str, bytes]:
    """Return the members of the file of a model."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        path = os.path.join(folder, "m")
        MODELS[name]().fit(samples(name)).save(path)
        with zipfile.ZipFile(path) as archive:
            return {member: archive.read(member) for member in archive.namelist()}


def forged(case: Forgery) -> bytes:
    """Return the bytes of the forged file."""
    parts = dict(members(case.model))
    contents = json.loads(parts["model.json"])
    first, second = case.at
    if case.kind == "array":
        arrays = [one for one in contents["objects"] if "array" in one]
        node = arrays[first % len(arrays)]
        member = f"arrays/{node['array']}.npy"
        values = changed(np.lib.format.read_array(io.BytesIO(parts[member])), case.value)
        stream = io.BytesIO()
        np.lib.format.write_array(stream, values)
        parts[member] = stream.getvalue()
        node["dtype"], node["shape"] = values.dtype.str, list(values.shape)
    elif case.kind in ("value", "swap", "drop"):
        places = [place for one in contents["objects"] if "parts" in one for place in _places(one["parts"])]
        node, key = places[first % len(places)]
        other, its = places[second % len(places)]
        if case.kind == "value":
            node[key] = case.value
        elif case.kind == "swap":
            node[key], other[its] = other[its], node[key]
        else:
            del node[key]
    parts["model.json"] = json.dumps(contents).encode()
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    whole = bytearray(sink.getvalue())
    at = (1000 * first + second) * 7919 % len(whole)
    if case.kind == "bytes":
        whole[at] = case.value
    return bytes(whole[:at] if case.kind == "cut" else whole)


def _places(node: Any) -> Any:
    """Yield every container and key below a node, references to other objects as a whole."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], (dict, list)) and list(node[key]) != ["object"]:
            yield from _places(node[key])


def changed(values: np.ndarray, how: str) -> np.ndarray:
    """Return an array that no fit leaves, or one that it might."""
    if how in ("nan", "huge", "zeros", "negative"):
        fill = {"nan": np.nan, "huge": 1e300, "zeros": 0, "negative": -1}[how]
        if values.dtype.kind != "f" and how in ("nan", "huge"):
            fill = 2**31 - 1 if values.dtype.kind in "iu" else 1
        with np.errstate(all="ignore"):
            return np.full_like(values, fill) if values.dtype.kind != "u" or fill >= 0 else np.zeros_like(values)
    if how == "fewer":
        return values[:-1] if values.ndim else values
    if how == "more":
        return np.concatenate([values, values]) if values.ndim else values
    if how == "flat":
        return values.reshape(-1)
    if how == "empty":
        return values.reshape(-1)[:0]
    kind = {"float": "f8", "int": "i8", "text": "U8"}[how]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return values.astype(kind) if values.dtype.kind != "U" else values


def check(case: Forgery) -> str:
    """Load the file; use the model if it loads."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        path = os.path.join(folder, "forged.model")
        with open(path, "wb") as file:
            file.write(forged(case))
        load_quickly = functools.partial(_measured, path)
        try:
            model = load_quickly()
        except ValueError as error:
            if "forged.model" not in str(error):
                raise Broken(f"named: {error}") from error
            return "refused"
        except Exception as error:
            raise Broken(f"only_value_errors: {type(error).__name__}: {error}") from error
        for use in USES:
            try:
                USES[use](model, samples(case.model))
            except Exception as error:
                try:
                    spoken(error)
                except AssertionError:
                    raise Broken(f"works: {use}: {type(error).__name__}: {error}") from error
    return "fitted"


def _measured(path: str) -> Any:
    tracemalloc.start()
    start = time.process_time()
    try:
        return load(path)
    finally:
        took, most = time.process_time() - start, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if took > MAX_LOAD_SECONDS or most > MAX_BYTES:
            raise Broken(f"cheap: loading took {took:.1f} s and {most / 1e6:.0f} MB")


def _save(model: Any, X: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model.save(os.path.join(folder, "again"))
        kernelclust.load_extra(os.path.join(folder, "again"))


USES = {
    "repr": lambda model, X: repr(model),
    "get_params": lambda model, X: model.get_params(),
    "predict": lambda model, X: model.predict(X),
    "transform": lambda model, X: model.transform(X) if hasattr(model, "transform") else None,
    "membership": lambda model, X: model.membership(X) if hasattr(model, "membership") else None,
    "position": lambda model, X: model.position(X) if hasattr(model, "position") else None,
    "arrangements": lambda model, X: model.arrangements() if hasattr(model, "arrangements") else None,
    "score": lambda model, X: model.score(X) if hasattr(model, "score") else None,
    "save": _save,
}
