"""One self-contained page about a fit: what was found, how sure it is, the clusters in the user's own columns."""

from kernelclust.report._columns import TableColumn, readable
from kernelclust.report._deciding import Deciding, deciding_categories, deciding_column
from kernelclust.report._fit import html_report
from kernelclust.report._page import Section, page
from kernelclust.report._python import model_in_python
from kernelclust.report._words import gap_in_words, order_in_words, structure_in_words

__all__ = [
    "Deciding",
    "Section",
    "TableColumn",
    "deciding_categories",
    "deciding_column",
    "gap_in_words",
    "html_report",
    "model_in_python",
    "order_in_words",
    "page",
    "readable",
    "structure_in_words",
]
