"""Tables from files: reading (`read`), problems reported all at once, and encoding of cells as numbers (`prepare`)."""

from kernelclust.tables._prepare import ColumnEncoder, Prepared, prepare, prepared_like, text_columns
from kernelclust.tables._read import read
from kernelclust.tables._roles import Roles, assign, read_links, split
from kernelclust.tables._table import Column, Problem, Problems, Table, parse_number
from kernelclust.tables.formats.jpg import SUFFIXES as PICTURE_SUFFIXES

__all__ = [
    "PICTURE_SUFFIXES",
    "Column",
    "ColumnEncoder",
    "Prepared",
    "Problem",
    "Problems",
    "Roles",
    "Table",
    "assign",
    "parse_number",
    "prepare",
    "prepared_like",
    "read",
    "read_links",
    "split",
    "text_columns",
]
