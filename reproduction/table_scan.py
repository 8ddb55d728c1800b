"""The search for the most violated labeling as Zhao, Kwok and Zhang (2009) describe it: a scan of all n^2 tables.

`kernelclust.margin.most_violated` finds the same without the scan; tests and benchmarks compare the two.
"""

from __future__ import annotations

import numpy as np

from kernelclust.margin._table_loss import TableLoss


def scan(f: np.ndarray, positive: np.ndarray, loss: TableLoss) -> tuple[int, int, float]:
    """Find the largest value among all tables (a, b): how many samples with y = +1 and y = -1 have y' = +1."""
    up, down = -np.sort(-f[positive]), -np.sort(-f[~positive])
    sums = np.add.outer(np.r_[0, up.cumsum()], np.r_[0, down.cumsum()])  # (n_pos + 1, n_neg + 1)
    a, b = np.ogrid[: len(up) + 1, : len(down) + 1]
    c, d = len(up) - a, len(down) - b
    base, rate = loss.affine_of_sizes(len(up), len(down))
    cells = (loss.phi[a] + loss.off[c]) + (loss.off[b] + loss.phi[d])
    values = 2 * sums - f.sum() + base[a + b] - rate[a + b] * cells
    at = np.unravel_index(int(values.argmax()), values.shape)
    return int(at[0]), int(at[1]), float(values[at])
