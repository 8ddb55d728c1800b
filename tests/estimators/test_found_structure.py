"""Structures found from data: what fits, selections, files and other holders say is one and the same."""

import warnings
from itertools import permutations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kernelclust
from kernelclust import CLUHSIC, Diffrac, MultiKernelClustering, StructuredClustering, arrange, select_structure
from kernelclust._arrays import knows_numpy
from kernelclust.datasets import structured_blobs
from kernelclust.engine import _shapes
from kernelclust.metrics import clustering_distance
from kernelclust.structures import Auto, Chain, Custom, Tree, as_structure

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
STAR = nx.Graph([(0, 1), (1, 2), (0, 3), (3, 4), (0, 5), (5, 6)])


def branching(seed=0, per_cluster=20):
    rng = np.random.default_rng(seed)
    means = np.zeros((7, 3))
    for k, (near, far) in enumerate([(1, 2), (3, 4), (5, 6)]):
        means[near, k], means[far, k] = 1, 2
    X = np.repeat(means, per_cluster, axis=0) + 0.12 * rng.standard_normal((7 * per_cluster, 3))
    return np.c_[X, 0.05 * rng.standard_normal((len(X), 3))]


def blobs(structure, seed=0):
    return structured_blobs(structure, n_samples=160, noise=0.15, random_state=seed).data


def corners(c=6, per_cluster=20):
    rng = np.random.default_rng(1)
    return np.repeat(4 * np.eye(c), per_cluster, axis=0) + 0.3 * rng.standard_normal((c * per_cluster, c))


def families():
    return {
        "chain": (blobs("chain:8"), 8),
        "ring": (blobs("ring:8"), 8),
        "grid": (blobs("grid:3x3"), 9),
        "tree": (branching(), 7),
        "flat": (corners(), 6),
    }


def found(X, c, structure="auto", **params):
    return StructuredClustering(c, **{"structure": structure, "random_state": 0} | params).fit(X)


# -- what is found ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", families())
def test_the_most_probable_structure_is_found(name):
    X, c = families()[name]
    model = found(X, c)
    table = model.diagnostics_.structures
    assert table.rows[0].name == name
    assert _shapes.family_or_flat(model.structure_) == name and model.structure_.n_clusters == c
    if name == "flat":
        assert model.order_ is None and model.order_confidence_ is None
        assert (np.diff(model.sizes_) <= 0).all()
    else:
        assert [row.probability for row in model.order_.structures] == [row.probability for row in table]
    assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("name", ["chain", "ring", "grid"])
def test_named_structures_are_fitted_as_if_asked_for(name):
    X, c = families()[name]
    model = found(X, c)
    asked = StructuredClustering(structure=model.structure_, random_state=0).fit(X)
    assert_array_equal(model.labels_, asked.labels_)
    assert model.objective_ == pytest.approx(asked.objective_)
    for row in model.order_.structures:
        assert asked.order_.structures[row.name].probability == pytest.approx(row.probability, abs=1e-9)
        assert asked.order_.structures[row.name].arrangement == row.arrangement


@pytest.mark.parametrize("structure", ["tree", "graph", "auto"])
def test_links_of_a_lineage_are_the_true_ones(structure):
    X = branching()
    model = found(X, 7, structure)
    names = model.labels_[::20]  # node of each true cluster
    true = {tuple(sorted((names[j], names[k]))) for j, k in STAR.edges}
    assert len(set(names)) == 7 and set(model.structure_.edges()) == true
    strength = model.order_.structures.links
    assert all(strength[j, k] > 0.5 for j, k in true)
    assert {tuple(link) for link in model.order_.structures["tree"].arrangement} == true


def test_a_graph_has_the_links_above_one_half_and_a_tree_those_of_the_table():
    X = blobs("ring:8", seed=3)
    model = found(X, 8, "graph")
    likely = np.argwhere(np.triu(model.diagnostics_.structures.links > 0.5))
    assert model.structure_.edges() == [tuple(pair) for pair in likely.tolist()]
    tree = found(X, 8, "tree")
    assert tree.structure_ == Chain(8)  # which does not branch
    links = {tuple(sorted(link)) for link in tree.diagnostics_.structures["tree"].arrangement}
    assert links == {(j, j + 1) for j in range(7)}
    assert found(corners(), 6, "graph").structure_ == as_structure("flat:6")


