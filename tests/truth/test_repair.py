"""Labelings that keep everything: found where they exist, by work that is bounded; and the loops that find them."""

import itertools
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelclust import KernelKMeans
from kernelclust.constraints import Constraints, _feasibility, _repair, _repair_loops, make_constraints
from kernelclust.constraints._repair import pack, repair, separate, settle
from kernelclust.constraints._repair_loops import (
    colour,
    count_blocked,
    mend_links,
    pack_largest,
    settle_sizes,
    shift_sizes,
)


def constraints_of(weight, c, *, pairs=(), place=None, lower=0.0, upper=np.inf):
    m = len(weight)
    i, j = np.array(pairs, dtype=int).reshape(-1, 2).T
    links = sparse.coo_array((np.ones(2 * len(i)), (np.r_[i, j], np.r_[j, i])), shape=(m, m)).tocsr()
    links.sum_duplicates()
    place = np.full(m, -1) if place is None else place
    bounds = (np.broadcast_to(np.asarray(bound, dtype=float), c).copy() for bound in (lower, upper))
    return Constraints(np.arange(m), weight, place, links, *bounds, np.zeros((m, c)))


def parted(rng, m, c, degree):
    """Cannot-links that the labeling returned keeps."""
    group = rng.integers(0, c, m)
    pairs = rng.integers(0, m, (4 * m * degree, 2))
    return pairs[group[pairs[:, 0]] != group[pairs[:, 1]]][: m * degree // 2], group


# -- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tight", [1.01, 1.001, 1.0001])
def test_tight_sizes_of_weighted_samples_are_met(tight):
    for seed in range(5):
        weight = np.random.default_rng(seed).uniform(0.5, 1.5, 24)
        known = make_constraints(weight, 4, max_size=tight * weight.sum() / 4)
        assert np.bincount(known.witness, weight).max() <= tight * weight.sum() / 4 * (1 + 1e-8)


def test_planted_sizes_of_places_are_met():
    """A size for each place, known places and links, all from one hidden labeling."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        pairs, group = parted(rng, 30, 3, 2)
        weight = rng.integers(1, 9, 30).astype(float)
        sizes = np.bincount(group, weight, minlength=3)
        labels = np.where(rng.random(30) < 0.2, group, -1)
        known = make_constraints(weight, 3, labels=labels, cannot_link=pairs, min_size=sizes, max_size=sizes)
        assert known.kept_by(known.witness)
        assert_allclose(np.bincount(known.witness, weight, minlength=3), sizes)


def test_a_fit_with_tight_sizes_is_quick_and_repeats_itself():
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((24, 3)), rng.uniform(0.5, 1.5, 24)
    model = KernelKMeans(4, max_cluster_size=1.01 * weight.sum() / 4, n_init=5, random_state=0)
    model.fit(X, sample_weight=weight)  # compiles
    start = time.perf_counter()
    labels = model.labels_
    assert_array_equal(labels, model.fit(X, sample_weight=weight).labels_)
    assert time.perf_counter() - start < 5
    assert model.sizes_.max() <= 1.01 * weight.sum() / 4 * (1 + 1e-8)


def test_a_cluster_that_is_a_little_too_large_gives_its_cheapest_block():
    constraints = constraints_of(np.ones(20), 2, upper=10.0)
    label, score = (np.arange(20) >= 11).astype(int), np.zeros((20, 2))
    score[:, 0] = label == 0
    score[7, 0] = 0.1
    assert _repair.fit_sizes(constraints, label, score)
    assert_array_equal(np.flatnonzero(label), [7, *range(11, 20)])


def test_what_cannot_be_decided_is_given_up_soon():
    """Weights that nothing divides evenly, as far as anyone can tell."""
    weight = np.random.default_rng(0).uniform(0.5, 1.5, 60)
    settle(constraints_of(weight, 5, upper=13.0), np.arange(60) % 5, np.zeros((60, 5)))  # compiles
    start = time.perf_counter()
    with pytest.raises(ValueError, match=r"could not decide within 2.5 s whether a labeling keeps all sizes.* widen"):
        make_constraints(weight, 5, max_size=weight.sum() / 5)
    assert time.perf_counter() - start < 15  # seconds of integer programming are limited; the rest is counted


def test_integer_programs_share_their_time(monkeypatch):
    asked = []

    def slow(constraints, *, sized, seconds):
        asked.append(seconds)
        time.sleep(0.05)
        if sized:
            raise _feasibility.Undecided
        return np.array([0, 1, 0, 1])

    monkeypatch.setattr(_feasibility, "exact", slow)
    monkeypatch.setattr(_feasibility, "mend_links", lambda *args: False)
    monkeypatch.setattr(_feasibility, "separate", lambda constraints, wish, score: np.zeros(4, dtype=int))
    with pytest.raises(ValueError, match="all links and sizes"):
        make_constraints(np.array([3.0, 1, 2, 1]), 2, cannot_link=[(0, 1)], max_size=3.6)
    assert len(asked) == 2 and asked[1] < asked[0] - 0.04


def test_a_search_never_solves_an_integer_program(monkeypatch):
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 1.5, 20)
    known = make_constraints(weight, 4, max_size=1.0005 * weight.sum() / 4)
    monkeypatch.setattr(_feasibility, "exact", None)
    for _ in range(20):
        labels = repair(known, rng.integers(0, 4, 20), rng.standard_normal((20, 2)))
        assert known.kept_by(labels)


def test_the_labeling_that_is_known_is_numbered_as_wished(monkeypatch):
    """Where exchanges fail, its clusters go where the wish has them, but for those of known places."""
    monkeypatch.setattr(_repair, "settle", lambda *args: False)
    weight = np.array([7.0, 5, 4, 3, 1, 2, 2, 12])
    known = make_constraints(weight, 3, labels=[-1] * 7 + [2], min_size=12, max_size=12)
    wish = np.array([1, 0, 2])[known.witness]
    E = np.eye(3)[wish]
    wish[1] = 2  # too much there
    monkeypatch.setattr(_repair, "fit_sizes", lambda *args: False)
    assert_array_equal(repair(known, wish, E), np.array([1, 0, 2])[known.witness])


def test_even_sizes_for_what_is_loose():
    weight = np.random.default_rng(0).uniform(0.5, 1.5, 200)
    label = np.zeros(200, dtype=int)
    pack(constraints_of(weight, 3, lower=[0, 0, 120.0], upper=[10.0, np.inf, np.inf]), label)
    assert_allclose(np.bincount(label, weight), [10, weight.sum() - 130, 120], atol=0.6)


# -- links ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("c", "degree"), [(3, 5), (5, 12), (5, 30)])
def test_hidden_colourings_are_found(c, degree, monkeypatch):
    """Links between hidden groups, where greed fails and an integer program is slow."""
    monkeypatch.setattr(_feasibility, "exact", None)
    failed = 0
    for seed in range(4):
        pairs, _ = parted(np.random.default_rng(seed), 400, c, degree)
        known = make_constraints(np.ones(400), c, cannot_link=pairs)
        assert known.kept_by(known.witness)
        bare = constraints_of(np.ones(400), c, pairs=pairs)
        failed += not bare.keeps_links(separate(bare, np.arange(400) % c, np.zeros((400, c))))
    assert failed


def fewest_left_first(free, wish, label, constraints, score):
    """`colour` in its own words, from the definition, every time anew."""
    c = score.shape[1]
    near = [constraints.links.indices[a:b] for a, b in itertools.pairwise(constraints.links.indptr)]
    kept = True
    for _ in free:
        waiting = [u for u in free if label[u] < 0]
        blocked = {u: np.bincount(label[near[u]][label[near[u]] >= 0], minlength=c) for u in waiting}
        u = max(waiting, key=lambda u: (np.sum(blocked[u] > 0), len(near[u])))  # the first of equals
        left = np.flatnonzero(blocked[u] == 0)
        kept &= len(left) > 0
        best = left[np.argmax(score[u, left])] if len(left) else np.argmin(blocked[u])
        label[u] = wish[u] if wish[u] in left else best
    return kept


def test_the_most_bound_block_comes_first():
    outcomes = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        pairs, _ = parted(rng, 25, 3, 4)
        known = constraints_of(np.ones(25), 3, pairs=pairs)
        wish, score = rng.integers(0, 3, 25), rng.standard_normal((25, 3))
        free = np.flatnonzero(np.diff(known.linked[0]) > 0)
        one = np.where(np.isin(np.arange(25), free), -1, wish)
        other = one.copy()
        outcomes.append(colour(free, wish, one, *known.linked, score, True))
        assert outcomes[-1] == fewest_left_first(free, wish, other, known, score)
        assert_array_equal(one, other)
    assert 0 < sum(outcomes) < 30


# -- compiled loops ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_plain_twins(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    m, c = 16, 3
    pairs, group = parted(rng, m, c, 3)
    weight = rng.uniform(0.5, 1.5, m)
    known = constraints_of(weight, c, pairs=pairs, upper=1.02 * weight.sum() / c)
    lower, upper, slack = known.lower, known.upper, known.slack
    score, free = rng.standard_normal((m, c)), np.arange(1, m)
    noise = rng.integers(0, 1 << 20, 101)
    kicks = free[rng.integers(0, m - 1, (20, 3, 2))]
    n = np.bincount(group, weight, minlength=c)
    start = rng.integers(0, c, m)
    block, target = rng.permutation(np.repeat(free, c)), np.tile(np.arange(c), m - 1)
    empty = np.where(np.arange(m) > 0, -1, 0)

    calls = [
        (count_blocked, (start, *known.linked, c), ()),
        (colour, (free, group, empty, *known.linked, score, False), (2,)),
        (colour, (free, start, empty, *known.linked, score, True), (2,)),
        (mend_links, (free, start, *known.linked, c, noise, 20_000), (1,)),
        (pack_largest, (free, start, weight, upper - n), (1, 3)),
        (shift_sizes, (block, target, False, group, weight, n, *known.linked, lower, upper, slack), (3, 5)),
        (settle_sizes, (free, group, weight, *known.linked, lower, upper, slack, score, kicks, 60), (1,)),
    ]

    def results():
        for function, arguments, _ in calls:
            arguments = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
            yield getattr(_repair_loops, function.__name__)(*arguments), arguments

    fast = list(results())
    for name, part in list(vars(_repair_loops).items()):
        if hasattr(part, "py_func"):
            monkeypatch.setattr(_repair_loops, name, part.py_func)
    for (_, _, changed), (out, compiled), (expected, simple) in zip(calls, fast, results(), strict=True):
        assert_array_equal(out, expected)
        for k in changed:
            assert_allclose(compiled[k], simple[k], rtol=1e-12)


def test_exchanges_never_break_what_they_must_keep():
    done = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        pairs, group = parted(rng, 20, 3, 2)
        weight = rng.uniform(0.5, 1.5, 20)
        place = np.where(rng.random(20) < 0.2, group, -1)
        known = constraints_of(weight, 3, pairs=pairs, place=place, upper=1.02 * weight.sum() / 3)
        label = group.copy()
        settled = settle(known, label, rng.standard_normal((20, 3)))
        assert known.keeps_links(label)
        assert settled == known.keeps_sizes(label)
        done += settled
    assert done > 20
