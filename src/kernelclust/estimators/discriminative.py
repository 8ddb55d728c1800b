"""The discriminative view of clustering, with any kernel and structure."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from kernelclust.engine import FitConfig
from kernelclust.estimators.presets import Preset, preset
from kernelclust.kernels import Spectrum
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy, Solver
from kernelclust.structures import Structure

SMALLEST = 1e-300  # entries of a kernel, whose inverse times a million is a number still


class _Discriminative(Preset):
    """Clustering in K (K + ridge I)^-1; `_strength` names the parameter that says how large the ridge is."""

    _strength: str
    _strength_is_per_sample: bool

    def _fit_config(self, structure: Structure, solver: Solver) -> FitConfig:
        def ridge(spectrum: Spectrum, total: float, rounding: float) -> float:
            """The parameter's value, or the c-th eigenvalue of the kernel, the first that c clusters do not need."""
            value = getattr(self, self._strength)
            if not isinstance(value, str):
                return float(value) * (total if self._strength_is_per_sample else 1.0)
            top = float(max(spectrum.values[0], 0.0))
            if top <= rounding:  # constant data: nothing to tell apart, and rounding must not be blown up
                return 1.0
            if top < SMALLEST * max(total, 1.0):
                raise ValueError(
                    f"the kernel's largest eigenvalue is {top:.3g}, too small to be inverted in floating point: "
                    f"multiply the kernel (or X) by a large number, or give {self._strength} a number."
                )
            at = min(structure.n_clusters - 1, len(spectrum.values) - 1)
            return max(float(spectrum.values[at]), 1e-6 * top)

        return replace(super()._fit_config(structure, solver), ridge=ridge)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        value = getattr(self, self._strength)
        if isinstance(value, Real) and 0 < float(value) < np.inf:
            return
        if not (isinstance(value, str) and value == "auto"):
            raise ValueError(f"{self._strength}={value!r}: give a positive number or 'auto'.")


@preset(kernel="rbf", added={"lam": "auto"}, fixed={"objective": "dependence"})
class DisKMeans(_Discriminative):
    """Find clusters and the subspace that separates them together: discriminative k-means (Ye, Zhao and Wu, 2007).

    Kernel k-means with I - (I + K / lam)^-1 = K (K + lam I)^-1 in place of K, and with any structure (proposition 1
    of Yang, Kwok and Lu, 2010). Choose it when a few directions of the data carry the clusters and their scales
    differ. `diagnostics_.ridge` holds the lam in use; other parameters and attributes as in `StructuredClustering`.

    Parameters
    ----------
    lam : float or "auto", default="auto"
        Regularisation; "auto" is the c-th eigenvalue of the kernel, the first that c clusters do not need.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelclust import DisKMeans
    >>> model = DisKMeans(3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape
    (150,)
    """

    _strength, _strength_is_per_sample = "lam", False

    def _make_objective(self) -> Dependence:
        return Dependence(size_prior=0.0)


@preset(kernel="rbf", added={"kappa": "auto", "normalize": None}, fixed={"objective": "dependence"})
class Diffrac(_Discriminative):
    """Find the labels that a regularised regression predicts best: DIFFRAC (Bach and Harchaoui, 2008).

    min over labels Pi and W of |Pi - X W|^2 / m + kappa |W|^2 is max tr(K (K + m kappa I)^-1 Pi A Pi'), with A = I in
    the original and any structure here (Yang, Kwok and Lu, 2010). The labels are not normalised, so clusters of
    similar size are favoured; with a chain or ring, normalize="l2" (which is DisKMeans) is the safer choice.
    (3.7) of Yang et al. has a further term, -tr(Pi A Pi') = -sum_j A_jj n_j, which is left out, as there: it is
    constant where all A_jj are equal. On trees whose branches differ in length they are not, and it would pull samples
    to short branches; `Tree.levelled()` makes them equal.
    solver="sdp" is the relaxation over M = Pi Pi' (no structure, a few dozen samples), as DIFFRAC has one: its
    value bounds every F.
    `diagnostics_.ridge` holds m kappa; other parameters and attributes as in `StructuredClustering`.

    Parameters
    ----------
    kappa : float or "auto", default="auto"
        Regularisation; "auto" makes m kappa the c-th eigenvalue of the kernel.
    normalize : {"l2", "l1", None}, default=None
        Norm that columns of the labels are divided by.
    solver : str or Solver, default="greedy"
        "greedy" is Greedy(search="global").

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from kernelclust import Diffrac
    >>> X, y = make_blobs(90, centers=3, cluster_std=0.5, random_state=0)
    >>> len(set(zip(y.tolist(), Diffrac(3, random_state=0).fit_predict(X).tolist())))
    3
    """

    _strength, _strength_is_per_sample = "kappa", True
    normalize: Any = None

    def _make_objective(self) -> Dependence:
        return Dependence(normalize=self.normalize, rho=0.0, size_prior=0.0, placement="F")

    def _make_solver(self) -> Solver:
        paper = isinstance(self.solver, str) and self.solver == "greedy"
        return Greedy(search="global") if paper else super()._make_solver()
