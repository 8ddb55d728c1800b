"""Choose the number of clusters (k) or the structure without labels, and print a table of evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any, Literal

from kernelclust.cli import options

OPTIONS = {
    "what": options.Argument(Literal["k", "structure"], "k or structure", metavar="WHAT"),
    **options.FILE,
    **options.in_panel(
        options.CLUSTER,
        among=options.Option(
            str,
            "comma-separated candidates: numbers or 2-10 for k, structures such as flat:6,ring:6 (default: all)",
            metavar="LIST",
        ),
        n_perturbations=options.Option(int, "k: number of noisy copies to cluster", flag="--noise-refits"),
        n_null=options.Option(int, "k: number of data sets without clusters to cluster", flag="--reference-refits"),
    ),
    **options.in_panel(
        options.WRITE,
        checkpoint=options.Option(str, "k: checkpoint file; an interrupted run continues from it", metavar="FILE"),
    ),
    **options.WRITTEN,
    **options.READING,
    **options.PREPARING,
    **options.STRUCTURE,
    **options.KERNEL,
    **options.SET,
    **options.SEED,
    **options.TALK,
}


def run(arguments: SimpleNamespace) -> None:
    """Print the table of evidence, and write the labels of the choice if a file is given."""
    from kernelclust.cli.guard import warn
    from kernelclust.cli.inputs import load
    from kernelclust.cli.models import given_options, settings
    from kernelclust.cli.outputs import check_targets, spread, write_labels

    check_targets(arguments.out, arguments.checkpoint, uses=[arguments.file])
    given = settings(arguments)
    choose = CHOICES[arguments.what](arguments, given)
    data = load(arguments)
    for doubt in data.doubts:
        warn(arguments, doubt)
    more = given_options(arguments, ("n_perturbations", "n_null", "checkpoint"))
    found = choose(data.X, verbose=int(arguments.verbose), **more, **given)
    labels = spread(found.labels_, data.rows, data.n_rows)
    best = str(found.best) if found.parameter == "structure" else found.best
    about = {"file": arguments.file, "parameter": found.parameter, "best": best, "reason": found.reason}
    summary = about | {"rows": [asdict(row) for row in found.rows], "warnings": arguments.warnings}
    names = found.best_estimator_.structure_.names
    write_labels(arguments, labels, data.roles, names, summary, text=f"{found}\n")


def _k(arguments: SimpleNamespace, given: dict[str, Any]) -> Callable[..., Any]:
    from kernelclust import select_n_clusters

    if "n_clusters" in given:
        raise ValueError("-c is what select k chooses; name candidates with --among 2-10.")
    numbers = _numbers(arguments.among or "2-10")
    return lambda X, **more: select_n_clusters(X, numbers, **more)


def _structure(arguments: SimpleNamespace, given: dict[str, Any]) -> Callable[..., Any]:
    from kernelclust import select_structure
    from kernelclust.cli.models import sized
    from kernelclust.tables import split

    if "structure" in given:
        raise ValueError("-s is what select structure chooses; name candidates with --among flat:6,ring:6.")
    for name in ("n_perturbations", "n_null", "checkpoint"):
        if getattr(arguments, name) is not None:
            option = OPTIONS[name].flag or f"--{name}"
            raise ValueError(f"{option} is for select k: structures are compared over one fit. Leave it out.")
    number = given.pop("n_clusters", None)
    structures = None if arguments.among is None else sized(split(arguments.among), number)
    return lambda X, **more: select_structure(X, structures, number, **more)


CHOICES = {"k": _k, "structure": _structure}


def _numbers(text: str) -> list[int]:
    """Read "2,3,5-8" as 2, 3, 5, 6, 7, 8."""
    from kernelclust.tables import split

    numbers: list[int] = []
    for one in split(text):
        low, dash, high = one.partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise ValueError(f"--among {text!r}: give numbers of clusters, such as 2-10 or 2,4,8.")
        numbers += range(int(low), int(high if dash else low) + 1)
    return numbers
