"""Random cases of all rooms for as long as asked, in some processes: `make soak MINUTES=10`.

The rooms are the modules of rooms/, except those whose libraries are not installed; each gets the same number of
cases. A broken case is printed with the command that replays it, and the others go on.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from multiprocessing.connection import Connection, wait

import rooms
from cases import seeded
from invariants import Broken

MAX_SILENT_SECONDS = 300.0  # after which a process is given up; the first use of a compiled loop takes its time
REPORT_SECONDS = 30.0  # between lines of progress
MAX_COVERED = 40  # words of one room in the summary
WORDS = ("fitted", "refused", "broken")


def outcome(name: str, seed: int) -> tuple[str, str, list[str]]:
    """Return "fitted", "refused" or "broken", which invariant broke and how, and what the case covers."""
    room = rooms.room(name)
    case = room.draw(seeded(seed))
    limit = getattr(room, "MAX_SECONDS", rooms.MAX_SECONDS)
    covered = list(room.covers(case))
    for _ in range(2):  # a slow case has a second try: loops may have been compiled in the first
        start = time.process_time()
        try:
            found = room.check(case), ""
        except Broken as broken:
            found = "broken", str(broken)
        except Exception as error:
            found = "broken", f"{type(error).__name__}: {error}"
        took = time.process_time() - start
        if took <= limit:
            return *found, covered
    return "broken", f"in_time: {took:.0f} s", covered


def turns(seeds: Mapping[str, int], step: int) -> Iterator[tuple[str, int]]:
    """Yield rooms and seeds without end: next is the room that is behind, so that all have as many cases."""
    seeds = dict(seeds)
    while True:
        name = min(seeds, key=seeds.__getitem__)
        yield name, seeds[name]
        seeds[name] += step


def work(seeds: dict[str, int], step: int, pipe: Connection) -> None:
    """Go through cases, and send each before it is checked and once it is."""
    for name, seed in turns(seeds, step):
        pipe.send((name, seed))
        start = time.monotonic()
        pipe.send((name, seed, *outcome(name, seed), time.monotonic() - start))


class Worker:
    """A process that goes through cases, and can be replaced where it dies or hangs."""

    def __init__(self, seeds: dict[str, int], step: int):
        self.seeds, self.step = dict(seeds), step
        self.pipe, there = mp.Pipe(duplex=False)
        self.process = mp.get_context("spawn").Process(target=work, args=(self.seeds, step, there))
        self.process.start()
        there.close()  # so that the end of the process is the end of the pipe
        self.heard, self.at = time.monotonic(), ("none", 0)

    def hear(self) -> tuple | None:
        """Return the outcome that the process sends, None where it says what it goes on with."""
        try:
            said = self.pipe.recv()
        except EOFError:
            return self.lost("alive: the process died")
        self.heard = time.monotonic()
        if len(said) == 2:
            self.at = said
            self.seeds[said[0]] = said[1] + self.step
            return None
        return said

    def lost(self, why: str) -> tuple:
        seconds = time.monotonic() - self.heard
        self.end()
        return *self.at, "broken", why, [], seconds

    def end(self) -> None:
        self.process.kill()
        self.process.join()


class Tally:
    """Counts of the cases that were run, by room."""

    def __init__(self, names: list[str]):
        self.counts: dict[str, Counter] = {name: Counter() for name in names}
        self.covered: dict[str, Counter] = defaultdict(Counter)
        self.seconds: Counter = Counter()

    def add(self, name: str, seed: int, word: str, why: str, covered: list[str], seconds: float) -> None:
        self.counts[name][word] += 1
        self.covered[name].update(covered)
        self.seconds[name] += seconds
        if word == "broken":
            print(f"python tests/properties/soak.py --room {name} --seed {seed}  # {why}", flush=True)

    def total(self) -> Counter:
        return sum(self.counts.values(), Counter())

    def line(self) -> str:
        return ", ".join(f"{self.total()[word]} {word}" for word in WORDS)

    def lines(self) -> list[str]:
        """Return a table of the rooms, and what the cases of each covered."""
        table = [["room", "cases", *WORDS, "seconds"]]
        for name, count in self.counts.items():
            table.append([name, str(count.total()), *(str(count[word]) for word in WORDS), f"{self.seconds[name]:.0f}"])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
            for row in table
        ]
        for name, words in self.covered.items():
            shown = ", ".join(f"{word} {count}" for word, count in words.most_common(MAX_COVERED))
            lines.append(f"{name} covered: {shown}{', ...' if len(words) > MAX_COVERED else ''}")
        return lines


def soak(names: list[str], first: int, cases: int, minutes: float, processes: int) -> Tally:
    """Run cases of these rooms until there are so many or the time is over."""
    tally = Tally(names)
    start = told = time.monotonic()
    workers = [Worker({name: first + k for name in names}, processes) for k in range(processes)]
    while tally.total().total() < cases and time.monotonic() - start < 60 * minutes:
        ready = wait([worker.pipe for worker in workers], timeout=1)
        for k, worker in enumerate(workers):
            silent = time.monotonic() - worker.heard > MAX_SILENT_SECONDS
            if worker.pipe in ready:
                said = worker.hear()
            elif silent:
                said = worker.lost(f"in_time: not done after {MAX_SILENT_SECONDS:.0f} s")
            else:
                continue
            if said is not None:
                tally.add(*said)
            if not worker.process.is_alive():
                workers[k] = Worker(worker.seeds, worker.step)
        if time.monotonic() - told > REPORT_SECONDS:
            told = time.monotonic()
            print(f"{told - start:.0f} s: {tally.line()}", flush=True)
    for worker in workers:
        worker.end()
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--cases", type=int, default=10**9, help="stop after so many")
    parser.add_argument("--first", type=int, default=0, help="seed of the first case of each room; the next follow")
    parser.add_argument("--room", action="append", choices=rooms.room_names(), help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, help="replay one case of --room, with its traceback")
    options = parser.parse_args()
    if options.seed is not None:
        room = rooms.room((options.room or ["fits"])[0])
        case = room.draw(seeded(options.seed))
        print(case)
        print(room.check(case))
        return 0
    names = rooms.open_rooms(options.room or rooms.room_names())
    tally = soak(names, options.first, options.cases, options.minutes, options.processes)
    print(f"seeds from {options.first}: {tally.line()}", *tally.lines(), sep="\n")
    return int(tally.total()["broken"] > 0)


if __name__ == "__main__":
    sys.exit(main())
