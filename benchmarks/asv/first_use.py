"""Time that a user waits before the first result: imports, and a first fit that compiles. Each in a new process."""

import os
import subprocess
import sys
import tempfile
from time import perf_counter

FIRST_FIT = """
import numpy as np
from kernelclust import StructuredClustering
X = np.random.default_rng(0).standard_normal((200, 5))
StructuredClustering(structure="ring:4", compute_confidence=False, random_state=0).fit(X)
"""


class Import:
    def timeraw_package(self):
        return "import kernelclust"

    def timeraw_estimator(self):
        return "from kernelclust import StructuredClustering"


class FirstFit:
    timeout = 300
    unit = "s"

    def track_without_compiled_code(self):
        """Return the seconds of a process that imports, compiles everything that a fit needs, and fits."""
        with tempfile.TemporaryDirectory() as folder:
            began = perf_counter()
            subprocess.run([sys.executable, "-c", FIRST_FIT], env=os.environ | {"NUMBA_CACHE_DIR": folder}, check=True)
            return perf_counter() - began
