"""Max-margin clustering with multivariate losses: the exact search, the losses (a file each) and the cutting planes.

For users: `CuttingPlane` and the losses (`NMI`, `F`, ...); `most_violated`, the search by itself; `loss_names`, and
`kernelclust.margin.losses` for how to bring a loss of your own. For the estimator: `as_loss`, `as_solver`, `embed`,
`labels_of`, `Problem`, `solve`, `solve_blocks` and `zero_solution`.
"""

import sys

from kernelclust._terms import as_term, exposes_terms
from kernelclust.margin._embedding import Embedding, embed
from kernelclust.margin._fit import Hyperplanes, Problem, labels_of, solve, solve_blocks, zero_solution
from kernelclust.margin._search import most_violated
from kernelclust.margin.cutting_plane import CuttingPlane
from kernelclust.margin.losses import Loss, as_loss, loss_names

__all__ = [
    "CuttingPlane",
    "Embedding",
    "Hyperplanes",
    "Loss",
    "Problem",
    "as_loss",
    "as_solver",
    "embed",
    "labels_of",
    "loss_names",
    "most_violated",
    "solve",
    "solve_blocks",
    "zero_solution",
]


def as_solver(value: object) -> CuttingPlane:
    """Return the solver that a user gave as a name or an object, its parameters checked."""
    return as_term(value, CuttingPlane, sys.modules[__name__])


__getattr__, __dir__ = exposes_terms(__name__, f"{__name__}.losses")
