"""Delimited text: CSV, TSV and the like, read in blocks of rows, so that texts never lie in memory as a whole."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import IO, Any

import numpy as np

from kernelclust.tables._problems import Problem
from kernelclust.tables._table import Column, Table, is_missing, parse_number
from kernelclust.tables._way import Way, find_way

BLOCK = 1 << 17  # cells that are texts in memory at a time


def read_text(
    file: IO[bytes],
    source: str,
    way: Way,
    texts: tuple[str, ...] = (),
    tick: Callable[[int], None] | None = None,
) -> Table:
    """Read once; once more where a column turns out to be text after some of it was taken for numbers."""
    way = find_way(file, source, way)
    as_text: set[int] = set()
    while True:
        found = _pass(file, source, way, texts, as_text, tick)
        turned = {k for k, one in enumerate(found.columns) if one.turned}
        if turned:
            as_text |= turned
            continue
        columns = [one.column(name) for name, one in zip(found.names, found.columns, strict=True)]
        table = Table(source, columns, lines=found.lines, notes=list(way.notes), problems=found.ragged)
        return replace(table, has_names=way.header == "yes")


@dataclass
class _Found:
    names: list[str]
    columns: list[_Growing]
    lines: np.ndarray
    ragged: list[Problem]


def _pass(file: IO[bytes], source: str, way: Way, texts: tuple[str, ...], as_text: set[int], tick: Any) -> _Found:
    rows = _rows(file, source, way)
    first = next(rows, None)
    if first is None:
        raise ValueError(f"{source} is empty.")
    width, top = len(first[1]), first[0]
    names = [name.strip() for name in first[1]] if way.header == "yes" else [""] * width
    names = [name or f"column {k}" for k, name in enumerate(names, start=1)]
    if way.header == "no":
        rows = itertools.chain([first], rows)
    kept = {k for k, name in enumerate(names) if name in texts or str(k + 1) in texts}
    columns = [_Growing(way.decimal or ".", as_text=k in as_text, as_written=k in kept) for k in range(width)]
    lines: list[np.ndarray] = []
    ragged: list[Problem] = []
    for block in _blocks(rows, max(BLOCK // width, 1)):
        numbers, cells = zip(*block, strict=True)
        lines.append(np.array(numbers))
        if any(len(row) != width for row in cells):
            ragged += [_uneven(line, row, width, top) for line, row in block if len(row) != width]
            cells = tuple((row + [""] * width)[:width] for row in cells)
        for column, some in zip(columns, zip(*cells, strict=True), strict=True):
            column.add(some)
        if tick is not None:
            tick(file.tell())
    if not lines:
        raise ValueError(f"{source} has a header but no rows of data.")
    return _Found(names, columns, np.concatenate(lines), ragged)


def _uneven(line: int, row: list[str], width: int, top: int) -> Problem:
    return Problem(f"line {line}", f"{len(row)} cells, where line {top} has {width}", "make them equal")


def _blocks(rows: Iterator[tuple[int, list[str]]], size: int) -> Iterator[list[tuple[int, list[str]]]]:
    while block := list(itertools.islice(rows, size)):
        yield block


def _rows(file: IO[bytes], source: str, way: Way) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, each with the line on which it ends."""
    file.seek(0)
    text = io.TextIOWrapper(file, encoding=way.encoding, newline="")
    reader = csv.reader(_stripped(text) if way.delimiter == " " else text, delimiter=way.delimiter or ",",
                        skipinitialspace=True)  # fmt: skip
    try:
        for row in reader:
            if row and (row[0].strip() or any(cell.strip() for cell in row)):
                yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"{source}, line {reader.line_num + 1}: not a table of text: {error}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(_badly_encoded(file, source, way.encoding or "utf-8", error)) from error
    finally:
        text.detach()


def _stripped(lines: Any) -> Iterator[str]:
    return (line.strip(" \r\n") + "\n" for line in lines)


