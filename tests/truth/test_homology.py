"""Loops of points: by the ranks of boundary matrices, by formula on a circle, and invariances."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from kernelclust.engine._homology import loop_lives
from kernelclust.engine._structures import LANDMARKS, pairs_of


def on_a_circle(n, radius=1.0):
    angle = 2 * np.pi * np.arange(n) / n
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def rank_mod_2(matrix):
    matrix, rank = matrix.copy(), 0
    for column in range(matrix.shape[1]):
        rows = np.flatnonzero(matrix[rank:, column]) + rank
        if len(rows):
            matrix[[rank, rows[0]]] = matrix[[rows[0], rank]]
            below = np.flatnonzero(matrix[:, column])
            matrix[below[below != rank]] ^= matrix[rank]
            rank += 1
    return rank


def n_loops(D, size):
    """Return the number of loops of links up to a size that triangles of such links do not fill."""
    n = len(D)
    edges = [pair for pair in combinations(range(n), 2) if D[pair] <= size]
    faces = [t for t in combinations(range(n), 3) if all(D[pair] <= size for pair in combinations(t, 2))]
    ends = np.array([[v in edge for v in range(n)] for edge in edges], dtype=np.uint8).reshape(-1, n)
    sides = np.array([[set(edge) <= set(t) for edge in edges] for t in faces], dtype=np.uint8).reshape(-1, len(edges))
    return len(edges) - rank_mod_2(ends) - rank_mod_2(sides)


@pytest.mark.parametrize("seed", range(6))
def test_lives_add_up_to_the_loops_at_every_size(seed):
    """The integral of the number of loops over log size is the sum of all lives."""
    X = 0.5 * np.random.default_rng(seed).standard_normal((9, 2)) + 2 * on_a_circle(9)
    D = cdist(X, X)
    sizes = np.sort(D[np.triu_indices(9, 1)])
    total = sum(n_loops(D, low) * np.log(high / low) for low, high in pairwise(sizes))
    lives = loop_lives(D)
    assert total > 0
    assert_allclose(lives.sum(), total)
    assert len(lives) == 36 - 8 and (np.diff(lives) <= 0).all() and lives.min() >= 0


@pytest.mark.parametrize("n", [4, 5, 6, 9, 10, 30, 40])
def test_points_on_a_circle_have_one_loop_until_triangles_reach_around(n):
    """Born at the chord of one step, filled at that of a third of the circle, rounded up (Adamaszek and Adams 2017)."""
    X = on_a_circle(n, radius=3.0)
    lives = loop_lives(cdist(X, X))
    assert_allclose(lives[0], np.log(np.sin(np.pi * np.ceil(n / 3) / n) / np.sin(np.pi / n)))
    assert_allclose(lives[1:], 0, atol=1e-12)


def test_two_circles_have_two_loops_and_a_line_has_none():
    X = np.r_[on_a_circle(12), on_a_circle(9) + [10, 0]]
    lives = loop_lives(cdist(X, X))
    assert_allclose(lives[:2], [loop_lives(cdist(Z, Z))[0] for Z in (on_a_circle(12), on_a_circle(9))])
    assert lives[2] < 1e-12
    line = np.sort(np.random.default_rng(0).uniform(size=(15, 1)), axis=0)
    assert_allclose(loop_lives(cdist(line, line)), 0, atol=1e-12)


def test_units_and_order_do_not_matter_and_few_or_equal_points_have_no_loop():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 2))
    D, turn = cdist(X, X), rng.permutation(20)
    assert_allclose(loop_lives(1e-9 * D[np.ix_(turn, turn)]), loop_lives(D), atol=1e-12)
    doubled = loop_lives(cdist(np.r_[X, X], np.r_[X, X]))
    assert_allclose(doubled[doubled < 10][:5], loop_lives(D)[:5], atol=1e-6)
    assert not loop_lives(np.zeros((6, 6))).size and not loop_lives(D[:3, :3]).size


def test_a_cake_has_no_loop_and_a_ring_has_one():
    """Six sectors of a disc lie on a ring as six arcs of a circle do; only the arcs surround a hole."""
    rng = np.random.default_rng(0)
    angle = np.sort(rng.uniform(0, 2 * np.pi, 300))
    y, w = (angle * 3 / np.pi).astype(int), np.ones(300)
    rim = np.column_stack([np.cos(angle), np.sin(angle)])
    cake, ring = (
        pairs_of(r[:, None] * rim, w, y).loops for r in (np.sqrt(rng.uniform(size=300)), rng.normal(1, 0.1, 300))
    )
    assert cake[0] < 0.5 < 1 < ring[0] and ring[1] < 0.3
    few = pairs_of(rim[:: 300 // 12], w[:: 300 // 12], np.arange(12) // 2)
    assert few.loops.shape == (2,) and len(rim) // 2 > LANDMARKS


def test_samples_count_by_their_weight():
    """Samples of almost no weight do not fill the hole, nor do they move the means."""
    rng = np.random.default_rng(2)
    rim = on_a_circle(200) + 0.05 * rng.standard_normal((200, 2))
    y = np.arange(200) // 40
    X, labels = np.r_[rim, 0.5 * rng.standard_normal((40, 2))], np.r_[y, np.full(40, 4)]
    heavy, light = (pairs_of(X, np.r_[np.ones(200), np.full(40, w)], labels).loops for w in (1.0, 1e-9))
    alone = pairs_of(rim, np.ones(200), y).loops
    assert_allclose(light, alone, atol=0.1)
    assert heavy[0] < alone[0] - 0.3
