"""The program: every command of the folder `commands`, with its options, as typer shows them."""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pkgutil import iter_modules
from types import ModuleType, SimpleNamespace
from typing import Annotated, Any

import typer

from kernelclust.cli import commands, guard

HELP = "Cluster the rows of tables with any kernel, and arrange the clusters on a chain, a ring, a grid or a tree."
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


def run(argv: Sequence[str]) -> int:
    """Run one command; its exit code."""
    try:
        app(args=list(argv), prog_name="kernelclust", obj=shlex.join(["kernelclust", *argv]))
    except SystemExit as stopped:
        return int(stopped.code or 0) if not isinstance(stopped.code, str) else 2
    return 0


def _command(command: ModuleType) -> Any:
    """Return the function that typer calls, with a parameter for every option."""

    def call(context: typer.Context, **values: Any) -> None:
        if context.args:
            raise typer.Exit(guard.refused(_too_many(context.args, str(values.get("file")), context.info_name)))
        raise typer.Exit(guard.guarded(command.run, SimpleNamespace(command=context.obj, **values)))

    parameters = [inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)]
    for name, option in command.OPTIONS.items():
        shown = {"default": option.default, "annotation": option.annotation(name)}
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, **shown))
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _too_many(more: list[str], first: str, command: str | None) -> str:
    """Return what is wrong with further arguments: several files are read as a folder."""
    files = [text for text in more if os.path.exists(text)]
    if len(files) < len(more) or not os.path.exists(first):
        unknown = next((text for text in more if text not in files), more[0])
        return f"{command} takes no argument {unknown!r}; kernelclust {command} -h has all options."
    folders = {os.path.dirname(text) or "." for text in (first, *files)}
    folder = shlex.quote(folders.pop()) if len(folders) == 1 else "FOLDER"
    return (
        f"{command} reads one file or all files of a folder, but {1 + len(files)} files are named. "
        f"To read them together, name their folder: kernelclust {command} {folder}"
    )


for _name in sorted(module.name for module in iter_modules(commands.__path__)):
    _module = import_module(f"{commands.__name__}.{_name}")
    app.command(_name, help=" ".join((_module.__doc__ or "").split()), context_settings={"allow_extra_args": True})(
        _command(_module)
    )


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
    """Take the options that stand before a command."""
