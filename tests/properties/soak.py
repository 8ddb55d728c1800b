"""Random cases for as long as asked, in two processes: `make soak MINUTES=10`, or `python soak.py --seed 42` for one.

Cases and invariants are those of test_properties.py. A broken one is named with its seed, which replays it.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import sys
import time
from collections import Counter
from multiprocessing.connection import Connection, wait

from cases import draw, seeded
from invariants import Broken, check

PROCESSES = 2
SLOW = 20.0  # seconds of a processor: nothing may take longer
HUNG = 300.0  # seconds by the clock after which a process is given up; the first use of a compiled loop takes its time
EVERY = 30.0  # seconds between lines of progress


def outcome(seed: int) -> tuple[str, str]:
    """ "fitted", "refused" or "broken", and which invariant broke and how."""
    case = draw(seeded(seed))
    for _ in range(2):  # a slow case has a second try: loops may have been compiled in the first
        start = time.process_time()
        try:
            found = check(case), ""
        except Broken as broken:
            found = "broken", f"{case.estimator} {broken}"
        took = time.process_time() - start
        if took <= SLOW:
            return found
    return "broken", f"{case.estimator} in_time: {took:.0f} s"


def work(seeds: range, pipe: Connection) -> None:
    for seed in seeds:
        pipe.send((seed, *outcome(seed)))


class Worker:
    """A process that goes through seeds, and can be replaced where it hangs."""

    def __init__(self, seeds: range):
        self.seeds = seeds
        self.pipe, there = mp.Pipe(duplex=False)
        self.process = mp.get_context("spawn").Process(target=work, args=(seeds, there), daemon=True)
        self.process.start()
        self.heard = time.monotonic()

    def hear(self) -> tuple[int, str, str]:
        """What the process says next; a process that died says which seed it died of."""
        try:
            said = self.pipe.recv()
        except EOFError:
            said = (self.seeds[0], "broken", "alive: the process died")
        self.heard, self.seeds = time.monotonic(), self.seeds[1:]
        return said

    def give_up(self) -> tuple[int, str, str]:
        self.process.kill()
        self.process.join()
        return self.seeds[0], "broken", f"in_time: not done after {HUNG:.0f} s"


def soak(first: int, cases: int, minutes: float) -> Counter:
    counts: Counter = Counter()
    start = told = time.monotonic()
    workers = [Worker(range(first + k, first + cases, PROCESSES)) for k in range(PROCESSES)]

    def note(said: tuple[int, str, str]) -> None:
        seed, word, why = said
        counts[word] += 1
        if word == "broken":
            counts[why.split(":")[0].split()[-1]] += 1
            print(f"seed {seed}: {why}", flush=True)

    while workers and time.monotonic() - start < 60 * minutes:
        ready = wait([worker.pipe for worker in workers], timeout=1)
        for worker in list(workers):
            if worker.pipe in ready:
                note(worker.hear())
            elif time.monotonic() - worker.heard > HUNG:
                note(worker.give_up())
                workers[workers.index(worker)] = worker = Worker(worker.seeds[1:])
            if not worker.seeds:
                workers.remove(worker)
        if time.monotonic() - told > EVERY:
            told = time.monotonic()
            print(f"{told - start:.0f} s: {summary(counts)}", flush=True)
    for worker in workers:
        worker.process.kill()
    return counts


def summary(counts: Counter) -> str:
    broken = ", ".join(f"{counts[name]} {name}" for name in counts if name not in ("fitted", "refused", "broken"))
    words = ("fitted", "refused", "broken")
    return ", ".join(f"{counts[word]} {word}" for word in words) + (f" ({broken})" if broken else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--cases", type=int, default=10**9, help="stop after so many")
    parser.add_argument("--first", type=int, default=0, help="seed of the first case; the next follow")
    parser.add_argument("--seed", type=int, help="replay one case, with its traceback")
    options = parser.parse_args()
    if options.seed is not None:
        case = draw(seeded(options.seed))
        print(case)
        print(check(case))
        return 0
    counts = soak(options.first, options.cases, options.minutes)
    print(f"seeds from {options.first}: {summary(counts)}")
    return int(counts["broken"] > 0)


if __name__ == "__main__":
    sys.exit(main())
