"""Max-margin clustering with multivariate losses: the exact search, the losses (a file each) and the cutting planes."""

from kernelclust.margin._embedding import embed
from kernelclust.margin._features import Features, make_features
from kernelclust.margin._losses import TableLoss, check_loss, loss_names, make_loss
from kernelclust.margin._search import most_violated
from kernelclust.margin.cutting_plane import MarginFit, Options
from kernelclust.margin.solve import natural_C, solve_many, solve_two, trivial_slack

__all__ = [
    "Features",
    "MarginFit",
    "Options",
    "TableLoss",
    "check_loss",
    "embed",
    "loss_names",
    "make_features",
    "make_loss",
    "most_violated",
    "natural_C",
    "solve_many",
    "solve_two",
    "trivial_slack",
]
