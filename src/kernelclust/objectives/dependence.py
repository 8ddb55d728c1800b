"""The one formula: F = coef <S, B(n)> - penalty |P|_1 on cluster sums S (c x c) and sizes n (c)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight

from kernelclust._names import check_name
from kernelclust.kernels import DenseKernel, check_precomputed
from kernelclust.structures import Structure, as_structure

NORMALIZATIONS = (None, "l1", "l2")
LARGEST_WEIGHT = 1e30
POWER = {None: 0.0, "l2": 0.5, "l1": 1.0}


@dataclass(frozen=True)
class Dependence:
    """Dependence between data and labels, with everything about the data in (S, n).

    With one-hot labels Pi, P = Pi T N(n)^-1 and centred K,

        F = coef tr(K P A P') - penalty sum |P|,    S = Pi' K Pi,  n = Pi' 1.

    A (c x c) says how alike two clusters are. T is the identity, or diag(Delta 1) - Delta for a loss Delta.
    N_j is 1, the l1 norm or the l2 norm of column j of Pi T; a column of norm zero counts as zero. `size_prior` adds
    that fraction of the mean cluster size to every size that N sees: clusters of like size are preferred.
    """

    A: np.ndarray
    T: np.ndarray
    normalize: str | None = "l2"
    coef: float = 1.0
    penalty: float = 0.0
    size_prior: float = 0.0

    @property
    def n_clusters(self) -> int:
        return len(self.A)

    @cached_property
    def has_loss(self) -> bool:
        return not np.array_equal(self.T, np.eye(self.n_clusters))

    @cached_property
    def neighbours(self) -> tuple[np.ndarray, np.ndarray]:
        """A list of the clusters that A compares each cluster with, after where those of each begin in it (c + 1,)."""
        off_diagonal = (self.A != 0) & ~np.eye(self.n_clusters, dtype=bool)
        return np.concatenate([[0], np.cumsum(off_diagonal.sum(axis=1))]), np.nonzero(off_diagonal)[1]

    def unchanged_by(self, node: np.ndarray) -> bool:
        """Whether F is the same for every labeling when cluster j is called node[j]."""
        where = np.ix_(node, node)
        return bool(np.allclose(self.A[where], self.A) and np.allclose(self.T[where], self.T))

    def added_size(self, total: float) -> float:
        """What the size prior adds to every size."""
        return self.size_prior * total / self.n_clusters

    def inverse_norms(self, n: np.ndarray) -> np.ndarray:
        """1 / N_j for sizes n (..., c), zero where the column is empty."""
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

    def weights(self, n: np.ndarray) -> np.ndarray:
        """B(n) = coef T N^-1 A N^-1 T' (..., c, c) for sizes n (..., c)."""
        x = self.inverse_norms(n)
        if not self.has_loss:  # T is the identity: the same numbers without the products by zeros
            return self.coef * (x[..., :, None] * self.A * x[..., None, :])
        scaled = self.T * x[..., None, :]
        return self.coef * (scaled @ self.A @ np.swapaxes(scaled, -1, -2))

    def value(self, S: np.ndarray, n: np.ndarray) -> float:
        """F for cluster sums S (c x c) and sizes n (c,)."""
        return self.value_and_terms(S, n)[0]

    def value_and_terms(self, S: np.ndarray, n: np.ndarray) -> tuple[float, np.ndarray]:
        """F, and the terms S * B(n) (c x c) that it is the sum of, less the penalty."""
        terms = S * self.weights(n)
        F = float(terms.sum())
        return F - self.penalty * float(self.absolute_sum(n)) if self.penalty else F, terms

    def slopes(self, S: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(M, h) such that a new sample with similarity sums g raises F at the rate g @ M + h, one entry a cluster."""
        x = self.inverse_norms(n)
        inner = self.T.T @ S @ self.T
        pull = 2 * self.coef * ((self.A * inner) @ x) - self.penalty * (n @ self._absolute)
        if self.normalize == "l2":
            dx = -0.5 * self._squares * x**3
        elif self.normalize == "l1":
            dx = -self._absolute * x**2
        else:
            dx = np.zeros_like(self.T)
        return 2 * self.weights(n), dx @ pull - self.penalties(n)

    def penalties(self, n: np.ndarray) -> np.ndarray:
        """What a sample of each cluster adds to the penalty (c,)."""
        return self.penalty * (self._absolute @ self.inverse_norms(n))

    def absolute_sum(self, n: np.ndarray) -> np.ndarray:
        """|P|_1 for sizes n (..., c)."""
        return ((n @ self._absolute) * self.inverse_norms(n)).sum(axis=-1)

    # -- upper bounds ---------------------------------------------------------------------------------------------

    def size_bound(self, eigenvalues: np.ndarray, n: np.ndarray) -> float:
        """No labeling with sizes n has a larger F.

        K is centred, so only H P counts; its Gram matrix is C = N^-1 T' (diag(n) - n n' / m) T N^-1 and
        tr(K P A P') <= sum_i lambda_i(K) lambda_i(C^1/2 A C^1/2) by von Neumann's inequality. For T = I and l2 this
        is the projected spectral bound.
        """
        scaled = self.T * self.inverse_norms(n)
        gram = scaled.T @ (np.diag(n) - np.outer(n, n) / n.sum()) @ scaled
        root = _psd_root(gram)
        label_eigenvalues = np.sort(np.linalg.eigvalsh(root @ self.A @ root))[::-1]
        return self.coef * _paired(eigenvalues, label_eigenvalues) - self.penalty * float(self.absolute_sum(n))

    def upper_bound(self, eigenvalues: np.ndarray, total: float, smallest: float = 1.0) -> float:
        """No labeling at all has a larger F (may be infinite for unusual losses).

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
        return self.coef * spectral - self.penalty * self._least_absolute_sum(total)

    def _least_absolute_sum(self, total: float) -> float:
        """No labeling has a smaller |P|_1: for l2, column j is (sum_k n_k t_k) / (sum_k n_k t_k^2)^1/2, t = |T_.j|.

        Its square over `total` is mean(t)^2 / mean(t^2) >= 4ab / (a + b)^2 for t in [a, b] (Kantorovich's inequality).
        """
        if self.normalize != "l2":
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


def loss_matrix(loss: object, structure: Structure) -> np.ndarray | None:
    """The c x c loss Delta that a user's `loss` stands for, or None."""
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


def make_dependence(
    structure: Structure,
    *,
    loss: object = None,
    normalize: str | None = "l2",
    rho: float = 0.0,
    C: float = 0.1,
    gamma: float = 1.0,
    size_prior: float = 0.0,
) -> Dependence:
    """Build F for a structure; C is in units of m.

    With a loss and `normalize` None or "l2" this is eq. (11) of CLUHSICAL, with "l1" eq. (13). `rho` is added to the
    diagonal of A unless A is a multiple of the identity, where it would change nothing but the scale.
    """
    check_name("normalize", normalize, NORMALIZATIONS)
    A = np.array(structure.kernel, dtype=float)
    c = len(A)
    if rho and not np.array_equal(A, A[0, 0] * np.eye(c)):
        A = A + rho * np.eye(c)
    Delta = loss_matrix(loss, structure)
    if size_prior and (Delta is not None or normalize is None):
        raise ValueError(
            f"size_prior={size_prior} needs normalize='l2' or 'l1' and no loss; a loss brings its own preference for "
            "clusters of like size."
        )
    if Delta is None:
        return Dependence(A, np.eye(c), normalize, size_prior=float(size_prior))
    T = np.diag(Delta.sum(axis=1)) - Delta
    if normalize == "l1":
        return Dependence(A, T, normalize)
    return Dependence(A, T, normalize, coef=4 * C**2 * gamma, penalty=C)


def flat_objective(objective: Dependence) -> Dependence:
    """F without structure, for a first stage: kernel k-means, or zero-one loss where there is a loss.

    Unnormalised and l1 values without a loss favour degenerate clusters, so their first stage is kernel k-means.
    """
    c = objective.n_clusters
    if objective.has_loss and objective.normalize is not None:
        return Dependence(np.eye(c), c * np.eye(c) - 1, objective.normalize, objective.coef, objective.penalty)
    return Dependence(np.eye(c), np.eye(c), "l2", size_prior=objective.size_prior)


def dependence_score(
    K: ArrayLike,
    labels: ArrayLike,
    structure: object,
    *,
    loss: object = None,
    normalize: str | None = "l2",
    C: float = 0.1,
    gamma: float = 1.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Dependence F between a kernel matrix and a labeling; the larger, the better the labels tell the data.

    F = tr(K P A P') with K centred, A the structure's label kernel and P the labels one-hot, their columns
    normalised. With a loss, P holds eq. (12) of CLUHSICAL, and for `normalize` None or "l2" the value is
    4 C^2 gamma tr(K P A P') - C |P|_1, eq. (11) with C in units of m.

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel matrix. It is centred here and not changed.
    labels : array of shape (m,)
        Integers from 0 to c - 1: places in the structure.
    structure : str, Structure or (c, c) array
        How clusters relate, as `StructuredClustering` takes it; "flat", "chain" and "ring" without a size take the
        largest label plus one.
    loss : {"zero-one", "structure"}, (c, c) array or None
        What it costs to mistake one cluster for another.
    normalize : {"l2", "l1", None}
        Norm that the columns of P are divided by.
    C, gamma : float
        Constants of eq. (11). They act through C gamma K alone: F(C, gamma; K) = (C / 0.1) F(0.1, 1; 10 C gamma K).
        Estimators have the defaults only; multiply the kernel by 10 C gamma for others. No effect with "l1".
    sample_weight : array of shape (m,), optional
        A weight counts as that many copies of a sample.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import dependence_score
    >>> X = np.array([[0.0], [0.0], [1.0], [1.0]])
    >>> round(dependence_score(X @ X.T, [0, 0, 1, 1], "flat"), 9)
    1.0
    """
    K = check_precomputed(K)
    labels = check_array(labels, ensure_2d=False, dtype=None, input_name="labels")
    if labels.ndim != 1 or len(labels) != len(K):
        raise ValueError(f"labels must be one integer a row of K: K is {K.shape}, labels {labels.shape}.")
    if not np.issubdtype(labels.dtype, np.integer):
        if not (np.issubdtype(labels.dtype, np.number) and np.array_equal(labels, np.asarray(labels, dtype=int))):
            raise ValueError("labels must be integers from 0 to c - 1, the places in the structure.")
        labels = labels.astype(int)
    sized = isinstance(structure, str) and structure in ("flat", "chain", "ring")
    structure = as_structure(structure, int(labels.max()) + 1 if sized else None)
    c = structure.n_clusters
    if labels.min() < 0 or labels.max() >= c:
        raise ValueError(f"labels run from {labels.min()} to {labels.max()}; structure '{structure}' has 0 to {c - 1}.")
    weight = check_weights(sample_weight, K)
    objective = make_dependence(structure, loss=loss, normalize=normalize, C=C, gamma=gamma)
    kernel = DenseKernel(K, weight)
    return objective.value(kernel.cluster_sums(labels, c), np.bincount(labels, weight, minlength=c))


def check_weights(sample_weight: ArrayLike | None, X: np.ndarray) -> np.ndarray:
    """Float weights (m,), none negative and not all zero."""
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weight < 0).any():
        raise ValueError(
            f"sample_weight[{int(np.argmin(weight))}] is negative; weights count copies: use zero or more."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every sample; nothing is left to cluster.")
    largest, smallest = float(weight.max()), float(weight[weight > 0].min())
    if largest > LARGEST_WEIGHT or smallest < 1 / LARGEST_WEIGHT or largest / smallest > LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight reaches from {smallest:.3g} to {largest:.3g}, too far for floating point; rescale the "
            "weights, or set those that hardly count to zero."
        )
    return weight
