"""Pairs of rows that belong together, or do not, from a file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelclust._input import quoted
from kernelclust.tables._problems import Problem, refuse
from kernelclust.tables._read import read


def read_links(path: str, ids: Sequence[str] | None, n_rows: int) -> np.ndarray:
    """Pairs (n, 2) of rows, from a file of two columns: ids of rows, or their numbers from 0 where there are no ids."""
    table = read(path, texts=("1", "2"))
    if len(table.columns) != 2:
        raise ValueError(f"{path} has {len(table.columns)} columns; a file of links has two, the ids of both rows.")
    known = _places(ids, n_rows)
    texts = [column.as_texts() for column in table.columns]
    pairs = np.array([[known.get(text.strip(), -1) for text in pair] for pair in zip(*texts, strict=True)])
    way_out = "write rows as the id column has them" if ids is not None else "count rows from 0, or add --id-column"
    unknown = [
        Problem(table.row(i), f"there is no row {quoted(texts[j][i])} among {n_rows}", way_out)
        for i, j in zip(*np.nonzero(pairs < 0), strict=True)
    ]
    refuse(path, [*table.problems, *unknown])
    return pairs


def _places(ids: Sequence[str] | None, n_rows: int) -> dict[str, int]:
    if ids is None:
        return {str(i): i for i in range(n_rows)}
    places = {text.strip(): i for i, text in enumerate(ids)}
    if len(places) < len(ids):
        twice = next(text for i, text in enumerate(ids) if places[text.strip()] != i)
        raise ValueError(f"the id {quoted(twice)} stands for several rows, so that links by id are not clear.")
    return places
