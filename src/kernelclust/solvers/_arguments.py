"""An objective, and blocks with what is known about them, as the compiled loops take them: always of the same types."""

from __future__ import annotations

import numpy as np

from kernelclust.objectives import Dependence
from kernelclust.objectives.dependence import POWER
from kernelclust.solvers._constraints import Constraints
from kernelclust.solvers._loops import Blocks, Form
from kernelclust.solvers._members import Members


def form_of(objective: Dependence, total: float) -> Form:
    """The objective; `total` is the weight of all samples."""
    A = _floats(objective.A)
    off_diagonal = (A != 0) & ~np.eye(len(A), dtype=bool)
    return Form(
        A=A,
        T=_floats(objective.T),
        first=np.concatenate([[0], np.cumsum(off_diagonal.sum(axis=1))]),
        neighbour=np.nonzero(off_diagonal)[1],
        power=POWER[objective.normalize],
        added=float(objective.added_size(total)),
        coef=float(objective.coef),
        penalty=float(objective.penalty),
        has_loss=objective.has_loss,
    )


def blocks_of(
    weight: np.ndarray, members: Members, own: np.ndarray, known: Constraints | None, n_clusters: int, allow_empty: bool
) -> Blocks:
    """The blocks of samples of these weights; `own` are similarities of their means with themselves."""
    nowhere = np.empty(0, dtype=np.intp)
    link_first, link = (nowhere, nowhere) if known is None else known.linked
    return Blocks(
        first=members.first,
        member=members.member,
        share=members.share,
        weight=_floats(weight if known is None else known.weight),
        own=_floats(own),
        known=known is not None,
        place=nowhere if known is None else np.ascontiguousarray(known.place, dtype=np.intp),
        link_first=link_first,
        link=link,
        pull=np.empty((0, 0)) if known is None else _floats(known.pull),
        lower=np.zeros(n_clusters) if known is None else _floats(known.lower),
        upper=np.full(n_clusters, np.inf) if known is None else _floats(known.upper),
        slack=0.0 if known is None else float(known.slack),
        allow_empty=bool(allow_empty),
    )


def _floats(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.float64)
