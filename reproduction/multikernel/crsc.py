"""Co-regularised spectral clustering (Kumar, Rai and Daume, 2011): a spectral embedding for each view, pulled together.

    max over U_v'U_v = I:  sum_v Tr(U_v' L_v U_v) + strength sum_{v < w} |U_v' U_w|^2,  L_v = D^-1/2 K_v D^-1/2

Reads the kernels as they were given, as affinities. The embeddings of all views stand side by side in the result.
`history` holds minus the objective, which falls. As in `_spectral`, views take turns inside small spaces that are
widened until the embeddings no longer leave them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kernelclust._names import check_number
from kernelclust.multikernel import Method, Relaxed, Task
from kernelclust.multikernel._spectral import TOLERANCE, Subspace, sum_of
from reproduction.multikernel._affinity import degrees


@dataclass(eq=False, repr=False)
class CRSC(Method):
    """Pull the spectral embeddings of all views together.

    `strength` of the pull; its authors use 0.01 to 0.05.

    The other parameters are those of all methods (see `kernelclust.multikernel.Method`).
    """

    needs = ("affinity",)

    strength: float = 0.01
    tol: float = 1e-6

    def check(self) -> None:
        super().check()
        check_number("strength", self.strength)

    def solve(self, task: Task) -> Relaxed:
        degree = degrees(task, self.name)
        views = [
            Subspace([_Normalized(kernel, root)], task.n_clusters, task.rng, root=task.root)
            for kernel, root in zip(task.kernels, 1 / np.sqrt(degree.T), strict=True)
        ]
        for view in views:
            view.converge(np.ones(1))
        history: list[float] = []
        while True:
            shared = {(v, w): views[v].Q.T @ views[w].Q for v, w in combinations(range(len(views)), 2)}
            shared |= {(w, v): C.T for (v, w), C in shared.items()}
            settled = False
            while not settled and len(history) < task.max_iter:
                for v, view in enumerate(views):
                    seen = [shared[v, w] @ other.top for w, other in enumerate(views) if w != v]  # Q_v' U_w
                    view.solve(np.ones(1), self.strength * sum_of(W @ W.T for W in seen) if seen else None)
                own = sum(float(np.sum(view.top * (view.inner[0] @ view.top))) for view in views)
                pairs = combinations(range(len(views)), 2)
                pull = sum(float(np.square(views[v].top.T @ shared[v, w] @ views[w].top).sum()) for v, w in pairs)
                history.append(-(own + self.strength * pull))
                settled = len(history) > 1 and history[-2] - history[-1] <= self.tol * abs(history[-1])
            U = [view.U for view in views]
            errors = []
            for v, view in enumerate(views):
                others = [W for w, W in enumerate(U) if w != v]
                rest = view.rest(
                    lambda V, others=others: self.strength * sum_of(W @ (W.T @ V) for W in others) if others else 0.0
                )
                errors.append(view.error(rest))
                if errors[-1] > TOLERANCE and len(history) < task.max_iter:
                    view.widen(rest)
            converged = settled and max(errors) <= TOLERANCE
            if converged or len(history) >= task.max_iter:
                break
        m = len(views)
        return Relaxed(np.full(m, 1 / m), np.hstack([view.H for view in views]), history[-1], history, converged)


class _Normalized:
    """D^-1/2 K D^-1/2 as products."""

    def __init__(self, kernel, root: np.ndarray):
        self.kernel, self.root, self.n_samples = kernel, root[:, None], kernel.n_samples

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return self.root * self.kernel.affinity(self.root * V)


PART = CRSC
