"""Single cells: clusters on a structure, from an AnnData and into it, in scanpy's manner.

>>> import scanpy as sc                                            # doctest: +SKIP
>>> sc.pp.neighbors(adata)                                         # doctest: +SKIP
>>> kernelclust.anndata.structured(adata, "chain:6", root="AAACATACAACCAC-1")   # doctest: +SKIP
>>> sc.pl.umap(adata, color=["kernelclust", "kernelclust_pseudotime"])   # doctest: +SKIP
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

import kernelclust
from kernelclust._input import listed, quoted
from kernelclust._names import check_name
from kernelclust._scale_warning import ScaleWarning
from kernelclust._warnings import warn
from kernelclust.estimators import Placed, StructuredClustering, check_structure, has_intervals, structures_of
from kernelclust.estimators import arrange as arrange_groups
from kernelclust.plots import have_matplotlib, structure_colors
from kernelclust.structures import Structure

if TYPE_CHECKING:
    from anndata import AnnData

MAX_GROUPS = 100  # that are arranged in seconds; more are hardly clusters
GRAPH_KERNELS = ("auto", "precomputed_graph")  # what kernel may be where a graph is given
EVIDENCE = ("objective_", "upper_bound_", "gap_", "order_confidence_", "sizes_", "medoids_")
ARRANGEMENT_EVIDENCE = {
    "objective": "objective",
    "order_confidence": "order_confidence",
    "order_pvalue": "order_pvalue",
}
ARRANGEMENT_EVIDENCE |= {"link_confidence": "order_links", "placement_margin": "order_margin", "sizes": "sizes"}


def structured(
    adata: AnnData,
    structure: Any = "flat",
    *,
    n_clusters: int | None = None,
    y: str | None = None,
    root: Any = None,
    groupby: str | None = None,
    use_rep: str | None = None,
    neighbors_key: str | None = None,
    kernel: Any = "auto",
    key_added: str = "kernelclust",
    copy: bool = False,
    **params: Any,
) -> AnnData | None:
    """Cluster cells along a structure, and write the result into `adata`.

    Parameters
    ----------
    adata : AnnData
        Cells x genes.
    structure : str, Structure, (c, c) array or networkx graph, default="flat"
        How clusters relate: "chain:6" for stages, "ring:8" for a cycle, an undirected networkx graph for a lineage
        whose nodes are the clusters; see `StructuredClustering`.
    n_clusters : int, optional
        Number of clusters; by default what the structure has, else 8.
    y : str, optional
        Column of `adata.obs` with the cluster of some cells: names of the structure's clusters, or numbers from 0.
        Missing values, "" and -1 mean unknown. Known cells keep their cluster, and help to assign clusters to nodes.
    root : str, int or boolean mask of the cells, optional
        Where time begins: the name of a cluster (a group, with `groupby`), the name of a cell, its number, or a mask of
        cells. Time begins in the cluster that most of the cells are in. On a chain or ring without `y` the cells are
        known labels of the first cluster, so that they decide the direction of the chain.
    groupby : str, optional
        Column of `adata.obs` with clusters that exist already, such as "leiden". They are arranged on the structure and
        not changed, and everything else is written about them; "chain" and "ring" need no size then. Cells without a
        group take no part.
    use_rep : str, optional
        Data that describe a cell: a key of `adata.obsm`, or "X". By default "X_pca" if it exists, else X.
    neighbors_key : str, optional
        Use the graph of neighbours that scanpy has computed instead: "neighbors", or the `key_added` that
        `scanpy.pp.neighbors` was given. Only the graph is used then, so batches that were integrated in it remain
        integrated.
    kernel : str or callable, default="auto"
        Similarity of two cells; with a graph of neighbours only "auto" or "precomputed_graph".
    key_added : str, default="kernelclust"
        Name of the results, or their prefix.
    copy : bool, default=False
        Whether to return a changed copy, instead of changing `adata`.
    **params
        Further parameters of `StructuredClustering`, such as `random_state`; none with `groupby`.

    Returns
    -------
    AnnData or None
        The copy, or None. In it:

        `obs[key_added]` : categories in the order of the structure, with its names; ordered, unless flat.
        `obs[key_added + "_position"]` : continuous position along a chain or ring; for a grid, a taxonomy and a product
        `_position_0`, `_position_1`, ...; for a graph `_edge`, the clusters at both ends, and `_fraction`, the fraction
        of the way from the first to the second.
        `obs[key_added + "_pseudotime"]` : with `root`, the distance from it along the structure.
        `obs[key_added + "_pseudotime_low"]`, `obs[key_added + "_pseudotime_high"]` : an 80 % interval for the true
        pseudotime, on chains, rings and graphs.
        `obsm[key_added + "_lineage_pseudotime"]`, `obsm[key_added + "_lineage_weights"]` : with `root`, on chains and
        graphs without cycles, a column for each path from the root to an end, as tradeSeq takes them.
        `uns[key_added]` : "params", the arguments, and "evidence", the certainty of the order and bounds of the fit.
        `uns[key_added + "_colors"]` : colours that follow the structure, for scanpy's pictures; needs matplotlib.

    See Also
    --------
    arrange : Number and colour groups that exist already along a structure, in place.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from kernelclust.anndata import structured
    >>> stage = np.repeat(np.arange(4), 25)
    >>> X = stage[:, None] + 0.1 * np.random.default_rng(0).standard_normal((100, 3))
    >>> adata = AnnData(X)
    >>> structured(adata, "chain:4", root=0, random_state=0)
    >>> bool(adata.obs["kernelclust"].cat.ordered)
    True
    >>> round(float(np.corrcoef(adata.obs["kernelclust_pseudotime"], stage)[0, 1]), 1)
    1.0
    """
    _check_adata(adata)
    if not (isinstance(key_added, str) and key_added):
        raise ValueError(f"key_added must be a name, got {key_added!r}.")
    X, source, kernel = _samples(adata, use_rep, neighbors_key, kernel)
    if groupby is not None:
        if given := [name for name, value in {"y": y, "n_clusters": n_clusters, **params}.items() if value is not None]:
            raise ValueError(
                f"{', '.join(given)} with groupby={groupby!r}: existing groups are arranged, and no "
                "clusters are searched for. Leave one of the two out."
            )
        found = _arranged(adata, X, source, groupby, structure, root, kernel)
    else:
        found = _fitted(adata, X, source, structure, y, root, StructuredClustering(n_clusters, kernel=kernel, **params))
    written = found.written(key_added, adata)
    adata = adata.copy() if copy else adata
    _write(adata, written)
    return adata if copy else None


@contextmanager
def _of_one_unit(source: str) -> Iterator[None]:
    """Leave out the warning about columns of different variance where these are components of an embedding."""
    with warnings.catch_warnings():
        if source.startswith("adata.obsm"):
            warnings.simplefilter("ignore", ScaleWarning)
        yield


def arrange(
    adata: AnnData,
    groupby: str = "leiden",
    structure: Any = "chain",
    *,
    root: Any = None,
    use_rep: str | None = None,
    neighbors_key: str | None = None,
    kernel: Any = "auto",
    key_added: str | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Order the groups of an existing clustering along a structure: categories, numbers and colours.

    No cell changes its group. Groups whose names are numbers, as those of scanpy's leiden, are renumbered along the
    structure, from "0"; groups with other names keep them and are sorted along the structure. Groups keep their
    colours.

    Parameters
    ----------
    adata : AnnData
        Cells x genes.
    groupby : str, default="leiden"
        Column of `adata.obs` with the groups; cells without one are left alone.
    structure : str, Structure, (c, c) array or networkx graph, default="chain"
        As in `structured`, with one cluster for each group; "chain" and "ring" need no size.
    root : str, int or boolean mask of the cells, optional
        The group that comes first, or as near to the beginning as the structure allows: its name, or cells of it, as in
        `structured`.
    use_rep, neighbors_key, kernel
        Data and kernel to compare cells with, as in `structured`.
    key_added : str, optional
        Name of the results; by default `groupby`, whose column is then replaced.
    copy : bool, default=False
        Whether to return a changed copy, instead of changing `adata`.

    Returns
    -------
    AnnData or None
        The copy, or None. In it, with key = `key_added` or `groupby`:

        `obs[key]` : the groups as ordered categories.
        `uns[key + "_colors"]` : a colour for each category.
        `uns[key + "_arrangement"]` : "params", "evidence" (the certainty of the order) and "groups", the old names of
        the categories.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from kernelclust.anndata import arrange
    >>> stage = np.repeat([2, 0, 3, 1], 25)
    >>> adata = AnnData(stage[:, None] + 0.1 * np.random.default_rng(0).standard_normal((100, 3)))
    >>> adata.obs["leiden"] = np.repeat(["0", "1", "2", "3"], 25)  # numbered by size
    >>> arrange(adata, "leiden", "chain", root="1")
    >>> adata.obs["leiden"].iloc[[0, 25, 50, 75]].tolist()
    ['2', '0', '3', '1']
    """
    _check_adata(adata)
    if key_added is not None and not (isinstance(key_added, str) and key_added):
        raise ValueError(f"key_added must be a name or None, got {key_added!r}.")
    X, source, kernel = _samples(adata, use_rep, neighbors_key, kernel)
    found = _arranged(adata, X, source, groupby, structure, root, kernel)
    key, names = key_added or groupby, found.placed.names
    numbered = all(name.isascii() and name.isdigit() for name in names)
    written = found.renamed([str(j) for j in range(len(names))] if numbered else list(names)).written(key, adata)
    colors = adata.uns.get(f"{groupby}_colors", ())
    if len(colors) == len(before := _categories(adata.obs[groupby])):
        kept = np.asarray(colors, dtype=object)[[before.index(name) for name in names]]
        written["uns"][f"{key}_colors"] = np.array([str(color) for color in kept])
    stored = {name: written["uns"][key][name] for name in ("params", "evidence")}
    written["uns"][f"{key}_arrangement"] = stored | {"groups": np.array(names, dtype=str)}
    del written["uns"][key]
    written["obs"] = {key: written["obs"][key]}
    written["obsm"] = {}
    adata = adata.copy() if copy else adata
    _write(adata, written)
    return adata if copy else None


