"""AnnData in and out: what is written, that it is what the library finds, and errors in words."""

import numpy as np
import pytest
from scipy import sparse

from kernelclust import StructuredClustering
from kernelclust.anndata import structured

ad = pytest.importorskip("anndata")

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
    found = structured(adata, 3, copy=True, key_added="three", random_state=0)
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
        structured(np.ones((5, 2)), 2)
