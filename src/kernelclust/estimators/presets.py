"""StructuredClustering under the names that people search for; a preset declares only what differs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from kernelclust.estimators.structured import StructuredClustering


def preset(*, fixed: dict[str, Any] | None = None, added: dict[str, Any] | None = None, **defaults: Any) -> Callable:
    """Class decorator: StructuredClustering's parameters with other defaults, some `fixed`, some `added`.

    The signature is made from the base class, so that scikit-learn (get_params, clone) and help() see it.
    """
    fixed, added = fixed or {}, added or {}

    def decorate(cls: type) -> type:
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
        cls.__init__ = __init__  # type: ignore[misc]
        for name, value in fixed.items():
            setattr(cls, name, value)
        return cls

    return decorate


@preset(
    kernel="rbf",
    fixed={
        "structure": "flat",
        "loss": None,
        "normalize": "l2",
        "rho": 0.0,
        "search": "refine",
        "placement": "distance",
        "solver": "greedy",
        "solver_params": None,
    },
)
class KernelKMeans(StructuredClustering):
    """Kernel k-means: clusters without an order, in the feature space of any kernel.

    Minimises sum_i |phi(x_i) - mu_y(i)|^2, i.e. maximises F = sum_j S_jj / n_j with S_jj the kernel summed over
    cluster j. Choose it where KMeans would do but for the shape of the clusters, or where only a kernel is at hand.
    `StructuredClustering` with structure="flat"; see there for parameters and attributes.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from kernelclust import KernelKMeans
    >>> X, ring = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    >>> labels = KernelKMeans(2, gamma=5, random_state=0).fit_predict(X)
    >>> int(max((labels == ring).sum(), (labels != ring).sum()))
    300
    """

    _has_positions = False


@preset(kernel="rbf", rho=0.0, search="global", placement="F", fixed={"size_prior": 0.0})
class CLUHSIC(StructuredClustering):
    """Clustering by maximal dependence as its paper means it (Song, Smola, Gretton and Borgwardt, 2007).

    F = tr(K P A P') with the label kernel A itself (rho = 0), from several starts, point moves alternated with
    placement by F. The paper's Algorithm 1 has point moves alone, from one random start: that is placement=None,
    init="random", n_init=1, and it often ends with whole clusters in wrong places. `StructuredClustering` refines a
    flat fit instead, which keeps clusters whole more often.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import CLUHSIC
    >>> X = np.repeat([0.0, 1.0, 2.0, 3.0], 10)[:, None]
    >>> labels = CLUHSIC(4, structure="chain", random_state=0).fit_predict(X)[::10]
    >>> sorted([labels.tolist(), labels[::-1].tolist()])[0]  # a chain has two directions
    [0, 1, 2, 3]
    """


@preset(
    kernel="rbf",
    loss="structure",
    normalize="l1",
    rho=0.0,
    search="global",
    placement="F",
    fixed={"size_prior": 0.0},
)
class CLUHSICAL(StructuredClustering):
    """CLUHSIC with a loss between clusters (Zhong, Pan, Kwok and Tsang, 2010).

    Rows of P are eq. (12) of the paper: the summed loss at a sample's own place, minus the loss elsewhere, columns
    normalised to l1 norm one. A far mistake costs more than a near one; groups of similar size are favoured.
    With normalize=None or "l2" F is eq. (11), 4 C^2 gamma tr(K P A P') - C |P|_1 with C = 0.1 (in units of m) and
    gamma = 1. Both act through C gamma K alone: for others multiply the kernel by 10 C gamma, such as
    kernel=lambda X, Y: 0.01 * rbf_kernel(X, Y). With "l1" they cancel.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import CLUHSICAL
    >>> X = np.repeat([0.0, 1.0, 2.0, 3.0], 10)[:, None]
    >>> labels = CLUHSICAL(4, structure="chain", random_state=0).fit_predict(X)[::10]
    >>> sorted([labels.tolist(), labels[::-1].tolist()])[0]  # a chain has two directions
    [0, 1, 2, 3]
    """
