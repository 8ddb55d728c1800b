"""The labeling into two clusters that violates the margin most (eq. 18), exactly and in O(n log n)."""

from __future__ import annotations

import numpy as np

from kernelclust.margin._loops import best_table
from kernelclust.margin._losses import TableLoss, check_loss, make_loss


def most_violated(scores, labels, loss="nmi", beta: float = 1.5) -> tuple[np.ndarray, float]:
    """The labeling y' that maximises sum_i y'_i f_i + Delta(y', y), and that maximum.

    This is the most violated constraint of max-margin clustering with a multivariate loss (Zhao, Kwok and Zhang, 2009,
    eq. 18). Delta depends on y' only through the table of y' and y; the best y' with a given table takes the samples
    with the largest scores. For a given number of y' = +1 the value is concave in the table, so the n^2 tables of the
    paper need not be scanned: one sort and O(log n) steps for each number.

    Parameters
    ----------
    scores : (n,) array
        f_i.
    labels : (n,) array of -1 and +1
        y.
    loss : {"nmi", "rand", "f", "error", "adjusted_rand", "v_measure"} or object, default="nmi"
        Delta; see `kernelclust.margin.losses` for your own.
    beta : float, default=1.5
        Of "f" and "v_measure".

    Returns
    -------
    y_prime : (n,) array of -1 and +1
    value : float

    Examples
    --------
    >>> from kernelclust.margin import most_violated
    >>> y_prime, value = most_violated([0.4, 0.1, -0.2, -0.3], [1, 1, -1, -1], loss="error")
    >>> y_prime, round(value, 10)  # a flip of the second costs 0.2 of the score and gains 1/4
    (array([ 1, -1, -1, -1]), 1.05)
    """
    f = np.asarray(scores, dtype=float)
    y = np.asarray(labels)
    if f.ndim != 1 or y.shape != f.shape or not f.size:
        raise ValueError(f"scores {f.shape} and labels {y.shape}: give two arrays of one length, one entry a sample.")
    if not np.isfinite(f).all():
        raise ValueError("scores hold values that are not finite.")
    if not np.isin(y, (-1, 1)).all():
        raise ValueError("labels: give -1 and +1.")
    check_loss(loss, beta)
    table_loss = make_loss(loss, len(f), beta)
    chosen = search(f, y > 0, table_loss)
    return np.where(chosen, 1, -1), value_of(f, y > 0, chosen, table_loss)


def search(f: np.ndarray, positive: np.ndarray, loss: TableLoss) -> np.ndarray:
    """Where y' = +1, for the samples where y = +1."""
    upper, lower = np.flatnonzero(positive), np.flatnonzero(~positive)
    upper, lower = upper[np.argsort(-f[upper], kind="stable")], lower[np.argsort(-f[lower], kind="stable")]
    base, rate = loss.affine(_sizes(loss), float(loss.phi[len(upper)] + loss.phi[len(lower)]))
    a, b = best_table(f[upper], f[lower], loss.phi, loss.off, np.array(base), np.array(rate))
    chosen = np.zeros(len(f), dtype=bool)
    chosen[upper[:a]] = True
    chosen[lower[:b]] = True
    return chosen


def value_of(f: np.ndarray, positive: np.ndarray, chosen: np.ndarray, loss: TableLoss) -> float:
    """sum_i y'_i f_i + Delta(y', y)."""
    return float(np.where(chosen, f, -f).sum() + loss.of_tables(two_by_two(chosen[None], positive))[0])


def two_by_two(chosen: np.ndarray, positive: np.ndarray) -> np.ndarray:  # (k, n), (n,) -> (k, 2, 2)
    """Tables of labelings y' = +1 with y = +1, rows y'."""
    n, n_pos = len(positive), int(positive.sum())
    p, a = chosen.sum(axis=1), (chosen & positive).sum(axis=1)
    return np.array([[a, p - a], [n_pos - a, n - n_pos - p + a]]).transpose(2, 0, 1)


def scan(f: np.ndarray, positive: np.ndarray, loss: TableLoss) -> tuple[int, int, float]:
    """The paper's way and the twin of `search` in tests: all tables (a, b), and the largest value."""
    up, down = -np.sort(-f[positive]), -np.sort(-f[~positive])
    sums = np.add.outer(np.r_[0, up.cumsum()], np.r_[0, down.cumsum()])  # (n_pos + 1, n_neg + 1)
    a, b = np.ogrid[: len(up) + 1, : len(down) + 1]
    c, d = len(up) - a, len(down) - b
    base, rate = loss.affine(_sizes(loss), float(loss.phi[len(up)] + loss.phi[len(down)]))
    cells = (loss.phi[a] + loss.off[c]) + (loss.off[b] + loss.phi[d])
    values = 2 * sums - f.sum() + base[a + b] - rate[a + b] * cells
    at = np.unravel_index(int(values.argmax()), values.shape)
    return int(at[0]), int(at[1]), float(values[at])


def _sizes(loss: TableLoss) -> np.ndarray:
    """sum phi over the sizes p and n - p, for p = 0..n."""
    return loss.phi + loss.phi[::-1]
