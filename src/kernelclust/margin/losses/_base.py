"""The base class of all losses."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kernelclust._names import check_number
from kernelclust._terms import Term


class Loss(Term):
    """Base class of the losses: a file each, which ends in `PART = TheClass`. See `kernelclust.margin.losses`."""

    kind = "loss"
    example = "F(beta=1.5)"

    symmetric: ClassVar[bool] = True  # Delta(y', y) is Delta(y, y')
    only_diagonal: ClassVar[bool] = False  # names of clusters matter: joint is over cells (i, i), phi is linear

    def phi(self, counts: Any) -> np.ndarray:
        """Return a convex function of counts, entry by entry; sample weights make real numbers of them."""
        raise NotImplementedError

    def affine(self, own: Any, given: Any, n: float) -> tuple[Any, Any]:
        """Return base and rate, arrays of the shape of `own`, for n samples."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise an error for a parameter that makes no loss."""

    @property
    def name(self) -> str:
        """The name that users write: that of the file."""
        return type(self).__module__.rpartition(".")[2]


class BetaLoss(Loss):
    """A loss with a parameter beta: above 1, separating what belongs together costs more than joining what does not."""

    symmetric = False  # unless beta = 1

    def __init__(self, beta: float = 1.5):
        self.beta = beta

    def check(self) -> None:
        check_number("beta", self.beta)
