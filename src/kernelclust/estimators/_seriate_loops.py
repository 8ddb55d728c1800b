"""The search of `seriate`, compiled: insertions and reversals that lower the banded anti-Robinson sum of an order.

The sum is

    sum over pairs at most `band` steps apart of (band + 1 - steps) d,

which is the path length for band = 1 (Earle and Hurley, 2015). Steps are counted around the circle if it is `cyclic`.

The tilt of a sample is what its distances to the `band` samples after it add up to, less those to the `band` samples
before it. A sample that goes past another changes the sum by its own tilt less that of the other, so that all places
for a sample are judged in one pass over the order.
"""

from __future__ import annotations

import numpy as np

from kernelclust._compiled import compiled

FEW = 0.002  # share of the samples; where no more of them move, a search ends


@compiled
def distance_to(D, sample, order, place, cyclic):
    """Return the distance to the sample at a place of the order, zero beyond its ends."""
    m = len(order)
    if cyclic:
        return D[sample, order[place % m]]
    return D[sample, order[place]] if 0 <= place < m else 0.0


@compiled
def tilt_at(D, order, place, band, cyclic):
    """Return the tilt of the sample at a place of the order."""
    total = 0.0
    for step in range(1, band + 1):
        total += distance_to(D, order[place], order, place + step, cyclic)
        total -= distance_to(D, order[place], order, place - step, cyclic)
    return total


@compiled
def insert(D, order, band, cyclic, reach, max_sweeps, noise):
    """Move samples to better places at most `reach` away, in their order, until few gain more than `noise`."""
    n = len(order)
    m = n - 1
    rest, tilt, tilts = np.empty(m, dtype=order.dtype), np.empty(m), np.empty(n)
    home = np.empty(m, dtype=order.dtype)  # places of the rest in the order
    near = np.zeros(m + 2 * band + 1)  # distances from the sample to rest[k], at k + band
    for _ in range(max_sweeps):
        moved = 0
        waiting = order.copy()
        for p in range(n):
            tilts[p] = tilt_at(D, order, p, band, cyclic)
        for sample in waiting:
            at = 0
            while order[at] != sample:
                at += 1
            # The order without the sample, a circle from its other side on: the sample was before rest[now].
            now = m // 2 if cyclic else at
            low, high = max(0, now - reach), min(m - cyclic, now + reach)
            first, end = max(0, low - 2 * band), min(m, high + 2 * band)
            for k in range(first, end):
                p = k + (k >= at)
                if cyclic:
                    p = (at + 1 + (k - now) % m) % n
                rest[k], tilt[k], home[k] = order[p], tilts[p], p
                near[k + band] = D[sample, rest[k]]
            for k in range(band):
                near[k] = near[k + m] if cyclic else 0.0
                near[m + band + k] = near[band + k] if cyclic else 0.0
            shift_tilts(D, near, rest, tilt, now, band, cyclic, -1.0)
            # All places: passing rest[k] changes the sum by the sample's own tilt there less that of rest[k].
            own = 0.0
            for step in range(1, band + 1):
                own += near[low + band + step] - near[low + band - step]
            change, here, best, place = 0.0, 0.0, 0.0, low
            for k in range(low, high):
                change += own - tilt[k]
                if change < best:
                    best, place = change, k + 1
                if k + 1 == now:
                    here = change
                own += near[k + 1 + 2 * band] - near[k + 1 + band] - near[k + band] + near[k]
            if best > here - noise:
                continue
            moved += 1
            shift_tilts(D, near, rest, tilt, place, band, cyclic, 1.0)
            for k in range(first, end):
                p = home[k]
                if now <= k < place:
                    p -= 1
                elif place <= k < now:
                    p += 1
                p %= n
                order[p], tilts[p] = rest[k], tilt[k]
            p = home[place - 1] if place > now else home[place]
            order[p] = sample
            tilts[p] = tilt_at(D, order, p, band, cyclic)
        if moved <= FEW * n:
            break


@compiled
def shift_tilts(D, near, rest, tilt, place, band, cyclic, sign):
    """Change the tilts of those around a place of the rest where a sample is put in (sign 1) or taken out (-1)."""
    m = len(rest)
    for step in range(1, band + 1):
        for behind in range(2):
            k = place + step - 1 if behind else place - step
            if cyclic:
                k %= m
            if 0 <= k < m:
                displaced = distance_to(D, rest[k], rest, k - band if behind else k + band, cyclic)
                tilt[k] += (-sign if behind else sign) * (near[k + band] - displaced)


@compiled
def reverse(D, order, band, cyclic, noise):
    """Reverse stretches of the order while that gains more than `noise`; return whether any did."""
    n = len(order)
    improved = False
    for i in range(n - 1):
        for j in range(i + 1, n):
            inside = j - i + 1
            outside = n - inside
            if outside < 1 or (cyclic and outside < inside):
                continue
            change = 0.0
            for away in range(1, min(band, outside) + 1):
                for into in range(min(band - away + 1, inside)):
                    weight = band + 1 - away - into
                    for side in range(2):
                        p = j + away if side else i - away
                        if not cyclic and (p < 0 or p >= n):
                            continue
                        beyond = order[p % n]
                        old, new = (j - into, i + into) if side else (i + into, j - into)
                        change += weight * (D[beyond, order[new]] - D[beyond, order[old]])
            if change < -noise:
                improved = True
                low, high = i, j
                while low < high:
                    order[low], order[high] = order[high], order[low]
                    low, high = low + 1, high - 1
    return improved
