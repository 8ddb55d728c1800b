"""Structures against their definitions, and alignment against all c! permutations."""

from itertools import permutations
from math import factorial

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelclust.structures import Chain, Custom, Flat, Grid, Product, Ring, Tree, as_structure

SMALL = [
    "flat:1", "flat:4", "flat:5",
    "chain:1", "chain:2", "chain:5",
    "ring:1", "ring:2", "ring:3", "ring:4", "ring:5", "ring:6",
    "grid:1x1", "grid:1x4", "grid:2x2", "grid:2x3", "grid:3x2",
    "tree:5", "tree:2x2", "tree:2x3", "tree:3x2", "tree:1x3",
    "tree:(EXT,(MIT,(CYT,NUC)))", "tree:((A,B),(C,D),E)", "tree:((A),(B,C),(D),E)", "tree:((A,(B,C)),((D,E),F))",
    "tree:(((A)),(B),C)", "tree:((((A,B))))",
    "flat:2*chain:3", "chain:3*flat:2", "chain:2*chain:3", "flat:2*flat:3", "chain:2*chain:2", "ring:3*chain:2",
    "tree:2*ring:3", "flat:1*chain:4", "chain:2*flat:2*flat:1",
]  # fmt: skip


def rigid(c, seed=0):
    X = np.random.default_rng(seed).standard_normal((c, c))
    return X @ X.T


CUSTOM = {
    "rigid": Custom(rigid(5)),
    "identity": Custom(np.eye(5)),
    "all alike": Custom(np.ones((5, 5))),
    "loss breaks the symmetry": Custom(np.eye(5), loss=Chain(5).loss),
    "kernel breaks the symmetry": Custom(Chain(5).kernel, loss=Flat(5).loss),
    "unequal diagonal": Custom(np.diag([1.0, 1.0, 2.0, 2.0, 2.0])),
    "star": Custom(nx.star_graph(4)),
    "two triangles": Custom(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))),
    "hexagon": Custom(nx.cycle_graph(6)),
    "bipartite": Custom(nx.complete_bipartite_graph(2, 3)),
    "octahedron": Custom(nx.octahedral_graph()),
    "spider": Custom(nx.Graph([(0, 1), (1, 2), (0, 3), (3, 4), (0, 5)])),
    "prism": Custom(nx.circular_ladder_graph(3)),
    "weighted": Custom(nx.Graph([(0, 1, {"weight": 2.0}), (1, 2, {"weight": 0.5}), (2, 3, {"weight": 2.0})])),
    "rounding": Custom(Ring(5).kernel * (1 + 1e-13 * rigid(5, 1)), loss=Ring(5).loss),
}
EVERY = [pytest.param(as_structure(text), id=text) for text in SMALL]
EVERY += [pytest.param(structure, id=name) for name, structure in CUSTOM.items()]


def automorphisms(structure):
    """All permutations that keep kernel and loss: the definition, c! tries."""
    A, Delta = structure.kernel, structure.loss
    for order in permutations(range(structure.n_clusters)):
        p = np.array(order)
        if np.allclose(A[np.ix_(p, p)], A, rtol=1e-9) and np.allclose(Delta[np.ix_(p, p)], Delta, rtol=1e-9):
            yield p


def gain(benefit, p):
    return benefit[p, np.arange(len(p))].sum()


@pytest.mark.parametrize("structure", EVERY)
def test_align_is_the_best_of_all_automorphisms(structure):
    c, group = structure.n_clusters, list(automorphisms(structure))
    rng = np.random.default_rng(c)
    for trial in range(12):
        benefit = rng.standard_normal((c, c)) if trial % 2 else rng.integers(0, 3, (c, c)).astype(float)
        p = structure.align(benefit)
        assert any(np.array_equal(p, q) for q in group)
        assert_allclose(gain(benefit, p), max(gain(benefit, q) for q in group), atol=1e-12)


@pytest.mark.parametrize("structure", EVERY)
def test_align_finds_every_automorphism_when_it_is_asked_for(structure):
    c = structure.n_clusters
    for p in list(automorphisms(structure))[:60]:
        benefit = np.zeros((c, c))
        benefit[p, np.arange(c)] = 1.0
        assert_array_equal(structure.align(benefit), p)


