"""One script a table or figure of the five papers, found by its name: `p002_table_1.py` is 002-table-1."""
