"""Evidence of a selection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np

from kernelclust.plots._base import FAINT, INK, Display
from kernelclust.selection import Selection, select_n_clusters


@dataclass
class SelectionDisplay(Display):
    """Evidence for every candidate of a selection, the choice filled.

    Structures: their probabilities, as bars. Numbers of clusters: the dependence that each reaches, and the range that
    data without clusters reach; a dot above its bar means that the data have more structure than the reference data.

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
    def example(cls) -> Self:
        x = np.repeat([0.0, 1.0, 5.0], 8)[:, None] + 0.01 * np.arange(24)[:, None]
        return cls(select_n_clusters(x, [2, 3], kernel="linear", n_null=2, n_perturbations=0, random_state=0))

    @classmethod
    def from_selection(cls, selection: Any, *, ax: Any = None) -> Self:
        """Draw what `select_n_clusters` or `select_structure` returned."""
        return cls(selection).plot(ax)

    def _draw(self, ax):
        if self.selection.parameter == "structure":
            self._draw_probabilities(ax)
        else:
            self._draw_numbers(ax)
        ax.spines[["top", "right"]].set_visible(False)

    def _draw_probabilities(self, ax):
        rows: Any = self.selection.rows
        where = np.arange(len(rows))[::-1]
        colors = [INK if i == self.selection.best_index else FAINT for i in range(len(rows))]
        ax.barh(where, [row.probability for row in rows], color=colors)
        for y, row in zip(where, rows, strict=True):
            ax.text(row.probability + 0.01, y, f"{row.probability:.2f}", va="center")
        ax.set_yticks(where, [row.name for row in rows])
        ax.set(xlabel="probability", ylabel="structure", xlim=(0, 1.1), xticks=np.linspace(0, 1, 6))

    def _draw_numbers(self, ax):
        selection, rows = self.selection, cast(Any, self.selection.rows)
        where = np.arange(len(rows))
        low, high = (
            np.array([f(selection.null[row.name], initial=np.nan) for row in rows])
            for f in (np.fmin.reduce, np.fmax.reduce)
        )
        value = np.array([row.dependence for row in rows])
        ax.vlines(where, low, high, colors=FAINT, linewidth=9, label="without clusters")
        chosen = where == selection.best_index
        ax.plot(where, value, "o", color=INK, markerfacecolor="white", markersize=8, zorder=3)
        ax.plot(where[chosen], value[chosen], "o", color=INK, markersize=8, zorder=4, label="chosen")
        ax.set_xticks(where, [row.name for row in rows], rotation=0 if len(rows) > 5 else 15)
        ax.set(xlabel=selection.parameter, ylabel="dependence")
        ax.legend(frameon=False)


PART = SelectionDisplay
