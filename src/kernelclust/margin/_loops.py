"""The compiled search over tables of two labelings into two clusters."""

from __future__ import annotations

import numpy as np

from kernelclust._compiled import compiled


@compiled
def _rise(a, p, up, down, on, off, rate):  # pragma: no cover
    """Return the rise of the value from a to a + 1 of the p samples with y' = +1 that have y = +1."""
    b, c, d = p - a, len(up) - a, len(down) - p + a
    cells = (on[a + 1] - on[a]) + (off[b - 1] - off[b]) + (off[c - 1] - off[c]) + (on[d + 1] - on[d])
    return 2 * (up[a] - down[b - 1]) - rate * cells


@compiled
def best_table(up, down, on, off, base, rate):  # pragma: no cover
    """Return (a, b) with the largest value; up, down: scores of the samples with y = +1, -1, descending.

    For every p = a + b the value is concave in a, and its maximum moves little from one p to the next: doubled steps
    from the last one, then bisection on the sign of the rise.
    """
    n_pos, n_neg = len(up), len(down)
    sum_up, sum_down = np.empty(n_pos + 1), np.empty(n_neg + 1)
    sum_up[0] = sum_down[0] = 0.0
    for i in range(n_pos):
        sum_up[i + 1] = sum_up[i] + up[i]
    for i in range(n_neg):
        sum_down[i + 1] = sum_down[i] + down[i]
    best, best_a, best_b = -np.inf, 0, 0
    a = 0
    for p in range(n_pos + n_neg + 1):
        least, most = max(0, p - n_neg), min(p, n_pos)
        a = min(max(a, least), most)
        low, high, step = least, most, 1  # the maximum is in low..high
        if a < most and _rise(a, p, up, down, on, off, rate[p]) > 0:
            low = a + 1
            while low + step < most and _rise(low + step, p, up, down, on, off, rate[p]) > 0:
                low, step = low + step + 1, 2 * step
            high = min(low + step, most)
        else:
            high = a
            while high - step >= least and _rise(high - step, p, up, down, on, off, rate[p]) <= 0:
                high, step = high - step, 2 * step
            low = max(high - step, least)
        while low < high:
            middle = (low + high) // 2
            if _rise(middle, p, up, down, on, off, rate[p]) > 0:
                low = middle + 1
            else:
                high = middle
        a = low
        b = p - a
        cells = on[a] + off[b] + off[n_pos - a] + on[n_neg - b]
        value = 2 * (sum_up[a] + sum_down[b]) + base[p] - rate[p] * cells
        if value > best:
            best, best_a, best_b = value, a, b
    return best_a, best_b
