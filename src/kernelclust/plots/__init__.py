"""Pictures of an arrangement; matplotlib is imported only when one is drawn.

Displays are in scikit-learn's manner: made by `from_estimator` or `from_predictions`, they hold what they show, and
`ax_` and `figure_`; `plot(ax)` draws again. A display is one file of this folder.
"""

from kernelclust._terms import exposes_terms
from kernelclust.plots._base import Display, have_matplotlib
from kernelclust.plots._colors import neighbours, structure_colors
from kernelclust.plots.profile_display import column_profile, differing_columns
from kernelclust.plots.silhouette_display import silhouettes

__all__ = [
    "Display",
    "column_profile",
    "differing_columns",
    "have_matplotlib",
    "neighbours",
    "silhouettes",
    "structure_colors",
]

__getattr__, __dir__ = exposes_terms(__name__)
