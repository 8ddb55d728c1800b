"""select_structure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kernelclust._names import check_name, check_number
from kernelclust.engine import StructureTable, check_sought, family_or_flat, structure_of, structure_probabilities
from kernelclust.estimators import StructuredClustering
from kernelclust.selection._result import Selection, StructureRow
from kernelclust.structures import Auto, Structure, as_structure

CHOSEN = ("structure", "n_clusters")
UNSURE = 0.9  # probability below which a choice is called uncertain


def select_structure(
    X: Any,
    structures: Sequence[Any] | None = None,
    n_clusters: int | None = None,
    **params: Any,
) -> Selection:
    """Compare structures over the same clusters: probabilities of no order, chain, ring, tree, grid and hierarchy.

    Clusters are fitted once, without structure. The probabilities are those of `order_.structures`, which
    `StructuredClustering(structure="auto")` chooses by: links are scored by features of pairs of clusters, and the
    probability of a family comes from exact sums over all arrangements and from how well distances follow the best
    arrangement, with weights from simulated data. The probability of a candidate is that of its family times the
    fraction of its shape: for a tree of nodes the probability of all its labelings among branching trees (up to 8
    clusters; beyond, the shape of the best tree gets everything), for a grid that of the best arrangement of each
    shape, for a hierarchy 1 if the best one agrees with the candidate, else 0.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (m, d), or (m, m) for kernel="precomputed"
    structures : sequence of str, Structure, (c, c) array or networkx graph, optional
        Candidates with the same number of clusters, such as ["flat:5", "chain:5", graph], or names without a number,
        ["flat", "chain", "ring"], and `n_clusters`. None compares all families, each in its best arrangement.
    n_clusters : int, optional
        Number of clusters, 4 to 12; that of the candidates, or 8, if None.
    **params
        Parameters of `StructuredClustering`: kernel, random_state and so on.

    Returns
    -------
    selection : Selection
        `best`, `best_estimator_`, fitted on the chosen structure, `labels_`, `rows`, `reason`; prints as a table.
        `best_estimator_.diagnostics_.structures` is the table of families, with the probability of every link.

    Notes
    -----
    The choice is a hint, not a proof: prior knowledge about the data comes first. The probabilities refer to the
    simulated data that the weights were fitted to. Half turns of objects that look alike from opposite sides look like
    rings. Errors are more frequent with four or five clusters, with noise in a plane and with wide overlap.
    docs/selection.md reports how often the choice was correct.

    Examples
    --------
    >>> from kernelclust import select_structure
    >>> from kernelclust.datasets import structured_blobs
    >>> X = structured_blobs("ring:8", n_samples=240, noise=0.2, random_state=0).data
    >>> select_structure(X, ["flat:8", "chain:8", "ring:8"], random_state=0).best
    'ring:8'
    """
    known = StructuredClustering().get_params()
    for name in params:
        if name in CHOSEN:
            raise TypeError(f"{name} is what is being chosen; it cannot be given as well.")
        check_name("parameter", name, known)
    if n_clusters is not None:
        check_number("n_clusters", n_clusters, whole=True, least=1)
    shapes = None if structures is None else _candidates(structures, n_clusters)
    c = shapes[0].n_clusters if shapes else 8 if n_clusters is None else int(n_clusters)
    check_sought(Auto(c))
    model = StructuredClustering(structure=Auto(c, shapes or ()), **params).fit(X)
    table = model.diagnostics_.structures
    if table is None:
        raise ValueError(
            f"structures of {c} clusters cannot be compared here: a cluster is empty, or all clusters are equal."
        )
    if shapes is None:
        names = [row.name for row in table if row.name != "grid" or row.arrangement]
        shapes = [model.structure_ if i == 0 else structure_of(table, name)[0] for i, name in enumerate(names)]
        candidates: list[Any] = [_text_or_object(shape) for shape in shapes]
        p = [table[name].probability for name in names]
    else:
        candidates, p = list(structures or ()), structure_probabilities(table, shapes)
        names = [family_or_flat(shape) or "" for shape in shapes]
    rows = tuple(
        StructureRow(_called(shape, name), value, table[name].written)
        for shape, name, value in zip(shapes, names, p, strict=True)
    )
    best = int(np.argmax(p))
    model.structure = candidates[best]
    return Selection("structure", candidates[best], model, rows, tuple(candidates), _reason(rows, best, names, table))


def _candidates(structures: Any, n_clusters: int | None) -> list[Structure]:
    """Return the candidates, which are of one number of clusters and of families that are compared."""
    if isinstance(structures, str) or not isinstance(structures, Iterable):
        raise TypeError(f"structures={structures!r}: give a list, e.g. ['flat:5', 'chain:5', 'ring:5'].")
    given = list(structures)
    if len(given) < 2:
        raise ValueError(f"structures has {len(given)} candidate(s); give two or more to choose from.")
    shapes = [as_structure(one, n_clusters) for one in given]
    numbers = sorted({shape.n_clusters for shape in shapes})
    if len(numbers) > 1:
        raise ValueError(
            f"structures have {', '.join(map(str, numbers))} clusters, but probabilities compare structures over the "
            "same clusters: give candidates of one number, and choose the number first, as by select_n_clusters."
        )
    check_sought(Auto(numbers[0]))
    for shape in shapes:
        if shape.is_sought or family_or_flat(shape) is None:
            raise ValueError(
                f"structure '{shape}' cannot be compared: candidates are flat, chains, rings, trees of nodes (as a "
                "graph), grids and hierarchies, not products or other graphs."
            )
    return shapes


def _text_or_object(shape: Structure) -> Any:
    return str(shape) if shape.text_form else shape


def _called(shape: Structure, family: str) -> str:
    """Return the name of a candidate; of a tree of nodes, which has none, that of its family."""
    text = str(shape)
    return f"tree of {shape.n_clusters} nodes" if family == "tree" else "hierarchy" if len(text) > 20 else text


def _reason(rows: Sequence[StructureRow], best: int, names: Sequence[str], table: StructureTable) -> str:
    """Say what was chosen, how sure that is, and what the candidates leave out."""
    chosen = rows[best]
    said = f"{chosen.name}: probability {chosen.probability:.2f} over these clusters."
    likely = table.rows[0]
    rest = 1 - sum(row.probability for row in rows)
    if likely.name not in names:
        said += f" {likely.name} ({likely.probability:.2f}) is no candidate, and more probable." * (
            likely.probability > chosen.probability
        )
    elif rest > 1 - UNSURE:
        said += f" Structures that are no candidates have {rest:.2f}."
    if chosen.probability < UNSURE:
        said += " Below 0.9 this is uncertain."
    return f"{said} This is a hint, not a proof."
