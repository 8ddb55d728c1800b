"""Greedy ascent: point moves to convergence, alternated with placement where one is given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelclust._compiled import floats, integers
from kernelclust._progress import set_step
from kernelclust._solution import Solution
from kernelclust.constraints import Constraints, count_blocked
from kernelclust.kernels import KernelOperator
from kernelclust.objectives import POWER, ClusterObjective
from kernelclust.solvers._exchange import Exchanges
from kernelclust.solvers._loops import SCRATCH, Blocks, Form, Known, Loss, State
from kernelclust.solvers._running import Members, running_sums

REBUILD_SWEEPS = 10  # sweeps after which running sums are computed afresh, so that rounding cannot add up
MIN_UNEVEN_RATIO = 1e3  # of weights, from which this is done after every sweep: heavy samples leave rounding behind

NO_LINKS = np.empty((0, 0), dtype=np.int32)

Placement = Callable[..., np.ndarray]  # (S, n), and what is known about places -> node of each cluster


def climb(
    kernel: KernelOperator,
    objective: ClusterObjective,
    labels: np.ndarray,
    *,
    placement: Placement | None = None,
    warm_start_sums: np.ndarray | None = None,
    constraints: Constraints | None = None,
    max_iter: int = 100,
    tol: float = 1e-10,
    allow_empty: bool = False,
) -> Solution:
    """Raise F from a labeling by moving single samples, and whole clusters where a placement is given.

    A sweep visits every sample once and moves it where F rises most, if it rises by more than `tol` times the sum
    of the absolute terms of F. A placement is taken when it raises F. Stops when neither moves anything.
    `warm_start_sums` are the sums of an earlier climb that ended at these labels; they are used up. With `constraints`,
    which the labels must keep, blocks move instead of samples and are exchanged where links or sizes stand in the way;
    what soft labels add counts as part of F.
    """
    labels = np.array(labels, dtype=np.intp)
    task = _Task(kernel, objective, labels, warm_start_sums, constraints, tol, allow_empty)
    sums = task.sums
    S, n = sums.cluster_sums(labels), task.sizes(labels)
    F, scale = task.value(S, n, labels)
    history = [F]
    stopped_because = "max_iter"
    spare = task.uneven and not kernel.cheap  # where a pass is dear, one for all, before it is said that nothing moves
    n_iter = 0
    while n_iter < max_iter:
        raised = task.sweep(labels, S, n, F, scale, n_iter)
        n_iter += 1
        set_step("searching: F = {:.6g} after {} sweeps of a start", F if raised is None else raised[3], n_iter)
        if raised is not None:
            labels, S, n, F, scale = raised
            history.append(F)
            continue
        if spare and len(history) > 1:
            spare, sums.sums = False, sums.rebuilt(labels, len(n))
            S = sums.cluster_sums(labels)
            continue
        if placement is not None:
            node = placement(S, n) if constraints is None else placement(S, n, **constraints.placing(labels))
            order = np.argsort(node)
            placed = task.value(S[np.ix_(order, order)], n[order], node[labels])
            if placed[0] > F + task.tol * scale:
                labels, S, n, (F, scale) = node[labels], S[np.ix_(order, order)], n[order], placed
                sums.sums = np.ascontiguousarray(sums.sums[order])
                history.append(F)
                continue
        stopped_because = "converged"
        break
    return Solution(labels, F, S, n_iter, stopped_because, history, warm_start_sums=sums.sums)


class _Task:
    """Input of a climb: samples, or blocks of constrained samples, with current sums."""

    def __init__(
        self,
        kernel: KernelOperator,
        objective: ClusterObjective,
        labels: np.ndarray,
        warm_start_sums: np.ndarray | None,
        constraints: Constraints | None,
        tol: float,
        allow_empty: bool,
    ):
        self.kernel, self.objective, self.constraints, self.tol = kernel, objective, constraints, float(tol)
        self.uneven = kernel.weight.max() >= MIN_UNEVEN_RATIO * kernel.weight.min()
        self.form, self.loss = compiled_form(objective, float(kernel.weight.sum()))
        members = Members(kernel.n_samples, None if constraints is None else constraints.mean)
        self.sums = running_sums(kernel, members, labels, objective.n_clusters, warm_start_sums)
        weight = kernel.weight if constraints is None else constraints.weight
        self.blocks = Blocks(floats(weight), floats(self.sums.own()), bool(allow_empty))
        self.known = None if constraints is None else _known(constraints)

    def sizes(self, labels: np.ndarray) -> np.ndarray:
        return np.bincount(labels, self.kernel.weight, minlength=self.objective.n_clusters)

    def value(self, S: np.ndarray, n: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
        """Return F with what soft labels add to it, and the sum of the absolute terms of F."""
        value, terms = self.objective.value_and_terms(S, n)
        return value + (0.0 if self.constraints is None else self.constraints.gain(labels)), float(np.abs(terms).sum())

    def sweep(
        self, labels: np.ndarray, S: np.ndarray, n: np.ndarray, F: float, scale: float, n_iter: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float] | None:
        """Return labels, S, n, F and its scale after a sweep that raised F; None after one that did not."""
        sums, c = self.sums, len(n)
        before = sums.sums.copy()
        labels, moves = self._sweep(labels, S, n, self.tol * scale)
        if self.kernel.cheap and (n_iter + 1) % (1 if self.uneven else REBUILD_SWEEPS) == 0:
            sums.sums = sums.rebuilt(labels, c)
        if not moves:
            return None
        S, n = sums.cluster_sums(labels), self.sizes(labels)
        raised, scale = self.value(S, n, labels)
        if raised <= F:  # gains were made of rounding
            sums.sums = before
            return None
        return labels, S, n, raised, scale

    def _state(self, label: np.ndarray, S: np.ndarray, n: np.ndarray) -> State:
        objective, known, T = self.objective, self.constraints, self.objective.T
        counts = np.bincount(label, minlength=len(n))
        blocked = NO_LINKS if known is None else count_blocked(label, *known.linked, len(n))
        inner = np.array(T.T @ S @ T if objective.has_loss else S, order="C")
        scratch = np.zeros((SCRATCH, len(n)))
        return State(label, counts, n.copy(), objective.inverse_norms(n), inner, blocked, scratch)

    def _sweep(self, labels: np.ndarray, S: np.ndarray, n: np.ndarray, threshold: float) -> tuple[np.ndarray, int]:
        """Return labels after a visit to every block or, where none moves, after exchanges; and how many moved."""
        known = self.constraints
        label = labels.copy() if known is None else known.of_blocks(labels).astype(np.intp, copy=False)
        state = self._state(label, S, n)
        moves = self.sums.sweep(self.blocks, self.known, state, self.form, self.loss, threshold)
        if known is None or self.known is None:
            return label, moves
        if not moves:
            state = state._replace(n=n.copy(), S=S.copy())
            exchanges = Exchanges(self.sums, known, self.blocks, self.known, self.form, self.loss)
            moves = exchanges.make(state, self.objective, threshold)
        return label[known.block], moves


def compiled_form(objective: ClusterObjective, total: float) -> tuple[Form, Loss | None]:
    """Return the objective as compiled loops take it; `total` is the weight of all samples."""
    near, neighbour = objective.neighbours
    form = Form(
        A=floats(objective.A),
        near=integers(near),
        neighbour=integers(neighbour),
        power=POWER[objective.normalize],
        added=float(objective.added_size(total)),
        coef=float(objective.coef),
    )
    return form, _loss(objective) if objective.has_loss else None


def _loss(objective: ClusterObjective) -> Loss:
    return Loss(floats(objective.T), floats(objective.charges), objective.charge_power, float(objective.penalty))


def _known(constraints: Constraints) -> Known:
    first, link = constraints.linked
    mean = constraints.mean
    return Known(
        first=integers(mean.indptr),
        member=integers(mean.indices),
        share=floats(mean.data),
        place=integers(constraints.place),
        link_first=integers(first),
        link=integers(link),
        soft_bonus=floats(constraints.soft_bonus),
        lower=floats(constraints.lower),
        upper=floats(constraints.upper),
        slack=float(constraints.slack),
    )
