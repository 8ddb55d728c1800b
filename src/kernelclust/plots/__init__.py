"""Pictures of an arrangement; matplotlib is imported only when one is drawn.

Functions draw on `ax`, or on a new figure, and return the Axes. Displays are the same in scikit-learn's manner: made by
`from_estimator` or `from_predictions`, they hold what they show, and `ax_` and `figure_`; `plot(ax)` draws again.
"""

from kernelclust.plots._displays import (
    ConfusionDisplay,
    EmbeddingDisplay,
    KernelWeightsDisplay,
    ProfileDisplay,
    SelectionDisplay,
    SilhouetteDisplay,
    SimilarityDisplay,
    StructureDisplay,
)
from kernelclust.plots._pictures import (
    have_matplotlib,
    neighbours,
    plot_embedding,
    plot_selection,
    plot_similarity,
    plot_structure,
    structure_colors,
)

__all__ = [
    "ConfusionDisplay",
    "EmbeddingDisplay",
    "KernelWeightsDisplay",
    "ProfileDisplay",
    "SelectionDisplay",
    "SilhouetteDisplay",
    "SimilarityDisplay",
    "StructureDisplay",
    "have_matplotlib",
    "neighbours",
    "plot_embedding",
    "plot_selection",
    "plot_similarity",
    "plot_structure",
    "structure_colors",
]
