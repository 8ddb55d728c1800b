"""Python that makes a fitted model again."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np
from sklearn.base import clone


def model_in_python(model: Any) -> tuple[list[str], str]:
    """Return the lines that the text of an unfitted copy of a model needs first, and this text.

    These are imports, and a graph or matrix that is a parameter. A function is called by its name.

    Examples
    --------
    >>> from kernelclust import StructuredClustering
    >>> from kernelclust.kernels import RBF
    >>> imports, text = model_in_python(StructuredClustering(kernel=RBF(gamma=0.5)))
    >>> imports[1], text
    ('from kernelclust.kernels import RBF', 'StructuredClustering(kernel=RBF(gamma=0.5))')
    """
    values = model.get_params(deep=False)
    classes = {type(value) for value in values.values() if type(value).__module__.startswith("kernelclust.")}
    homes = {(".".join(one.__module__.split(".")[:2]), one.__name__) for one in classes}
    imports = [f"from kernelclust import {type(model).__name__}"]
    imports += [f"from {home} import {name}" for home, name in sorted(homes)]
    first, made, named = [], [], {}
    for name, value in values.items():
        if hasattr(value, "adjacency"):
            first.append("import networkx as nx")
            named[name], lines = _Name("graph"), _graph_in_python(value)
            made += ["", *lines]
        elif isinstance(value, np.ndarray):
            first.append("import numpy as np")
            named[name] = _Name(name)
            made += ["", f"{name} = np.array({value.tolist()})"]
        elif isinstance(value, FunctionType):
            named[name] = _Name(value.__name__)
    if named:
        model = clone(model).set_params(**named)
    return [*dict.fromkeys(first), *imports, *made], model.__repr__(N_CHAR_MAX=10**6)


class _Name:
    """A value that is printed as the name of a variable."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name


def _graph_in_python(graph: Any) -> list[str]:
    """Return lines that make a networkx graph with the same nodes, in their order, and the same weights of edges."""
    edges = [(a, b, w) if (w := data.get("weight")) is not None else (a, b) for a, b, data in graph.edges(data=True)]
    add = "add_weighted_edges_from" if edges and all(len(edge) == 3 for edge in edges) else "add_edges_from"
    return [
        f"graph = nx.{type(graph).__name__}()",
        f"graph.add_nodes_from({list(graph)})",
        f"graph.{add}({[edge if add != 'add_edges_from' else edge[:2] for edge in edges]})",
    ]
