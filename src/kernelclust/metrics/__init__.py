"""How good is a clustering: scores of two labellings, of labels in a structure, and of two kernels."""

from ._labels import check_values, node_labels
from .agreement import clustering_accuracy, clustering_distance, pair_f_score, purity_score
from .dependence import HSICTest, hsic, hsic_test
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
    "pair_f_score",
    "purity_score",
    "structured_accuracy",
    "structured_loss",
]
