"""An objective, and blocks with what is known about them, as the compiled loops take them: always of the same types."""

from __future__ import annotations

import numpy as np

from kernelclust._compiled import floats, integers
from kernelclust.objectives import Dependence
from kernelclust.objectives.dependence import POWER
from kernelclust.solvers._constraints import Constraints
from kernelclust.solvers._loops import Blocks, Form, Known, Loss


def form_of(objective: Dependence, total: float) -> tuple[Form, Loss | None]:
    """The objective; `total` is the weight of all samples."""
    near, neighbour = objective.neighbours
    form = Form(
        A=floats(objective.A),
        near=integers(near),
        neighbour=integers(neighbour),
        power=POWER[objective.normalize],
        added=float(objective.added_size(total)),
        coef=float(objective.coef),
    )
    return form, Loss(floats(objective.T), float(objective.penalty)) if objective.has_loss else None


def blocks_of(weight: np.ndarray, own: np.ndarray, allow_empty: bool) -> Blocks:
    """Blocks of these weights; `own` are similarities of their means with themselves."""
    return Blocks(floats(weight), floats(own), bool(allow_empty))


def known_of(constraints: Constraints) -> Known:
    first, link = constraints.linked
    mean = constraints.mean
    return Known(
        first=integers(mean.indptr),
        member=integers(mean.indices),
        share=floats(mean.data),
        place=integers(constraints.place),
        link_first=integers(first),
        link=integers(link),
        pull=floats(constraints.pull),
        lower=floats(constraints.lower),
        upper=floats(constraints.upper),
        slack=float(constraints.slack),
    )
