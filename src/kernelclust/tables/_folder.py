"""A folder of files as one table: rows file by file, columns by name; pictures are a row each."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from kernelclust._input import listed
from kernelclust.tables._table import Column, Table
from kernelclust.tables.formats import jpg
from kernelclust.tables.formats.csv import text_column

PICTURES = "pictures"
KINDS: dict[str, tuple[str, ...]] = {"CSV": (".csv",), "Parquet": (".parquet",), PICTURES: jpg.SUFFIXES}
PACKED = ("", ".gz", ".bz2", ".xz")


def read_folder(
    folder: str,
    read: Callable[[str, Sequence[str]], Table],
    read_pictures: Callable[[Sequence[str]], Table],
    texts: Sequence[str],
) -> Table:
    """Read the CSV or the Parquet files of a folder, in the order of their names, by `read(path, texts)`; or pictures.

    The table is what one file with all rows would give: a column that is text in one file is text in all. All files
    must have the same columns, in any order; a file without rows counts as none.
    """
    kind, paths, others = _files(folder)
    notes = [f"{len(others)} other files and folders are not read, such as {others[0]}"] if others else []
    if kind == PICTURES:
        table = read_pictures(paths)
        return replace(table, notes=[*notes, *table.notes])
    first = read(paths[0], texts)
    names = [column.name for column in first.columns]
    texts = [names[int(text) - 1] if _is_number_of(text, names) else text for text in texts]
    tables = [_in_order(first, names, first), *(_in_order(read(path, texts), names, first) for path in paths[1:])]
    if not any(table.n_rows for table in tables):
        raise ValueError(f"{folder}: its files have no rows of data.")
    mixed = [names[j] for j in range(len(names)) if len({t.columns[j].texts is None for t in tables if t.n_rows}) > 1]
    if mixed:  # as written, so that one rule can decide for all rows
        again = [_in_order(read(path, [*texts, *mixed]), names, first) for path in paths]
        tables = [_with_texts(table, other, mixed) for table, other in zip(tables, again, strict=True)]
    starts = list(accumulate((table.n_rows for table in tables), initial=0))
    columns = []
    for j, name in enumerate(names):
        joined = _joined(name, [table.columns[j] for table in tables if table.n_rows], starts, tables, j)
        columns.append(text_column(name, joined.values, list(joined.texts or [])) if name in mixed else joined)
    for table in tables:
        notes += [f"{os.path.basename(table.source)}: {note}" for note in table.notes]
    problems = [
        replace(problem, where=f"{os.path.basename(table.source)}, {problem.where}")
        for table in tables
        for problem in table.problems
    ]
    rows = _Rows([replace(table, columns=[]) for table in tables], starts)
    return replace(first, source=folder, columns=columns, notes=notes, lines=None, problems=problems, row_name=rows)


def _files(folder: str) -> tuple[str, list[str], list[str]]:
    """Return the kind of the files, the paths of those of this kind, and the names of what else is there."""
    listed = sorted(name for name in os.listdir(folder) if not name.startswith((".", "_")))
    kinds = {kind: [name for name in listed if _ends(name, suffixes)] for kind, suffixes in KINDS.items()}
    found = [kind for kind, names in kinds.items() if names]
    if len(found) != 1:
        what = " and ".join(f"{kind} files" if kind != PICTURES else kind for kind in found or list(KINDS))
        holds = f"holds both {what}" if found else f"holds none of {what.replace(' and ', ', ')}"
        suffixes = ", ".join(f"*{suffix}" for suffixes in KINDS.values() for suffix in suffixes)
        raise ValueError(f"{folder} {holds} ({suffixes}); give a folder of one kind.")
    chosen = kinds[found[0]]
    others = [name for name in listed if name not in chosen]
    return found[0], [os.path.join(folder, name) for name in chosen], others


def _ends(name: str, suffixes: tuple[str, ...]) -> bool:
    return name.lower().endswith(tuple(suffix + packed for suffix in suffixes for packed in PACKED))


def _is_number_of(text: str, names: Sequence[str]) -> bool:
    return text not in names and text.isdecimal() and 1 <= int(text) <= len(names)


def _in_order(table: Table, names: Sequence[str], first: Table) -> Table:
    """Return a table with its columns in the order of `names`."""
    own = [column.name for column in table.columns]
    if own == list(names):
        return table
    lacking, more = [n for n in names if n not in own], [n for n in own if n not in names]
    if lacking or more or len(set(own)) < len(own):
        what = [f"lacks {listed(lacking)}"] if lacking else []
        what += [f"also has {listed(more)}"] if more else []
        raise ValueError(
            f"{table.source} {' and '.join(what) or 'has columns of one name'}, where {first.source} has "
            f"{listed(names)}; the files of a folder must have the same columns."
        )
    return replace(table, columns=[table.columns[own.index(name)] for name in names])


def _with_texts(table: Table, other: Table, names: Sequence[str]) -> Table:
    """Return a table with some of its columns from another reading of the same file."""
    pairs = zip(table.columns, other.columns, strict=True)
    return replace(table, columns=[b if a.name in names else a for a, b in pairs])


def _joined(name: str, parts: Sequence[Column], starts: list[int], tables: Sequence[Table], j: int) -> Column:
    """Return one column of the cells of all parts."""
    if parts[0].texts is not None:
        place: dict[str, int] = {}
        for part in parts:
            for text in part.texts or ():
                place.setdefault(text, len(place))
        codes = [np.array([*(place[text] for text in part.texts or ()), -1])[part.values] for part in parts]
        return Column(name, np.concatenate(codes), list(place))
    bad = [start + row for start, table in zip(starts, tables, strict=False) for row in table.columns[j].bad_rows]
    bad_text = next((part.bad_text for part in parts if len(part.bad_rows)), "")
    return Column(name, np.concatenate([part.values for part in parts]), bad_rows=bad, bad_text=bad_text)


class _Rows:
    """Names of rows in messages: the file and the line or row in it."""

    def __init__(self, tables: list[Table], starts: list[int]):
        self.tables, self.starts = tables, starts

    def __call__(self, at: int) -> str:
        part = bisect_right(self.starts, at) - 1
        table = self.tables[part]
        return f"{os.path.basename(table.source)}, {table.row(at - self.starts[part])}"
