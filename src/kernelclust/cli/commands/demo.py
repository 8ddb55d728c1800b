"""Arrange a turning photograph on a ring, from data that come along."""

from __future__ import annotations

from types import SimpleNamespace

from kernelclust.cli import options

OPTIONS = {
    "out": options.option(
        str, "--out", "-o", help="folder", panel=options.WRITE, default="kernelclust-demo", metavar="DIR"
    ),
    **options.TALK,
}


def run(arguments: SimpleNamespace) -> None:
    """Cluster with and without the ring, and write what came out."""
    from kernelclust.cli.demo import run

    run(arguments)
