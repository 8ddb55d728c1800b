"""From cells to numbers: missing values, units, dates, categories, scales. Stored, so that new rows are alike."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from kernelclust._input import listed, quoted
from kernelclust.tables._notation import Notation, mixed_units, notations, writes_number
from kernelclust.tables._roles import find
from kernelclust.tables._table import Column, Problem, Table, is_missing, refuse, written

NUMBER, ONE_HOT, CYCLIC, TIMELINE = "number", "one-hot", "cyclic", "timeline"
SCALE_TOL = 1e-15  # relative spread below which a column is constant; a millisecond of nanoseconds since 1970: 6e-13
DAY_FIRST, MONTH_FIRST = "%d/%m/%Y", "%m/%d/%Y"
CLOCKS = ("", " %H:%M", " %H:%M:%S")
DATE_FORMATS = (
    "",
    "iso",
    *(day + clock for day in ("%d.%m.%Y", "%Y/%m/%d", DAY_FIRST, MONTH_FIRST) for clock in CLOCKS),
)
N_DATES = 2000  # different texts by which a column of dates is recognised
PERIODS = {"year": "M8[Y]", "month": "M8[M]", "week": "M8[W]", "day": "M8[D]"}  # of dates
MAX_CATEGORIES = 100
ID_FRACTION = 0.5  # of texts that differ, above which a column looks like names of rows


@dataclass(frozen=True)
class ColumnEncoder:
    """Encode one column; `fill` replaces missing values: the median, or the most frequent category."""

    column: str
    kind: str
    fill: float = 0.0  # of categories: the index of the text
    texts: tuple[str, ...] = ()  # of categories
    period: float | str = 1.0  # of a cyclic column: a number, or for dates one of `PERIODS`
    date_format: str = ""
    notation: Notation | None = None  # of numbers that are not written plainly
    mean: tuple[float, ...] = ()  # if columns are standardised
    scale: float = 1.0

    def names(self) -> list[str]:
        """Return the names of the encoded columns."""
        if self.kind == ONE_HOT:
            return [f"{self.column}={text}" for text in self.texts]
        return [f"cos {self.column}", f"sin {self.column}"] if self.kind == CYCLIC else [self.column]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"texts": list(self.texts), "mean": list(self.mean)}

    @staticmethod
    def from_dict(given: Mapping[str, Any]) -> ColumnEncoder:
        """Return the encoder that `to_dict` wrote; a TypeError, KeyError or ValueError if it did not write this."""
        notation = None if given["notation"] is None else Notation(**given["notation"])
        more = {"texts": tuple(given["texts"]), "mean": tuple(given["mean"]), "notation": notation}
        encoder = ColumnEncoder(**{**given, **more})
        numbers = (encoder.fill, encoder.scale, *encoder.mean)
        written = () if notation is None else asdict(notation).values()
        texts = (encoder.column, encoder.date_format, *encoder.texts, *written)
        if not all(isinstance(one, (int, float)) for one in numbers) or not all(isinstance(one, str) for one in texts):
            raise TypeError("an encoder has numbers where texts belong, or texts where numbers belong.")
        if encoder.kind not in (NUMBER, ONE_HOT, CYCLIC, TIMELINE) or len(encoder.mean) not in (
            0,
            len(encoder.names()),
        ):
            raise ValueError(f"there are no encoders {encoder.kind!r} with {len(encoder.mean)} means.")
        if encoder.date_format not in DATE_FORMATS[encoder.kind == TIMELINE :]:
            raise ValueError(f"{encoder.date_format!r} is no format of dates.")
        if encoder.kind == CYCLIC and encoder.date_format and encoder.period not in PERIODS:
            raise ValueError(f"dates {encoder.date_format!r} have no period {encoder.period!r}.")
        if not encoder.date_format and not float(encoder.period) > 0:
            raise ValueError(f"{encoder.period!r} is no period.")
        return encoder

    def values(self, column: Column) -> np.ndarray:
        """Return one number per cell: itself, the index of its category, days since 1970, or the fraction of a period.

        NaN if missing; categories that the encoder does not know, and texts that are no dates, are missing.
        """
        if self.kind == ONE_HOT:
            codes: Mapping[str, float] = {text: k for k, text in enumerate(self.texts)}
            words = column.as_texts() if column.texts is None else column.texts
            known = np.array([*(codes.get(text, codes.get(text.strip(), np.nan)) for text in words), np.nan])
            return known[:-1] if column.texts is None else known[column.values]
        if self.date_format:
            period = None if self.kind == TIMELINE else str(self.period)
            return date_numbers(column, self.date_format, period)
        if self.notation is not None and column.texts is not None:
            numbers = [self.notation.number(text) for text in column.texts]
            return np.array([np.nan if number is None else number for number in [*numbers, None]])[column.values]
        return column.values

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return the columns (n, k) of numbers from `values`, not standardised."""
        values = np.where(np.isnan(values), self.fill, values)
        if self.kind in (NUMBER, TIMELINE):
            return values[:, None]
        if self.kind == ONE_HOT:
            return (values[:, None] == np.arange(len(self.texts))).astype(np.float64)
        angle = 2 * np.pi * values / (1.0 if self.date_format else float(self.period))
        return np.column_stack([np.cos(angle), np.sin(angle)])

    def standardized(self, X: np.ndarray) -> ColumnEncoder:
        """Return an encoder to mean 0 and total variance 1, which several columns share."""
        size = float(np.abs(X).max(initial=0.0)) or 1.0  # variances of huge numbers would overflow
        mean, spread = (X / size).mean(axis=0), float(np.sqrt((X / size).var(axis=0).sum()))
        scale = spread * size if spread > SCALE_TOL else 1.0
        return replace(self, mean=tuple((mean * size).tolist()), scale=scale)

    def weighted(self, weight: float) -> ColumnEncoder:
        """Return an encoder whose numbers are multiplied by a weight."""
        return replace(self, mean=self.mean or (0.0,) * len(self.names()), scale=self.scale / weight)

    def scaled(self, X: np.ndarray) -> np.ndarray:
        return X if not self.mean else (X - np.array(self.mean)) / self.scale

    def unscaled(self, X: np.ndarray) -> np.ndarray:
        return X if not self.mean else X * self.scale + np.array(self.mean)


