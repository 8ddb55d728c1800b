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
    "Reading the file (columns: names, or numbers from 1, comma-separated)",
    "Converting cells to numbers",
    "The clustering",
    "Output",
    "Known labels, links and other tables",
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
OUT = in_panel(WRITE, out=Option(str, "file for the labels (default: standard output)", short="-o", metavar="FILE"))
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
    model=Option(str, "save the model, for predict", metavar="FILE"),
)
OUTPUT = {**OUT, **FILES, **PER_ROW, **JSON}

TALK = {
    "verbose": Option(bool, "log progress to stderr", False, "-v"),
    "quiet": Option(bool, "print only errors", False, "-q"),
    "debug": Option(bool, "print the traceback of an error", False),
}

HOW = in_panel(
    READ,
    delimiter=Option(str, "one character, tab or space (default: detected)"),
    header=Option(Literal["auto", "yes", "no"], "whether the first line holds names", "auto"),
    encoding=Option(str, "such as cp1252 (default: UTF-8, or UTF-16 with a byte order mark)"),
    decimal=Option(str, "the decimal sign, a point or a comma (default: detected)"),
    key=Option(str, "array of an npz or h5ad file, such as obsm/X_pca"),
    image_size=Option(
        str, "size that pictures are resized to, in pixels: the longer side, such as 32 (the default), or 32x24"
    ),
)
IDS = in_panel(READ, id_column=Option(str, "column with the names of rows in the output; not clustered"))
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
        "columns of dates: refuse, leave out, or days since 1970; --cyclic COLUMN:year compares seasons",
        "error",
    ),
    cyclic=Option(
        list[str],
        "a periodic column: hour:24, month:12; dates by year, month, week or day. May be repeated",
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
    label_column=Option(str, "column of known labels, to score the result; not clustered", metavar="COLUMN"),
    use_labels=Option(bool, "keep these labels in the fit; an empty cell means that the label is unknown", False),
    must_link=Option(str, "file of two columns: rows that belong together", metavar="FILE"),
    cannot_link=Option(str, "file of two columns: rows that do not belong together", metavar="FILE"),
    view=Option(
        list[str],
        "another table of the same rows, combined with the first by learned weights. May be repeated",
        [],
        metavar="FILE",
    ),
)
STRUCTURE = in_panel(
    CLUSTER,
    structure=Option(str, "such as ring:12, tree:3x3, or chain with -c (default: flat)", short="-s"),
    n_clusters=Option(int, "number of clusters, if the structure does not state it (default: 8)", short="-c"),
)
KERNEL = in_panel(
    CLUSTER,
    kernel=Option(str, "see kernelclust list (default: auto)", short="-k"),
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
SEED = in_panel(CLUSTER, random_state=Option(int, "seed; the same seed gives the same labels", 0))
OBJECTIVE = in_panel(
    CLUSTER,
    loss=Option(str, "none, zero-one or structure"),
    normalize=Option(str, "l2, l1 or none"),
    rho=Option(float, "weight of a cluster relative to its neighbours in the structure"),
    size_prior=Option(str, "above 0: favour clusters of similar size"),
    min_cluster_size=Option(float, "least number of rows in every cluster"),
    max_cluster_size=Option(float, "largest number of rows in every cluster"),
    search=Option(str, "refine, place or global"),
)
ROWS = in_panel(
    CLUSTER,
    sample=Option(
        int,
        "number of rows to fit, drawn at random; the others are assigned to their clusters. 0 fits all (default: 10000 "
        "beyond 100000 rows)",
        metavar="ROWS",
    ),
)
MODEL = {**STRUCTURE, **KERNEL, **OBJECTIVE, **SET, **ROWS, **SEED}