# -- what is read ------------------------------------------------------------------------------------------------------


def _check_adata(adata: Any) -> None:
    missing = [name for name in ("X", "obs", "obsm", "obsp", "uns") if not hasattr(adata, name)]
    if missing:
        raise TypeError(
            f"adata must be an AnnData, got {type(adata).__name__} without {', '.join(missing)}; "
            "arrays and frames go to kernelclust.StructuredClustering."
        )


def _samples(adata: Any, use_rep: str | None, neighbors_key: str | None, kernel: Any) -> tuple[Any, str, Any]:
    """Return the array that describes the cells, its name, and the kernel."""
    if neighbors_key is not None:
        if use_rep is not None:
            raise ValueError(
                "use_rep and neighbors_key exclude each other: a graph of neighbours, or numbers of cells."
            )
        if not (isinstance(kernel, str) and kernel in GRAPH_KERNELS):
            raise ValueError(
                f"kernel={kernel!r} cannot be made from a graph of neighbours: leave kernel as it is, or give use_rep "
                "instead of neighbors_key."
            )
        return *_graph(adata, neighbors_key), "precomputed_graph"
    if use_rep is None:
        use_rep = "X_pca" if "X_pca" in adata.obsm else "X"
    if use_rep == "X":
        return _in_memory(adata.X), "adata.X", kernel
    if use_rep not in adata.obsm:
        names = ", ".join(map(repr, ["X", *adata.obsm]))
        raise ValueError(f"adata.obsm has no {use_rep!r}; use_rep may be {names}.")
    return adata.obsm[use_rep], f"adata.obsm[{use_rep!r}]", kernel


def _graph(adata: Any, neighbors_key: str) -> tuple[Any, str]:
    """Return scanpy's graph of neighbours, and where it is.

    An entry of uns names the matrix in obsp. Files of older versions have no such name, and the matrix in
    obsp["connectivities"] or, before that, in the entry itself.
    """
    known = [key for key, value in adata.uns.items() if _is_about_neighbours(adata, key, value)]
    if neighbors_key not in known:
        names = ", ".join(map(repr, known)) or "none: run scanpy.pp.neighbors first"
        raise ValueError(f"adata.uns has no graph of neighbours {neighbors_key!r}; it has {names}.")
    entry = adata.uns[neighbors_key]
    if "connectivities_key" not in entry and "connectivities" in entry:
        return entry["connectivities"], f"adata.uns[{neighbors_key!r}]['connectivities']"
    key = entry.get("connectivities_key", "connectivities")
    if key not in adata.obsp:
        raise ValueError(f"adata.obsp has no {key!r}, which adata.uns[{neighbors_key!r}] names: run neighbors again.")
    return adata.obsp[key], f"adata.obsp[{key!r}]"


def _is_about_neighbours(adata: Any, key: str, value: Any) -> bool:
    if not hasattr(value, "get"):
        return False
    return (
        "connectivities_key" in value
        or "connectivities" in value
        or (key == "neighbors" and "connectivities" in adata.obsp)
    )


