"""How good is the first-order step that leads to CLUHSICAL: table VI of its paper, and the regression behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, cg, eigsh

from kernelclust.kernels import DenseKernel, KernelOperator, check_precomputed, spectrum_ends
from kernelclust.metrics import node_labels
from kernelclust.objectives import loss_matrix
from kernelclust.structures import as_structure

INDEFINITE = 1e-6  # most negative eigenvalue, relative to the largest, from which a kernel is refused


@dataclass(frozen=True)
class StructuredRidge:
    """Ridge regression on the joint kernel k(x, x') A(y, y') with a slack for every pair (i, y), y != y_i: eq. (3).

    Its dual is (gamma J + S) alpha = 1 over these pairs, with S^-1 = 2 C Delta(y_i, y) and

        J alpha = Z[i, y_i] - Z[i, y],   Z = K B A,   B[i, y] = -alpha_iy,  B[i, y_i] = sum_y alpha_iy.

    Pairs are kept as an m x c array that is zero at (i, y_i), so a product with J is one with K: J itself, of
    (m (c - 1))^2 entries, is never formed. Unknowns are S^1/2 alpha, so that a loss of zero between two places, an
    infinite S, is nothing special. K is centred, as everywhere here; C is in units of m.
    """

    kernel: KernelOperator
    labels: np.ndarray  # (m,)
    A: np.ndarray  # (c, c)
    Delta: np.ndarray  # (c, c)
    C: float
    gamma: float = 1.0
    precision: float = 1e-13  # relative residual of the solution

    @cached_property
    def root(self) -> np.ndarray:
        """S^-1/2 1 (m, c)."""
        return np.sqrt(2 * self.C * self.Delta[self.labels])

    def spread(self, V: np.ndarray) -> np.ndarray:
        """B (m, c) of the docstring for alpha = S^-1/2 V: what a pair takes from y it gives to y_i."""
        B = -self.root * V
        B[np.arange(len(B)), self.labels] -= B.sum(axis=1)
        return B

    def product(self, V: np.ndarray) -> np.ndarray:  # (m, c) -> (m, c)
        """gamma S^-1/2 J S^-1/2 V."""
        Z = self.kernel @ (self.spread(V) @ self.A)
        return self.gamma * self.root * (Z[np.arange(len(Z)), self.labels][:, None] - Z)

    @cached_property
    def solution(self) -> np.ndarray:
        """S^1/2 alpha (m, c), by conjugate gradients."""
        shape, size = self.root.shape, self.root.size
        system = LinearOperator((size, size), lambda v: v + self.product(v.reshape(shape)).ravel(), dtype=float)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # a step may be lost in rounding
            found, info = cg(system, self.root.ravel(), rtol=self.precision, atol=0.0, maxiter=20 * size + 100)
        if info != 0 or not np.isfinite(found).all():
            raise ValueError(
                f"conjugate gradients did not solve the {size} equations: C * gamma = {self.C * self.gamma:.3g} times "
                "the kernel is too large for floating point; choose a smaller C or gamma, or rescale the kernel."
            )
        return found.reshape(shape)

    @property
    def value(self) -> float:
        """Return t1 = 1'(gamma J + S)^-1 1, twice the least objective of eq. (3): eq. (9)."""
        return float(np.vdot(self.root, self.solution))

    def scores(self) -> np.ndarray:
        """<w, phi(x_i, y)> of the trained predictor (m, c): a sample is predicted where its score is largest."""
        return self.gamma * (self.kernel @ (self.spread(self.solution) @ self.A))


class FirstOrderError(NamedTuple):
    """Exact value t1, its first-order approximation t2, |t1 - t2| / t1, and the gamma below which (10) holds."""

    t1: float
    t2: float
    relative_error: float
    gamma_limit: float


