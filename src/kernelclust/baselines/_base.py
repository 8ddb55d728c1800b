"""What all baselines on a kernel share: the checks of samples and structure, and one way to be fitted."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from kernelclust._names import check_name
from kernelclust.estimators.structured import check_enough_samples
from kernelclust.kernels import DenseKernel, LowRankKernel, check_precomputed, fit_kernel, kernel_names
from kernelclust.kernels._fitted import APPROXIMATIONS
from kernelclust.structures import Structure, as_structure

Operator = DenseKernel | LowRankKernel


class KernelBaseline(ClusterMixin, BaseEstimator):
    """Check, compute the kernel, cluster, keep what was learned; a baseline writes `_cluster`."""

    structure: Any
    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    kernel_params: Any
    approximation: Any = None
    n_components: Any = None
    random_state: Any = None

    def fit(self, X, y=None):
        """Cluster the samples.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (m, d); (m, m) for kernel="precomputed"
        y : ignored

        Returns
        -------
        self
        """
        self._check_kernel()
        precomputed = self._is_precomputed()
        X = validate_data(self, X, dtype=[np.float64, np.float32], accept_sparse=False if precomputed else "csr")
        X = check_precomputed(X) if precomputed else X
        structure = self._check_structure()
        check_enough_samples(X.shape[0], structure)
        self._check_params(structure)
        rng = check_random_state(self.random_state)
        fitted = fit_kernel(
            X,
            np.ones(X.shape[0]),
            kernel=self._similarity(),
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            n_clusters=structure.n_clusters,
            approximation=self.approximation,
            n_components=self.n_components,
            rng=rng,
        )
        learned = self._cluster(fitted.operator, structure, rng)
        for name, value in {"structure_": structure, "gamma_": fitted.gamma, **learned}.items():
            setattr(self, name, value)
        return self

    def _cluster(self, operator: Operator, structure: Structure, rng: np.random.RandomState) -> dict[str, Any]:
        """The attributes that fit sets, `labels_` among them."""
        raise NotImplementedError

    def _check_kernel(self) -> None:
        if not callable(self.kernel):
            check_name("kernel", self.kernel, kernel_names(graphs=False), also=", or a function k(X, Y)")
        check_name("approximation", self.approximation, APPROXIMATIONS)
        rank = self.n_components
        if rank is not None and (not isinstance(rank, Integral) or rank < 1):
            raise ValueError(f"n_components={rank!r}: give a whole number, 1 or more, or None.")

    def _check_structure(self) -> Structure:
        return as_structure(self.structure)

    def _check_params(self, structure: Structure) -> None:
        """Refuse what cannot be done before anything is computed."""

    def _similarity(self):
        """The kernel's name or function."""
        return self.kernel

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags
