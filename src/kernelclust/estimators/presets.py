"""StructuredClustering under the names that people search for; a preset declares only what differs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from kernelclust.estimators.structured import StructuredClustering
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy, Solver

T = TypeVar("T", bound=StructuredClustering)


def preset(
    *, fixed: dict[str, Any] | None = None, added: dict[str, Any] | None = None, **defaults: Any
) -> Callable[[type[T]], type[T]]:
    """Class decorator: StructuredClustering's parameters with other defaults, some `fixed`, some `added`.

    The signature is made from the base class, so that scikit-learn (get_params, clone) and help() see it.
    """
    fixed, added = fixed or {}, added or {}

    def decorate(cls: type[T]) -> type[T]:
        base = inspect.signature(StructuredClustering.__init__).parameters.values()
        parameters = [one.replace(default=defaults.get(one.name, one.default)) for one in base if one.name not in fixed]
        parameters += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=added[name]) for name in added]
        signature = inspect.Signature(parameters)

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            given = signature.bind(self, *args, **kwargs)
            given.apply_defaults()
            for name, value in list(given.arguments.items())[1:]:
                setattr(self, name, value)

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign]
        for name, value in fixed.items():
            setattr(cls, name, value)
        return cls

    return decorate


class Preset(StructuredClustering):
    """Base class of the presets, whose signatures the decorator writes."""

    def __init__(self, *args: Any, **parameters: Any) -> None:
        raise NotImplementedError


@preset(
    kernel="rbf",
    added={"init": "auto", "n_init": "auto"},
    fixed={"structure": "flat", "objective": "dependence", "solver": "greedy", "compute_confidence": False},
)
class KernelKMeans(Preset):
    """Find clusters without an order by kernel k-means, in the feature space of any kernel.

    Minimises sum_i |phi(x_i) - mu_y(i)|^2, i.e. maximises F = sum_j S_jj / n_j with S_jj the kernel summed over
    cluster j. Choose it if KMeans fails because of the shape of the clusters, or if there is only a kernel.
    `StructuredClustering` with structure="flat"; see there for other parameters and attributes.

    Parameters
    ----------
    init, n_init
        Initializations, as in `kernelclust.solvers.Greedy`.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from kernelclust import KernelKMeans
    >>> from kernelclust.kernels import RBF
    >>> X, ring = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    >>> labels = KernelKMeans(2, kernel=RBF(gamma=5), random_state=0).fit_predict(X)
    >>> int(max((labels == ring).sum(), (labels != ring).sum()))
    300
    """

    _has_positions = False

    def _make_solver(self) -> Solver:
        return Greedy(init=self.init, n_init=self.n_init)


class OfPaper(Preset):
    """F with the label kernel itself (rho = 0), maximised from every initialization."""

    loss: Any = None
    normalize: Any = "l2"

    def _make_objective(self) -> Dependence:
        return Dependence(self.loss, self.normalize, rho=0.0, size_prior=0.0, placement="F")

    def _make_solver(self) -> Solver:
        paper = isinstance(self.solver, str) and self.solver == "greedy"
        return Greedy(search="global") if paper else super()._make_solver()


@preset(kernel="rbf", added={"normalize": "l2"}, fixed={"objective": "dependence"})
class CLUHSIC(OfPaper):
    """Maximise dependence as in the CLUHSIC paper (Song, Smola, Gretton and Borgwardt, 2007).

    F = tr(K P A P') with the label kernel A itself (rho = 0), from several initializations, point moves alternated with
    assignment of clusters to nodes by F. The paper's Algorithm 1 has point moves alone, from one random
    initialization, and often ends with whole clusters at wrong nodes: that is StructuredClustering(kernel="rbf",
    objective=Dependence(rho=0, placement=None), solver=Greedy(search="global", init="random", n_init=1)).
    `StructuredClustering` refines a flat fit instead, which preserves clusters more often.

    Parameters
    ----------
    normalize : {"l2", "l1", None}, default="l2"
        Norm that columns of P are divided by.
    solver : str or Solver, default="greedy"
        "greedy" is Greedy(search="global"). Other parameters and attributes as in `StructuredClustering`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import CLUHSIC
    >>> X = np.repeat([0.0, 1.0, 2.0, 3.0], 10)[:, None]
    >>> labels = CLUHSIC(4, structure="chain", random_state=0).fit_predict(X)[::10]
    >>> sorted([labels.tolist(), labels[::-1].tolist()])[0]  # a chain has two directions
    [0, 1, 2, 3]
    """


@preset(kernel="rbf", added={"loss": "structure", "normalize": "l1"}, fixed={"objective": "dependence"})
class CLUHSICAL(OfPaper):
    """Maximise dependence with a loss between clusters: CLUHSICAL (Zhong, Pan, Kwok and Tsang, 2010).

    Rows of P are eq. (12) of the paper: the summed loss at the node of the sample, minus the loss at other nodes, with
    columns of l1 norm one. A far mistake costs more than a near one; clusters of similar size are favoured.
    With normalize=None or "l2" F is eq. (11), 4 C^2 gamma tr(K P A P') - C |P|_1 with C = 0.1 (in units of the number
    of samples) and gamma = 1; with "l1" both cancel. Other values, and margin re-scaling, are parameters of the
    objective: StructuredClustering(kernel="rbf", objective=Dependence(loss="structure", rho=0, placement="F", C=1.0),
    solver=Greedy(search="global")).

    Parameters
    ----------
    loss : {"zero-one", "structure"}, (c, c) array or None, default="structure"
        What it costs to mistake one cluster for another. With normalize="l1", "zero-one" favours clusters of
        similar size.
    normalize : {"l2", "l1", None}, default="l1"
        Norm that columns of P are divided by.
    solver : str or Solver, default="greedy"
        "greedy" is Greedy(search="global"). Other parameters and attributes as in `StructuredClustering`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import CLUHSICAL
    >>> X = np.repeat([0.0, 1.0, 2.0, 3.0], 10)[:, None]
    >>> labels = CLUHSICAL(4, structure="chain", random_state=0).fit_predict(X)[::10]
    >>> sorted([labels.tolist(), labels[::-1].tolist()])[0]  # a chain has two directions
    [0, 1, 2, 3]
    """
