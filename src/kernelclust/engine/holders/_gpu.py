"""Samples on a GPU with Triton: the passes of `_fused.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from triton.runtime.errors import OutOfResources

from kernelclust.engine.holders import _fused
from kernelclust.engine.holders._rows import Rows

LOG2E = 1.4426950408889634
KINDS = {"rbf": _fused.RBF, "polynomial": _fused.POLYNOMIAL, "laplacian": _fused.LAPLACIAN}
BLOCK, COLUMNS = 128, 64  # rows of a tile, and its columns where rows are others
HELD = 128  # width of operands up to which those of a tile are held
STAGES = 3  # of loading ahead; fewer if the GPU has less shared memory
PROGRAMS = 1056  # that keep a GPU busy
OUTPUT = 2**26  # sums made at a time where there are many segments
TRIED = 200  # samples that single precision is tried on
ENOUGH = 1e-5  # error beside the spread


class FusedRows(Rows):
    """Rows of float32 samples Z (m, d) on a CUDA device, under a kernel that `_fused` knows."""

    def __init__(self, Z: Any, weight: Any, function: Any):
        super().__init__(Z, weight, function)
        self._kind, params = KINDS[function.kernel.name], function.kernel.get_params()
        self._degree, self._offset = int(params.get("degree", 3)), float(params.get("coef0", 1))
        self._gamma = float(params["gamma"])
        self._weighted = self._kind == _fused.POLYNOMIAL or bool((weight != 1).any())

    def own(self):
        if self._kind != _fused.POLYNOMIAL:
            return torch.ones_like(self.weight)
        Z = self.Z.double()
        return (self._gamma * (Z * Z).sum(dim=1) + self._offset) ** self._degree

    def sums(self, labels, n_clusters):
        place, _, _, out, squares = self._square(labels, n_clusters, mirror=True)
        scale = self._scale()
        G = torch.empty((n_clusters, len(place)), dtype=torch.float64, device=labels.device)
        for j in range(n_clusters):
            G[j] = out[j][place].double() / scale
        return G, float(squares.sum())

    def totals(self, labels, n_clusters):
        _, cluster, weight, out, _ = self._square(labels, n_clusters, mirror=False)
        whose = torch.nn.functional.one_hot(cluster, n_clusters).double()
        blocks = torch.stack([(line.double() * weight).view(-1, BLOCK).sum(dim=1) for line in out])
        T = (blocks @ whose).cpu().numpy() / self._scale()
        return T + T.T

    def sums_of(self, Z, labels, n_clusters):
        return self._rectangle(Z, self.Z, self.weight, labels, n_clusters)

    def change(self, index, was, now, n_clusters, among=False):
        moved, weight = self.Z[index], self.weight[index]
        pairs, code = torch.unique(was * n_clusters + now, return_inverse=True)
        names = torch.arange(n_clusters, device=pairs.device)[:, None]
        signs = (names == pairs % n_clusters).double() - (names == pairs // n_clusters).double()
        return self._rectangle(moved if among else self.Z, moved, weight, code, len(pairs), signs)

    # -- passes --------------------------------------------------------------------------------------------------------

    def _square(self, labels, n_clusters: int, mirror: bool):
        """Compute from one half of the square: the sums of all samples or, without `mirror`, what makes up their
        total.
        """
        place, slot, start = self._layout(labels, n_clusters, BLOCK)
        left, right, norm, weight = self._operands(self.Z, self.weight, slot)
        n_blocks = len(slot) // BLOCK
        cluster = torch.searchsorted(start.long(), torch.arange(n_blocks, device=labels.device), right=True) - 1
        out = torch.zeros((n_clusters, len(slot)), dtype=torch.int64, device=labels.device)
        splits = max(1, min(-(-PROGRAMS // n_blocks), n_blocks))
        squares = torch.zeros((n_blocks, splits), dtype=torch.float64, device=labels.device)
        self._launch(
            (n_blocks, splits), (left, right, norm, norm, weight, weight, start, cluster, out, squares), n_blocks,
            n_clusters, self._scale(), half=True, mirror=mirror,
        )  # fmt: skip
        return place, cluster, weight, out, squares

    def _rectangle(self, X, Y, weight, labels, n_segments: int, signs=None):
        """Return (s, n) sums of samples X with segments of samples Y, or combinations of these by `signs`."""
        _, slot, start = self._layout(labels, n_segments, COLUMNS)
        _, right, norm, heavy = self._operands(Y, weight, slot)
        n_blocks, scale = len(slot) // COLUMNS, self._scale()
        total = torch.empty((n_segments if signs is None else len(signs), len(X)), dtype=torch.float64, device=X.device)
        step = max(BLOCK, OUTPUT // n_segments // BLOCK * BLOCK)
        for first in range(0, len(X), step):
            part = X[first : first + step]
            rows = torch.arange(-(-len(part) // BLOCK) * BLOCK, device=X.device)
            rows = torch.where(rows < len(part), rows, -1)
            left, _, own_norm, own = self._operands(part, torch.ones(len(part), device=X.device), rows)
            out = torch.zeros((n_segments, len(rows)), dtype=torch.int64, device=X.device)
            splits = max(1, min(-(-PROGRAMS * BLOCK // len(rows)), n_blocks))
            self._launch(
                (len(rows) // BLOCK, splits), (left, right, own_norm, norm, own, heavy, start, start, out, own_norm),
                n_blocks, n_segments, scale, half=False,
            )  # fmt: skip
            found = out[:, : len(part)].double() / scale
            total[:, first : first + step] = found if signs is None else signs @ found
        return total

    def _launch(self, grid, arrays, n_blocks, n_segments, scale, *, half, mirror=False):
        left, out = arrays[0], arrays[8]
        width = left.shape[1]
        first, more = _widths(width)
        held = width <= HELD and self._kind != _fused.LAPLACIAN
        for stages in range(STAGES, 0, -1):
            try:
                _fused._pass[grid](
                    *arrays, out.shape[1], n_blocks, n_segments, width, scale, self._gamma, self._offset, HALF=half,
                    MIRROR=mirror, WEIGHTED=self._weighted, KIND=self._kind, DEGREE=self._degree,
                    WIDTH=first if held else width, MORE=more if held else 0, DEPTH=64, HELD=held,
                    ROWS=BLOCK, COLUMNS=BLOCK if half else COLUMNS, num_stages=stages,
                    num_warps=8 if held and half and not mirror else 4,
                )  # fmt: skip
            except OutOfResources:
                if stages == 1:
                    raise
            else:
                return

    def _scale(self) -> float:
        """Return integers a unit of the sums: as many as keep the largest sum within 64 bits."""
        largest = 1.0 if self._kind != _fused.POLYNOMIAL else max(float(self.own().max()), 1e-300)
        return 2.0 ** (61 - int(np.ceil(np.log2(float(self.weight.sum()) * largest))))

    def _layout(self, labels, n_segments: int, block: int):
        """Return where samples lie once sorted by label, every label padded to whole blocks: place of each sample,
        sample (or -1) at each place, and the first block of each label.
        """
        order = torch.argsort(labels, stable=True)
        count = torch.bincount(labels, minlength=n_segments)
        blocks = (count + block - 1) // block
        start = torch.cat([blocks.new_zeros(1), blocks.cumsum(0)])
        sorted_labels = labels[order]
        rank = torch.arange(len(labels), device=labels.device) - (count.cumsum(0) - count)[sorted_labels]
        at = start[sorted_labels] * block + rank
        place = torch.empty_like(at)
        place[order] = at
        slot = torch.full((int(start[-1]) * block,), -1, dtype=at.dtype, device=at.device)
        slot[at] = order
        return place, slot, start.int()

    def _operands(self, Z, weight, slot):
        """Return both factors of the inner products, what is subtracted from these, and weights, of samples in
        slots.
        """
        there = slot >= 0
        Z = Z[slot.clamp(min=0)]
        weight = torch.where(there, weight[slot.clamp(min=0)], 0.0).float()
        away = torch.where(there, 0.0, torch.inf).float()
        if self._kind == _fused.LAPLACIAN:
            Z = Z * (self._gamma * LOG2E)
            return Z, Z, away, weight
        if self._kind == _fused.RBF:
            Z = Z * float(np.sqrt(2 * self._gamma * LOG2E))
            away = away + (Z.double() ** 2).sum(dim=1).div(2).float()
        else:
            away = torch.zeros_like(weight)
        high = Z.half()
        low = (Z - high.float()).half()
        return _padded((high, high, low)), _padded((high, low, high)), away, weight


def is_exact_enough(Z: Any, function: Any) -> bool:
    """Return whether single precision keeps what clusters are read from, tried on the farthest samples and on some
    others.
    """
    size = (Z * Z).sum(dim=1)
    far = torch.topk(size, min(TRIED // 4, len(Z))).indices
    some = torch.unique(torch.cat([far, torch.linspace(0, len(Z) - 1, TRIED, device=Z.device).long()]))
    exact = function(Z[some].double(), Z[some].double())
    ones = torch.ones(len(some), dtype=torch.float64, device=Z.device)
    rows = FusedRows(Z[some].float(), ones, function)
    made = rows.sums(torch.arange(len(some), device=Z.device), len(some))[0]
    spread = float(exact.diagonal().mean() - exact.mean())
    error = float((made - exact).abs().max())
    return bool(np.isfinite(error) and error <= ENOUGH * spread)


def _widths(width: int) -> tuple[int, int]:
    """Return a width as a power of two and what is left, another one or zero."""
    first = 1 << (width.bit_length() - 1)
    return first, width - first


def _padded(parts):
    """Return operands side by side, as wide as tensor cores take them."""
    wide = sum(part.shape[1] for part in parts)
    width = 16
    while width < wide:
        width *= 2
    if width > HELD:
        width = -(-wide // 64) * 64
    elif wide <= width - width // 4 and width >= 64:
        width -= width // 4
    out = torch.zeros((parts[0].shape[0], width), dtype=torch.float16, device=parts[0].device)
    out[:, :wide] = torch.cat(parts, dim=1)
    return out
