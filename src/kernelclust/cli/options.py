"""The options of all commands: what they are called, what they take, what they say about themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import typer


@dataclass(frozen=True)
class Option:
    """One option or argument; None, the default of most, means that the library's own default holds."""

    kind: Any
    about: Any
    default: Any = None


def _option(kind: Any, *flags: str, help: str, panel: str | None = None, default: Any = None, **more: Any) -> Option:
    shown = typer.Option(
        *flags,
        help=help,
        rich_help_panel=panel,
        show_default=default is not None and default is not False and default != [],
        **more,
    )
    return Option(kind if default is not None else kind | None, shown, default)


def _argument(metavar: str, help: str, kind: Any = str) -> Option:
    return Option(kind, typer.Argument(metavar=metavar, help=help, show_default=False), ...)


READ, PREPARE, CLUSTER, WRITE, KNOW = (
    "Reading the file (columns: names, or numbers from 1, with commas between)",
    "From cells to numbers",
    "The clustering",
    "What is written",
    "What is known",
)

FILE = {
    "file": _argument(
        "FILE",
        "CSV, TSV or other text, Parquet, Feather, NPY, NPZ or h5ad, also packed (.gz); - is standard input. fit also "
        "takes a folder of Parquet or CSV files.",
    )
}
MODEL_FILE = {"model": _argument("MODEL", "what fit --model wrote")}
WHAT = {"what": _argument("WHAT", "k, kernel or structure", Literal["k", "kernel", "structure"])}

JSON = {"json": _option(bool, "--json", help="print one JSON object instead", panel=WRITE, default=False)}
OUT = {
    "out": _option(str, "--out", "-o", help="file for the labels (else standard output)", panel=WRITE, metavar="FILE")
}
WRITTEN = {**OUT, **JSON}
OUTPUT = {
    **OUT,
    "report": _option(str, "--report", help="a self-contained HTML page about the fit", panel=WRITE, metavar="FILE"),
    "model": _option(str, "--model", help="keep the model, for predict", panel=WRITE, metavar="FILE"),
    **JSON,
}

TALK = {
    "verbose": _option(bool, "--verbose", "-v", help="say what is happening, on stderr", default=False),
    "quiet": _option(bool, "--quiet", "-q", help="say nothing but errors", default=False),
    "debug": _option(bool, "--debug", help="show where an error came from", default=False),
}