@dataclass(frozen=True)
class Prepared:
    """Numbers (n, d) with the names of their columns, the rows of the file, and the encoders."""

    X: np.ndarray
    names: list[str]
    rows: np.ndarray  # (n,) of the file
    encoders: list[ColumnEncoder]
    missing: str
    left_out: list[str]  # columns
    notes: list[str]  # decisions that a user should know
    n_columns: int | None = None  # of the file, where these have no names

    def in_own_units(self, rows: Any = slice(None)) -> list[tuple[ColumnEncoder, np.ndarray]]:
        """Return, for each column of the file, its encoder and its numbers (n, k) in the units of the table."""
        cuts = np.cumsum([len(encoder.names()) for encoder in self.encoders])[:-1]
        pieces = np.split(self.X[rows], cuts, axis=1)
        return [(encoder, encoder.unscaled(X)) for encoder, X in zip(self.encoders, pieces, strict=True)]

    def weighted(self, factors: Mapping[str, float]) -> Prepared:
        """Return the same with some columns of the file multiplied by a factor, so that they count more or less."""
        encoders = [one.weighted(factors[one.column]) if one.column in factors else one for one in self.encoders]
        repeats = [len(one.names()) for one in self.encoders]
        factor = np.repeat([factors.get(one.column, 1.0) for one in self.encoders], repeats)
        return replace(self, X=self.X * factor, encoders=encoders)

    def by_column(self) -> dict[str, np.ndarray]:
        """Return one number for each row and column of the file: the number, the category, the place in the period."""
        values = {}
        for one, X in self.in_own_units():
            kinds = {ONE_HOT: lambda X: X.argmax(axis=1), CYCLIC: lambda X: np.arctan2(X[:, 1], X[:, 0])}
            values[one.column] = kinds.get(one.kind, lambda X: X[:, 0])(X)
        return values

    @property
    def categories(self) -> list[str]:
        """Return the names of the columns of categories."""
        return [encoder.column for encoder in self.encoders if encoder.kind == ONE_HOT]

    def to_dict(self) -> dict[str, Any]:
        """Return all that new rows need, as JSON has it."""
        names = [encoder.column for encoder in self.encoders]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(
                f"several columns are called {quoted(twice)}, so that columns of new rows could not be matched."
            )
        unnamed = {} if self.n_columns is None else {"n_columns": self.n_columns}
        return {"missing": self.missing, "encoders": [encoder.to_dict() for encoder in self.encoders], **unnamed}


