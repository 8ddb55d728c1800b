"""Random data sets of many kinds with a known structure: what the evidence about structures is trained and tested on.

`draw(rng)` returns a `Draw`: samples X, true clusters y (None for a cloud without clusters), the family, the kind of
data set and the true links. A kind is how the data came about (a Gaussian process curve, counts of genes, a picture of
a bump that moves, ...); leaving kinds out of the training shows what happens to data that nobody thought of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from sklearn.feature_extraction.text import TfidfTransformer

FAMILIES = {"flat": 0.32, "chain": 0.19, "ring": 0.15, "tree": 0.15, "grid": 0.07, "hierarchy": 0.12}
GRIDS = {6: (2,), 8: (2,), 9: (3,), 10: (2,), 12: (2, 3)}  # rows of the grids of so many clusters

Rng = np.random.Generator
Links = list[tuple[int, int]]


class Draw(NamedTuple):
    """A data set. `links` (c, c) are the true neighbours, None where there are none."""

    X: np.ndarray | csr_array
    y: np.ndarray | None
    n_clusters: int
    family: str
    kind: str
    links: np.ndarray | None


class Latent(NamedTuple):
    """Positions Z (m, r) of samples before noise; `links` between the clusters."""

    Z: np.ndarray
    links: Links | None
    kind: str


def draw(rng: Rng, family: str | None = None) -> Draw:
    """Return a random data set, of a random family unless one is given."""
    while True:
        name = family or str(rng.choice(list(FAMILIES), p=list(FAMILIES.values())))
        c = int(rng.choice(list(GRIDS)) if name == "grid" else rng.integers(4, 13))
        found = _cloud(rng, c) if name == "flat" and rng.random() < 0.2 else _clusters(rng, name, c)
        if found is not None:
            return found


def _clusters(rng: Rng, family: str, c: int) -> Draw | None:
    y = _sizes(rng, c)
    gap = rng.choice([0.0, 0.3, 0.6, 1.0], p=[0.4, 0.2, 0.15, 0.25])  # between clusters along a curve
    within = rng.uniform(gap / 2, 1 - gap / 2, (len(y), 2)) if gap < 1 else np.full((len(y), 2), 0.5)
    latent = LATENT[family](rng, y, c, within)
    if latent is None:
        return None
    Z, links, kind = latent
    if links is not None and rng.random() < 0.12:
        Z, kind = _saturating(rng, links, c)[y], f"saturating {family}"
    linked = None if links is None else _matrix(links, c)
    means = np.stack([Z[y == j].mean(axis=0) for j in range(c)])
    D = np.linalg.norm(means[:, None] - means, axis=2) + np.diag(np.full(c, np.inf))
    step = float(np.median(D.min(axis=1) if linked is None else D[linked]))
    if D.min() < (0.15 if linked is None else 0.35) * step:
        return None  # clusters that coincide, curves that come back upon themselves
    transform = rng.random()
    if transform < 0.12 and kind != "bump":
        return Draw(_counts(rng, Z / step), y, c, family, f"counts {family}", linked)
    if transform < 0.2 and family in ("flat", "hierarchy"):
        return Draw(_binary(rng, Z / step), y, c, family, f"binary {family}", linked)
    if 0.2 <= transform < 0.28 and kind != "bump":
        return Draw(_texts(rng, Z / step), y, c, family, f"texts {family}", linked)
    X = _noisy(rng, Z, y, step, ordered=linked is not None)
    return Draw(X, y, c, family, kind, linked)


def _sizes(rng: Rng, c: int) -> np.ndarray:
    each = np.exp(rng.uniform(np.log(6), np.log(150)))
    share = np.full(c, 1 / c) if rng.random() < 0.4 else rng.dirichlet(np.full(c, rng.choice([2.0, 5.0, 15.0])))
    return np.repeat(np.arange(c), np.maximum((share * c * each).astype(int), 5))


# -- latent positions -------------------------------------------------------------------------------------------------


def _chain(rng: Rng, y: np.ndarray, c: int, within: np.ndarray) -> Latent:
    place, links = _along(rng, y, c, within), [(j, j + 1) for j in range(c - 1)]
    kind = str(
        rng.choice(["line", "arc", "curve", "wide curve", "walk", "stages", "bump", "winding", "waves", "views"])
    )
    if kind == "views":  # up to a little more than half a turn
        return Latent(_views(rng, place * rng.uniform(0.15, 0.55)), links, kind)
    if kind in ("winding", "waves"):
        towards = np.clip(y + np.where(within[:, 0] < 0.5, -1, 1), 0, c - 1)
        towards = np.where(towards == y, np.where(y == 0, 1, c - 2), towards)
        make = _winding if kind == "winding" else _waves
        return Latent(make(rng, c, links, y, towards, np.abs(within[:, 0] - 0.5)), links, f"{kind} chain")
    if kind == "line":
        return Latent(np.c_[place, 0 * place], links, kind)
    if kind == "arc":
        angle = rng.uniform(0.5, 5.0) * place
        return Latent(np.c_[np.cos(angle), np.sin(angle), rng.uniform(0, 0.5) * place], links, kind)
    if kind == "walk":
        knots = np.cumsum(rng.standard_normal((c + 1, int(rng.integers(4, 20)))), axis=0)
        return Latent(np.stack([np.interp(place, np.linspace(0, 1, c + 1), k) for k in knots.T], axis=1), links, kind)
    if kind == "stages":  # columns that rise or fall, each in a time of its own
        r = int(rng.integers(2, 15))
        slope, middle = rng.uniform(2, 12, r), rng.uniform(0, 1, r)
        return Latent(rng.choice([-1, 1], r) / (1 + np.exp(-slope * (place[:, None] - middle))), links, kind)
    if kind == "bump":
        return Latent(_bumps(rng, place[:, None], closed=False), links, kind)
    r = int(rng.integers(2, 8)) if kind == "curve" else int(rng.integers(8, 30))
    scale = np.exp(-rng.uniform(0, 0.3) * np.arange(r))
    return Latent(_process(rng, place, r, rng.uniform(0.12, 0.7)) * scale, links, kind)


def _ring(rng: Rng, y: np.ndarray, c: int, within: np.ndarray) -> Latent:
    place, links = _along(rng, y, c, within), [(j, (j + 1) % c) for j in range(c)]
    kind = str(rng.choice(["circle", "waves", "turning", "bump ring", "views ring"], p=[0.3, 0.15, 0.2, 0.15, 0.2]))
    if kind == "views ring":
        return Latent(_views(rng, place), links, kind)
    if kind == "bump ring":
        return Latent(_bumps(rng, place[:, None], closed=True), links, kind)
    if kind == "circle":
        axes = np.linalg.qr(rng.standard_normal((5, 5)))[0][:2] * [[1.0], [rng.uniform(0.5, 1)]]
        waves = [np.outer(np.cos(2 * np.pi * place), axes[0]), np.outer(np.sin(2 * np.pi * place), axes[1])]
        for k in (2, 3):
            size = rng.uniform(0, 0.5) / k
            waves += [size * np.outer(f(2 * np.pi * k * place), rng.standard_normal(5)) for f in (np.cos, np.sin)]
        return Latent(np.sum(waves, axis=0), links, kind)
    r, length, number = int(rng.integers(3, 30)), rng.uniform(0.35, 1.2), np.arange(1, 9)
    size = np.exp(-0.5 * (number * length) ** 2)
    if kind == "turning":  # looks more or less alike from opposite sides
        size[1] *= rng.uniform(1, 3)
    weight = rng.standard_normal((2, 8, r)) * size[None, :, None] * np.exp(-rng.uniform(0, 0.3) * np.arange(r))
    angle = 2 * np.pi * np.outer(place, number)
    return Latent(np.cos(angle) @ weight[0] + np.sin(angle) @ weight[1], links, kind)


def _tree(rng: Rng, y: np.ndarray, c: int, within: np.ndarray) -> Latent | None:
    kind = str(rng.choice(["three arms", "random tree", "star", "two forks"]))
    links = _tree_links(rng, c, kind)
    degree = np.bincount(np.ravel(links), minlength=c)
    if degree.max() < 3:
        return None
    wide = rng.random() < 0.35
    r = int(rng.integers(10, 40)) if wide else int(rng.integers(2, 9))
    straight = rng.uniform(0, 0.6) if wide else 0.8
    neighbours: list[list[int]] = [[] for _ in range(c)]
    for j, k in links:
        neighbours[j].append(k)
        neighbours[k].append(j)
    P, direction, todo = np.zeros((c, r)), {int(degree.argmax()): np.zeros(r)}, [int(degree.argmax())]
    while todo:
        j = todo.pop(0)
        siblings: list[np.ndarray] = []
        for k in neighbours[j]:
            if k in direction:
                continue
            v = _unit(rng.standard_normal(r))
            if direction[j].any() and rng.random() < straight:
                v = _unit(direction[j] * rng.uniform(0.5, 1.5) + 0.7 * v)
            for other in siblings:
                v = _unit(v - 0.6 * other * max(v @ other, 0.0))
            siblings.append(v)
            direction[k], P[k] = v, P[j] + v * rng.uniform(0.6, 1.5)
            todo.append(k)
    towards = np.array([neighbours[j][rng.integers(len(neighbours[j]))] for j in y])
    share = np.abs(within[:, 0] - 0.5)
    way = rng.random()
    if way < 0.3:
        return Latent(_winding(rng, c, links, y, towards, share), links, f"winding {kind}")
    if way < 0.5:
        return Latent(_waves(rng, c, links, y, towards, share), links, f"waves {kind}")
    return Latent(P[y] + (P[towards] - P[y]) * share[:, None], links, kind)


def _winding(rng: Rng, c: int, links: Links, y: np.ndarray, towards: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return samples at a share of the way from cluster y to a neighbour, along links that are random walks in many
    dimensions: means of clusters are about equally far apart, only touching samples show what is linked."""
    r, knots = int(rng.integers(8, 40)), int(rng.integers(3, 9))
    keep, nodes, paths = rng.uniform(0, 0.8), np.zeros((c, r)), {}
    placed, todo = {links[0][0]}, list(links)
    while todo:
        j, k = next((j, k) for j, k in todo if (j in placed) or (k in placed))
        todo.remove((j, k))
        j, k = (j, k) if j in placed else (k, j)
        steps, v = [nodes[j]], _unit(rng.standard_normal(r))
        for _ in range(knots):
            v = _unit(keep * v + (1 - keep) * _unit(rng.standard_normal(r)))
            steps.append(steps[-1] + v)
        nodes[k], paths[j, k] = steps[-1], np.array(steps)
        paths[k, j] = paths[j, k][::-1]
        placed.add(k)
    Z = np.empty((len(y), r))
    for j, k in {(int(a), int(b)) for a, b in zip(y, towards, strict=True)}:
        rows = (y == j) & (towards == k)
        for column, values in enumerate(paths[j, k].T):
            Z[rows, column] = np.interp(share[rows], np.linspace(0, 1, knots + 1), values)
    return Z