def _in_memory(X: Any) -> Any:
    """Return X, read into memory if it is in a file."""
    return X.to_memory() if hasattr(X, "to_memory") else X


def _column(adata: Any, name: Any, what: str) -> Any:
    """Return a column of obs, or say which there are."""
    check_name(f"{what} =", name, [str(column) for column in adata.obs.columns], also=" (columns of adata.obs)")
    return adata.obs[name]


def _categories(column: Any) -> list[str]:
    """Return the categories of a column as scanpy has them: those of a categorical, else the sorted values."""
    return [str(value) for value in column.astype("category").cat.categories]


def _known(adata: Any, column: str | None, structure: Structure) -> np.ndarray | None:
    """Return known labels of cells, -1 or "" where there are none."""
    if column is None:
        return None
    values = _column(adata, column, "y")
    missing = values.isna().to_numpy()
    if values.dtype.kind in "iuf":
        return np.where(missing, -1, values.to_numpy(dtype=float, na_value=-1))
    names = np.where(missing, "", values.astype(object).to_numpy()).astype(object)
    told = {str(name) for name in names} - {"", "-1"}
    if told and structure.names is None:
        example = sorted(told)[0]
        raise ValueError(
            f"adata.obs[{column!r}] holds names, such as {example!r}, but the clusters of '{structure}' have none: "
            f"write them into the structure, like 'chain:({example},...)', or give numbers from 0."
        )
    for name in sorted(told):
        check_name(f"name in adata.obs[{column!r}]:", name, structure.names or ())
    return np.array([str(name) for name in names], dtype=object)


@dataclass(frozen=True)
class _Root:
    """The start of pseudotime: a cluster by name, or cells."""

    given: Any
    cluster: str | None
    cells: np.ndarray | None  # (n,) mask

    @classmethod
    def of(cls, adata: Any, root: Any, clusters: list[str]) -> _Root | None:
        n = adata.n_obs
        if root is None:
            return None
        if isinstance(root, str):
            if root in clusters:
                return cls(root, root, None)
            cells = np.asarray(adata.obs_names == root)
            if cells.sum() != 1:
                shown = ", ".join(quoted(name) for name in clusters[:8]) or "none with a name"
                what = "the name of several cells" if cells.any() else "neither a cluster nor a cell"
                raise ValueError(f"root={root!r} is {what}; clusters: {shown}; cells: adata.obs_names.")
            return cls(root, None, cells)
        if isinstance(root, Integral) and not isinstance(root, bool | np.bool_):
            if not 0 <= int(root) < n:
                raise ValueError(f"root={root}: cells are numbered from 0 to {n - 1}.")
            return cls(int(root), None, np.arange(n) == int(root))
        mask = np.asarray(root)
        if mask.dtype != bool or mask.shape != (n,):
            raise ValueError(
                f"root={quoted(root)}: give the name of a cluster or a cell, the number of a cell, or a boolean mask "
                f"of the {n} cells."
            )
        if not mask.any():
            raise ValueError("root is a mask without any cell; it must mark at least one.")
        return cls(f"{int(mask.sum())} cells", None, mask)

    def among(self, labels: np.ndarray, names: list[str], where: str) -> int:
        """Return the number of the cluster that time begins in, from labels of cells (n,), -1 for none."""
        if self.cluster is not None:
            return names.index(self.cluster)
        found = labels[self.cells]
        if not (found >= 0).any():
            raise ValueError(f"root={quoted(self.given)} is in no cluster: {where} is missing there.")
        return int(np.bincount(found[found >= 0]).argmax())


