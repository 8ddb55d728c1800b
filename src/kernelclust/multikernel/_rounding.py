"""From an embedding to labels: weighted k-means of its rows, with what is known about samples kept."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from kernelclust.constraints import Constraints, numbered, repair
from kernelclust.multikernel._task import Relaxed, Task
from kernelclust.solvers import fill_empty, seeded_start


def unit_rows(H: np.ndarray) -> np.ndarray:
    """Rows of length one; zero rows stay."""
    norms = np.linalg.norm(H, axis=1, keepdims=True)
    return H / np.where(norms > 0, norms, 1)


def k_means(E: np.ndarray, task: Task, n_init: int) -> np.ndarray:
    """Labels of the rows, no cluster empty."""
    c = task.n_clusters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
        model = KMeans(c, n_init=n_init, random_state=task.rng)
        labels = model.fit_predict(E, sample_weight=None if task.root is None else task.weight)
    return fill_empty(labels, E, c)


def candidates(task: Task, relaxed: Relaxed, known: Constraints | None, n_init: int) -> list[np.ndarray]:
    """Labelings to go on from, the first without a look at known labels; all keep what is known."""
    E = unit_rows(relaxed.embedding)
    found = [k_means(E, task, n_init) if relaxed.labels is None else relaxed.labels]
    if known is None:
        return found
    if (known.seeds >= 0).any():
        found.append(seeded_start(E, task.weight, known.seeds, task.n_clusters, task.rng))
    return [repair(known, numbered(known, labels, E), E) for labels in found]