def prepare(
    table: Table,
    used: Sequence[Column],
    *,
    missing: str = "error",
    categories: str = "error",
    dates: str = "error",
    cyclic: Sequence[str] = (),
    standardize: bool = False,
    weights: Sequence[str] = (),
) -> Prepared:
    """Encode the columns in use; raise `Problems` with everything that prevents it."""
    names = [column.name for column in used]
    periods = _by_column("--cyclic", cyclic, names, "COLUMN:PERIOD, such as month:12, hour:24 or when:year")
    given = _by_column("--weight", weights, names, "COLUMN:FACTOR, such as country:0.2")
    factors = {names[k]: _positive("--weight", names[k], factor) for k, factor in given.items()}
    encoders: list[ColumnEncoder] = []
    values: list[np.ndarray] = []
    problems, left_out, notes, numbers = list(table.problems), [], [], []
    for k, column in enumerate(used):
        encoder = infer_encoder(table, column, categories, dates, periods.get(k))
        if isinstance(encoder, Problem):
            problems.append(encoder)
        elif encoder is None:
            left_out.append(column.name)
        else:
            encoders.append(encoder)
            values.append(encoder.values(column))
            problems += _cell_problems(table, column, encoder, values[-1], missing)
            if encoder.notation is not None:
                numbers.append(_as_read(column, values[-1], encoder.notation))
            if same := _same_but_for_spelling(encoder.texts):
                notes.append(
                    f"column {quoted(column.name)} has categories that differ only in spaces or capitals and count as "
                    f"different: {listed(same)}"
                )
    if len({one.option for one in problems if one.option.startswith("--drop ")}) == len(used) - len(left_out):
        problems = [replace(one, option="") for one in problems]  # nothing would be left
    refuse(table.source, problems)
    if not encoders:
        raise ValueError(f"{table.source}: no column is left to cluster.")
    if numbers:
        notes.insert(0, f"read as numbers: {', '.join(numbers)}")
    prepared = _encoded(table, encoders, values, missing, left_out, notes, standardize)
    prepared = replace(prepared, n_columns=None if table.has_names else len(table.columns))
    return prepared.weighted(factors) if factors else prepared


