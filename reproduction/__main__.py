"""``python -m reproduction list``, ``run NAME`` and ``count DIR``: the papers' tables, their numbers beside ours."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

from kernelclust._names import check_name
from kernelclust.cli.guard import guarded, note
from kernelclust.cli.outputs import print_json
from reproduction import Data, Work, as_text, count, counts_as_markdown, item_names, items, table_names, write
from reproduction import run as run_table


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code is that of the library's own commands."""
    arguments = _parser().parse_args(argv, SimpleNamespace())
    return guarded({"list": _list, "run": _run_named, "count": _count}[arguments.what], arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__.replace("``", ""))
    commands = parser.add_subparsers(dest="what", required=True)
    listing = commands.add_parser("list", help="every table and figure of the five papers, and its state")
    run = commands.add_parser("run", help="the paper's numbers and ours side by side")
    run.add_argument("names", nargs="*", metavar="NAME", help="tables, such as 000-table-1")
    run.add_argument("--all", action="store_true", help="all that have a script")
    run.add_argument("--data", metavar="DIR", help="folder of .npz files, where data do not come along")
    run.add_argument("--repeats", type=int, help="repetitions (else as many as in the paper)")
    run.add_argument("--jobs", type=int, default=1, help="processes that share the repetitions, row by row")
    run.add_argument("--quick", action="store_true", help="a trial: few repetitions and samples")
    help_out = "folder for CSV, Markdown and PNG; a run that was stopped goes on there"
    run.add_argument("--out", "-o", metavar="DIR", help=help_out)
    counting = commands.add_parser(
        "count", help="how many cells of each paper are reproduced, better or missed, and which"
    )
    counting.add_argument("folder", metavar="DIR", type=Path, help="folder that `run --out DIR` wrote to")
    for command in (listing, run, counting):
        command.add_argument("--json", action="store_true", help="print JSON")
        command.add_argument("--quiet", action="store_true", help="say nothing but errors")
        command.add_argument("--verbose", action="store_true", help="say what is being done")
        command.add_argument("--debug", action="store_true", help="show where an error was raised")
    return parser


def _list(arguments: SimpleNamespace) -> None:
    found = list(items())
    if arguments.json:
        print_json({"tables": found})
        return
    for one in found:
        print(f"{one['name']:<14} {one['state']:<15} {one['title']}\n{'':<30} {one['why']}")


def _count(arguments: SimpleNamespace) -> None:
    counted = count(arguments.folder)
    if arguments.json:
        print_json(counted)
        return
    print(counts_as_markdown(counted))


def _run_named(arguments: SimpleNamespace) -> None:
    if arguments.all == bool(arguments.names):
        raise ValueError("run needs names of tables, or --all; `python -m reproduction list` shows the names.")
    for name in arguments.names:
        check_name("table", name, item_names())
    for name in arguments.names or table_names():
        try:
            _run(name, arguments)
        except ValueError as error:
            if not arguments.all or "needs data" not in str(error):
                raise
            note(arguments, str(error))


def _run(name: str, arguments: SimpleNamespace) -> None:
    folder = None if arguments.out is None else Path(arguments.out)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    unfinished = None if folder is None else folder / f"{name}.unfinished.json"
    given = {"data": arguments.data, "repeats": arguments.repeats, "jobs": arguments.jobs, "quick": arguments.quick}
    result = run_table(name, keep=unfinished, **given)
    if arguments.json:
        print_json(
            {"name": name, "how": result.how, "absent": result.absent, "cells": [asdict(one) for one in result.cells]}
        )
    else:
        print(as_text(result), end="\n\n", flush=True)
    if folder is not None and unfinished is not None:
        written = write(result, folder, Work(Data(arguments.data), arguments.quick))
        unfinished.unlink(missing_ok=True)
        note(arguments, f"written: {', '.join(written)}")


if __name__ == "__main__":
    sys.exit(main())
