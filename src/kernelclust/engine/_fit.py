"""The way of one fit: kernel, spectrum, search, numbering, certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kernelclust._progress import EIGENVECTORS, EVIDENCE, KERNEL, SEARCH, at, stage
from kernelclust._solution import Solution
from kernelclust._threads import in_order, one_thread
from kernelclust._warnings import warn
from kernelclust.constraints import Constraints, equal_rows
from kernelclust.engine._doubt import doubt_in_words
from kernelclust.engine._evidence import DISAGREE, SIZE_PRIOR, Evidence, alignment, seen_distances, seen_sums
from kernelclust.engine._numbering import canonical_places, renumbered
from kernelclust.engine._order import Clusters, Order, leading_directions, order_of
from kernelclust.engine._places import Places, fitted_places
from kernelclust.engine._prediction import Prediction
from kernelclust.engine._rbf import EXACT, FEW, advice, rbf_clusters, warn_of_rbf
from kernelclust.kernels import (
    FittedKernel,
    KernelOperator,
    Spectrum,
    certified,
    discriminative,
    fit_kernel,
    kernel_part,
    leading_spectrum,
    one_hot,
)
from kernelclust.objectives import Dependence, flat_objective, make_dependence
from kernelclust.solvers import Options, PlacementProblem, Problem, load_solver, placement_margin, placement_problem
from kernelclust.structures import Structure

EXTRA_DIMENSIONS = 8  # eigenvectors beyond the c - 1 that a flat clustering needs


@dataclass(frozen=True)
class Request:
    """What to fit, every part checked: the terms of the formula and the way to search."""

    structure: Structure
    kernel: dict[str, Any] = field(default_factory=dict)  # of fit_kernel
    loss: Any = None
    normalize: str | None = "l2"
    rho: float = 0.0
    size_prior: float | str = 0.0
    solver: str = "greedy"
    solver_params: dict[str, Any] = field(default_factory=dict)
    options: Options = field(default_factory=Options)
    ridge: Callable[[Spectrum, float, float], float] | None = None  # of the discriminative view
    random_state: Any = None
    confidence: bool = True  # whether the order of the clusters is judged


@dataclass(frozen=True)
class Fit:
    """A fit as a value: operator, spectrum, solution, evidence and certificate, for the samples of positive weight.

    `labels` are places, numbered canonically; `S` and `n` are the cluster sums and sizes there.
    """

    structure: Structure
    kernel: FittedKernel
    spectrum: Spectrum
    objective: Dependence
    solution: Solution
    labels: np.ndarray
    S: np.ndarray
    n: np.ndarray
    value: float
    upper_bound: float
    size_bound: float
    placement_margin: float
    placing: PlacementProblem = field(repr=False)  # of these clusters, as they are numbered
    size_prior: float = 0.0
    reach: float = 1.0  # share of the trace of the kernel that c clusters could explain at best
    ridge: float | None = None
    view_agreement: float | None = None
    support: float | None = None
    rbf_agreement: float | None = None
    made: FittedKernel | None = None  # the graphs of kernel="auto", where clusters were placed by another kernel
    order: Order | None = None
    image: np.ndarray | None = field(default=None, repr=False)  # K D Pi (m, c), where it is known

    @property
    def gap(self) -> float:
        if not np.isfinite(self.upper_bound):
            return 1.0
        # nothing to gain: the value is zero but for rounding
        return (self.upper_bound - self.value) / abs(self.upper_bound) if self.upper_bound != 0 else 0.0

    def prediction(self) -> Prediction:
        weight = self.kernel.operator.weight
        Pi = one_hot(self.labels, len(self.n), weight)
        judged, base, S = None, self.kernel.base, self.S
        if base is not None:
            judged = base.combination(Pi), base.operator.cluster_sums(self.labels, len(self.n))
        similarities = self.kernel.combination(Pi, self.image)
        if self.kernel.seen is not None:
            S, judged = self.kernel.seen.cluster_sums(self.labels, len(self.n)), (similarities, S)
        objective = flat_objective(self.objective) if self.solution.placed else self.objective
        return Prediction.of(similarities, objective, S, self.n, judged, self.reach)

    def places(self, prediction: Prediction) -> tuple[Places, np.ndarray, np.ndarray | None]:
        """Where new samples lie among the clusters, and where the fitted ones do: see `fitted_places`."""
        base, operator = self.kernel.base, self.kernel.operator
        Pi = one_hot(self.labels, len(self.n), operator.weight)
        if base is not None:
            operator, G, S = base.operator, base.operator @ Pi, prediction.sums
        else:
            G, S = operator @ Pi if self.image is None else self.image, self.S
        axes = self.structure.axes()
        return fitted_places(prediction, axes, G, operator.diagonal(), S, self.labels, operator.weight)


def fit(
    X,
    weight: np.ndarray,
    request: Request,
    known: Constraints | None = None,
    kernel: FittedKernel | None = None,
    spectrum: Spectrum | None = None,
) -> Fit:
    """Fit samples X of positive weight; `kernel` is theirs, where it has been made already (X may then be None), and
    `spectrum` is the kernel's, from a fit with as many clusters or more."""
    with one_thread():
        return _fit(X, weight, request, known, kernel, spectrum)


