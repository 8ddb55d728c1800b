"""A user's program with types: mypy and pyright check it with strict options (pyproject.toml)."""

from typing import assert_type

import numpy as np
import numpy.typing as npt

import kernelclust
from kernelclust import (
    CLUHSIC,
    CLUHSICAL,
    Diffrac,
    DisKMeans,
    KernelKMeans,
    MaxMarginClustering,
    MultiKernelClustering,
    StructuredClustering,
    arrange,
    select_n_clusters,
    select_structure,
    seriate,
    stability_bound,
    structured_hsic,
)
from kernelclust.kernels import RBF, Nystroem, Precomputed
from kernelclust.metrics import clustering_accuracy, hsic_test, path_length, structured_accuracy
from kernelclust.objectives import Dependence
from kernelclust.plots import EmbeddingDisplay, StructureDisplay
from kernelclust.report import html_report
from kernelclust.solvers import Greedy
from kernelclust.structures import Ring, Structure, as_structure

Samples = npt.NDArray[np.float64]


def one_table(X: Samples, y: npt.NDArray[np.int_]) -> None:
    model = StructuredClustering(
        structure=Ring(6),
        kernel=RBF(gamma=0.5),
        approximation=Nystroem(100),
        objective=Dependence(loss="zero-one", normalize="l1", rho=0),
        solver=Greedy(search="global"),
        random_state=0,
    )
    assert_type(model.fit(X, y, must_link=[[0, 1]]), StructuredClustering)
    assert_type(model.partial_fit(X), StructuredClustering)
    assert_type(model.set_params(kernel__gamma=2.0), StructuredClustering)
    assert_type(model.labels_, np.ndarray)
    assert_type(model.predict(X), np.ndarray)
    assert_type(model.fit_predict(X), np.ndarray)
    assert_type(model.transform(X), np.ndarray)
    assert_type(model.membership(X), np.ndarray)
    assert_type(model.position_, np.ndarray | None)
    assert_type(model.position(X), np.ndarray)
    assert_type(model.pseudotime(root=0), np.ndarray)
    assert_type(model.position_interval(level=0.9), np.ndarray)
    assert_type(model.pseudotime_interval(root="stem"), np.ndarray)
    assert_type(model.lineages(root=0).weights, np.ndarray)
    assert_type(model.sizes_, np.ndarray)
    assert_type(model.medoids_, np.ndarray)
    assert_type(model.cluster_names_, np.ndarray)
    assert_type(model.objective_, float)
    assert_type(model.upper_bound_, float)
    assert_type(model.gap_, float)
    assert_type(model.n_iter_, int)
    assert_type(model.score(X), float)
    assert_type(model.order_confidence_, float | None)
    assert_type(model.structure_, Structure)
    if model.order_ is not None:
        assert_type(model.order_.pvalue, float | None)
    model.save("model.kc")
    StructureDisplay.from_estimator(model).plot()
    EmbeddingDisplay.from_estimator(model, X).plot()
    assert_type(html_report(model, X), str)


def presets(X: Samples) -> None:
    for flat in (KernelKMeans(3).fit(X), CLUHSIC(structure="chain:3").fit(X), Diffrac(3).fit(X)):
        assert_type(flat.labels_, np.ndarray)
    assert_type(CLUHSICAL(structure="ring:4").fit(X), CLUHSICAL)
    assert_type(DisKMeans(3).fit_predict(X), np.ndarray)
    assert_type(KernelKMeans(3, kernel=Precomputed(indefinite="clip")).fit(X).predict(X), np.ndarray)


def many_views(X: Samples) -> None:
    model = MultiKernelClustering(3).fit([X, X])
    assert_type(model, MultiKernelClustering)
    assert_type(model.labels_, np.ndarray)
    assert_type(model.weights_, np.ndarray)
    assert_type(model.predict([X, X]), np.ndarray)


def wide_gaps(X: Samples) -> None:
    model = MaxMarginClustering(2).fit(X)
    assert_type(model, MaxMarginClustering)
    assert_type(model.labels_, np.ndarray)
    assert_type(model.decision_function(X), np.ndarray)
    assert_type(model.predict(X), np.ndarray)


def functions(X: Samples, labels: npt.NDArray[np.int_]) -> None:
    arranged = arrange(X, labels, "chain")
    assert_type(arranged.labels, np.ndarray)
    assert_type(arranged.pseudotime(0), np.ndarray)
    assert_type(arranged.position_interval(), np.ndarray)
    assert_type(seriate(X).order, np.ndarray)
    assert_type(seriate(X).confidence, float | None)
    assert_type(select_n_clusters(X, [2, 3]).labels_, np.ndarray)
    print(select_structure(X, ["chain:3", "ring:3"]), stability_bound(X, labels))
    assert_type(structured_hsic(X @ X.T, labels, "chain:3"), float)
    assert_type(structured_accuracy(labels, labels, "chain:3"), float)
    assert_type(clustering_accuracy(labels, labels), float)
    assert_type(hsic_test(X @ X.T, X @ X.T).p_value, float)
    assert_type(path_length(X @ X.T), float)
    assert_type(as_structure("tree:3x3").kernel, npt.NDArray[np.float64])
    print(kernelclust.load("model.kc"), kernelclust.load_extra("model.kc"))
