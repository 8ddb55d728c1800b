"""Save fitted estimators, and check those that were loaded."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernelclust._model_files import save_model
from kernelclust.solvers import PlacementProblem
from kernelclust.structures import Structure, as_structure, is_graph


class Saving:
    """Add `save` to an estimator; `kernelclust.load` reads what it wrote."""

    def save(self, path, extra=None) -> None:
        """Write the fitted model to one file, which `kernelclust.load` reads; no pickle, nothing that is run.

        The file is written aside and renamed: it is whole, or the old one is still there. All methods and attributes
        of the model that is loaded give the same bits. Functions (a kernel of your own) are refused; a networkx graph
        is kept as the structure made of it.

        Parameters
        ----------
        path : str or path
        extra : dict, optional
            Whatever JSON can hold, kept beside the model for `kernelclust.load_extra`: names of columns, units.
        """
        check_is_fitted(self)
        model: Any = copy(self)
        if is_graph(getattr(self, "structure", None)):
            model.structure = as_structure(model.structure)
        save_model(path, model, extra)

    def _check_loaded(self) -> None:
        """Refuse attributes that contradict each other, as no fit leaves them."""
        check_is_fitted(self)
        structure = getattr(self, "structure_", None)
        if not (structure is None or isinstance(structure, Structure)):
            raise ValueError("structure_ is no structure.")
        c = structure.n_clusters if structure is not None else int(self.n_clusters)  # type: ignore[attr-defined]
        _check_lengths(self, ("sizes_", "medoids_"), c)
        _check_lengths(self, ("labels_", "position_", "_asked"), len(self.labels_))  # type: ignore[attr-defined]
        _check_range("labels_", self.labels_, 0, c)  # type: ignore[attr-defined]
        _check_range("medoids_", getattr(self, "medoids_", np.zeros(0, int)), -1, len(self.labels_))  # type: ignore[attr-defined]
        placing = getattr(self, "_placing", None)
        if placing is not None and not (isinstance(placing, PlacementProblem) and len(placing.n) == c):
            raise ValueError(f"its arrangements are not of {c} clusters.")


def _check_lengths(model: Any, names: tuple[str, ...], length: int) -> None:
    for name in names:
        value = getattr(model, name, None)
        if value is not None and (not isinstance(value, np.ndarray) or value.shape[:1] != (length,)):
            raise ValueError(f"{name} has shape {np.shape(value)}, but must have {length} rows.")


def _check_range(name: str, values: np.ndarray, low: int, end: int) -> None:
    whole = values.dtype.kind in "iu" and values.ndim == 1
    if not whole or values.min(initial=low) < low or values.max(initial=low) >= end:
        raise ValueError(f"{name} must be whole numbers from {low} to {end - 1}.")
