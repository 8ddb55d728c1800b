"""Make structures from text, matrices or graphs."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from kernelclust._input import is_graph
from kernelclust._names import check_name, load, names

from ._base import Structure, check_size
from ._newick import split_outside
from ._sought import SOUGHT
from .custom import Custom
from .tree import NEWICK_SUFFIXES, tree_of


def structure_names() -> list[str]:
    """List the structures that can be given by name, one per file of this folder, without importing them."""
    return names(_folder())


def structure_class(name: str) -> type[Structure]:
    """Return the class of a name such as "ring"; import only the file of that name."""
    if name in SOUGHT:
        return SOUGHT[name]
    check_name(
        "structure", name, [*structure_names(), *SOUGHT], also=", or a Structure, a square matrix, a networkx graph"
    )
    part: type[Structure] = load(_folder(), name).PART
    return part


def _folder() -> ModuleType:
    return sys.modules[__package__]


def as_structure(spec: Any, n_clusters: int | None = None) -> Structure:
    """Make a structure from text, a matrix, a graph, or another structure.

    Parameters
    ----------
    spec : Structure, str, array-like of shape (c, c) or networkx graph
        Text is "flat:8", "chain:5", "ring:12", "grid:3x4", "tree:3x3", "tree:(EXT,(MIT,(CYT,NUC)))" or
        "flat:4*chain:3". "flat", "chain" and "ring" without a number take `n_clusters`. "auto", "graph" and "tree"
        without a shape are chosen by the fit (`Auto`, `Graph`, `Lineage`). Names of clusters are written in
        brackets, "chain:(seed,sprout,bloom)"; Newick, "((A,B),C);", is a tree. A directed graph is a taxonomy whose
        leaves are the clusters.
    n_clusters : int, default=None
        Number of clusters; must agree with `spec` if that has its own.

    Returns
    -------
    structure : Structure

    Examples
    --------
    >>> from kernelclust.structures import as_structure
    >>> as_structure("ring", n_clusters=12)
    Ring(12)
    >>> as_structure("tree:3x3").n_clusters
    9
    """
    if n_clusters is not None:
        n_clusters = check_size(n_clusters, "n_clusters")
    if isinstance(spec, str):
        structure = _from_text(spec.strip(), n_clusters)
    elif isinstance(spec, Structure):
        structure = spec
    elif is_graph(spec) and spec.is_directed():
        structure = tree_of(spec)
    elif is_graph(spec) or _looks_like_a_matrix(spec):
        structure = Custom(spec)
    else:
        raise TypeError(
            f"structure must be text such as 'ring:12', a Structure, a square matrix or a networkx graph; got {spec!r} "
            f"of type {type(spec).__name__}. For a tree of names write Tree([...]) or 'tree:(A,(B,C))'."
        )
    if n_clusters is not None and n_clusters != structure.n_clusters:
        raise ValueError(
            f"structure '{structure}' has {structure.n_clusters} clusters, but n_clusters={n_clusters}. "
            f"Leave n_clusters at its default or set n_clusters={structure.n_clusters}."
        )
    return structure


def _from_text(text: str, n_clusters: int | None) -> Structure:
    if text.startswith(("(", "[")):  # bare Newick
        return structure_class("tree").from_text(text)
    if len(split_outside(text, "*")) > 1:
        return structure_class("product").from_text(text.removeprefix("product:"))
    if text.lower().endswith(NEWICK_SUFFIXES) and not text.startswith("tree:"):
        raise ValueError(f"structure {text!r} is a Newick file; write 'tree:' in front of its name: 'tree:{text}'.")
    name, colon, rest = (piece.strip() for piece in text.partition(":"))
    part = structure_class(name)
    if colon or not part.text_form:
        return part.from_text(rest)
    if part.without_shape and n_clusters is not None:
        part = structure_class(part.without_shape)
    if not part.size_is_enough:
        raise ValueError(f"structure {name!r} needs its shape, like '{part.text_form}'.")
    if n_clusters is None:
        raise ValueError(f"structure {name!r} needs a number of clusters: write '{part.text_form}' or set n_clusters.")
    return part.from_text(str(n_clusters))


def _looks_like_a_matrix(spec: Any) -> bool:
    if hasattr(spec, "shape"):
        return True
    rows = isinstance(spec, (list, tuple)) and len(spec) > 0
    return rows and all(
        isinstance(row, (list, tuple)) and not any(isinstance(x, (str, list, tuple)) for x in row) for row in spec
    )
