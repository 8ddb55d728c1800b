"""Estimators from the options of a command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import kernelclust
from kernelclust._names import check_name, names
from kernelclust.kernels import approximations, as_approximation, as_kernel, kernel_names
from kernelclust.multikernel import as_method, method_names
from kernelclust.objectives import as_objective
from kernelclust.solvers import as_solver, solver_names
from kernelclust.structures import as_structure

SETTINGS = "structure n_clusters kernel min_cluster_size max_cluster_size random_state".split()
TERMS: dict[str, tuple[Callable[[Any], Any], Callable[[], list[str]]]] = {
    "kernel": (as_kernel, kernel_names),
    "approximation": (as_approximation, lambda: names(approximations)),
    "objective": (as_objective, lambda: ["dependence"]),
    "solver": (as_solver, solver_names),
    "method": (as_method, method_names),
}
OWN_OPTIONS = {
    "gamma": "kernel.gamma",
    "indefinite": "kernel.indefinite",
    "loss": "objective.loss",
    "normalize": "objective.normalize",
    "rho": "objective.rho",
    "size_prior": "objective.size_prior",
    "search": "solver.search",
}
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
    parameters = {}  # by TERM.NAME: the option that gives it, as typed, and the value
    for option, name in OWN_OPTIONS.items():
        if (value := getattr(arguments, option, None)) is not None:
            parameters[name] = f"--{option.replace('_', '-')} {value}", as_value(str(value))
    for text in getattr(arguments, "set", ()):
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise ValueError(f"--set {text!r}: give NAME=VALUE, such as kernel.gamma=0.5 or solver=polar.")
        if name in parameters:
            raise ValueError(f"--set {text}: {parameters[name][0]} already gives {name}; leave one of them out.")
        parameters[name] = f"--set {text}", as_value(value)
    for name in [name for name in parameters if "." not in name]:
        option, value = parameters.pop(name)
        _check_own(option, name, bool(getattr(arguments, "view", ())))
        given[name] = value
    for name, (option, value) in parameters.items():
        kind, _, parameter = name.partition(".")
        given[kind] = with_parameter(kind, given.get(kind), parameter, value, option)
    if "n_clusters" in given:  # the library cannot tell its default from a number that was typed
        as_structure(given.get("structure", "flat"), given["n_clusters"])
    return given


def with_parameter(kind: str, term: Any, parameter: str, value: Any, option: str) -> Any:
    """Return a term (a kernel, a solver, ...) with one parameter set; without a term, that of the library's default.

    `kernel.gamma` without a kernel means the rbf kernel.
    """
    if kind not in TERMS:
        raise ValueError(f"{option}: there is no term {kind!r}; there are {', '.join(TERMS)}.")
    as_term, known = TERMS[kind]
    if term is None:
        defaults = [kernelclust.MultiKernelClustering(), kernelclust.StructuredClustering()]
        default = next(model.get_params(deep=False)[kind] for model in defaults if hasattr(model, kind))
        term = "rbf" if (kind, parameter) == ("kernel", "gamma") else default
    made = as_term(term)
    if made is None or parameter not in made.get_params(deep=False):
        takers = [name for name in known() if parameter in as_term(name).get_params(deep=False)]
        own = [] if made is None else sorted(made.get_params(deep=False))
        hint = f" With this parameter there is: {', '.join(takers)}." if takers else ""
        raise ValueError(
            f"{option}: {kind} {term!r} has no parameter {parameter!r}; it has {', '.join(own) or 'none'}.{hint}"
        )
    return made.with_params(**{parameter: value})


def _check_own(option: str, name: str, of_views: bool) -> None:
    """Raise an error unless the estimator has a parameter of this name that has no option of its own."""
    if name in SETTINGS:
        raise ValueError(f"{option}: {name} has an option of its own, --{name.replace('_', '-')}.")
    estimator = kernelclust.MultiKernelClustering() if of_views else kernelclust.StructuredClustering()
    known = sorted(set(estimator.get_params(deep=False)) - set(SETTINGS) - {"verbose", "views"})
    check_name("parameter", name, known, also=f", and parameters of {', '.join(TERMS)} such as kernel.gamma")


def given_options(arguments: SimpleNamespace, names: Sequence[str]) -> dict[str, Any]:
    """Return the options of these names that were given."""
    values = {name: getattr(arguments, name, None) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def as_value(text: str) -> Any:
    """Return a text as the value that it writes: a number, true, false or none; else the text itself."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def of_views(given: dict[str, Any], verbose: int) -> Any:
    """Return the estimator of several tables; refuse options that it does not take."""
    if "solver" in given:
        raise ValueError("--search and other parameters of solvers are for one table; leave them out, or --view.")
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
