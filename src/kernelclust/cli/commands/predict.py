"""Assign the rows of a new table to the clusters of a model that fit --model saved; columns are matched by name and
prepared as in the fit.
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Literal

from kernelclust.cli import options

OPTIONS = {
    "model": options.Argument(str, "model file written by fit --model", metavar="MODEL"),
    **options.FILE,
    **options.IDS,
    **{name: option for name, option in options.HOW.items() if name != "image_size"},
    **options.in_panel(
        options.PREPARE,
        missing=options.Option(
            Literal["error", "drop", "median"],
            "cells that are empty, NA or a text that the fit did not see (default: as in the fit)",
        ),
    ),
    **options.WRITTEN,
    **options.PER_ROW,
    **options.TALK,
}


def run(arguments: SimpleNamespace) -> None:
    """Prepare the new rows as the fitted ones were, and write their labels."""
    import kernelclust
    from kernelclust.cli.guard import note, warn
    from kernelclust.cli.inputs import read_file
    from kernelclust.cli.outputs import check_targets, formulas, spread, write_labels
    from kernelclust.cli.rows import asked_columns, predicted
    from kernelclust.tables import PICTURE_SUFFIXES, assign, prepared_like, text_columns

    arguments.image_size = None
    check_targets(arguments.out, uses=[arguments.model, arguments.file])
    if not os.path.exists(arguments.model):
        raise FileNotFoundError(f"there is no model file {arguments.model}; fit --model writes one.")
    settings = kernelclust.load_extra(arguments.model).get("preparation")
    if settings is None:
        raise ValueError(
            f"{arguments.model} does not state how cells are converted to numbers; model files of fit --model do."
        )
    model = kernelclust.load(arguments.model)
    try:
        id_column, image_size, texts = settings.get("id_column"), settings.get("image_size"), text_columns(settings)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(
            f"{arguments.model} is damaged: it does not state how cells are converted to numbers."
        ) from None
    if os.path.isdir(arguments.file) or arguments.file.lower().endswith(PICTURE_SUFFIXES):
        arguments.image_size = image_size  # pictures are resized as those of the fit
    table = read_file(arguments, arguments.file, texts=(*texts, *([id_column] if id_column else [])))
    if arguments.id_column is None and id_column in [column.name for column in table.columns]:
        arguments.id_column = id_column
    if table.matrix is not None:
        raise ValueError(f"{table.source} is a sparse matrix, and the model is of a table with columns.")
    prepared = prepared_like(table, settings, arguments.missing)
    roles = assign(table, id_column=arguments.id_column)
    if len(prepared.rows) < table.n_rows:
        note(
            arguments,
            f"{table.n_rows - len(prepared.rows)} of {table.n_rows} rows have missing values and get no label",
        )
    labels = predicted(model, prepared.X, f"assigning rows of {table.source}")
    note(arguments, f"{len(labels)} rows assigned to {len(set(labels.tolist()))} of the clusters of {model.structure_}")
    asked = asked_columns(arguments, model, prepared.X, fitted=False)
    columns = {name: spread(values, prepared.rows, table.n_rows) for name, values in asked.items()}
    if doubt := formulas(roles.ids, roles.id_name):
        warn(arguments, doubt)
    every = spread(labels, prepared.rows, table.n_rows)
    names = getattr(getattr(model, "structure_", None), "names", None)
    summary = {"model": arguments.model, "file": arguments.file, "structure": str(model.structure_)}
    write_labels(arguments, every, roles, names, summary | {"warnings": arguments.warnings}, columns=columns)
