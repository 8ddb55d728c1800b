"""What all baselines on a kernel share: the checks of samples and structure, and one way to be fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kernelclust.estimators import KernelClusterer, check_enough_samples, equal_labels
from kernelclust.kernels import KernelOperator, fit_kernel
from kernelclust.structures import Structure, as_structure


class KernelBaseline(KernelClusterer):
    """Check, compute the kernel, cluster, keep what was learned; a baseline writes `_cluster`."""

    structure: Any
    approximation: Any = None
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
        return self._whole(X)

    def _fit(self, X):
        self._check_kernel()
        X = self._check_samples(X, reset=True)
        structure = self._check_structure()
        check_enough_samples(X.shape[0], structure)
        self._check_params(structure)
        rng = check_random_state(self.random_state)
        settings = self._kernel_settings() | {"kernel": self._similarity()}
        fitted = fit_kernel(X, np.ones(X.shape[0]), n_clusters=structure.n_clusters, rng=rng, **settings)
        learned = self._cluster(fitted.operator, structure, rng)
        if (equal := equal_labels([X], structure.n_clusters)) is not None:
            learned["labels_"] = equal
        for name, value in {"structure_": structure, "gamma_": fitted.gamma, **learned}.items():
            setattr(self, name, value)
        return self

    def _cluster(self, operator: KernelOperator, structure: Structure, rng: np.random.RandomState) -> dict[str, Any]:
        """The attributes that fit sets, `labels_` among them."""
        raise NotImplementedError

    def _check_structure(self) -> Structure:
        return as_structure(self.structure)

    def _check_params(self, structure: Structure) -> None:
        """Refuse what cannot be done before anything is computed."""

    def _similarity(self):
        """The kernel's name or function."""
        return self.kernel
