"""Names of clusters: read, written, carried to the labels, and told where nothing ties them."""

import re
import warnings
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from flat_parameters import build
from numpy.testing import assert_array_equal

from kernelclust import KernelKMeans, MaxMarginClustering, MultiKernelClustering, StructuredClustering
from kernelclust.report import html_report
from kernelclust.structures import (
    Chain,
    Custom,
    Flat,
    Grid,
    NameWarning,
    Product,
    Ring,
    Tree,
    as_structure,
    named_nodes,
)
from kernelclust.structures._named import _exchanged

pytestmark = pytest.mark.usefixtures("few_starts")

STAGES = ["seed", "sprout", "bloom"]
QUICK = {"kernel": "rbf", "random_state": 0, "compute_confidence": False, "n_init": 2}

rng = np.random.default_rng(0)
TRUE = np.repeat([0, 1, 2], 12)
X = np.column_stack([TRUE, 0 * TRUE]) + 0.1 * rng.standard_normal((36, 2))


def fitted(structure, y=None, model=StructuredClustering, **more):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = build(model, structure=structure, **QUICK | more).fit(X, y)
    return found, [str(one.message) for one in said if issubclass(one.category, NameWarning)]


# -- reading and writing -----------------------------------------------------------------------------------------------

NAMED = {
    "chain:(seed,sprout,bloom)": (Chain(names=STAGES), STAGES),
    "ring:(a,b,c,d)": (Ring(4, list("abcd")), list("abcd")),
    "flat:(x,y)": (Flat(names=["x", "y"]), ["x", "y"]),
    "grid:1x2(left,right)": (Grid(1, 2, ["left", "right"]), ["left", "right"]),
    "tree:((a,b),(c,d))": (Tree(2, 2, names=list("abcd")), list("abcd")),
    "flat:(x,y)*chain:2": (Product(Flat(names=["x", "y"]), "chain:2"), ["x/0", "x/1", "y/0", "y/1"]),
}


@pytest.mark.parametrize("text", NAMED)
def test_names_as_text_and_as_arguments(text):
    structure, names = NAMED[text]
    assert str(structure) == text
    assert as_structure(text) == structure
    assert list(as_structure(text).names) == names


def test_names_do_not_change_the_mathematics():
    for named, plain in [(Chain(names=STAGES), Chain(3)), (Grid(2, 2, list("abcd")), Grid(2, 2))]:
        assert named != plain
        assert_array_equal(named.kernel, plain.kernel)
        assert_array_equal(named.loss, plain.loss)


@pytest.mark.parametrize("name", ["a b", "it's", "a,b", "(x)", "a:1", "a;", "a*b", "[c]", '"q"', "é", "''", "-", "a'b"])
def test_any_name_can_be_written_and_read(name):
    for structure in (
        Chain(names=[name, "other"]),
        Tree([name, ["b", "c"]]),
        Product(Flat(names=[name, "o"]), Ring(3)),
    ):
        assert as_structure(str(structure)) == structure


NEWICK = {
    "((A,B),C);": [["A", "B"], "C"],
    "((A,B),C)": [["A", "B"], "C"],
    "((A:0.1,B:2e-3):1,C:-4)root:0;": [["A", "B"], "C"],
    "((A,B)inner,C)root;": [["A", "B"], "C"],
    "[&R] ((A[&x=1],B)[a,(b)]:1[c],C);": [["A", "B"], "C"],
    " ( ( 'A' ,\n\"B\") 'in''ner' : 3 , C ) ; ": [["A", "B"], "C"],
    "('Homo sapiens (x, y)',Mus_musculus,a b);": ["Homo sapiens (x, y)", "Mus_musculus", "a b"],
    "(((A)),B);": [[["A"]], "B"],
}


@pytest.mark.parametrize("prefix", ["", "tree:"])
@pytest.mark.parametrize("text", NEWICK)
def test_newick(text, prefix):
    assert as_structure(prefix + text.strip()) == Tree(NEWICK[text])


def test_newick_written_by_another_program():
    graph = nx.balanced_tree(2, 3, create_using=nx.DiGraph)
    text = nx_newick(graph, 0) + ";"
    assert as_structure(text) == as_structure(graph)
    assert as_structure(text).leaf_names == [str(node) for node in range(7, 15)]


