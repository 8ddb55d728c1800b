"""temporary, until graphs land"""

import numpy as np
from kernelclust.kernels._fit import FittedKernel
from kernelclust.kernels._function import SimilarityFunction
from kernelclust.kernels._graphs import distinct_rows
from kernelclust.kernels._new_samples import Neighbours, NeighbourSearch
from kernelclust.kernels._scale import set_units
from kernelclust.kernels.operators import DenseKernel, LowRankKernel


def fit_graph(part, X, weight, *, n_clusters, method, n_components, params):
    function = SimilarityFunction("graph")
    set_units(function, X, weight)
    Z = function.prepare(X)
    first, which = distinct_rows(Z)
    nodes = Z[first]
    source = Neighbours([NeighbourSearch.over(nodes, first, function.prepare)])
    if len(first) < 2:
        return FittedKernel(DenseKernel(np.zeros((len(which), len(which))), weight), source)
    rank = min(n_components or 2 * n_clusters + 10, len(first) - 1)
    if method is None:
        K = part.gram(nodes, n_clusters=n_clusters, **params)
        K = K if len(first) == len(which) else K[np.ix_(which, which)]
        return FittedKernel(DenseKernel(K, weight), source)
    B = part.factor(nodes, rank, n_clusters=n_clusters, **params)[which]
    return FittedKernel(LowRankKernel(B, weight, overwrite=True), source)


def fit_auto(X, weight, n_clusters, method, n_components):
    from kernelclust.kernels import auto

    found = auto.views(X, weight)
    K, members = auto.fit_members(X, weight, found, n_clusters, n_components, dense=method is None)
    searches, pictures = [], []
    for view in found:
        Z = view(X)
        pictures.append(Z)
        first, _ = distinct_rows(Z)
        searches.append(NeighbourSearch.over(Z[first], first, view))
    source = Neighbours(searches)
    if not members:
        return FittedKernel(DenseKernel(np.zeros((X.shape[0], X.shape[0])), weight), source)
    if K is not None:
        return FittedKernel(DenseKernel(K, weight), source, members=members, pictures=pictures)
    B = np.hstack([member.B for member in members]) / np.sqrt(len(members))
    return FittedKernel(LowRankKernel(B, weight, overwrite=True), source, members=members, pictures=pictures)
