"""arrange: groups of any kind are numbered along a structure, and no sample is moved."""

from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import rbf_kernel

from kernelclust import StructuredClustering, arrange
from kernelclust.solvers import Greedy
from kernelclust.structures import as_structure

pytestmark = pytest.mark.filterwarnings("ignore:several arrangements:UserWarning", "ignore:other graphs:UserWarning")
draw = np.random.default_rng(0)
place = draw.permutation(np.repeat(np.arange(5), 20))
X = np.c_[np.cos(place), np.sin(place)] + 0.1 * draw.standard_normal((100, 2))
NAMES = np.array(["m", "c", "x", "a", "k"])
names = NAMES[place]


def either(order):
    return [list(order), list(order)[::-1]]


@pytest.mark.parametrize("kernel", ["auto", "rbf", "linear", "graph"])
def test_the_order_is_found_and_nobody_moves(kernel):
    found = arrange(X, names, kernel=kernel)
    assert found.order in either(NAMES)
    assert_array_equal(np.array(found.order)[found.labels], names)
    assert_array_equal(found.sizes, 20)
    assert str(found.structure) == "chain:5"
    assert found.placement_margin > 0.3


@pytest.mark.parametrize("structure", ["chain", "ring", "tree:(a,(b,(c,(d,e))))"])
def test_it_is_the_best_arrangement_by_enumeration(structure):
    found = arrange(X, names, structure, kernel="linear")
    A = as_structure(structure, None if ":" in structure else 5).kernel
    mu = np.array([X[names == name].mean(axis=0) for name in found.order])
    D = ((mu[:, None] - mu) ** 2).sum(axis=2)
    lowest = min((A[np.ix_(p, p)] * D).sum() for p in permutations(range(5)))
    assert (A * D).sum() == pytest.approx(lowest)


def test_the_evidence_is_that_of_a_fit():
    """A fit that comes out with the same clusters says the same about them."""
    model = StructuredClustering(structure="chain:5", kernel="rbf", random_state=0, solver=Greedy(search="place")).fit(
        X
    )
    found = arrange(X, model.labels_, kernel="rbf")
    assert_array_equal(found.labels, model.labels_)
    assert found.objective == pytest.approx(model.objective_)
    assert found.placement_margin == pytest.approx(model.order_.margin)
    for one, other in zip(found.structures, model.order_.structures, strict=True):
        assert (one.name, one.arrangement) == (other.name, other.arrangement)
        assert one.probability == pytest.approx(other.probability)
    for one, other in zip(found.alternatives, model.order_.alternatives(5), strict=True):
        assert_array_equal(one.nodes, other.nodes)
        assert one.score == pytest.approx(other.score)


def test_objective_is_the_dependence():
    """tr(K P A P') with K centred, P = Pi N^-1/2, and 2 added to the diagonal of A."""
    found = arrange(rbf_kernel(X), names, "ring", kernel="precomputed")
    H, P = np.eye(100) - 0.01, np.eye(5)[found.labels] / np.sqrt(20)
    A = found.structure.kernel + 2 * np.eye(5)
    assert found.objective == pytest.approx(np.trace(H @ rbf_kernel(X) @ H @ P @ A @ P.T))


def test_kinds_of_labels():
    kinds = {
        "strings": names,
        "objects": names.astype(object),
        "list": names.tolist(),
        "series": pd.Series(names, index=np.arange(100) + 7),
        "polars": pl.Series(names),
        "categorical": pd.Categorical(names, categories=["x", "k", "zzz", "a", "m", "c"]),
        "series of categories": pd.Series(names).astype("category"),
        "pandas strings": pd.Series(names).astype("string"),
    }
    first = arrange(X, names, kernel="rbf")
    for kind, labels in kinds.items():
        found = arrange(X, labels, kernel="rbf")
        assert found.order in either(NAMES), kind
        assert_array_equal(np.array(found.order)[found.labels], names)
        assert_array_equal(found.labels, first.labels)
    numbers = arrange(X, place * 10, kernel="rbf")
    assert numbers.order in either([0, 10, 20, 30, 40])
    halves = arrange(X, place / 2, kernel="rbf")
    assert halves.order in either([0, 0.5, 1, 1.5, 2])


