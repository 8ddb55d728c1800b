"""A few cases of every room; `make soak` runs many more. The room of fits has test_properties.py for itself."""

import sys
from collections import Counter
from itertools import islice

import pytest
import rooms
import soak
from cases import seeded
from hypothesis import given, note, settings
from hypothesis import strategies as st
from invariants import Broken

OTHER_ROOMS = [name for name in rooms.room_names() if name != "fits"]


@pytest.mark.parametrize("name", OTHER_ROOMS)
def test_every_case_is_as_it_must_be(name):
    room = rooms.room(name)

    @settings(
        derandomize=True,
        deadline=None,
        database=None,
        print_blob=False,
        max_examples=getattr(room, "EXAMPLES", rooms.EXAMPLES),
    )
    @given(data=st.data())
    def holds(data):
        case = room.draw(lambda options: data.draw(st.sampled_from(options)))
        note(repr(case))
        assert room.check(case) in ("fitted", "refused")

    holds()


@pytest.mark.parametrize("name", rooms.room_names())
def test_a_seed_replays_its_case(name):
    room = rooms.room(name)
    first, again = (room.draw(seeded(11)) for _ in range(2))
    assert repr(first) == repr(again)
    assert all(isinstance(word, str) for word in room.covers(first))


def test_rooms_without_their_libraries_are_named_and_left_out(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "dask", None)
    monkeypatch.delitem(sys.modules, "rooms.dask_partitions", raising=False)
    assert rooms.open_rooms(["fits", "dask_partitions"]) == ["fits"]
    assert capsys.readouterr().out.startswith("room dask_partitions is left out: ")


class _Broken:
    """A room in which every third case is broken."""

    def draw(self, pick):
        return pick(range(15))

    def check(self, case):
        if case % 3 == 0:
            raise Broken("third: it is")
        return "fitted"

    def covers(self, case):
        return [f"case {case}"]


def test_the_outcome_of_a_case_names_what_broke(monkeypatch):
    monkeypatch.setattr(rooms, "room", lambda name: _Broken())
    words = [soak.outcome("any", seed) for seed in range(60)]
    for seed, (word, why, covered) in enumerate(words):
        case = _Broken().draw(seeded(seed))
        assert (word, why) == (("broken", "third: it is") if case % 3 == 0 else ("fitted", "")), (seed, case)
        assert covered == [f"case {case}"]


def test_rooms_have_as_many_cases():
    taken = list(islice(soak.turns({"a": 1, "b": 1, "late": 3}, step=2), 100))
    assert len(set(taken)) == 100
    assert Counter(name for name, _ in taken) == {"a": 34, "b": 34, "late": 32}
    assert sorted(seed for name, seed in taken if name == "late") == list(range(3, 67, 2))