# -- what is found -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    """Clusters of cells, to be written into an AnnData."""

    placed: Placed
    labels: np.ndarray  # (n,), -1 for none
    root: int | None
    params: dict[str, Any]
    evidence: dict[str, Any]
    interval: np.ndarray | None = None  # (n, 2) around the pseudotime

    def renamed(self, names: list[str]) -> _Found:
        return replace(self, placed=self.placed._replace(names=names))

    def written(self, key: str, adata: Any) -> dict[str, dict[str, Any]]:
        """Return what is to be written, by the part of the AnnData and by name."""
        import pandas as pd

        structure, names, position = self.placed.structure, list(self.placed.names), self.placed.position
        A = np.asarray(structure.kernel)
        ordered = not np.array_equal(A, np.diag(np.diagonal(A)))  # flat clusters have no order
        obs: dict[str, Any] = {key: pd.Categorical.from_codes(self.labels, categories=names, ordered=ordered)}
        uns: dict[str, Any] = {key: {"params": dict(self.params), "evidence": self.evidence}}
        obsm: dict[str, Any] = {}
        if position is not None:
            obs |= _position_columns(structure, names, position, key)
        if self.root is not None:
            uns[key]["params"]["root"] = names[self.root]
            obs[f"{key}_pseudotime"] = self.placed.pseudotime(self.root)
            if self.interval is not None:
                obs |= {f"{key}_pseudotime_{end}": self.interval[:, i] for i, end in enumerate(("low", "high"))}
            if structure.has_paths:
                found = self.placed.lineages(self.root)
                ends = [path[-1] for path in found.paths]
                for what in ("pseudotime", "weights"):
                    frame = pd.DataFrame(getattr(found, what), index=adata.obs_names, columns=ends)
                    obsm[f"{key}_lineage_{what}"] = frame
                uns[key]["lineages"] = {path[-1]: np.array(path, dtype=str) for path in found.paths}
        if have_matplotlib():
            from matplotlib.colors import to_hex

            uns[f"{key}_colors"] = np.array([to_hex(color) for color in structure_colors(structure)])
        return {"obs": obs, "uns": uns, "obsm": obsm}


def _position_columns(structure: Structure, names: list[str], position: np.ndarray, key: str) -> dict[str, Any]:
    import pandas as pd

    if (network := structure.network()) is not None:
        pairs = [f"{names[a]}-{names[b]}" for a, b in network.edges]
        codes = np.nan_to_num(position[:, 0], nan=-1).astype(int)
        return {f"{key}_edge": pd.Categorical.from_codes(codes, categories=pairs), f"{key}_fraction": position[:, 1]}
    if position.ndim == 1:
        return {f"{key}_position": position}
    return {f"{key}_position_{number}": values for number, values in enumerate(position.T)}


def _fitted(
    adata: Any, X: Any, source: str, structure: Any, y: str | None, root: Any, model: StructuredClustering
) -> _Found:
    shape = check_structure(model.n_clusters, structure)
    known = _known(adata, y, shape)
    start = _Root.of(adata, root, list(shape.names or ()))
    if start is not None and not (shape.has_distances or shape.is_sought):
        raise ValueError(
            f"root={quoted(start.given)}: structure '{shape!s:.80}' has no distances along it; time runs along chains, "
            "rings, grids and graphs."
        )
    if start is not None and start.cells is not None and known is None and shape.is_one_dimensional:
        known = np.where(start.cells, 0, -1)
    try:
        with _of_one_unit(source):
            model.set_params(structure=shape).fit(X, known)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error
    placed = Placed.of(model, model.position_)
    begin = None if start is None else start.among(model.labels_, list(placed.names), "")
    if begin is not None and not model.structure_.has_distances:
        warn(f"the structure that was found, '{model.structure_!s:.80}', has no distances: no pseudotime is written.")
        begin = None
    interval = None if begin is None or not has_intervals(model) else model.pseudotime_interval(root=begin)
    return _Found(placed, model.labels_, begin, _settings(model, source), _evidence(model), interval)