@pytest.mark.parametrize("structure", EVERY)
def test_align_prefers_to_change_nothing(structure):
    c = structure.n_clusters
    assert_array_equal(structure.align(np.zeros((c, c))), np.arange(c))
    assert_array_equal(structure.align(np.full((c, c), 0.1)), np.arange(c))
    stay = np.arange(c)
    for p in list(automorphisms(structure))[:30]:  # p gains as much as the identity, up to rounding
        benefit = np.zeros((c, c))
        benefit[p, stay] = 0.1 + 0.2  # a little more than 0.3
        benefit[stay, stay] = 0.3
        assert_array_equal(structure.align(benefit), stay)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("flat:5", 120), ("chain:5", 2), ("ring:3", 6), ("ring:4", 8), ("ring:5", 10), ("ring:7", 14),
        ("grid:2x2", 8), ("grid:2x3", 4), ("grid:1x5", 2), ("tree:2x2", 8), ("tree:2x3", 72), ("tree:3x2", 48),
        ("flat:2*chain:3", 8), ("flat:3*chain:2", 48), ("chain:2*flat:3", 48), ("flat:2*flat:3", 720),
        ("tree:(EXT,(MIT,(CYT,NUC)))", 2),
    ],
)  # fmt: skip
def test_number_of_automorphisms(text, count):
    assert sum(1 for _ in automorphisms(as_structure(text))) == count


def test_wreath_formulas_for_the_larger_groups():
    # blocks: (inner group)^blocks * blocks!, checked above on small cases: 3!^3 3! for tree 3x3, 2^4 4! for four chains
    assert factorial(3) ** 3 * factorial(3) == 1296
    assert 2**4 * factorial(4) == 384
    for structure, inner, blocks in ((Tree(3, 3), Flat(3), 3), (Product(Flat(4), Chain(3)), Chain(3), 4)):
        size, rng = inner.n_clusters, np.random.default_rng(0)
        turns = list(automorphisms(inner))
        for _ in range(5):
            benefit = rng.standard_normal((structure.n_clusters, structure.n_clusters))
            block_gain = [
                [
                    max(gain(benefit[a : a + size, b : b + size], q) for q in turns)
                    for b in range(0, size * blocks, size)
                ]
                for a in range(0, size * blocks, size)
            ]
            best = max(gain(np.array(block_gain), np.array(q)) for q in permutations(range(blocks)))
            assert_allclose(gain(benefit, structure.align(benefit)), best)


@pytest.mark.parametrize(
    "text", ["tree:3x4", "tree:2x2x3", "tree:((A,(B,C)),((D,E),F),(G,H,I),(J,K,L))", "ring:40", "grid:3x4"]
)
def test_search_agrees_with_the_closed_forms(text):
    named = as_structure(text)
    found = Custom(named.kernel, named.loss)
    rng = np.random.default_rng(1)
    for _ in range(3):
        benefit = rng.random((named.n_clusters, named.n_clusters))
        assert_allclose(gain(benefit, found.align(benefit)), gain(benefit, named.align(benefit)))


def test_search_on_a_graph_whose_cells_look_alike():
    # 11 legs of length two: 11! relabellings, and neither middle nor end nodes differ among themselves
    legs = nx.Graph([(0, 2 * i + 1) for i in range(11)] + [(2 * i + 1, 2 * i + 2) for i in range(11)])
    structure = Custom(legs)
    benefit = np.random.default_rng(0).random((23, 23))
    pair_gain = np.array(
        [[sum(benefit[2 * a + 1 + k, 2 * b + 1 + k] for k in (0, 1)) for b in range(11)] for a in range(11)]
    )
    order = [list(legs.nodes).index(node) for node in range(23)]  # node -> place in the graph's order
    shuffled = np.empty_like(benefit)
    shuffled[np.ix_(order, order)] = benefit
    p = structure.align(shuffled)
    assert_allclose(gain(shuffled, p), benefit[0, 0] + gain(pair_gain, Flat(11).align(pair_gain)))


def test_search_tells_apart_what_refinement_cannot():
    hexagon = nx.wheel_graph(7)  # a hub and a ring of six
    triangles = nx.Graph([(0, i) for i in range(1, 7)] + [(1, 2), (2, 3), (3, 1), (4, 5), (5, 6), (6, 4)])
    structure = Custom(nx.disjoint_union(hexagon, triangles))
    A = structure.kernel
    benefit = np.random.default_rng(0).random((14, 14))
    benefit[:7, 7:] += 5  # tempting, but a hexagon is not two triangles
    first, second = Custom(A[:7, :7]), Custom(A[7:, 7:])
    expected = gain(benefit[:7, :7], first.align(benefit[:7, :7])) + gain(
        benefit[7:, 7:], second.align(benefit[7:, 7:])
    )
    assert_allclose(gain(benefit, structure.align(benefit)), expected)


