"""The commands and their options, as typer shows them; imported when they run, so that --help answers at once."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from kernelclust.cli import guard, options

HELP = "Kernel clustering whose clusters come out arranged: on a chain, a ring, a grid, a tree."
CODES = "Exit codes: 0 done; 2 the file or the command is wrong, nothing is written; 130 interrupted; 1 a bug."
START = "kernelclust fit stages.csv --structure chain:5 --standardize --out labels.csv --report report.html"

app = typer.Typer(
    name="kernelclust",
    help=HELP,
    epilog=f"To begin: {START}\n\n{CODES}",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

COMMANDS: dict[str, tuple[str, dict[str, options.Option]]] = {
    "fit": (
        "Cluster the rows of a table, and write the label of each.",
        {**options.FILE, **options.OUTPUT, **options.READING, **options.PREPARING, **options.KNOWN, **options.MODEL,
         **options.TALK},
    ),
    "predict": (
        "Place the rows of a new table among the clusters of a model that fit --model saved; they are prepared as the "
        "fitted ones were, columns by name.",
        {**options.MODEL_FILE, **options.FILE, **options.PREDICTED, **options.WRITTEN, **options.TALK},
    ),
    "select": (
        "Choose how many clusters (k), a kernel or a structure: a table of evidence that needs no labels.",
        {**options.WHAT, **options.FILE, **options.CHOOSING, **options.READING, **options.PREPARING, **options.FIXED,
         **options.TALK},
    ),
    "compare": (
        "Fit several structures, kernels and estimators to one table, and rank them by evidence that needs no labels.",
        {**options.FILE, **options.COMPARING, **options.READING, **options.PREPARING, **options.COMPARED,
         **options.TALK},
    ),
    "demo": ("Arrange a turning photograph on a ring, from data that come along.", {**options.DEMO, **options.TALK}),
    "list": ("List the structures, kernels and estimators.", {**options.JSON, **options.TALK}),
    "info": ("Show versions, threads, extras and where compiled code is kept.", {**options.JSON, **options.TALK}),
}  # fmt: skip


def run(argv: Sequence[str]) -> int:
    """Run one command; its exit code."""
    try:
        app(args=list(argv), prog_name="kernelclust", obj=shlex.join(["kernelclust", *argv]))
    except SystemExit as stopped:
        return int(stopped.code or 0) if not isinstance(stopped.code, str) else 2
    return 0


def _command(name: str, given: dict[str, options.Option]) -> Any:
    """The function that typer calls, with a parameter for every option."""

    def call(context: typer.Context, **values: Any) -> None:
        module = {"list": "listing"}.get(name, name)
        work = lambda arguments: import_module(f"kernelclust.cli.{module}").run(arguments)  # noqa: E731
        raise typer.Exit(guard.guarded(work, SimpleNamespace(command=context.obj, **values)))

    parameters = [inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)]
    parameters += [
        inspect.Parameter(
            key, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=Annotated[one.kind, one.about]
        )
        for key, one in given.items()
    ]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


for _name, (_help, _options) in COMMANDS.items():
    app.command(_name, help=_help)(_command(_name, _options))


def _show_version(asked: bool) -> None:
    if asked:
        try:
            print(f"kernelclust {version('kernelclust')}")
        except PackageNotFoundError:  # run from a source tree
            print("kernelclust (not installed)")
        raise typer.Exit()


@app.callback()
def _top(
    show: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """What stands before a command."""
