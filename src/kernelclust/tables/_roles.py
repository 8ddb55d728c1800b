"""Which columns are clustered, which one names the rows, which one holds known labels."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass

from kernelclust._input import quoted
from kernelclust.tables._table import Column, Table


@dataclass(frozen=True)
class Roles:
    """Columns to cluster by, and what is known about rows, as text."""

    used: list[Column]
    ids: list[str] | None
    id_name: str
    labels: list[str] | None


def assign(
    table: Table,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
) -> Roles:
    """Give every column its role; lists name columns or count them from 1, with commas between."""
    everything = [*table.columns, *table.about]
    names = [column.name for column in everything]
    id_at = find(id_column, names, "--id-column") if id_column else None
    label_at = find(label_column, names, "--label-column") if label_column else None
    out = {at for at in (id_at, label_at) if at is not None}
    out |= {find(name, names, "--drop") for name in split(drop)}
    asked = [find(name, names, "--columns") for name in split(columns)] or range(len(table.columns))
    used = [everything[k] for k in dict.fromkeys(asked) if k not in out]
    if not used and table.matrix is None:
        raise ValueError(f"{table.source}: no column is left to cluster.")
    ids = everything[id_at] if id_at is not None else table.ids
    return Roles(
        used,
        None if ids is None else ids.as_texts(),
        "row" if ids is None else ids.name,
        None if label_at is None else [text.strip() for text in everything[label_at].as_texts()],
    )


def split(text: str | Sequence[str] | None) -> list[str]:
    """The parts of a list with commas between; a part with a comma in it is quoted."""
    if text is None or not isinstance(text, str):
        return list(text or [])
    return [part.strip() for part in next(csv.reader([text]), []) if part.strip()]


def find(name: str, names: Sequence[str], option: str) -> int:
    """The place of a column, by its name or else by its number from 1."""
    alike = [k for k, other in enumerate(names, start=1) if other == name]
    if len(alike) > 1:
        raise ValueError(
            f"{option}: {len(alike)} columns are called {quoted(name)}, numbers {', '.join(map(str, alike))}; give "
            "the number of the one that you mean, or rename it."
        )
    if alike:
        return alike[0] - 1
    if name.isdecimal() and 1 <= int(name) <= len(names):
        return int(name) - 1
    shown = ", ".join(quoted(name)[1:-1] for name in names[:12]) + (", ..." if len(names) > 12 else "")
    raise ValueError(f"{option}: there is no column {quoted(name)}; there are {len(names)}: {shown}.")
