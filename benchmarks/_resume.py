"""Rows of a table that takes long: those finished before are read from a file, if one is given by --resume."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import kernelclust
from kernelclust._checkpoint import Checkpoint, fingerprint


def add_resume(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--resume", metavar="FILE", help="keep finished rows in this file, and go on from there")


def finished(options: argparse.Namespace) -> Checkpoint:
    """Rows under these options and this code; a file of others is refused."""
    code = Path(kernelclust.__file__).parent
    files = [np.frombuffer(file.read_bytes(), dtype=np.uint8) for file in sorted(code.rglob("*.py"))]
    asked = {name: value for name, value in vars(options).items() if name not in ("resume", "rows")}
    return Checkpoint(options.resume, f"a table of a paper: {fingerprint(asked, files)}")
