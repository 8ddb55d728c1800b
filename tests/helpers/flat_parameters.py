"""Estimators from parameters of their terms, all in one dict: what parametrised tests are written in."""

from __future__ import annotations

import inspect
from typing import Any

from kernelclust.kernels import FunctionKernel, as_approximation, kernel_class
from kernelclust.multikernel import as_method
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy, as_solver

OF_OBJECTIVE = ("loss", "normalize", "rho", "size_prior", "placement")
OF_SOLVER = ("search", "init", "n_init", "tol", "allow_empty", "polish", "max_steps")


def build(Estimator: type, *args: Any, **given: Any) -> Any:
    """Make an estimator: build(StructuredClustering, 3, kernel="rbf", gamma=0.5, rho=0, n_init=2)."""
    defaults = {name: one.default for name, one in inspect.signature(Estimator).parameters.items()}

    def taken(names: tuple[str, ...]) -> dict[str, Any]:
        return {name: given.pop(name) for name in names if name in given and name not in defaults}

    kernel, of_kernel = given.get("kernel", defaults["kernel"]), taken(("gamma",))
    of_kernel |= given.pop("kernel_params", None) or {}
    rank = taken(("n_components",)).get("n_components")
    if isinstance(kernel, str) and kernel_class(kernel).__name__ != "Kernel":
        has = inspect.signature(kernel_class(kernel)).parameters
        if rank is not None and "n_functions" in has:
            of_kernel["n_functions"] = rank
        if of_kernel:
            given["kernel"] = kernel_class(kernel)(**of_kernel)
    elif callable(kernel) and of_kernel:
        given["kernel"] = FunctionKernel(kernel, of_kernel)
    if rank is not None and isinstance(given.get("approximation"), str) and given["approximation"] != "auto":
        given["approximation"] = type(as_approximation(given["approximation"]))(rank)
    if objective := taken(OF_OBJECTIVE):
        given["objective"] = Dependence(**objective)
    solver = taken(OF_SOLVER) | (given.pop("solver_params", None) or {})
    if "method" in defaults and solver:
        given["method"] = as_method(given.get("method", defaults["method"])).set_params(**solver)
    elif solver:
        name = given.get("solver", "greedy")
        of_paper = name == "greedy" and "normalize" in defaults  # the presets that are named after a paper's method
        made = Greedy(search="global") if of_paper else as_solver(name)
        own = made.get_params()
        given["solver"] = made.set_params(**{key: value for key, value in solver.items() if key in own})
    if "compute_confidence" not in defaults:
        given.pop("compute_confidence", None)
    return Estimator(*args, **given)
