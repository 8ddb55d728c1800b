"""Tables from files: reading (`read`), problems told all at once, and the way from cells to numbers (`prepare`)."""

from kernelclust.tables._links import read_links
from kernelclust.tables._prepare import Prepared, prepare, prepared_like
from kernelclust.tables._problems import Problem, Problems
from kernelclust.tables._read import read
from kernelclust.tables._roles import Roles, assign, split
from kernelclust.tables._table import Column, Table, parse_number

__all__ = [
    "Column",
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
]
