"""What the scripts of all tables share: rows, cells and their marks, repetitions that resume.

A script of tables/ (`p002_table_1.py` is 002-table-1) states, as module constants,

    TITLE, STATE, WHY   what it is, and whether the data are the paper's
    REPEATS             as the paper has them
    COLUMNS             name -> Column
    PAPER               row -> {column: the printed number}; a column without one is ours alone

and has `measure(row, seed, work) -> {column: number}`, one repetition of one row. Where they apply: FILES (row -> name
of a file in the data folder), STAND_INS (rows on other data than the paper's; all of them if STATE says so), ABSENT
(what the paper has and the script has not, and why), SIGNIFICANCE (level of the t-tests that tell which rows of a group
are as good as the best; a group is what all rows have before a colon, or what `group(row)` returns), QUICK (repetitions
of a quick run), `draw(figure, result, work)`.
"""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import ttest_ind_from_stats

import kernelclust
from kernelclust import _progress
from kernelclust._checkpoint import Checkpoint, fingerprint
from kernelclust._names import check_name, check_number, names
from reproduction.data import Data
from reproduction.without import WITHOUT

EXACT, MADE, STAND_IN = "exact data", "made as told", "stand-in"  # `without` has those that have no script
MARKS = REPRODUCED, BETTER, MISSED, OTHER_DATA = "reproduced", "better", "missed", "stand-in"
SAME, AT_MOST = 0.02, 0.05  # of a column's span: nearer is the same; farther is not, however large the deviation
FEW = 300  # samples of a set in a quick run


class Column(NamedTuple):
    """Which way is better ("" where that is no question), the distance from the worst to the best value, and whether
    the best repetition counts, as in some papers, or the mean."""

    better: str = "higher"
    span: float = 100.0
    best: bool = False


CLAIM = Column("higher", 1.0)  # what the paper says in words: the share of repetitions in which it holds; theirs is 1
FREE = Column("")  # compared with nothing


@dataclass(frozen=True)
class Work:
    """What a repetition may ask for."""

    data: Data
    quick: bool = False

    def few(self, X: Any, y: np.ndarray, seed: int, most: int = FEW) -> tuple[Any, np.ndarray]:
        """All samples in an order drawn by the seed; in a quick run so many of them, evenly from every class."""
        order = np.random.default_rng(seed).permutation(len(y))
        if self.quick and len(y) > most:
            rank = np.empty(len(y), dtype=int)
            for label in np.unique(y):
                members = order[y[order] == label]
                rank[members] = np.arange(len(members))
            order = order[np.argsort(rank[order], kind="stable")[:most]]
        return X[order], y[order]


@dataclass(frozen=True)
class Cell:
    """One number of the paper and ours."""

    row: str
    column: str
    paper: float | None
    values: tuple[float, ...]  # one for each repetition
    value: float  # the mean of these, or the best
    mark: str  # one of MARKS, or "" where nothing is compared
    leads: bool = False  # whether it is the best of its group, or not significantly worse

    @property
    def deviation(self) -> float:
        same = min(self.values) == max(self.values)  # whose computed deviation may be a rounding error
        return 0.0 if same else float(np.std(self.values, ddof=1))


@dataclass(frozen=True)
class Result:
    """A table, run."""

    name: str
    table: ModuleType
    cells: tuple[Cell, ...]
    absent: dict[str, str]  # rows that could not be run, and why
    repeats: int
    quick: bool
    seconds: float  # of this run by the clock
    cpu: float  # of all repetitions, those kept from a stopped run too

    @property
    def how(self) -> str:
        """Versions, seeds and times, in a line."""
        parts = [f"{package} {version(package)}" for package in ("numpy", "scipy", "scikit-learn")]
        seeds = "seed 0" if self.repeats == 1 else f"seeds 0 to {self.repeats - 1}"
        where = f"kernelclust {kernelclust.__version__}, Python {platform.python_version()}, {', '.join(parts)}"
        return f"{where}; {seeds}; {self.seconds:.0f} s, CPU {self.cpu:.0f} s" + (
            "; quick: few repetitions, sets cut: a trial of the script, no result" if self.quick else ""
        )


