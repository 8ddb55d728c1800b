"""Scores of two labelings, of labels on a structure, and of two kernels."""

from ._labels import check_values, node_labels
from .agreement import clustering_accuracy, clustering_distance, pair_f_score, purity_score
from .dependence import HSICTest, hsic, hsic_test
from .seriation import anti_robinson_deviation, anti_robinson_events, path_length
from .structured import level_accuracies, structured_accuracy, structured_loss

__all__ = [
    "HSICTest",
    "anti_robinson_deviation",
    "anti_robinson_events",
    "check_values",
    "clustering_accuracy",
    "clustering_distance",
    "hsic",
    "hsic_test",
    "level_accuracies",
    "node_labels",
    "pair_f_score",
    "path_length",
    "purity_score",
    "structured_accuracy",
    "structured_loss",
]