def _badly_encoded(file: IO[bytes], source: str, encoding: str, error: UnicodeDecodeError) -> str:
    called = {"utf-8-sig": "UTF-8", "utf-8": "UTF-8"}.get(encoding, encoding)
    where = f"{source} is not {called} text"
    file.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)()
    for number, line in enumerate(file, start=1):
        try:
            decoder.decode(line)
        except UnicodeDecodeError:
            where = f"{source}, line {number}: not {called} text"
            break
    byte = error.object[error.start]
    return f"{where} (byte {byte:#04x}); say how it is encoded, such as --encoding cp1252 (Windows) or latin-1."


class _Growing:
    """A column while it is read: numbers, until more than half of its cells are none.

    `turned`: it is text, and earlier cells have been read as numbers. `as_written`: text whatever its cells are.
    """

    def __init__(self, decimal: str, *, as_text: bool = False, as_written: bool = False):
        self.decimal, self.as_text, self.as_written, self.turned = decimal, as_text or as_written, as_written, False
        self.parts: list[np.ndarray] = []
        self.codes: dict[str, int] = {}
        self.n_rows = self.n_bad = self.n_there = 0
        self.bad = (-1, "")

    def add(self, cells: tuple[str, ...]) -> None:
        if self.as_text:
            self._add_texts(cells)
        else:
            self._add_numbers(cells)
        self.n_rows += len(cells)

    def _add_numbers(self, cells: tuple[str, ...]) -> None:
        values = _fast(cells) if self.decimal == "." else None
        if values is None:
            values = np.array([self._number(cell, self.n_rows + i) for i, cell in enumerate(cells)])
        else:
            self.n_there += len(cells)
        self.parts.append(values)
        if 2 * self.n_bad > self.n_there:
            self.as_text, self.turned = True, len(self.parts) > 1
            if not self.turned:  # nothing is lost yet
                self.parts = []
                self._add_texts(cells)

    def _number(self, cell: str, row: int) -> float:
        if is_missing(cell):
            return float("nan")
        self.n_there += 1
        value = parse_number(cell, self.decimal)
        if value is None:
            self.bad = self.bad if self.n_bad else (row, cell.strip())
            self.n_bad += 1
            return float("nan")
        return value

    def _add_texts(self, cells: tuple[str, ...]) -> None:
        codes = self.codes
        if self.as_written:
            found = [codes.setdefault(cell, len(codes)) for cell in cells]
        else:
            found = [-1 if is_missing(cell) else codes.setdefault(cell.strip(), len(codes)) for cell in cells]
        self.parts.append(np.array(found))

    def column(self, name: str) -> Column:
        values = np.concatenate(self.parts)
        self.parts = []
        if not self.as_text:
            return Column(name, values, n_bad=self.n_bad, bad=self.bad)
        texts = list(self.codes)
        return Column(name, values, texts) if self.as_written else self._numbers_after_all(name, values, texts)

    def _numbers_after_all(self, name: str, codes: np.ndarray, texts: list[str]) -> Column:
        """Text at first, and yet most cells of the whole column are numbers: then the others are bad."""
        numbers = [parse_number(text, self.decimal) for text in texts]
        good = np.array([number is not None for number in numbers] + [True])  # -1, a missing cell, finds the last
        n_bad = int((~good[codes]).sum())
        if 2 * n_bad > int((codes >= 0).sum()):
            return Column(name, codes, texts)
        values = np.array([float("nan") if number is None else number for number in [*numbers, None]])
        first = int(np.argmin(good[codes]))
        return Column(name, values[codes], n_bad=n_bad, bad=(first, texts[codes[first]] if n_bad else ""))


def _fast(cells: tuple[str, ...]) -> np.ndarray | None:
    """The numbers, where all cells are plain ones."""
    try:
        values = np.array(list(map(float, cells)))
    except ValueError:
        return None
    return None if "_" in "".join(cells) or np.isnan(values).any() else values
