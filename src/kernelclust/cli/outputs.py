"""Output of commands: labels, JSON, and tables for people."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from kernelclust._files import files_aside
from kernelclust._input import quoted
from kernelclust.tables import Roles, parse_number


def check_targets(*paths: str | None, uses: Sequence[str | None]) -> None:
    """Raise an OSError or ValueError now if one of the files could not be written later."""
    used = [os.path.realpath(path) for path in uses if path is not None]
    for path in filter(None, paths):
        target = Path(os.path.realpath(path))
        folder = target.parent
        if target.is_dir():
            raise IsADirectoryError(f"cannot write {path}: it is a folder; name a file in it.")
        if target.exists() and not target.is_file():  # renaming over a device would replace the device
            raise ValueError(f"cannot write {path}: it is not a plain file.")
        if not folder.is_dir():
            raise FileNotFoundError(f"cannot write {path}: the folder {folder} does not exist; make it first.")
        if str(target) in used:
            raise ValueError(f"{path} would be written over a file that this command uses; choose another name.")
        if str(folder) in used:
            raise ValueError(
                f"{path} is in a folder that this command reads, where it would be data; write it elsewhere."
            )
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
            if target.exists() and not os.access(target, os.W_OK):
                raise PermissionError("it is read-only")
        except OSError as error:
            raise OSError(f"cannot write {path}: {error.strerror or error}.") from error
        used.append(str(target))


def spread(values: np.ndarray, rows: np.ndarray, n_rows: int) -> list[Any]:
    """Return a value for every row of the file, None for those that were left out."""
    if len(rows) == n_rows:
        return values.tolist()
    out: list[Any] = [None] * n_rows
    for row, value in zip(rows.tolist(), values.tolist(), strict=True):
        out[row] = value
    return out


def write_labels(
    arguments: SimpleNamespace,
    labels: list[int | None],
    roles: Roles,
    names: Sequence[str] | None,
    summary: Mapping[str, Any],
    more: Mapping[str, str | Iterable[bytes]] | None = None,
    text: str | None = None,
    columns: Mapping[str, list[Any]] | None = None,
) -> None:
    """Write the table of labels to --out, with `more` files; print it, or `text`, or with --json the summary.

    `columns` are further values for every row.

    All files are in place at the end, or none: not where the disk is full, or where nothing can be printed.
    """
    columns = dict(columns or {})
    table = labels_csv(labels, roles.ids, roles.id_name, names, columns)
    left = None
    with files_aside({**({} if arguments.out is None else {arguments.out: table}), **(more or {})}):
        try:
            if arguments.json:
                print_json({**summary, "ids": roles.ids, "labels": labels, **columns})
            elif arguments.out is None or text is not None:
                sys.stdout.write(table if text is None else text)
            sys.stdout.flush()
        except BrokenPipeError as error:  # a reader that has seen enough is no reason to write no files
            left = error
    if left is not None:
        raise left


def labels_csv(
    labels: Iterable[Any],
    ids: Sequence[str] | None = None,
    id_name: str = "row",
    names: Sequence[str] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
) -> str:
    """Return a table: the id or number from 0 of each row, its label and the label's name, and further columns.

    A row that was left out has empty cells. Ids that are called as another column of the table are called "id".
    """
    labels = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    table: dict[str, Sequence[Any]] = {"label": labels}
    if names is not None:
        table["name"] = ["" if label is None else names[label] for label in labels]
    for name, values in (columns or {}).items():
        table[name] = ["" if value is None else f"{value:.6g}" for value in values]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id" if id_name in table else id_name, *table])
    writer.writerows(zip(range(len(labels)) if ids is None else ids, *table.values(), strict=True))
    return text.getvalue()


def formulas(ids: Sequence[str] | None, id_name: str) -> str:
    """Return a warning if ids are formulas to a spreadsheet; they are written unchanged, because they must match."""
    found = [text for text in [id_name, *(ids or [])] if _runs_in_a_spreadsheet(text)]
    if not found:
        return ""
    return (
        f"{len(found)} ids such as {quoted(found[0])} are formulas to a spreadsheet; they are written as they are: "
        "import the column as text."
    )


def _runs_in_a_spreadsheet(text: str) -> bool:
    text = text.lstrip()
    return text.startswith(("=", "@")) or (text[:1] in ("+", "-") and parse_number(text) is None)


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object on standard output; NaN and infinity are null."""
    sys.stdout.write(json.dumps(plain(content), ensure_ascii=False, allow_nan=False) + "\n")


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> None:
    """Print a table on standard output: drawn on a terminal, with tabs between cells elsewhere."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        table = Table(*map(escape, head), box=None, pad_edge=False, header_style="bold")
        for row in rows:
            table.add_row(*map(escape, row))
        console = Console()
        console.print(table)
        if note:
            console.print(escape(note), highlight=False)
        return
    for row in [head, *rows]:
        print("\t".join(row))
    if note:
        print(note)
