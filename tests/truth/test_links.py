"""Links as one number a sample are the pairs that they stand for."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernelclust.constraints import make_constraints
from kernelclust.constraints._validation import check_links


def some_groups(rng, m, largest):
    """Numbers of groups with at most `largest` members, -1 for some samples; numbers far apart, in no order."""
    group = np.full(m, -1)
    members = rng.permutation(m)[: rng.integers(0, m + 1)]
    numbers = rng.choice(1000, m, replace=False)
    start = 0
    while start < len(members):
        size = int(rng.integers(1, largest + 1))
        group[members[start : start + size]] = numbers[start]
        start += size
    return group


def pairs_of(group):
    pairs = [(i, j) for i, j in itertools.combinations(range(len(group)), 2) if group[i] == group[j] >= 0]
    return np.array(pairs, dtype=int).reshape(-1, 2)


def outcome(m, c, **links):
    """Blocks, links and the labeling found; or that there is none."""
    try:
        found = make_constraints(np.ones(m), c, **links, allow_empty=True)
    except ValueError:
        return None, None, None
    return (0, 0, 0) if found is None else (found.block, found.links.toarray(), found.witness)


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        assert_array_equal(a, b)


def test_groups_are_the_pairs_they_stand_for():
    possible = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        m, c = int(rng.integers(4, 14)), int(rng.integers(2, 5))
        must, cannot = some_groups(rng, m, 3), some_groups(rng, m, c)
        groups = outcome(m, c, must_link=must, cannot_link=cannot)
        assert_same(groups, outcome(m, c, must_link=pairs_of(must), cannot_link=pairs_of(cannot)))
        assert_same(groups, outcome(m, c, must_link=must, cannot_link=pairs_of(cannot)))
        possible += groups[0] is not None
    assert 100 < possible < 190


def test_numbers_of_groups_do_not_matter():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        must, cannot = some_groups(rng, 12, 3), some_groups(rng, 12, 3)

        def renumbered(group, rng=rng):
            new = rng.permutation(1000)
            return np.where(group >= 0, new[group], -1)

        one = outcome(12, 3, must_link=must, cannot_link=cannot)
        assert_same(one, outcome(12, 3, must_link=renumbered(must), cannot_link=renumbered(cannot)))


@pytest.mark.parametrize("kind", [list, np.int8, np.uint64, np.float32, object])
def test_numbers_of_any_kind(kind):
    group = [3, 0, 3, 7, 0, 3]
    given = group if kind is list else np.array(group, dtype=kind)
    found = make_constraints(np.ones(6), 3, must_link=given)
    assert_array_equal(found.block, [0, 1, 0, 2, 1, 0])


def test_large_numbers_are_told_apart():
    """2^60 and 2^60 + 1 are one float."""
    found = make_constraints(np.ones(4), 2, must_link=np.array([2**60, 2**60 + 1, 2**60, 5]))
    assert_array_equal(found.block, [0, 1, 0, 2])


@pytest.mark.parametrize("empty", [[], (), np.empty((0, 2)), np.empty(0), [-1] * 5, np.full(5, -1.0), range(5)])
def test_no_links_in_any_form(empty):
    assert make_constraints(np.ones(5), 2, must_link=empty, cannot_link=empty) is None


def test_must_link_groups_need_few_pairs_and_cannot_link_groups_all():
    group = np.repeat([4, 1], [500, 3])
    assert len(check_links("must_link", group, 503, 3).pairs) == 499 + 2
    parted = np.repeat([4, 1, -1], [3, 3, 9])
    assert_array_equal(np.sort(check_links("cannot_link", parted, 15, 3).pairs.sum(axis=1)), [1, 2, 3, 7, 8, 9])


@pytest.mark.parametrize(
    ("match", "links"),
    [
        (r"must_link holds pairs .* or one integer per sample, shape \(6,\)", {"must_link": [0, 0, 1, 1, 2]}),
        ("the same for samples that belong together, -1 for none; got shape", {"must_link": np.zeros((6, 1))}),
        (r"must_link\[2\] = 0.5 is not the number of a group", {"must_link": [0, 0, 0.5, 1, 1, 1]}),
        (r"must_link\[5\] = nan is not the number of a group", {"must_link": [0, 0, 1, 1, 1, np.nan]}),
        (r"cannot_link\[3\] = -2 is not the number of a group", {"cannot_link": [0, 0, 1, -2, 1, -1]}),
        (r"cannot_link\[3\] = -2.0 is not the number of a group", {"cannot_link": [0.0, 0, 1, -2, 1, -1]}),
        (r"got shape \(6,\) of bool", {"cannot_link": [True, False] * 3}),
        ("must_link holds pairs .* got", {"must_link": list("abcdef")}),
        (
            r"cannot_link is 9 for 4 samples \(0, 2, 3, 5\), .* there are 3 clusters",
            {"cannot_link": [9, 1, 9, 9, 1, 9]},
        ),
        (
            "cannot_link is 7 for samples 1 and 4, but must_link joins 1 - 0 - 4",
            {"must_link": [2, 2, -1, -1, 2, -1], "cannot_link": [-1, 7, -1, -1, 7, -1]},
        ),
        (
            "samples 0 and 3 are labelled 1 and 2, but must_link joins 0 - 3",
            {"must_link": [5, -1, 5, 5, -1, -1], "labels": [1, -1, -1, 2, -1, -1]},
        ),
        (r"must_link\[1\] = \[2, 8\] .* There is no sample 8: X has 6", {"must_link": [[0, 1], [2, 8]]}),
    ],
)
def test_wrong_groups_are_refused_in_words(match, links):
    with pytest.raises(ValueError, match=match):
        make_constraints(np.ones(6), 3, **links)


def test_samples_of_weight_zero_cannot_be_parted():
    with pytest.raises(ValueError, match="cannot_link is 4 for samples 1 and 3, but sample 3 has weight zero"):
        make_constraints(np.array([1.0, 1, 1, 0, 1, 1]), 3, cannot_link=[-1, 4, -1, 4, 3, 3])