def test_names():
    upper = {name: name.upper() for name in NAMES}
    assert arrange(X, names, kernel="rbf", names=upper).order in either([n.upper() for n in NAMES])
    given = ["A", "C", "K", "M", "X"]  # of the sorted labels
    assert arrange(X, names, kernel="rbf", names=given).order in either([n.upper() for n in NAMES])
    categories = pd.Categorical(names, categories=["x", "k", "zzz", "a", "m", "c"])
    assert arrange(X, categories, kernel="rbf", names=list("XKAMC")).order in either([n.upper() for n in NAMES])


def test_groups_of_kmeans():
    groups = KMeans(5, n_init=5, random_state=0).fit_predict(X)
    found = arrange(X, groups)
    assert np.mean(found.labels == place) in (0.2, 1.0)  # either direction: of five places the middle one stays


def test_samples_without_a_group_are_left_out():
    rest = np.arange(100) >= 6
    noise = np.vstack([100 + np.arange(12.0).reshape(6, 2), X[rest]])
    plain = arrange(X[rest], names[rest], kernel="rbf")
    kinds = {
        "none": np.where(rest, names, None),
        "nan": pd.Series(np.where(rest, names, None)).replace({None: np.nan}),
        "categories": pd.Categorical(np.where(rest, names, None)),
        "NA": pd.Series(np.where(rest, names, None)).astype("string"),
        "-1": np.where(rest, place, -1),
        "nan number": np.where(rest, place, np.nan),
    }
    for kind, labels in kinds.items():
        found = arrange(noise, labels, kernel="rbf")
        assert_array_equal(found.labels[:6], -1, err_msg=kind)
        assert_array_equal(found.labels[6:], plain.labels, err_msg=kind)
        assert found.objective == pytest.approx(plain.objective)
    assert "-1" in arrange(X, np.where(names == "m", "-1", names), kernel="rbf").order  # a name like any other


def test_weights_are_repeats():
    weight = draw.integers(0, 4, 100)
    weighted = arrange(X, names, kernel="rbf", sample_weight=weight)
    repeated = arrange(np.repeat(X, weight, axis=0), np.repeat(names, weight), kernel="rbf")
    assert weighted.order == repeated.order
    assert weighted.objective == pytest.approx(repeated.objective)
    assert weighted.placement_margin == pytest.approx(repeated.placement_margin)
    assert_array_equal(weighted.sizes, repeated.sizes)
    assert_array_equal(np.array(weighted.order)[weighted.labels], names)  # those of weight zero too


@pytest.mark.parametrize("structure", ["chain", "ring", "tree", "tree:(a,(b,(c,(d,e))))"])
def test_neither_the_order_of_samples_nor_names_matter(structure):
    weight = np.linspace(1, 2, 5)[place]  # groups of different sizes
    one = arrange(X, place, structure, kernel="rbf", sample_weight=weight)
    other = np.random.default_rng(1).permutation(100)
    shuffled = arrange(X[other], place[other], structure, kernel="rbf", sample_weight=weight[other])
    renamed = arrange(X, np.array([3, 0, 4, 1, 2])[place], structure, kernel="rbf", sample_weight=weight)
    for found in (one, shuffled, renamed):
        assert_allclose(found.objective, one.objective)
        A = found.structure.kernel
        assert_allclose(A[np.ix_(found.labels, found.labels)].sum(), A[np.ix_(one.labels, one.labels)].sum())
    assert_array_equal(shuffled.labels, one.labels[other])
    assert_array_equal(renamed.labels, one.labels)


def test_a_tree_without_a_shape_joins_what_is_near():
    centre = np.array([[0.0, 0], [1, 0], [10, 0], [10, 2], [40, 0]])
    Z = centre[place] @ [[0.6, 0.8], [-0.8, 0.6]]
    found = arrange(Z, names, "tree", kernel="linear")
    near = found.structure.loss
    at = {name: j for j, name in enumerate(found.order)}
    a, b, c, d, e = (at[name] for name in NAMES)
    assert near[a, b] == near[c, d] == 1  # siblings
    assert near[a, c] == 2
    assert near[e, a] == near[e, c] == 3
    assert found.structure.leaf_names == found.order
    assert np.isnan(found.placement_margin)
    assert_array_equal(np.array(found.order)[found.labels], names)
    odd = arrange(Z, np.char.add(names, "(1)"), "tree", kernel="linear")
    assert odd.structure.leaf_names == odd.order
    blank = arrange(Z, np.char.add(" ", names), "tree", kernel="linear")  # no names for leaves
    assert blank.structure.leaf_names == list("01234")
    assert arrange(Z, np.zeros(100), "tree", kernel="linear").order == [0.0]


