"""What is refused before work starts: constant kernels, kernels that are none, similarities of the wrong shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelclust._input import as_table
from kernelclust.kernels import Kernel, Spectrum
from kernelclust.kernels import check_definite as check_spectrum
from kernelclust.multikernel._views import is_many

KRYLOV = 6  # products that a kernel's lowest eigenvalue is sought with
ROUNDING = 1e-12  # share of a kernel's diagonal that centring may leave of a constant one


def check_informative(kernels: Sequence[Kernel], views: Sequence[int]) -> None:
    """Refuse a constant kernel beside others: it has no residual, so weights would go to it."""
    constant = [float(np.mean(kernel.diagonal())) <= ROUNDING * kernel.raw_size() for kernel in kernels]
    if any(constant) and not all(constant):
        p = constant.index(True)
        raise ValueError(
            f"kernel {p} (view {views[p]}) is constant: all its samples are equal, so it says nothing about clusters; "
            "leave it out."
        )


def check_definite(kernel: Kernel) -> None:
    """Refuse a kernel that is far from positive semidefinite, seen from a small Krylov space."""
    if kernel.factor is not None:
        return
    n = kernel.n_samples
    Q = np.linalg.qr(np.random.RandomState(0).standard_normal((n, 1)))[0]
    images = kernel @ Q
    for _ in range(min(KRYLOV, n - 1)):
        newest = images[:, -1:] - Q @ (Q.T @ images[:, -1:])
        newest = np.linalg.qr(newest - Q @ (Q.T @ newest))[0]
        Q, images = np.hstack([Q, newest]), np.hstack([images, kernel @ newest])
    H = Q.T @ images
    values = np.linalg.eigvalsh((H + H.T) / 2)
    check_spectrum(Spectrum(values[::-1], Q, values[::-1], float(values[0]), 1 / float(np.sqrt(n))), kernel)


def check_similarities(X, observed: np.ndarray) -> list[np.ndarray]:
    """Similarities (n_new, n) of new samples with the fitted ones, one matrix a kernel."""
    n, m = observed.shape
    parts = [np.asarray(as_table(part, f"kernel {p}", missing=True)) for p, part in enumerate(X if is_many(X) else [X])]
    if len(parts) != m:
        raise ValueError(f"X holds {len(parts)} kernels, but {m} were fitted.")
    for p, part in enumerate(parts):
        if part.ndim != 2 or part.shape[1] != n:
            raise ValueError(
                f"kernel {p} has shape {part.shape}; give similarities of new samples with the {n} fitted ones, "
                f"(n_new, {n})."
            )
    return parts
