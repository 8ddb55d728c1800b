"""Leading eigenpairs of a centred, weighted kernel, with upper bounds on the true eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from kernelclust._threads import one_thread
from kernelclust.kernels.operators import KernelOperator, LowRankKernel, gram

EXACT = 500  # up to here a full decomposition is cheap
PASSES = 3  # passes over a larger kernel at most
SLACK = 1e-3  # relative slack of the bounds that ends the passes early
OVERSAMPLING = 4
LANDMARKS = 500
SKETCHED = 3  # times the eigenvectors wanted that are kept of the landmarks' own
INDEFINITE = 0.1
END_BLOCK, END_PASSES, FEW_PASSES = 4, 12, 4  # vectors and products that the ends of a spectrum are sought with
NEARLY_ALL = 0.999


@dataclass(frozen=True)
class Spectrum:
    """D^1/2 H K H D^1/2 = U diag(values) U' in its leading part, D the sample weights.

    `functions` = D^-1/2 U holds an eigenvector's value at every sample, the same for a sample and its copies;
    `bounds` are not below the true leading eigenvalues, if `certain`.
    """

    values: np.ndarray  # (k,), descending
    functions: np.ndarray  # (m, k)
    bounds: np.ndarray  # (r,), r <= k
    constant: float  # value of the constant function of the same length as the eigenvectors
    certain: bool = True  # False for a sketch from a few rows, before any pass

    def at(self, samples: np.ndarray) -> Spectrum:
        """Return the spectrum restricted to some of the samples."""
        return replace(self, functions=self.functions[samples])

    @cached_property
    def embedding(self) -> np.ndarray:
        """E (m x k) with E E' the best rank-k approximation of the centred kernel."""
        return self.functions * np.sqrt(np.maximum(self.values, 0))


def leading_spectrum(kernel: KernelOperator, k: int, n_bounds: int, rng: np.random.RandomState) -> Spectrum:
    """K leading eigenpairs of a kernel, and bounds on the first n_bounds eigenvalues.

    Exact for kernels with a factor and small ones; otherwise by a few block Lanczos steps, one pass over the kernel
    each. Where a pass is not cheap it is a sketch from some rows, to be made `certified` once labels are known.
    """
    k = max(1, min(k, kernel.n_samples))
    root = np.sqrt(kernel.weight)
    constant = 1 / float(np.sqrt(kernel.weight.sum()))
    if kernel.factor is not None and kernel.factor.shape[1] > kernel.n_samples:
        half = root[:, None] * kernel.factor
        return _exact(half @ half.T, root, k, n_bounds)
    if kernel.factor is not None:
        values, vectors = _descending(gram(kernel.factor, kernel.weight))
        values, vectors = values[:k], vectors[:, :k]
        positive = np.where(values > max(values[0], 0) * 1e-13, values, np.inf)
        functions = kernel.factor @ (vectors / np.sqrt(positive))
        return Spectrum(np.maximum(values, 0), functions, np.maximum(values[:n_bounds], 0), constant)
    if kernel.n_samples <= EXACT:
        K = root[:, None] * kernel.rows(np.arange(kernel.n_samples)) * root
        return _exact((K + K.T) / 2, root, k, n_bounds)
    if not kernel.cheap:
        return replace(leading_spectrum(_sketched(kernel, k, rng), k, n_bounds, rng), certain=False)
    values, vectors, bounds = _block_lanczos(
        lambda V: root[:, None] * (kernel @ (root[:, None] * V)),
        _landmark_vectors(kernel, k + OVERSAMPLING, rng),
        k,
        min(n_bounds, k),
        kernel.squared_norm,
    )
    return Spectrum(values, vectors / root[:, None], bounds, constant)


def certified(kernel: KernelOperator, spectrum: Spectrum, V: np.ndarray) -> tuple[Spectrum, np.ndarray]:
    """The spectrum with bounds that hold, and K V: both from one pass."""
    root = np.sqrt(kernel.weight)[:, None]
    k, n_bounds = len(spectrum.values), len(spectrum.bounds)
    Q = _orthonormal(root * spectrum.functions)
    product = kernel @ np.hstack([root * Q, V])
    images = root * product[:, : Q.shape[1]]
    H = Q.T @ images
    theta, Y = _descending((H + H.T) / 2)
    bounds = eigenvalue_bounds(theta, Y, images, kernel.squared_norm(), n_bounds)
    functions = Q @ Y[:, :k] / root
    found = Spectrum(theta[:k], functions, bounds, spectrum.constant)
    return found, product[:, Q.shape[1] :]


