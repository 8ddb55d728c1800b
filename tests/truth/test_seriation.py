"""An order of the samples: criteria by definition, optima by enumeration, symmetries, recovery of true orders."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from kernelclust import seriate
from kernelclust.metrics import anti_robinson_deviation, anti_robinson_events, path_length

rng = np.random.default_rng(0)


def random_distances(n):
    D = rng.random((n, n))
    return np.where(np.eye(n, dtype=bool), 0.0, D + D.T)


def curve(n, noise, seed, *, ring=False):
    """Samples along a curve through ten columns, shuffled, and their places on it."""
    draw = np.random.default_rng(seed)
    t = draw.random(n)
    waves = [f(2 * np.pi * k * t) / k for k in (1, 2) for f in (np.cos, np.sin)]
    basis = np.column_stack(waves if ring else [np.cos(np.pi * k * t) / k for k in (1, 2, 3)])
    X = basis @ draw.standard_normal((basis.shape[1], 10))
    return X / X.std(axis=0).mean() + noise * draw.standard_normal((n, 10)), t


def banded(D, order, band, cyclic):
    """The criterion by its definition, pair by pair."""
    n, total = len(order), 0.0
    for a in range(n):
        for b in range(a + 1, n):
            total += max(band + 1 - steps(a, b, n, cyclic), 0) * D[order[a], order[b]]
    return total


def steps(a, b, n, cyclic):
    return min(abs(b - a), n - abs(b - a)) if cyclic else abs(b - a)


# -- criteria ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("n", [2, 3, 8, 17])
def test_events_are_counted_as_they_are_defined(n, cyclic):
    D, order = random_distances(n), rng.permutation(n)
    E, number, deviation = D[np.ix_(order, order)], 0, 0.0
    for i in range(n):
        for direction in (1, -1):
            reach = (n - 1) // 2 if cyclic else (n - 1 - i if direction == 1 else i)
            side = [E[i, (i + direction * step) % n] for step in range(1, reach + 1)]
            for near in range(len(side)):
                for far in range(near + 1, len(side)):
                    number += side[near] > side[far]
                    deviation += max(side[near] - side[far], 0.0)
    assert anti_robinson_events(D, order, cyclic=cyclic) == number
    assert anti_robinson_deviation(D, order, cyclic=cyclic) == pytest.approx(deviation, abs=1e-12)
    assert path_length(D, order, cyclic=cyclic) == pytest.approx(
        banded(D, order, 1, cyclic) if n > 2 else E[0, 1] * (1 + cyclic)
    )


def test_places_on_a_line_and_on_a_circle_have_no_events():
    line = np.sort(rng.random(20))
    assert anti_robinson_events(np.abs(line[:, None] - line)) == 0
    angle = 2 * np.pi * np.arange(21) / 21
    circle = squareform(pdist(np.c_[np.cos(angle), np.sin(angle)]))
    assert anti_robinson_deviation(circle, cyclic=True) == pytest.approx(0.0, abs=1e-12)
    assert anti_robinson_events(circle) > 0


# -- optima -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize(("n", "band"), [(4, 1), (6, 2), (7, 1), (7, 2), (8, 1)])
def test_orders_of_few_samples_are_optimal(n, band, cyclic):
    D = random_distances(n)
    found = seriate(D, metric="precomputed", cyclic=cyclic, bandwidth=band)
    orders = np.array([p for p in permutations(range(n)) if (p[0] == 0 if cyclic else p[0] < p[-1])])
    weight = np.array([[max(band + 1 - steps(a, b, n, cyclic), 0) for b in range(n)] for a in range(n)])
    best = np.einsum("ab,oab->o", weight, D[orders[:, :, None], orders[:, None, :]]).min() / 2
    assert banded(D, found.order, band, cyclic) == pytest.approx(best)
    assert_array_equal(found.ranks[found.order], np.arange(n))


def test_no_sample_of_many_would_be_better_placed_elsewhere():
    """At a band of one, within the reach of the search."""
    D = squareform(pdist(curve(70, 0.3, 0)[0]))
    order = seriate(D, metric="precomputed").order
    gains = []
    for i in range(70):
        rest = np.delete(order, i)
        gains += [path_length(D, order) - path_length(D, np.insert(rest, q, order[i])) for q in range(70)]
    assert max(gains) <= 1e-9


def test_distances_on_a_line_are_put_in_order():
    for n in (3, 30, 200):
        place = rng.permutation(n).astype(float) ** 1.5
        found = seriate(place[:, None])
        assert_array_equal(np.abs(np.diff(np.argsort(np.argsort(place))[found.order])), 1)
        assert found.anti_robinson_events == 0
        assert found.path_length == pytest.approx(np.ptp(place))


# -- symmetries -------------------------------------------------------------------------------------------------------


def cut(order, at):
    """A circle from one sample on, in the direction of its smaller neighbour."""
    turned = np.roll(order, -int(np.flatnonzero(order == at)[0]))
    return turned if turned[1] < turned[-1] else np.roll(turned[::-1], 1)


@pytest.mark.parametrize("cyclic", [False, True])
def test_the_order_of_the_rows_does_not_matter_nor_do_units(cyclic):
    X, _ = curve(90, 0.2, 1, ring=cyclic)
    shuffled = rng.permutation(90)
    one, other = seriate(X, cyclic=cyclic), seriate(3.5 * X[shuffled], cyclic=cyclic)
    assert other.path_length == pytest.approx(3.5 * one.path_length)
    assert other.anti_robinson_events == one.anti_robinson_events
    again = shuffled[other.order]
    if cyclic:
        assert_array_equal(cut(again, 0), cut(one.order, 0))
        longest = pdist(X[one.order[[0, -1]]])[0]
        assert longest == pytest.approx(np.linalg.norm(np.diff(X[one.order], axis=0), axis=1).max(initial=longest))
    else:
        assert_array_equal(again if again[0] == one.order[0] else again[::-1], one.order)


def test_distances_are_as_good_as_samples():
    X, _ = curve(40, 0.2, 2)
    assert_array_equal(seriate(X).order, seriate(squareform(pdist(X)), metric="precomputed").order)


# -- true orders ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.1, 0.5, 1.0])
def test_shorter_than_optimal_leaf_ordering_and_nearer_to_the_truth(noise):
    ours, theirs = [], []
    for seed in range(8):
        X, t = curve(120, noise, seed)
        condensed = pdist(X)
        leaves = leaves_list(optimal_leaf_ordering(linkage(condensed, "average"), condensed))
        found = seriate(X, compute_confidence=False)
        assert found.path_length <= path_length(squareform(condensed), leaves)
        ours.append(abs(spearmanr(t[found.order], np.arange(120))[0]))
        theirs.append(abs(spearmanr(t[leaves], np.arange(120))[0]))
    assert np.mean(ours) > np.mean(theirs)
    assert np.mean(ours) > {0.1: 0.99, 0.5: 0.95, 1.0: 0.8}[noise]


def test_a_ring_is_closed():
    X, t = curve(150, 0.2, 0, ring=True)
    found = seriate(X, cyclic=True)
    angle = 2 * np.pi * (found.ranks / 150 - t), 2 * np.pi * (found.ranks / 150 + t)
    assert max(abs(np.exp(1j * turn).mean()) for turn in angle) > 0.95
    assert found.path_length < seriate(X).path_length + np.linalg.norm(X[found.order[0]] - X[found.order[-1]]) + 1e-9


# -- confidence -------------------------------------------------------------------------------------------------------


def test_the_confidence_falls_with_noise():
    found = [seriate(curve(120, noise, 0)[0]).confidence for noise in (0.05, 1.0, 5.0)]
    assert found[0] > 0.97 and found[0] > found[1] > found[2]
    assert seriate(rng.standard_normal((120, 20))).confidence < 0.8
    ring = [seriate(curve(120, noise, 0, ring=True)[0], cyclic=True).confidence for noise in (0.05, 2.0)]
    assert ring[0] > 0.97 > ring[1]


def test_a_few_samples_have_no_confidence():
    assert seriate(rng.random((9, 2))).confidence is None
    assert seriate(rng.random((20, 2)), compute_confidence=False).confidence is None


# -- manners ----------------------------------------------------------------------------------------------------------


def test_equal_and_repeated_samples():
    with pytest.warns(UserWarning, match="all 5 samples are equal"):
        assert_array_equal(np.sort(seriate(np.ones((5, 2))).order), np.arange(5))
    place = np.repeat(rng.permutation(12).astype(float), 4)
    assert_array_equal(np.abs(np.diff(place[seriate(place[:, None]).order])) <= 1, True)
    assert len(seriate([[1.0]]).order) == 1 and len(seriate([[1.0], [2.0]], cyclic=True).order) == 2


def test_it_prints_a_line():
    assert repr(seriate(np.arange(12.0)[:, None])).startswith(
        "<Seriation of 12 samples: path_length=11, anti_robinson_events=0, confidence="
    )


@pytest.mark.parametrize(
    ("X", "options", "says"),
    [
        (np.ones((3, 2)), {"metric": "precomputed"}, r"square matrix of distances; X has shape \(3, 2\)"),
        ([[0, 1], [2, 0]], {"metric": "precomputed"}, r"not symmetric; pass \(D \+ D.T\) / 2"),
        ([[1, 0.5], [0.5, 1]], {"metric": "precomputed"}, "turn similarities S into them"),
        ([[0, np.nan], [np.nan, 0]], {"metric": "precomputed"}, "NaN"),
        ([[0.0], [np.inf]], {}, "infinity"),
        (np.ones((2, 2, 2)), {}, "dim 3"),
        (np.ones(4), {}, r"shape \(4,\)"),
        (np.zeros((20_001, 1)), {}, "20001 samples, more than 20000"),
        ([[0.0], [1.0]], {"bandwidth": 0}, "bandwidth=0"),
    ],
)
def test_bad_input(X, options, says):
    with pytest.raises(ValueError, match=says):
        seriate(X, **options)


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3]])
def test_orders_that_are_none(order):
    with pytest.raises(ValueError, match="every sample once"):
        path_length(np.zeros((3, 3)), order)


@pytest.mark.parametrize("offset", [0.0, 1e8, 1.7e9, -1e12])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_far_from_the_origin_and_in_every_unit(offset, scale):
    """Squares of seconds since 1970 have no digits left for their differences."""
    place = np.random.default_rng(0).permutation(60)
    X = scale * (np.c_[place, np.zeros(60)] + offset)
    found = seriate(X, compute_confidence=False)
    assert abs(np.corrcoef(found.ranks, place)[0, 1]) > 0.99
    assert found.path_length == pytest.approx(59 * scale, rel=1e-2)
    X[7] += 1e9 * scale  # one sample far away
    others = np.delete(np.arange(60), 7)
    ranks = np.argsort(np.argsort(seriate(X, compute_confidence=False).ranks[others]))
    assert abs(np.corrcoef(ranks, place[others])[0, 1]) > 0.99
    with pytest.raises(ValueError, match="rescale X"):
        seriate(np.array([[1e308], [-1e308], [0.0]]))
