"""List the structures, kernels and estimators."""

from __future__ import annotations

from types import SimpleNamespace

from kernelclust.cli import options

OPTIONS = {**options.JSON, **options.TALK}


def run(arguments: SimpleNamespace) -> None:
    """Print the structures with an example of each, the kernels and the estimators."""
    from kernelclust.cli.models import ESTIMATORS
    from kernelclust.cli.outputs import print_json
    from kernelclust.kernels import kernel_names
    from kernelclust.structures import SOUGHT, structure_class, structure_names

    examples = {name: structure_class(name).text_form for name in [*structure_names(), *SOUGHT]}
    structures = {name: example for name, example in examples.items() if example}
    if arguments.json:
        print_json({"structures": structures, "kernels": list(kernel_names()), "estimators": ESTIMATORS})
        return
    print("structures (--structure), each with an example:")
    for name, example in structures.items():
        print(f"  {name:<9} {example}")
    print("kernels (--kernel):")
    for name in kernel_names():
        print(f"  {name}")
    print("estimators (compare --estimators):")
    for name, called in ESTIMATORS.items():
        print(f"  {name:<14} {called}")