# -- what there is ----------------------------------------------------------------------------------------------------


def table_names() -> list[str]:
    """Tables and figures that have a script, such as 000-table-1."""
    return [name[1:].replace("_", "-") for name in names(import_module("reproduction.tables"))]


def item_names() -> list[str]:
    """Every table and figure of the five papers."""
    return sorted({*table_names(), *WITHOUT})


def items() -> Iterator[dict[str, str]]:
    """Name, state, title and why it is so, of every table and figure."""
    for name in item_names():
        if name in WITHOUT:
            state, title, why = WITHOUT[name]
        else:
            table = load(name)
            state, title, why = table.STATE, table.TITLE, table.WHY
        yield {"name": name, "state": state, "title": title, "why": why}


def load(name: str) -> ModuleType:
    """The script of a table; an error that says why there is none, or which name is near."""
    if name in WITHOUT:
        state, title, why = WITHOUT[name]
        raise ValueError(f"{name} ({title}) cannot be run: {state}; {why}.")
    check_name("table", name, table_names())
    return import_module(f"reproduction.tables.p{name.replace('-', '_')}")


# -- running ----------------------------------------------------------------------------------------------------------


def run(
    name: str, *, data: Any = None, repeats: int | None = None, jobs: int = 1, quick: bool = False, keep: Any = None
) -> Result:
    """Run a table; finished repetitions are kept in the file `keep` until all are there."""
    table, work = load(name), Work(Data(data), quick)
    n = repeats if repeats is not None else getattr(table, "QUICK", 2) if quick else table.REPEATS
    n = min(n, table.REPEATS) if repeats is None else n
    check_number("repeats", n, whole=True, least=1)
    check_number("jobs", jobs, whole=True, least=1)
    files = getattr(table, "FILES", {})
    lacking = {
        row: work.data.missing(files[row]) for row in table.PAPER if row in files and not work.data.has(files[row])
    }
    rows = [row for row in table.PAPER if row not in lacking]
    if not rows:
        raise ValueError(f"{name} needs data: {'; '.join(dict.fromkeys(lacking.values()))}.")
    work.data.check(files[row] for row in rows if row in files)
    started = time.perf_counter()
    found = _repetitions(name, table, [(row, seed) for row in rows for seed in range(n)], work, jobs, keep)
    cells = []
    for row in rows:
        every = [found[row, seed]["values"] for seed in range(n)]
        cells += [_cell(table, row, column, [one[column] for one in every]) for column in every[0]]
    if hasattr(table, "SIGNIFICANCE"):
        cells = _leading(cells, table)
    absent = {**lacking, **getattr(table, "ABSENT", {})}
    cpu = sum(one["cpu"] for one in found.values())
    return Result(name, table, tuple(cells), absent, n, quick, time.perf_counter() - started, cpu)


def _repetitions(
    name: str, table: ModuleType, tasks: list[tuple[str, int]], work: Work, jobs: int, keep: Any
) -> dict[tuple[str, int], dict[str, Any]]:
    kept = Checkpoint(keep, f"{name}, {'quick' if work.quick else 'whole'}: {_code()}")
    label = {task: f"{task[0]} seed {task[1]}" for task in tasks}
    todo = [task for task in tasks if label[task] not in kept]
    parts = _parts(todo, jobs)
    results = Parallel(n_jobs=jobs, return_as="generator")(delayed(_some)(name, part, work) for part in parts)
    arriving = chain.from_iterable(results)
    with _progress.working(name):
        for done, task in enumerate(chain.from_iterable(parts)):
            _progress.set_task(f"{name}: {len(tasks) - len(todo) + done} of {len(tasks)} done, {label[task]}")
            _progress.overall_progress(done, len(todo))  # what was kept took no time
            kept.part(label[task], lambda: next(arriving))
    return {task: kept.part(label[task], dict) for task in tasks}


