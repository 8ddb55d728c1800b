"""Weights of kernels over samples that lie elsewhere: from features of a few, and sums of features over all.

Kernels K_p = B_p B_p' enter eq. (8) by traces, Tr(K_p K_q) and eigenvalues alone. All of these are the same for any
other rows with the same Gram matrix B'DB, B = (B_1 ... B_m): a few hundred stand for any number of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from sklearn.utils import check_random_state

from kernelclust.kernels import Kernel, LowRankKernel
from kernelclust.multikernel._base import make_task
from kernelclust.multikernel._fit import ManyFit, MultiKernelConfig
from kernelclust.multikernel._prepare import ROUNDING, SMALL, Summed
from kernelclust.multikernel._refine import Alternation, Unrelaxed, explained
from kernelclust.objectives import ClusterObjective


@dataclass(frozen=True)
class Part:
    """Features of one kernel, of some columns of all views side by side, and `array(xp, X)`, the same for arrays of any
    library; `offset` is their mean over all samples, and squared norms up to `least` are rounding.
    """

    columns: slice
    features: Callable
    array: Callable | None
    offset: np.ndarray
    least: float = 0.0


@dataclass(frozen=True)
class PreparedFeatures:
    """x -> (b_1(x) ... b_m(x)), <b_p(x), b_p(y)> the prepared kernel p."""

    parts: list[Part]
    unit: bool

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.hstack([self._of(part, np.asarray(part.features(X[:, part.columns]))) for part in self.parts])

    def _of(self, part: Part, B: np.ndarray) -> np.ndarray:
        B = B.astype(np.float64, copy=False) - part.offset
        if not self.unit:
            return B
        own = np.einsum("ij,ij->i", B, B)
        some = own > part.least
        return B * (some / np.sqrt(np.where(some, own, 1.0)))[:, None]

    def array(self, xp, X):
        """Return the same sums for arrays of any array API namespace."""
        found = []
        for part in self.parts:
            assert part.array is not None
            B = part.array(xp, X[:, part.columns])
            B = B - xp.asarray(part.offset, dtype=B.dtype, device=B.device)
            if self.unit:
                own = xp.sum(B * B, axis=1)[:, None]
                B = xp.where(own > part.least, B / xp.sqrt(xp.where(own > part.least, own, xp.ones_like(own))), 0 * B)
            found.append(B)
        return xp.concat(found, axis=1)

    @property
    def columns(self) -> list[slice]:
        """Return the columns of each kernel among all features."""
        ends = np.cumsum([0, *(len(part.offset) for part in self.parts)]).tolist()
        return [slice(*pair) for pair in pairwise(ends)]

    def over_all(
        self,
        weight: float,
        first: np.ndarray,
        second: np.ndarray,
        largest: np.ndarray,
        *,
        unit: bool,
        center: bool,
    ) -> PreparedFeatures:
        """Centred, and of unit norm, by moments of these features over all samples."""
        mean, parts = (first if center else np.zeros_like(first)) / weight, []
        for part, at in zip(self.parts, self.columns, strict=True):
            own = max(float((second[at] / weight - mean[at] ** 2).sum()), 0.0)
            least = max(SMALL * own, ROUNDING * float(largest[at].sum()))
            parts.append(replace(part, offset=mean[at], least=least))
        return PreparedFeatures(parts, unit)


def raw_features(few: ManyFit, columns: Sequence[slice], kernels: Sequence[Kernel]) -> PreparedFeatures:
    """Features of the kernels of a fit, as they are: exact ones for kernels that have some, else those of the fit.

    `columns` are those of each view.
    """
    source, parts = _source(few), []
    for one, view, kernel in zip(source.fitted, source.views, kernels, strict=True):
        assert view is not None and one.operator.factor is not None
        at = columns[view]
        if kernel.has_features:
            parts.append(Part(at, kernel.features, kernel.array_features, np.zeros(at.stop - at.start)))
        else:
            made = one.source.features  # type: ignore[attr-defined]
            parts.append(Part(at, made, made.array, np.zeros(one.operator.factor.shape[1])))
    return PreparedFeatures(parts, unit=False)


def _source(few: ManyFit) -> Summed:
    source = few.fit.kernel.source
    assert isinstance(source, Summed)
    return source


@dataclass
class FeatureAlternation(Alternation):
    """The alternation for kernels whose features have the Gram matrix `gram` (R, R) over all samples."""

    gram: np.ndarray = field(kw_only=True)
    columns: Sequence[slice] = field(kw_only=True)
    explained: np.ndarray = field(default_factory=lambda: np.empty(0))  # (m,) share of each trace between clusters

    @property
    def scale(self) -> np.ndarray:
        """(R,) what features are multiplied by in the combined kernel."""
        return self.spread(np.sqrt(self.coefficients))

    def spread(self, values: np.ndarray) -> np.ndarray:
        return np.concatenate([np.full(at.stop - at.start, one) for one, at in zip(values, self.columns, strict=True)])

    def learn_features(self, features: np.ndarray, n: np.ndarray, moved: bool) -> bool:
        """Learn from features summed by cluster (c, R): S_p = F_p F_p'."""
        sums = np.array([features[:, at] @ features[:, at].T for at in self.columns])
        self.explained = explained(sums, n, self.J.task.traces)
        return self.learn(sums, n, moved)

    def embedding_map(self) -> np.ndarray:
        """(R, c): features of all samples times this are the leading eigenvectors of the relaxed combination."""
        coefficients = self.relaxed.coefficients
        assert coefficients is not None
        root = self.spread(np.sqrt(coefficients))
        values, vectors = np.linalg.eigh(root[:, None] * self.gram * root)
        k = self.J.task.n_clusters
        values, vectors = values[::-1][:k], vectors[:, ::-1][:, :k]
        return root[:, None] * vectors / np.sqrt(np.where(values > 0, values, np.inf))


def feature_alternation(
    gram: np.ndarray,
    columns: Sequence[slice],
    few: ManyFit,
    config: MultiKernelConfig,
    objective: ClusterObjective,
    total: float,
    lightest: float,
) -> FeatureAlternation:
    """Weights over all samples, of this weight in total and at least, after a fit of a few of them.

    Of several variants of the method it is the one, over all samples, that was the best for the few.
    """
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    B = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    kernels = [LowRankKernel(B[:, at], center=False) for at in columns]
    task = make_task(config.method, kernels, config.structure.n_clusters, check_random_state(0), config.max_iter)
    method, task = config.method.variants(task)[few.variant]
    relaxed = method.solve(task)
    J = Unrelaxed(task, objective, total, lightest)
    return FeatureAlternation(J, relaxed, few.refined.weights, method.tol, gram=gram, columns=columns)
