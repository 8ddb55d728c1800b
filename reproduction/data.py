"""Data of the papers: a folder of .npz files that the reader brings. Nothing is shipped or fetched."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

Arrays = dict[str, np.ndarray]


class File(NamedTuple):
    """What a file must hold: so many samples, these numbers (see `checksum`), and where they come from."""

    n_samples: int
    checksum: str
    origin: str


UCI = "UCI Machine Learning Repository"
FILES = {
    "breastcancer_wisconsin": File(699, "e4efb8e00751", f"{UCI}: Breast Cancer Wisconsin (Original)"),
    "soybean_small": File(47, "d0dc2e3cb1b8", f"{UCI}: Soybean (Small)"),
    "vehicle": File(846, "c845e8a1e24c", f"{UCI}: Statlog (Vehicle Silhouettes)"),
    "glass": File(214, "403f0ba944cf", f"{UCI}: Glass Identification"),
    "segment": File(2310, "7714540a9d6d", f"{UCI}: Image Segmentation"),
    "usps_test": File(2007, "bec2ef9c59e2", "zip.test of Hastie, Tibshirani and Friedman's book"),
    "vowel": File(990, "6f5ebe1a20ee", f"{UCI}: Connectionist Bench (Vowel Recognition)"),
    "ionosphere": File(351, "cca0f9efd159", f"{UCI}: Ionosphere"),
    "ringnorm": File(7400, "5d1594302c03", "Breiman's ringnorm, as KEEL's set 'ring'"),
    "letter_AvB": File(1555, "288315bb4bb8", f"{UCI}: Letter Recognition, A and B"),
    "satellite_landsat": File(6435, "c548494d12c5", f"{UCI}: Statlog (Landsat Satellite)"),
    "news20_rec4_counts": File(3972, "b03951661e74", "20 Newsgroups (bydate), rec.*, word counts as CSR parts"),
    "news20_full_counts": File(18805, "922ed0f86936", "20 Newsgroups (bydate), word counts as CSR parts"),
    "mfeat_digital": File(2000, "4ebc0680a1cb", f"{UCI}: Multiple Features, six views"),
    "proteinfold_12views": File(694, "9482b448c679", "Ding and Dubchak's protein folds, twelve factors of 27 columns"),
    "flower17_features7": File(1360, "36ac4dfec75b", "Oxford Flower17 photographs, seven descriptors of our own"),
    "coil20": File(1440, "a925072292d6", "Columbia Object Image Library (COIL-20), 32 x 32"),
    "umist_faces": File(575, "e0a79dda1dae", "UMIST (Sheffield) face database, 64 x 54"),
    "protein_localization_multiloc": File(3601, "c38ce7706bc1", "MultiLoc's sequences of four locations, composition"),
}


class Data:
    """Files by name, checked before anything is computed from them."""

    def __init__(self, folder: Any = None):
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None and not self.folder.is_dir():
            raise ValueError(f"--data {self.folder}: there is no such folder.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Data) and other.folder == self.folder

    def __hash__(self) -> int:
        return hash(self.folder)

    def __call__(self, name: str) -> Arrays:
        if not self.has(name):
            raise ValueError(self.missing(name))
        return _read(str(self._path(name)))

    def has(self, name: str) -> bool:
        return self.folder is not None and self._path(name).exists()

    def missing(self, name: str) -> str:
        """What to do about a file that is not there."""
        return f"no {name}.npz ({FILES[name].origin}) in {self.folder or 'a folder given by --data DIR'}"

    def check(self, names: Iterable[str]) -> None:
        for name in sorted(set(names)):
            if self.has(name):
                self(name)

    def _path(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{name}.npz"


@lru_cache(maxsize=4)
def _read(path: str) -> Arrays:
    expected = FILES[Path(path).stem]
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, KeyError) as error:
        raise ValueError(f"{path} cannot be read ({error}); get it anew: {expected.origin}.") from error
    n = len(arrays.get("y", ()))
    if n != expected.n_samples:
        raise ValueError(f"{path} has {n} labels in 'y', not {expected.n_samples}: it is not {expected.origin}.")
    found = checksum(arrays)
    if found != expected.checksum:
        raise ValueError(
            f"{path} holds other numbers than the table is about (checksum {found}, not {expected.checksum}); "
            f"get it anew: {expected.origin}."
        )
    return arrays


def checksum(arrays: Arrays) -> str:
    """Of the samples and labels as double precision, whatever type they are stored in."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        if name in ("y", "X", "data", "indices", "indptr") or name.startswith("X_"):
            values = np.ascontiguousarray(arrays[name], dtype="<f8")
            digest.update(f"{name}{values.shape}".encode())
            digest.update(values.tobytes())
    return digest.hexdigest()[:12]


def counts(arrays: Arrays) -> csr_matrix:
    """Word counts (m x words)."""
    parts = arrays["data"].astype(float), arrays["indices"].astype(int), arrays["indptr"]
    return csr_matrix(parts, shape=tuple(arrays["shape"]))


# -- made here --------------------------------------------------------------------------------------------------------


def collinear(n: int, rng: np.random.Generator, noise: float = 0.25) -> tuple[np.ndarray, np.ndarray]:
    """Three round groups in a row."""
    y = np.arange(n) % 3
    return np.column_stack([2.0 * y, np.zeros(n)]) + noise * rng.standard_normal((n, 2)), y


def ring(n: int, rng: np.random.Generator, noise: float = 0.15, inner: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """A round group inside a ring of radius 3; the paper's claims need a group that is not a mere spot."""
    y = np.arange(n) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, n), 3.0 + noise * rng.standard_normal(n)
    outer = radius[:, None] * np.c_[np.cos(angle), np.sin(angle)]
    return np.where(y[:, None] == 1, outer, inner * rng.standard_normal((n, 2))), y


def xor(n: int, rng: np.random.Generator, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Four round groups at the corners of a square; those across the diagonal are one class."""
    corner = np.arange(n) % 4
    centres = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    return centres[corner] + noise * rng.standard_normal((n, 2)), corner // 2


def ringnorm(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Breiman's ringnorm: two normal classes of 20 columns, one four times as wide, the other beside its middle."""
    y = np.arange(n) % 2
    wide, narrow = 2 * rng.standard_normal((n, 20)), 2 / np.sqrt(20) + rng.standard_normal((n, 20))
    return np.where(y[:, None] == 0, wide, narrow), y