def _arranged(adata: Any, X: Any, source: str, groupby: Any, structure: Any, root: Any, kernel: Any) -> _Found:
    groups = _column(adata, groupby, "groupby").astype("category").cat.remove_unused_categories()
    names = [str(name) for name in groups.cat.categories]
    if len(names) < 2:
        shown = quoted(names[0]) if names else "none"
        raise ValueError(f"adata.obs[{groupby!r}] has {len(names)} group ({shown}); two or more can be arranged.")
    if len(names) > MAX_GROUPS:
        raise ValueError(
            f"adata.obs[{groupby!r}] has {len(names)} groups ({listed(names, 2)}); at most {MAX_GROUPS} can be "
            "arranged. Name a column of clusters, such as 'leiden', not one of names or measurements of single cells."
        )
    start = _Root.of(adata, root, names)
    codes = groups.cat.codes.to_numpy()
    first = None if start is None else start.among(codes, names, f"adata.obs[{groupby!r}]")
    try:
        with _of_one_unit(source):
            found = arrange_groups(
                X, codes, structure, kernel=kernel, names=names, root=None if first is None else names[first]
            )
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error
    order = [str(name) for name in found.order]
    placed = Placed(found.structure, order, found.sizes, found.position)
    begin = None if first is None or not found.structure.has_distances else order.index(names[first])
    if begin not in (None, 0) and found.structure.is_one_dimensional:
        warn(
            f"group {quoted(order[begin])} is not at an end of the chain: it is number {begin}, counted from 0 to "
            f"{len(order) - 1}, and time from it runs in both directions."
        )
    params = {"structure": str(found.structure), "kernel": str(kernel), "groupby": groupby}
    told = {name: getattr(found, attribute) for attribute, name in ARRANGEMENT_EVIDENCE.items()}
    evidence = {name: value for name, value in told.items() if value is not None} | _table(found.structures)
    interval = None if begin is None or not found.has_intervals else found.pseudotime_interval(order[begin])
    return _Found(placed, found.labels, begin, params | _origin(source), evidence, interval)


def _write(adata: Any, written: dict[str, dict[str, Any]]) -> None:
    for part, values in written.items():
        for name, value in values.items():
            getattr(adata, part)[name] = value


def _origin(source: str) -> dict[str, str]:
    return {"use": source, "version": kernelclust.__version__}


def _settings(model: StructuredClustering, source: str) -> dict[str, Any]:
    """Return the parameters of the fit, in types that files keep."""
    given = {name: value for name, value in model.get_params().items() if value is not None}
    plain = {
        name: value if isinstance(value, bool | int | float | str) else str(value) for name, value in given.items()
    }
    return plain | {"structure": str(model.structure_)} | _origin(source)


def _evidence(model: StructuredClustering) -> dict[str, Any]:
    found = {name.rstrip("_"): getattr(model, name, None) for name in EVIDENCE}
    if model.order_ is not None:
        found |= {f"order_{name}": getattr(model.order_, name) for name in ("pvalue", "links", "margin")}
    found |= {name: model.diagnostics_[name] for name in ("view_agreement", "rbf_agreement")}
    return {name: value for name, value in found.items() if value is not None} | _table(structures_of(model))


def _table(structures: Any) -> dict[str, Any]:
    """Return the probabilities of structures, and of links between clusters."""
    if structures is None:
        return {}
    return {
        "structure_probabilities": {row.name: row.probability for row in structures},
        "structure_links": structures.links,
    }
