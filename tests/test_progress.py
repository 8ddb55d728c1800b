"""Long work says what it is doing; short work says nothing."""

import logging
import os
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from kernelclust import StructuredClustering, _progress, select_n_clusters
from kernelclust.solvers import Greedy

X = np.random.default_rng(0).standard_normal((40, 2))


def slowly(A, B):
    time.sleep(0.3)
    return rbf_kernel(A, B)


@pytest.fixture
def soon(monkeypatch, caplog):
    monkeypatch.setattr(_progress, "FIRST_SECONDS", 0.05)
    caplog.set_level(logging.INFO, logger="kernelclust")
    return caplog


def watching():
    return [one for one in threading.enumerate() if isinstance(one, threading.Timer) and not one.finished.is_set()]


def test_a_long_fit_says_what_it_does_and_stops_saying_it(soon):
    StructuredClustering(3, kernel=slowly, random_state=0).fit(X)
    lines = [record.getMessage() for record in soon.records]
    expected = r"StructuredClustering.fit, \d+ s: the kernel of 40 samples"
    assert any(re.match(expected, line) for line in lines)  # on a busy machine a line may come before it
    time.sleep(0.1)
    assert not watching()


def test_a_short_fit_says_nothing(caplog):
    caplog.set_level(logging.INFO, logger="kernelclust")
    StructuredClustering(3, random_state=0, solver=Greedy(n_init=1)).fit(X)
    assert not caplog.records and not watching()


def test_a_failed_fit_leaves_no_watch(soon):
    def bad(A, B):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        StructuredClustering(3, kernel=bad).fit(X)
    assert _progress._watch.depth == 0 and not watching()


def test_work_within_work_is_one(soon):
    with _progress.working("outer"):
        with _progress.working("inner"):
            time.sleep(0.12)
        assert len(watching()) == 1
    assert soon.records and all("outer" in record.getMessage() for record in soon.records)


def test_the_time_left_is_that_of_the_outermost_work():
    with _progress.working("many fits"):
        _progress.overall_progress(1, 4)
        StructuredClustering(3, random_state=0, solver=Greedy(n_init=1), compute_confidence=False).fit(X)
        assert _progress.state().fraction == 0.25
    with _progress.working("another"):
        assert _progress.state().fraction is None


def test_selection_says_which_refit_it_is_at(soon):
    select_n_clusters(X, [2, 3], kernel=slowly, n_perturbations=0, n_null=2, random_state=0)
    assert any(re.search("reference [12] of 2", record.getMessage()) for record in soon.records)


def test_no_lines_where_a_bar_is_shown(soon, monkeypatch):
    monkeypatch.setattr(_progress, "bar_is_shown", True)
    with _progress.working("it"):
        time.sleep(0.12)
    assert not soon.records


def test_intervals_grow(soon, monkeypatch):
    monkeypatch.setattr(_progress, "FIRST_SECONDS", 0.02)
    with _progress.working("it"):
        time.sleep(0.5)  # lines at 0.02, 0.06, 0.14, 0.3
    assert 2 <= len(soon.records) <= 4


SCRIPT = """
import logging, sys, time, types
package = types.ModuleType("kernelclust")  # what the package itself imports takes seconds
package.__path__ = [sys.argv[2]]
sys.modules["kernelclust"] = package
from kernelclust import _progress
_progress.FIRST_SECONDS = 0.05
if sys.argv[1] == "silent":
    logging.getLogger("kernelclust").setLevel("WARNING")
with _progress.working("it"):
    _progress.set_step("step {} of {}", 1, 2)
    time.sleep(0.3)
"""


@pytest.mark.parametrize(("how", "expected"), [("plain", "kernelclust: it, 0 s: step 1 of 2"), ("silent", "")])
def test_lines_reach_a_person_who_has_not_configured_logging(how, expected):
    line = [sys.executable, "-c", SCRIPT, how, os.path.dirname(_progress.__file__)]
    run = subprocess.run(line, capture_output=True, text=True, check=True)
    assert run.stdout == "" and run.stderr.partition("\n")[0] == expected
