"""The terms of the formula as objects: kernels, approximations, objectives, solvers, methods and losses.

A term is one file in its folder. The file ends in `PART = TheClass`; its name is the name that users write
(`solver="low_rank_sdp"` is `solvers/low_rank_sdp.py`, class `LowRankSDP`). Names are listed without importing anything;
only the file that is asked for is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar, Self, TypeVar

from sklearn.base import BaseEstimator

from kernelclust._names import check_name, load, names


class Term(BaseEstimator):
    """Base class of all terms: dataclasses whose fields are the parameters, stored as they are given.

    Declared with `eq=False, repr=False`, they are compared by identity and printed as scikit-learn prints estimators.
    Its `get_params`, `set_params` and `clone` work on terms, also inside of an estimator (`kernel__gamma` in a grid
    search).
    """

    kind: ClassVar[str] = "term"  # the estimator's parameter that takes the term
    example: ClassVar[str] = "Term()"  # a correct value, for error messages
    hyphens: ClassVar[bool] = False  # whether names are written with hyphens

    @property
    def name(self) -> str:
        """Return the name that users write: that of the file."""
        name = type(self).__module__.rpartition(".")[2]
        return name.replace("_", "-") if self.hyphens else name

    def check(self) -> None:
        """Raise an error if a parameter is invalid for any data."""

    def with_params(self, **params: Any) -> Self:
        """Return a copy with other values of some parameters."""
        return type(self)(**(self.get_params(deep=False) | params))


T = TypeVar("T", bound=Term)


def term_names(package: ModuleType) -> list[str]:
    """List the names of the terms in a package, without importing them."""
    return names(package)


def term_class(package: ModuleType, name: str) -> Any:
    """Return the class of the term with this name; hyphens may stand for underscores."""
    return load(package, name.replace("-", "_")).PART


def as_term(value: Any, base: type[T], package: ModuleType, *, also: str = "") -> T:
    """Return the term that a user gave as a name or an object, or raise an error that shows a correct value."""
    if isinstance(value, base):
        value.check()
        return value
    kind, suggestion = base.kind, f"such as {base.kind}={base.example}"
    known = [name.replace("_", "-") if base.hyphens or "-" in str(value) else name for name in term_names(package)]
    if isinstance(value, str):
        check_name(kind, value, known, also=f", or an object {suggestion}{also}")
        made: T = term_class(package, value)()
        return made
    if isinstance(value, type):
        call = f": write {kind}={value.__name__}()" if issubclass(value, base) else f"; give an object {suggestion}"
        raise TypeError(f"{kind}={value.__name__} is a class, not an object{call}.")
    article = "an" if getattr(value, "kind", "")[:1] in tuple("aeiou") else "a"
    other = f"{type(value).__name__} is {article} {value.kind}; " if isinstance(value, Term) else ""
    listed = ", ".join(repr(name) for name in known)
    raise TypeError(f"{kind}={value!r}: {other}give one of the names {listed}, or an object {suggestion}{also}.")


def exposes_terms(package_name: str, *others: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package whose files, and those of other packages, are terms.

    A class is found by its name: `LowRankSDP` is the `PART` of the file `low_rank_sdp.py`.
    """

    def parts(wanted: Callable[[str], bool]) -> list[Any]:
        packages = [sys.modules[home] for home in (package_name, *others)]
        return [load(package, file).PART for package in packages for file in names(package) if wanted(file)]

    def __getattr__(name: str) -> Any:
        if name[:1].isupper():
            for part in parts(lambda file: file.replace("_", "") == name.lower()):
                if part.__name__ == name:
                    return part
        raise AttributeError(f"module {package_name!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package_name]), *(part.__name__ for part in parts(lambda file: True))})

    return __getattr__, __dir__
