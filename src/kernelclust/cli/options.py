"""Options that several commands share, and how to write one."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer


@dataclass(frozen=True)
class Option:
    """One option or argument; None, the default of most, means that the library's own default holds."""

    kind: Any
    about: Any
    default: Any = None


def option(kind: Any, *flags: str, help: str, panel: str | None = None, default: Any = None, **more: Any) -> Option:
    """Return an option; without a default it may be left out, and is None then."""
    shown = typer.Option(
        *flags,
        help=help,
        rich_help_panel=panel,
        show_default=default is not None and default is not False and default != [],
        **more,
    )
    return Option(kind if default is not None else kind | None, shown, default)


def argument(metavar: str, help: str, kind: Any = str) -> Option:
    """Return a positional argument."""
    return Option(kind, typer.Argument(metavar=metavar, help=help, show_default=False), ...)


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
    "file": argument(
        "FILE",
        f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]} (csv: text with any delimiter; jpg: pictures), also compressed "
        "(.gz, .bz2, .xz); - is standard input; a folder of Parquet files, CSV files or pictures is one table.",
    )
}

JSON = {"json": option(bool, "--json", help="print one JSON object instead", panel=WRITE, default=False)}
OUT = {
    "out": option(str, "--out", "-o", help="file for the labels (else standard output)", panel=WRITE, metavar="FILE")
}
WRITTEN = {**OUT, **JSON}
PER_ROW = {
    "positions": option(
        bool, "--positions", help="add the position of each row along the structure", panel=WRITE, default=False
    ),
    "membership": option(
        bool, "--membership", help="add the membership of each row in each cluster", panel=WRITE, default=False
    ),
}
OUTPUT = {
    **OUT,
    "report": option(str, "--report", help="a self-contained HTML page about the fit", panel=WRITE, metavar="FILE"),
    "model": option(str, "--model", help="keep the model, for predict", panel=WRITE, metavar="FILE"),
    **PER_ROW,
    **JSON,
}

TALK = {
    "verbose": option(bool, "--verbose", "-v", help="say what is happening, on stderr", default=False),
    "quiet": option(bool, "--quiet", "-q", help="say nothing but errors", default=False),
    "debug": option(bool, "--debug", help="show where an error came from", default=False),
}