def _fit(X, weight, request: Request, known, kernel, spectrum) -> Fit:
    structure, c = request.structure, request.structure.n_clusters
    rng = check_random_state(request.random_state)
    if kernel is None:
        stage(KERNEL, "the kernel of {} samples", len(weight))
        kernel = fit_kernel(X, weight, n_clusters=c, rng=rng, **request.kernel)
    solve = load_solver(request.solver, kernel.operator)
    evidence = _evidence(kernel, weight, c)
    comparable = getattr(kernel_part(request.kernel.get("kernel", "rbf")), "COPIES", True)
    free = None if known is None else known.unlabelled()
    copies = equal_rows(X, c, weight) if free is None and comparable and X is not None else None
    other = None
    if evidence is not None and request.ridge is None:
        at("clusters by rbf, to compare")
        by_rbf = partial(rbf_clusters, kernel.pictures[0], weight, c, free, copies)
        both: tuple[Callable[[], Any], ...] = by_rbf, evidence.agreement
        other, _ = in_order(lambda work: work(), both, large=len(weight) > EXACT)
    size_prior = _size_prior(request, evidence, other)
    objective = make_dependence(
        structure, loss=request.loss, normalize=request.normalize, rho=request.rho, size_prior=size_prior
    )
    kernel.check_definite()
    stage(EIGENVECTORS, "eigenvectors of the kernel")
    spectrum = useful_spectrum(kernel.operator, c, rng) if spectrum is None else _shared(spectrum, kernel.operator, c)
    ridge = None
    if request.ridge is not None:
        total = float(weight.sum())
        ridge = request.ridge(spectrum, total, 1e-12 * total * kernel.operator.raw_size())
        kernel = discriminative(kernel, ridge)
        spectrum = leading_spectrum(kernel.operator, spectrum.values.size, c - 1, rng)
    flat = flat_objective(objective)
    problem = Problem(kernel.operator, spectrum, objective, flat, known, copies, structure=structure)
    if evidence is not None and other is not None and structure.is_sweep and kernel.n_different > FEW * c:
        problem = replace(problem, advice=advice(other, evidence.agreement()))
    options, clusters, made, seen = _options(request, kernel), None, kernel, None
    stage(SEARCH, "solver {}", request.solver)
    if other is not None and structure.is_map and (request.solver, options.search) == ("greedy", "refine"):
        clusters = solve(replace(problem, objective=flat), options, rng).labels
        kernel, problem, options = _by_rbf(X, problem, request, clusters, rng)
    solution = solve(problem, options, rng, **request.solver_params)
    _warn_of_stop(solution, request)
    at("bounds and numbering")
    found = replace(judge(kernel, problem, solution, structure, request.options.rule), size_prior=size_prior)
    if ridge is not None:
        found = replace(found, ridge=ridge, reach=1.0)
    if evidence is not None:
        power = placing_power(made, structure)
        if structure.is_sweep:
            seen = seen_sums(made.pictures, found.labels, weight, c)
            found = replace(found, support=evidence.support(structure.kernel, found.labels, seen, power))
        found = replace(found, view_agreement=evidence.agreement())
    if other is not None:
        mine = found.labels if clusters is None else clusters
        found = replace(found, rbf_agreement=alignment(np.eye(c), other, mine, weight), made=made)
    warn_of_rbf(found.rbf_agreement)
    return with_order(found, problem, seen if kernel is made else None) if request.confidence else found


