"""Warnings that point to the user's own line, however deep in the library they are raised."""

from __future__ import annotations

import sys
import warnings

OURS = ("kernelclust", "sklearn", "joblib", "threading", "concurrent")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first frame outside this library and the tools that call it."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level if frame is not None else 2)
