"""The tables and figures of the five papers, run again: the paper's numbers beside ours.

`python -m reproduction list` names them, `python -m reproduction run NAME --data DIR --out DIR` runs one. The methods
that only these tables use are here too, so that the library's users need not install them.
"""

from reproduction.counts import count, counts_as_markdown
from reproduction.data import Data
from reproduction.frame import Cell, Result, Work, item_names, items, run, table_names
from reproduction.show import as_csv, as_markdown, as_text, write

__all__ = [
    "Cell",
    "Data",
    "Result",
    "Work",
    "as_csv",
    "as_markdown",
    "as_text",
    "count",
    "counts_as_markdown",
    "item_names",
    "items",
    "run",
    "table_names",
    "write",
]
