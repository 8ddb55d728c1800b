"""Sets with a structure that stand in for the papers' own: (kernel matrix, true places, structure)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from scipy.ndimage import shift
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.text import TfidfTransformer

from kernelclust.datasets import rotated_images
from reproduction.data import counts
from reproduction.frame import Work
from reproduction.tables._methods import gaussian

Set = tuple[np.ndarray, np.ndarray, str]
FOLDS = (4, 4, 4, 3)  # of the four structural classes: 15, as the paper has superfamilies
GROUPS = ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware", "comp.graphics", "rec.sport.baseball",
          "rec.sport.hockey", "rec.autos")  # fmt: skip
SWEEPING = (0, 2, 3)  # people of UMIST who turn from profile to front once
TURNING = (0, 1, 2, 3)  # objects of COIL that look different when turned


def scop(work: Work, views: Iterable[int]) -> Set:
    """Ten proteins of each of 15 folds in 4 classes; the mean of some of the twelve kernels, each of trace one."""
    data = work.data("proteinfold_12views")
    rng, folds = np.random.default_rng(0), [fold for k, n in enumerate(FOLDS) for fold in _folds(data, k)[:n]]
    rows = np.concatenate([rng.choice(np.flatnonzero(data["y"] == fold), 10, replace=False) for fold in folds])
    K = sum(_trace_one(data[f"X_{view}"][rows].astype(float)) for view in views)
    leaves = iter(range(sum(FOLDS)))
    tree = ",".join(f"({','.join(f'f{next(leaves)}' for _ in range(n))})" for n in FOLDS)
    return np.asarray(K), np.repeat(np.arange(len(folds)), 10), f"tree:({tree})"


def wipo(work: Work) -> Set:
    """Return 59 posts of each of six newsgroups, in the tree of their names; inner products of tf-idf."""
    data = work.data("news20_full_counts")
    names, rng = [str(name) for name in data["class_names"]], np.random.default_rng(0)
    groups = [names.index(name) for name in GROUPS]
    rows = np.concatenate([rng.choice(np.flatnonzero(data["y"] == group), 59, replace=False) for group in groups])
    X = TfidfTransformer(sublinear_tf=True).fit_transform(counts(data)[rows])
    return (X @ X.T).toarray(), np.repeat(np.arange(6), 59), "tree:(((ibm,mac),(graphics)),((baseball,hockey),(autos)))"


def face(work: Work) -> Set:
    """Three people, three groups of poses each, two thirds of every group."""
    data = work.data("umist_faces")
    parts, places = [], []
    for number, person in enumerate(SWEEPING):
        rows = np.flatnonzero(data["y"] == person)
        rows = rows[np.argsort(data["frame"][rows])]
        for place, group in enumerate(np.array_split(rows, 3)):
            kept = group[: round(2 / 3 * len(group))]
            parts.append(data["X"][kept].reshape(len(kept), -1).astype(float))
            places.append(np.full(len(kept), 3 * number + place))
    return gaussian(np.vstack(parts)), np.concatenate(places), "tree:3x3"


def teapot_ring(work: Work) -> Set:
    """A photograph turned full circle: ten groups of 35 pictures with gaps between them."""
    turned = rotated_images(per_cluster=10 if work.quick else 35, size=16 if work.quick else 32, random_state=0)
    return gaussian(turned.data), turned.target, "ring:10"


def teapot_chain(work: Work) -> Set:
    """The photograph turned by half a circle: five groups of 20 pictures with gaps between them."""
    turned = rotated_images(5, per_cluster=20, skip=16, closed=False, random_state=0)
    return gaussian(turned.data), turned.target, "chain:5"


def coil(work: Work) -> Set:
    """Four objects, three groups of eight poses each within half a turn."""
    X, places = coil_parts(work, TURNING)
    return gaussian(X), places, "flat:4*chain:3"


def coil_parts(work: Work, objects: Iterable[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the pictures of these objects (m, pixels) and their groups, three for each object."""
    data = work.data("coil20")
    parts, places = [], []
    for number, thing in enumerate(objects):
        rows = np.flatnonzero((data["y"] == thing) & (data["angle_deg"] < 180))
        rows = rows[np.argsort(data["angle_deg"][rows])]
        for place, group in enumerate(np.array_split(rows, 3)):
            parts.append(data["X"][group[2:10]].reshape(8, -1).astype(float))
            places.append(np.full(8, 3 * number + place))
    return np.vstack(parts), np.concatenate(places)


def expressions(work: Work) -> Set:
    """Made: three halves of photographs, each shifted in three directions, 20 small shifts around each."""
    photos = [load_sample_image(name).mean(axis=2)[::8, ::8] for name in ("china.jpg", "flower.jpg")]
    people, rng = [photos[0][:, :40], photos[0][:, 40:], photos[1][:, :40]], np.random.default_rng(0)
    pictures = [
        shift(person, np.array(way) + 0.5 * rng.standard_normal(2), order=1, mode="nearest").ravel()
        for person in people
        for way in ((0, 0), (6, 0), (0, 6))
        for _ in range(20)
    ]
    return gaussian(np.array(pictures)), np.repeat(np.arange(9), 20), "tree:3x3"


SETS: dict[str, Callable[[Work], Set]] = {  # of 000
    "SCOP K1": lambda work: scop(work, (1, 2, 3, 4)),
    "SCOP K2": lambda work: scop(work, (5, 6, 7, 8)),
    "SCOP K3": lambda work: scop(work, (9, 10, 11, 12)),
    "WIPO": wipo,
    "face": face,
    "teapot": teapot_ring,
}
FILES = {f"SCOP K{number}": "proteinfold_12views" for number in (1, 2, 3)} | {
    "WIPO": "news20_full_counts",
    "face": "umist_faces",
}


def shuffled(made: Set, seed: int) -> Set:
    K, y, structure = made
    order = np.random.default_rng(seed).permutation(len(y))
    return K[np.ix_(order, order)], y[order], structure


def _folds(data: dict[str, np.ndarray], number: int) -> np.ndarray:
    return np.flatnonzero(data["fold_to_class"] == number)


def _trace_one(X: np.ndarray) -> np.ndarray:
    K = X @ X.T
    return K / np.trace(K)
