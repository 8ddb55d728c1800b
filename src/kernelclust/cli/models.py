"""Estimators from the options of a command."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import kernelclust
from kernelclust.kernels import Kernel, Precomputed, kernel_class
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy
from kernelclust.structures import as_structure

SETTINGS = "structure n_clusters kernel min_cluster_size max_cluster_size n_jobs random_state".split()
OBJECTIVE = "loss normalize rho size_prior".split()
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
    """Return the estimator's parameters that were given; the library's own defaults hold for all others."""
    given = given_options(arguments, SETTINGS)
    if (gamma := getattr(arguments, "gamma", None)) is not None:
        given["kernel"] = kernel_of(given.get("kernel", "rbf"), gamma)
    if (indefinite := getattr(arguments, "indefinite", None)) is not None:
        if given.get("kernel") != "precomputed":
            raise ValueError(f"--indefinite {indefinite} is for --kernel precomputed; leave it out.")
        given["kernel"] = Precomputed(indefinite=indefinite)
    if objective := given_options(arguments, OBJECTIVE):
        if "size_prior" in objective:
            objective["size_prior"] = _number_or_name(objective["size_prior"])
        objective |= {name: None for name in ("loss", "normalize") if objective.get(name) == "none"}
        given["objective"] = Dependence(**objective)
    if (search := getattr(arguments, "search", None)) is not None:
        given["solver"] = Greedy(search=search)
    if "n_clusters" in given:  # the library cannot tell its default from a number that was typed
        as_structure(given.get("structure", "flat"), given["n_clusters"])
    return given


def given_options(arguments: SimpleNamespace, names: Sequence[str]) -> dict[str, Any]:
    """Return the options of these names that were given."""
    values = {name: getattr(arguments, name, None) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def kernel_of(kernel: str, gamma: str | None) -> str | Kernel:
    """Return a kernel of this width, or the name as it is where no width is given."""
    if gamma is None:
        return kernel
    if not kernel_class(kernel).has_gamma:
        raise ValueError(f"--gamma {gamma}: --kernel {kernel} has no width; leave it out, or take --kernel rbf.")
    made: Kernel = kernel_class(kernel)(gamma=_number_or_name(gamma))
    return made


def _number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def of_views(given: dict[str, Any], verbose: int) -> Any:
    """Return the estimator of several tables; refuse options that it does not take."""
    if "solver" in given:
        raise ValueError("--search is for one table; leave it out, or leave out --view.")
    return kernelclust.MultiKernelClustering(verbose=verbose, **given)


def estimator(name: str) -> type:
    """Return the class behind a name of `ESTIMATORS`."""
    if name not in ESTIMATORS:
        raise ValueError(f"there is no estimator {name!r}; there are {', '.join(ESTIMATORS)}.")
    return getattr(kernelclust, ESTIMATORS[name])


def sized(structures: list[str], n_clusters: int | None) -> list[str]:
    """Return texts of structures with their numbers of clusters."""
    if n_clusters is None and any(":" not in name for name in structures):
        bare = next(name for name in structures if ":" not in name)
        raise ValueError(f"{bare!r} does not say how many clusters; add -c NUMBER, or name it as {bare}:6.")
    found = [name if ":" in name else f"{name}:{n_clusters}" for name in structures]
    for name in found:
        as_structure(name)
    return found
