"""The labeling into two clusters that violates the margin most (eq. 18), exactly and in O(n log n)."""

from __future__ import annotations

import numpy as np

from kernelclust._compiled import floats
from kernelclust.margin._loops import best_table
from kernelclust.margin._table_loss import TableLoss, make_loss
from kernelclust.margin._weights import SampleWeights, make_weights
from kernelclust.margin.losses import as_loss


def most_violated(scores, labels, loss="nmi", sample_weight=None) -> tuple[np.ndarray, float]:
    """Find the labeling y' that maximises sum_i s_i y'_i f_i + Delta(y', y), and that maximum; s are weights, or 1.

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
    loss : {"nmi", "rand", "f", "error", "adjusted_rand", "v_measure"} or Loss, default="nmi"
        Delta; an object such as F(beta=2.0) carries parameters. See `kernelclust.margin.losses` for your own.
    sample_weight : (n,) array, optional
        s_i above zero: a weight counts as that many copies, and y' may differ between copies. With integers the
        result is exactly that of repeated samples, while they sum to 20 000 or 20 n at most. Other weights are divided
        anywhere, and the best table is sought among 4096 or 4 n pieces of equal weight: the value is that of
        the y' returned, and less than the largest by a part in a thousand or so.

    Returns
    -------
    y_prime : (n,) array of -1 and +1
        With weights: the mean over the copies of a sample, from -1 to +1.
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
        raise ValueError(
            f"scores {f.shape} and labels {y.shape}: give two arrays of the same length, one entry per sample."
        )
    if not np.isfinite(f).all():
        raise ValueError("scores hold values that are not finite.")
    if not np.isin(y, (-1, 1)).all():
        raise ValueError("labels: give -1 and +1.")
    chosen_loss = as_loss(loss)
    weights = SampleWeights(len(f)) if sample_weight is None else make_weights(np.asarray(sample_weight, dtype=float))
    if weights.weight is not None and (weights.weight.shape != f.shape or not (weights.weight > 0).all()):
        raise ValueError("sample_weight: give one positive number for each sample.")
    table_loss = make_loss(chosen_loss, weights)
    chosen = search(f, y > 0, table_loss, weights)
    y_prime = np.where(chosen, 1, -1) if weights.weight is None else 2 * chosen / weights.weight - 1
    return y_prime, value_of(f, y > 0, chosen, table_loss, weights)


def search(f: np.ndarray, positive: np.ndarray, loss: TableLoss, weights: SampleWeights | None = None) -> np.ndarray:
    """Return where y' = +1, given where y = +1; with weights, how much of each sample has y' = +1."""
    upper, lower = np.flatnonzero(positive), np.flatnonzero(~positive)
    upper, lower = upper[np.argsort(-f[upper], kind="stable")], lower[np.argsort(-f[lower], kind="stable")]
    if weights is None or weights.weight is None:
        a, b = _best(f[upper], f[lower], loss)
        chosen = np.zeros(len(f), dtype=bool)
        chosen[upper[:a]] = True
        chosen[lower[:b]] = True
        return chosen
    ticks = _share(weights, upper, lower)
    up, down = (_Line(f, weights, order, m) for order, m in zip((upper, lower), ticks, strict=True))
    taken = np.zeros(len(f))
    for line, m in zip((up, down), _best(up.scores, down.scores, loss), strict=True):
        taken[line.order] = line.first(m)
    return taken


def _best(up: np.ndarray, down: np.ndarray, loss: TableLoss) -> tuple[int, int]:
    base, rate = loss.affine_of_sizes(len(up), len(down))
    return best_table(*map(floats, (up, down, loss.phi, loss.off, base, rate)))


def _share(weights: SampleWeights, upper: np.ndarray, lower: np.ndarray) -> tuple[int, int]:
    """Return the ticks of the samples with y = +1 and y = -1; at least one where there are samples."""
    assert weights.weight is not None
    m = round(weights.ticks * float(weights.weight[upper].sum()) / weights.total)
    m = min(max(m, int(len(upper) > 0)), weights.ticks - int(len(lower) > 0))
    return m, weights.ticks - m


class _Line:
    """Samples in descending order of their scores, laid side by side by weight and cut into m ticks."""

    def __init__(self, f: np.ndarray, weights: SampleWeights, order: np.ndarray, m: int):
        assert weights.weight is not None
        self.order, self.weight = order, weights.weight[order]
        self.ends = np.concatenate([[0.0], np.cumsum(self.weight)])
        self.cuts = np.linspace(0.0, self.ends[-1], m + 1)
        if weights.whole:
            self.scores = np.repeat(f[order], self.weight.astype(int))  # (m,) of every tick
        else:
            sums = np.concatenate([[0.0], np.cumsum(self.weight * f[order])])
            self.scores = np.diff(np.interp(self.cuts, self.ends, sums))

    def first(self, m: int) -> np.ndarray:
        """Return how much of each sample lies in the first m ticks."""
        return np.clip(self.cuts[m] - self.ends[:-1], 0.0, self.weight)


def value_of(
    f: np.ndarray, positive: np.ndarray, chosen: np.ndarray, loss: TableLoss, weights: SampleWeights | None = None
) -> float:
    """Return sum_i s_i y'_i f_i + Delta(y', y)."""
    if weights is None or weights.weight is None:
        score = float(np.where(chosen, f, -f).sum())
    else:
        score = float((2 * chosen - weights.weight) @ f)
    return score + float(loss.of_tables(two_by_two(chosen[None], positive, weights))[0])


def two_by_two(chosen: np.ndarray, positive: np.ndarray, weights: SampleWeights | None = None) -> np.ndarray:
    """Return tables (k, 2, 2) of labelings y' = +1 (k, n) with y = +1 (n,), rows y'; y' as `search` returns it."""
    if weights is None or weights.weight is None:
        n, n_pos = len(positive), int(positive.sum())
        p, a = chosen.sum(axis=1), (chosen & positive).sum(axis=1)
        return np.array([[a, p - a], [n_pos - a, n - n_pos - p + a]]).transpose(2, 0, 1)
    sides = np.column_stack([positive, ~positive]).astype(float)
    taken = chosen @ sides
    return np.stack([taken, (weights.weight @ sides) - taken], axis=1)
