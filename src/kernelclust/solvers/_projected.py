"""Minimise a smooth function over x >= 0: limited-memory BFGS on the free variables, with projected steps.

scipy's L-BFGS-B does the same; on a few thousand variables and cheap functions its own bookkeeping costs several
times the function, which is why this exists.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]  # x -> value, gradient

MEMORY = 10
SUFFICIENT = 1e-4  # share of the predicted decrease that a step must bring
SHORTEST = 1e-10


def minimise(function: Function, x: np.ndarray, *, max_steps: int, tol: float) -> tuple[np.ndarray, int]:
    """Point where no entry of the projected gradient exceeds `tol`, or the last of `max_steps`; and the steps."""
    value, gradient = function(x)
    pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=MEMORY)
    for step in range(max_steps):
        held = (x <= 0) & (gradient > 0)
        free_gradient = np.where(held, 0.0, gradient)
        if np.abs(np.maximum(x - gradient, 0) - x).max() <= tol:
            return x, step
        direction = -_inverse_hessian_product(pairs, free_gradient)
        direction[held] = 0.0
        if not pairs or direction @ free_gradient >= 0:
            pairs.clear()
            direction = -free_gradient * (0.01 / np.abs(free_gradient).max())
        length = 1.0
        while True:
            new = np.maximum(x + length * direction, 0.0)
            new_value, new_gradient = function(new)
            if new_value <= value + SUFFICIENT * float(gradient @ (new - x)):
                break
            length *= 0.5
            if length < SHORTEST:
                return x, step
        moved, turned = new - x, new_gradient - gradient
        curvature = float(moved @ turned)
        if curvature > 1e-10 * np.sqrt(float(moved @ moved) * float(turned @ turned)):
            pairs.append((moved, turned, 1.0 / curvature))
        x, value, gradient = new, new_value, new_gradient
    return x, max_steps


def _inverse_hessian_product(pairs: deque, vector: np.ndarray) -> np.ndarray:
    """The two loops of L-BFGS."""
    q = vector.copy()
    if not pairs:
        return q
    shares = []
    for moved, turned, inverse in reversed(pairs):
        share = inverse * float(moved @ q)
        shares.append(share)
        q -= share * turned
    moved, turned, inverse = pairs[-1]
    q /= inverse * float(turned @ turned)
    for (moved, turned, inverse), share in zip(pairs, reversed(shares), strict=True):
        q += (share - inverse * float(turned @ q)) * moved
    return q
