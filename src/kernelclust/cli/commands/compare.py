"""Fit several structures, kernels and estimators to one table, and rank them by evidence that needs no labels."""

from __future__ import annotations

from types import SimpleNamespace

from kernelclust.cli import options

OPTIONS = {
    **options.FILE,
    "structures": options.option(
        str, "--structures", "-s", help="with commas between, such as flat,chain,ring", panel=options.CLUSTER
    ),
    "kernels": options.option(
        str, "--kernels", "-k", help="with commas between, such as auto,rbf", panel=options.CLUSTER
    ),
    "estimators": options.option(str, "--estimators", "-e", help="see kernelclust list", panel=options.CLUSTER),
    "refits": options.option(
        int, "--refits", help="how often four fifths of the rows are fitted anew", panel=options.CLUSTER, default=5
    ),
    **options.JSON,
    **options.READING,
    **options.PREPARING,
    "n_clusters": options.STRUCTURE["n_clusters"],
    "gamma": options.KERNEL["gamma"],
    **options.SEED,
    **options.TALK,
}


def run(arguments: SimpleNamespace) -> None:
    """Fit every candidate, and print the table of evidence."""
    from kernelclust.cli.compare import run

    run(arguments)
