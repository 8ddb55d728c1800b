"""Random cases: an estimator with random parameters, awkward samples, weights and side information.

Everything random about a case is asked of one function, `pick(options)`, which returns one of a list: hypothesis gives
one that it can shrink (simple options come first), a seed gives one that can be replayed. Parts are found by their
names, so that a new kernel, structure, solver, method or loss is covered without an edit.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import ClusterMixin
from sklearn.metrics.pairwise import linear_kernel

import kernelclust
from kernelclust._terms import term_names
from kernelclust.kernels import approximations, as_kernel, kernel_class, kernel_names
from kernelclust.margin import CuttingPlane, as_loss, loss_names
from kernelclust.multikernel import CORRELATIONS, as_method, method_names
from kernelclust.objectives import NORMALIZATIONS, PLACEMENTS, Dependence
from kernelclust.solvers import NMF, SDP, LowRankSDP, as_solver, solver_names
from kernelclust.solvers.greedy import INITS, SEARCHES
from kernelclust.structures import structure_class, structure_names

Pick = Callable[[Sequence], Any]

ESTIMATORS = {
    name: part
    for name in kernelclust.__all__
    if inspect.isclass(part := getattr(kernelclust, name)) and issubclass(part, ClusterMixin)
}
YES_NO = [False, True]
TWINS = ["jobs", "order", "repeats"]  # what a second fit, or kernel, of the same samples is compared by
N_CLUSTERS = [2, 3, 1, 4, 5, 6]
N_CLUSTERS_RARE = [12, 20]  # of half of the samples or a third
N_RARE = [300, 300, 300, 1000, 1000, 3000]  # samples
SMALL_ONLY = (LowRankSDP, NMF, SDP)  # solvers that take minutes for the rare numbers of samples
ONE_IN_20 = [False] * 19 + [True]


@dataclass(frozen=True)
class Case:
    """One fit in words: `inputs` makes the arrays."""

    estimator: str
    parameters: dict[str, Any]
    n_clusters: int
    samples: dict[str, Any]
    weights: str
    known: list[str]
    twin: str
    seed: int

    def model(self) -> Any:
        return ESTIMATORS[self.estimator](**self.parameters)


@dataclass(frozen=True)
class Inputs:
    X: Any
    arguments: dict[str, Any]  # of fit, beside X
    parameters: dict[str, Any]  # sizes that the model is given
    weight: np.ndarray  # (n,)


def seeded(seed: int) -> Pick:
    rng = np.random.default_rng(seed)
    return lambda options: options[int(rng.integers(len(options)))]


def draw(pick: Pick, estimator: str | None = None) -> Case:
    """A case that can be fitted as a rule; some are to be refused."""
    name = pick(list(ESTIMATORS)) if estimator is None else estimator
    n_clusters, parameters = _parameters(pick, name)
    case = Case(
        name,
        parameters,
        n_clusters,
        _samples(pick, name, parameters, n_clusters),
        pick(["none", "none", "ones", "integers", "tiny", "huge", "wide", "zeros"]),
        [word for word in KNOWN if pick([0, 0, 0, 1])],
        pick(TWINS),
        pick(range(1000)),
    )
    return case if _excluded(case) is None else draw(pick, estimator)


def _excluded(case: Case) -> str | None:
    """Why a case is left out: bugs that are known, described, and waiting to be mended. Nothing else belongs here."""
    return None


# -- parameters ----------------------------------------------------------------------------------------------------

CHOICES: dict[str, Sequence] = {
    "kernel": ["linear", "rbf", *kernel_names(), linear_kernel],
    "gamma": ["scale", 1.0, 1e-3, 1e3],
    "loss": [None, "zero-one", "structure", "array"],
    "normalize": NORMALIZATIONS,
    "rho": [0.0, 1.0, 10.0],
    "size_prior": ["auto", 0.0, 0.2],
    "search": SEARCHES,
    "placement": PLACEMENTS,
    "solver": solver_names(),
    "init": INITS,
    "n_init": ["auto", 1, 3],
    "approximation": (None, "auto", *term_names(approximations)),
    "n_components": [None, 1, 5],
    "label_weight": [None, 0.0, 0.5, 10.0],
    "max_iter": [100, 1, 3],
    "lam": ["auto", 1e-3, 10.0],
    "kappa": ["auto", 1e-3, 10.0],
    "views": [[slice(0, None), slice(0, 1)]],
    "correlation": CORRELATIONS,
    "power": [2, 1],
    "ridge": [0.0, 0.01],
    "refine": YES_NO,
    "center": YES_NO,
    "unit_diagonal": YES_NO,
    "beta": [1.5, 0.5],
    "C": ["auto", 1e-3, 10.0],
    "bias": YES_NO,
    "balance": [None, 0.0, 0.1],
}
OF_CLASS: dict[str, dict[str, Sequence]] = {
    "MultiKernelClustering": {"kernel": ["auto", "precomputed", "linear", "graph", ["linear", "rbf"]]},
}


def _parameters(pick: Pick, name: str) -> tuple[int, dict[str, Any]]:
    """Number of clusters and parameters; each keeps its default in half of the cases."""
    signature = inspect.signature(ESTIMATORS[name]).parameters
    choices = CHOICES | OF_CLASS.get(name, {})
    out = {key: pick(choices[key]) for key in signature if key in choices and pick(YES_NO)}
    if "method" in signature:
        out["method"] = _drawn(pick, as_method(pick(method_names())))
        out["objective"] = _drawn(pick, Dependence())
    if name == "MaxMarginClustering":
        out["loss"] = _drawn(pick, as_loss(pick(loss_names())))
        out["solver"] = _drawn(pick, CuttingPlane())
    elif "solver" in signature:
        out["solver"] = _drawn(pick, as_solver(out.get("solver", "greedy")))
    if "objective" in signature:
        out["objective"] = _drawn(pick, Dependence())
    if isinstance(out.get("kernel"), str) and kernel_class(out["kernel"]).has_gamma:
        out["kernel"] = _drawn(pick, as_kernel(out["kernel"]))
    c = pick(N_CLUSTERS_RARE if pick(ONE_IN_20) else N_CLUSTERS)
    if "structure" in signature:
        structure = structure_class(pick(structure_names())).example(c)
        out["structure"], c = structure, structure.n_clusters
    else:
        out["n_clusters"] = c
    if "random_state" in signature:
        out["random_state"] = 0
    if isinstance(out.get("loss"), str) and out["loss"] == "array":
        out["loss"] = _uneven_loss(c)
    if "objective" in out and isinstance(out["objective"].loss, str) and out["objective"].loss == "array":
        out["objective"].loss = _uneven_loss(c)
    if pick([1, 1, 1, 0]):
        _agree(name, out)
    return c, out


def _uneven_loss(c: int) -> np.ndarray:
    i = np.arange(c)
    return np.abs(i[:, None] - i) ** 2 + (i[:, None] < i) * 0.5


def _drawn(pick: Pick, term: Any) -> Any:
    """The term with random parameters; each keeps its default in half of the cases."""
    return term.set_params(**{key: pick(CHOICES[key]) for key in term.get_params() if key in CHOICES and pick(YES_NO)})


def _agree(name: str, parameters: dict[str, Any]) -> None:
    """Take back what an estimator would refuse, so that most cases are fitted."""

    def drop(*keys: str) -> None:
        for key in keys:
            parameters.pop(key, None)

    objective = parameters.get("objective")
    if getattr(parameters.get("solver"), "is_relaxation", False):
        drop("normalize")
        if objective is not None:
            objective.set_params(loss=None, normalize="l2", size_prior="auto")
        if name == "CLUHSICAL":
            drop("solver")
    if objective is not None and not objective.takes_size_prior:
        objective.size_prior = "auto"
    if parameters.get("approximation") == "random_features":
        parameters["kernel"] = "rbf"
    if name == "MaxMarginClustering":
        solver = parameters["solver"]
        solver.init = "random" if solver.init == "random" else "principal"  # the other names are of Greedy
        if parameters.get("kernel", "linear") not in ("linear", "cosine") or solver.n_components:
            solver.center = True
        if solver.center and not parameters.get("bias"):
            solver.balance = None
    if name == "MultiKernelClustering":
        if parameters.get("kernel") == "graph":
            parameters["method"].center = True
        if parameters.get("kernel") == "precomputed":
            drop("views")


# -- samples -------------------------------------------------------------------------------------------------------


def _blobs(rng, n, d):
    return 5 * rng.standard_normal((3, d))[np.arange(n) % 3] + rng.standard_normal((n, d))


def _arc(rng, n, d):
    t = np.linspace(0, 5, n)[:, None]
    return np.hstack([np.cos(t), np.sin(t), np.zeros((n, d))])[:, :d] + 0.05 * rng.standard_normal((n, d))


def _noise(rng, n, d):
    return rng.standard_normal((n, d))


def _bits(rng, n, d):
    return rng.integers(0, 2, (n, d)).astype(float)


def _copies(rng, n, d):
    return rng.standard_normal((3, d))[rng.integers(0, 3, n)]


def _constant(rng, n, d):
    return np.tile(rng.standard_normal(d), (n, 1))


def _outlier(rng, n, d):
    return rng.standard_normal((n, d)) * np.where(np.arange(n) == n // 2, 1e6, 1.0)[:, None]


def _collinear(rng, n, d):
    return rng.standard_normal((n, 1)) * rng.standard_normal(d) + 1e-9 * rng.standard_normal((n, d))


SHAPES = {
    "blobs": _blobs,
    "arc": _arc,
    "noise": _noise,
    "bits": _bits,
    "copies": _copies,
    "constant": _constant,
    "outlier": _outlier,
    "collinear": _collinear,
}
SCALES = {
    "float64": [1.0, 1.0, 1.0, 1e-9, 1e9, 1e-160, 1e160, 1e300],
    "float32": [1.0, 1.0, 1.0, 1e-9, 1e9, 1e-25, 1e25],
    "int64": [10.0, 1.0, 1e6],
}


def _n_samples(pick: Pick, n_clusters: int, solver: Any) -> int:
    if n_clusters > max(N_CLUSTERS):
        return pick([2 * n_clusters, 2 * n_clusters + 3, 3 * n_clusters])
    rare = pick(ONE_IN_20) and not isinstance(solver, SMALL_ONLY)
    return pick(N_RARE if rare else [*range(8, 41), *range(4, 8)])


def _samples(pick: Pick, name: str, parameters: dict[str, Any], n_clusters: int) -> dict[str, Any]:
    dtype = pick(["float64", "float64", "float32", "int64"])
    kernel = parameters.get("kernel", "rbf")
    layouts = [word for word in LAYOUTS if word != "sparse" or kernel_class(kernel).accepts_sparse]
    return {
        "shape": pick(list(SHAPES)),
        "n": _n_samples(pick, n_clusters, parameters.get("solver")),
        "d": pick([2, 1, 3, 5]),
        "scale": pick(SCALES[dtype]),
        "offset": pick([0.0, 0.0, 1.0, 1e6]),
        "dtype": dtype,
        "layout": pick(layouts),
        "listed": name == "MultiKernelClustering" and "views" not in parameters and pick(YES_NO),
    }


def _read_only(X):
    X = np.array(X)
    X.flags.writeable = False
    return X


def _strided(X):
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), dtype=X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


LAYOUTS: dict[str, Callable] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "read-only": _read_only,
    "strided": _strided,
    "sparse": sparse.csr_array,
}


def _similarities(Z: np.ndarray) -> np.ndarray:
    """A kernel matrix of samples of any scale: similarities that are not negative, for graphs too."""
    D = cdist(Z / max(np.abs(Z).max(), 1e-300), Z / max(np.abs(Z).max(), 1e-300), "sqeuclidean")
    return np.exp(-D / max(D.mean(), 1e-300))


def _table(case: Case, rng: np.random.Generator) -> np.ndarray:
    words = case.samples
    Z = SHAPES[words["shape"]](rng, words["n"], words["d"]) + words["offset"]
    with np.errstate(under="ignore"):
        Z = Z * words["scale"]
    return np.rint(Z).astype(np.int64) if words["dtype"] == "int64" else Z.astype(words["dtype"])


def _of_model(case: Case, Z: np.ndarray) -> Any:
    """X as the estimator takes it: samples or similarities, in a layout; several of them where it takes several."""
    lay = LAYOUTS[case.samples["layout"]]
    if kernel_class(case.parameters.get("kernel", "rbf")).pairwise:
        if case.estimator != "MultiKernelClustering":
            return lay(_similarities(Z.astype(float)))
        lay = np.ascontiguousarray if lay is sparse.csr_array else lay
        return [lay(_similarities(part.astype(float))) for part in (Z, Z[:, :1])]
    return [lay(Z), lay(Z[:, :1])] if case.samples["listed"] else lay(Z)


# -- weights and side information ------------------------------------------------------------------------------------

KNOWN = [
    "labels",
    "must pairs",
    "must groups",
    "cannot pairs",
    "cannot groups",
    "sizes",
    "tight sizes",
    "contradiction",
]


def _weights(case: Case, rng: np.random.Generator) -> np.ndarray | None:
    n = case.samples["n"]
    return {
        "none": None,
        "ones": np.ones(n),
        "integers": rng.integers(1, 4, n).astype(float),
        "tiny": 1e-12 * rng.uniform(0.5, 2, n),
        "huge": 1e12 * rng.uniform(0.5, 2, n),
        "wide": 10 ** rng.uniform(-5, 5, n),
        "zeros": rng.integers(0, 3, n).astype(float),
    }[case.weights]


def _known(case: Case, rng: np.random.Generator, weight: np.ndarray) -> tuple[dict, dict]:
    """Arguments of fit and parameters that a hidden labeling keeps; a contradiction hides several."""
    n, c = case.samples["n"], case.n_clusters

    def hidden() -> np.ndarray:
        return truth if "contradiction" not in case.known else rng.integers(0, c, n)

    def pairs(alike: bool) -> np.ndarray:
        some, z = rng.integers(0, n, (4, 2)), hidden()
        return some[((z[some[:, 0]] == z[some[:, 1]]) == alike) & (some[:, 0] != some[:, 1])]

    truth = rng.permutation(np.arange(n) % c)
    arguments: dict[str, Any] = {}
    parameters: dict[str, Any] = {}
    for word in case.known:
        if word == "labels":
            arguments["y"] = np.where(rng.random(n) < 0.3, hidden(), -1)
        elif word == "must pairs":
            arguments["must_link"] = pairs(True)
        elif word == "must groups":
            arguments["must_link"] = np.where(rng.random(n) < 0.3, hidden(), -1)
        elif word == "cannot pairs":
            arguments["cannot_link"] = pairs(False)
        elif word == "cannot groups":
            arguments["cannot_link"] = np.full(n, -1)
            arguments["cannot_link"][np.unique(hidden(), return_index=True)[1]] = 7
        elif word == "sizes":
            sizes = np.bincount(hidden(), weight, minlength=c)
            parameters |= {"min_cluster_size": 0.5 * sizes.min(), "max_cluster_size": 1.2 * sizes.max()}
        elif word == "tight sizes":
            parameters |= {"max_cluster_size": np.bincount(hidden(), weight, minlength=c)}
    return arguments, parameters


def inputs(case: Case) -> Inputs:
    """The arrays of a case."""
    rng = np.random.default_rng(case.seed)
    Z, weight = _table(case, rng), _weights(case, rng)
    takes = inspect.signature(ESTIMATORS[case.estimator].fit).parameters
    if weight is None or "sample_weight" not in takes:
        arguments, weight = {}, np.ones(len(Z))
    else:
        arguments = {"sample_weight": weight}
    known, sizes = _known(case, rng, weight)
    if case.estimator == "MaxMarginClustering":  # takes no links
        takes = ["y"]
    arguments |= {name: value for name, value in known.items() if name in takes}
    sized = "min_cluster_size" in inspect.signature(ESTIMATORS[case.estimator]).parameters
    return Inputs(_of_model(case, Z), arguments, sizes if sized else {}, weight)