def useful_spectrum(kernel: KernelOperator, n_clusters: int, rng: np.random.RandomState) -> Spectrum:
    """The eigenvectors that so many clusters can use, bounded, and some beyond."""
    useful = _useful(kernel, n_clusters)
    return leading_spectrum(kernel, useful + EXTRA_DIMENSIONS, useful, rng)


def _shared(spectrum: Spectrum, kernel: KernelOperator, n_clusters: int) -> Spectrum:
    """A spectrum made for more clusters, with the bounds that these can use."""
    return replace(spectrum, bounds=spectrum.bounds[: _useful(kernel, n_clusters)])


def _useful(kernel: KernelOperator, n_clusters: int) -> int:
    return n_clusters - 1 if kernel.centred else n_clusters


def judge(
    kernel: FittedKernel,
    problem: Problem,
    solution: Solution,
    structure: Structure,
    rule: str,
    placed_by: np.ndarray | None = None,
) -> Fit:
    """A solution as a fit: clusters numbered, and what any labeling could reach bounded.

    `placed_by` (c x c) are the cluster sums that the clusters were placed by, where those of the kernel were not.
    """
    objective, operator = problem.objective, problem.kernel
    c, spectrum, S, image = objective.n_clusters, problem.spectrum, solution.cluster_sums, None
    if not spectrum.certain:
        Pi = one_hot(solution.labels, c, operator.weight)
        spectrum, image = certified(operator, spectrum, Pi)
        S = Pi.T @ image
        S = (S + S.T) / 2
    elif operator.factor is None and solution.running.shape == (c, operator.n_samples):
        image = solution.running.T
    n = problem.sizes(solution.labels)
    if c == 1 and operator.centred:  # over all samples K adds up to zero: what else was found is rounding
        S = np.zeros((1, 1))
        solution = replace(solution, value=objective.value(S, n), history=[objective.value(S, n)])
    arranged = S if placed_by is None else placed_by
    node = canonical_places(structure, S, n, **problem.placing(objective, solution.labels))
    if not objective.unchanged_by(node):  # a loss of the user's own need not have the structure's symmetries
        node = np.arange(c)
    labels = node[solution.labels]
    arranged = renumbered(node, arranged, n)[0]
    S, n = renumbered(node, S, n)
    image = None if image is None else image[:, np.argsort(node)]
    fresh = problem.constraints is not None or not problem.spectrum.certain
    value = objective.value(S, n) if fresh else solution.value
    bound = objective.upper_bound(spectrum.bounds, n.sum(), operator.weight.min())
    bound = max(min(bound, solution.bound), value)
    power = placing_power(kernel, structure)
    placing = placement_problem(rule, objective, arranged, n, power=power, **problem.placing(objective, labels))
    return Fit(
        structure,
        kernel,
        spectrum,
        objective,
        solution,
        labels,
        S,
        n,
        value,
        upper_bound=bound,
        size_bound=max(objective.size_bound(spectrum.bounds, n), value) if operator.centred else bound,
        placement_margin=placement_margin(placing),
        placing=placing,
        reach=_reach(operator, spectrum),
        image=image,
    )


def numbered_like(found: Fit, labels: np.ndarray) -> Fit:
    """The same fit, its clusters numbered as nearly like these labels of the samples as the structure allows."""
    c, weight = len(found.n), found.kernel.operator.weight
    alike = np.bincount(labels * c + found.labels, weight, minlength=c * c).reshape(c, c)
    node = np.asarray(found.structure.align(alike))
    if not found.objective.unchanged_by(node):
        return found
    order = np.argsort(node)
    S, n = renumbered(node, found.S, found.n)
    M, placing = found.placing.M[np.ix_(order, order)], found.placing
    placing = replace(placing, M=M, n=placing.n[order], movable=placing.movable[order], linear=placing.linear[order])
    judged = found.order
    if judged is not None:
        judged = replace(judged, links=judged.links[np.ix_(order, order)])
    image = None if found.image is None else found.image[:, order]
    return replace(found, labels=node[found.labels], S=S, n=n, image=image, placing=placing, order=judged)


def _options(request: Request, kernel: FittedKernel) -> Options:
    """How to search, as far as the kernel has a say: see `FittedKernel.refines` and `ring_power`.

    Maps are refined in any case: commute times hold no order there, and F mends some of it. So are sweeps of few
    samples a cluster, whose neighbours are the next steps.
    """
    options, structure = request.options, request.structure
    A = structure.kernel
    few = structure.is_sweep and 0 < kernel.n_different <= FEW * len(A)
    keeps = not (kernel.refines or structure.is_map or few or np.array_equal(A, A[0, 0] * np.eye(len(A))))
    search = "place" if options.search == "refine" and keeps else options.search
    return replace(options, search=search, power=placing_power(kernel, structure))


