"""A Dask cluster that loses its workers, its scheduler or its client during a fit: the right labels or an error that
says so, and never a wait without end."""

import asyncio
import contextlib
import os
import signal
from time import monotonic, sleep

import numpy as np
import pytest

from kernelclust import StructuredClustering
from kernelclust._arrays import knows_numpy
from kernelclust.engine.holders import DaskPartitions, _partitions

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.usefixtures("few_starts"),
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not knows_numpy(), reason="needs NumPy 2 and scikit-learn 1.7"),
]
STAGES = [0, 2, 3]  # of the passes over the partitions, which are four here


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(_partitions, "MAX_IDLE_SECONDS", 1.0)
    monkeypatch.setattr(_partitions, "CHECK_SECONDS", 0.2)
    monkeypatch.setitem(
        dask.config.config, "scheduler", None
    )  # which a client sets, and does not reset where it is lost
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
    with cluster, distributed.Client(cluster, timeout=5):
        yield cluster


@pytest.fixture
def at_stage(monkeypatch):
    """`at_stage(k, fault)` lets a fault happen before pass k, and returns a list that then has an entry."""
    each = DaskPartitions.each

    def plan(stage, fault):
        passes, happened = [], []

        def disturbed(self, function, /, **options):
            if len(passes) == stage:
                fault()
                happened.append(stage)
            passes.append(function)
            return each(self, function, **options)

        monkeypatch.setattr(DaskPartitions, "each", disturbed)
        return happened

    return plan


def _fit():
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * rng.integers(0, 6, 600) / 6
    X = np.c_[np.cos(angle), np.sin(angle)] + 0.05 * rng.standard_normal((600, 2))
    model = StructuredClustering(structure="ring:6", kernel="linear", compute_confidence=False, random_state=0)
    return model.fit(da.from_array(X, chunks=(100, 2)))


def _labels():
    return np.asarray(_fit().labels_)


@pytest.mark.parametrize("stage", STAGES)
def test_a_worker_that_leaves_changes_nothing(cluster, at_stage, stage):
    expected = _labels()
    happened = at_stage(stage, lambda: cluster.sync(cluster.workers[0].close, executor_wait=False))
    assert np.array_equal(_labels(), expected)
    assert happened


@pytest.mark.parametrize("stage", STAGES)
def test_without_workers_a_fit_ends_with_an_error(cluster, at_stage, stage):
    happened = at_stage(stage, lambda: [cluster.sync(one.close) for one in list(cluster.workers.values())])
    start = monotonic()
    with pytest.raises(
        RuntimeError,
        match=r"^the Dask cluster \(0 workers\) has executed nothing for 1 seconds, with 6 of 6 tasks left",
    ):
        _fit()
    assert happened and monotonic() - start < 60


@pytest.mark.parametrize("lost", ["scheduler", "client"])
def test_without_its_scheduler_or_client_a_fit_ends_with_an_error(cluster, at_stage, lost):
    def close():
        if lost == "client":
            distributed.default_client().close()
        else:
            cluster.sync(asyncio.wait_for, cluster.scheduler.close(), 10)

    happened = at_stage(2, close)
    with pytest.raises(RuntimeError, match="Dask cluster"):
        _fit()
    assert happened


@pytest.fixture
def processes(monkeypatch):
    """A client of worker processes with nannies."""
    monkeypatch.setattr(_partitions, "MAX_IDLE_SECONDS", 30.0)
    monkeypatch.setitem(dask.config.config, "scheduler", None)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = distributed.Client(cluster)
    yield client
    client.close()
    with contextlib.suppress(Exception):  # Dask may still look for a worker that was killed
        cluster.close()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("fault", ["one killed", "all killed", "restart"])
def test_workers_that_are_killed_change_nothing(fault, processes, at_stage):
    """Worker processes without warning, in the middle of a fit; nannies start others, as a rule."""

    def disturb():
        if fault == "restart":
            return processes.restart()
        for pid in list(processes.run(os.getpid).values())[: 1 if fault == "one killed" else 2]:
            os.kill(pid, signal.SIGKILL)

    expected = _labels()
    happened = at_stage(2, disturb)
    try:
        labels = _labels()
    except RuntimeError as error:
        assert fault != "one killed" and "Dask cluster" in str(error)
    else:
        assert np.array_equal(labels, expected)
    assert happened


def test_a_long_task_is_waited_for(cluster):
    """Workers that execute something are not idle, however long it takes."""
    X = da.from_array(np.zeros((4, 2)), chunks=(2, 2))
    assert DaskPartitions(X).each(lambda X, w, y: sleep(3) or len(X)) == [2, 2]


def test_the_error_of_a_task_is_raised_as_it_is(cluster):
    def broken(X, w, y):
        raise FileNotFoundError("part 3")

    with pytest.raises(FileNotFoundError, match="part 3"):
        DaskPartitions(da.from_array(np.zeros((4, 2)), chunks=(2, 2))).each(broken)
