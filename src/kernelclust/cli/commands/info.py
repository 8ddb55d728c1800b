"""Show versions, threads, extras and the folder where compiled code is cached."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kernelclust.cli import options

OPTIONS = {**options.JSON, **options.TALK}

CORE = ("kernelclust", "numpy", "scipy", "scikit-learn", "numba", "daqp")
EXTRAS = {
    "cli": ("typer", "rich", "pyarrow", "h5py", "pillow"),
    "plot": ("matplotlib", "pillow"),
    "graph": ("networkx",),
    "sdp": ("cvxpy",),
    "dask": ("dask", "distributed"),
    "gpu": ("torch",),
    "anndata": ("anndata",),
}


def run(arguments: SimpleNamespace) -> None:
    """Print versions, threads, extras and the cache."""
    from kernelclust.cli.outputs import print_json

    found = gathered()
    if arguments.json:
        print_json(found)
        return
    print(f"python        {found['python']} on {found['system']}")
    for name, number in found["versions"].items():
        print(f"{name:<13} {number or 'missing'}")
    print(f"threads       {found['threads']}" + "".join(f", {k}={v}" for k, v in found["environment"].items()))
    print(
        f"compiled code {found['cache']['folder']} ({found['cache']['files']} files, {found['cache']['megabytes']} MB)"
    )
    print("extras, and the packages that each of them installs:")
    for name, packages in found["extras"].items():
        there = ", ".join(f"{package} {number or 'missing'}" for package, number in packages.items())
        print(f"  {name:<11} {there}")


def gathered() -> dict[str, Any]:
    """Return all of it, as JSON has it."""
    from kernelclust._threads import n_threads

    names = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMBA_CACHE_DIR")
    return {
        "python": sys.version.split()[0],
        "system": platform.platform(),
        "versions": {name: _version(name) for name in CORE},
        "threads": n_threads(),
        "environment": {name: os.environ[name] for name in names if name in os.environ},
        "cache": _cache(),
        "extras": {extra: {name: _version(name) for name in names} for extra, names in EXTRAS.items()},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cache() -> dict[str, Any]:
    """Return where numba caches compiled code, and how much of it."""
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parents[2])
    files = [file for file in folder.rglob("*.nb[ci]") if file.is_file()]
    return {
        "folder": str(folder),
        "files": len(files),
        "megabytes": round(sum(file.stat().st_size for file in files) / 1e6, 1),
        "writable": os.access(folder, os.W_OK),
    }
