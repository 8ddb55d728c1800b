"""Delimited text: CSV, TSV and the like.

pyarrow reads and converts the cells. A file that it cannot read as it is (ragged rows, line breaks or spaces before
quotes, runs of spaces, other encodings than UTF-8) is first rewritten by Python's `csv`.

Measured with 1 000 000 rows of 10 numbers (196 MB), CPU time of reading and the memory that it adds: a reader of our
own 15 to 16 s and 180 MB; pandas 2.4 s and 153 MB, 8 s if it rounds correctly; this module 2.2 s and 240 MB, 13 s
if it rewrites the file, 7 s and 510 MB if a column of numbers has a text after the first lines. pandas fills up short
rows without an error, and adds 0.4 s to every import of scikit-learn once it is installed. Neither library reports the
line of a cell or all problems of a file; `_lines` and `_rewrite` find them.
"""

from __future__ import annotations

import codecs
import csv
import io
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import IO, Any

import numpy as np

from kernelclust.tables._notation import mixed_units, notations, writes_number
from kernelclust.tables._table import MISSING, Column, Problem, Table, is_missing, named, parse_number
from kernelclust.tables.formats._arrow import codes_of
from kernelclust.tables.formats._dialect import CsvDialect, find_dialect

SUFFIXES: tuple[str, ...] = (".csv", ".tsv", ".tab", ".txt", ".dat")
BEGINS: tuple[bytes, ...] = ()
NEEDS = ("pyarrow",)
NULLS = sorted({write(text) for text in [*MISSING, "NaN"] for write in (str, str.upper, str.title)})
MIN_BLOCK = 1 << 20  # bytes that pyarrow converts at a time


def read(
    file: IO[bytes],
    source: str,
    *,
    texts: Sequence[str] = (),
    delimiter: str | None = None,
    header: str = "auto",
    encoding: str | None = None,
    decimal: str | None = None,
) -> Table:
    """Read delimited text; what is not given is found."""
    dialect = find_dialect(file, source, delimiter, header, encoding, decimal)
    top, cells = next(_rows(file, source, dialect), (0, []))
    if not cells:
        raise ValueError(f"{source} is empty.")
    names = [name.strip() for name in cells] if dialect.header else [""] * len(cells)
    names = [name or f"column {k}" for k, name in enumerate(names, start=1)]
    as_text = named(texts, names)
    lines, ragged = _lines(file, dialect, top), list[Problem]()
    columns = None if lines is None else _columns(file, dialect, names, as_text, len(lines), top)
    if columns is None:
        with tempfile.TemporaryFile() as copy:
            lines, ragged, longest = _rewrite(file, source, dialect, len(names), copy)
            if len(lines):
                columns = _columns(copy, replace(dialect, delimiter=","), names, as_text, len(lines), 0, 4 * longest)
            else:  # a header alone
                columns = [Column(name, np.empty(0)) for name in names]
    if columns is None:
        raise ValueError(f"{source} cannot be read as a table of text; save it as CSV in UTF-8.")
    known = "" if decimal is None and dialect.decimal == "." else dialect.decimal
    more: dict[str, Any] = {"has_names": dialect.header, "problems": ragged, "decimal": known}
    return Table(source, columns, lines=lines, notes=dialect.notes, **more)


def _lines(file: IO[bytes], dialect: CsvDialect, top: int) -> np.ndarray | None:
    """Return the lines after the header that are not blank; None if pyarrow cannot read such a file."""
    if dialect.delimiter == " " or dialect.encoding not in ("utf-8", "utf-8-sig"):
        return None
    file.seek(0)
    spaced = f'{dialect.delimiter} "'.encode()  # to pyarrow, quotes after a space are no quotes
    lines = array("q")
    for number, line in enumerate(file, start=1):
        if spaced in line:
            return None
        if number > top * dialect.header and line.strip():
            lines.append(number)
    return np.asarray(lines)


