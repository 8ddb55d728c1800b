"""Known labels against clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kernelclust.plots._base import INK, Display, name_ticks, places_on, predicted
from kernelclust.structures import cluster_names


@dataclass
class ConfusionDisplay(Display):
    """Known labels (rows) against clusters (columns), in the order of the structure.

    Rows that are names or nodes of clusters are in the order of the clusters. Other classes are sorted by the clusters
    of their samples, so that a correct order shows as a diagonal.

    Examples
    --------
    >>> from kernelclust.plots import ConfusionDisplay
    >>> ConfusionDisplay.from_predictions(["b", "a", "a"], [0, 1, 1]).rows
    ['b', 'a']
    """

    table: NDArray  # (classes, c) counts
    rows: list[str]
    columns: list[str]

    @classmethod
    def example(cls) -> Self:
        return cls(np.array([[2, 0], [1, 3]]), ["a", "b"], ["0", "1"])

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw the labels that the model predicts for X, against y."""
        return cls.from_predictions(y, predicted(model, X), getattr(model, "structure_", None), ax=ax)

    @classmethod
    def from_predictions(cls, y_true: Any, labels: Any, structure: Any = None, *, ax: Any = None) -> Self:
        """Draw known labels against nodes; -1, None and '' are left out."""
        cluster = np.asarray(labels)
        structure, c = places_on(structure, cluster)
        if len(y_true) != len(cluster):
            raise ValueError(
                f"y_true has {len(y_true)} entries, but there are {len(cluster)} labels; give one for each."
            )
        columns = cluster_names(structure, c).tolist()
        true = [_text(one, columns) for one in np.asarray(y_true, dtype=object)]
        found = sorted({one for one in true if one})
        order = {one: k for k, one in enumerate(columns if set(found) <= set(columns) else found)}
        table = np.zeros((len(order), c), dtype=int)
        for one, label in zip(true, cluster, strict=True):
            if one:
                table[order[one], label] += 1
        rows = list(order)
        if rows != columns:
            by_place = np.argsort(table @ np.arange(c) / np.maximum(table.sum(axis=1), 1), kind="stable")
            table, rows = table[by_place], [rows[k] for k in by_place]
        return cls(table, rows, columns).plot(ax)

    def _draw(self, ax):
        share = self.table / np.maximum(self.table.sum(axis=1, keepdims=True), 1)
        ax.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        if self.table.size <= 400:
            for (i, j), number in np.ndenumerate(self.table):
                ink = "white" if share[i, j] > 0.6 else INK
                ax.text(j, i, str(number) if number else "", ha="center", va="center", color=ink, fontsize=8)
        name_ticks(ax, self.columns, self.rows)
        ax.set(xlabel="cluster", ylabel="known label", title="known labels and clusters")


def _text(value: Any, columns: list[str]) -> str:
    """Return a known label as text: a name, the name of a place, or a class; '' where it is not known."""
    if isinstance(value, str):
        return "" if value == "-1" and value not in columns else value
    if value is None or value != value:
        return ""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return "" if value == -1 else columns[value] if 0 <= value < len(columns) else str(value)
    return str(value)


PART = ConfusionDisplay
