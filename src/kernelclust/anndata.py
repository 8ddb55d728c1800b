"""Single cells: clusters on a structure, from an AnnData and into it, in scanpy's manner.

>>> import scanpy as sc                                            # doctest: +SKIP
>>> sc.pp.neighbors(adata)                                         # doctest: +SKIP
>>> kernelclust.anndata.structured(adata, structure="chain:6")     # doctest: +SKIP
>>> sc.pl.umap(adata, color=["kernelclust", "kernelclust_position"])   # doctest: +SKIP
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelclust.estimators import StructuredClustering, structures_of
from kernelclust.plots import have_matplotlib, structure_colors

if TYPE_CHECKING:
    from anndata import AnnData

GRAPH_KERNELS = ("auto", "precomputed_graph")  # what kernel may be where a graph is given
EVIDENCE = ("objective_", "upper_bound_", "gap_", "order_confidence_", "sizes_", "medoids_")


def structured(
    adata: AnnData,
    n_clusters: int | None = None,
    *,
    structure: Any = "flat",
    use_rep: str | None = None,
    neighbors_key: str | None = None,
    kernel: Any = "auto",
    key_added: str = "kernelclust",
    copy: bool = False,
    **params: Any,
) -> AnnData | None:
    """Cluster cells along a structure, and write what was found into `adata`.

    Parameters
    ----------
    adata : AnnData
        Cells x genes.
    n_clusters : int, optional
        Number of clusters; by default what the structure has, else 8.
    structure : str or Structure, default="flat"
        Where clusters lie: "chain:6" for stages, "ring:8" for a cycle, a tree for fates; see `StructuredClustering`.
    use_rep : str, optional
        Which numbers describe a cell: a key of `adata.obsm`, or "X". By default "X_pca" where it is there, else X.
    neighbors_key : str, optional
        Use the graph of neighbours that scanpy has computed instead: "neighbors", or the `key_added` that
        `scanpy.pp.neighbors` was given. Then the graph is all that is looked at, so that batches that were joined
        there stay joined.
    kernel : str or callable, default="auto"
        How alike two cells are; with a graph of neighbours it is that graph's ("auto" or "precomputed_graph").
    key_added : str, default="kernelclust"
        Name of what is written.
    copy : bool, default=False
        Whether to return a changed copy, instead of changing `adata`.
    **params
        Further parameters of `StructuredClustering`, such as `random_state`.

    Returns
    -------
    AnnData or None
        The copy, or None. In it:

        `obs[key_added]` : categories in the order of the structure, with its names; ordered, unless flat.
        `obs[key_added + "_position"]` : continuous place along a chain, ring or tree, for use as pseudotime; of a grid
        `_position_0` and `_position_1`.
        `uns[key_added]` : "params", what it was asked for, and "evidence", how good and how sure it is.
        `uns[key_added + "_colors"]` : colours that follow the structure, for scanpy's pictures; needs matplotlib.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from kernelclust.anndata import structured
    >>> stage = np.repeat(np.arange(4), 25)
    >>> X = stage[:, None] + 0.1 * np.random.default_rng(0).standard_normal((100, 3))
    >>> adata = AnnData(X)
    >>> structured(adata, structure="chain:4", random_state=0)
    >>> bool(adata.obs["kernelclust"].cat.ordered)
    True
    >>> round(float(abs(np.corrcoef(adata.obs["kernelclust_position"], stage)[0, 1])), 1)
    1.0
    """
    _check_adata(adata)
    if not (isinstance(key_added, str) and key_added):
        raise ValueError(f"key_added must be a name, got {key_added!r}.")
    X, source = _samples(adata, use_rep, neighbors_key)
    if neighbors_key is not None:
        if not (isinstance(kernel, str) and kernel in GRAPH_KERNELS):
            raise ValueError(
                f"kernel={kernel!r} cannot be made from a graph of neighbours: leave kernel as it is, or give use_rep "
                "instead of neighbors_key."
            )
        kernel = "precomputed_graph"
    model = StructuredClustering(n_clusters, structure=structure, kernel=kernel, **params)
    try:
        model.fit(X)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error
    adata = adata.copy() if copy else adata
    _write(adata, model, key_added, source)
    return adata if copy else None


def _check_adata(adata: Any) -> None:
    missing = [name for name in ("X", "obs", "obsm", "obsp", "uns") if not hasattr(adata, name)]
    if missing:
        raise TypeError(
            f"adata must be an AnnData, got {type(adata).__name__} without {', '.join(missing)}; "
            "arrays and frames go to kernelclust.StructuredClustering."
        )


def _samples(adata: Any, use_rep: str | None, neighbors_key: str | None) -> tuple[Any, str]:
    """Return the array that describes the cells, and its name."""
    if neighbors_key is not None:
        if use_rep is not None:
            raise ValueError(
                "use_rep and neighbors_key exclude each other: a graph of neighbours, or numbers of cells."
            )
        known = [key for key, value in adata.uns.items() if _graph_of(value)]
        if neighbors_key not in known:
            names = ", ".join(map(repr, known)) or "none: run scanpy.pp.neighbors first"
            raise ValueError(f"adata.uns has no graph of neighbours {neighbors_key!r}; it has {names}.")
        key = _graph_of(adata.uns[neighbors_key])
        if key not in adata.obsp:
            raise ValueError(
                f"adata.obsp has no {key!r}, which adata.uns[{neighbors_key!r}] names: run neighbors again."
            )
        return adata.obsp[key], f"adata.obsp[{key!r}]"
    if use_rep is None:
        use_rep = "X_pca" if "X_pca" in adata.obsm else "X"
    if use_rep == "X":
        return _in_memory(adata.X), "adata.X"
    if use_rep not in adata.obsm:
        names = ", ".join(map(repr, ["X", *adata.obsm]))
        raise ValueError(f"adata.obsm has no {use_rep!r}; use_rep may be {names}.")
    return adata.obsm[use_rep], f"adata.obsm[{use_rep!r}]"


def _graph_of(value: Any) -> str | None:
    """Name of the matrix in obsp that an entry of uns stands for, where it is scanpy's about neighbours."""
    return value.get("connectivities_key") if hasattr(value, "get") else None


