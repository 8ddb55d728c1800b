"""Losses between two labelings: a class and a file each, found by its name.

A loss is a function of the contingency table N (k x k) of two labelings of n samples, with rows y' and columns y. With
sums of one convex function over the cells and over the sizes of the clusters,

    joint = sum_ij phi(N_ij),   own = sum_i phi(n'_i),   given = sum_j phi(n_j),

it is   Delta(y', y) = base(own, given) - rate(own, given) joint,   rate >= 0.

With the sizes fixed, Delta is then concave in the table, which is the only requirement of the fast exact search for the
most violated labeling. A loss of your own is an object of a class derived from `Loss`, which implements `phi` and
`affine`.
"""

import sys

from kernelclust._terms import as_term, exposes_terms, term_names
from kernelclust.margin.losses._base import Loss

__all__ = ["Loss", "as_loss", "loss_names"]


def loss_names() -> list[str]:
    """List the names of the losses."""
    return term_names(sys.modules[__name__])


def as_loss(value: object) -> Loss:
    """Return the loss that a user gave as a name or an object, its parameters checked."""
    return as_term(value, Loss, sys.modules[__name__])


__getattr__, __dir__ = exposes_terms(__name__)
