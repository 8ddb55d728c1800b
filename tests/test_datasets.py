"""Generated data are what they say: sizes, gaps, geometry, and the same for the same seed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import sqrtm
from sklearn.metrics import pairwise_distances

from kernelclust.datasets import rotated_images, structured_blobs
from kernelclust.structures import as_structure

PHOTO = np.random.default_rng(0).random((60, 80, 3)).cumsum(axis=0).cumsum(axis=1)  # smooth and without symmetry


def test_ring_of_ten_is_the_papers_design():
    turned = rotated_images(random_state=0)
    assert turned.structure == "ring:10"
    assert turned.data.shape == (350, 1024)
    assert_array_equal(np.bincount(turned.target), np.full(10, 35))
    assert_array_equal(turned.target, turned.angles // 36)  # 40 steps of 0.9 degrees to a group
    steps = np.diff(np.sort(turned.angles))
    assert_allclose(np.unique(steps.round(9)), [0.9, 5.4])  # within a group; across a gap of 5 steps left out
    assert 360 - turned.angles.max() == pytest.approx(5.4 + turned.angles.min())  # the ring closes with the same gap


def test_chain_is_half_a_turn():
    turned = rotated_images(5, per_cluster=20, skip=16, closed=False, photo=PHOTO, random_state=0)
    assert turned.structure == "chain:5"
    assert len(turned.data) == 100
    assert turned.angles.max() < 180
    assert np.diff(np.sort(turned.angles)).max() == pytest.approx(17)


def test_a_neighbour_in_angle_is_nearest_and_the_ring_closes():
    turned = rotated_images(random_state=0)
    distance = pairwise_distances(turned.data)
    np.fill_diagonal(distance, np.inf)
    apart = np.abs(turned.angles - turned.angles[distance.argmin(axis=1)])
    assert np.minimum(apart, 360 - apart).max() < 2  # one step; nowhere does another view look more alike


def test_a_quarter_turn_is_exact():
    turned = rotated_images(4, per_cluster=1, skip=0, photo=PHOTO, size=16, random_state=0)
    images = turned.images[np.argsort(turned.angles)]
    assert_allclose(images[1], np.rot90(images[0], -1), atol=1e-9)
    assert np.abs(images[1] - images[0]).max() > 0.1


def test_corners_are_black_and_stay_so_with_noise():
    turned = rotated_images(4, per_cluster=2, skip=1, photo=PHOTO, noise=0.5, random_state=0)
    assert (turned.images[:, [0, 0, -1, -1], [0, -1, 0, -1]] == 0).all()
    clean = rotated_images(4, per_cluster=2, skip=1, photo=PHOTO, random_state=0)
    assert (turned.images - clean.images).std() == pytest.approx(0.5 * np.sqrt(np.pi / 4), rel=0.05)


@pytest.mark.parametrize(
    "make",
    [lambda seed: rotated_images(4, photo=PHOTO, random_state=seed), lambda seed: structured_blobs(random_state=seed)],
)
def test_same_seed_same_data(make):
    assert_array_equal(make(0).data, make(0).data)
    assert not np.array_equal(make(0).target, make(1).target)
    assert (np.diff(make(0).target) < 0).any()  # shuffled


@pytest.mark.parametrize("text", ["flat:4", "chain:5", "ring:6", "grid:2x3", "tree:3x3"])
def test_centres_are_as_alike_as_the_structure_says(text):
    blobs = structured_blobs(text, n_samples=40, n_features=12, noise=0, random_state=0)
    assert blobs.structure == text
    assert_allclose(blobs.centers @ blobs.centers.T, as_structure(text).kernel, atol=1e-9)
    assert_allclose(blobs.data, blobs.centers[blobs.target])
    sizes = np.bincount(blobs.target)
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("text", ["flat:4", "ring:6", "grid:3x3"])
def test_blobs_are_the_same_on_every_machine(text):
    """Eigenvectors of equal eigenvalues are any machine's own; the root of A that is symmetric is one alone."""
    c = as_structure(text).n_clusters
    blobs = structured_blobs(text, n_features=c + 2, random_state=5)
    directions = np.linalg.qr(np.random.RandomState(5).standard_normal((c + 2, c)))[0]
    assert_allclose(blobs.centers @ directions, sqrtm(as_structure(text).kernel), atol=1e-8)


@pytest.mark.parametrize("bad", [{"n_features": 3}, {"n_samples": 8}])
def test_too_little_room_is_refused(bad):
    with pytest.raises(ValueError, match="too few for 9 clusters; use at least 9"):
        structured_blobs("grid:3x3", **bad)
