"""The result of a selection: a table with a row per candidate, the choice, and the fitted model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Row:
    """One candidate; what cannot be said is not a number."""

    name: str
    score: float
    """What candidates are compared by, see the function that made the table; larger is better."""
    dependence: float
    """Dependence between data and labels."""
    null_mean: float
    """Mean dependence over reference data without clusters, which are clustered in the same way."""
    null_sd: float
    """Standard deviation of the dependence over reference data."""
    p_value: float
    """Fraction of the reference data, the data itself included, with at least this dependence."""
    moved: float
    """How far noise moved the labels (on a structure, their nodes): 0 not at all, 1 as far as possible."""
    smallest: float
    """Size of the smallest cluster over the mean size."""


@dataclass(frozen=True)
class StructureRow:
    """One structure, with its probability and the best arrangement of its family."""

    name: str
    probability: float
    """Probability of the structure over the clusters; with all families as candidates they sum to one."""
    arrangement: str
    """Best arrangement of the family: numbers of the clusters as in the table of `best_estimator_`."""


@dataclass(frozen=True)
class Selection:
    """Outcome of `select_n_clusters` or `select_structure`.

    Print it for a table; `kernelclust.plots.SelectionDisplay` draws it. A row is a candidate; columns that are empty
    for all candidates are left out. Structures have their probability and the best arrangement of their family. Numbers
    of clusters have

    - score: the criterion, larger is better: dependence - null mean, the gap statistic in feature space.
    - dependence: between data and labels, log(tr K / (tr K - D)), so that 0.69 means that clusters explain half of the
      kernel's trace.
    - null mean, null sd: mean and standard deviation of dependence over reference data without clusters, which are
      clustered in the same way.
    - p value: (1 + number of references with at least this dependence) / (1 + number of references).
    - moved: how far noise moves labels, 0 to 1, mean over noisy copies: 1 - alignment of the two arrangements.
    - smallest: size of the smallest cluster over the mean size.
    """

    parameter: str
    """What was chosen: "n_clusters" or "structure"."""
    best: Any
    """The chosen candidate, as it was given."""
    best_estimator_: Any
    """The model fitted with it."""
    rows: tuple[Row | StructureRow, ...]
    """One row for each candidate, in the order given."""
    candidates: tuple[Any, ...]
    """The candidates, in the order given."""
    reason: str
    """Reasons for the choice, and reasons to doubt it."""
    null: dict[str, np.ndarray] = field(repr=False, default_factory=dict)
    """Dependence on every set of reference data, by candidate."""

    @property
    def labels_(self) -> np.ndarray:
        """Labels of the chosen model."""
        return self.best_estimator_.labels_

    @property
    def best_index(self) -> int:
        """Position of the chosen candidate."""
        return next(i for i, candidate in enumerate(self.candidates) if candidate is self.best)

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, indexed by candidate."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas; `rows` holds the same numbers.") from error
        return pd.DataFrame([asdict(row) for row in self.rows]).set_index("name")

    def __str__(self) -> str:
        cells = [self._header(), *self._cells()]
        widths = [max(len(line[j]) for line in cells) for j in range(len(cells[0]))]
        lines = [
            "  ".join(
                cell.ljust(w) if j <= 1 or cells[0][j] == "arrangement" else cell.rjust(w)
                for j, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in cells
        ]
        return "\n".join(line.rstrip() for line in [*lines, self.reason])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self._header())
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in self._cells()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(self.reason)}</p>"

    def _header(self) -> list[str]:
        return ["", self.parameter, *(name.replace("_", " ") for name in self._shown())]

    def _shown(self) -> list[str]:
        """Columns that say something about at least one candidate."""
        names = [name for name in self.rows[0].__dataclass_fields__ if name != "name"]
        return [name for name in names if any(_short(getattr(row, name)) for row in self.rows)]

    def _cells(self) -> list[list[str]]:
        mark = self.best_index
        return [
            ["*" if i == mark else " ", row.name, *(_short(getattr(row, name)) for name in self._shown())]
            for i, row in enumerate(self.rows)
        ]


def _short(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return "" if np.isnan(value) else f"{value:.3g}"