def _in_memory(X: Any) -> Any:
    """Return X, read into memory if it is in a file."""
    return X.to_memory() if hasattr(X, "to_memory") else X


def _write(adata: Any, model: StructuredClustering, key: str, source: str) -> None:
    import pandas as pd

    names = model.cluster_names_.tolist()
    A = np.asarray(model.structure_.kernel)
    ordered = not np.array_equal(A, np.diag(np.diagonal(A)))  # flat clusters have no order
    adata.obs[key] = pd.Categorical.from_codes(model.labels_, categories=names, ordered=ordered)
    if model.position_ is not None:
        columns = {"": model.position_} if model.position_.ndim == 1 else dict(enumerate(model.position_.T))
        for name, values in columns.items():
            adata.obs[f"{key}_position" + (f"_{name}" if name != "" else "")] = values
    adata.uns[key] = {"params": _settings(model, source), "evidence": _evidence(model)}
    if have_matplotlib():
        from matplotlib.colors import to_hex

        adata.uns[f"{key}_colors"] = np.array([to_hex(color) for color in structure_colors(model.structure_)])


def _settings(model: StructuredClustering, source: str) -> dict[str, Any]:
    """Return the parameters of the fit, in types that files keep."""
    given = {name: value for name, value in model.get_params().items() if value is not None}
    plain = {
        name: value if isinstance(value, bool | int | float | str) else str(value) for name, value in given.items()
    }
    return plain | {"structure": str(model.structure_), "use": source, "version": version("kernelclust")}


def _evidence(model: StructuredClustering) -> dict[str, Any]:
    found = {name.rstrip("_"): getattr(model, name, None) for name in EVIDENCE}
    if model.order_ is not None:
        found |= {f"order_{name}": getattr(model.order_, name) for name in ("pvalue", "links", "margin")}
    found |= {name: model.diagnostics_[name] for name in ("view_agreement", "rbf_agreement")}
    if (table := structures_of(model)) is not None:
        found["structure_probabilities"] = {row.name: row.probability for row in table}
        found["structure_links"] = table.links
    return {name: value for name, value in found.items() if value is not None}
