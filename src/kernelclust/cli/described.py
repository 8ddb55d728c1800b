"""Columns of a file as people know them, for the report; and the Python that does what a command did."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np

from kernelclust.cli.inputs import HOW, Data
from kernelclust.report import TableColumn, model_in_python, readable
from kernelclust.tables import ColumnEncoder, Prepared, prepare

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
LINKS = ("must_link", "cannot_link")
ROLES = ("columns", "drop", "id_column", "label_column")
PREPARING = {"weights": "weight"}  # parameters of `prepare` whose option has another name


def table_columns(prepared: Prepared, rows: np.ndarray) -> list[TableColumn]:
    """Return the columns of a file at some of the prepared rows, in their own units."""
    columns: list[TableColumn] = []
    for encoder, X in prepared.in_own_units(rows):
        if encoder.kind == "one-hot":
            for text, share in zip(encoder.texts, X.T, strict=True):
                columns.append(TableColumn(f"{encoder.column} = {text}", share, _share, ("seldom:", "often:")))
        elif encoder.kind == "cyclic":
            columns.append(TableColumn(encoder.column, X, _turn(encoder), ("around", "around")))
        elif encoder.kind == "timeline":
            columns.append(TableColumn(encoder.column, X[:, 0], _date(float(np.ptp(X))), ("early:", "late:")))
        else:
            write = _in_units(encoder, 4 * float(np.std(X))) if encoder.notation and encoder.notation.unit else None
            columns.append(TableColumn(encoder.column, X[:, 0], write))
    return columns


def _share(mean: float) -> str:
    return f"{mean:.0%}".replace("%", " %")


def _in_units(encoder: ColumnEncoder, scale: float) -> Callable[[float], str]:
    notation = encoder.notation

    def write(mean: float) -> str:
        assert notation is not None
        digits = readable(abs(mean), scale)
        sign = "-" if mean < 0 and digits != "0" else ""
        return f"{sign}{notation.before}{digits}{' ' if notation.after else ''}{notation.after}"

    return write


def _date(days: float) -> Callable[[float], str]:
    form = "%Y-%m-%d" if days > 3 else "%Y-%m-%d %H:%M"
    return lambda mean: (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=mean)).strftime(form)


def _turn(encoder: ColumnEncoder) -> Callable[[float], str]:
    """Return what writes a fraction of the period: a date, a weekday, an hour; or the number."""
    if not encoder.date_format:
        period = float(encoder.period)
        return lambda turn: readable(turn * period, period / 10)
    ways: dict[str, Callable[[float], str]] = {
        "year": lambda turn: (datetime(2023, 1, 1, tzinfo=UTC) + timedelta(days=365 * turn)).strftime("%-d %B"),
        "month": lambda turn: f"day {1 + int(turn * 30.4)}",
        "week": lambda turn: DAYS[int(turn * 7)],
        "day": lambda turn: (datetime(2023, 1, 1, tzinfo=UTC) + timedelta(days=turn)).strftime("%H:%M"),
    }
    return ways[str(encoder.period)]


def as_python(arguments: SimpleNamespace, data: Data, model: Any, n_fitted: int | None) -> str:
    """Return Python that reads the same file, prepares it alike and fits the same model; `n_fitted` rows, or all."""
    imports, made = model_in_python(model)
    how = {name: getattr(arguments, name) for name in HOW if getattr(arguments, name) not in (None, "auto")}
    texts = tuple(name for name in (arguments.id_column, arguments.label_column) if name)
    roles = {name: getattr(arguments, name) for name in ROLES}
    lines = [
        f"table = {_call('read', repr(arguments.file), **how, texts=texts)}",
        f"roles = {_call('assign', 'table', **roles)}",
    ]
    if data.prepared is None:
        lines.append("X, rows = table.matrix, range(table.n_rows)")
    else:
        keywords = [one.name for one in inspect.signature(prepare).parameters.values() if one.kind is one.KEYWORD_ONLY]
        asked = {name: getattr(arguments, PREPARING.get(name, name)) for name in keywords}
        given = {name: value for name, value in asked.items() if value not in ("error", False, [])}
        lines.append(f"prepared = {_call('prepare', 'table', 'roles.used', **given)}")
        lines.append("X, rows = prepared.X, prepared.rows")
    known = []
    if arguments.use_labels:
        place = "roles.labels[row]" if model.structure_.names is not None else "int(roles.labels[row] or -1)"
        lines.append(f"y = [{place} for row in rows]")
        known.append("y")
    links = [name for name in LINKS if getattr(arguments, name) is not None]
    if links:
        lines.append("at = {row: number for number, row in enumerate(rows)}")
    for name in links:
        pairs = f"read_links({getattr(arguments, name)!r}, roles.ids, table.n_rows)"
        lines.append(f"{name} = [(at[a], at[b]) for a, b in {pairs}]")
        known.append(f"{name}={name}")
    if n_fitted is not None:
        imports.insert(0, "import numpy as np")
        drawn = f"np.random.default_rng({arguments.random_state}).choice(len(X), {n_fitted}, replace=False)"
        lines += [f"drawn = np.sort({drawn})", "X = X[drawn]"]
    used = ["assign", *([] if data.prepared is None else ["prepare"]), "read", *(["read_links"] if links else [])]
    imports.append(f"from kernelclust.tables import {', '.join(used)}")
    return "\n".join(
        [*imports, "", *lines, f"model = {made}", f"labels = model.fit({', '.join(['X', *known])}).labels_"]
    )


def _call(function: str, *arguments: str, **keywords: Any) -> str:
    """Return the text of a call; keywords without a value are left out."""
    given = [f"{name}={value!r}" for name, value in keywords.items() if value not in (None, ())]
    return f"{function}({', '.join([*arguments, *given])})"