def _columns(
    file: IO[bytes],
    dialect: CsvDialect,
    names: list[str],
    as_text: list[bool],
    n_rows: int,
    top: int,
    block: int = MIN_BLOCK,
) -> list[Column] | None:
    """Read columns of numbers and of texts by pyarrow; None unless there are `n_rows` equally long rows, none empty."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    keys = [str(k) for k in range(len(names))]
    read_options = arrow_csv.ReadOptions(
        skip_rows=top * dialect.header, column_names=keys, block_size=max(MIN_BLOCK, block, 64 * len(names))
    )
    parse_options = arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=top == 0)

    def attempt(**types: Any) -> Any:
        file.seek(0)
        convert_options = arrow_csv.ConvertOptions(
            null_values=NULLS, true_values=[], false_values=[], decimal_point=dialect.decimal, **types
        )
        return arrow_csv.read_csv(file, read_options, parse_options, convert_options)

    def typed(is_text: Sequence[bool]) -> Any:
        kinds = [pa.dictionary(pa.int32(), pa.string()) if text else pa.float64() for text in is_text]
        return attempt(column_types=dict(zip(keys, kinds, strict=True)))

    try:
        try:
            cells = typed([text or dialect.is_text(k) for k, text in enumerate(as_text)]).columns
        except pa.ArrowInvalid:  # a column of numbers has another cell further on, or the rows are ragged
            numbers = (pa.types.is_floating, pa.types.is_integer, pa.types.is_null)
            is_number = [any(is_kind(kind) for is_kind in numbers) for kind in attempt().schema.types]
            try:
                cells = typed([text or not is_number[k] for k, text in enumerate(as_text)]).columns
            except pa.ArrowInvalid:  # integers that are no decimal numbers, such as 0x10
                cells = typed([True] * len(names)).columns
    except pa.ArrowInvalid:
        return None
    columns: list[Column] = []
    for k, name in enumerate(names):
        is_text = pa.types.is_dictionary(cells[k].type)
        decode = partial(text_column, decimal=dialect.decimal, as_text=as_text[k])
        columns.append(decode(name, *codes_of(cells[k])) if is_text else Column(name, cells[k].to_numpy()))
        cells[k] = None  # free its memory
    empty = np.logical_and.reduce([column.missing() for column in columns])
    return None if len(empty) != n_rows or (empty.any() and top) else columns


def text_column(name: str, codes: np.ndarray, words: list[str], decimal: str = ".", as_text: bool = False) -> Column:
    """Return a column of texts; or of numbers, if at most half of its cells are none.

    Numbers with units or thousands separators stay texts, which `prepare` reads.
    """
    words = [word.lstrip(" ") if as_text else word.strip() for word in words]
    places: dict[str, int] = {}
    is_null = (lambda word: word == "") if as_text else is_missing
    new = [-1 if is_null(word) else places.setdefault(word, len(places)) for word in words]
    codes, texts = np.array(new)[codes], list(places)
    if as_text:
        return Column(name, codes, texts)
    numbers = [parse_number(text, decimal) for text in texts]
    values = np.array([np.nan if number is None else number for number in [*numbers, None]])  # -1 finds the last one
    is_bad = np.array([number is None for number in numbers] + [False])[codes]
    odd = [text for text, number in zip(texts, numbers, strict=True) if number is None]
    in_notation = odd and all(map(writes_number, odd)) and (notations(texts) or mixed_units(texts))
    if in_notation or 2 * is_bad.sum() > (codes >= 0).sum():
        return Column(name, codes, texts)
    bad = np.flatnonzero(is_bad).tolist()
    return Column(name, values[codes], bad_rows=bad, bad_text=texts[codes[bad[0]]] if bad else "")


def _rewrite(
    file: IO[bytes], source: str, dialect: CsvDialect, width: int, copy: IO[bytes]
) -> tuple[np.ndarray, list[Problem], int]:
    """Write the rows of a file as UTF-8 with commas; return the line of each, ragged rows, and the longest."""
    text = io.TextIOWrapper(copy, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    lines, ragged, longest, top = [], [], 0, 0
    for line, row in _rows(file, source, dialect):
        top = top or line
        if dialect.header and line == top:
            continue
        if len(row) != width:
            what = f"{len(row)} cells, where line {top} has {width}"
            ragged.append(Problem(f"line {line}", what, "make them equal"))
            row = (row + [""] * width)[:width]
        longest = max(longest, writer.writerow(row))
        lines.append(line)
    text.flush()
    text.detach()
    return np.array(lines), ragged, longest


def _rows(file: IO[bytes], source: str, dialect: CsvDialect) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with the line on which it ends."""
    file.seek(0)
    text = io.TextIOWrapper(file, encoding=dialect.encoding, newline="")
    lines = (line.strip(" \r\n") + "\n" for line in text) if dialect.delimiter == " " else text
    reader = csv.reader(lines, delimiter=dialect.delimiter, skipinitialspace=True)
    try:
        for row in reader:
            if row and (row[0].strip() or any(cell.strip() for cell in row)):
                yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"{source}, line {reader.line_num + 1}: not a table of text: {error}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(_badly_encoded(file, source, dialect.encoding, error)) from error
    finally:
        text.detach()


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
    return f"{where} (byte {byte:#04x}); name its encoding, such as --encoding cp1252 (Windows) or latin-1."
