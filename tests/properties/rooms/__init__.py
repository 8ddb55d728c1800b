"""Rooms of the soak: what random cases are drawn of, a module each, found by its name.

A room is a module of this folder with

    draw(pick) -> case       a case with a readable repr; `pick(options)` returns one of a list (see cases.py)
    check(case) -> str       "fitted" or "refused" if all is as it must be; raises Broken (invariants.py) if not
    covers(case) -> words    what the case covers, for the counts that the soak prints

and, where the defaults do not do, EXAMPLES (cases in `make test`, 5) and MAX_SECONDS (processor time of a case, 20).
`make test` runs a few cases of each room (test_rooms.py), `make soak` as many of each as there is time for, and
`python soak.py --room NAME --seed 42` replays one case. A new room is one new file here.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

EXAMPLES = 5
MAX_SECONDS = 20.0


def room_names() -> list[str]:
    """Return the names of all rooms."""
    return sorted(module.name for module in iter_modules(__path__))


def room(name: str) -> ModuleType:
    """Return the room of this name."""
    if name not in room_names():
        raise SystemExit(f"there is no room {name!r}; there are {', '.join(room_names())}.")
    return import_module(f"{__name__}.{name}")


def open_rooms(names: list[str]) -> list[str]:
    """Return the rooms whose libraries are installed, and print the names of the others."""
    opened = []
    for name in names:
        try:
            room(name)
        except ModuleNotFoundError as missing:
            print(f"room {name} is left out: {missing}", flush=True)
        else:
            opened.append(name)
    return opened
