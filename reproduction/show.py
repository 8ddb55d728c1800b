"""A table for a reader: on the screen, as CSV, Markdown and a picture."""

from __future__ import annotations

import csv
import io
import warnings
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from kernelclust._files import write_files
from kernelclust.plots import have_matplotlib
from reproduction.frame import BETTER, MARKS, MISSED, OTHER_DATA, REPRODUCED, Cell, Result, Work

SIGNS = {REPRODUCED: "=", BETTER: "+", MISSED: "-", OTHER_DATA: "~", "": ""}
RULE = (
    "paper > ours, with the standard deviation over repetitions. = reproduced: within 2 % of the column's span, or two "
    "standard errors up to 5 %; + better; - missed; ~ stand-in, other data than the paper's"
)


def as_text(result: Result) -> str:
    """Rows and columns as wide as they need to be."""
    grid = _grid(result)
    widths = [max(len(line[at]) for line in grid) for at in range(len(grid[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in grid]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join([f"{result.name}: {result.table.TITLE}", result.table.WHY, "", *lines, "", *_below(result)])


def as_markdown(result: Result) -> str:
    head, *rows = (f"| {' | '.join(line)} |" for line in _grid(result))
    rule = "|" + "---|" * len(_grid(result)[0])
    text = [f"# {result.name}: {result.table.TITLE}", "", result.table.WHY, "", head, rule, *rows, ""]
    return "\n".join([*text, *(f"{line}\n" for line in _below(result))])


def as_csv(result: Result) -> str:
    """A line a cell, marks in words."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["table", "row", "column", "paper", "ours", "deviation", "repetitions", "mark"])
    for cell in result.cells:
        paper = "" if cell.paper is None else f"{cell.paper:g}"
        numbers = [paper, f"{cell.value:.6g}", f"{cell.deviation:.6g}", len(cell.values)]
        lines.writerow([result.name, cell.row, cell.column, *numbers, cell.mark])
    return out.getvalue()


def write(result: Result, folder: Path, work: Work) -> list[str]:
    """CSV, Markdown and, with matplotlib, PNG: all of them or none."""
    files: dict[str, str | bytes] = {".csv": as_csv(result), ".md": as_markdown(result)}
    if have_matplotlib():
        files[".png"] = _picture(result, work)
    written = {str(folder / f"{result.name}{ending}"): content for ending, content in files.items()}
    write_files(written)
    return list(written)


def _grid(result: Result) -> list[list[str]]:
    columns = list(dict.fromkeys(cell.column for cell in result.cells))
    at = {(cell.row, cell.column): _cell_text(cell) for cell in result.cells}
    rows = dict.fromkeys(cell.row for cell in result.cells)
    return [["", *columns], *([row, *(at.get((row, column), "") for column in columns)] for row in rows)]


def _cell_text(cell: Cell) -> str:
    ours = _number(cell.value) + (f" ±{_number(cell.deviation)}" if len(cell.values) > 1 else "")
    ours += "*" if cell.leads else ""
    return ours if cell.paper is None else f"{_number(cell.paper)} > {ours} {SIGNS[cell.mark]}".rstrip()


def _number(value: float) -> str:
    """Return three decimals or one; halves are rounded up as printed, so that 74.35 is 74.4."""
    size = abs(value)
    if size and (size < 1e-3 or size >= 1e5):
        return f"{value:.2e}"
    rounded = Decimal(repr(float(value))).quantize(Decimal("0.1" if size >= 10 else "0.001"), ROUND_HALF_UP)
    return str(rounded) if size >= 10 else f"{rounded:f}".rstrip("0").rstrip(".")


def _below(result: Result) -> list[str]:
    counted = Counter(cell.mark for cell in result.cells if cell.mark)
    told = ", ".join(f"{counted[mark]} {mark}" for mark in MARKS if counted[mark])
    absent = [f"not run: {row}: {why}" for row, why in result.absent.items()]
    return [*absent, *([f"{told}. ({RULE}.)"] if told else []), result.how]


def _picture(result: Result, work: Work) -> bytes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6), layout="constrained")
    draw = getattr(result.table, "draw", _dots)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pictures fit once more what the cells are about
        draw(figure, result, work)
    figure.suptitle(f"{result.name}: {result.table.TITLE}", fontsize=10)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=110)
    return out.getvalue()


def _dots(figure, result: Result, work: Work) -> None:
    """A panel for each column: the paper's number hollow, ours with its deviation."""
    columns = list(dict.fromkeys(cell.column for cell in result.cells))
    rows = list(dict.fromkeys(cell.row for cell in result.cells))
    figure.set_size_inches(max(6, 2.6 * len(columns) + 3), max(3, 0.22 * len(rows) + 1.5))
    panels = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
    for ax, column in zip(panels, columns, strict=True):
        cells = [cell for cell in result.cells if cell.column == column]
        at = [rows.index(cell.row) for cell in cells]
        ax.errorbar([c.value for c in cells], at, xerr=[c.deviation for c in cells], fmt="o", ms=4, label="ours")
        printed = [(cell.paper, y) for cell, y in zip(cells, at, strict=True) if cell.paper is not None]
        if printed:
            ax.plot(*zip(*printed, strict=True), "o", mfc="none", mec="black", ms=7, label="paper")
        ax.set_title(column, fontsize=9)
        ax.grid(alpha=0.3)
    panels[0].set_yticks(range(len(rows)), rows, fontsize=7)
    panels[0].invert_yaxis()
    panels[0].legend(fontsize=7)
