"""How many cells of each paper are reproduced, better, missed, not run or on other data, read from written results."""

from __future__ import annotations

import csv
from pathlib import Path

from reproduction import frame
from reproduction.frame import BETTER, MISSED, OTHER_DATA, REPRODUCED

NOT_RUN = "not run"
SHOWN = (REPRODUCED, BETTER, MISSED, NOT_RUN, OTHER_DATA)


def count(folder: Path) -> dict[str, dict[str, dict[str, list[str]]]]:
    """Return the cells of each paper by mark and table.

    `folder` has the CSV files that `run NAME --out DIR` wrote. NOT_RUN are printed numbers that none of them has: of
    tables that were not run, and of rows whose data were not there.
    """
    if not any(folder.glob("*.csv")):
        raise ValueError(f"no results in {folder}: write them with `run NAME --out {folder}`.")
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for name in frame.table_names():
        table, marks = frame.load(name), _marks(folder / f"{name}.csv")
        paper = found.setdefault(name.partition("-")[0], {mark: {} for mark in SHOWN})
        for row, printed in table.PAPER.items():
            for column in printed:
                if table.COLUMNS[column].better:
                    mark = marks.get((row, column), NOT_RUN)
                    paper[mark].setdefault(name, []).append(f"{row}, {column}")
    return found


def counts_as_markdown(counted: dict[str, dict[str, dict[str, list[str]]]]) -> str:
    """Return a table of numbers, and below it which cells are better, missed and not run."""
    lines = [f"| paper | {' | '.join(SHOWN)} |", "|---" * (len(SHOWN) + 1) + "|"]
    for paper, marks in counted.items():
        lines.append(f"| {paper} | {' | '.join(str(sum(map(len, marks[mark].values()))) for mark in SHOWN)} |")
    for marks in counted.values():
        for mark in (BETTER, MISSED, NOT_RUN):
            for name, cells in marks[mark].items():
                whole = all(name not in marks[other] for other in SHOWN if other != mark)
                lines.append(f"\n{name}, {mark}: {f'all {len(cells)}' if whole else '; '.join(cells)}")
    return "\n".join(lines)


def _marks(file: Path) -> dict[tuple[str, str], str]:
    if not file.exists():
        return {}
    with file.open(newline="") as lines:
        return {(cell["row"], cell["column"]): cell["mark"] for cell in csv.DictReader(lines)}