def nx_newick(graph, node):
    children = list(graph.successors(node))
    inside = f"({','.join(nx_newick(graph, child) for child in children)})" if children else ""
    return f"{inside}{node}:1.5"


BAD = [
    "(A,B);(C,D);",
    "(A,B:x)",
    "(A,B",
    "(A,'B)",
    "(A,B)(C)",
    "(A,B),C",
    "(A,)",
    "(A[x,B)",
    "(A:1:2,B)",
    "(A,B)x y'z'(",
    "()",
]


@pytest.mark.parametrize("text", BAD)
def test_bad_newick_says_where(text):
    with pytest.raises(ValueError, match=r"cannot be read (from character \d|at its end)"):
        as_structure(text)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: Chain(names=["a", "a"]), ValueError, "must differ.*: a"),
        (lambda: Chain(3, ["a", "b"]), ValueError, "2 names of Chain for 3 clusters"),
        (lambda: Ring(names="abc"), TypeError, "list of strings"),
        (lambda: Flat(names=["a", 3]), TypeError, "list of strings"),
        (lambda: Flat(names=["a", " "]), ValueError, "must not be empty"),
        (lambda: Chain(), TypeError, "n_clusters must be an integer"),
        (lambda: as_structure("chain:((a,b),c)"), ValueError, "seed,sprout,bloom"),
        (lambda: as_structure("grid:2x2(a,b)"), ValueError, "2 names of Grid for 4 clusters"),
        (lambda: as_structure("chain:(a,b)", 3), ValueError, "has 2 clusters, but n_clusters=3"),
        (lambda: Tree(2, 2, names=["a"]), ValueError, "1 names of a Tree's leaves for 4"),
    ],
)
def test_bad_names_are_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()


# -- graphs ------------------------------------------------------------------------------------------------------------


def test_nodes_of_graphs_are_names():
    assert Custom(nx.Graph([("stem", "left"), ("stem", "right")])).names == ("stem", "left", "right")
    assert Custom(nx.path_graph(4)).names is None
    assert Custom(nx.Graph([(1, "1")])).names == ("1", "'1'")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.eye(2), index=["a", "b"], columns=["a", "b"])
    assert Custom(frame).names == ("a", "b")
    assert Custom(frame.reset_index(drop=True)).names is None


def test_leaves_of_a_taxonomy_are_the_clusters():
    graph = nx.DiGraph([("life", "animal"), ("life", "fern"), ("animal", "dog"), ("animal", "cat")])
    assert as_structure(graph) == Tree([["dog", "cat"], "fern"])
    assert as_structure(nx.DiGraph([("a", "b"), ("c", "d"), ("c", "e")])) == Tree([["b"], ["d", "e"]])  # two roots
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(2, 15))
        graph = nx.DiGraph([(0, n), *((int(rng.integers(0, k)), k) for k in range(1, n))])
        tree = as_structure(graph)
        leaves = [node for node in graph if graph.out_degree(node) == 0]
        assert sorted(tree.leaf_names) == sorted(map(str, leaves))
        for i, a in enumerate(tree.leaf_names):  # A counts what two ways from the root share, without the root
            for j, b in enumerate(tree.leaf_names):
                ways = [set(nx.shortest_path(graph, 0, int(one))) - {0} for one in (a, b)]
                assert tree.kernel[i, j] == len(ways[0] & ways[1])


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(0, 1), (1, 0)], "cycle"),
        ([("dog", "animal"), ("cat", "animal")], r"'animal' has 2 parents.*reverse\(\)"),
        ([(0, 2), (1, 2), (0, 3)], r"node 2 has 2 parents\.$"),
        ([], "no nodes"),
        ([("a", "b"), ("b", "c")], r"one leaf.*to_undirected\(\)"),
    ],
)
def test_graphs_that_are_no_taxonomy_are_refused(edges, message):
    with pytest.raises(ValueError, match=message):
        as_structure(nx.DiGraph(edges))


# -- names in a fit ----------------------------------------------------------------------------------------------------


def test_labels_by_name_place_their_clusters():
    for first, last in [("seed", "bloom"), ("bloom", "seed")]:
        y = np.full(36, "", dtype=object)
        y[[0, 35]] = first, last
        model, said = fitted("chain:(seed,sprout,bloom)", y)
        assert_array_equal(model.cluster_names_[model.labels_], np.repeat([first, "sprout", last], 12))
        assert not said


