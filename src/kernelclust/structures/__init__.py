"""How clusters relate: one file per structure, found by its name."""

from ._base import Axis, Structure
from ._parse import as_structure, structure_class, structure_names
from .chain import Chain
from .custom import Custom, is_graph
from .flat import Flat
from .grid import Grid
from .product import Product
from .ring import Ring
from .tree import Tree

__all__ = [
    "Axis",
    "Chain",
    "Custom",
    "Flat",
    "Grid",
    "Product",
    "Ring",
    "Structure",
    "Tree",
    "as_structure",
    "is_graph",
    "structure_class",
    "structure_names",
]
