"""``kernelclust list``: what can be named."""

from __future__ import annotations

import argparse

from kernelclust.kernels import kernel_names
from kernelclust.structures import structure_class, structure_names


def run(arguments: argparse.Namespace) -> None:
    """Print the structures with an example of each, and the kernels."""
    print("structures (--structure), each with an example:")
    for name in structure_names():
        print(f"  {name:<9} {structure_class(name).text_form}")
    print("kernels (--kernel):")
    for name in kernel_names():
        print(f"  {name}")
