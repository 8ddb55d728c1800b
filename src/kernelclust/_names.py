"""Parts are known by the names of their files; a wrong name is answered with the nearest right one."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from functools import cache
from numbers import Integral, Real
from types import ModuleType

import numpy as np


def names(package: ModuleType) -> list[str]:
    """Names of the parts in a package: its public modules, without importing them."""
    return list(_listed(tuple(package.__path__)))


@cache
def _listed(folders: tuple[str, ...]) -> tuple[str, ...]:
    found = pkgutil.iter_modules(folders)
    return tuple(sorted(module.name for module in found if not module.ispkg and not module.name.startswith("_")))


def load(package: ModuleType, name: str) -> ModuleType:
    """Import the one part that was asked for."""
    return importlib.import_module(f"{package.__name__}.{name}")


def keywords(function: Callable) -> dict[str, object]:
    """Keyword-only parameters of a function with their defaults: what a part takes from its user."""
    parameters = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in parameters if one.kind is one.KEYWORD_ONLY}


def check_name(kind: str, name: object, known: Iterable[object], *, also: str = "") -> None:
    """Raise a ValueError that lists the known names and suggests the nearest one."""
    known = list(known)
    if any(name is option or (isinstance(name, str) and name == option) for option in known):
        return
    raise ValueError(
        f"unknown {kind} {name!r}; known: {', '.join(repr(option) for option in known)}{also}."
        + _suggestion(name, [option for option in known if isinstance(option, str)])
    )


def _suggestion(name: object, known: list[str]) -> str:
    if not isinstance(name, str) or not name:
        return ""
    plain = {option.lower(): option for option in known}
    close = difflib.get_close_matches(name.lower(), plain, n=1)
    close = close or [option for option in plain if option.startswith(name.lower())]
    return f" Did you mean {plain[close[0]]!r}?" if close else ""


def check_number(name: str, value: object, *, whole: bool = False, least: float = 0.0, above: bool = False) -> None:
    """Raise an error unless value is a finite number (a whole one) of at least `least`, or above it."""
    kind = "an integer" if whole else "a number"
    limit = f"above {least:g}" if above else f"of {least:g} or more"
    wanted = Integral if whole else Real
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, wanted):
        raise TypeError(f"{name}={value!r}: give {kind} {limit}.")
    number = float(value)  # type: ignore[arg-type]
    if not (number > least if above else number >= least) or number == float("inf"):
        raise ValueError(f"{name}={value!r}: give {kind} {limit}.")


def check_flag(name: str, value: object) -> None:
    """Raise an error unless value is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r}: give True or False.")


def check_starts(n_init: object) -> None:
    """Raise an error unless a number of starts is "auto" or an integer of at least one."""
    if isinstance(n_init, str):
        check_name("n_init", n_init, ["auto"], also=", or an integer")
    else:
        check_number("n_init", n_init, whole=True, least=1)
