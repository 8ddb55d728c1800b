"""The base of all displays, and what they share: axes, names of clusters, checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelclust.structures import Structure, as_structure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FAINT = "#30343b", "#b9bec7"
INSIDE, OUTLINE = "#fdfdfd", "#2b2f36"  # of texts on colours, which a dark page does not exchange
BEHIND = {"facecolor": "white", "alpha": 0.6, "linewidth": 0, "pad": 0.5}  # box of a text over lines


class Display(ABC):
    """A picture in scikit-learn's manner: a dataclass of what is shown, checked when it is made, drawn by `plot`.

    A subclass has `_draw`, `example`, and class methods that make one and draw it: `from_estimator(model, [X, y], *,
    ax=None)`, `from_predictions(..., *, ax=None)`, or another `from_*` for other sources. It is the `PART` of a file
    `<name>_display.py` of this folder, by which it is found.
    """

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw on the given Axes."""

    @classmethod
    @abstractmethod
    def example(cls) -> Self:
        """Return a small one that is not drawn yet, for the contract tests."""

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on a new figure, and set `ax_` and `figure_`."""
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self


def have_matplotlib() -> bool:
    """Return whether pictures can be drawn here; imports nothing."""
    return find_spec("matplotlib") is not None


def new_axes() -> Axes:
    """Return the Axes of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install matplotlib.") from error
    return plt.subplots(figsize=(5, 5), layout="constrained")[1]


def structure_of(given: Any) -> Structure:
    """Return the structure of a fitted model, or the structure itself."""
    if hasattr(given, "structure_"):
        return given.structure_
    if not hasattr(given, "get_params"):
        return as_structure(given)
    check_is_fitted(given, msg="this %(name)s is not fitted yet: call fit first, or give its structure.")
    raise TypeError(
        f"{type(given).__name__} has no structure to draw its clusters on; give one, and their sizes: "
        "StructureDisplay('flat:8', sizes=np.bincount(labels)).plot()."
    )


def places_on(structure: Any, cluster: NDArray[Any]) -> tuple[Structure | None, int]:
    """Return the structure and the number of clusters, for labels that are nodes of the structure."""
    if not len(cluster) or not np.issubdtype(cluster.dtype, np.integer) or cluster.min() < 0:
        raise ValueError("labels must be integers of 0 or more, one for each sample.")
    most = int(cluster.max()) + 1
    structure = None if structure is None else structure_of(structure)
    if structure is not None and most > structure.n_clusters:
        raise ValueError(f"labels go up to {most - 1}, but '{structure}' has nodes 0 to {structure.n_clusters - 1}.")
    return structure, most if structure is None else structure.n_clusters


def title_of(structure: Structure) -> str:
    """Return the text of the structure, unless names make that long: these are in the picture."""
    kind = type(structure).__name__.lower()
    if kind == "custom":
        return f"graph of {structure.n_clusters}"
    return str(structure) if structure.names is None else f"{kind} of {structure.n_clusters}"


def name_ticks(ax: Axes, across: Sequence[str], down: Sequence[str]) -> None:
    """Write names along both axes of an image; of many numbers every few."""
    for names, axis in ((across, ax.xaxis), (down, ax.yaxis)):
        numbers = all(name.isdigit() for name in names)
        step = max(1, len(names) // 12) if numbers or len(names) > 60 else 1
        turned = axis is ax.xaxis and max(map(len, names)) > 3
        shown = range(0, len(names), step)
        axis.set_ticks(shown, [names[j] for j in shown], rotation=90 if turned else 0)
        axis.set_tick_params(length=0, labelsize=9 if len(names) <= 20 else 7)


def predicted(model: Any, X: Any) -> NDArray:
    """Return labels of X; those of the fit, where X has as many samples and the model cannot predict."""
    check_is_fitted(model)
    if hasattr(model, "predict"):
        return np.asarray(model.predict(X))
    if len(X) != len(model.labels_):
        raise ValueError(
            f"{type(model).__name__} cannot assign new samples; give the {len(model.labels_)} fitted ones."
        )
    return np.asarray(model.labels_)


def outlined(size: int) -> dict[str, Any]:
    """Return options of a bold white text with a dark outline, readable on any colour and on pages of any colour."""
    from matplotlib.patheffects import withStroke

    effects = [withStroke(linewidth=1.5, foreground=OUTLINE)]
    return {"color": INSIDE, "fontsize": size, "fontweight": "bold", "path_effects": effects}
