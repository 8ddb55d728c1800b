"""Leading eigenvectors by a block method that goes on from those of a nearby matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelclust.multikernel._spectral import EXACT

DEPTH = 3  # blocks of the Krylov space between two restarts
TOLERANCE = 1e-5  # residual beside the largest eigenvalue; eigenvalues are then good to its square
RESTARTS = 20


def leading_eigenvectors(
    product: Callable[[np.ndarray], np.ndarray], start: np.ndarray, k: int, image: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Values (descending) and vectors of a symmetric matrix known by its products, as many as `start` has columns.

    The first k are converged. The space always holds `start`, so that the sum of the first k values is never below
    what orthonormal `start` gave. `image` is product(start), if it is known and `start` orthonormal.
    """
    n, block = start.shape
    if n <= max(EXACT, (DEPTH + 1) * block):
        K = product(np.eye(n))
        values, vectors = np.linalg.eigh((K + K.T) / 2)
        return values[::-1][:block], vectors[:, ::-1][:, :block]
    V = start
    if image is None:
        V = np.linalg.qr(start)[0]
        image = product(V)
    for _ in range(RESTARTS):
        Q, images = V, image
        for _ in range(DEPTH - 1):
            newest = images[:, -block:]
            newest = np.linalg.qr(newest - Q @ (Q.T @ newest))[0]
            newest = np.linalg.qr(newest - Q @ (Q.T @ newest))[0]
            Q = np.hstack([Q, newest])
            images = np.hstack([images, product(newest)])
        H = Q.T @ images
        values, Y = np.linalg.eigh((H + H.T) / 2)
        values, Y = values[::-1][:block], Y[:, ::-1][:, :block]
        V, image = Q @ Y, images @ Y
        residual = np.linalg.norm(image[:, :k] - V[:, :k] * values[:k], axis=0).max()
        if residual <= TOLERANCE * max(abs(values[0]), np.finfo(float).tiny):
            break
    return values, V
