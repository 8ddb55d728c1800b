"""Dates in columns of text: recognised by how they are written, and turned into places on a circle."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Sequence
from datetime import datetime

DAY_FIRST, MONTH_FIRST = "%d/%m/%Y", "%m/%d/%Y"
FORMATS = ("iso", "%d.%m.%Y", "%Y/%m/%d", DAY_FIRST, MONTH_FIRST)
CLOCKS = ("", " %H:%M", " %H:%M:%S")
ENOUGH = 2000  # different texts by which a column is told to be dates


def date_formats(texts: Sequence[str]) -> list[str]:
    """The ways of writing dates that fit all the texts, none where they are no dates.

    Examples
    --------
    >>> date_formats(["2024-03-01", "2024-12-24 18:30"]), date_formats(["1/2/2024"]), date_formats(["red"])
    (['iso'], ['%d/%m/%Y', '%m/%d/%Y'], [])
    """
    some = texts[:ENOUGH]
    if not some or not all(any(c.isdigit() for c in text) for text in some):
        return []
    ways = [way + clock for way in FORMATS for clock in (CLOCKS if way != "iso" else ("",))]
    return [way for way in ways if all(parse_date(text, way) is not None for text in some)]


def parse_date(text: str, way: str) -> datetime | None:
    try:
        if way != "iso":
            return datetime.strptime(text, way)
        return datetime.fromisoformat(text) if len(text) > 7 and "-" in text else None
    except ValueError:
        return None


def _year(when: datetime) -> float:
    days = 366 if calendar.isleap(when.year) else 365
    return (when.timetuple().tm_yday - 1 + _day(when)) / days


def _month(when: datetime) -> float:
    return (when.day - 1 + _day(when)) / calendar.monthrange(when.year, when.month)[1]


def _week(when: datetime) -> float:
    return (when.weekday() + _day(when)) / 7


def _day(when: datetime) -> float:
    return (when.hour + (when.minute + when.second / 60) / 60) / 24


TURNS: dict[str, Callable[[datetime], float]] = {"year": _year, "month": _month, "week": _week, "day": _day}
"""The share of a turn that has passed, by what turns."""
