"""The command line: ``kernelclust fit FILE`` and the other commands, a file each in `commands`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

NEEDED = ("typer", "rich")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 for a bug, 2 for bad input or usage, 130 when interrupted."""
    try:
        from kernelclust.cli.app import run

        return run(sys.argv[1:] if argv is None else argv)
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        what = f"the command line needs {error.name}: pip install {' '.join(NEEDED)}."
        print(f"kernelclust: error: {what}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # before the command began; later it is `guard` that answers
        print("kernelclust: interrupted", file=sys.stderr)
        return 130