def test_align_refuses_what_it_cannot_use():
    with pytest.raises(ValueError, match=r"shape \(3, 3\) for Ring\(3\), got \(2, 2\)"):
        Ring(3).align(np.eye(2))
    with pytest.raises(ValueError, match="NaN or infinite"):
        Ring(2).align([[np.nan, 0], [0, 0]])


# ---- kernels and losses


def test_kernels_from_the_papers():
    assert_array_equal(Flat(3).kernel, np.eye(3))
    assert_array_equal(Chain(4).kernel, [[2, 1, 0, 0], [1, 2, 1, 0], [0, 1, 2, 1], [0, 0, 1, 2]])
    assert_array_equal(Ring(4).kernel, [[2, 1, 0, 1], [1, 2, 1, 0], [0, 1, 2, 1], [1, 0, 1, 2]])
    assert_array_equal(Ring(2).kernel, [[2, 1], [1, 2]])
    assert_array_equal(Ring(1).kernel, [[2]])
    assert_array_equal(Grid(2, 3).kernel, np.kron(Chain(2).kernel, Chain(3).kernel))
    assert_array_equal(Product(Ring(4), "chain:2").kernel, np.kron(Ring(4).kernel, Chain(2).kernel))


def test_losses_from_the_papers():
    assert_array_equal(Flat(3).loss, 1 - np.eye(3))
    assert_array_equal(Chain(3).loss, [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    assert_array_equal(Ring(7).loss[0], [0, 1, 2, 2, 2, 2, 1])
    distances = dict(nx.all_pairs_shortest_path_length(nx.grid_2d_graph(3, 4)))
    nodes = [(i, j) for i in range(3) for j in range(4)]
    assert_array_equal(Grid(3, 4).loss, [[distances[a][b] for b in nodes] for a in nodes])


def test_tree_by_its_paths():
    tree = Tree(["EXT", ["MIT", ["CYT", "NUC"]]])
    paths = [{"EXT"}, {"i", "MIT"}, {"i", "j", "CYT"}, {"i", "j", "NUC"}]
    assert_array_equal(tree.kernel, [[len(a & b) for b in paths] for a in paths])
    assert_array_equal(tree.loss, [[0, 3, 3, 3], [3, 0, 2, 2], [3, 2, 0, 1], [3, 2, 1, 0]])
    assert tree.leaf_names == ["EXT", "MIT", "CYT", "NUC"]
    assert [level.tolist() for level in tree.levels()] == [[0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]]


def test_an_inner_node_with_one_child_counts():
    tree = Tree([["a"], ["b", "c"]])
    assert_array_equal(tree.kernel, [[2, 0, 0], [0, 2, 1], [0, 1, 2]])
    assert_array_equal(tree.loss, [[0, 2, 2], [2, 0, 1], [2, 1, 0]])


@pytest.mark.parametrize("text", [one for one in SMALL if one.startswith("tree") and "*" not in one])
def test_a_levelled_tree_has_an_equal_diagonal_and_the_same_loss(text):
    """A = height - loss, which is positive semidefinite because heights rise towards the root."""
    tree = as_structure(text)
    level = tree.levelled()
    assert_array_equal(level.loss, tree.loss)
    assert_array_equal(level.kernel, len(tree.levels()) - tree.loss)
    assert np.linalg.eigvalsh(level.kernel)[0] > -1e-9
    assert level.leaf_names == tree.leaf_names
    assert level.levelled() == level == as_structure(str(level))
    assert (level == tree) == (np.ptp(np.diag(tree.kernel)) == 0)


def test_balanced_trees_are_sums_over_levels():
    tree = Tree(2, 3, 2)
    levels = tree.levels()
    same = [level[:, None] == level[None, :] for level in levels]
    assert len(levels) == 3
    assert_array_equal(tree.kernel, np.sum(same, axis=0))
    assert_array_equal(tree.loss, 3 - np.sum(same, axis=0))


def test_one_level_tree_is_flat():
    assert_array_equal(Tree(5).kernel, Flat(5).kernel)
    assert_array_equal(Tree(5).loss, Flat(5).loss)


@pytest.mark.parametrize("build", [lambda: Tree(3, 4), lambda: Tree((3, 4)), lambda: Tree([3, 4])])
def test_ways_to_write_a_balanced_tree(build):
    assert build() == Tree(3, 4)
    assert repr(build()) == "Tree(3, 4)"
    assert build().n_clusters == 12


def test_named_trees_keep_names_apart():
    assert Tree(["0", "1", "2"]) == Tree(3)
    assert Tree(["a", "b", "c"]) != Tree(3)
    assert repr(Tree([["a", "b"], "c"])) == "Tree([['a', 'b'], 'c'])"


def test_ways_to_write_a_grid():
    assert Grid((3, 4)) == Grid(3, 4) == Grid([3, 4])
    assert Grid(3, 4) != Grid(4, 3)
    assert Grid(4, 3).edges() == sorted((i, j) for i in range(12) for j in range(i, 12) if Grid(4, 3).loss[i, j] == 1)


def test_product_of_products_is_one_product():
    nested = Product(Product(Flat(2), Chain(2)), Ring(3))
    assert nested == Product(Flat(2), Chain(2), Ring(3))
    assert str(nested) == "flat:2*chain:2*ring:3"


@pytest.mark.parametrize("text", ["flat:4*chain:3", "chain:3*ring:4", "flat:2*flat:2*chain:3"])
def test_the_loss_of_a_product_is_the_distance_of_its_tensors(text):
    structure = as_structure(text)
    points = np.ones((1, 1))
    for factor in structure.factors:
        values, vectors = np.linalg.eigh(factor.kernel)
        points = np.kron(points, vectors * np.sqrt(np.maximum(values, 0.0)))
    half_squared = 0.5 * ((points[:, None] - points[None]) ** 2).sum(axis=2)
    assert_allclose(structure.loss, half_squared, atol=1e-9)


def test_a_product_may_have_the_loss_of_a_tree():
    """Four objects at three stages: kernel and relabellings stay, and another object costs more than another stage."""
    product = as_structure("flat:4*chain:3")
    assert_array_equal(product.loss[0, :4], [0, 1, 2, 2])
    by_tree = Custom(product.kernel, loss=Tree(4, 3).loss)
    assert_array_equal(by_tree.loss[0, :4], [0, 1, 1, 2])
    rng = np.random.default_rng(0)
    for _ in range(5):
        benefit = rng.standard_normal((12, 12))
        one, other = product.align(benefit), by_tree.align(benefit)
        assert_allclose(benefit[one, np.arange(12)].sum(), benefit[other, np.arange(12)].sum())


def test_default_loss_is_the_distance_in_feature_space():
    A = rigid(5)
    values, vectors = np.linalg.eigh(A)
    points = vectors * np.sqrt(values)
    half_squared = 0.5 * ((points[:, None] - points[None]) ** 2).sum(axis=2)
    assert_allclose(Custom(A).loss, half_squared, atol=1e-9)


def test_graph_kernel_raises_its_diagonal_only_when_it_must():
    assert_allclose(Custom(nx.cycle_graph(5)).kernel, Ring(5).kernel)
    star = Custom(nx.star_graph(9)).kernel
    assert_allclose(np.diag(star), 3.0)  # smallest eigenvalue of a star's adjacency: -sqrt(9)
    assert_allclose(np.linalg.eigvalsh(star)[0], 0.0, atol=1e-12)
    named = nx.Graph([("b", "a", {"weight": 0.5})])
    assert_array_equal(Custom(named).kernel, [[2, 0.5], [0.5, 2]])
    assert as_structure(named) == Custom(named)


def test_custom_equality_is_by_value():
    assert Custom(np.eye(3)) == Custom(np.eye(3).tolist()) == as_structure(sparse.csr_array(np.eye(3)))
    assert hash(Custom(np.eye(3))) == hash(Custom(np.eye(3) * -1 * -1))
    assert Custom(np.eye(3)) != Custom(np.eye(3), loss=Flat(3).loss)
    assert Custom(np.eye(3)) != Flat(3)


def test_drawings():
    assert Flat(4).edges() == Tree(2, 2).edges() == []
    assert Chain(4).edges() == [(0, 1), (1, 2), (2, 3)]
    assert Ring(4).edges() == [(0, 1), (0, 3), (1, 2), (2, 3)]
    assert Product(Flat(2), Chain(3)).edges() == [(0, 1), (1, 2), (3, 4), (4, 5)]
    assert len(np.unique(Product(Chain(3), Chain(4)).positions(), axis=0)) == 12
    lines = Tree(2, 2).segments()
    assert lines.shape == (2 + 4 + 3, 2, 2)
    assert np.all((lines[:, 0] == lines[:, 1]).sum(axis=1) == 1)  # each is either upright or level
    assert_allclose(lines[:, :, 1].max(), 1.0)


# ---- text


@pytest.mark.parametrize("text", SMALL)
def test_text_round_trip(text):
    structure = as_structure(text)
    assert str(structure) == text
    assert as_structure(str(structure)) == structure


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (" ring:5 ", Ring(5)), ("ring : 5", Ring(5)), ("grid:3 x 4", Grid(3, 4)),
        ("tree:( A, (B,C) );", Tree(["A", ["B", "C"]])),
        ("flat:2 * chain:3", Product(Flat(2), Chain(3))), ("product:flat:2*chain:3", Product(Flat(2), Chain(3))),
        ("tree:(a b,c-d)*chain:2", Product(Tree(["a b", "c-d"]), Chain(2))),
        ([[2, 1], [1, 2]], Custom([[2, 1], [1, 2]])),
    ],
)  # fmt: skip
def test_forgiving_reading(given, expected):
    assert as_structure(given) == expected


