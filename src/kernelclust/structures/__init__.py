"""Structures: which clusters are similar. Each is one file, named as the structure."""

from ._axes import Axis, Network
from ._base import Structure
from ._named import NameWarning, cluster_names, named_nodes, nodes_of_batch, warn_of_names
from ._parse import as_structure, structure_class, structure_names
from ._route import Route
from ._sought import SOUGHT, Auto, Graph, Lineage
from .chain import Chain
from .custom import Custom
from .flat import Flat
from .grid import Grid
from .product import Product
from .ring import Ring
from .tree import Tree

__all__ = [
    "SOUGHT",
    "Auto",
    "Axis",
    "Chain",
    "Custom",
    "Flat",
    "Graph",
    "Grid",
    "Lineage",
    "NameWarning",
    "Network",
    "Product",
    "Ring",
    "Route",
    "Structure",
    "Tree",
    "as_structure",
    "cluster_names",
    "named_nodes",
    "nodes_of_batch",
    "structure_class",
    "structure_names",
    "warn_of_names",
]
