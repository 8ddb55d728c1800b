"""One pass over an exact kernel on a GPU: entries are made, summed and forgotten inside one Triton kernel.

Samples lie sorted by cluster, every cluster padded to whole blocks, so that a block of columns belongs to one cluster
and K Pi is a sum along rows: no second product, no rounding of K. Inner products come from tensor cores as three
products of half-precision parts, x = high + low, which keeps 21 bits. Sums leave a tile as integers (fixed
point), which add up to the same bits in any order.
"""

from __future__ import annotations

import triton
import triton.language as tl

BLOCK = 128
DEPTH = 64  # columns of the operands that are multiplied at a time where they are too wide to be held

RBF, POLYNOMIAL, LAPLACIAN = 0, 1, 2


@triton.jit
def _tile(left, further, L, R, rows, columns, half_norm, R_norm, width, factor, offset,
          KIND: tl.constexpr, DEGREE: tl.constexpr,
          WIDTH: tl.constexpr, MORE: tl.constexpr, DEPTH: tl.constexpr, HELD: tl.constexpr):  # fmt: skip
    """Return K between blocks of rows and columns."""
    if KIND == 2:
        apart = tl.zeros((rows.shape[0], columns.shape[0]), tl.float32)
        for k in range(WIDTH):
            x = tl.load(L + k + rows * width)
            y = tl.load(R + k + columns * width)
            apart += tl.abs(x[:, None] - y[None, :]).to(tl.float32)
        K = tl.exp2(-apart - half_norm[:, None] - R_norm[None, :])
    else:
        product = tl.zeros((rows.shape[0], columns.shape[0]), tl.float32)
        if KIND == 0:
            product = -half_norm[:, None] - R_norm[None, :]
        if HELD:
            right = tl.load(R + columns[None, :] * width + tl.arange(0, WIDTH)[:, None])
            product = tl.dot(left, right, product)
            if MORE > 0:
                right = tl.load(R + columns[None, :] * width + (WIDTH + tl.arange(0, MORE))[:, None])
                product = tl.dot(further, right, product)
        else:
            k = tl.arange(0, DEPTH)
            for start in range(0, WIDTH, DEPTH):
                a = tl.load(L + rows[:, None] * width + start + k[None, :])
                b = tl.load(R + columns[None, :] * width + start + k[:, None])
                product = tl.dot(a, b, product)
        if KIND == 0:
            K = tl.exp2(product)
        else:
            base = factor * product + offset
            K = base
            for _ in tl.static_range(DEGREE - 1):
                K = K * base
    return K