def test_names_in_y_are_their_places():
    structure = Ring(names=["n", "e", "s", "w"])
    assert_array_equal(named_nodes(structure, ["w", "", None, "n", np.nan, "-1", -1]), [3, -1, -1, 0, -1, -1, -1])
    y = np.array(["w", "", "n"], dtype=object)
    for given in (list(y), np.where(y == "", None, y), np.where(y == "", -1, y), y.astype(str), y[:, None]):
        assert_array_equal(named_nodes(structure, given), [3, -1, 0])
    same = np.array([0, -1, 3])
    assert named_nodes(structure, same) is same
    assert named_nodes(Ring(4), ["n"]) == ["n"]
    assert_array_equal(named_nodes(Flat(names=["nan", "None"]), ["None", "nan"]), [1, 0])


def test_wrong_names_are_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"y\[2\] = 'blom'; known: 'seed'.*Did you mean 'bloom'"):
        fitted("chain:(seed,sprout,bloom)", ["", "", "blom"] + [""] * 33)
    with pytest.raises(ValueError, match=r"Names need a structure that has them"):
        fitted("chain:3", ["bloom"] + [""] * 35)


def test_every_estimator_has_names():
    assert_array_equal(KernelKMeans(2, random_state=0).fit(X).cluster_names_, ["0", "1"])
    assert_array_equal(MaxMarginClustering(2, random_state=0).fit(X).cluster_names_, ["0", "1"])
    with pytest.raises(AttributeError):
        KernelKMeans(2).cluster_names_  # noqa: B018
    y = ["seed"] + [""] * 34 + ["bloom"]
    views = MultiKernelClustering(structure=Chain(names=STAGES), kernel="rbf", random_state=0, compute_confidence=False)
    assert_array_equal(views.fit(X, y).cluster_names_[views.labels_[::12]], STAGES)


def test_a_bare_newick_sets_the_number_of_clusters():
    model, _ = fitted("((a,b),c);")
    assert model.cluster_names_.tolist() == ["a", "b", "c"]


def test_a_stream_takes_names():
    model = build(StructuredClustering, structure=Chain(names=STAGES), **QUICK)
    model.partial_fit(X, ["bloom"] + [""] * 35)
    assert_array_equal(model.cluster_names_[model.labels_[::12]], STAGES[::-1])


def test_reports_call_clusters_by_their_names():
    model, _ = fitted(Chain(names=STAGES))
    cells = re.findall(r"<td data-[^>]*>(?:<span[^>]*></span>)?([^<]*)</td>", html_report(model))
    assert cells[:12:4] == STAGES
    assert cells[3:12:4] == ["sprout", "seed, bloom", "sprout"]  # next to


# -- what nothing ties -------------------------------------------------------------------------------------------------


def test_names_that_could_be_exchanged_are_told_once():
    _, said = fitted("chain:(seed,sprout,bloom)")
    assert len(said) == 1
    assert "names seed, bloom may be on the wrong clusters" in said[0]
    assert not fitted("chain:3")[1]
    assert not fitted(Custom(np.diag([1.0, 2.0, 3.0]), names=STAGES))[1]  # no two places are alike
    y = np.full(36, -1)
    y[14] = 1
    assert len(fitted("chain:(seed,sprout,bloom)", y)[1]) == 1  # the middle says nothing about the ends
    y[0] = 0
    assert not fitted("chain:(seed,sprout,bloom)", y)[1]


@pytest.mark.parametrize(
    "structure", ["chain:4", "ring:5", "grid:2x3", "tree:((a,b),(c,(d,e)))", "flat:3*chain:2", "flat:5"]
)
def test_exchanged_names_against_all_permutations(structure):
    structure = as_structure(structure)
    c, A, Delta = structure.n_clusters, structure.kernel, structure.loss
    orders = [np.array(p) for p in permutations(range(c))]
    keeps = [p for p in orders if np.array_equal(A[np.ix_(p, p)], A) and np.array_equal(Delta[np.ix_(p, p)], Delta)]
    for known in ([], [0], [1], [0, c - 1], list(range(c))):
        allowed = [p for p in keeps if all(p[j] == j for j in known)]
        most = max(int((p != np.arange(c)).sum()) for p in allowed)
        moved = _exchanged(structure, np.array(known, dtype=int))
        assert moved.sum() == most
        assert not moved[known].any()