def first_order_error(
    K: ArrayLike,
    labels: ArrayLike,
    structure: object,
    *,
    loss: object = "zero-one",
    C: float = 0.1,
    gamma: float = 1.0,
) -> FirstOrderError:
    """How far the objective of CLUHSICAL is from the regression it approximates, at a labeling (its table VI).

    CLUHSICAL wants the labels under which structured ridge regression fits best, the smallest

        t1 = 1'(gamma J + S)^-1 1,   and maximises F = -t2,   t2 = 1'S^-1 1 - gamma 1'S^-1 J S^-1 1,

    with J and S of eqs. (5) and (6) over all pairs (i, y != y_i). F is `structured_hsic` with this loss and
    normalize=None. The error depends on C and gamma through C * gamma only and falls as its square once that is small;
    it also depends on the scale of K: with a unit diagonal the default C is far from small, with K / m it is not.
    It is computed as (N r)'(I + N)^-1 (N r) / t1, r = S^-1/2 1, N = gamma S^-1/2 J S^-1/2, which loses no digits where
    t1 and t2 agree in all of theirs.

    Parameters
    ----------
    K : array of shape (m, m)
        Positive semidefinite kernel matrix. It is centred here and not changed.
    labels : array of shape (m,)
        Integers from 0 to c - 1: places in the structure.
    structure : str, Structure or (c, c) array
        How clusters relate.
    loss : {"zero-one", "structure"} or (c, c) array
        What it costs to mistake one cluster for another.
    C : float
        Weight of the errors, in units of m.
    gamma : float
        Factor of the joint kernel.

    Returns
    -------
    FirstOrderError
        t1, t2, relative_error = |t1 - t2| / t1, and gamma_limit = 1 / (|S^-1| |J|) in the spectral norm: condition (10)
        of the paper, under which the series behind the approximation converges, is gamma < gamma_limit.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.first_order import first_order_error
    >>> x = np.array([-1.5, -0.5, 0.5, 1.5])
    >>> first_order_error(np.outer(x, x), [0, 0, 1, 1], "chain:2", C=0.01)
    FirstOrderError(t1=0.0693..., t2=0.0672..., relative_error=0.0307..., gamma_limit=...)
    """
    K = check_precomputed(K)
    places = as_structure(structure)
    y = node_labels(labels, places, "labels")
    if len(y) != len(K):
        raise ValueError(f"labels must be one integer a row of K: K is {K.shape}, labels ({len(y)},).")
    Delta = loss_matrix(loss, places)
    if Delta is None:
        raise ValueError("the approximation is about a loss; give loss='zero-one', 'structure' or a c x c array.")
    for name, value in (("C", C), ("gamma", gamma)):
        if not isinstance(value, Real) or not 0 < float(value) < np.inf:
            raise ValueError(f"{name}={value!r}: give a positive number.")
    kernel = DenseKernel(K)
    check_regression(kernel)
    ridge = StructuredRidge(kernel, y, np.asarray(places.kernel, dtype=float), Delta, float(C), float(gamma))
    if not ridge.root.any():
        raise ValueError("the loss is zero for these labels: there is nothing to approximate.")
    r, x = ridge.root, ridge.solution
    first = ridge.product(r)
    t1 = ridge.value
    error = float(np.vdot(first, ridge.product(x))) / t1
    return FirstOrderError(t1, float(np.vdot(r, r - first)), error, _gamma_limit(ridge))


def _gamma_limit(ridge: StructuredRidge) -> float:
    """Return 1 / (|S^-1| |J|) in the spectral norm; infinite where J = 0."""
    c = len(ridge.A)
    plain = replace(ridge, Delta=1.0 - np.eye(c), C=0.5, gamma=1.0)  # S = I: its product is one with J
    shape, size = ridge.root.shape, ridge.root.size
    J = LinearOperator((size, size), lambda v: plain.product(v.reshape(shape)).ravel(), dtype=float)
    start = np.random.default_rng(0).standard_normal(size)
    norm = float(eigsh(J, 1, which="LA", v0=start, return_eigenvectors=False)[0])
    rounding = 1e-12 * ridge.kernel.raw_size() * len(ridge.labels)
    return 1 / (float(np.square(ridge.root).max()) * norm) if norm > rounding else np.inf


def check_regression(kernel: KernelOperator) -> None:
    """Refuse a kernel that ridge regression cannot use."""
    if kernel.factor is not None:
        return
    lowest, top = spectrum_ends(kernel)
    if lowest < -INDEFINITE * max(top, 0.0) and -lowest > 1e-12:
        raise ValueError(
            f"the kernel is not positive semidefinite: its eigenvalues, once centred, reach from {lowest:.3g} "
            f"to {top:.3g}, and ridge regression needs a positive one. Clip the negative eigenvalues."
        )