@triton.jit
def _pass(L, R, norm_rows, norm_columns, weight_rows, weight_columns, start, cluster, out, squares,
          n_rows, n_blocks, n_segments, width, scale, factor, offset,
          HALF: tl.constexpr, MIRROR: tl.constexpr, WEIGHTED: tl.constexpr, KIND: tl.constexpr, DEGREE: tl.constexpr,
          WIDTH: tl.constexpr, MORE: tl.constexpr, DEPTH: tl.constexpr, HELD: tl.constexpr,
          ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """out[s, i] += sum of w_j K_ij over the columns j of segment s.

    With HALF rows and columns are the same samples: blocks are visited in a circle, half of it each. With MIRROR a tile
    serves both ways, and the sums of w_i w_j K_ij^2 are kept as well; without, out has one way of each pair, and half
    of the pairs within a block.
    """
    block = tl.program_id(0)
    split, n_splits = tl.program_id(1), tl.num_programs(1)
    rows = block.to(tl.int64) * ROWS + tl.arange(0, ROWS)
    half_norm = tl.load(norm_rows + rows)
    left, further = half_norm, half_norm
    if KIND != 2 and HELD:
        left = tl.load(L + rows[:, None] * width + tl.arange(0, WIDTH)[None, :])
        if MORE > 0:
            further = tl.load(L + rows[:, None] * width + (WIDTH + tl.arange(0, MORE))[None, :])
    if HALF:
        first, n_tiles = block + 1, (n_blocks - 1) // 2
        own = tl.load(cluster + block)
        if WEIGHTED:
            own_weight = tl.load(weight_rows + rows)
    else:
        first, n_tiles = 0, n_blocks
    low = first + (n_tiles * split) // n_splits
    high = first + (n_tiles * (split + 1)) // n_splits
    square = tl.zeros((ROWS,), tl.float64)
    for turn in range(2):  # with HALF, blocks are visited in a circle: those beyond the end come from the beginning
        for s in range(n_segments):
            begin = tl.maximum(tl.load(start + s) + turn * n_blocks, low)
            end = tl.minimum(tl.load(start + s + 1) + turn * n_blocks, high)
            total = tl.zeros((ROWS,), tl.float64)
            for at in range(begin, end):
                columns = (at - turn * n_blocks).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
                R_norm = tl.load(norm_columns + columns)
                K = _tile(left, further, L, R, rows, columns, half_norm, R_norm, width, factor, offset,
                          KIND, DEGREE, WIDTH, MORE, DEPTH, HELD)  # fmt: skip
                if WEIGHTED:
                    w = tl.load(weight_columns + columns)
                    total += tl.sum(K * w[None, :], axis=1).to(tl.float64)
                    if HALF and MIRROR:
                        square += 2 * tl.sum(K * K * w[None, :], axis=1).to(tl.float64)
                else:
                    total += tl.sum(K, axis=1).to(tl.float64)
                    if HALF and MIRROR:
                        square += 2 * tl.sum(K * K, axis=1).to(tl.float64)
                if HALF and MIRROR:
                    if WEIGHTED:
                        mirrored = tl.sum(K * own_weight[:, None], axis=0)
                    else:
                        mirrored = tl.sum(K, axis=0)
                    tl.atomic_add(out + own * n_rows + columns, (mirrored.to(tl.float64) * scale).to(tl.int64),
                                  sem="relaxed")  # fmt: skip
            if end > begin:
                line = tl.zeros((ROWS,), tl.int64) + s
                tl.atomic_add(out + line * n_rows + rows, (total * scale).to(tl.int64), sem="relaxed")
    if HALF:
        if split == 0:
            # the block with itself and, in a circle of even length, half of the tiles right across
            columns = block.to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
            R_norm = tl.load(norm_columns + columns)
            K = _tile(left, further, L, R, rows, columns, half_norm, R_norm, width, factor, offset,
                      KIND, DEGREE, WIDTH, MORE, DEPTH, HELD)  # fmt: skip
            mass = K
            if WEIGHTED:
                mass = K * tl.load(weight_columns + columns)[None, :]
            if MIRROR:
                square += tl.sum(K * mass, axis=1).to(tl.float64)
            else:
                mass = mass * 0.5
            tl.atomic_add(out + own * n_rows + rows, (tl.sum(mass, axis=1).to(tl.float64) * scale).to(tl.int64),
                          sem="relaxed")  # fmt: skip
            if n_blocks % 2 == 0 and block < n_blocks // 2:
                across = block + n_blocks // 2
                other = tl.load(cluster + across)
                columns = across.to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
                R_norm = tl.load(norm_columns + columns)
                K = _tile(left, further, L, R, rows, columns, half_norm, R_norm, width, factor, offset,
                          KIND, DEGREE, WIDTH, MORE, DEPTH, HELD)  # fmt: skip
                straight, mirrored = K, K
                if WEIGHTED:
                    straight = K * tl.load(weight_columns + columns)[None, :]
                    mirrored = K * own_weight[:, None]
                along = (tl.sum(straight, axis=1).to(tl.float64) * scale).to(tl.int64)
                tl.atomic_add(out + other * n_rows + rows, along, sem="relaxed")
                if MIRROR:
                    square += 2 * tl.sum(K * straight, axis=1).to(tl.float64)
                    along = (tl.sum(mirrored, axis=0).to(tl.float64) * scale).to(tl.int64)
                    tl.atomic_add(out + own * n_rows + columns, along, sem="relaxed")
        if MIRROR:
            if WEIGHTED:
                square = square * own_weight
            tl.store(squares + block * n_splits + split, tl.sum(square, axis=0))
