"""The one formula: F = coef <S, B(n)> - penalty(n) on cluster sums S (c x c) and sizes n (c)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernelclust._arrays import library, like


@dataclass(frozen=True)
class Assignment:
    """Rule that assigns a sample to the cluster where F rises most, with the clusters held fixed.

    A sample with similarity sums g raises F at the rate g @ M + h, one entry a cluster; on arrays of any library. Axes
    before these hold several problems at once.
    """

    M: np.ndarray  # (..., c, c), or (..., r, c) for features
    h: np.ndarray  # (..., c)

    def rises(self, G: Any) -> Any:
        """Return the rates (m, c) of samples with sums G (m, c)."""
        return G @ like(self.M, G) + like(self.h if self.h.ndim == 1 else self.h[..., None, :], G)

    def labels(self, G: Any, known: np.ndarray | None = None) -> Any:
        """Return the cluster (m,) where F rises most, or the known label (-1 for none)."""
        xp = library(G)
        found = xp.argmax(self.rises(G), axis=-1)
        if known is None:
            return found
        known = np.asarray(known)
        told = known if xp is np else xp.asarray(known, dtype=found.dtype, device=found.device)
        return xp.where(told >= 0, told, found)


POWER = {None: 0.0, "l2": 0.5, "l1": 1.0}


@dataclass(frozen=True)
class ClusterObjective:
    """Dependence between data and labels, with everything about the data in (S, n).

    With one-hot labels Pi, P = Pi T N(n)^-1 and centred K,

        F = coef tr(K P A P') - penalty R(P),    S = Pi' K Pi,  n = Pi' 1.

    A (c x c) says how alike two clusters are. T is the identity, or diag(Delta 1) - Delta for a loss Delta.
    N_j is 1, the l1 norm or the l2 norm of column j of Pi T; a column of norm zero counts as zero. R(P) is sum |P| of
    slack re-scaling, or with `margin` twice the sum of squares of P off each sample's own cluster, of margin
    re-scaling. `size_prior` adds that fraction of the mean cluster size to every size that N sees: clusters of similar
    size are preferred.
    """

    A: np.ndarray
    T: np.ndarray
    normalize: str | None = "l2"
    coef: float = 1.0
    penalty: float = 0.0
    size_prior: float = 0.0
    margin: bool = False

    @property
    def n_clusters(self) -> int:
        return len(self.A)

    @cached_property
    def has_loss(self) -> bool:
        return not np.array_equal(self.T, np.eye(self.n_clusters))

    @cached_property
    def neighbours(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where the clusters that A compares each cluster with begin in a list (c + 1,), and the list."""
        off_diagonal = (self.A != 0) & ~np.eye(self.n_clusters, dtype=bool)
        return np.concatenate([[0], np.cumsum(off_diagonal.sum(axis=1))]), np.nonzero(off_diagonal)[1]

    def unchanged_by(self, node: np.ndarray) -> bool:
        """Return whether F is the same for every labeling when cluster j is called node[j]."""
        where = np.ix_(node, node)
        return bool(np.allclose(self.A[where], self.A) and np.allclose(self.T[where], self.T))

    def added_size(self, total: Any) -> Any:
        """Return what the size prior adds to every size."""
        return self.size_prior * total / self.n_clusters

    def inverse_norms(self, n: np.ndarray) -> np.ndarray:
        """Return 1 / N_j for sizes n (..., c), zero where the column is empty."""
        if self.normalize is None:
            return np.ones(n.shape)
        if self.size_prior:
            n = n + self.added_size(n.sum(axis=-1, keepdims=True))
        powers = n if not self.has_loss else n @ (self._absolute if self.normalize == "l1" else self._squares)
        norms = powers if self.normalize == "l1" else np.sqrt(powers)
        return np.divide(1.0, norms, out=np.zeros(norms.shape), where=norms > 0)

    @cached_property
    def _absolute(self) -> np.ndarray:
        return np.abs(self.T)

    @cached_property
    def _squares(self) -> np.ndarray:
        return self.T**2

    @cached_property
    def charges(self) -> np.ndarray:
        """Return W (c x c): R(P) = sum_j (n' W)_j / N_j^q with q = `charge_power`."""
        return 2 * self._squares * (1 - np.eye(self.n_clusters)) if self.margin else self._absolute

    @property
    def charge_power(self) -> int:
        """Return q, the power of 1 / N_j in R(P)."""
        return 2 if self.margin else 1

    def weights(self, n: np.ndarray) -> np.ndarray:
        """Return B(n) = coef T N^-1 A N^-1 T' (..., c, c) for sizes n (..., c)."""
        x = self.inverse_norms(n)
        if not self.has_loss:  # T is the identity: the same numbers without the products by zeros
            return self.coef * (x[..., :, None] * self.A * x[..., None, :])
        scaled = self.T * x[..., None, :]
        return self.coef * (scaled @ self.A @ np.swapaxes(scaled, -1, -2))

    def value(self, S: np.ndarray, n: np.ndarray) -> float:
        """Return F for cluster sums S (c x c) and sizes n (c,)."""
        return self.value_and_terms(S, n)[0]

    def value_and_terms(self, S: np.ndarray, n: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F, and the terms S * B(n) (c x c) that it is the sum of, less the penalty."""
        terms = S * self.weights(n)
        F = float(terms.sum())
        return F - float(self.total_penalty(n)) if self.penalty else F, terms

    def values(self, S: np.ndarray, n: np.ndarray) -> np.ndarray:
        """Return F (...) of several problems, for cluster sums S (..., c, c) and sizes n (..., c)."""
        return (S * self.weights(n)).sum(axis=(-2, -1)) - self.total_penalty(n)

    def slopes(self, S: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (M, h) such that a new sample with similarity sums g raises F at the rate g @ M + h.

        S is (..., c, c), n and h are (..., c), one entry a cluster.
        """
        x = self.inverse_norms(n)
        inner = self.T.T @ S @ self.T
        q = self.charge_power
        rate = 2 * self.coef * ((self.A * inner) @ x[..., None])[..., 0]
        rate = rate - self.penalty * q * (n @ self.charges) * x ** (q - 1)
        if self.normalize == "l2":
            dx = -0.5 * self._squares * x[..., None, :] ** 3
        elif self.normalize == "l1":
            dx = -self._absolute * x[..., None, :] ** 2
        else:
            dx = np.zeros_like(self.T)
        return 2 * self.weights(n), (dx @ rate[..., None])[..., 0] - self.penalties(n)

    def assignment(self, S: np.ndarray, n: np.ndarray) -> Assignment:
        """Return where new samples go: to no cluster that is empty."""
        M, h = self.slopes(S, n)
        return Assignment(M, np.where(n > 0, h, -np.inf))

    def penalties(self, n: np.ndarray) -> np.ndarray:
        """Return what a sample of each cluster adds to the penalty (..., c)."""
        return self.penalty * (self.charges @ self.inverse_norms(n)[..., None] ** self.charge_power)[..., 0]

    def total_penalty(self, n: np.ndarray, x: np.ndarray | None = None) -> np.ndarray:
        """Return penalty R(P) for sizes n (..., c); x are the inverse norms, where they are known."""
        x = self.inverse_norms(n) if x is None else x
        return self.penalty * ((n @ self.charges) * x**self.charge_power).sum(axis=-1)

    # -- upper bounds ---------------------------------------------------------------------------------------------

    def size_bound(self, eigenvalues: np.ndarray, n: np.ndarray) -> float:
        """Return a bound: no labeling with sizes n has a larger F.

        K is centred, so only H P counts; its Gram matrix is C = N^-1 T' (diag(n) - n n' / m) T N^-1 and
        tr(K P A P') <= sum_i lambda_i(K) lambda_i(C^1/2 A C^1/2) by von Neumann's inequality. For T = I and l2 this
        is the projected spectral bound.
        """
        scaled = self.T * self.inverse_norms(n)
        gram = scaled.T @ (np.diag(n) - np.outer(n, n) / n.sum()) @ scaled
        root = _psd_root(gram)
        label_eigenvalues = np.sort(np.linalg.eigvalsh(root @ self.A @ root))[::-1]
        return self.coef * _paired(eigenvalues, label_eigenvalues) - float(self.total_penalty(n))

    def upper_bound(self, eigenvalues: np.ndarray, total: float, smallest: float = 1.0) -> float:
        """Return a bound: no labeling at all has a larger F (may be infinite for unusual losses).

        For l2 without a loss this is sum_i lambda_i(K) lambda_i(A) over the eigenvalues given: a centred kernel
        leaves c - 1 directions to c clusters, and compressing A can only lower its eigenvalues. Otherwise the squared
        norm of P, bounded over all sizes that add up to `total` (each at least `smallest`), multiplies it.
        """
        absolute = self._absolute
        if self.normalize is None:
            columns = total * absolute.max(axis=0) ** 2
        elif self.normalize == "l2":
            columns = np.ones(self.n_clusters)
        else:
            least = smallest * absolute.max(axis=0) if not self.has_loss else total * absolute.min(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                columns = np.where(absolute.max(axis=0) > 0, absolute.max(axis=0) / least, 0.0)
        if not self.has_loss:
            norm = columns.max()
        else:
            norm = columns.sum()
        label_eigenvalues = np.sort(np.linalg.eigvalsh(self.A))[::-1]
        spectral = norm * _paired(eigenvalues, label_eigenvalues)
        return self.coef * spectral - self.penalty * self._least_charge(total)

    def _least_charge(self, total: float) -> float:
        """Return a bound: no labeling has a smaller R(P).

        For sum |P| and l2, column j is (sum_k n_k t_k) / (sum_k n_k t_k^2)^1/2, t = |T_.j|. Its square over `total` is
        mean(t)^2 / mean(t^2) >= 4ab / (a + b)^2 for t in [a, b] (Kantorovich's inequality).
        """
        if self.normalize != "l2" or self.margin:
            return 0.0
        a, b = np.abs(self.T).min(axis=0), np.abs(self.T).max(axis=0)
        return float((2 * np.sqrt(total * a * b) / np.where(b > 0, a + b, 1.0)).sum())


def _psd_root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


def _paired(data: np.ndarray, labels: np.ndarray) -> float:
    """Sum of products of the largest eigenvalues of the data kernel and of the label kernel."""
    k = min(len(data), len(labels))
    return float(np.maximum(data[:k], 0) @ np.maximum(labels[:k], 0))


def flat_objective(objective: ClusterObjective) -> ClusterObjective:
    """Return F without structure, for a first stage: kernel k-means, or zero-one loss where there is a loss.

    Unnormalised and l1 values without a loss favour degenerate clusters, so their first stage is kernel k-means.
    """
    c = objective.n_clusters
    if objective.has_loss and objective.normalize is not None:
        return replace(objective, A=np.eye(c), T=c * np.eye(c) - 1)
    return ClusterObjective(np.eye(c), np.eye(c), "l2", size_prior=objective.size_prior)
