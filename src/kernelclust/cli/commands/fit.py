"""Cluster the rows of a table, and write the label of each."""

from __future__ import annotations

from types import SimpleNamespace

from kernelclust.cli import options

OPTIONS = {
    **options.FILE,
    **options.OUTPUT,
    **options.READING,
    **options.PREPARING,
    **options.KNOWN,
    **options.MODEL,
    **options.TALK,
}


def run(arguments: SimpleNamespace) -> None:
    """Read, cluster, and write labels, a report and the model."""
    from kernelclust.cli.fit import run

    run(arguments)
