"""The command line: ``kernelclust demo``, ``kernelclust fit FILE.csv``, ``kernelclust list``."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TextIO, cast

DESCRIPTION = "Kernel clustering whose clusters come out arranged: on a chain, a ring, a grid, a tree."
EPILOG = "Examples: kernelclust fit stages.csv --structure chain:5 --standardize --out labels.csv --report report.html"


def _number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _name_or_none(text: str) -> str | None:
    return None if text == "none" else text


MODEL_OPTIONS: dict[str, dict[str, Any]] = {
    "--structure -s": {"help": "such as ring:12, tree:3x3, or chain with --n-clusters (default: flat)"},
    "--n-clusters -c": {"type": int, "help": "for a structure that does not say (default: 8)"},
    "--kernel -k": {"help": "see `kernelclust list` (default: auto)"},
    "--gamma": {"type": _number_or_name, "help": "width of the kernel: a number or scale (default: scale)"},
    "--loss": {"type": _name_or_none, "help": "none, zero-one or structure (default: none)"},
    "--normalize": {"type": _name_or_none, "help": "l2, l1 or none (default: l2)"},
    "--rho": {"type": float, "help": "how much a cluster prefers itself to its neighbours (default: 2)"},
    "--size-prior": {"type": _number_or_name, "help": "above 0 where groups of like size are expected (default: auto)"},
    "--min-cluster-size": {"type": float, "metavar": "N", "help": "rows in every cluster at least"},
    "--max-cluster-size": {"type": float, "metavar": "N", "help": "and at most"},
    "--search": {"help": "refine, place or global (default: refine)"},
    "--random-state": {"type": int, "default": 0, "metavar": "SEED", "help": "default: 0"},
    "--n-jobs": {"type": int, "metavar": "N", "help": "starts to run at the same time"},
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; bad input gives one line on stderr and exit code 2."""
    arguments = _parser().parse_args(argv)
    nowhere = sys.stdout is None
    sys.stdout = sys.stdout or open(os.devnull, "w")
    with warnings.catch_warnings(), contextlib.redirect_stderr(cast(Any, _Heard(sys.stderr))):
        warnings.showwarning = _show_warning
        try:
            if nowhere and getattr(arguments, "out", "") is None:
                raise ValueError("standard output is closed; name a file for the labels with --out.")
            arguments.run(arguments)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader, such as `head`, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            print("kernelclust: interrupted, nothing written", file=sys.stderr)
            return 130
        except (ValueError, TypeError, ImportError, OSError, MemoryError) as error:
            print(f"kernelclust: error: {_one_line(error)}", file=sys.stderr)
            return 2
    return 0


class _Heard:
    """stderr that a reader may have left, or that is closed: what is said there is no reason to stop."""

    def __init__(self, stream: TextIO | None):
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, AttributeError):
            self._stream.write(text)  # type: ignore[union-attr]
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self._stream.flush()  # type: ignore[union-attr]

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()


def _one_line(error: object) -> str:
    if isinstance(error, OSError) and error.strerror is not None:  # raised by the system, not by us
        return f"{error.filename or 'standard output'}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"kernelclust: warning: {_one_line(message)}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kernelclust", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"kernelclust {_version()}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    fit = commands.add_parser(
        "fit", help="cluster the rows of a CSV file", description="Cluster the rows of a CSV file."
    )
    fit.set_defaults(run=_run_fit)
    fit.add_argument("file", metavar="FILE.csv", help="numbers, one sample a row; a header is found by itself")
    fit.add_argument("--out", metavar="FILE", help="where to write the labels (default: stdout); rows count from 0")
    fit.add_argument("--report", metavar="FILE", help="write a self-contained HTML page about the fit")
    fit.add_argument("--verbose", "-v", action="store_true", help="say what is happening, on stderr")
    table = fit.add_argument_group(
        "reading the file", "name columns or count them from 1 (a name wins), with commas between"
    )
    table.add_argument("--columns", metavar="LIST", help="use only these columns")
    table.add_argument("--drop", metavar="LIST", help="leave these columns out")
    table.add_argument("--id-column", metavar="COLUMN", help="not clustered; names the rows in the output")
    table.add_argument("--label-column", metavar="COLUMN", help="not clustered; known labels, to score the result")
    table.add_argument(
        "--use-labels", action="store_true", help="keep the places that the label column gives; empty cells are free"
    )
    table.add_argument("--delimiter", help="default: a comma, semicolon or tab, whichever the first line has")
    table.add_argument("--header", choices=["auto", "yes", "no"], default="auto", help="default: auto")
    table.add_argument("--standardize", action="store_true", help="give every column mean 0 and variance 1")
    # an option that is not given is absent, so that the library's own default holds and "none" can mean None
    model = fit.add_argument_group("the clustering")
    for flags, options in MODEL_OPTIONS.items():
        model.add_argument(*flags.split(), **{"default": argparse.SUPPRESS, **options})

    demo = commands.add_parser("demo", help="arrange a turning photograph on a ring, from data that come along")
    demo.set_defaults(run=_run_demo)
    demo.add_argument("--out", default="kernelclust-demo", metavar="DIR", help="default: %(default)s")

    listing = commands.add_parser("list", help="list the structures and kernels")
    listing.set_defaults(run=_run_list)
    return parser


def _version() -> str:
    try:
        return version("kernelclust")
    except PackageNotFoundError:  # run from a source tree
        return "(not installed)"


# The commands are imported when they run, so that --help and --version answer at once.
def _run_fit(arguments: argparse.Namespace) -> None:
    from kernelclust.cli.fit import run

    run(arguments)


def _run_demo(arguments: argparse.Namespace) -> None:
    from kernelclust.cli.demo import run

    run(arguments)


def _run_list(arguments: argparse.Namespace) -> None:
    from kernelclust.cli.listing import run

    run(arguments)
