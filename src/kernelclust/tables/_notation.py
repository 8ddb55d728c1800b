"""Numbers as people write them: money, percent, units, thousands separators, decimal commas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

CURRENCY = r"[^\W\d_]{0,3}[$¢£¤¥฿\u20a0-\u20cf]"
CODES = "USD EUR GBP CHF JPY CNY INR SEK NOK DKK AUD CAD NZD BRL ZAR MXN PLN CZK HUF TRY KRW SGD HKD RUB kr Rs"
POINT_CURRENCIES = frozenset(
    "$ US$ A$ C$ £ ¥ ₹ Rs USD GBP JPY INR AUD CAD NZD".split()
)  # the comma separates thousands
UNITS = frozenset(
    "% ‰ ppm ppb kg g mg µg μg ug ng lb lbs oz st t mm cm dm m km in ft yd mi nm µm μm um m2 m² m3 m³ cm2 cm² km2 km² "
    "ha l L dl dL ml mL cl µl μl gal s sec ms µs min h hr hrs d days y yr yrs years °C °F °K C F K J kJ MJ cal kcal "
    "Wh kWh MWh W kW MW GW V mV kV A mA Hz kHz MHz GHz Pa hPa kPa MPa bar mbar psi mmHg B kB KB MB GB TB km/h kmh mph "
    "m/s kg/m2 kg/m² mg/dl mg/dL mmol/l mmol/L mol/l mol/L g/l g/L g/dl g/dL bpm rpm k M bn mn mio Mio".split()
)  # of which a column may have one only
MONEY = re.compile(f"{CURRENCY}|{'|'.join(CODES.split())}")
SIGN, SPACE, APOSTROPHE = "[-+−]", " \u00a0\u2009\u202f", "'’"
CELL = re.compile(
    rf"(?P<open>\()?(?P<sign>{SIGN})?\s*(?P<before>{CURRENCY}|(?:{'|'.join(CODES.split())})\.?(?![^\W\d_]))?\s*"
    rf"(?P<inner>{SIGN})?(?P<digits>[.,]?\d(?:[\d.,{APOSTROPHE}{SPACE}]*\d)?(?:[eE][-+]?\d+)?)\s*"
    rf"(?P<after>(?:{CURRENCY}|[^\W\d_]|[%‰°])[^\W\d_²³/·^%°.]*(?:[/·^.²³%°][^\W\d_]*)*[23]?)?(?P<close>\))?"
)
READINGS = tuple((point, between) for between in ("", ",", ".", " ", "'") for point in ".," if point != between)
N_FIRST = 20  # texts by which most columns of text are told from numbers


@dataclass(frozen=True)
class Notation:
    """Notation of the numbers of a column: decimal sign, thousands separator and unit."""

    decimal: str = "."
    thousands: str = ""
    before: str = ""  # the unit in front of the number, such as $
    after: str = ""  # the unit behind it, such as kg

    @property
    def unit(self) -> str:
        return f"{self.before} {self.after}".strip()

    def number(self, text: str) -> float | None:
        """Return the number that a text writes in this notation, None for any other text.

        Examples
        --------
        >>> Notation(".", ",", before="$").number("-$33,585.50"), Notation(after="kg").number("60.7kg")
        (-33585.5, 60.7)
        """
        cell = CELL.fullmatch(text.strip())
        if cell is None or _unit_of(cell) != (self.before, self.after) or not _fits(cell, self.decimal, self.thousands):
            return None
        return _number(cell, self.decimal, self.thousands)


def notations(texts: Sequence[str], decimal: str = "") -> list[Notation]:
    """Return the notations by which all texts are numbers, one of those that give the same numbers.

    Two or more mean that the texts do not show which is right. `decimal` is the decimal sign, if it is known. Plain
    numbers, which need no notation, have none.

    Examples
    --------
    >>> notations(["$33,585", "$950"])
    [Notation(decimal='.', thousands=',', before='$', after='')]
    >>> [n.decimal for n in notations(["1.234 €", "950 €"])], notations(["1.234,5 €", "950 €"])[0].decimal
    (['.', ','], ',')
    >>> notations(["room 1"]), notations(["60 kg", "132 lb"]), notations(["1.5", "2"])
    ([], [], [])
    """
    cells = _cells(texts)
    if cells is None or len({_unit_of(cell) for cell in cells}) != 1:
        return []
    before, after = _unit_of(cells[0])
    found: dict[tuple[float, ...], Notation] = {}
    for point, between in READINGS:
        if decimal in ("", point) and all(_fits(cell, point, between) for cell in cells):
            numbers = tuple(_number(cell, point, between) for cell in cells)
            found.setdefault(numbers, Notation(point, between, before, after))
    readings = list(found.values())
    if {(one.decimal, one.thousands) for one in readings} == {(".", ","), (",", "")} and before in POINT_CURRENCIES:
        return [one for one in readings if one.decimal == "."]
    return [] if readings == [Notation()] else readings


def mixed_units(texts: Sequence[str]) -> dict[str, str]:
    """Return a text for each unit where the texts are numbers in different units, else nothing.

    Examples
    --------
    >>> mixed_units(["60.7 kg", "213 lb", "61 kg"]), mixed_units(["1 room", "2 rooms"])
    ({'kg': '60.7 kg', 'lb': '213 lb'}, {})
    """
    cells = _cells(texts)
    if cells is None:
        return {}
    units: dict[str, str] = {}
    for cell in cells:
        before, after = _unit_of(cell)
        if after and after not in UNITS and not MONEY.fullmatch(after):
            return {}
        units.setdefault(f"{before} {after}".strip(), cell.string)
    return units if len(units) > 1 else {}


def writes_number(text: str) -> bool:
    """Return True if a text is a number in some notation."""
    cell = CELL.fullmatch(text.strip())
    return cell is not None and any(_fits(cell, *reading) for reading in READINGS)


def same_unit(text: str, other: str) -> bool:
    """Return True if both texts are numbers in the same unit."""
    cells = _cells([text, other])
    return cells is not None and _unit_of(cells[0]) == _unit_of(cells[1])


def _cells(texts: Sequence[str]) -> list[re.Match[str]] | None:
    """Return the parts of every text, None if one of them is no number."""
    if not texts or not all(CELL.fullmatch(text) for text in texts[:N_FIRST]):
        return None
    cells = [cell for text in texts if (cell := CELL.fullmatch(text)) is not None]
    return cells if len(cells) == len(texts) else None


def _unit_of(cell: re.Match[str]) -> tuple[str, str]:
    return (cell["before"] or "").removesuffix("."), cell["after"] or ""


def _fits(cell: re.Match[str], decimal: str, thousands: str) -> bool:
    if (cell["open"] is None) != (cell["close"] is None):
        return False
    return _pattern(decimal, thousands).fullmatch(cell["digits"]) is not None


def _number(cell: re.Match[str], decimal: str, thousands: str) -> float:
    digits: str = cell["digits"]
    for between in _all_of(thousands):
        digits = digits.replace(between, "")
    size = float(digits.replace(decimal, "."))
    negative = cell["open"] is not None or {cell["sign"], cell["inner"]} & {"-", "−"}
    return -size if negative else size


@cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    point, between = re.escape(decimal), f"[{re.escape(_all_of(thousands))}]"
    grouped = rf"|[1-9]\d{{0,2}}(?:{between}\d{{3}})+(?:{point}\d+)?" if thousands else ""
    return re.compile(rf"(?:\d+(?:{point}\d+)?|{point}\d+{grouped})(?:[eE][-+]?\d+)?")


def _all_of(thousands: str) -> str:
    return {" ": SPACE, "'": APOSTROPHE}.get(thousands, thousands)