def test_branches_are_joined_by_their_mean_distance():
    """The nearest groups alone would make a caterpillar of these."""
    Z = np.array([[0.0], [1.0], [2.1], [3.3]]).repeat(5, axis=0)
    found = arrange(Z, np.repeat(list("abcd"), 5), "tree", kernel="linear")
    assert {frozenset(found.order[:2]), frozenset(found.order[2:])} == {frozenset("ab"), frozenset("cd")}
    assert found.structure.loss.max() == 2


def test_inputs():
    plain = arrange(X, names, kernel="rbf")
    for table in (pd.DataFrame(X, columns=["u", "v"]), sparse.csr_array(X), X.tolist()):
        assert arrange(table, names, kernel="rbf").order == plain.order
    with pytest.raises(AttributeError):
        plain.order = []  # frozen


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"labels": names[:-1]}, ValueError, "labels has 99 entries, but X has 100"),
        ({"labels": names[:, None]}, ValueError, r"shape \(100, 1\)"),
        ({"labels": [None] * 100}, ValueError, "holds no group"),
        ({"labels": ["a", 1] * 50}, TypeError, "no common order: int, str"),
        ({"labels": [{}] * 100}, TypeError, "a label is a number or a string"),
        ({"structure": "chain:4"}, ValueError, "'chain:4' has 4 nodes, but labels has 5 groups"),
        ({"structure": "grid"}, ValueError, "needs its shape"),
        ({"structure": "spiral"}, ValueError, "unknown structure"),
        ({"structure": 5}, TypeError, "structure must be text"),
        ({"kernel": "rbff"}, ValueError, "Did you mean 'rbf'"),
        ({"names": ["a"]}, ValueError, "one name for each of the 5 groups"),
        ({"names": "abcde"}, ValueError, "one name for each"),
        ({"names": {"m": "M"}}, ValueError, "names has none for group 'a', 'c'"),
        ({"names": ["a", "a", "b", "c", "d"]}, ValueError, "one name twice"),
        ({"sample_weight": np.where(names == "m", 0, 1)}, ValueError, "group 'm' has no sample of positive weight"),
        ({"sample_weight": -np.ones(100)}, ValueError, "negative"),
        ({"X": np.where(X > 1, np.nan, X)}, ValueError, "NaN"),
        ({"X": np.array([["a"] * 2] * 100)}, ValueError, "not numeric"),
    ],
)
def test_bad_input(change, error, message):
    given = {"X": X, "labels": names, "structure": "chain", "kernel": "rbf"} | change
    with pytest.raises(error, match=message):
        arrange(given.pop("X"), given.pop("labels"), **given)


# -- roots, names and positions ----------------------------------------------------------------------------------------


def test_a_root_comes_first():
    for root in ("m", "k"):
        found = arrange(X, names, kernel="rbf", root=root)
        assert found.order == list(NAMES if root == "m" else NAMES[::-1])
        assert_array_equal(np.array(found.order)[found.labels], names)
    free = arrange(X, names, "ring", kernel="rbf")
    for root in NAMES:
        found = arrange(X, names, "ring", kernel="rbf", root=root)
        assert found.order[0] == root
        turned = found.order * 2
        assert any(turned[k : k + 5] in either(free.order) for k in range(5))
        assert found.order_confidence == free.order_confidence
        at = [free.order.index(name) for name in found.order]
        assert_array_equal(found.link_confidence, free.link_confidence[np.ix_(at, at)])
        assert_array_equal(found.sizes, free.sizes[at])
    assert arrange(X, names, kernel="rbf", root="c").order == list(NAMES)  # as near to the beginning as can be
    assert arrange(X, place, names=dict(enumerate(NAMES)), kernel="rbf", root="k").order == list(NAMES[::-1])
    with pytest.raises(ValueError, match="root='q' is not a group; groups are 'a', 'c', 'k', 'm', 'x'"):
        arrange(X, names, root="q")


