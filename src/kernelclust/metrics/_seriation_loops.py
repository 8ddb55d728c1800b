"""Anti-Robinson events of an order, compiled."""

from __future__ import annotations

import numpy as np

from kernelclust._compiled import compiled


@compiled
def count_events(D, order, cyclic):
    """Return how many anti-Robinson events an order has, and their deviations added up."""
    n = len(order)
    reach = (n - 1) // 2 if cyclic else n - 1
    values, merged = np.empty(reach), np.empty(reach)
    number, deviation = 0, 0.0
    for i in range(n):
        for side in range(2):
            step = 1 - 2 * side
            length = reach if cyclic else (n - 1 - i if side == 0 else i)
            for k in range(length):
                values[k] = D[order[i], order[(i + step * (k + 1)) % n]]
            found = falls(values, merged, length)
            number += found[0]
            deviation += found[1]
    return number, deviation


@compiled
def falls(values, merged, length):
    """Return how many pairs j < k have values[j] > values[k], and the sum of their differences; sorts the values."""
    number, total = 0, 0.0
    width = 1
    while width < length:
        start = 0
        while start < length:
            middle, end = min(start + width, length), min(start + 2 * width, length)
            rest = 0.0  # of the values on the left that are not merged yet
            for k in range(start, middle):
                rest += values[k]
            left, right = start, middle
            for k in range(start, end):
                if right == end or (left < middle and values[left] <= values[right]):
                    merged[k] = values[left]
                    rest -= values[left]
                    left += 1
                else:
                    merged[k] = values[right]
                    number += middle - left
                    total += rest - (middle - left) * values[right]
                    right += 1
            start = end
        for k in range(length):
            values[k] = merged[k]
        width *= 2
    return number, max(total, 0.0)