def prepared_like(table: Table, settings: Mapping[str, Any], missing: str | None = None) -> Prepared:
    """Encode new rows as those of the fit; columns are matched by name, in files without names by their number."""
    missing = missing or settings["missing"]
    encoders = [ColumnEncoder.from_dict(given) for given in settings["encoders"]]
    n_columns = settings.get("n_columns", len(table.columns))
    if not table.has_names and len(table.columns) != n_columns:
        raise ValueError(
            f"{table.source} has {len(table.columns)} columns, and the file of the fit had {n_columns}. They have no "
            "names, so that only their numbers show which is which: give a file with the same columns."
        )
    columns = {column.name: column for column in table.columns}
    for encoder in encoders:
        if sum(column.name == encoder.column for column in table.columns) > 1:
            raise ValueError(
                f"{table.source}: several columns are called {quoted(encoder.column)}, a column of the fit; rename "
                "all but the one that is meant."
            )
    lacking = [encoder.column for encoder in encoders if encoder.column not in columns]
    if lacking:
        names = [column.name for column in table.columns]
        raise ValueError(
            f"{table.source} lacks {len(lacking)} columns of the fit: {listed(lacking)}; it has {listed(names)}."
        )
    values, problems = [], list(table.problems)
    for encoder in encoders:
        column = columns[encoder.column]
        if column.texts is None or encoder.kind == ONE_HOT or encoder.date_format or encoder.notation:
            values.append(encoder.values(column))
            problems += _cell_problems(table, column, encoder, values[-1], missing, fitted=True)
        else:
            row = int(np.argmax(column.values >= 0))
            what = f"{quoted(column.as_texts()[row])} is text, where the fit had numbers"
            problems.append(Problem(table.cell(row, column), what, "correct it"))
    refuse(table.source, problems)
    return _encoded(table, encoders, values, missing, [], [], False)


def _encoded(
    table: Table,
    encoders: list[ColumnEncoder],
    values: list[np.ndarray],
    missing: str,
    left_out: list[str],
    notes: list[str],
    standardize: bool,
) -> Prepared:
    rows = np.arange(table.n_rows)
    if missing == "drop":
        rows = np.flatnonzero(~np.logical_or.reduce([np.isnan(one) for one in values]))
        if not len(rows):
            raise ValueError(f"{table.source}: every row has missing values, so that --missing drop leaves none.")
    names = [encoder.names() for encoder in encoders]
    X = np.empty((len(rows), sum(map(len, names))))
    start = 0
    for k, encoder in enumerate(encoders):
        part = encoder.encode(values[k] if len(rows) == table.n_rows else values[k][rows])
        if standardize:
            encoders[k] = encoder = encoder.standardized(part)
        X[:, start : start + part.shape[1]] = encoder.scaled(part)
        values[k], start = np.empty(0), start + part.shape[1]  # free the memory of what is copied
    return Prepared(X, [name for some in names for name in some], rows, encoders, missing, left_out, notes)


def _by_column(option: str, given: Sequence[str], names: Sequence[str], form: str) -> dict[int, str]:
    """Return what an option such as --cyclic hour:24 gives to columns, by their index among the columns in use."""
    values: dict[int, str] = {}
    for text in given:
        name, colon, value = text.rpartition(":")
        if not colon or not value:
            raise ValueError(f"{option} {text!r}: give {form}.")
        at = find(name, names, option)
        if at in values:
            raise ValueError(f"{option} {text}: column {quoted(names[at])} has {option} {values[at]} already.")
        values[at] = value.strip()
    return values