def _exact(K: np.ndarray, root: np.ndarray, k: int, n_bounds: int) -> Spectrum:
    """Spectrum of a weighted matrix by a full decomposition: k eigenpairs, or more to hold nearly all of the trace."""
    values, vectors = _descending(K)
    share = np.cumsum(np.maximum(values, 0)) / max(np.maximum(values, 0).sum(), np.finfo(float).tiny)
    k = max(k, int(np.searchsorted(share, NEARLY_ALL)) + 1)
    constant = 1 / float(np.sqrt((root**2).sum()))
    return Spectrum(values[:k], vectors[:, :k] / root[:, None], values[:n_bounds], constant)


def _landmarks(kernel: KernelOperator, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """A few hundred rows of the kernel, and which they are."""
    m = kernel.n_samples
    chosen = np.sort(rng.choice(m, min(m, LANDMARKS), replace=False))
    return kernel.sketch(chosen), chosen


def _landmark_vectors(kernel: KernelOperator, k: int, rng: np.random.RandomState) -> np.ndarray:
    """Eigenvectors (m x k) as a few hundred samples see them: a start from a small part of one pass."""
    rows, chosen = _landmarks(kernel, rng)
    number = len(chosen)
    with one_thread():
        vectors = eigh(rows[:, chosen], subset_by_index=[max(number - k, 0), number - 1])[1]
    return np.sqrt(kernel.weight)[:, None] * (rows.T @ vectors)


def _sketched(kernel: KernelOperator, k: int, rng: np.random.RandomState) -> LowRankKernel:
    """Return the leading spectrum estimated from a few hundred rows of the kernel."""
    rows, chosen = _landmarks(kernel, rng)
    values, vectors = _descending((rows[:, chosen] + rows[:, chosen].T) / 2)
    some = values[: SKETCHED * k] > 1e-6 * max(float(values[0]), np.finfo(float).tiny)
    keep = np.flatnonzero(some) if some.any() else np.arange(1)
    size = np.sqrt(np.maximum(values[keep], np.finfo(float).tiny))
    return LowRankKernel(rows.T @ (vectors[:, keep] / size), kernel.weight, overwrite=True)


def check_definite(kernel: KernelOperator, remedy: str = "") -> None:
    """Refuse a kernel with a negative eigenvalue of more than a tenth of the largest; `remedy` is a further way out.

    Both ends of the spectrum are sought by a few products with the kernel (all of it, if small): for kernels that are
    not known to be positive semidefinite, such as matrices that users bring.
    """
    if kernel.factor is not None:
        return
    lowest, top = spectrum_ends(kernel)
    if lowest >= -INDEFINITE * max(top, 0.0) or -lowest <= 2e-10 * kernel.raw_size() * kernel.weight.sum():
        return  # the latter: what rounding leaves of a constant kernel
    distances = "These may be distances. " if -lowest > top else ""
    raise ValueError(
        f"the kernel is far from positive semidefinite: its eigenvalues{', once centred,' if kernel.centred else ''} "
        f"reach from {lowest:.3g} to {top:.3g}. {distances}A kernel holds similarities: turn distances D into one, "
        f"e.g. exp(-D**2 / D.mean()**2){remedy}."
    )


def spectrum_ends(kernel: KernelOperator) -> tuple[float, float]:
    """The lowest and the largest eigenvalue of D^1/2 K D^1/2: exact for small kernels, else by a block Krylov space.

    The ends of that lie between the true ones. A negative eigenvalue that matters stands out from the others, so that
    a dozen products find it.
    """
    root, m = np.sqrt(kernel.weight)[:, None], kernel.n_samples
    with one_thread():
        if m <= EXACT:
            K = root * kernel.rows(np.arange(m)) * root.T
            values = np.linalg.eigvalsh((K + K.T) / 2)
            return float(values[0]), float(values[-1])
        newest = _orthonormal(np.random.RandomState(0).standard_normal((m, END_BLOCK)))
        Q, images = np.empty((m, 0)), np.empty((m, 0))
        for _ in range(END_PASSES if kernel.cheap else FEW_PASSES):
            Q, images = np.hstack([Q, newest]), np.hstack([images, root * (kernel @ (root * newest))])
            newest = _orthonormal(images[:, -newest.shape[1] :], Q)
            if not newest.shape[1]:
                break
        H = Q.T @ images
        values = np.linalg.eigvalsh((H + H.T) / 2)
    return float(values[0]), float(values[-1])


def _descending(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with one_thread():
        values, vectors = np.linalg.eigh(matrix)
    return values[::-1], vectors[:, ::-1]


def _block_lanczos(product, start: np.ndarray, k: int, n_bounds: int, squared_norm):
    """Ritz values and vectors, and bounds, from the Krylov space of a block."""
    m, block = start.shape
    newest = _orthonormal(start)
    if not newest.shape[1]:  # of a kernel of zeros every vector is an eigenvector
        newest = np.full((m, 1), m**-0.5)
    Q, images = newest, np.empty((m, 0))
    for step in range(1, PASSES + 1):
        images = np.hstack([images, product(newest)])
        H = Q.T @ images
        theta, Y = _descending((H + H.T) / 2)
        bounds = eigenvalue_bounds(theta, Y, images, squared_norm(), n_bounds)
        if step == PASSES or Q.shape[1] + block > m or _slack(theta, bounds) < SLACK:
            break
        newest = _orthonormal(images[:, -newest.shape[1] :], Q)
        if not newest.shape[1]:
            break
        Q = np.hstack([Q, newest])
    return theta[:k], Q @ Y[:, :k], bounds


def _orthonormal(Z: np.ndarray, Q: np.ndarray | None = None) -> np.ndarray:
    """Orthonormal basis of the columns of Z, orthogonal to Q; by Gram matrices, twice, which is enough."""
    for _ in range(2):
        if Q is not None:
            Z = Z - Q @ (Q.T @ Z)
        size = np.abs(Z).max(axis=0, initial=0.0)  # whose square may be zero
        Z = Z / np.where(size > 0, size, 1)
        size = np.sqrt(np.einsum("ij,ij->j", Z, Z))
        Z = Z / np.where(size > 0, size, 1)
        values, vectors = np.linalg.eigh(Z.T @ Z)
        keep = values > 1e-10 * values.max(initial=1e-10)  # none are left of a kernel of low rank
        Z = Z @ (vectors[:, keep] / np.sqrt(values[keep]))
    return Z


def _slack(theta: np.ndarray, bounds: np.ndarray) -> float:
    if theta[0] <= 0:
        return 0.0
    return float((bounds.sum() - theta[: len(bounds)].sum()) / theta[0])


def eigenvalue_bounds(theta, Y, images, squared_norm: float, count: int) -> np.ndarray:
    """Upper bounds on the `count` largest eigenvalues of K from the Ritz values theta of an orthonormal basis.

    In a basis that starts with the leading Ritz vectors, K = [Theta R'; R C]. Then
    lambda_i <= theta_i + 2 |R|^2 / (gap + sqrt(gap^2 + 4 |R|^2)), gap = theta_i - |C| (Li and Li, 2005).
    Eigenvalues beyond the basis, which ends early for kernels of few different samples, are at most |C| + |R| (Weyl).
    """
    beyond, count = max(count - len(theta), 0), min(count, len(theta))
    squares = Y.T @ (images.T @ images) @ Y  # (K q_i)'(K q_j) for Ritz vectors q
    residual = squares - np.diag(theta**2)  # Gram matrix of the residuals K q_i - theta_i q_i
    R = _root_norm(residual[:count, :count])
    remainder = _remainder_bound(theta, residual, squared_norm, count)
    gap = np.maximum(theta[:count] - remainder, 0.0)
    rise = 2 * R**2 / np.maximum(gap + np.sqrt(gap**2 + 4 * R**2), np.finfo(float).tiny)
    found = np.maximum(theta[:count], remainder) + rise
    return np.concatenate([found, np.full(beyond, remainder + R)])


def _remainder_bound(theta: np.ndarray, residual: np.ndarray, squared_norm: float, count: int) -> float:
    """Upper bound on the largest eigenvalue of C: what the Frobenius norm of K leaves, with or without the other
    Ritz vectors taken out as well.
    """

    def left(taken: int) -> float:
        used = (theta[:taken] ** 2).sum() + 2 * max(np.trace(residual[:taken, :taken]), 0.0)
        return float(np.sqrt(max(float(squared_norm - used), 0.0)))

    if count == len(theta):
        return left(count)
    return min(left(count), max(float(theta[count]), left(len(theta))) + _root_norm(residual[count:, count:]))


def _root_norm(gram: np.ndarray) -> float:
    return float(np.sqrt(float(np.linalg.norm(gram, 2)))) if gram.size else 0.0
