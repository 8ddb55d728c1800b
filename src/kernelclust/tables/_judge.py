"""What a column can become, or what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kernelclust._input import quoted
from kernelclust.tables._dates import DAY_FIRST, MONTH_FIRST, TURNS, date_formats
from kernelclust.tables._parts import CYCLIC, NUMBER, ONE_HOT, Part, turning_dates
from kernelclust.tables._problems import Problem
from kernelclust.tables._table import Column, Table
from kernelclust.tables._way import COMMA

MOST = 100  # different texts that become columns
NAMES = 0.5  # share of different texts from which they look like names of rows


@dataclass(frozen=True)
class Verdict:
    """A part, or problems; neither where the column is left out as was asked."""

    part: Part | None = None
    problems: list[Problem] = field(default_factory=list)


def judge(table: Table, column: Column, *, missing: str, categories: str, turns: str | None = None) -> Verdict:
    """Find the part that a column becomes."""
    lacking = column.missing()
    if lacking.all() and not column.n_bad:
        return _problem("", f"column {quoted(column.name)} is empty", f"leave it out with {_drop(column)}", column)
    if column.texts is not None:
        return _judge_text(table, column, lacking, missing, categories, turns)
    problems = _of_numbers(table, column, lacking, missing)
    if problems:
        return Verdict(problems=problems)
    if turns is None:
        return Verdict(Part(column.name, NUMBER, fill=_median(column.values)))
    return _judge_turning(column, turns)


def _judge_turning(column: Column, turns: str) -> Verdict:
    try:
        period = float(turns)
    except ValueError:
        period = 0.0
    if not (np.isfinite(period) and period > 0):
        raise ValueError(
            f"--cyclic {column.name}:{turns}: the period of a column of numbers is a positive number, such as 12."
        )
    return Verdict(Part(column.name, CYCLIC, fill=_median(column.values), period=period))


def _judge_text(
    table: Table, column: Column, lacking: np.ndarray, missing: str, categories: str, turns: str | None
) -> Verdict:
    texts = list(column.texts or ())
    ways = date_formats(texts)
    if turns is not None:
        return _judge_dates(table, column, ways, turns, missing)
    row = int(np.argmax(~lacking))
    where, example = _where(table, row, column), quoted(texts[int(column.values[row])])
    if ways:
        way_out = f"add --cyclic {column.name}:year (or month, week, day) to compare by it, or {_drop(column)}"
        return _problem(where, f"{example} is a date", way_out, column)
    if all(COMMA.fullmatch(text) for text in texts):
        way_out = f"add --decimal , if the comma is the decimal sign, else take it out, or {_drop(column)}"
        return Verdict(problems=[Problem(where, f"{example} is not a number", way_out, "--decimal ,")])
    if categories == "drop":
        return Verdict()
    if len(texts) > MOST or (len(texts) > 20 and len(texts) > NAMES * (~lacking).sum()):
        what = f"{example} is text, {len(texts)} different ones in {(~lacking).sum()} cells"
        way_out = f"leave it out with {_drop(column)}, or name rows by it with --id-column {_shell(column.name)}"
        return _problem(where, what, way_out, column)
    if categories == "error":
        what = f"{example} is text ({len(texts)} different)"
        way_out = f"add --categories one-hot to compare by it, or {_drop(column)}"
        return Verdict(problems=[Problem(where, what, way_out, "--categories one-hot")])
    if lacking.any() and missing == "error":
        return Verdict(problems=[_of_missing(table, column, lacking)])
    counts = np.bincount(column.values[~lacking], minlength=len(texts))
    return Verdict(Part(column.name, ONE_HOT, fill=float(np.argmax(counts)), texts=tuple(texts)))


def _judge_dates(table: Table, column: Column, ways: list[str], turns: str, missing: str) -> Verdict:
    if not ways:
        raise ValueError(f"--cyclic {column.name}:{turns}: the column holds texts that are no dates.")
    if turns not in TURNS:
        raise ValueError(f"--cyclic {column.name}:{turns}: dates turn by {', '.join(TURNS)}.")
    if any(way.startswith(DAY_FIRST) for way in ways) and any(way.startswith(MONTH_FIRST) for way in ways):
        raise ValueError(
            f"--cyclic {column.name}:{turns}: dates such as {quoted((column.texts or [''])[0])} may have the day or "
            "the month first; write them as 2024-12-31."
        )
    numbers = turning_dates(column, ways[0], turns)
    lacking = numbers.missing()
    if lacking.any() and missing == "error":
        return Verdict(problems=[_of_missing(table, column, lacking)])
    return Verdict(Part(column.name, CYCLIC, fill=_median(numbers.values), period=turns, written=ways[0]))


def _of_numbers(table: Table, column: Column, lacking: np.ndarray, missing: str) -> list[Problem]:
    """All that is wrong with a column of numbers: cells that are none, infinite ones, missing ones."""
    problems = []
    if column.n_bad:
        row, text = column.bad
        count = f" ({column.n_bad} such cells of {len(column.values)})" if column.n_bad > 1 else ""
        comma = "add --decimal , if the comma is the decimal sign, or " if COMMA.fullmatch(text) else ""
        way_out = f"{comma}correct it, or leave the column out with {_drop(column)}"
        option = "--decimal ," if comma else ""
        problems.append(Problem(_where(table, row, column), f"{quoted(text)} is not a number{count}", way_out, option))
    infinite = np.isinf(column.values)
    if infinite.any():
        row = int(np.argmax(infinite))
        what = f"'{column.values[row]}' is not finite"
        problems.append(Problem(_where(table, row, column), what, f"correct it, or {_drop(column)}"))
    if missing == "error" and int(lacking.sum()) > column.n_bad:
        empty = lacking.copy()
        if column.n_bad:
            empty[column.bad[0]] = False
        problems.append(_of_missing(table, column, empty, int(lacking.sum()) - column.n_bad))
    return problems


def _of_missing(table: Table, column: Column, lacking: np.ndarray, count: int | None = None) -> Problem:
    count = int(lacking.sum()) if count is None else count
    row = int(np.argmax(lacking))
    more = f" ({count} of {len(lacking)} are missing)" if count > 1 else ""
    way_out = "add --missing drop to leave such rows out, or --missing median to fill in"
    return Problem(_where(table, row, column), f"the cell is empty or says so{more}", way_out, "--missing median")


def _problem(where: str, what: str, way_out: str, column: Column) -> Verdict:
    return Verdict(problems=[Problem(where, what, way_out, _drop(column))])


def _where(table: Table, row: int, column: Column) -> str:
    return f"{table.row(row)}, column {quoted(column.name)}"


def _drop(column: Column) -> str:
    return f"--drop {_shell(column.name)}"


def _shell(name: str) -> str:
    """A name as a shell takes it, with quotes for the list where it has a comma."""
    listed = f'"{name}"' if "," in name else name
    return listed if listed.replace("_", "").replace("-", "").replace(".", "").isalnum() else f"'{listed}'"


def _median(values: np.ndarray) -> float:
    there = values[~np.isnan(values)]
    return float(np.median(there)) if len(there) else 0.0
