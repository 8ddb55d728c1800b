"""Parts are known by the names of their files; a wrong name is answered with the nearest right one."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterable
from types import ModuleType


def names(package: ModuleType) -> list[str]:
    """Names of the parts in a package: its public modules, without importing them."""
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))


def load(package: ModuleType, name: str) -> ModuleType:
    """Import the one part that was asked for."""
    return importlib.import_module(f"{package.__name__}.{name}")


def check_name(kind: str, name: object, known: Iterable[object], *, also: str = "") -> None:
    """Raise a ValueError that lists the known names and suggests the nearest one."""
    known = list(known)
    if any(name is option or (isinstance(name, str) and name == option) for option in known):
        return
    close = difflib.get_close_matches(str(name), [str(option) for option in known], n=1)
    raise ValueError(
        f"unknown {kind} {name!r}; known: {', '.join(repr(option) for option in known)}{also}."
        + (f" Did you mean {close[0]!r}?" if close else "")
    )