def _parts(tasks: list[tuple[str, int]], jobs: int) -> list[list[tuple[str, int]]]:
    """Return what one process does at a time: all of a row if there are rows enough, because grids are kept by row."""
    rows: dict[str, list[tuple[str, int]]] = {}
    for task in tasks:
        rows.setdefault(task[0], []).append(task)
    if jobs == 1:
        return [[task] for task in tasks]
    pieces = -(-jobs // max(1, len(rows)))
    return [row[first::pieces] for row in rows.values() for first in range(min(pieces, len(row)))]


def _some(name: str, tasks: list[tuple[str, int]], work: Work) -> list[dict[str, Any]]:
    return [_one(name, row, seed, work) for row, seed in tasks]


def _one(name: str, row: str, seed: int, work: Work) -> dict[str, Any]:
    """Return the values of one repetition by column, and its CPU seconds."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # low confidence, rounds used up: the numbers tell
        found = load(name).measure(row, seed, work)
    values = {column: float(value) for column, value in found.items()}
    return {"values": values, "cpu": time.process_time() - started}


def _cell(table: ModuleType, row: str, column: str, values: list[float]) -> Cell:
    paper = table.PAPER[row].get(column)
    other = row in getattr(table, "STAND_INS", table.PAPER if table.STATE == STAND_IN else ())
    kind = table.COLUMNS[column]
    value = float(np.mean(values)) if not kind.best else max(values) if kind.better == "higher" else min(values)
    return Cell(row, column, paper, tuple(values), value, mark(paper, value, values, kind, other))


def _leading(cells: list[Cell], table: ModuleType) -> list[Cell]:
    """Return the cells, those marked that lead their group in a column."""
    colons = all(": " in cell.row for cell in cells)
    group_of = getattr(table, "group", lambda row: row.partition(": ")[0] if colons else "")
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((group_of(cell.row), cell.column), []).append(cell)
    leading = set()
    for (_, column), group in groups.items():
        sign = 1 if table.COLUMNS[column].better == "higher" else -1
        best = max(group, key=lambda cell: sign * cell.value)
        leading |= {id(cell) for cell in group if _as_good(cell, best, table.SIGNIFICANCE)}
    return [replace(cell, leads=id(cell) in leading) for cell in cells]


def _as_good(cell: Cell, best: Cell, level: float) -> bool:
    """Return whether a t-test finds no difference; values that do not vary have to be the same."""
    if cell.value == best.value:
        return True
    if len(cell.values) < 2 or cell.deviation == best.deviation == 0:
        return False
    samples = [value for one in (cell, best) for value in (np.mean(one.values), one.deviation, len(one.values))]
    return bool(ttest_ind_from_stats(*samples, equal_var=False).pvalue >= level)


def mark(paper: float | None, value: float, values: list[float], column: Column, other_data: bool) -> str:
    """Reproduced within 2 % of the column's span, or two standard errors of a mean up to 5 %; else better or missed."""
    if paper is None or not column.better:
        return ""
    if other_data:
        return OTHER_DATA
    error = 0.0 if column.best or len(values) < 2 else float(np.std(values, ddof=1)) / np.sqrt(len(values))
    ahead = (value - paper) * (1 if column.better == "higher" else -1)
    if abs(ahead) <= max(SAME * column.span, min(2 * error, AT_MOST * column.span)) + 1e-9:
        return REPRODUCED
    return BETTER if ahead > 0 else MISSED


def _code() -> str:
    """Fingerprint of the library and of this folder, so that parts of another version are not mixed in."""
    homes = (Path(kernelclust.__file__).parent, Path(__file__).parent)
    files = [file for home in homes for file in sorted(home.rglob("*.py"))]
    return fingerprint([np.frombuffer(file.read_bytes(), dtype=np.uint8) for file in files])
