"""``kernelclust fit FOLDER``: a folder of Parquet or CSV files, never read as a whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from kernelclust import StructuredClustering
from kernelclust._files import write_files
from kernelclust.cli.guard import note, warn
from kernelclust.cli.outputs import check_targets
from kernelclust.tables import split

READERS = {".parquet": "read_parquet", ".csv": "read_csv"}
ALONE = (
    "report label_column id_column use_labels standardize model json view must_link cannot_link cyclic sample".split()
)  # options that need all rows at once


def run(arguments: SimpleNamespace, given: dict[str, Any]) -> None:
    """Fit a folder partition by partition, and write labels as they are computed."""
    asked = [name for name in ALONE if getattr(arguments, name, None)]
    if asked:
        option = asked[0].replace("_", "-")
        raise ValueError(f"--{option} needs all rows at once, which a folder may not fit; leave it out.")
    check_targets(arguments.out, uses=[arguments.file])
    frame = _read(Path(arguments.file))
    columns = split(arguments.columns) or list(frame.columns)
    columns = [name for name in columns if name not in split(arguments.drop)]
    missing = [name for name in [*columns, *split(arguments.drop)] if name not in frame.columns]
    if missing:
        raise ValueError(f"no column {missing[0]!r}; there are {', '.join(map(repr, frame.columns))}.")
    texts = [name for name in columns if frame[name].dtype.kind not in "biuf"]
    if texts:
        raise ValueError(f"columns that hold no numbers: {', '.join(map(repr, texts))}; leave them out with --drop.")
    if "kernel" not in given:
        warn(arguments, "the default kernel is made of all rows at once, which a folder may not fit: it is rbf here.")
        given = given | {"kernel": "rbf"}
    frame = frame[columns].astype(np.float32)
    model = StructuredClustering(verbose=int(arguments.verbose), **given).fit(frame)
    note(
        arguments,
        f"{int(model.sizes_.sum())} rows of {len(columns)} columns clustered into {model.structure_}: "
        f"objective {model.objective_:.6g}, at most {model.upper_bound_:.6g}",
    )
    lines = _lines(model.labels_)
    if arguments.out is None:
        sys.stdout.writelines(lines)
    else:
        write_files({arguments.out: lines})


def _read(folder: Path) -> Any:
    """Return the files of a folder as one lazy frame."""
    kinds = {kind: sorted(folder.glob(f"*{kind}")) for kind in READERS}
    found = [kind for kind, files in kinds.items() if files]
    if len(found) != 1:
        what = "neither Parquet nor CSV files" if not found else "both Parquet and CSV files"
        raise ValueError(f"{folder} holds {what} (*.parquet, *.csv); give a folder of one kind.")
    try:
        import dask.dataframe as dd
    except ImportError as error:
        raise ValueError(
            f"folders are read by dask and pyarrow: pip install 'kernelclust[dask]' pyarrow ({error})"
        ) from error
    files = [os.fspath(file) for file in kinds[found[0]]]
    return getattr(dd, READERS[found[0]])(files)


def _lines(labels: Any) -> Iterator[str]:
    """Yield a table of row numbers and labels, one block per partition."""
    yield "row,label\n"
    row = 0
    for block in labels.blocks:
        some = block.compute()
        yield "".join(f"{row + i},{label}\n" for i, label in enumerate(some.tolist()))
        row += len(some)
