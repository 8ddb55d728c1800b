"""A loss of samples of given weights as a function of the table of two labelings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelclust._compiled import floats
from kernelclust.margin._weights import SampleWeights
from kernelclust.margin.losses import Loss

_NONE = np.empty(0)


@dataclass(frozen=True)
class TableLoss:
    """Delta between labelings of samples, from their table; cells of integers are counts, others weights."""

    part: Loss
    n: float  # copies in all
    phi: np.ndarray  # (ticks + 1,): phi of 0, 1, 2, ... ticks; a tick is a sample, a copy, or a small weight
    factor: float = 1.0  # copies in a weight of one
    _last: list = field(default_factory=lambda: [(-1, _NONE, _NONE)], repr=False, compare=False)  # asked for again

    @property
    def only_diagonal(self) -> bool:
        return self.part.only_diagonal

    @property
    def off(self) -> np.ndarray:
        """Phi of a cell off the diagonal."""
        return np.zeros_like(self.phi) if self.only_diagonal else self.phi

    def phi_at(self, cells: np.ndarray) -> np.ndarray:
        """Return phi of counts, looked up, or of weights."""
        if cells.dtype.kind in "iu":
            return self.phi[cells]
        return self.part.phi(np.maximum(cells, 0.0) * self.factor)  # rounding

    def affine(self, own: np.ndarray, given: Any) -> tuple[np.ndarray, np.ndarray]:
        own = np.asarray(own, dtype=float)
        base, rate = self.part.affine(own, given, self.n)
        if np.shape(base) == np.shape(rate) == own.shape:
            return base, rate
        return np.broadcast_to(base, own.shape), np.broadcast_to(rate, own.shape)

    def affine_of_sizes(self, upper: int, lower: int) -> tuple[np.ndarray, np.ndarray]:
        """Return base and rate for y of these two sizes and y' with p = 0, 1, 2, ... in the first, in ticks."""
        asked, base, rate = self._last[0]
        if asked != upper:
            own = self.phi + self.phi[::-1]
            base, rate = map(floats, self.affine(own, float(self.phi[upper] + self.phi[lower])))
            self._last[0] = upper, base, rate  # as a whole: threads share it
        return base, rate

    def of_tables(self, tables: np.ndarray) -> np.ndarray:  # (..., k, k), rows y' -> (...)
        """Return Delta of every table."""
        cells = self.phi_at(tables)
        joint = np.einsum("...ii->...", cells) if self.only_diagonal else cells.sum(axis=(-2, -1))
        own = self.phi_at(tables.sum(axis=-1)).sum(axis=-1)
        base, rate = self.affine(own, self.phi_at(tables.sum(axis=-2)).sum(axis=-1))
        return np.maximum(base - rate * joint, 0.0)  # rounding


def make_loss(loss: Loss, weights: SampleWeights | int) -> TableLoss:
    """Return the loss for samples of these weights, or in this number."""
    weights = weights if isinstance(weights, SampleWeights) else SampleWeights(weights)
    n = weights.ticks if weights.whole else weights.total * weights.factor
    ticks = np.arange(weights.ticks + 1) if weights.whole else np.linspace(0.0, n, weights.ticks + 1)
    made = TableLoss(loss, n, np.ascontiguousarray(loss.phi(ticks), dtype=float), weights.factor)
    _check_concave(made)
    return made


def _check_concave(loss: TableLoss) -> None:
    """Refuse a loss that is not concave in the table: the search would miss the most violated labeling."""
    phi = loss.phi
    if np.diff(phi, 2).min(initial=0.0) < -1e-9 * np.abs(phi).max():
        raise ValueError(f"loss={loss.part!r}: phi is not convex in the counts, so Delta is not concave in the table.")
    rates = loss.affine(phi + phi[::-1], float(phi[-1]))[1]
    if rates.min() < 0:
        raise ValueError(f"loss={loss.part!r}: affine gives a rate below 0, so Delta is not concave in the table.")
