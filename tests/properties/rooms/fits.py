"""Fits of every estimator in memory: cases of cases.py, held to the invariants of invariants.py."""

from __future__ import annotations

from cases import N_CLUSTERS_RARE, N_RARE, Case, draw
from invariants import check

__all__ = ["check", "covers", "draw"]


def covers(case: Case) -> list[str]:
    """Return the estimator, the kernel and the kind of samples."""
    kernel = case.parameters.get("kernel", "default")
    name = kernel if isinstance(kernel, str) else type(kernel).__name__
    size = case.samples["n"]
    rare = [f"n={size}"] * (size in N_RARE) + [f"c={case.n_clusters}"] * (case.n_clusters in N_CLUSTERS_RARE)
    return [case.estimator, f"kernel {name}", f"samples {case.samples['shape']}", *rare]
