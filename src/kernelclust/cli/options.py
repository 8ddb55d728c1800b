"""Options that several commands share, and how to write one."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer


@dataclass(frozen=True)
class Option:
    """One option; its flag is its name, unless given. None, the default of most, means the library's own default."""

    kind: Any
    help: str
    default: Any = None
    short: str | None = None  # a second flag, such as -o
    flag: str | None = None
    metavar: str | None = None
    panel: str | None = None  # of the help that shows it

    def annotation(self, name: str) -> Any:
        """Return the type of a parameter with this name, as typer reads it."""
        shown = typer.Option(
            *filter(None, [self.flag or f"--{name.replace('_', '-')}", self.short]),
            help=self.help,
            metavar=self.metavar,
            rich_help_panel=self.panel,
            show_default=self.default is not None and self.default is not False and self.default != [],
        )
        return Annotated[self.kind if self.default is not None else self.kind | None, shown]


@dataclass(frozen=True)
class Argument(Option):
    """A positional argument."""

    default: Any = ...

    def annotation(self, name: str) -> Any:
        return Annotated[self.kind, typer.Argument(metavar=self.metavar, help=self.help, show_default=False)]


def in_panel(panel: str, **options: Option) -> dict[str, Option]:
    """Return options by name, all in one panel of the help."""
    return {name: replace(option, panel=panel) for name, option in options.items()}


READ, PREPARE, CLUSTER, WRITE, KNOW = (
    "Reading the file (columns: names, or numbers from 1, with commas between)",
    "From cells to numbers",
    "The clustering",
    "What is written",
    "What is known",
)

_FORMATS = pkgutil.iter_modules([str(Path(__file__).parents[1] / "tables" / "formats")])  # names, nothing is imported
FORMATS = sorted(module.name for module in _FORMATS if not module.name.startswith("_"))
FILE = {
    "file": Argument(
        str,
        f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]} (csv: text with any delimiter; jpg: pictures), also compressed "
        "(.gz, .bz2, .xz); - is standard input; a folder of Parquet files, CSV files or pictures is one table.",
        metavar="FILE",
    )
}

JSON = in_panel(WRITE, json=Option(bool, "print one JSON object instead", False))
OUT = in_panel(WRITE, out=Option(str, "file for the labels (else standard output)", short="-o", metavar="FILE"))
WRITTEN = {**OUT, **JSON}
PER_ROW = in_panel(
    WRITE,
    positions=Option(
        bool, "add the position of each row along the structure (on chains and rings with an 80 % interval)", False
    ),
    membership=Option(bool, "add the membership of each row in each cluster", False),
)
FILES = in_panel(
    WRITE,
    report=Option(str, "a self-contained HTML page about the fit", metavar="FILE"),
    model=Option(str, "keep the model, for predict", metavar="FILE"),
)
OUTPUT = {**OUT, **FILES, **PER_ROW, **JSON}

TALK = {
    "verbose": Option(bool, "say what is happening, on stderr", False, "-v"),
    "quiet": Option(bool, "say nothing but errors", False, "-q"),
    "debug": Option(bool, "show where an error came from", False),
}

HOW = in_panel(
    READ,
    delimiter=Option(str, "one character, tab or space (else found)"),
    header=Option(Literal["auto", "yes", "no"], "whether the first line holds names", "auto"),
    encoding=Option(str, "such as cp1252 (else UTF-8, or UTF-16 by its mark)"),
    decimal=Option(str, "the decimal sign, a point or a comma (else found)"),
    key=Option(str, "array of an npz or h5ad file, such as obsm/X_pca"),
    image_size=Option(
        str, "pixels that pictures are resized to: of the longer side, such as 32 (the default), or 32x24"
    ),
)
IDS = in_panel(READ, id_column=Option(str, "not clustered; names the rows in the output"))
COLUMNS = in_panel(
    READ,
    columns=Option(str, "use only these columns", metavar="LIST"),
    drop=Option(str, "leave these columns out", metavar="LIST"),
)
READING = {**COLUMNS, **IDS, **HOW}
PREPARING = in_panel(
    PREPARE,
    missing=Option(
        Literal["error", "drop", "median"],
        "cells that are empty or NA: refuse, leave the row out, or fill in the median (the most frequent text)",
        "error",
    ),
    categories=Option(
        Literal["error", "drop", "one-hot"],
        "columns of text: refuse, leave out, or a column of 0 and 1 for every text",
        "error",
    ),
    dates=Option(
        Literal["error", "drop", "timeline"],
        "columns of dates: refuse, leave out, or the time since 1970 in days; --cyclic compares by the season",
        "error",
    ),
    cyclic=Option(
        list[str],
        "a column that turns: hour:24, month:12; dates by year, month, week or day. May be repeated",
        [],
        metavar="COLUMN:PERIOD",
    ),
    standardize=Option(bool, "give every column mean 0 and variance 1", False),
    weight=Option(
        list[str],
        "let a column count more or less: country:0.2 multiplies its numbers. May be repeated",
        [],
        metavar="COLUMN:FACTOR",
    ),
)
KNOWN = in_panel(
    KNOW,
    label_column=Option(str, "not clustered; known labels, to score the result", metavar="COLUMN"),
    use_labels=Option(bool, "keep the places that these give; empty cells are free", False),
    must_link=Option(str, "file of two columns: rows that belong together", metavar="FILE"),
    cannot_link=Option(str, "and rows that do not", metavar="FILE"),
    view=Option(
        list[str], "another table of the same rows, weighed against the first. May be repeated", [], metavar="FILE"
    ),
)
STRUCTURE = in_panel(
    CLUSTER,
    structure=Option(str, "such as ring:12, tree:3x3, or chain with -c; flat unless given", short="-s"),
    n_clusters=Option(int, "for a structure that does not say; 8 unless given", short="-c"),
)
KERNEL = in_panel(
    CLUSTER,
    kernel=Option(str, "see kernelclust list; auto unless given", short="-k"),
    gamma=Option(str, "width of the kernel: a number or scale"),
    indefinite=Option(
        Literal["clip", "shift"],
        "for --kernel precomputed: set negative eigenvalues of the similarities to zero, or add to the diagonal",
    ),
)
SET = in_panel(
    CLUSTER,
    set=Option(
        list[str],
        "any parameter of the estimator or of one of its terms: kernel.degree=2, solver=polar, solver.tol=1e-6. "
        "May be repeated",
        [],
        metavar="NAME=VALUE",
    ),
)
SEED = in_panel(CLUSTER, random_state=Option(int, "the same number, the same labels", 0))
OBJECTIVE = in_panel(
    CLUSTER,
    loss=Option(str, "none, zero-one or structure"),
    normalize=Option(str, "l2, l1 or none"),
    rho=Option(float, "how much a cluster prefers itself to its neighbours"),
    size_prior=Option(str, "above 0 where groups of similar size are expected"),
    min_cluster_size=Option(float, "rows in every cluster at least"),
    max_cluster_size=Option(float, "and at most"),
    search=Option(str, "refine, place or global"),
)
ROWS = in_panel(
    CLUSTER,
    sample=Option(
        int,
        "fit so many rows, drawn at random, and place the others; 0 fits all. Beyond 100000 rows: 10000",
        metavar="ROWS",
    ),
)
JOBS = in_panel(CLUSTER, n_jobs=Option(int, "starts to run at the same time"))
MODEL = {**STRUCTURE, **KERNEL, **OBJECTIVE, **SET, **ROWS, **SEED, **JOBS}
