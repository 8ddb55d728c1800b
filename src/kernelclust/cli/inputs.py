"""Files of a command, read and made into numbers."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from kernelclust import _progress
from kernelclust._scale_warning import scale_warning
from kernelclust.cli.guard import log, note
from kernelclust.tables import Prepared, Roles, Table, assign, prepare, read, split

HOW = ("delimiter", "header", "encoding", "decimal", "key", "image_size")


@dataclass(frozen=True)
class Data:
    """Numbers X (n, d) of the rows in use, what they are made of, and what is known about all rows of the file."""

    X: Any  # an array, or a sparse matrix
    names: list[str] | None  # of its columns
    rows: np.ndarray  # (n,) of the file
    n_rows: int  # of the file
    roles: Roles
    prepared: Prepared | None
    doubts: list[str]
    images: np.ndarray | None = None  # (n, h, w) or (n, h, w, 3), where rows are pictures
    image_size: str | None = None

    def known(self) -> list[str] | None:
        """Return the known labels of the rows in use, as text."""
        return None if self.roles.labels is None else [self.roles.labels[row] for row in self.rows]


def read_file(arguments: SimpleNamespace, path: str, texts: tuple[str, ...] = ()) -> Table:
    """Read a table as the options say, more columns as texts, and report what was decided about it."""
    how = {name: getattr(arguments, name) for name in HOW}
    named = (getattr(arguments, "id_column", None), getattr(arguments, "label_column", None))
    texts = (*texts, *(name for name in named if name))
    with _progress.working(f"reading {path}"):
        table = read(path, **how, texts=texts)
    for text in table.notes:
        note(arguments, f"{table.source}: {text}")
    names = "with names" if table.has_names else "without names"
    names = "of pixels" if table.images is not None else names
    log(arguments, f"read {table.n_rows} rows and {len(table.columns)} columns of {path} ({names})")
    return table


def load(arguments: SimpleNamespace, path: str | None = None) -> Data:
    """Read and prepare one table."""
    table = read_file(arguments, path or arguments.file)
    names = ("columns", "drop", "id_column", "label_column")
    wanted = {name: getattr(arguments, name, None) for name in names}
    roles = assign(table, **(wanted if path is None else _of_view(table, wanted)))
    if table.matrix is not None:
        return _sparse(arguments, table, roles)
    with _progress.working(f"preparing {table.source}"):
        prepared = prepare(
            table,
            roles.used,
            missing=arguments.missing,
            categories=arguments.categories,
            dates=arguments.dates,
            cyclic=arguments.cyclic,
            standardize=arguments.standardize,
            weights=arguments.weight,
        )
    for text in prepared.notes:
        note(arguments, f"{table.source}: {text}")
    if len(prepared.rows) < table.n_rows:
        note(
            arguments,
            f"{table.n_rows - len(prepared.rows)} of {table.n_rows} rows have missing values and are left out",
        )
    if prepared.left_out:
        note(arguments, f"columns left out: {', '.join(prepared.left_out)}")
    pairwise = (getattr(arguments, "kernel", None) or "").startswith("precomputed")
    no_doubts = pairwise or table.images is not None
    doubts = [] if no_doubts else _doubts(table, prepared, standardized=arguments.standardize)
    images = None if table.images is None else table.images[prepared.rows]
    pictures: dict[str, Any] = {"images": images, "image_size": table.image_size}
    return Data(prepared.X, prepared.names, prepared.rows, table.n_rows, roles, prepared, doubts, **pictures)


def _of_view(table: Table, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the roles for a view: without columns that only the first table has, and without known labels."""
    there = {column.name for column in table.columns}
    drop = [*split(wanted["drop"]), *([wanted["label_column"]] if wanted["label_column"] else [])]
    kept = {
        name: [one for one in of if one in there]
        for name, of in [("columns", split(wanted["columns"])), ("drop", drop)]
    }
    return {**kept, "id_column": wanted["id_column"]}


def _sparse(arguments: SimpleNamespace, table: Table, roles: Roles) -> Data:
    for name in ("columns", "drop", "cyclic", "standardize"):
        if getattr(arguments, name, None):
            raise ValueError(f"--{name} is for tables of columns, and {table.source} is a sparse matrix; leave it out.")
    rows = np.arange(table.n_rows)
    return Data(table.matrix, None, rows, table.n_rows, roles, None, [])


def _doubts(table: Table, prepared: Prepared, *, standardized: bool) -> list[str]:
    """Return warnings about what a user may have overlooked in the data."""
    doubts = []
    first = table.columns[0]
    if first.name in prepared.names and len(prepared.names) > 1 and first.texts is None and len(first.values) > 2:
        if np.array_equal(first.values - first.values[0], np.arange(len(first.values))):
            doubts.append(f"column {first.name!r} only counts the rows; leave it out with --drop or --id-column.")
    if not standardized:
        doubts.append(scale_warning(prepared.X, names=prepared.names, advice="add --standardize"))
    return list(filter(None, doubts))
