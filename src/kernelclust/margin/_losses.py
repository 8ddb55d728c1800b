"""A loss for samples in number n and k clusters: its name or object turned into sums and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import kernelclust.margin.losses as package
from kernelclust._names import check_name, check_number, load, names

NEEDED = ("PARAMETERS", "phi", "affine")


def loss_names() -> list[str]:
    return names(package)


@dataclass(frozen=True)
class TableLoss:
    """Delta between labelings of n samples, from their table."""

    part: Any
    params: dict[str, float]
    n: int
    phi: np.ndarray  # (n + 1,): phi(0), phi(1), ..., phi(n)

    @property
    def only_diagonal(self) -> bool:
        return bool(getattr(self.part, "ONLY_DIAGONAL", False))

    @property
    def off(self) -> np.ndarray:
        """phi of a cell off the diagonal."""
        return np.zeros_like(self.phi) if self.only_diagonal else self.phi

    def affine(self, own: np.ndarray, given: float) -> tuple[np.ndarray, np.ndarray]:
        own = np.asarray(own, dtype=float)
        base, rate = self.part.affine(own, given, self.n, **self.params)
        return np.broadcast_to(base, own.shape), np.broadcast_to(rate, own.shape)

    def of_tables(self, tables: np.ndarray) -> np.ndarray:  # (..., k, k) whole numbers, rows y' -> (...)
        """Delta of every table."""
        cells = self.phi[tables]
        joint = np.einsum("...ii->...", cells) if self.only_diagonal else cells.sum(axis=(-2, -1))
        own, given = self.phi[tables.sum(axis=-1)].sum(axis=-1), self.phi[tables.sum(axis=-2)].sum(axis=-1)
        base, rate = self.affine(own, given)
        return np.maximum(base - rate * joint, 0.0)  # rounding


def make_loss(loss: Any, n: int, beta: float) -> TableLoss:
    """The loss of this name, or of this object with the attributes that `kernelclust.margin.losses` describes."""
    part = _part(loss)
    given = {"beta": beta}
    unknown = [name for name in part.PARAMETERS if name not in given]
    if unknown:
        raise ValueError(f"the loss asks for the parameter {unknown[0]!r}; known: {', '.join(map(repr, given))}.")
    params = {name: float(given[name]) for name in part.PARAMETERS}
    made = TableLoss(part, params, n, np.ascontiguousarray(part.phi(np.arange(n + 1)), dtype=float))
    if part is loss:
        _check_concave(made)
    return made


def _check_concave(loss: TableLoss) -> None:
    """Refuse somebody's own loss that is not concave in the table: the search would miss the most violated labeling."""
    phi = loss.phi
    if np.diff(phi, 2).min(initial=0.0) < -1e-9 * np.abs(phi).max():
        raise ValueError(f"loss={loss.part!r}: phi is not convex in the counts, so Delta is not concave in the table.")
    rates = loss.affine(phi + phi[::-1], float(phi[loss.n]))[1]
    if rates.min() < 0:
        raise ValueError(f"loss={loss.part!r}: affine gives a rate below 0, so Delta is not concave in the table.")


def check_loss(loss: Any, beta: object) -> None:
    """Raise an error for an unknown loss or a negative beta."""
    _part(loss)
    check_number("beta", beta)


def _part(loss: Any) -> Any:
    if loss is None or isinstance(loss, str):
        check_name("loss", loss, loss_names(), also=", or an object as kernelclust.margin.losses describes it")
        return load(package, str(loss))
    missing = [name for name in NEEDED if not hasattr(loss, name)]
    if missing:
        raise TypeError(
            f"loss={loss!r} has no {', '.join(missing)}: give a name ({', '.join(map(repr, loss_names()))}) or an "
            "object with PARAMETERS, phi and affine, as kernelclust.margin.losses describes it."
        )
    return loss