def test_size_from_outside():
    assert as_structure("ring", 7) == as_structure("ring", np.int64(7)) == Ring(7)
    assert as_structure("ring:7", 7) == as_structure(Ring(7), 7) == Ring(7)
    assert as_structure(Ring(7)) == Ring(7)


@pytest.mark.parametrize(
    ("spec", "n_clusters", "error", "message"),
    [
        ("tree:3x3", 8, ValueError, r"'tree:3x3' has 9 clusters, but n_clusters=8\. Leave.* set n_clusters=9"),
        (np.eye(3), 4, ValueError, "structure 'custom:3' has 3 clusters, but n_clusters=4"),
        ("rign:4", None, ValueError, r"unknown structure 'rign'; known: 'chain', .*'tree'.*Did you mean 'ring'\?"),
        ("", None, ValueError, "unknown structure ''"),
        ("ring", None, ValueError, "'ring' needs a number of clusters: write 'ring:12' or set n_clusters"),
        ("tree", None, ValueError, "'tree' needs its shape, like 'tree:3x3'"),
        ("auto", None, ValueError, "'auto' needs a number of clusters: write 'auto:6' or set n_clusters"),
        ("auto:(a,b,c,d)", None, ValueError, "has names, but its nodes exist only after the fit"),
        ("auto:4*chain:3", None, ValueError, "'auto:4', which is chosen by a fit"),
        ("grid", 9, ValueError, "'grid' needs its shape, like 'grid:3x4'"),
        ("product", 9, ValueError, r"'product' needs its shape, like 'flat:4\*chain:3'"),
        ("product:flat:3", None, ValueError, r"product 'flat:3' cannot be read; write it like 'flat:4\*chain:3'"),
        ("flat:3*", None, ValueError, r"product 'flat:3\*' cannot be read"),
        ("flat*chain:3", None, ValueError, "'flat' needs a number of clusters"),
        ("custom:5", None, ValueError, "'custom' cannot be given as text.*pass the matrix"),
        ("ring:", None, ValueError, "structure 'ring:' cannot be read; write it like 'ring:12'"),
        ("ring:2.5", None, ValueError, r"'ring:2\.5' cannot be read"),
        ("ring:-2", None, ValueError, "'ring:-2' cannot be read"),
        ("ring:0", None, ValueError, "every size in 'ring:0' must be at least 1, got 0"),
        ("grid:3", None, ValueError, "'grid:3' cannot be read; write it like 'grid:3x4'"),
        ("grid:3x4x5", None, ValueError, "cannot be read"),
        ("tree:3xa", None, ValueError, "'tree:3xa' cannot be read"),
        ("ring", 0, ValueError, "n_clusters must be at least 1, got 0"),
        ("ring", 2.5, TypeError, r"n_clusters must be an integer, got 2\.5 of type float"),
        ("ring", True, TypeError, "n_clusters must be an integer, got True"),
        (5, None, TypeError, "structure must be text such as 'ring:12'.*got 5 of type int"),
        (None, None, TypeError, "got None of type NoneType"),
        (["A", ["B", "C"]], None, TypeError, r"For a tree of names write Tree\(\[\.\.\.\]\)"),
        ([["A", "B"], ["B", "C"]], None, TypeError, r"write Tree"),
        ([3, 3], None, TypeError, r"got \[3, 3\] of type list"),
        (np.ones((2, 3)), None, ValueError, r"kernel must be a square matrix, got shape \(2, 3\)"),
        (np.ones(4), None, ValueError, r"got shape \(4,\)"),
        (np.array([["a"]]), None, TypeError, "kernel must be a square matrix of numbers"),
        (np.array([[1.0, np.inf], [np.inf, 1.0]]), None, ValueError, "kernel has NaN or infinite entries"),
        ([[1, 2], [0, 1]], None, ValueError, r"symmetric: entry \(0, 1\) is 2, entry \(1, 0\) is 0\. Use \(M \+ M"),
        ([[1, 2], [2, 1]], None, ValueError, "negative eigenvalue is -1. Add at least 1 to the diagonal.*grid:RxC"),
        (nx.Graph([(0, 0)]), None, ValueError, "loop at node 0"),
        (nx.Graph(), None, ValueError, "no nodes"),
        (nx.Graph([(0, 1, {"weight": np.nan})]), None, ValueError, "infinite edge weights"),
    ],
)  # fmt: skip
def test_errors_say_what_and_what_to_do(spec, n_clusters, error, message):
    with pytest.raises(error, match=message):
        as_structure(spec, n_clusters)