HOW = {
    "delimiter": option(str, "--delimiter", help="one character, tab or space (else found)", panel=READ),
    "header": option(
        Literal["auto", "yes", "no"], "--header", help="whether the first line holds names", panel=READ, default="auto"
    ),
    "encoding": option(str, "--encoding", help="such as cp1252 (else UTF-8, or UTF-16 by its mark)", panel=READ),
    "decimal": option(str, "--decimal", help="the decimal sign, a point or a comma (else found)", panel=READ),
    "key": option(str, "--key", help="array of an npz or h5ad file, such as obsm/X_pca", panel=READ),
    "image_size": option(
        str,
        "--image-size",
        help="pixels that pictures are resized to: of the longer side, such as 32 (the default), or 32x24",
        panel=READ,
    ),
}
IDS = {"id_column": option(str, "--id-column", help="not clustered; names the rows in the output", panel=READ)}
READING = {
    "columns": option(str, "--columns", help="use only these columns", panel=READ, metavar="LIST"),
    "drop": option(str, "--drop", help="leave these columns out", panel=READ, metavar="LIST"),
    **IDS,
    **HOW,
}
MISSING = {
    "missing": option(
        Literal["error", "drop", "median"],
        "--missing",
        help="cells that are empty or NA: refuse, leave the row out, or fill in the median (the most frequent text)",
        panel=PREPARE,
        default="error",
    )
}
PREPARING = {
    **MISSING,
    "categories": option(
        Literal["error", "drop", "one-hot"],
        "--categories",
        help="columns of text: refuse, leave out, or a column of 0 and 1 for every text",
        panel=PREPARE,
        default="error",
    ),
    "dates": option(
        Literal["error", "drop", "timeline"],
        "--dates",
        help="columns of dates: refuse, leave out, or the time since 1970 in days; --cyclic compares by the season",
        panel=PREPARE,
        default="error",
    ),
    "cyclic": option(
        list[str],
        "--cyclic",
        help="a column that turns: hour:24, month:12; dates by year, month, week or day. May be repeated",
        panel=PREPARE,
        default=[],
        metavar="COLUMN:PERIOD",
    ),
    "standardize": option(
        bool, "--standardize", help="give every column mean 0 and variance 1", panel=PREPARE, default=False
    ),
    "weight": option(
        list[str],
        "--weight",
        help="let a column count more or less: country:0.2 multiplies its numbers. May be repeated",
        panel=PREPARE,
        default=[],
        metavar="COLUMN:FACTOR",
    ),
}
KNOWN = {
    "label_column": option(
        str, "--label-column", help="not clustered; known labels, to score the result", panel=KNOW, metavar="COLUMN"
    ),
    "use_labels": option(
        bool, "--use-labels", help="keep the places that these give; empty cells are free", panel=KNOW, default=False
    ),
    "must_link": option(
        str, "--must-link", help="file of two columns: rows that belong together", panel=KNOW, metavar="FILE"
    ),
    "cannot_link": option(str, "--cannot-link", help="and rows that do not", panel=KNOW, metavar="FILE"),
    "view": option(
        list[str],
        "--view",
        help="another table of the same rows, weighed against the first. May be repeated",
        panel=KNOW,
        default=[],
        metavar="FILE",
    ),
}
STRUCTURE = {
    "structure": option(
        str, "--structure", "-s", help="such as ring:12, tree:3x3, or chain with -c; flat unless given", panel=CLUSTER
    ),
    "n_clusters": option(
        int, "--n-clusters", "-c", help="for a structure that does not say; 8 unless given", panel=CLUSTER
    ),
}
KERNEL = {
    "kernel": option(str, "--kernel", "-k", help="see kernelclust list; auto unless given", panel=CLUSTER),
    "gamma": option(str, "--gamma", help="width of the kernel: a number or scale", panel=CLUSTER),
    "indefinite": option(
        Literal["clip", "shift"],
        "--indefinite",
        help="for --kernel precomputed: set negative eigenvalues of the similarities to zero, or add to the diagonal",
        panel=CLUSTER,
    ),
}
SET = {
    "set": option(
        list[str],
        "--set",
        help="any parameter of the estimator or of one of its terms: kernel.degree=2, solver=polar, solver.tol=1e-6. "
        "May be repeated",
        panel=CLUSTER,
        default=[],
        metavar="NAME=VALUE",
    )
}
SEED = {
    "random_state": option(int, "--random-state", help="the same number, the same labels", panel=CLUSTER, default=0)
}
MODEL = {
    **STRUCTURE,
    **KERNEL,
    "loss": option(str, "--loss", help="none, zero-one or structure", panel=CLUSTER),
    "normalize": option(str, "--normalize", help="l2, l1 or none", panel=CLUSTER),
    "rho": option(float, "--rho", help="how much a cluster prefers itself to its neighbours", panel=CLUSTER),
    "size_prior": option(str, "--size-prior", help="above 0 where groups of similar size are expected", panel=CLUSTER),
    "min_cluster_size": option(float, "--min-cluster-size", help="rows in every cluster at least", panel=CLUSTER),
    "max_cluster_size": option(float, "--max-cluster-size", help="and at most", panel=CLUSTER),
    "search": option(str, "--search", help="refine, place or global", panel=CLUSTER),
    **SET,
    "sample": option(
        int,
        "--sample",
        help="fit so many rows, drawn at random, and place the others; 0 fits all. Beyond 100000 rows: 10000",
        panel=CLUSTER,
        metavar="ROWS",
    ),
    **SEED,
    "n_jobs": option(int, "--n-jobs", help="starts to run at the same time", panel=CLUSTER),
}
