"""Diffusion kernel of a connected nearest-neighbour graph: K = exp(-time L), L its Laplacian.

K_ij is the heat that reaches j from i within `time`: with a small time, only near neighbours are similar. L is
normalised, I - D^-1/2 W D^-1/2, so that heat leaves every sample at the same rate; "plain" is D - W, as in the CLUHSIC
paper, under which it leaves dense regions faster, in proportion to the degree. The graph is that of kernel="graph".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from kernelclust._names import check_name, check_number
from kernelclust.kernels._fitted_kernel import FittedKernel
from kernelclust.kernels._graphs import RESTARTS, smoothest
from kernelclust.kernels._nodes import NeighbourKernel


@dataclass(eq=False, repr=False)
class Diffusion(NeighbourKernel):
    """Compare two samples by the heat that reaches one from the other on the graph of nearest neighbours.

    Parameters
    ----------
    time : float, default=10.0
    laplacian : "normalized" or "plain", default="normalized"
    n_neighbors, n_functions
        As in `Graph`.
    """

    example = "Diffusion(time=10.0)"

    time: float = 10.0
    laplacian: str = "normalized"
    n_neighbors: int | None = None
    n_functions: int | None = None

    def fit(self, X, weight, *, n_clusters, approximation, center, rng) -> FittedKernel:
        check_number("time", self.time, above=True)
        check_name("laplacian", self.laplacian, ("normalized", "plain"))
        diffusion_factor = normalized_factor if self.laplacian == "normalized" else plain_factor

        def gram(W: sparse.csr_array) -> np.ndarray:
            B = diffusion_factor(W, W.shape[0], self.time)
            return B @ B.T

        return self.fit_on_nodes(
            X,
            weight,
            n_clusters,
            rng,
            gram=gram,
            factor=lambda W, number: diffusion_factor(W, number, self.time),
            dense=approximation is None,
        )


def normalized_factor(W: sparse.csr_array, number: int, time: float) -> np.ndarray:
    """B (m x number) with B B' the best approximation of that rank."""
    values, vectors = smoothest(W, number - 1)
    degree = W.sum(axis=1)
    flat = np.sqrt(degree / degree.sum())
    return np.column_stack([flat, vectors * np.exp(-float(time) * values / 2)])


def plain_factor(W: sparse.csr_array, number: int, time: float) -> np.ndarray:
    """Return the factor for the Laplacian L = D - W."""
    m, degree = W.shape[0], W.sum(axis=1)
    L = (sparse.diags_array(degree) - W).tocsc()
    if number > m // 3:
        values, vectors = np.linalg.eigh(L.toarray())
        values, vectors = values[:number], vectors[:, :number]
    else:
        options = {"k": number, "v0": np.cos(np.arange(m)), "ncv": min(m - 1, 3 * number + 3), "tol": 1e-10}
        try:
            values, vectors = eigsh(L, which="SA", maxiter=RESTARTS, **options)
        except ArpackNoConvergence:  # thin links, which are cheap to factorise
            values, vectors = eigsh(L, which="LM", sigma=-1e-6 * degree.mean(), **options)
    return vectors * np.exp(-float(time) * np.maximum(values, 0.0) / 2)


PART = Diffusion
