"""AnnData in and out: what is written, that it is what the library finds, and errors in words."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from kernelclust import StructuredClustering
from kernelclust import arrange as arrange_array
from kernelclust._scale_warning import ScaleWarning
from kernelclust.anndata import arrange, structured
from kernelclust.structures import as_structure

ad = pytest.importorskip("anndata")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

STAGE = np.repeat(np.arange(5), 20)


def cells(**extra):
    rng = np.random.default_rng(0)
    X = 3.0 * STAGE[:, None] + rng.standard_normal((len(STAGE), 4))
    adata = ad.AnnData(X, **extra)
    adata.obsm["X_pca"] = X[:, :2].copy()
    return adata


def with_neighbors(adata, key="neighbors"):
    from sklearn.neighbors import kneighbors_graph

    graph = kneighbors_graph(adata.obsm["X_pca"], 10)
    adata.obsp[f"{key}_c"] = sparse.csr_matrix(graph.maximum(graph.T))
    adata.uns[key] = {"connectivities_key": f"{key}_c"}
    return adata


def test_what_is_written_is_what_the_library_finds():
    adata = cells()
    assert structured(adata, structure="chain:5", random_state=0) is None
    model = StructuredClustering(structure="chain:5", random_state=0).fit(adata.obsm["X_pca"])
    column = adata.obs["kernelclust"]
    assert np.array_equal(column.cat.codes, model.labels_)
    assert column.cat.ordered and len(column.cat.categories) == 5
    assert np.array_equal(adata.obs["kernelclust_position"], model.position_)
    evidence = adata.uns["kernelclust"]["evidence"]
    assert evidence["order_confidence"] == model.order_confidence_
    assert np.array_equal(evidence["order_links"], model.order_.links, equal_nan=True)
    assert adata.uns["kernelclust"]["params"]["structure"] == "chain:5"
    assert len(adata.uns["kernelclust_colors"]) == 5


def test_a_copy_leaves_the_original_alone():
    adata = cells()
    found = structured(adata, n_clusters=3, copy=True, key_added="three", random_state=0)
    assert "three" in found.obs and "three" not in adata.obs and not adata.uns
    assert not found.obs["three"].cat.ordered  # flat
    assert "three_position" not in found.obs


def test_numbers_are_those_asked_for():
    adata = cells()
    for use_rep, X in (("X", adata.X), ("X_pca", adata.obsm["X_pca"])):
        structured(adata, structure="chain:5", use_rep=use_rep, random_state=0)
        model = StructuredClustering(structure="chain:5", random_state=0).fit(X)
        assert np.array_equal(adata.obs["kernelclust"].cat.codes, model.labels_)
        assert use_rep in adata.uns["kernelclust"]["params"]["use"]


def test_the_graph_that_is_there_is_used():
    adata = with_neighbors(cells(), "mine")
    structured(adata, structure="chain:5", neighbors_key="mine", random_state=0)
    model = StructuredClustering(structure="chain:5", kernel="precomputed_graph", random_state=0)
    assert np.array_equal(adata.obs["kernelclust"].cat.codes, model.fit(adata.obsp["mine_c"]).labels_)


def test_a_grid_has_two_columns_of_positions():
    rng = np.random.default_rng(1)
    adata = ad.AnnData(rng.random((120, 2)))
    structured(adata, structure="grid:2x3", kernel="rbf", random_state=0)
    assert {"kernelclust_position_0", "kernelclust_position_1"} <= set(adata.obs)


def test_sparse_counts_and_a_file(tmp_path):
    adata = ad.AnnData(sparse.csr_matrix(np.random.default_rng(2).poisson(1.0, (60, 8)).astype("f4")))
    structured(adata, structure="ring:4", random_state=0)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    back = ad.read_h5ad(tmp_path / "cells.h5ad")
    assert back.obs["kernelclust"].equals(adata.obs["kernelclust"])
    assert back.uns["kernelclust"]["evidence"]["objective"] == adata.uns["kernelclust"]["evidence"]["objective"]
    backed = ad.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    again = backed.to_memory()
    structured(backed, structure="ring:4", random_state=0, key_added="again")
    structured(again, structure="ring:4", random_state=0, key_added="again")
    assert backed.obs["again"].equals(again.obs["again"])


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"use_rep": "X_umap"}, ValueError, "no 'X_umap'; use_rep may be 'X', 'X_pca'"),
        ({"neighbors_key": "neighbors"}, ValueError, "no graph of neighbours 'neighbors'; it has 'mine'"),
        ({"neighbors_key": "mine", "use_rep": "X"}, ValueError, "exclude each other"),
        ({"neighbors_key": "mine", "kernel": "rbf"}, ValueError, "kernel='rbf' cannot be made from a graph"),
        ({"key_added": ""}, ValueError, "key_added must be a name"),
        ({"structure": "chian:5"}, ValueError, "chain"),
        ({"n_cluster": 3}, TypeError, "n_cluster"),
    ],
)
def test_errors_in_words_and_nothing_written(wrong, error, words):
    adata = with_neighbors(cells(), "mine")
    with pytest.raises(error, match=words):
        structured(adata, **{"structure": "chain:5"} | wrong)
    assert adata.obs.shape[1] == 0 and set(adata.uns) == {"mine"}


def test_numbers_that_are_missing_are_named_by_where_they_are():
    adata = cells()
    adata.obsm["X_pca"][3, 1] = np.nan
    with pytest.raises(ValueError, match=r"adata.obsm\['X_pca'\].*NaN"):
        structured(adata, structure="chain:5")


def test_arrays_go_elsewhere():
    with pytest.raises(TypeError, match="must be an AnnData, got ndarray"):
        structured(np.ones((5, 2)), "flat:2")


# -- names, roots and groups -------------------------------------------------------------------------------------------

LINEAGE = (("egg", "stem"), ("stem", "skin"), ("stem", "bone"))


def fork(seed=0):
    """Cells along a fork: an egg, a stem, two fates; obs has the truth and names of a few cells."""
    rng = np.random.default_rng(seed)
    centre = np.array([[0.0, 0], [0, 4], [-3, 7], [3, 7]])
    adata = ad.AnnData(np.repeat(centre, 30, axis=0) + 0.8 * rng.standard_normal((120, 2)))
    adata.obs_names = [f"cell {i}" for i in range(120)]
    adata.obs["truth"] = pd.Categorical(np.repeat(["egg", "stem", "skin", "bone"], 30))
    adata.obs["few"] = adata.obs["truth"].where(np.arange(120) % 30 == 0)
    return adata


def unchanged(adata):
    """What must be the same after an error."""
    return adata.obs.copy(), {name: np.array(value) for name, value in adata.uns.items()}, list(adata.obsm)


def same(one, other):
    return one[0].equals(other[0]) and repr(one[1]) == repr(other[1]) and one[2] == other[2]


def test_names_of_some_cells_put_all_names_right():
    adata = fork()
    structured(adata, nx.Graph(LINEAGE), y="few", root="egg", kernel="linear", random_state=0)
    assert (adata.obs["kernelclust"].astype(str) == adata.obs["truth"].astype(str)).mean() > 0.95
    model = StructuredClustering(structure=nx.Graph(LINEAGE), kernel="linear", random_state=0)
    model.fit(adata.X, adata.obs["few"].astype(object).where(adata.obs["few"].notna(), "").to_numpy())
    assert np.array_equal(adata.obs["kernelclust_pseudotime"], model.pseudotime(root="egg"))
    assert list(adata.obs["kernelclust_edge"].cat.categories) == ["egg-stem", "stem-skin", "stem-bone"]
    assert np.array_equal(adata.obs["kernelclust_edge"].cat.codes, model.position_[:, 0])
    assert np.array_equal(adata.obs["kernelclust_fraction"], model.position_[:, 1])
    found = model.lineages(root="egg")
    for what in ("pseudotime", "weights"):
        frame = adata.obsm[f"kernelclust_lineage_{what}"]
        assert list(frame.columns) == ["skin", "bone"] and np.array_equal(frame, getattr(found, what))
    assert adata.uns["kernelclust"]["lineages"]["bone"].tolist() == ["egg", "stem", "bone"]
    assert adata.uns["kernelclust"]["params"]["root"] == "egg"


def test_everything_survives_a_file(tmp_path):
    adata = fork()
    structured(adata, nx.Graph(LINEAGE), y="few", root="egg", kernel="linear", random_state=0)
    arrange(adata, "truth", "chain", kernel="linear")
    adata.write_h5ad(tmp_path / "cells.h5ad")
    back = ad.read_h5ad(tmp_path / "cells.h5ad")
    assert back.obs.equals(adata.obs)
    for name in ("kernelclust_lineage_pseudotime", "kernelclust_lineage_weights"):
        assert back.obsm[name].equals(adata.obsm[name])
    assert back.uns["truth_arrangement"]["groups"].tolist() == list(adata.obs["truth"].cat.categories)


@pytest.mark.parametrize("early", [0, 99])
def test_a_root_tells_the_ends_of_a_chain_apart(early):
    adata = cells()
    mask = STAGE == (0 if early == 0 else 4)
    for root in (early, adata.obs_names[early], mask):
        structured(adata, "chain:5", root=root, random_state=0)
        assert adata.obs["kernelclust"].cat.codes.iloc[early] == 0
        time = adata.obs["kernelclust_pseudotime"]
        assert np.corrcoef(time, STAGE)[0, 1] * (1 if early == 0 else -1) > 0.95
        assert np.allclose(time, adata.obs["kernelclust_position"] + 0.5)
    structured(adata, "ring:5", root=early, random_state=0, key_added="ring")
    assert adata.obs["ring"].cat.codes.iloc[early] == 0 and "ring_lineage_weights" not in adata.obsm


def test_a_root_among_cells_of_a_found_structure():
    adata = cells()
    structured(adata, "tree", n_clusters=5, root=STAGE == 4, kernel="rbf", random_state=0)
    assert np.corrcoef(adata.obs["kernelclust_pseudotime"], STAGE)[0, 1] < -0.95


def test_groups_that_exist_are_arranged_and_kept():
    adata = cells()
    adata.obs["leiden"] = pd.Categorical(np.array(["2", "0", "3", "1", "4"])[STAGE])
    adata.obs.loc[adata.obs_names[7], "leiden"] = np.nan
    structured(adata, "chain", groupby="leiden", root="2", kernel="rbf")
    column = adata.obs["kernelclust"]
    assert list(column.cat.categories) == ["2", "0", "3", "1", "4"] and column.cat.ordered
    assert column.astype(object).equals(adata.obs["leiden"].astype(object))
    found = arrange_array(adata.obsm["X_pca"], adata.obs["leiden"], "chain", kernel="rbf", root="2")
    assert np.array_equal(adata.obs["kernelclust_position"], found.position, equal_nan=True)
    assert np.isnan(adata.obs["kernelclust_position"].iloc[7]) and np.isnan(adata.obs["kernelclust_pseudotime"].iloc[7])
    assert np.corrcoef(np.delete(adata.obs["kernelclust_pseudotime"], 7), np.delete(STAGE, 7))[0, 1] > 0.95
    assert adata.uns["kernelclust"]["evidence"]["order_confidence"] == found.order_confidence
    ends = adata.obs[["kernelclust_pseudotime_low", "kernelclust_pseudotime_high"]]
    assert np.array_equal(ends, found.pseudotime_interval("2"), equal_nan=True) and np.isnan(ends.iloc[7]).all()


def test_groups_called_as_the_clusters_are_where_their_names_say():
    adata = fork()
    wrong = nx.Graph([("skin", "egg"), ("egg", "bone"), ("egg", "stem")])  # not what the cells say
    structured(adata, wrong, groupby="truth", root="skin", kernel="linear")
    assert adata.obs["kernelclust"].astype(str).equals(adata.obs["truth"].astype(str))
    ends = adata.obs["kernelclust_edge"].astype(str).str.split("-")
    assert all(name in pair for name, pair in zip(adata.obs["truth"], ends, strict=True))
    assert "order_confidence" not in adata.uns["kernelclust"]["evidence"]


def test_arrange_renumbers_groups_and_takes_their_colours_along():
    adata = cells()
    before = np.array(["2", "0", "3", "1", "4"])[STAGE]
    adata.obs["leiden"] = pd.Categorical(before)
    color = {"0": "#ff0000", "1": "#00ff00", "2": "#0000ff", "3": "#000000", "4": "#ffffff"}
    adata.uns["leiden_colors"] = [color[name] for name in sorted(color)]
    adata.uns["leiden"] = {"params": {"resolution": 1.0}}
    assert arrange(adata, root=0) is None
    assert np.array_equal(adata.obs["leiden"].astype(int), STAGE) and adata.obs["leiden"].cat.ordered
    assert list(adata.uns["leiden_colors"]) == [color[name] for name in ["2", "0", "3", "1", "4"]]
    assert adata.uns["leiden"] == {"params": {"resolution": 1.0}}
    stored = adata.uns["leiden_arrangement"]
    assert set(stored) == {"params", "evidence", "groups"}
    assert stored["groups"].tolist() == ["2", "0", "3", "1", "4"]
    found = arrange_array(adata.obsm["X_pca"], before, "chain")
    assert stored["evidence"]["order_confidence"] == found.order_confidence
    assert stored["evidence"]["structure_probabilities"]["chain"] == found.structures["chain"].probability
    links = np.triu(stored["evidence"]["structure_links"] > 0.5)
    assert np.argwhere(links).tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]  # by the new numbers
    assert np.array_equal(adata.uns["leiden_colors"][adata.obs["leiden"].cat.codes], [color[name] for name in before])
    assert set(adata.obs) == {"leiden"} and list(adata.obsm) == ["X_pca"]


def test_arrange_keeps_names_and_other_columns():
    adata = fork()
    other = arrange(adata, "truth", root="egg", kernel="linear", key_added="line", copy=True)
    assert list(other.obs["line"].cat.categories)[:2] == ["egg", "stem"]
    assert other.obs["line"].astype(str).equals(adata.obs["truth"].astype(str))
    assert "line" not in adata.obs and len(other.uns["line_colors"]) == 4


def test_old_layouts_of_neighbours():
    new = with_neighbors(cells())
    structured(new, "chain:5", neighbors_key="neighbors", random_state=0)
    graph = new.obsp["neighbors_c"]
    older, oldest = cells(), cells()
    older.uns["neighbors"] = {"params": {"n_neighbors": 10}}
    older.obsp["connectivities"] = graph
    oldest.uns["neighbors"] = {"params": {"n_neighbors": 10}, "connectivities": graph}
    for adata in (older, oldest):
        structured(adata, "chain:5", neighbors_key="neighbors", random_state=0)
        assert adata.obs["kernelclust"].equals(new.obs["kernelclust"])


def test_a_lineage_with_directions_loses_stages():
    directed = nx.DiGraph([("1", "2"), ("2", "4"), ("4", "ICM"), ("4", "TE")])
    says = r"its 2 leaves are clusters; the inner nodes 1, 2 have one child .*graph.to_undirected\(\)"
    with pytest.warns(UserWarning, match=says):
        assert as_structure(directed).n_clusters == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_structure(nx.DiGraph([("all", "a"), ("all", "b"), ("b", "c"), ("b", "d")]))
        assert as_structure(directed.to_undirected()).n_clusters == 5


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"root": "nobody"}, "root='nobody' is neither a cluster nor a cell; clusters: 'egg', 'stem', 'skin', 'bone'"),
        ({"root": 120}, "root=120: cells are numbered from 0 to 119"),
        ({"root": np.zeros(120, bool)}, "mask without any cell"),
        ({"root": np.zeros(5, bool)}, "boolean mask of the 120 cells"),
        ({"root": 1.5}, "root=1.5: give the name"),
        ({"y": "fwe"}, r"unknown y = 'fwe'; known: .* \(columns of adata.obs\). Did you mean 'few'"),
        ({"y": "odd"}, r"unknown name in adata.obs\['odd'\]: 'boone'.*Did you mean 'bone'"),
        ({"y": "few", "structure": "chain:4"}, r"holds names, such as 'bone', but the clusters of 'chain:4' have none"),
        ({"root": 0, "structure": "flat:4"}, "root=0: structure 'flat:4' has no distances"),
        ({"root": 0, "structure": "tree:2x2"}, "has no distances along it"),
        ({"groupby": "one", "structure": "chain"}, r"adata.obs\['one'\] has 1 group \('all'\); two or more"),
        ({"groupby": "none", "structure": "chain"}, r"adata.obs\['none'\] has 0 group"),
        ({"groupby": "truth", "y": "few"}, "y with groupby='truth'"),
        ({"groupby": "truth", "random_state": 0}, "random_state with groupby"),
        ({"groupby": "truth", "structure": "chain:3"}, "3 nodes, but labels has 4 groups"),
        ({"groupby": "few", "root": "cell 1"}, r"root='cell 1' is in no cluster: adata.obs\['few'\] is missing there"),
        ({"root": "egg", "structure": "isolated"}, "no edge of the graph leads from root 'egg' to cluster 'bone'"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(wrong, words):
    adata = fork()
    adata.obs["odd"] = np.where(np.arange(120) == 5, "boone", "")
    adata.obs["one"], adata.obs["none"] = "all", pd.Categorical([None] * 120)
    isolated = nx.Graph(LINEAGE[:2])
    isolated.add_node("bone")
    given = {"structure": nx.Graph(LINEAGE), "kernel": "linear"} | wrong
    given["structure"] = isolated if given["structure"] == "isolated" else given["structure"]
    before = unchanged(adata)
    with pytest.raises(ValueError, match=words):
        structured(adata, **given)
    assert same(before, unchanged(adata))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"groupby": "one"}, "has 1 group"),
        ({"groupby": "leiden"}, "unknown groupby = 'leiden'; known: 'truth'"),
        ({"root": "nobody"}, "neither a cluster nor a cell; clusters: 'bone', 'egg'"),
        ({"key_added": ""}, "key_added must be a name or None"),
    ],
)
def test_bad_input_of_arrange(wrong, words):
    adata = fork()
    adata.obs["one"] = "all"
    before = unchanged(adata)
    with pytest.raises(ValueError, match=words):
        arrange(adata, **{"groupby": "truth", "kernel": "linear"} | wrong)
    assert same(before, unchanged(adata))


@pytest.mark.parametrize("n_cells", [300, 10_000])
def test_a_column_of_cell_names_is_no_clustering(n_cells):
    adata = ad.AnnData(np.random.default_rng(0).standard_normal((n_cells, 3)))
    adata.obs["barcode"] = [f"cell {i}" for i in range(n_cells)]
    for call in (arrange, lambda *given: structured(given[0], given[2], groupby=given[1])):
        with pytest.raises(
            ValueError, match=rf"obs\['barcode'\] has {n_cells} groups \('cell 0', .*\); at most 100 can be"
        ):
            call(adata, "barcode", "chain")
    assert list(adata.obs) == ["barcode"] and not adata.uns


def test_components_of_an_embedding_are_not_to_be_standardised():
    adata = cells()
    adata.obsm["X_pca"] = adata.X * [100.0, 10.0, 1.0, 0.1]
    adata.obs["group"] = STAGE.astype(str)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        structured(adata, "chain:5", kernel="rbf", random_state=0)
        arrange(adata, "group", "chain", kernel="rbf")
        adata.X = adata.obsm["X_pca"]
        with pytest.raises(ScaleWarning):
            structured(adata, "chain:5", use_rep="X", kernel="rbf", random_state=0)
