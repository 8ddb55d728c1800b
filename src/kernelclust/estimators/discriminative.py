"""The discriminative view of clustering, with any kernel and structure."""

from __future__ import annotations

from numbers import Real

import numpy as np

from kernelclust.estimators.structured import DEFAULT_CLUSTERS, StructuredClustering
from kernelclust.kernels import FittedKernel, Spectrum, discriminative, leading_spectrum


class _Discriminative(StructuredClustering):
    """Clustering in K (K + ridge I)^-1; `_strength` names the parameter that says how large the ridge is."""

    _strength: str
    _strength_is_per_sample: bool

    def _transform(self, fitted: FittedKernel, spectrum: Spectrum, n_clusters: int, rng):
        total = float(fitted.operator.weight.sum())
        factor = total if self._strength_is_per_sample else 1.0
        rounding = 1e-12 * total * _size(fitted)
        self.ridge_ = self._ridge(getattr(self, self._strength), spectrum, n_clusters, factor, rounding)
        fitted = discriminative(fitted, self.ridge_)
        return fitted, leading_spectrum(fitted.operator, spectrum.values.size, n_clusters - 1, rng)

    def _ridge(self, value, spectrum: Spectrum, n_clusters: int, factor: float, rounding: float) -> float:
        """factor * value, or the c-th eigenvalue of the kernel, the first that a flat clustering does not need."""
        if isinstance(value, Real) and 0 < float(value) < np.inf:
            return factor * float(value)
        if not (isinstance(value, str) and value == "auto"):
            raise ValueError(f"{self._strength}={value!r}: give a positive number or 'auto'.")
        at = min(n_clusters - 1, len(spectrum.values) - 1)
        top = float(max(spectrum.values[0], 0.0))
        if top <= rounding:  # constant data: nothing to tell apart, and rounding must not be blown up
            return 1.0
        return max(float(spectrum.values[at]), 1e-6 * top)


def _size(fitted: FittedKernel) -> float:
    """Size of the kernel's entries before centring."""
    operator = fitted.operator
    if operator.form == "dense":
        return float(np.abs(np.diagonal(operator.K)).max())
    return float(np.square(operator.offset).sum() + operator.diagonal().max())


class DisKMeans(_Discriminative):
    """Discriminative k-means: find clusters and the subspace that tells them apart together (Ye, Zhao and Wu, 2007).

    Kernel k-means with I - (I + K / lam)^-1 = K (K + lam I)^-1 in place of K, and with any structure (proposition 1
    of Yang, Kwok and Lu, 2010). Choose it when a few directions of the data carry the clusters and their scales
    differ. `ridge_` holds the lam in use; other parameters and attributes as in `StructuredClustering`.

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

    def __init__(
        self,
        n_clusters=DEFAULT_CLUSTERS,
        *,
        structure="flat",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        lam="auto",
        normalize="l2",
        rho=2.0,
        search="refine",
        placement="distance",
        solver="greedy",
        solver_params=None,
        polish=True,
        init="auto",
        n_init="auto",
        approximation="auto",
        n_components=None,
        min_cluster_size=None,
        max_cluster_size=None,
        label_weight=None,
        max_iter=100,
        tol=1e-10,
        allow_empty=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__", "lam")}
        super().__init__(**given)
        self.lam = lam


class Diffrac(_Discriminative):
    """DIFFRAC: labels that a regularised regression predicts best (Bach and Harchaoui, 2008).

    min over labels Pi and W of |Pi - X W|^2 / m + kappa |W|^2 is max tr(K (K + m kappa I)^-1 Pi A Pi'), with A = I in
    the original and any structure here (Yang, Kwok and Lu, 2010). The labels are not normalised, so clusters of
    similar size are favoured; with a chain or ring, normalize="l2" (which is DisKMeans) is the safer choice.
    `ridge_` holds m kappa; other parameters and attributes as in `StructuredClustering`.

    Parameters
    ----------
    kappa : float or "auto", default="auto"
        Regularisation; "auto" makes m kappa the c-th eigenvalue of the kernel.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from kernelclust import Diffrac
    >>> X, y = make_blobs(90, centers=3, cluster_std=0.5, random_state=0)
    >>> len(set(zip(y.tolist(), Diffrac(3, random_state=0).fit_predict(X).tolist())))
    3
    """

    _strength, _strength_is_per_sample = "kappa", True

    def __init__(
        self,
        n_clusters=DEFAULT_CLUSTERS,
        *,
        structure="flat",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        kappa="auto",
        normalize=None,
        rho=0.0,
        search="global",
        placement="F",
        solver="greedy",
        solver_params=None,
        polish=True,
        init="auto",
        n_init="auto",
        approximation="auto",
        n_components=None,
        min_cluster_size=None,
        max_cluster_size=None,
        label_weight=None,
        max_iter=100,
        tol=1e-10,
        allow_empty=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__", "kappa")}
        super().__init__(**given)
        self.kappa = kappa
