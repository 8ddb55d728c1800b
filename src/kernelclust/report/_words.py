"""Sentences about a fit that claim no more than is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelclust.engine import FEW, UNSURE, is_connected, n_arrangements
from kernelclust.estimators import structures_of

SHAPES = {
    "chain": "in a row",
    "ring": "around a ring",
    "grid": "on a grid",
    "tree": "on a tree",
    "custom": "on a graph",
}
APART, TOUCHING = 0.5, 0.25  # mean silhouettes from which clusters lie apart, or touch
TESTED = 0.05  # p-value up to which there is an order of some kind
ASK = 0.8  # confidence in the order below which a few labels are worth asking for


def structure_in_words(structure: Any) -> str:
    """Return the text of a structure, "a graph of 6 clusters" for a graph or matrix, which has none."""
    text = str(structure)
    return f"a graph of {structure.n_clusters} clusters" if text.startswith("custom:") else text


def found_in_words(structure: Any, sizes: np.ndarray, what: str = "rows") -> str:
    """Say how many clusters there are, and where.

    >>> from kernelclust.structures import as_structure
    >>> found_in_words(as_structure("chain:3"), np.array([4, 5, 6]))
    '15 rows fall into 3 clusters in a row, of 4 to 6 rows each.'
    """
    used = sizes[sizes > 0]
    shape = SHAPES.get(str(structure).partition(":")[0], "")
    where = f" {shape}" if shape else "" if str(structure).startswith("flat") else f" on the structure '{structure}'"
    each = f"{used.min():.0f}" if used.min() == used.max() else f"{used.min():.0f} to {used.max():.0f}"
    text = f"{sizes.sum():.0f} {what} fall into {len(used)} clusters{where}, of {each} {what} each."
    empty = len(sizes) - len(used)
    return text + (f" {empty} of the {len(sizes)} nodes are empty." if empty else "")


def apart_in_words(silhouette: float, what: str = "rows") -> str:
    """Say how well clusters are separated, by the mean silhouette (1 is far apart, 0 is touching)."""
    if not np.isfinite(silhouette):
        return ""
    if silhouette >= APART:
        return f"The clusters lie well apart (silhouette {silhouette:.2f} of 1)."
    if silhouette >= TOUCHING:
        return (
            f"The clusters touch each other (silhouette {silhouette:.2f} of 1): {what} at borders could be in either."
        )
    return (
        f"The clusters overlap (silhouette {silhouette:.2f} of 1): read them as parts of something "
        "continuous, not as separate groups."
    )


def order_in_words(structure: Any, confidence: float | None, pvalue: float | None, *, assumed: bool = False) -> str:
    """Return a sentence about the confidence in the order; empty if it was not computed or only one order exists.

    `assumed`: structures were not compared, so that the confidence holds only if there is an order.

    Examples
    --------
    >>> from kernelclust.structures import as_structure
    >>> order_in_words(as_structure("chain:8"), 0.93, 0.01)
    "The order of the clusters on 'chain:8' is correct with an estimated probability of 93%. ..."
    """
    if confidence is None or pvalue is None:
        return ""
    number = n_arrangements(structure.kernel)
    called = "the graph" if str(structure).startswith("custom:") else f"'{structure}'"
    noise = f"Clusters without any order follow this structure at least as well in {pvalue:.0%} of draws."
    if not is_connected(structure.kernel):
        sure = "they are stable under slight changes of the data" if confidence >= UNSURE else "they are uncertain"
        return f"The nodes of the clusters on {called}: {sure}. {noise}"
    few = (
        f" Only {number:.0f} arrangements exist, so that data can hardly show which is right." if number <= FEW else ""
    )
    right = f"is correct with an estimated probability of {confidence:.0%}{', if there is one' if assumed else ''}"
    other = confidence < UNSURE and pvalue <= TESTED and not few
    both = " So there is probably an order, but it need not be this one." if other else ""
    return f"The order of the clusters on {called} {right}. {noise}{both}{few}"


def structures_in_words(model: Any) -> str:
    """Return a sentence with the probability of each kind of structure; empty if structures were not compared."""
    table = structures_of(model)
    if table is None:
        return ""
    rows = ", ".join(f"{'no order' if row.name == 'flat' else row.name} {row.probability:.2f}" for row in table)
    return f"Probabilities of structures over these clusters: {rows}. They are a hint; believe an order above 0.9."


def next_in_words(model: Any, ids: Any, what: str = "rows") -> list[str]:
    """List what is worth doing next, given what the fit found."""
    steps = []
    confidence = getattr(model, "order_confidence_", None)
    if confidence is not None and confidence < ASK:
        rows = ", ".join(str(ids[i]) for i in model.order_.queries(1 if len(ids) < 6 else 3))
        steps.append(
            f"The order is uncertain. Find out where {what} {rows} belong, and fit again with these as known labels."
        )
    if (agreement := model.diagnostics_.get("rbf_agreement")) is not None and agreement < 0.7:
        steps.append("Fit again with kernel 'rbf' and compare: it gives different clusters here.")
    if confidence is None:
        steps.append("If you know how the clusters are arranged, choose a structure (a chain, ring, grid or tree).")
    steps.append(f"Inspect the typical {what} below. Do they make sense to someone who knows the data?")
    return steps


def gap_in_words(objective: float, upper_bound: float | None, gap: float | None) -> str:
    """Return how far the objective can be from its best value.

    Examples
    --------
    >>> print(gap_in_words(9.5, 10.0, 0.05))
    The objective is 9.5, within 5.0% of its upper bound 10. This is a statement about the optimizer, ...
    """
    found = f"The objective is {objective:.6g}"
    if upper_bound is None or gap is None or not np.isfinite([upper_bound, gap]).all():
        return f"{found}. No upper bound is known for these settings."
    return (
        f"{found}, within {gap:.1%} of its upper bound {upper_bound:.6g}. This is a statement about the optimizer, not "
        "about whether the clusters are meaningful. A large gap need not mean that better clusters exist: the bound "
        "may be loose."
    )


def margin_in_words(margin: float | None) -> str:
    """Return a sentence about the score of the second best arrangement; empty if there is no other.

    Examples
    --------
    >>> margin_in_words(0.1)
    'The second best arrangement of the clusters scores 0.10 standard deviations less (over all arrangements).'
    """
    if margin is None:
        return ""
    less = f"{margin:.2f} standard deviations less (over all arrangements)"
    return f"The second best arrangement of the clusters scores {less}."


def agreement_in_words(model: Any) -> list[str]:
    """Say how well clusters of other kernels agree with these."""
    said = {
        "view_agreement": "Kernels of raw, standardised and row-scaled columns agree to {:.2f} of 1.",
        "rbf_agreement": "Clusters by an rbf kernel agree with these to {:.2f} of 1.",
    }
    values = {name: model.diagnostics_.get(name) for name in said}
    return [said[name].format(value) for name, value in values.items() if value is not None]
