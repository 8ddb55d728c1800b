"""Small problems are solved faster by one thread, of BLAS and of OpenMP, than by several that wait for each other."""

import pytest
from threadpoolctl import threadpool_limits

from kernelclust.solvers import greedy

threadpool_limits(limits=1)


@pytest.fixture
def few_starts(monkeypatch):
    """For tests of manners, whatever the labels: as if a default fit tried few starts."""
    monkeypatch.setattr(greedy, "AUTO_STARTS", 3)
    monkeypatch.setattr(greedy, "WIDE_STARTS", 3)
    monkeypatch.setattr(greedy, "ROUNDS", 2)