def test_a_hierarchy_has_its_clusters_at_its_leaves():
    rng = np.random.default_rng(2)
    means = 8 * np.repeat(rng.standard_normal((3, 10)), 3, axis=0) + 1.5 * rng.standard_normal((9, 10))
    X = np.repeat(means, 20, axis=0) + 0.3 * rng.standard_normal((180, 10))
    model = found(X, 9)
    assert isinstance(model.structure_, Tree) and model.order_.structures.rows[0].name == "hierarchy"
    names = model.labels_[::20].reshape(3, 3)
    nearest = [set(np.argsort(-model.structure_.kernel[j])[:3].tolist()) for j in names[:, 0]]
    assert nearest == [set(map(int, group)) for group in names]
    chosen = select_structure(X, ["flat:9", "tree:3x3", "ring:9"], random_state=0)
    assert chosen.best == "tree:3x3"
    assert chosen.rows[1].probability == pytest.approx(model.order_.structures["hierarchy"].probability)


@pytest.mark.parametrize("name", ["ring", "tree", "flat"])
def test_order_of_samples_units_and_files_change_nothing(name, tmp_path):
    X, c = families()[name]
    model = found(X, c)
    again = found(1000 * X[::-1], c)
    assert _shapes.family_or_flat(again.structure_) == name
    assert clustering_distance(again.labels_[::-1], model.labels_) < 1e-9
    model.save(tmp_path / "model.kc")
    loaded = kernelclust.load(tmp_path / "model.kc")
    assert loaded.structure_ == model.structure_ and loaded.structure == "auto"
    assert repr(loaded.diagnostics_.structures) == repr(model.diagnostics_.structures)
    assert_array_equal(loaded.predict(X), model.labels_)


def test_presets_weights_links_and_sizes():
    X = blobs("ring:8")
    preset = CLUHSIC(8, structure="auto", random_state=0).fit(X)
    assert str(preset.structure_) == "ring:8"
    weighted = StructuredClustering(8, structure="auto", random_state=0).fit(X, sample_weight=np.full(len(X), 2.0))
    assert_array_equal(weighted.labels_, found(X, 8).labels_)
    assert np.bincount(found(X, 8, min_cluster_size=15).labels_).min() >= 15
    linked = StructuredClustering(8, structure="auto", random_state=0).fit(X, must_link=[[0, 1]])
    assert linked.labels_[0] == linked.labels_[1]


@pytest.mark.skipif(not knows_numpy(), reason="needs NumPy 2 and scikit-learn 1.7")
def test_partitions_and_devices_find_the_same():
    da, strict = pytest.importorskip("dask.array"), pytest.importorskip("array_api_strict")
    X = blobs("ring:8")
    host = found(X, 8, kernel="rbf", approximation=None)
    for other in (da.from_array(X, chunks=(80, -1)), strict.asarray(X)):
        model = found(other, 8, kernel="rbf", approximation=None)
        assert model.structure_ == host.structure_
        labels = model.labels_.compute() if hasattr(model.labels_, "compute") else model.labels_
        assert clustering_distance(np.asarray(labels), host.labels_) < 1e-9
        for row in host.diagnostics_.structures:
            assert model.diagnostics_.structures[row.name].probability == pytest.approx(row.probability, abs=1e-6)


def test_reports_pictures_and_anndata_show_what_was_found():
    from kernelclust.report import html_report

    X = branching()
    model = found(X, 7)
    table = model.diagnostics_.structures
    assert f"tree {table['tree'].probability:.2f}" in html_report(model, X)
    plots = pytest.importorskip("kernelclust.plots")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = plots.StructureDisplay.from_estimator(model).ax_
    strength = [table.links[j, k] for j, k in model.structure_.edges()]
    assert_allclose(ax.collections[0].get_linewidths(), 1 + 5 * np.array(strength))
    assert {f"{value:.2f}" for value in strength} <= {text.get_text() for text in ax.texts}
    where = model.structure_.positions()
    apart = np.linalg.norm(where[:, None] - where, axis=2)
    links = model.structure_.kernel == 1
    assert apart[links].max() < apart[~links & ~np.eye(7, dtype=bool)].min()  # neighbours are drawn next to each other
    matplotlib.pyplot.close("all")
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(X)
    kernelclust.anndata.structured(adata, structure="auto", n_clusters=7, random_state=0, key_added="found")
    evidence = adata.uns["found"]["evidence"]
    assert evidence["structure_probabilities"] == {row.name: row.probability for row in table}
    assert_array_equal(evidence["structure_links"], table.links)


# -- selection --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", families())
def test_selection_prints_the_numbers_of_the_fit(name):
    X, c = families()[name]
    model = found(X, c)
    selection = select_structure(X, n_clusters=c, random_state=0)
    table = model.diagnostics_.structures
    shown = [row for row in table if row.name != "grid" or row.arrangement]
    assert [row.probability for row in selection.rows] == [row.probability for row in shown]
    assert sum(row.probability for row in selection.rows) == pytest.approx(1)
    assert selection.best_index == 0 and str(selection).splitlines()[1].startswith("*")
    assert_array_equal(selection.labels_, model.labels_)
    assert selection.best_estimator_.structure_ == model.structure_


