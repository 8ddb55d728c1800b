"""Diffusion kernel of a connected nearest-neighbour graph: K = exp(-time L), L its Laplacian.

Heat put on one sample reaches the other within `time`: small times see near neighbours only. L is normalised,
I - D^-1/2 W D^-1/2, so that heat leaves every sample at one rate; "plain" is D - W, as in the CLUHSIC paper, by which
it leaves dense regions faster, about degree times. The graph is that of kernel="graph".
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from kernelclust._names import check_name, check_number
from kernelclust.kernels._fitted_kernel import FittedKernel
from kernelclust.kernels._graphs import RESTARTS, smoothest
from kernelclust.kernels._nodes import fit_on_nodes, n_functions

DENSE_UP_TO = 3000  # beyond, the smoothest functions on the graph make the kernel


def fit(
    X,
    weight: np.ndarray,
    *,
    n_clusters: int,
    method: str | None,
    n_components: int | None = None,
    n_neighbors: int | None = None,
    time: float = 10.0,
    laplacian: str = "normalized",
) -> FittedKernel:
    """The kernel between samples X (m x d): its matrix (method None), or the factor of its smoothest functions."""
    check_number("time", time, above=True)
    check_name("laplacian", laplacian, ("normalized", "plain"))
    diffusion_factor = normalized_factor if laplacian == "normalized" else plain_factor

    def gram(W: sparse.csr_array) -> np.ndarray:
        B = diffusion_factor(W, W.shape[0], time)
        return B @ B.T

    return fit_on_nodes(
        X,
        weight,
        n_clusters,
        n_neighbors,
        gram=None if method else gram,
        factor=lambda W: diffusion_factor(W, n_functions(n_components, n_clusters, W.shape[0]), time),
    )


def normalized_factor(W: sparse.csr_array, number: int, time: float) -> np.ndarray:
    """B (m x number) with B B' the best approximation of that rank."""
    values, vectors = smoothest(W, number - 1)
    values, vectors = values[: number - 1], vectors[:, : number - 1]
    degree = W.sum(axis=1)
    flat = np.sqrt(degree / degree.sum())
    return np.column_stack([flat, vectors * np.exp(-float(time) * values / 2)])


def plain_factor(W: sparse.csr_array, number: int, time: float) -> np.ndarray:
    """The same for L = D - W."""
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
