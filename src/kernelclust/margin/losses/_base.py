"""The base classes of all losses: of any, of pairs of samples, of information, and with a parameter beta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy

from kernelclust._names import check_number
from kernelclust._terms import Term


class Loss(Term):
    """Base class of the losses. Each has a file of its own, which ends in `PART = TheClass`."""

    kind = "loss"
    example = "F(beta=1.5)"

    symmetric: ClassVar[bool] = True  # Delta(y', y) is Delta(y, y')
    only_diagonal: ClassVar[bool] = False  # names of clusters matter: joint is over cells (i, i), phi is linear

    def phi(self, counts: Any) -> np.ndarray:
        """Return a convex function of counts, entry by entry; with sample weights they are real numbers."""
        raise NotImplementedError

    def affine(self, own: Any, given: Any, n: float) -> tuple[Any, Any]:
        """Return base and rate, arrays of the shape of `own`, for n samples."""
        raise NotImplementedError


class PairLoss(Loss):
    """A loss of pairs of samples, which sums of squares count."""

    def phi(self, counts: Any) -> np.ndarray:
        return np.square(np.asarray(counts, dtype=float))

    @staticmethod
    def pairs(sums: Any, n: float) -> np.ndarray:
        """Return the number of pairs of samples in one cluster, for this sum of squared sizes."""
        return (np.asarray(sums) - n) / 2


class InformationLoss(Loss):
    """1 - I / mean(H, H'): mutual information in units of a mean of both entropies, from sums of x log x."""

    def phi(self, counts: Any) -> np.ndarray:
        return xlogy(counts, counts)

    def mean(self, H: np.ndarray, H_given: np.ndarray) -> np.ndarray:
        """Return the mean of both entropies."""
        raise NotImplementedError

    def affine(self, own: Any, given: Any, n: float) -> tuple[np.ndarray, np.ndarray]:
        H, H_given = self._entropy(own, n), self._entropy(given, n)
        mean = self.mean(H, H_given)
        trivial = mean == 0
        safe = np.where(trivial, 1.0, mean)
        base = np.where(trivial, (H != H_given).astype(float), 1 - (H + H_given - np.log(n)) / safe)
        return base, np.where(trivial, 0.0, 1 / (n * safe))

    @staticmethod
    def _entropy(sums: Any, n: float) -> np.ndarray:
        """Return the entropy of a labeling with this sum of x log x over its sizes; exactly 0 for one cluster."""
        H = np.log(n) - np.asarray(sums) / n
        return np.where(H > 1e-12 * max(np.log(n), 1.0), H, 0.0)


@dataclass(eq=False, repr=False)
class BetaLoss(Loss):
    """A loss with a parameter beta: above 1, wrongly separated pairs cost more than wrongly joined ones."""

    symmetric = False  # unless beta = 1
    beta: float = 1.5

    def check(self) -> None:
        check_number("beta", self.beta)