@pytest.mark.parametrize(
    "text",
    ["(A,,B)", "(A,B", "(A,B))", "()", "(A,B),C", "(,A)", "(A,)", "(A(B,C))", "(A,B)(C)"],
)
def test_malformed_trees(text):
    with pytest.raises(ValueError, match=r"cannot be read .*: write names in brackets, like '\(A,\(B,C\)\)'"):
        as_structure(f"tree:{text}")


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: Flat(0), ValueError, "Flat's n_clusters must be at least 1, got 0"),
        (lambda: Chain(2.0), TypeError, r"Chain's n_clusters must be an integer, got 2\.0 of type float"),
        (lambda: Ring("3"), TypeError, "Ring's n_clusters must be an integer"),
        (lambda: Grid(3), TypeError, r"Grid needs rows and columns, like Grid\(3, 4\); got 3"),
        (lambda: Grid(3, 0), ValueError, "Grid's columns must be at least 1"),
        (lambda: Tree(), TypeError, "Tree takes branchings"),
        (lambda: Tree("3x3"), TypeError, "Tree takes branchings"),
        (lambda: Tree(3, 0), ValueError, "every branching of a Tree must be at least 1"),
        (lambda: Tree(3, True), TypeError, "every branching of a Tree must be an integer"),
        (lambda: Tree(["A", [3, 4]]), TypeError, "leaves of a tree are names, got 3 of type int; write '3'"),
        (lambda: Tree(["A", []]), ValueError, "inner node of the tree has no children"),
        (lambda: Tree(["A", "A"]), ValueError, "more than once: A"),
        (lambda: Tree(["A", " B"]), ValueError, "leaves must not be empty, or begin or end with a blank.*' B'"),
        (lambda: Custom(nx.DiGraph([(0, 1)])), ValueError, "graph is directed.*to_undirected.*taxonomy"),
        (lambda: Product(Flat(3)), ValueError, "two factors or more"),
        (lambda: Product(Flat(3), 3), TypeError, "got 3 of type int"),
        (lambda: Custom(np.eye(2), loss=np.eye(2)), ValueError, "zero on the diagonal"),
        (lambda: Custom(np.eye(2), loss=[[0, -1], [-1, 0]]), ValueError, "smallest entry is -1"),
        (lambda: Custom(np.eye(2), loss=Flat(3).loss), ValueError, "loss has 3 rows, but the kernel has 2"),
        (lambda: Custom(np.eye(2), loss=[[0, 1], [2, 0]]), ValueError, "loss is not symmetric"),
    ],
)
def test_constructors_refuse(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_a_grid_adjacency_is_refused():
    adjacency = nx.to_numpy_array(nx.grid_2d_graph(3, 3))
    with pytest.raises(ValueError, match="not positive semi-definite"):
        Custom(2 * np.eye(9) + adjacency)


def test_rounding_is_forgiven():
    X = np.random.default_rng(0).standard_normal((6, 2))
    A = X @ X.T  # rank two: eigenvalues of about -1e-16
    assert Custom(A).n_clusters == 6
