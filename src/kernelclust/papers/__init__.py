"""The tables and figures of the five papers, run again: one script each, the paper's numbers beside ours."""

from kernelclust.papers._data import Data
from kernelclust.papers._frame import Cell, Result, Work, item_names, items, run, table_names
from kernelclust.papers._show import as_csv, as_markdown, as_text, write

__all__ = [
    "Cell",
    "Data",
    "Result",
    "Work",
    "as_csv",
    "as_markdown",
    "as_text",
    "item_names",
    "items",
    "run",
    "table_names",
    "write",
]
