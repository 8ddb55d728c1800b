"""How a file of text is written: its encoding, delimiter, decimal sign and header, found from its beginning."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import IO

from kernelclust.tables._table import is_missing, parse_number

SAMPLE = 1 << 16  # bytes
LINES = 50
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
DELIMITERS = (",", ";", "\t", "|", " ")
NAMED = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
YEARS = range(1500, 2201)
COMMA = re.compile(r"[+-]?\d+,\d+(e[+-]?\d+)?", re.IGNORECASE)
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")


@dataclass(frozen=True)
class Way:
    """What was said about a file, and what was found; None and "auto" are to be found."""

    delimiter: str | None = None
    header: str = "auto"
    encoding: str | None = None
    decimal: str | None = None
    notes: tuple[str, ...] = ()


def find_way(file: IO[bytes], source: str, way: Way) -> Way:
    """What is not said is found; what is found against appearances is noted."""
    way = replace(way, encoding=_encoding(file, way.encoding))
    delimiter = None if way.delimiter is None else NAMED.get(way.delimiter, way.delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"--delimiter must be one character, tab or space, not {way.delimiter!r}.")
    lines = _first_lines(file, way.encoding or "utf-8")
    if delimiter is None:
        delimiter = max(DELIMITERS, key=lambda one: _likelihood(lines, one))
    rows = _split(lines, delimiter)
    decimal = way.decimal or (_decimal(rows) if delimiter != "," else ".")
    if decimal not in (".", ","):
        raise ValueError(f"--decimal must be a point or a comma, not {decimal!r}.")
    notes = list(way.notes)
    if way.decimal is None and decimal == ",":
        notes.append("the comma is taken for the decimal sign; if it is not, add --decimal .")
    header = way.header
    if header == "auto":
        header = "yes" if _looks_like_header(rows, decimal) else "no"
        if rows and header == "yes" and _are_years(rows[0]):
            notes.append(f"the first line ({', '.join(rows[0][:3])}, ...) is taken for a header; if not, --header no")
    return Way(delimiter, header, way.encoding, decimal, tuple(notes))


def _encoding(file: IO[bytes], encoding: str | None) -> str:
    if encoding is not None:
        try:
            return codecs.lookup(encoding).name
        except LookupError:
            raise ValueError(f"--encoding {encoding!r} is not known; utf-8, cp1252, latin-1 and utf-16 are.") from None
    start = file.read(4)
    file.seek(0)
    return next((name for mark, name in MARKS.items() if start.startswith(mark)), "utf-8")


def _first_lines(file: IO[bytes], encoding: str) -> list[str]:
    """Some lines that are not blank; a last one that may be cut is left out."""
    start = file.read(SAMPLE)
    file.seek(0)
    lines = start.decode(encoding, errors="replace").splitlines()
    if len(start) == SAMPLE and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip()][:LINES]


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    cleaned = [line.strip(" ") if delimiter == " " else line for line in lines]
    try:
        return [row for row in csv.reader(cleaned, delimiter=delimiter, skipinitialspace=True) if row]
    except csv.Error:
        return []


def _likelihood(lines: Sequence[str], delimiter: str) -> tuple[bool, float, int]:
    """Rows of one length first, then those with more numbers in their cells, then longer ones."""
    rows = _split(lines, delimiter)
    widths = {len(row) for row in rows}
    if not widths or max(widths) == 1:
        return False, 0.0, 0
    cells = [cell.strip() for row in rows[1:] or rows for cell in row]
    share = sum(is_missing(cell) or parse_number(cell) is not None or bool(COMMA.fullmatch(cell)) for cell in cells)
    return len(widths) == 1, share / len(cells), max(widths)


def _decimal(rows: Sequence[Sequence[str]]) -> str:
    """A comma only where some number has one that cannot stand between thousands, and none has a point."""
    cells = [cell.strip() for row in rows for cell in row]
    commas = [cell for cell in cells if COMMA.fullmatch(cell)]
    points = any("." in cell and parse_number(cell) is not None for cell in cells)
    return "," if not points and any(not THOUSANDS.fullmatch(cell) for cell in commas) else "."


def _looks_like_header(rows: Sequence[Sequence[str]], decimal: str) -> bool:
    """A text over a number, no number at all, only counts 0, 1, 2, ... (as pandas writes them), or years."""
    if not rows:
        return True
    over = [parse_number(cell, decimal) is None for cell in rows[0]]
    below = [parse_number(cell, decimal) is None for cell in rows[1]] if len(rows) > 1 else over
    counts = len(over) > 2 and list(rows[0]) == [str(k) for k in range(len(over))]
    named = any(text and not also for text, also in zip(over, below, strict=False))
    return all(over) or counts or named or (_are_years(rows[0]) and not all(map(_are_years, rows[1:3])))


def _are_years(cells: Sequence[str]) -> bool:
    """Three or more years in even steps, beside texts."""
    years = [int(cell) for cell in cells if cell.strip().isdecimal()]
    others = [cell for cell in cells if not cell.strip().isdecimal()]
    steps = {b - a for a, b in pairwise(years)}
    return (
        len(years) > 2
        and all(year in YEARS for year in years)
        and len(steps) == 1
        and 0 not in steps
        and all(parse_number(cell) is None for cell in others)
    )