def _by_rbf(
    X, problem: Problem, request: Request, clusters: np.ndarray, rng: np.random.RandomState
) -> tuple[FittedKernel, Problem, Options]:
    """The same search under the rbf kernel of X, from clusters that graphs found.

    Commute times hold no order on a map: in two dimensions they hardly grow with the distance. A seed gives the same
    landmarks as kernel="rbf" has with it.
    """
    c, weight = request.structure.n_clusters, problem.kernel.weight
    anew = check_random_state(request.random_state)
    kernel = fit_kernel(X, weight, n_clusters=c, rng=anew, **(request.kernel | {"kernel": "rbf"}))
    spectrum = useful_spectrum(kernel.operator, c, rng)
    problem = replace(problem, kernel=kernel.operator, spectrum=spectrum)
    return kernel, problem, replace(request.options, init=clusters)


def placing_power(kernel: FittedKernel, structure: Structure) -> float:
    return kernel.ring_power if structure.is_closed else 1.0


def _reach(operator: KernelOperator, spectrum: Spectrum) -> float:
    """Largest share of the trace that as many clusters can explain: that of the eigenvalues they can use."""
    trace = float(operator.weight @ operator.diagonal())
    share = float(np.maximum(spectrum.bounds, 0).sum()) / trace if trace > 0 else 0.0
    return min(share, 1.0) if share > 0 else 1.0


def _evidence(kernel: FittedKernel, weight: np.ndarray, n_clusters: int) -> Evidence | None:
    """What the kernels that a mean kernel is made of say by themselves."""
    if not kernel.members or n_clusters == 1:
        return None
    return Evidence(kernel.members, weight, n_clusters, check_random_state(0))


def _size_prior(request: Request, evidence: Evidence | None, other: np.ndarray | None) -> float:
    """The size prior asked for; "auto" is one where the views disagree, unless rbf says that X as given is right."""
    if not isinstance(request.size_prior, str):
        return float(request.size_prior)
    plain = request.loss is None and request.normalize is not None and request.solver == "greedy"
    if evidence is None or not plain or evidence.agreement() >= DISAGREE:
        return 0.0
    if other is not None and evidence.confirms(other):
        return 0.0
    warn(
        f"the views of X (as given, columns standardised, rows scaled) cluster it differently (alignment "
        f"{evidence.agreement():.2f}): groups are expected to have similar sizes, size_prior={SIZE_PRIOR}. Set "
        "size_prior=0 if that is wrong, or choose a kernel by name."
    )
    return SIZE_PRIOR


def _warn_of_stop(solution: Solution, request: Request) -> None:
    if solution.converged:
        return
    said = {
        "max_iter": f"stopped after max_iter={request.options.max_iter} sweeps while samples were moving; raise "
        "max_iter.",
        "max_steps": f"the relaxation of solver={request.solver!r} stopped before it had converged; raise max_steps "
        "in solver_params.",
    }
    warn(said[solution.stopped_because], ConvergenceWarning)


def with_order(found: Fit, problem: Problem, seen: list[np.ndarray] | None = None) -> Fit:
    """The fit with how sure the order of its clusters is, and a warning where that is little.

    `seen` are the `seen_sums` of its kernel's pictures, where they are known.
    """
    stage(EVIDENCE, "how sure the order is")
    c, constraints, weight = len(found.n), problem.constraints, found.kernel.operator.weight
    seen = seen_sums(found.kernel.pictures, found.labels, weight, c) if seen is None else seen
    known = np.zeros(c, dtype=bool)
    if constraints is not None:
        known[constraints.place[constraints.place >= 0]] = True
    order = order_of(
        Clusters(
            found.structure.kernel,
            leading_directions(found.spectrum.embedding, c),
            weight,
            found.labels,
            found.S,
            found.n,
            known=known,
            movable=problem.placing(found.objective, found.labels).get("movable"),
            views=seen_distances(seen, found.labels, weight),
        )
    )
    if doubt := doubt_in_words(order, str(found.structure)):
        warn(doubt)
    return replace(found, order=order)