HOW = {
    "delimiter": _option(str, "--delimiter", help="one character, tab or space (else found)", panel=READ),
    "header": _option(
        Literal["auto", "yes", "no"], "--header", help="whether the first line holds names", panel=READ, default="auto"
    ),
    "encoding": _option(str, "--encoding", help="such as cp1252 (else UTF-8, or UTF-16 by its mark)", panel=READ),
    "decimal": _option(str, "--decimal", help="the decimal sign, a point or a comma (else found)", panel=READ),
    "key": _option(str, "--key", help="array of an NPZ or h5ad file, such as obsm/X_pca", panel=READ),
}
IDS = {"id_column": _option(str, "--id-column", help="not clustered; names the rows in the output", panel=READ)}
READING = {
    "columns": _option(str, "--columns", help="use only these columns", panel=READ, metavar="LIST"),
    "drop": _option(str, "--drop", help="leave these columns out", panel=READ, metavar="LIST"),
    **IDS,
    **HOW,
}
MISSING = {
    "missing": _option(
        Literal["error", "drop", "median"],
        "--missing",
        help="cells that are empty or NA: refuse, leave the row out, or fill in the median (the most frequent text)",
        panel=PREPARE,
        default="error",
    )
}
PREPARING = {
    **MISSING,
    "categories": _option(
        Literal["error", "drop", "one-hot"],
        "--categories",
        help="columns of text: refuse, leave out, or a column of 0 and 1 for every text",
        panel=PREPARE,
        default="error",
    ),
    "cyclic": _option(
        list[str],
        "--cyclic",
        help="a column that turns: hour:24, month:12; dates by year, month, week or day. May be repeated",
        panel=PREPARE,
        default=[],
        metavar="COLUMN:PERIOD",
    ),
    "standardize": _option(
        bool, "--standardize", help="give every column mean 0 and variance 1", panel=PREPARE, default=False
    ),
}
KNOWN = {
    "label_column": _option(
        str, "--label-column", help="not clustered; known labels, to score the result", panel=KNOW, metavar="COLUMN"
    ),
    "use_labels": _option(
        bool, "--use-labels", help="keep the places that these give; empty cells are free", panel=KNOW, default=False
    ),
    "must_link": _option(
        str, "--must-link", help="file of two columns: rows that belong together", panel=KNOW, metavar="FILE"
    ),
    "cannot_link": _option(str, "--cannot-link", help="and rows that do not", panel=KNOW, metavar="FILE"),
    "view": _option(
        list[str],
        "--view",
        help="another table of the same rows, weighed against the first. May be repeated",
        panel=KNOW,
        default=[],
        metavar="FILE",
    ),
}
STRUCTURE = {
    "structure": _option(
        str, "--structure", "-s", help="such as ring:12, tree:3x3, or chain with -c; flat unless given", panel=CLUSTER
    ),
    "n_clusters": _option(
        int, "--n-clusters", "-c", help="for a structure that does not say; 8 unless given", panel=CLUSTER
    ),
}
KERNEL = {
    "kernel": _option(str, "--kernel", "-k", help="see kernelclust list; auto unless given", panel=CLUSTER),
    "gamma": _option(str, "--gamma", help="width of the kernel: a number or scale", panel=CLUSTER),
}
SEED = {
    "random_state": _option(int, "--random-state", help="the same number, the same labels", panel=CLUSTER, default=0)
}
MODEL = {
    **STRUCTURE,
    **KERNEL,
    "loss": _option(str, "--loss", help="none, zero-one or structure", panel=CLUSTER),
    "normalize": _option(str, "--normalize", help="l2, l1 or none", panel=CLUSTER),
    "rho": _option(float, "--rho", help="how much a cluster prefers itself to its neighbours", panel=CLUSTER),
    "size_prior": _option(str, "--size-prior", help="above 0 where groups of like size are expected", panel=CLUSTER),
    "min_cluster_size": _option(float, "--min-cluster-size", help="rows in every cluster at least", panel=CLUSTER),
    "max_cluster_size": _option(float, "--max-cluster-size", help="and at most", panel=CLUSTER),
    "search": _option(str, "--search", help="refine, place or global", panel=CLUSTER),
    "sample": _option(
        int,
        "--sample",
        help="fit so many rows, drawn at random, and place the others; 0 fits all. Beyond 100000 rows: 10000",
        panel=CLUSTER,
        metavar="ROWS",
    ),
    **SEED,
    "n_jobs": _option(int, "--n-jobs", help="starts to run at the same time", panel=CLUSTER),
}
PREDICTED = {
    **IDS,
    **HOW,
    "missing": _option(
        Literal["error", "drop", "median"],
        "--missing",
        help="cells that are empty, NA or a text that the fit did not see; as in the fit unless given",
        panel=PREPARE,
    ),
}
AMONG = {
    "among": _option(
        str,
        "--among",
        help="candidates with commas between: numbers or 2-10 for k, kernels, or structures such as flat:6,ring:6",
        panel=CLUSTER,
        metavar="LIST",
    )
}
CHOOSING = {
    **AMONG,
    "n_perturbations": _option(int, "--noise-refits", help="noisy copies that are clustered anew", panel=CLUSTER),
    "n_null": _option(int, "--reference-refits", help="sets of data without clusters, clustered anew", panel=CLUSTER),
    "checkpoint": _option(
        str, "--checkpoint", help="file that keeps finished refits: stopped, it goes on", panel=WRITE, metavar="FILE"
    ),
    **WRITTEN,
}
FIXED = {**STRUCTURE, **KERNEL, **SEED}
COMPARING = {
    "structures": _option(
        str, "--structures", "-s", help="with commas between, such as flat,chain,ring", panel=CLUSTER
    ),
    "kernels": _option(str, "--kernels", "-k", help="with commas between, such as auto,rbf", panel=CLUSTER),
    "estimators": _option(str, "--estimators", "-e", help="see kernelclust list", panel=CLUSTER),
    "refits": _option(
        int, "--refits", help="how often four fifths of the rows are fitted anew", panel=CLUSTER, default=5
    ),
    **JSON,
}
COMPARED = {"n_clusters": STRUCTURE["n_clusters"], "gamma": KERNEL["gamma"], **SEED}
DEMO = {"out": _option(str, "--out", "-o", help="folder", panel=WRITE, default="kernelclust-demo", metavar="DIR")}
