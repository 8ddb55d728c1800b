"""What is wrong with a file, all of it at once: where, what, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SHOWN = 20  # problems of a file that are told at once


@dataclass(frozen=True)
class Problem:
    """One of them; `option` is what the command line could be given, where that settles it."""

    where: str
    what: str
    way_out: str
    option: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.way_out}." if self.where else f"{self.what}; {self.way_out}."


class Problems(ValueError):
    """All problems of a file, a line each, and the options that would settle those that options can settle."""

    def __init__(self, source: str, problems: Sequence[Problem]):
        self.problems = list(problems)
        super().__init__("\n".join(self._lines(source)))

    def _lines(self, source: str) -> list[str]:
        if len(self.problems) == 1:
            return [f"{source}, {self.problems[0]}"]
        lines = [f"{source}, {len(self.problems)} problems:", *(f"  {one}" for one in self.problems[:SHOWN])]
        if len(self.problems) > SHOWN:
            lines.append(f"  and {len(self.problems) - SHOWN} more.")
        options = list(dict.fromkeys(one.option for one in self.problems if one.option))
        if len(options) > 1:
            lines.append(f"  To try: {' '.join(_joined(options))}")
        return lines


def _joined(options: list[str]) -> list[str]:
    """The same with all columns to drop in one option."""
    dropped = [option.removeprefix("--drop ") for option in options if option.startswith("--drop ")]
    rest = [option for option in options if not option.startswith("--drop ")]
    return [*([f"--drop {','.join(dropped)}"] if dropped else []), *rest]


def refuse(source: str, problems: Sequence[Problem]) -> None:
    """Raise what was found, if anything was."""
    if problems:
        raise Problems(source, problems)
