"""Similarities in every form that people have them, and messages whose advice works when it is followed."""

import re
from functools import partial

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

from kernelclust import KernelKMeans, MultiKernelClustering, StructuredClustering, arrange
from kernelclust.kernels import DenseKernel, Precomputed, PrecomputedGraph
from kernelclust.structures import as_structure

pytestmark = pytest.mark.usefixtures("few_starts")
draw = np.random.default_rng(0)
truth = np.repeat([0, 1, 2], 15)
X = np.c_[truth * 2.0, np.zeros(45)] + 0.3 * draw.standard_normal((45, 2))
D = np.linalg.norm(X[:, None] - X, axis=2)
SPARSE = sparse.csr_array(np.where(D < 2.5, np.exp(-D), 0.0))
BLOCKS = (truth[:, None] == truth) - 2.0 * np.eye(45)  # far from positive semidefinite
KMEANS = partial(KernelKMeans, 3, random_state=0)


def message(error, call, *arguments):
    with pytest.raises(error) as caught:
        call(*arguments)
    return str(caught.value)


# -- the advice of an error, followed ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda X, kernel: KMEANS(kernel=kernel).fit(X).labels_,
        lambda X, kernel: arrange(X, truth, kernel=kernel).labels,
        lambda X, kernel: MultiKernelClustering(3, kernel=kernel, random_state=0).fit([X, X]).labels_,
    ],
    ids=["fit", "arrange", "views"],
)
def test_a_matrix_that_is_no_kernel(use):
    text = message(ValueError, use, BLOCKS, "precomputed")
    assert "Precomputed(indefinite='clip')" in text and "exp(-D**2 / D.mean()**2)" in text
    assert adjusted_rand_score(truth, use(BLOCKS, Precomputed(indefinite="clip"))) == 1
    assert adjusted_rand_score(truth, use(np.exp(-(D**2) / D.mean() ** 2), "precomputed")) == 1


def test_a_function_that_is_no_kernel():
    def near(A, B):
        distance = np.linalg.norm(A[:, None] - B, axis=2)
        return np.exp(-distance) - 0.9 * (distance == 0)

    text = message(ValueError, KMEANS(kernel=near).fit, X)
    assert "pass its matrix k(X, X) as X with kernel=Precomputed(indefinite='clip')" in text
    assert adjusted_rand_score(truth, KMEANS(kernel=Precomputed(indefinite="clip")).fit(near(X, X)).labels_) == 1


def test_an_operator_that_is_no_kernel():
    text = message(ValueError, KMEANS(kernel="precomputed").fit, DenseKernel(BLOCKS))
    assert "pass its matrix with kernel=Precomputed(indefinite='clip')" in text
    assert adjusted_rand_score(truth, KMEANS(kernel=Precomputed(indefinite="clip")).fit(BLOCKS).labels_) == 1


@pytest.mark.parametrize("kernel", ["precomputed", Precomputed(indefinite="clip")])
def test_sparse_similarities(kernel):
    text = message(TypeError, KMEANS(kernel=kernel).fit, SPARSE)
    assert "X.toarray()" in text and "kernel='precomputed_graph'" in text
    assert adjusted_rand_score(truth, KMEANS(kernel="precomputed_graph").fit(SPARSE).labels_) == 1
    dense = KMEANS(kernel=Precomputed(indefinite="clip")).fit(SPARSE.toarray())
    assert adjusted_rand_score(truth, dense.labels_) == 1
    assert "X.toarray()" in message(TypeError, dense.predict, SPARSE)
    assert_array_equal(dense.predict(SPARSE.toarray()), dense.labels_)


def test_a_graph_without_its_kernel():
    text = message(TypeError, KMEANS().fit, nx.from_scipy_sparse_array(SPARSE))
    assert "networkx graph" in text and "kernel='precomputed_graph'" in text


def test_anndata():
    adata = pytest.importorskip("anndata").AnnData(X)
    assert "kernelclust.anndata.structured(adata, structure=...)" in message(TypeError, KMEANS().fit, adata)
    from kernelclust.anndata import structured

    structured(adata, structure="chain:3", kernel="rbf", random_state=0)
    assert adjusted_rand_score(truth, adata.obs["kernelclust"]) == 1


def test_a_grid_search_needs_no_y():
    search = GridSearchCV(KMEANS(kernel="rbf"), {"n_clusters": [3]}, cv=3)
    with pytest.warns(UserWarning, match=re.escape("leave y out to cluster without them, in a grid search too")):
        search.fit(X, truth)
    shuffled = np.random.default_rng(0).permutation(45)
    assert adjusted_rand_score(truth[shuffled], search.fit(X[shuffled]).predict(X[shuffled])) == 1


# -- networkx graphs as samples ---------------------------------------------------------------------------------------


def named_graph():
    """The affinities as a graph of named nodes, in an order of its own."""
    graph = nx.Graph()
    graph.add_nodes_from(f"n{i}" for i in draw.permutation(45))
    rows, columns = np.nonzero(np.triu(SPARSE.toarray(), 1))
    graph.add_weighted_edges_from((f"n{i}", f"n{j}", SPARSE[i, j]) for i, j in zip(rows, columns, strict=True))
    return graph