def test_candidates_have_the_probability_of_their_family_times_the_share_of_their_shape():
    X = branching()
    trees = [tree for tree in nx.nonisomorphic_trees(7) if max(dict(tree.degree).values()) > 2]
    selection = select_structure(X, [*trees, "chain:7"], random_state=0)
    table = selection.best_estimator_.diagnostics_.structures
    p = [row.probability for row in selection.rows]
    assert sum(p[:-1]) == pytest.approx(table["tree"].probability)  # all shapes
    assert p[-1] == table["chain"].probability
    assert nx.is_isomorphic(selection.best, STAR)
    assert selection.best_estimator_.structure_ == Custom(selection.best)
    frame = selection.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert_allclose(frame["probability"], p)
    assert selection._repr_html_().count("<tr>") == len(trees) + 2


def test_what_is_no_candidate_is_told():
    X = blobs("ring:8")
    reason = select_structure(X, ["flat:8", "chain:8"], random_state=0).reason
    assert "ring" in reason and "no candidate" in reason
    assert select_structure(X, ["flat", "ring"], n_clusters=8, random_state=0).best == "ring"


@pytest.mark.parametrize("kernel", ["auto", "rbf", "linear", "precomputed"])
def test_every_kernel_that_shows_distances(kernel):
    X = blobs("chain:8")
    X = X @ X.T if kernel == "precomputed" else X
    selection = select_structure(X, ["flat:8", "chain:8"], kernel=kernel, random_state=0)
    assert selection.best == "chain:8" and selection.best_estimator_.kernel == kernel


# -- shares -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c, shapes", [(4, 2), (5, 3), (6, 6), (7, 11), (8, 23)])
def test_codes_tell_all_shapes_of_trees_apart(c, shapes):
    codes = _shapes._all_codes(c)
    assert len(codes) == c ** (c - 2) and len(np.unique(codes)) == shapes
    for tree in nx.nonisomorphic_trees(c):
        automorphisms = sum(1 for _ in nx.isomorphism.GraphMatcher(tree, tree).isomorphisms_iter())
        edges = np.sort(np.array(tree.edges), axis=1)
        count = (codes == _shapes._shape_code(edges, c)).sum()
        assert count == len(list(permutations(range(c)))) // automorphisms


def test_share_of_a_tree_is_that_of_all_its_labelings():
    rng = np.random.default_rng(0)
    s = rng.standard_normal((5, 5)) * 3
    s = s + s.T
    total, of_star = 0.0, 0.0
    for code in np.ndindex(5, 5, 5):
        tree = nx.from_prufer_sequence(list(code))
        weight = np.exp(sum(s[j, k] for j, k in tree.edges))
        degree = max(dict(tree.degree).values())
        total += weight * (degree > 2)
        of_star += weight * (degree == 4)
    star = nx.to_numpy_array(nx.star_graph(4)) > 0
    assert _shapes.tree_share(s, star) == pytest.approx(of_star / total)
    assert _shapes.tree_share(s + 500, star) == pytest.approx(of_star / total)


def test_beyond_eight_clusters_the_best_tree_has_all():
    tree = nx.Graph([(0, 1), (1, 2), (1, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8)])
    s = 5.0 * (nx.to_numpy_array(tree, nodelist=range(9)) > 0)
    turned = nx.relabel_nodes(tree, dict(enumerate(np.random.default_rng(0).permutation(9).tolist())))
    assert _shapes.tree_share(s, nx.to_numpy_array(turned, nodelist=range(9)) > 0) == 1
    assert _shapes.tree_share(s, nx.to_numpy_array(nx.star_graph(8)) > 0) == 0


def test_shares_of_grids_add_up():
    s = np.random.default_rng(0).standard_normal((12, 12))
    s = s + s.T
    shares = [_shapes.grid_share(s, as_structure(text)) for text in ("grid:2x6", "grid:3x4")]
    assert sum(shares) == pytest.approx(1) and shares[0] == _shapes.grid_share(s, as_structure("grid:6x2"))


