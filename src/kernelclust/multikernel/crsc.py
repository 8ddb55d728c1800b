"""Co-regularised spectral clustering (Kumar, Rai and Daume, 2011): a spectral embedding for each view, pulled together.

    max over U_v'U_v = I:  sum_v Tr(U_v' L_v U_v) + strength sum_{v < w} |U_v' U_w|^2,  L_v = D^-1/2 K_v D^-1/2

Reads the kernels as they were given, as affinities. The embeddings of all views stand side by side in the result.
`history` holds minus the objective, which falls.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from kernelclust._names import check_number
from kernelclust.multikernel._affinity import degrees
from kernelclust.multikernel._eigen import leading_eigenvectors, start_block
from kernelclust.multikernel._task import Relaxed, Task

PARAMETERS = ("strength",)


def solve(task: Task, strength: float = 0.01) -> Relaxed:
    """`strength` of the pull; its authors use 0.01 to 0.05."""
    check_number("strength", strength)
    kernels, k, n = task.kernels, task.n_clusters, task.n_samples
    roots = 1 / np.sqrt(degrees(task, "crsc"))
    blocks = [start_block(n, k, task.rng) for _ in kernels]
    U: list[np.ndarray] = []
    history: list[float] = []
    converged = False
    while len(history) < task.max_iter and not converged:
        for v, kernel in enumerate(kernels):
            others = [W for w, W in enumerate(U) if w != v]

            def product(V: np.ndarray, kernel=kernel, root=roots[:, [v]], others=others) -> np.ndarray:
                out = root * kernel.affinity(root * V)
                for W in others:
                    out += strength * (W @ (W.T @ V))
                return out

            blocks[v] = leading_eigenvectors(product, blocks[v], k)[1]
            U = [*U[:v], blocks[v][:, :k], *U[v + 1 :]]
        own = sum(
            float(np.sum(V * (root[:, None] * kernel.affinity(root[:, None] * V))))
            for kernel, V, root in zip(kernels, U, roots.T, strict=True)
        )
        shared = sum(float(np.square(V.T @ W).sum()) for V, W in combinations(U, 2))
        history.append(-(own + strength * shared))
        converged = len(history) > 1 and history[-2] - history[-1] <= task.tol * abs(history[-1])
    m = len(kernels)
    return Relaxed(np.full(m, 1 / m), np.hstack(U), history[-1], history, converged)
