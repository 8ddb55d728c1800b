"""objective="dependence": the dependence between data and labels, of CLUHSIC and CLUHSICAL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from kernelclust._names import check_name, check_number
from kernelclust._terms import Term
from kernelclust.objectives._cluster_objective import ClusterObjective
from kernelclust.structures import Structure

NORMALIZATIONS = (None, "l1", "l2")
PLACEMENTS = ("distance", "F")
RESCALINGS = ("slack", "margin")


@dataclass(eq=False, repr=False)
class Dependence(Term):
    """Maximise the dependence between data and labels, F = tr(K P A P') with P = Pi T N^-1.

    Parameters
    ----------
    loss : {"zero-one", "structure"}, (c, c) array or None, default=None
        What it costs to mistake one cluster for another (CLUHSICAL): T = diag(Delta 1) - Delta. With normalize="l1",
        "zero-one" favours clusters of similar size.
    normalize : {"l2", "l1", None}, default="l2"
        Norm that columns of P are divided by. "l1" needs a loss to be useful.
    rho : float, default=2.0
        Added to the diagonal of A, so that a cluster prefers itself to its neighbours; no effect for "flat".
    size_prior : float or "auto", default="auto"
        a >= 0: sizes are normalised as n_j + a m / c, so that clusters of similar size are preferred. For l1 and l2
        without a loss. "auto" is 0; with kernel="auto" it is 0.2, with a warning, where three views of X disagree.
    placement : {"distance", "F"} or None, default="distance"
        How clusters are assigned to nodes: "distance" gives neighbours close means, "F" maximises F. None: there is no
        such step, and point moves alone hardly ever exchange two clusters.
    C : float, default=0.1
        Weight of the training errors in the regression that a loss stands for, in units of the number of samples:
        F = 4 C^2 gamma tr(K P A P') - C R(P), eq. (11) of CLUHSICAL. The larger C gamma K, the less R counts, which
        favours clusters with a low cost of mistakes. For a loss with `normalize` None or "l2", or with
        rescale="margin"; elsewhere R is a constant and both are ignored.
    gamma : float, default=1.0
        Factor of the joint kernel in eq. (11); only C gamma matters for the labels.
    rescale : {"slack", "margin"}, default="slack"
        What the loss scales in that regression. "slack": errors on pairs of large loss cost more, R(P) = sum |P|, as in
        the paper. "margin": the margin that is demanded grows with the loss, R(P) = 2 sum of P_iy^2 over y != y_i.

    Examples
    --------
    >>> from kernelclust.objectives import Dependence
    >>> Dependence(loss="zero-one", normalize="l1", rho=0)
    Dependence(loss='zero-one', normalize='l1', rho=0)
    """

    kind = "objective"
    example = "Dependence(rho=0)"

    loss: Any = None
    normalize: str | None = "l2"
    rho: float = 2.0
    size_prior: float | str = "auto"
    placement: str | None = "distance"
    C: float = 0.1
    gamma: float = 1.0
    rescale: str = "slack"

    def check(self) -> None:
        check_name("normalize", self.normalize, NORMALIZATIONS)
        check_name("placement", self.placement, (*PLACEMENTS, None))
        check_name("rescale", self.rescale, RESCALINGS)
        check_number("rho", self.rho)
        check_number("C", self.C, above=True)
        check_number("gamma", self.gamma, above=True)
        if isinstance(self.size_prior, str):
            check_name("size_prior", self.size_prior, ["auto"], also=", or a number")
        else:
            check_number("size_prior", self.size_prior)

    @property
    def rule(self) -> str:
        """Return the rule for assigning clusters to nodes; F where there is no such step."""
        return self.placement or "F"

    @property
    def takes_size_prior(self) -> bool:
        """Return True if `size_prior` may be set: a loss has its own preference for clusters of similar size."""
        return self.loss is None and self.normalize is not None

    def bind(self, structure: Structure, *, size_prior: float | None = None) -> ClusterObjective:
        """Build F for a structure; `size_prior` is the value of "auto", 0 by default.

        With a loss this is eq. (11) of CLUHSICAL; with "l1" and slack re-scaling, where R is a constant, eq. (13).
        `rho` is added to the diagonal of A unless A is a multiple of the identity, where it would only change
        the scale.
        """
        if size_prior is None:
            size_prior = 0.0 if isinstance(self.size_prior, str) else float(self.size_prior)
        self.check()
        A = np.array(structure.kernel, dtype=float)
        c = len(A)
        if self.rho and not np.array_equal(A, A[0, 0] * np.eye(c)):
            A = A + self.rho * np.eye(c)
        Delta = loss_matrix(self.loss, structure)
        if size_prior and not self.takes_size_prior:
            raise ValueError(
                f"size_prior={size_prior} needs normalize='l2' or 'l1' and no loss; a loss brings its own preference "
                "for clusters of similar size."
            )
        if Delta is None:
            return ClusterObjective(A, np.eye(c), self.normalize, size_prior=size_prior)
        T = np.diag(Delta.sum(axis=1)) - Delta
        margin = self.rescale == "margin"
        if self.normalize == "l1" and not margin:
            return ClusterObjective(A, T, self.normalize)
        C, gamma = float(self.C), float(self.gamma)
        return ClusterObjective(A, T, self.normalize, coef=4 * C**2 * gamma, penalty=C, margin=margin)


def loss_matrix(loss: object, structure: Structure) -> np.ndarray | None:
    """Return the c x c loss Delta that a user's `loss` stands for, or None."""
    c = structure.n_clusters
    if loss is None:
        return None
    if isinstance(loss, str):
        check_name("loss", loss, ["zero-one", "structure"], also=", None, or a c x c array")
        return 1.0 - np.eye(c) if loss == "zero-one" else np.array(structure.loss, dtype=float)
    Delta = check_array(loss, dtype=np.float64, input_name="loss")
    if Delta.shape != (c, c):
        raise ValueError(f"loss has shape {Delta.shape}, but structure '{structure}' has {c} clusters: give {c} x {c}.")
    if (Delta < 0).any() or np.diag(Delta).any():
        raise ValueError("loss must be non-negative with a zero diagonal: loss[a, b] is what mistaking a for b costs.")
    return Delta


PART = Dependence
