"""Small data whose true arrangement is known: generated here, nothing is downloaded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates
from sklearn.datasets import load_sample_image
from sklearn.utils import Bunch, check_random_state

from kernelclust._names import check_number
from kernelclust.structures import as_structure


def rotated_images(
    n_clusters: int = 10,
    *,
    per_cluster: int = 35,
    skip: int = 5,
    closed: bool = True,
    size: int = 32,
    noise: float = 0.0,
    photo: str | NDArray[Any] = "china.jpg",
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Rotate a photograph step by step; each run of steps is a cluster, with gaps between the runs.

    With a full turn (`closed`) the clusters lie on a ring, with half a turn on a chain. The defaults give a ring of
    10: 400 steps of 0.9 degrees, of which the last 5 of every 40 are left out.
    ``rotated_images(5, per_cluster=20, skip=16, closed=False)`` is a chain of 5 in steps of one degree.

    Parameters
    ----------
    n_clusters, per_cluster, skip : int
        Number of clusters, images in each, and steps left out after each.
    closed : bool, default=True
        Whether the photograph is rotated by a full turn; otherwise by half a turn.
    size : int, default=32
        Images are `size` x `size` pixels, grey, black outside the central disc, so that corners give nothing away.
    noise : float, default=0.0
        Standard deviation of Gaussian noise added inside the disc; pixels lie in [0, 1].
    photo : {"china.jpg", "flower.jpg"} or array of shape (height, width[, 3]), default="china.jpg"
        A photograph that scikit-learn brings along (reading it needs Pillow), or your own.
    random_state : int, RandomState or None
        Decides the order of the images, and the noise.

    Returns
    -------
    Bunch
        `data` (m, size * size), `images` (m, size, size), `target` (m,), `angles` in degrees (m,), `structure` (text).

    Examples
    --------
    >>> import numpy as np
    >>> turned = rotated_images(4, per_cluster=3, skip=2, photo=np.eye(40), random_state=0)
    >>> turned.structure, turned.data.shape, np.bincount(turned.target)
    ('ring:4', (12, 1024), array([3, 3, 3, 3]))
    """
    for name, value in (("n_clusters", n_clusters), ("per_cluster", per_cluster), ("size", size)):
        check_number(name, value, whole=True, least=1)
    check_number("skip", skip, whole=True)
    check_number("noise", noise)
    rng = check_random_state(random_state)
    n_steps = n_clusters * (per_cluster + skip)
    steps = np.arange(n_steps).reshape(n_clusters, -1)[:, :per_cluster]  # (c, per_cluster)
    angles = steps.ravel() * ((360.0 if closed else 180.0) / n_steps)
    target = np.repeat(np.arange(n_clusters), per_cluster)

    shuffled = rng.permutation(len(angles))
    angles, target = angles[shuffled], target[shuffled]
    images, disc = _turn(_grey(photo), angles, size)
    if noise:
        images += noise * rng.standard_normal(images.shape) * disc
    structure = f"{'ring' if closed else 'chain'}:{n_clusters}"
    return Bunch(data=images.reshape(len(images), -1), images=images, target=target, angles=angles, structure=structure)


def structured_blobs(
    structure: Any = "grid:3x3",
    *,
    n_samples: int = 300,
    n_features: int | None = None,
    noise: float = 0.3,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Draw Gaussian blobs whose centres have the structure's similarities: centre_j · centre_k = A_jk.

    Parameters
    ----------
    structure : str, Structure or array, default="grid:3x3"
        Anything that `kernelclust.structures.as_structure` takes with its size.
    n_samples : int, default=300
        Total number of samples, divided between the clusters as evenly as possible.
    n_features : int or None
        At least the number of clusters, which is the default.
    noise : float, default=0.3
        Standard deviation around the centres; neighbours on a chain are sqrt(2) apart.
    random_state : int, RandomState or None
        Decides the noise, the directions and the order of the samples.

    Returns
    -------
    Bunch
        `data` (m, n_features), `target` (m,), `centers` (c, n_features), `structure` (text).

    Examples
    --------
    >>> blobs = structured_blobs("tree:2x3", n_samples=60, random_state=0)
    >>> blobs.data.shape, blobs.structure
    ((60, 6), 'tree:2x3')
    """
    rng = check_random_state(random_state)
    structure = as_structure(structure)
    A = np.asarray(structure.kernel, dtype=float)
    c = len(A)
    n_features = c if n_features is None else n_features
    if n_features < c:
        raise ValueError(f"n_features={n_features} is too few for {c} clusters; use at least {c}.")
    if n_samples < c:
        raise ValueError(f"n_samples={n_samples} is too few for {c} clusters; use at least {c}.")
    values, vectors = np.linalg.eigh(A)
    root = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T  # one alone, whatever basis a machine finds
    directions = np.linalg.qr(rng.standard_normal((n_features, c)))[0]  # (n_features, c), orthonormal columns
    centers = root @ directions.T  # rows with inner products A
    target = rng.permutation(np.arange(n_samples) % c)
    data = centers[target] + noise * rng.standard_normal((n_samples, n_features))
    return Bunch(data=data, target=target, centers=centers, structure=str(structure))


def _grey(photo: str | NDArray[Any]) -> NDArray[np.float64]:
    """Return the photograph as a grey image with values in [0, 1]."""
    if isinstance(photo, str):
        try:
            photo = load_sample_image(photo)
        except ImportError as error:
            raise ImportError("reading the photograph needs Pillow: pip install pillow.") from error
    image = np.asarray(photo, dtype=float)
    image = image.mean(axis=2) if image.ndim == 3 else image
    low, high = image.min(), image.max()
    return (image - low) / (high - low) if high > low else np.zeros_like(image)


def _turn(image: NDArray[Any], angles: NDArray[Any], size: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the central disc of the image, turned by each angle (m, size, size), and the disc itself."""
    radius = (min(image.shape) - 1) / 2
    pixel = 2 * radius / size
    smooth = gaussian_filter(image, pixel / 2)  # no aliasing: a pixel is the mean of what lies under it
    across = (np.arange(size) - (size - 1) / 2) * pixel
    row, column = np.meshgrid(across, across, indexing="ij")
    disc = row**2 + column**2 <= radius**2
    turned = np.empty((len(angles), size, size))
    for slot, angle in zip(turned, np.deg2rad(angles), strict=True):
        rows = np.cos(angle) * row - np.sin(angle) * column + (image.shape[0] - 1) / 2
        columns = np.sin(angle) * row + np.cos(angle) * column + (image.shape[1] - 1) / 2
        slot[:] = map_coordinates(smooth, [rows, columns], order=1) * disc
    return turned, disc
