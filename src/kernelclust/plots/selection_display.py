"""Evidence of a selection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelclust.plots._base import FAINT, INK, Display
from kernelclust.selection import Selection, select_n_clusters


@dataclass
class SelectionDisplay(Display):
    """Dependence that every candidate of a selection reaches, and the range that data without clusters reach.

    A dot above its bar says that there is more to see than in the reference data; the filled dot is the choice. Without
    references (`n_null=0`) the scores are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import select_n_clusters
    >>> from kernelclust.plots import SelectionDisplay
    >>> x = np.repeat([0.0, 1.0, 5.0], 8)[:, None] + 0.01 * np.arange(24)[:, None]
    >>> selection = select_n_clusters(x, [2, 3], n_null=4, n_perturbations=0, random_state=0)
    >>> SelectionDisplay.from_selection(selection).ax_.get_xlabel()
    'n_clusters'
    """

    selection: Selection

    @classmethod
    def example(cls):
        x = np.repeat([0.0, 1.0, 5.0], 8)[:, None] + 0.01 * np.arange(24)[:, None]
        return cls(select_n_clusters(x, [2, 3], kernel="linear", n_null=2, n_perturbations=0, random_state=0))

    @classmethod
    def from_selection(cls, selection, *, ax=None):
        """Draw what `select_n_clusters` or `select_structure` returned."""
        return cls(selection).plot(ax)

    def _draw(self, ax):
        selection, rows = self.selection, self.selection.rows
        where = np.arange(len(rows))
        low, high = (
            np.array([f(selection.null[row.name], initial=np.nan) for row in rows])
            for f in (np.fmin.reduce, np.fmax.reduce)
        )
        known = np.isfinite(low)
        value = np.array([row.dependence if known.any() else row.score for row in rows])
        ax.vlines(where[known], low[known], high[known], colors=FAINT, linewidth=9, label="without clusters")
        chosen = where == selection.best_index
        ax.plot(where, value, "o", color=INK, markerfacecolor="white", markersize=8, zorder=3)
        ax.plot(where[chosen], value[chosen], "o", color=INK, markersize=8, zorder=4, label="chosen")
        ax.set_xticks(where, [row.name for row in rows], rotation=0 if len(rows) > 5 else 15)
        ax.set(xlabel=selection.parameter, ylabel="dependence" if known.any() else "score")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)


PART = SelectionDisplay
