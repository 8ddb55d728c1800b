"""How good is a clustering: scores of two labellings, of labels in a structure, and of two kernels."""

from ._labels import check_values, node_labels
from .accuracy import clustering_accuracy, purity_score
from .dependence import HSICTest, hsic, hsic_test
from .distance import clustering_distance
from .information import normalized_mutual_info
from .pairs import pair_f_score, rand_index
from .structured import level_accuracies, structured_accuracy, structured_loss

__all__ = [
    "HSICTest",
    "check_values",
    "clustering_accuracy",
    "clustering_distance",
    "hsic",
    "hsic_test",
    "level_accuracies",
    "node_labels",
    "normalized_mutual_info",
    "pair_f_score",
    "purity_score",
    "rand_index",
    "structured_accuracy",
    "structured_loss",
]