@pytest.mark.parametrize("kernel", ["precomputed_graph", PrecomputedGraph(regularization=0.01)])
def test_nodes_are_samples_in_the_order_of_the_graph(kernel):
    graph = named_graph()
    index = [int(node[1:]) for node in graph]
    model = StructuredClustering(structure="chain:3", kernel=kernel, random_state=0)
    labels = model.fit(graph).labels_
    assert_array_equal(labels, model.fit(SPARSE[index][:, index]).labels_)
    assert adjusted_rand_score(truth[index], labels) == 1
    affinity = SPARSE[[0]][:, index]
    assert model.predict(affinity)[0] == labels[index.index(0)]
    assert arrange(graph, truth[index], kernel=kernel).order in ([0, 1, 2], [2, 1, 0])
    with pytest.raises(TypeError, match=r"new samples are affinities \(n, m\) with its m nodes"):
        model.predict(graph)


def test_edges_without_weights_count_one_and_parallel_ones_add_up():
    graph = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 3), (3, 3)])
    expected = sparse.csr_array([[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0.0]])
    kernel = PrecomputedGraph()
    assert_array_equal(kernel.check_samples(kernel.affinities(graph)).toarray(), expected.toarray())


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        (nx.Graph(), "without nodes"),
        (nx.empty_graph(5), "no links"),
        (nx.Graph([(0, 1, {"weight": -1.0}), (1, 2)]), r"X\[0, 1\] = -1 is negative"),
        (nx.Graph([(0, 1, {"weight": np.nan}), (1, 2)]), "not finite"),
    ],
)
def test_graphs_that_hold_nothing_to_cluster(graph, says):
    with pytest.raises(ValueError, match=says):
        KernelKMeans(2, kernel="precomputed_graph").fit(graph)


# -- Newick files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".nwk", ".newick", ".tree", ".TRE"])
def test_newick_files_by_name(suffix, tmp_path, monkeypatch):
    (tmp_path / f"t{suffix}").write_text("\n((A,B),\n C);\n")
    monkeypatch.chdir(tmp_path)
    assert str(as_structure(f"tree:t{suffix}")) == "tree:((A,B),C)"
    assert str(as_structure(f"tree:{tmp_path}/t{suffix}")) == "tree:((A,B),C)"
    y = np.where(np.arange(45) % 15 == 0, np.array(["A", "B", "C"])[truth], "")
    model = StructuredClustering(structure=f"tree:t{suffix}", random_state=0).fit(X, y)
    assert_array_equal(model.cluster_names_[model.labels_], np.array(["A", "B", "C"])[truth])


def test_newick_files_that_are_none(tmp_path):
    assert "No such file" in message(ValueError, as_structure, f"tree:{tmp_path}/absent.nwk")
    (tmp_path / "table.nwk").write_text("a,b\n1,2\n")
    assert "is not a Newick tree" in message(ValueError, as_structure, f"tree:{tmp_path}/table.nwk")
    (tmp_path / "binary.nwk").write_bytes(b"\xff\xfe(\x00")
    assert "not UTF-8 text" in message(ValueError, as_structure, f"tree:{tmp_path}/binary.nwk")


def test_branch_lengths_that_differ_are_reported_as_not_used(recwarn):
    assert as_structure("((A:1,B:1):1,C:1);") == as_structure("((A,B),C);")
    assert not recwarn.list
    with pytest.warns(UserWarning, match="branch lengths .* are ignored"):
        assert as_structure("((A:1,B:2):1,C:1);") == as_structure("((A,B),C);")


# -- arrangements in one line -----------------------------------------------------------------------------------------


def test_an_arrangement_prints_its_order_in_a_line():
    text = repr(arrange(X, np.array(["a", "b", "c"])[truth], kernel="linear"))
    assert text.startswith("<Arrangement of 45 samples in 3 groups on chain:3: ")
    assert "a | b | c, order_confidence=" in text or "c | b | a, order_confidence=" in text
    many = repr(arrange(np.arange(40.0)[:, None], np.arange(40), "flat", kernel="linear"))
    assert "\n" not in many and len(many) < 200 and "order_confidence" not in many


def test_a_node_about_which_nothing_is_said():
    """Weight zero, and no affinity with a sample that has a weight."""
    W, weight = SPARSE.toarray(), np.ones(SPARSE.shape[0])
    W[[5, 6]] = W[:, [5, 6]] = 0
    W[5, 6] = W[6, 5] = 1
    weight[[5, 6]] = 0
    model = KMEANS(kernel="precomputed_graph")
    with pytest.raises(
        ValueError, match=r"^sample 5 has weight zero and no affinity with any sample of positive weight"
    ):
        model.fit(W, sample_weight=weight)
    weight[5] = 1
    labels = model.fit(W, sample_weight=weight).labels_
    with pytest.raises(ValueError, match=r"^new sample 5 has no affinity with any fitted sample"):
        model.predict(W)
    others = np.delete(np.arange(len(W)), [5, 6])
    assert_array_equal(model.predict(W[others]), labels[others])


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        (nx.path_graph(3), " is of type Graph.*structure=..."),
        (np.eye(3), " is of type ndarray.*structure=..."),
        ("chain:3", "='chain:3'.*structure='chain:3'"),
        (2.5, "=2.5: give an integer, or None.$"),
    ],
)
def test_a_structure_given_first_is_passed_by_name(shape, says):
    with pytest.raises(TypeError, match="^n_clusters" + says):
        StructuredClustering(shape).fit(np.eye(6))
