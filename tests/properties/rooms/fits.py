"""Fits of every estimator in memory: cases of cases.py, held to the invariants of invariants.py."""

from __future__ import annotations

from cases import Case, draw
from invariants import check

__all__ = ["check", "covers", "draw"]


def covers(case: Case) -> list[str]:
    """Return the estimator, the kernel and the kind of samples."""
    kernel = case.parameters.get("kernel", "default")
    name = kernel if isinstance(kernel, str) else type(kernel).__name__
    return [case.estimator, f"kernel {name}", f"samples {case.samples['shape']}"]
