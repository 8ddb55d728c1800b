"""Max-margin clustering with multivariate losses: the exact search, the losses (a file each) and the cutting planes.

For users: `most_violated`, the search by itself; `loss_names`, and `kernelclust.margin.losses` for how to bring a loss
of your own. For the estimator: `check_loss`, `embed`, `Problem`, `solve`, `solve_blocks` and `stay`.
"""

from kernelclust.margin._embedding import Embedding, embed
from kernelclust.margin._fit import Hyperplanes, Problem, solve, solve_blocks, stay
from kernelclust.margin._losses import check_loss, loss_names
from kernelclust.margin._search import most_violated

__all__ = [
    "Embedding",
    "Hyperplanes",
    "Problem",
    "check_loss",
    "embed",
    "loss_names",
    "most_violated",
    "solve",
    "solve_blocks",
    "stay",
]
