"""Estimators from the options of a command."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import kernelclust
from kernelclust.structures import as_structure

SETTINGS = (
    "structure n_clusters kernel gamma loss normalize rho size_prior min_cluster_size max_cluster_size search n_jobs "
    "random_state"
).split()
OF_VIEWS = (
    "structure n_clusters kernel loss normalize rho min_cluster_size max_cluster_size n_jobs random_state".split()
)
ESTIMATORS = {
    "structured": "StructuredClustering",
    "kernel-kmeans": "KernelKMeans",
    "cluhsic": "CLUHSIC",
    "cluhsical": "CLUHSICAL",
    "diffrac": "Diffrac",
    "diskmeans": "DisKMeans",
    "max-margin": "MaxMarginClustering",
}


def settings(arguments: SimpleNamespace) -> dict[str, Any]:
    """What was given; what was not is absent, so that the library's own default holds and "none" can mean None."""
    given = {name: getattr(arguments, name, None) for name in SETTINGS}
    given = {name: value for name, value in given.items() if value is not None}
    for name in ("gamma", "size_prior"):
        if name in given:
            given[name] = number_or_name(given[name])
    for name in ("loss", "normalize"):
        if given.get(name) == "none":
            given[name] = None
    if "n_clusters" in given:  # the library cannot tell its default from a number that was typed
        as_structure(given.get("structure", "flat"), given["n_clusters"])
    return given


def number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def of_views(given: dict[str, Any], verbose: int) -> Any:
    """The estimator of several tables; what it does not take is refused."""
    for name in given:
        if name not in OF_VIEWS:
            raise ValueError(f"--{name.replace('_', '-')} is for one table; leave it out, or leave out --view.")
    rest = {name: value for name, value in given.items() if name != "kernel"}
    return kernelclust.MultiKernelClustering(kernels=given.get("kernel", "auto"), verbose=verbose, **rest)


def estimator(name: str) -> type:
    """The class behind a name of `ESTIMATORS`."""
    if name not in ESTIMATORS:
        raise ValueError(f"there is no estimator {name!r}; there are {', '.join(ESTIMATORS)}.")
    return getattr(kernelclust, ESTIMATORS[name])


def split(text: str) -> list[str]:
    """The parts of a list with commas between, but for commas in brackets.

    Examples
    --------
    >>> split("flat:3, tree:(a,(b,c))")
    ['flat:3', 'tree:(a,(b,c))']
    """
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def sized(structures: list[str], n_clusters: int | None) -> list[str]:
    """Structures that all say how many clusters they have."""
    if n_clusters is None and any(":" not in name for name in structures):
        bare = next(name for name in structures if ":" not in name)
        raise ValueError(f"{bare!r} does not say how many clusters; add -c NUMBER, or name it as {bare}:6.")
    found = [name if ":" in name else f"{name}:{n_clusters}" for name in structures]
    for name in found:
        as_structure(name)
    return found