def test_a_hierarchy_may_leave_out_groups():
    best = (((0, 1), 2), ((3, 4), 5))
    deep, coarse, wrong = as_structure("tree:((a,(b,c)),(d,(e,f)))"), as_structure("tree:2x3"), as_structure("tree:3x2")
    assert [_shapes.hierarchy_share(best, one, [one]) for one in (deep, coarse, wrong)] == [1, 1, 0]
    assert [_shapes.hierarchy_share(best, one, [deep, coarse]) for one in (deep, coarse)] == [1, 0]
    assert _shapes.hierarchy_share(best, as_structure("tree:6"), [as_structure("tree:6")]) == 1


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda X: found(X, 2), "the structure of 2 clusters cannot be estimated"),
        (lambda X: found(X, 3, "tree"), "the structure of 3 clusters cannot be estimated"),
        (lambda X: found(X, 13), "up to 12 clusters"),
        (lambda X: found(X, 6, kernel="graph"), "cannot be estimated from distances"),
        (lambda X: Diffrac(6, structure="auto").fit(X), "cannot be estimated from distances"),
        (lambda X: StructuredClustering(6, structure="auto").fit(X, np.zeros(len(X), int)), "y with structure"),
        (lambda X: found(X, 6, min_cluster_size=np.ones(6)), "min_cluster_size of each node"),
        (lambda X: StructuredClustering(6, structure="auto").partial_fit(X), "partial_fit"),
        (lambda X: MultiKernelClustering(6, structure="auto").fit([X, X]), "MultiKernelClustering"),
        (lambda X: arrange(X, np.arange(len(X)) % 4, "auto"), "arrange"),
        (lambda X: select_structure(X, ["flat:3", "chain:3"]), "the structure of 3 clusters cannot be estimated"),
        (lambda X: select_structure(X, n_clusters=20), "up to 12"),
        (lambda X: select_structure(X, ["flat:5", "chain:6"]), "5, 6 clusters.*same clusters"),
        (lambda X: select_structure(X, ["flat:6"]), "two or more"),
        (lambda X: select_structure(X, ["flat:6", "flat:2*chain:3"]), "cannot be compared"),
        (lambda X: select_structure(X, ["flat:6", "auto:6"]), "cannot be compared"),
        (lambda X: select_structure(X, ["flat:6", nx.complete_graph(6)]), "cannot be compared"),
        (lambda X: select_structure(X, ["flat:6", "chain:6"], n_clusters=7), "n_clusters=7"),
        (lambda X: select_structure(X, ["chain:6", "rnig:6"]), "ring"),
        (lambda X: select_structure(X, n_clusters=6, kernel="grpah"), "graph"),
        (lambda X: select_structure(np.ones((40, 3)), n_clusters=4), "cannot be compared here"),
        (lambda X: select_structure(np.where(X > 3, np.nan, X), n_clusters=6), "NaN"),
    ],
)
def test_what_cannot_be_said_is_refused_by_name(call, words):
    with pytest.raises(ValueError, match=words):
        call(corners())


def test_wrong_kinds_are_named():
    with pytest.raises(TypeError, match="list"):
        select_structure(corners(), "chain:6")
    with pytest.raises(TypeError, match="being chosen"):
        select_structure(corners(), ["flat:6", "chain:6"], structure="ring:6")
    with pytest.raises(ValueError, match="n_null"):
        select_structure(corners(), n_clusters=6, n_null=3)


def test_equal_samples_are_flat_with_a_warning():
    with pytest.warns(UserWarning, match="could not be compared"):
        model = found(np.ones((30, 2)), 4)
    assert model.structure_ == as_structure("flat:4") and model.order_ is None


def test_warnings_are_given_once():
    X = branching()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found(X, 7, compute_confidence=False)
    texts = [str(one.message) for one in said]
    assert len(texts) == len(set(texts))


def test_objects_are_kept():
    shapes = (as_structure("flat:6"), as_structure("ring:6"))
    one = Auto(6, shapes)
    assert one == Auto(6, shapes) != Auto(6) and hash(one) == hash(Auto(6, shapes)) and str(one) == "auto:6"
    model = StructuredClustering(structure=one, random_state=0).fit(blobs("ring:6"))
    assert model.structure_ in shapes


def test_a_noisy_chain_has_the_table_of_its_fit_though_its_clusters_nearly_tie():
    """Clusters by rbf settle near ties on chains and rings; where a structure is sought they do, too."""
    rng = np.random.default_rng(0)
    x = (np.repeat(np.arange(8), 40) + rng.uniform(0, 1, 320)) / 8
    X = np.c_[4 * x, np.sin(3 * x)] @ rng.standard_normal((2, 10)) / np.sqrt(10) + 0.15 * rng.standard_normal((320, 10))
    asked, plain = (StructuredClustering(structure=text, random_state=0).fit(X) for text in ("chain:8", "flat:8"))
    assert clustering_distance(asked.labels_, plain.labels_) > 0.1
    sought = found(X, 8).diagnostics_.structures
    for row in asked.order_.structures:
        assert sought[row.name].probability == pytest.approx(row.probability, abs=1e-9)