def test_positions_are_those_of_a_fit_with_these_clusters():
    gone = np.where(np.arange(100) % 9 == 0, "", names).astype(object)
    gone[gone == ""] = None
    for structure in ("chain", "ring"):
        found = arrange(X, gone, structure, kernel="rbf")
        there = found.labels >= 0
        model = StructuredClustering(5, structure=structure, kernel="rbf").fit(X[there], found.labels[there])
        assert_allclose(found.position[there], model.position_, atol=1e-9)
        assert np.isnan(found.position[~there]).all()
    assert arrange(X, names, "flat", kernel="rbf").position is None


def test_names_of_the_structure_say_which_group_is_where():
    for order in (NAMES, NAMES[[2, 0, 4, 1, 3]]):
        found = arrange(X, names, f"chain:({','.join(order)})", kernel="rbf")
        assert found.order == list(order)
        assert found.order_confidence is None and np.isnan(found.placement_margin) and len(found.alternatives) == 1
    assert arrange(X, names, "chain:(1,2,3,4,5)", kernel="rbf").order in either(NAMES)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_intervals_and_pseudotime_are_those_of_a_fit_with_these_clusters():
    """Groups that a fit found, arranged: the same means, so the same positions and errors."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 5, 300), np.zeros((300, 2))]) + 0.2 * rng.standard_normal((300, 3))
    model = StructuredClustering(structure="chain:5", kernel="linear", random_state=0).fit(X)
    names = np.array(["a", "b", "c", "d", "e"], dtype=object)[model.labels_]
    some = names.copy()
    some[[3, 7]] = None
    found, fewer = (arrange(X, given, "chain", kernel="linear", root="a") for given in (names, some))
    assert found.order == ["a", "b", "c", "d", "e"] and found.has_intervals
    assert_allclose(found.position_interval(), model.position_interval(), atol=1e-6)
    assert_allclose(found.pseudotime(), model.pseudotime(), atol=1e-6)
    assert_allclose(found.pseudotime("c"), model.pseudotime(root=2), atol=1e-6)
    for level in (0.5, 0.9):
        expected = model.pseudotime_interval(root=4, level=level)
        assert_allclose(found.pseudotime_interval("e", level=level), expected, atol=1e-6)
    low, high = fewer.position_interval().T
    assert np.isnan(low[[3, 7]]).all() and np.isnan(high[[3, 7]]).all() and np.isfinite(np.delete(low, [3, 7])).all()
    known = np.isfinite(low)
    assert ((low <= fewer.position) & (fewer.position <= high))[known].all()
    with pytest.raises(ValueError, match="root='x' is not a group; groups are 'a', 'b', 'c', 'd', 'e'"):
        found.pseudotime("x")
    similarities = arrange(X @ X.T, names, "chain", kernel="precomputed")
    assert not similarities.has_intervals and similarities.pseudotime().shape == (300,)
    with pytest.raises(ValueError, match="need a table of samples"):
        similarities.position_interval()
    with pytest.raises(ValueError, match="level=2: give a number between 0 and 1"):
        found.position_interval(level=2)


def test_the_table_of_structures_calls_groups_by_their_place():
    """Whatever structure is asked for, the table is of the same groups, and a warning says where it is."""
    stage = np.array(["m", "c", "x", "a", "k", "b"])[np.repeat(np.arange(6), 20)]
    Z = 4.0 * np.repeat(np.arange(6), 20)[:, None] + np.random.default_rng(0).standard_normal((120, 3))
    chain = arrange(Z, stage, "chain", kernel="rbf", root="b")
    assert chain.order == ["b", "k", "a", "x", "c", "m"] and chain.structures["chain"].arrangement == tuple(range(6))
    with pytest.warns(UserWarning, match=r"A chain .* see `structures` of the arrangement\."):
        ring = arrange(Z, stage, "ring", kernel="rbf")
    told = [ring.order[j] for j in ring.structures["chain"].arrangement]
    assert told in either(chain.order)
    assert ring.structures["chain"].probability == pytest.approx(chain.structures["chain"].probability)
    assert arrange(Z, stage, "flat", kernel="rbf").structures is None
    with pytest.raises(ValueError, match="name one, such as 'chain'; `structures` of the result"):
        arrange(Z, stage, "auto")
