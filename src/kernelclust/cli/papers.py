"""``kernelclust papers list`` and ``papers run NAME``: the papers' tables, theirs beside ours."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

from kernelclust._names import check_name
from kernelclust.cli.guard import tell
from kernelclust.cli.outputs import print_json
from kernelclust.papers import Data, Work, as_text, item_names, items, table_names, write
from kernelclust.papers import run as run_table


def run(arguments: SimpleNamespace) -> None:
    """List the tables, or run one or all of them."""
    if arguments.what == "list":
        _list(arguments)
    elif arguments.all == (arguments.name is not None):
        raise ValueError("papers run needs the name of a table, or --all; `kernelclust papers list` shows the names.")
    elif arguments.all:
        _run_all(arguments)
    else:
        check_name("table", arguments.name, item_names())
        _run(arguments.name, arguments)


def _list(arguments: SimpleNamespace) -> None:
    found = list(items())
    if arguments.json:
        print_json({"tables": found})
        return
    for one in found:
        print(f"{one['name']:<14} {one['state']:<15} {one['title']}\n{'':<30} {one['why']}")


def _run_all(arguments: SimpleNamespace) -> None:
    for name in table_names():
        try:
            _run(name, arguments)
        except ValueError as error:
            if "needs data" not in str(error):
                raise
            tell(arguments, str(error))


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
        tell(arguments, f"written: {', '.join(written)}")
