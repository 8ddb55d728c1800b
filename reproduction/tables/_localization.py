"""Section 6.2 of Yang, Kwok and Lu (2010): where proteins are in the cell, from composition and a few labels.

100 proteins of each location drawn by the seed, 30 to 120 of the 400 labelled at random (every location at least once);
errors are of the others. The tree of sorting is EXT, (MIT, (CYT, NUC)), with all leaves at one depth: eq. (3.7) assumes
that all A_ii are equal. DIFFRAC knows no tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from kernelclust import Diffrac
from reproduction.frame import Work
from reproduction.tables._methods import standardized

TREE, NAMES = "tree:(((EXT)),((MIT),(CYT,NUC)))", ("EXT", "MIT", "CYT", "NUC")
FILE, LABELS = "protein_localization_multiloc", (30, 60, 90, 120)
STRUCTURES = {"DIFFRAC": "flat:4", "CLUHSIC": TREE}
WHY = (
    "The sequences of Reinhardt and Hubbard are not available. Stand-in: MultiLoc's sequences of the same four "
    "locations. CLUHSIC: the discriminative kernel of DIFFRAC with the tree."
)
ABSENT = {"prokaryotic panel": "its sequences (EXT, CYT, RIP) are not available, and nothing stands in for them"}


def errors(
    labelled: int, seed: int, work: Work, structures: Mapping[str, str] = MappingProxyType(STRUCTURES)
) -> dict[str, float]:
    """Return the share of the unlabelled samples that are wrong, by method, each of which has a structure."""
    y, free, found = _labels(labelled, seed, work, tuple(structures.items()))
    return {method: float(np.mean(labels[free] != y[free])) for method, labels in found.items()}


def recalls(labelled: int, seed: int, work: Work) -> dict[str, np.ndarray]:
    """Return the share of the unlabelled samples of each location (4,) that are right, by method."""
    y, free, found = _labels(labelled, seed, work, tuple(STRUCTURES.items()))
    return {
        method: np.array([np.mean(labels[free & (y == place)] == place) for place in range(4)])
        for method, labels in found.items()
    }


@lru_cache
def _labels(
    labelled: int, seed: int, work: Work, structures: tuple[tuple[str, str], ...]
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return the true places, which samples have no label, and the labels found by every method."""
    data, rng = work.data(FILE), np.random.default_rng(seed)
    order = [list(data["class_names"]).index(name) for name in NAMES]
    each = 25 if work.quick else 100
    rows = [rng.choice(np.flatnonzero(data["y"] == one), each, replace=False) for one in order]
    X, y = standardized(data["X"][np.concatenate(rows)]), np.repeat(np.arange(4), each)
    first = each * np.arange(4)  # one of every location, then any
    known = np.append(first, rng.permutation(np.setdiff1d(np.arange(4 * each), first)))[: labelled * each // 100]
    given = np.full(4 * each, -1)
    given[known] = y[known]
    models = {
        method: Diffrac(structure=structure, compute_confidence=False, random_state=seed)
        for method, structure in structures
    }
    return y, given < 0, {method: model.fit(X, given).labels_ for method, model in models.items()}