def _positive(option: str, name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{option} {name}:{text}: give a positive number; --drop leaves a column out.")
    return number


def infer_encoder(
    table: Table, column: Column, categories: str, dates: str, period: str | None = None
) -> ColumnEncoder | Problem | None:
    """Return the encoder of a column, the problem that prevents it, or None if the column is to be left out."""
    missing = column.missing()
    if missing.all() and not len(column.bad_rows):
        return Problem(
            "",
            f"column {quoted(column.name)} is empty",
            f"leave it out with {_drop(table, column)}",
            _drop(table, column),
        )
    if column.texts is None and period is None:
        return ColumnEncoder(column.name, NUMBER, fill=_median(column.values))
    if column.texts is None:
        return _cyclic_numbers(column, str(period))
    if (written_numbers := _infer_notation(table, column)) is not None and period is None:
        return written_numbers
    formats = date_formats(column.texts)
    if period is not None:
        return _cyclic_dates(column, formats, period)
    row = int(np.argmax(~missing))
    where, example, n_cells = table.cell(row, column), quoted(column.texts[column.values[row]]), int((~missing).sum())
    drop = _drop(table, column)
    if formats and dates == "drop":
        return None
    if formats and dates == "timeline":
        fill = _median(date_numbers(column, _one_format(column, formats, "--dates timeline"), None))
        return ColumnEncoder(column.name, TIMELINE, fill=fill, date_format=formats[0])
    if formats:
        turning = f"--cyclic {_shell(column.name)}:year (or month, week, day) to compare by the season"
        solution = f"add --dates timeline to compare by time, {turning}, or {drop}"
        return Problem(where, f"{example} is a date", solution, drop)
    if categories == "drop":
        return None
    n_texts = len(column.texts)
    if n_texts > MAX_CATEGORIES or (n_texts > 20 and n_texts > ID_FRACTION * n_cells):
        solution = f"leave it out with {drop}, or name rows by it with --id-column {_shell(column.name)}"
        return Problem(where, f"{example} is text, {n_texts} different ones in {n_cells} cells", solution, drop)
    if categories == "error":
        solution = f"add --categories one-hot to compare by it, or {drop}"
        return Problem(where, f"{example} is text ({n_texts} different)", solution, "--categories one-hot")
    most_frequent = np.argmax(np.bincount(column.values[~missing], minlength=n_texts))
    return ColumnEncoder(column.name, ONE_HOT, fill=float(most_frequent), texts=tuple(column.texts))


def _cyclic_numbers(column: Column, period: str) -> ColumnEncoder:
    number = _positive("--cyclic", column.name, period)
    return ColumnEncoder(column.name, CYCLIC, fill=_median(column.values), period=number)


def _cyclic_dates(column: Column, formats: list[str], period: str) -> ColumnEncoder:
    if not formats:
        raise ValueError(f"--cyclic {column.name}:{period}: the column holds texts that are no dates.")
    if period not in PERIODS:
        raise ValueError(f"--cyclic {column.name}:{period}: the period of dates is one of {', '.join(PERIODS)}.")
    date_format = _one_format(column, formats, f"--cyclic {column.name}:{period}")
    fill = _median(date_numbers(column, date_format, period))
    return ColumnEncoder(column.name, CYCLIC, fill=fill, period=period, date_format=date_format)


def _one_format(column: Column, formats: list[str], option: str) -> str:
    """Return the first date format; refuse dates of which the day and the month cannot be told apart."""
    if any(one.startswith(DAY_FIRST) for one in formats) and any(one.startswith(MONTH_FIRST) for one in formats):
        raise ValueError(
            f"{option}: dates such as {quoted((column.texts or [''])[0])} in column {quoted(column.name)} may have the "
            "day or the month first; write them as 2024-12-31."
        )
    return formats[0]


def _infer_notation(table: Table, column: Column) -> ColumnEncoder | Problem | None:
    """Return the encoder of numbers as people write them, the problem that prevents it, or None for other texts."""
    texts, drop = list(column.texts or ()), _drop(table, column)
    readings = notations(texts, table.decimal or "")
    if len(readings) == 1:
        encoder = ColumnEncoder(column.name, NUMBER, notation=readings[0])
        return replace(encoder, fill=_median(encoder.values(column)))

    def problem(text: str, what: str, solution: str) -> Problem:
        row = int(np.argmax(column.values == texts.index(text)))
        return Problem(table.cell(row, column), f"{quoted(text)} {what}", f"{solution}, or {drop}", drop)

    if readings:
        numbers = [[reading.number(text) or 0.0 for text in texts] for reading in readings]
        text, either, other = next(three for three in zip(texts, *numbers[:2], strict=True) if three[1] != three[2])
        signs = f"{written(either)} or {written(other)}"
        said = [f"--decimal {reading.decimal}" for reading in readings[:2]]
        solution = "write it without a separator" if table.decimal is None else f"add {said[0]} or {said[1]}"
        return problem(text, f"may be {signs}, and no cell of the column shows which", solution)
    if units := mixed_units(texts):
        (one, first), (other, second) = list(units.items())[:2]
        row = table.row(int(np.argmax(column.values == texts.index(first))))
        what = f"is {f'in {other}' if other else 'without a unit'}, and {quoted(first)} ({row}) "
        what += f"in {one}" if one else "without a unit"
        return problem(second, what, "write all cells in one unit")
    if table.decimal and notations(texts):
        return problem(texts[0], f"is not a number with the decimal sign {table.decimal!r}", "correct it")
    is_number = np.array([*(writes_number(text) for text in texts), False])[column.values]
    if 2 * is_number.sum() > (column.values >= 0).sum() and not all(map(writes_number, texts)):
        text = next(text for text in texts if not writes_number(text))
        example = quoted(next(filter(writes_number, texts)))
        return problem(text, f"is not a number, as most cells are, such as {example}", "correct it")
    return None


def _as_read(column: Column, values: np.ndarray, notation: Notation) -> str:
    """Return how a column was read, with an example."""
    row = int(np.argmax(np.abs(np.nan_to_num(values))))
    unit = f" in {notation.unit}" if notation.unit else ""
    return f"{column.name}{unit} ({quoted(column.as_texts()[row])} is {written(float(values[row]))})"


def _same_but_for_spelling(texts: Sequence[str]) -> list[str]:
    """Return the texts that are the same as another one when spaces and capitals are ignored, side by side.

    Examples
    --------
    >>> _same_but_for_spelling(["pro", "free", "Pro "])
    ['pro', 'Pro ']
    """
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(" ".join(text.split()).casefold(), []).append(text)
    return [text for some in alike.values() if len(some) > 1 for text in some]


def _cell_problems(
    table: Table, column: Column, encoder: ColumnEncoder, values: np.ndarray, missing: str, *, fitted: bool = False
) -> list[Problem]:
    """Return what is wrong with cells: no number, infinite, unknown, missing. The column of a fit cannot be dropped."""
    problems = []
    bad, bad_text = np.asarray(column.bad_rows, dtype=np.intp), column.bad_text
    like = ""
    if encoder.kind == ONE_HOT:
        bad = np.empty(0, dtype=np.intp)
    elif encoder.notation is not None and column.texts is not None:
        bad = np.flatnonzero(np.isnan(values) & ~_spelled_missing(column))
        bad_text = column.texts[column.values[bad[0]]] if len(bad) else ""
        like = f" in {encoder.notation.unit}" if encoder.notation.unit else " as the fit had them"
    drop = "" if fitted else _drop(table, column)
    or_drop = drop and f", or leave the column out with {drop}"

    def report(rows: np.ndarray, what: str, solution: str, option: str = "") -> None:
        count = f" ({len(rows)} such cells of {len(values)})" if len(rows) > 1 else ""
        problems.append(Problem(table.cell(int(rows[0]), column), what + count, solution, option))

    if len(bad):
        report(bad, f"{quoted(bad_text)} is not a number{like}", f"correct it{or_drop}", drop)
    if len(infinite := np.flatnonzero(np.isinf(values))):
        report(infinite, f"'{values[infinite[0]]}' is not finite", f"correct it{or_drop}", drop)
    lacking = np.setdiff1d(np.flatnonzero(np.isnan(values)), bad)
    if missing == "error" and len(lacking):
        empty = _spelled_missing(column)
        if len(unknown := lacking[~empty[lacking]]):
            text = quoted(column.as_texts()[unknown[0]])
            what = f"{text} was not in the fitted file" if encoder.kind == ONE_HOT else f"{text} is not a date"
            report(unknown, what, "add --missing drop or --missing median", "--missing drop")
        if len(empty := lacking[empty[lacking]]):
            solution = "add --missing drop to leave such rows out, or --missing median to fill in"
            report(empty, "missing value", solution, "--missing median")
    return problems


def _spelled_missing(column: Column) -> np.ndarray:
    """Return a mask (m,) of the cells that are empty or spell a missing value, in columns read as written too."""
    if column.texts is None:
        return column.missing()
    return np.array([*map(is_missing, column.texts), True])[column.values]


def text_columns(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of a fit whose cells are compared as they are written; settings that are none are refused.

    Raises KeyError, TypeError or ValueError for settings that `Prepared.to_dict` does not write.
    """
    encoders = [ColumnEncoder.from_dict(given) for given in settings["encoders"]]
    if not encoders or settings["missing"] not in ("error", "drop", "median"):
        raise ValueError("there are no encoders, or no rule for missing values.")
    return tuple(encoder.column for encoder in encoders if encoder.kind == ONE_HOT or encoder.notation is not None)


def _drop(table: Table, column: Column) -> str:
    """Return the option that leaves a column out, by its number if its name would not do."""
    everything = [*table.columns, *table.about]
    if sum(other.name == column.name for other in everything) > 1 or column.name.startswith("-"):
        return f"--drop {next(k for k, other in enumerate(everything, start=1) if other is column)}"
    return f"--drop {_shell(column.name)}"


def _shell(name: str) -> str:
    """Return a name as a shell takes it, with quotes for the list if it has a comma or a quote."""
    doubled = name.replace('"', '""')
    return shlex.quote(f'"{doubled}"' if "," in name or '"' in name else name)


def _median(values: np.ndarray) -> float:
    values = values[~np.isnan(values)]
    return float(np.median(values)) if len(values) else 0.0


def date_formats(texts: Sequence[str]) -> list[str]:
    """Return the date formats that fit all texts.

    Examples
    --------
    >>> date_formats(["2024-03-01", "2024-12-24 18:30"]), date_formats(["1/2/2024"]), date_formats(["red"])
    (['iso'], ['%d/%m/%Y', '%m/%d/%Y'], [])
    """
    some = texts[:N_DATES]
    if not some or not all(any(c.isdigit() for c in text) for text in some):
        return []
    return [how for how in DATE_FORMATS[1:] if all(parse_date(text, how) is not None for text in some)]


def parse_date(text: str, date_format: str) -> datetime | None:
    """Return the time in a text, with its time zone if it has one; None if it has another format."""
    try:
        if date_format != "iso":
            return datetime.strptime(text, date_format)
        return datetime.fromisoformat(text) if len(text) > 7 and "-" in text else None
    except ValueError:
        return None


def date_numbers(column: Column, date_format: str, period: str | None) -> np.ndarray:
    """Return the fraction of its period at each date, by local time, or without a period the days since 1970; NaN for
    other texts.
    """
    if column.texts is None:
        return np.full(len(column.values), np.nan)
    dates = [parse_date(text, date_format) for text in column.texts]
    if period is None:
        dates = _in_one_zone(column, dates)
    when = np.array([*(None if date is None else date.replace(tzinfo=None) for date in dates), None], dtype="M8[us]")
    if period is None:
        return ((when - np.datetime64(0, "us")) / np.timedelta64(1, "D"))[column.values]
    shift = np.timedelta64(4 if period == "week" else 0, "D")  # NumPy's weeks begin on Thursday, ours on Monday
    start = (when - shift).astype(PERIODS[period])
    step = np.ones((), dtype=PERIODS[period].replace("M8", "m8"))
    begin, end = start.astype("M8[us]"), (start + step).astype("M8[us]")
    return ((when - shift - begin) / (end - begin))[column.values]


def _in_one_zone(column: Column, dates: list[datetime | None]) -> list[datetime | None]:
    """Return dates that have time zones in UTC; refuse a column of which some have one and others have none."""
    zones = {date.tzinfo is not None: text for date, text in zip(dates, column.texts or (), strict=True) if date}
    if len(zones) > 1:
        raise ValueError(
            f"some dates in column {quoted(column.name)} have a time zone, such as {quoted(zones[True])}, and others "
            f"have none, such as {quoted(zones[False])}; write all of them in one way."
        )
    return [date.astimezone(UTC) if date is not None and date.tzinfo is not None else date for date in dates]