def _waves(rng: Rng, c: int, links: Links, y: np.ndarray, towards: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return samples at a share of the way from cluster y to a neighbour, with columns that are large near one place of
    the lineage each, as genes are that cells pass through: places far apart are about equally different."""
    pieces = 16  # of every link
    fine = np.full((c + (pieces - 1) * len(links),) * 2, np.inf)
    row = {}  # of the places along a link
    for number, (j, k) in enumerate(links):
        inner = c + (pieces - 1) * number + np.arange(pieces - 1)
        row[j, k] = np.r_[j, inner, k]
        row[k, j] = row[j, k][::-1]
        fine[row[j, k][:-1], row[j, k][1:]] = fine[row[j, k][1:], row[j, k][:-1]] = 1 / pieces
    far = shortest_path(np.where(np.isinf(fine), 0.0, fine), directed=False)
    r = int(rng.integers(12, 60))
    width = np.exp(rng.uniform(np.log(0.3), np.log(1.5), r))
    places = np.exp(-(far[:, rng.integers(len(far), size=r)] ** 2) / (2 * width**2)) * np.exp(rng.normal(0, 0.4, r))
    along = np.array([row[int(j), int(k)] for j, k in zip(y, towards, strict=True)])
    at = share * pieces
    before = np.minimum(at.astype(int), pieces - 1)
    rows, part = np.arange(len(y)), (at - before)[:, None]
    return (1 - part) * places[along[rows, before]] + part * places[along[rows, before + 1]]


def _tree_links(rng: Rng, c: int, kind: str) -> Links:
    if kind == "random tree":
        return [(int(rng.integers(j)), j) for j in range(1, c)]
    if kind == "two forks" and c >= 6:
        inner = int(rng.integers(2, c - 3))
        links = [(j, j + 1) for j in range(inner - 1)]
        links += [(0, inner), (0, inner + 1), (inner - 1, inner + 2), (inner - 1, inner + 3)]
        ends = [inner, inner + 1, inner + 2, inner + 3]
    else:
        arms = 3 if kind == "three arms" else int(rng.integers(3, max(4, min(c, 6))))
        links, ends = [(0, j) for j in range(1, arms + 1) if j < c], list(range(1, arms + 1))
    for j in range(max(map(max, links)) + 1, c):
        arm = int(rng.integers(len(ends)))
        links.append((ends[arm], j))
        ends[arm] = j
    return links


def _grid(rng: Rng, y: np.ndarray, c: int, within: np.ndarray) -> Latent:
    rows = int(rng.choice(GRIDS[c]))
    columns = c // rows
    row, column = np.divmod(y, columns)
    place = np.c_[row + within[:, 0], (column + within[:, 1]) * np.exp(rng.uniform(-0.3, 0.3))]
    links = [(j, j + 1) for j in range(c) if j % columns < columns - 1] + [(j, j + columns) for j in range(c - columns)]
    if rng.random() < 0.25:
        return Latent(_bumps(rng, place / max(rows, columns), closed=False), links, "bump grid")
    bend = rng.uniform(0, 0.6)
    height = bend * (np.sin(place[:, 0] * rng.uniform(0.5, 1.5)) + np.cos(place[:, 1] * rng.uniform(0.5, 1.5)))
    return Latent(np.c_[place, height], links, "sheet")


def _flat(rng: Rng, y: np.ndarray, c: int, within: np.ndarray) -> Latent:
    if rng.random() < 0.3:
        return Latent((np.eye(c) * np.exp(rng.normal(0, rng.choice([0.02, 0.2]), c))[:, None])[y], None, "equidistant")
    r = int(rng.choice([2, 3, 5, 8, 15, 50], p=[0.12, 0.2, 0.2, 0.2, 0.14, 0.14]))
    P = rng.standard_normal((c, r)) if rng.random() < 0.5 else rng.uniform(-1, 1, (c, r))
    return Latent((P * np.exp(rng.normal(0, 0.4, r)))[y], None, f"random centres {r}d")


def _hierarchy(rng: Rng, y: np.ndarray, c: int, within: np.ndarray) -> Latent | None:
    r = int(rng.choice([4, 10, 30]))
    if rng.random() < 0.6:
        k = int(rng.integers(2, max(3, c // 2 + 1)))
        group = np.concatenate([np.repeat(np.arange(k), 2), rng.integers(0, k, c)])[:c]
        if c <= k or len(np.unique(group)) < k:
            return None
        P = rng.standard_normal((k, r))[group] * rng.uniform(1.5, 4.0) + rng.standard_normal((c, r))
        return Latent(P[y], None, "two levels")
    times = np.concatenate([[0], np.sort(rng.uniform(0, 0.9, c - 2)), [1.0]])
    P = np.zeros((2, r))
    for now, then in pairwise(times):
        P = P + rng.standard_normal(P.shape) * np.sqrt(then - now)
        if len(P) < c:
            P = np.vstack([P, P[rng.integers(len(P))]])
    return Latent(P[y], None, "phylogeny")


LATENT: dict[str, Callable[..., Latent | None]] = {
    "flat": _flat,
    "chain": _chain,
    "ring": _ring,
    "tree": _tree,
    "grid": _grid,
    "hierarchy": _hierarchy,
}


def _along(rng: Rng, y: np.ndarray, c: int, within: np.ndarray) -> np.ndarray:
    """Return places in [0, 1] along a curve, clusters of equal or different lengths."""
    length = rng.dirichlet(np.full(c, 8.0)) if rng.random() < 0.5 else np.full(c, 1 / c)
    cuts = np.concatenate([[0.0], np.cumsum(length)])
    return cuts[y] + within[:, 0] * (cuts[y + 1] - cuts[y])


def _process(rng: Rng, place: np.ndarray, r: int, length: float) -> np.ndarray:
    """Return a Gaussian process curve (m, r), by random Fourier features."""
    wave, phase = rng.standard_normal((60, r)) / length, rng.uniform(0, 2 * np.pi, (60, r))
    size = rng.standard_normal((60, r)) * np.sqrt(2 / 60)
    return np.asarray((size * np.cos(place[:, None, None] * wave + phase)).sum(axis=1))


def _bumps(rng: Rng, place: np.ndarray, *, closed: bool) -> np.ndarray:
    """Return pictures (m, pixels) of a bump at each place: samples far apart look equally different."""
    width, pixels = rng.uniform(0.05, 0.3), int(rng.integers(12, 40))
    axes = [np.linspace(0, 1, pixels if place.shape[1] == 1 else 8, endpoint=not closed)] * place.shape[1]
    far = np.zeros((len(place), *[len(axis) for axis in axes]))
    for number, axis in enumerate(axes):
        apart = np.abs(place[:, number, None] - axis)
        apart = np.minimum(apart, 1 - apart) if closed else apart
        far = far + (apart**2).reshape(len(place), *[-1 if k == number else 1 for k in range(len(axes))])
    return np.exp(-far / (2 * width**2)).reshape(len(place), -1)


def _views(rng: Rng, turn: np.ndarray) -> np.ndarray:
    """Return pictures (m, 81) of a body of light spots after each part of a full turn about its upright axis: from
    opposite sides the outline is the mirror image, and only what the body hides tells front from back.
    """
    n = int(rng.integers(4, 25))
    radius, height, light = np.sqrt(rng.uniform(0.05, 1, n)), rng.uniform(-1, 1, n), np.exp(rng.normal(0, 0.7, n))
    angle = rng.uniform(0, 2 * np.pi, n)
    if rng.random() < 0.4:  # nearly the same from behind
        unlike = np.exp(rng.normal(0, rng.uniform(0.1, 1), n))
        angle, light = np.r_[angle, angle + np.pi], np.r_[light, light * unlike]
        radius, height = np.r_[radius, radius], np.r_[height, height]
    angle = angle + 2 * np.pi * turn[:, None]
    light = light / (1 + np.exp(-rng.choice([0.5, 2.0, 8.0]) * radius * np.cos(angle)))
    axis, width = np.linspace(-1.2, 1.2, 9), rng.uniform(0.15, 0.5)
    across = np.exp(-((axis - (radius * np.sin(angle))[..., None]) ** 2) / (2 * width**2))
    upright = np.exp(-((axis - height[:, None]) ** 2) / (2 * width**2))
    return np.einsum("ms,msx,sy->mxy", light, across, upright).reshape(len(turn), -1)


def _saturating(rng: Rng, links: Links, c: int) -> np.ndarray:
    """Return means (c, r) whose similarity falls with steps, exp(-(steps / length)^p) or linearly to zero."""
    G = np.where(_matrix(links, c), 1.0, np.inf)
    if rng.random() < 0.5:
        noise = np.triu(rng.uniform(0.7, 1.3, (c, c)), 1)
        G = G * (noise + noise.T + np.eye(c))
    np.fill_diagonal(G, 0.0)
    for k in range(c):
        G = np.minimum(G, G[:, k, None] + G[k])
    K = np.exp(-((G / rng.uniform(0.8, 3.0)) ** rng.choice([1.0, 1.5])))
    if rng.random() < 0.3:
        K = np.maximum(1 - G / rng.choice([2.0, 3.0]), 0.0)
    values, vectors = np.linalg.eigh(K)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _matrix(links: Iterable[tuple[int, int]], c: int) -> np.ndarray:
    linked = np.zeros((c, c), dtype=bool)
    for j, k in links:
        linked[j, k] = linked[k, j] = True
    return linked


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v)


# -- from positions to data -------------------------------------------------------------------------------------------


def _noisy(rng: Rng, Z: np.ndarray, y: np.ndarray, step: float, *, ordered: bool) -> np.ndarray:
    """Return Z in d dimensions with noise: round, heavy-tailed, of other shape in each cluster, with nuisance."""
    m, r = Z.shape
    d = max(int(rng.choice([2, 3, 5, 10, 30, 100])), r)
    size = step * np.exp(rng.uniform(np.log(0.06), np.log(0.6))) * (3 / max(d, 3)) ** 0.25
    E = _noise(rng, (m, d))
    if rng.random() < 0.35:
        for j in np.unique(y):
            E[y == j] *= np.exp(0.5 * rng.standard_normal(d))
    if rng.random() < 0.3:
        E *= np.exp(0.3 * rng.standard_normal(int(y.max()) + 1))[y, None]
    if rng.random() < 0.3:
        shared = int(rng.integers(1, min(4, d + 1)))
        strength = rng.uniform(1, 2.5 if ordered else 3.0, shared)
        E = E + (rng.standard_normal((m, shared)) * strength) @ _turn(rng, d)[:shared]
    if rng.random() < 0.1:
        E[rng.random(m) < 0.02] *= 5
    X = np.c_[Z, np.zeros((m, d - r))]
    X = (X @ _turn(rng, d) if rng.random() < 0.8 else X) + size * E
    if rng.random() < 0.3:
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    if rng.random() < 0.05:  # rows that come several times
        X = X[rng.integers(0, m, m)] if not ordered else X
    return X


def _noise(rng: Rng, shape: tuple[int, int]) -> np.ndarray:
    kind = rng.random()
    if kind < 0.6:
        return rng.standard_normal(shape)
    if kind < 0.85:
        return rng.standard_t(3, shape) / np.sqrt(3)
    return rng.standard_normal(shape) * np.exp(0.5 * rng.standard_normal((shape[0], 1)))


def _turn(rng: Rng, d: int) -> np.ndarray:
    return np.asarray(np.linalg.qr(rng.standard_normal((d, d)))[0])


def _counts(rng: Rng, Z: np.ndarray) -> np.ndarray:
    """Return log counts of genes whose logarithmic rates depend on Z, libraries of different sizes scaled to one."""
    genes = int(rng.choice([50, 150, 400]))
    load = rng.standard_normal((Z.shape[1], genes)) * (rng.random(genes) < rng.uniform(0.2, 0.8))
    Z = Z - Z.mean(axis=0)
    rate = np.exp(rng.uniform(0.2, 0.8) * (Z @ load) / max(float(np.std(Z @ load)), 1e-9) + rng.normal(0, 1, genes))
    depth = np.exp(rng.normal(np.log(rng.choice([2.0, 6.0, 20.0])), 0.4, len(Z)))
    counts = rng.poisson(np.minimum(rate, 1e4) * depth[:, None] / max(float(rate.mean()), 1e-9)).astype(float)
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    return np.log1p(counts / total * np.median(total))


def _binary(rng: Rng, Z: np.ndarray) -> np.ndarray:
    """Return columns of zeros and ones whose log odds depend on Z."""
    columns = int(rng.choice([12, 30, 100]))
    odds = (Z - Z.mean(axis=0)) @ rng.standard_normal((Z.shape[1], columns))
    odds = rng.uniform(1, 4) * odds / max(float(odds.std()), 1e-9) + rng.normal(0, 1, columns)
    return (rng.random(odds.shape) < 1 / (1 + np.exp(-odds))).astype(float)


def _texts(rng: Rng, Z: np.ndarray) -> csr_array:
    """Return TF-IDF rows of texts, with word frequencies by Zipf's law and topical words whose logarithmic rates depend
    on Z."""
    words = int(rng.choice([300, 1000, 3000]))
    load = rng.standard_normal((Z.shape[1], words)) * (rng.random(words) < rng.uniform(0.1, 0.5))
    load *= rng.random(load.shape).argsort(axis=0) < rng.integers(1, 4)  # of few directions each
    Z = Z - Z.mean(axis=0)
    logarithm = rng.uniform(0.4, 1.5) * (Z @ load) / max(float(np.std(Z @ load)), 1e-9)
    logarithm -= rng.permutation(np.log(np.arange(1, words + 1)))
    rate = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
    length = np.exp(rng.normal(np.log(rng.choice([25, 60, 150])), 0.6, (len(Z), 1)))
    counts = rng.poisson(length * rate / rate.sum(axis=1, keepdims=True))
    counts[counts.sum(axis=1) == 0, 0] = 1
    return csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(csr_array(counts)))


def _cloud(rng: Rng, c: int) -> Draw:
    """Return one cloud without clusters: round, uniform, heavy-tailed, or rows that follow each other."""
    m = int(c * np.exp(rng.uniform(np.log(8), np.log(150))))
    r = int(rng.choice([2, 3, 5, 10, 30]))
    kind = str(rng.choice(["normal", "uniform", "heavy-tailed", "autocorrelated"]))
    if kind == "uniform":
        X = rng.uniform(-1, 1, (m, r))
    elif kind == "heavy-tailed":
        X = rng.standard_t(rng.choice([2, 3]), (m, r))
    else:
        X = rng.standard_normal((m, r))
    if kind == "autocorrelated":
        keep = rng.uniform(0.5, 0.9)
        for i in range(1, m):
            X[i] = keep * X[i - 1] + np.sqrt(1 - keep**2) * X[i]
    spread = np.exp(rng.normal(0, 0.3, r))
    return Draw(X * spread, None, c, "flat", f"{kind} cloud {r}d", None)
