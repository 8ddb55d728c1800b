"""From what the user brings to one array a view, and the kernels that look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing, check_array

from kernelclust._input import as_table, check_finite, is_frame
from kernelclust._names import check_name, check_number
from kernelclust.kernels import RBF, Kernel, as_kernel, check_precomputed, kernel_class, kernel_names

ALSO = ", a function k(X, Y), or a number (gamma of 'rbf')"
PARTLY = "A sample may be missing from a view as a whole (a row of NaN, or masked), not in part."


@dataclass(frozen=True)
class Views:
    """Arrays, one a view, over the same samples; `observed` (n, v) says which samples a view holds.

    A view is a table (n, d), or, if `pairwise`, the similarities between the samples that it holds.
    """

    arrays: list[Any]
    observed: np.ndarray
    pairwise: bool = False

    @property
    def n_samples(self) -> int:
        return len(self.observed)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and views."""
        return self.observed.shape

    def samples(self, view: int) -> np.ndarray | None:
        """Numbers of the samples that the view holds; None for all."""
        return None if self.observed[:, view].all() else np.flatnonzero(self.observed[:, view])

    def held(self, view: int) -> Any:
        samples = self.samples(view)
        return self.arrays[view] if samples is None or self.pairwise else self.arrays[view][samples]

    def at(self, used: np.ndarray) -> Views:
        """Some of the samples, as if there were no others."""
        observed = _check_seen(self.observed[used])
        if not self.pairwise:
            return Views([array[used] for array in self.arrays], observed)
        inside = [self._number(v)[used[observed[:, v]]] for v in range(len(self.arrays))]
        return Views([K[np.ix_(i, i)] for K, i in zip(self.arrays, inside, strict=True)], observed, True)

    def rest(self, others: np.ndarray, used: np.ndarray) -> Views:
        """The others as new samples, where `used` are those that were fitted."""
        observed = self.observed[others]
        if not self.pairwise:
            return Views([array[others] for array in self.arrays], observed)
        arrays = []
        for v, K in enumerate(self.arrays):
            number = self._number(v)
            fitted = number[used[self.observed[used, v]]]
            arrays.append(np.zeros((len(others), len(fitted)), dtype=K.dtype))
            arrays[-1][observed[:, v]] = K[np.ix_(number[others[observed[:, v]]], fitted)]
        return Views(arrays, observed)

    def _number(self, view: int) -> np.ndarray:
        """(n,) row of each sample in a view's similarities."""
        return np.cumsum(self.observed[:, view]) - 1


def is_many(X) -> bool:
    """Return whether X is a list or stack of tables, rather than one table."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(len(getattr(part, "shape", ())) == 2 for part in X)
    return len(getattr(X, "shape", ())) == 3


def columns_of(X, views) -> tuple[list[Any], list[str]]:
    """Tables (n, d_v), one for each choice of columns, and the names of the views."""
    named = views if isinstance(views, Mapping) else {str(v): chosen for v, chosen in enumerate(views)}
    if not named:
        raise ValueError("views is empty; give columns for at least one view, or None for all columns in one view.")
    out = []
    X = X.tocsr() if sparse.issparse(X) else X  # other formats have no columns to choose
    for name, chosen in named.items():
        chosen = chosen(X) if callable(chosen) else chosen
        chosen = [chosen] if isinstance(chosen, (str, int, np.integer)) else chosen
        chosen = list(chosen) if isinstance(chosen, (tuple, range)) or hasattr(chosen, "columns") else chosen
        try:
            part = _safe_indexing(X, chosen, axis=1)
        except (ValueError, TypeError, IndexError, KeyError) as error:
            raise ValueError(
                f"view {name!r} cannot be taken from X: {error}. Give column names (X must be a frame), numbers, a "
                "slice, or a function that returns one of these."
            ) from error
        if part.shape[1] == 0:
            raise ValueError(f"view {name!r} has no columns.")
        out.append(part)
    return out, list(named)


def check_views(arrays, names: list[str], observed) -> Views:
    """Numbers, the same samples in every view, and who is missing where."""
    labels = ["X" if name == "X" else f"view {name}" for name in names]
    checked, columns = [], []
    for label, array in zip(labels, arrays, strict=True):
        array = as_table(array, label, missing=True)
        columns.append(array.columns if is_frame(array) else None)
        options = {"dtype": [np.float64, np.float32], "accept_sparse": "csr", "ensure_all_finite": False}
        checked.append(check_array(array, input_name=label, **options))
    sizes = [array.shape[0] for array in checked]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"views differ in their numbers of samples: {sizes}. Row i of every view must be the same sample; for a "
            "sample that a view does not hold, put in a row of NaN."
        )
    mask = _check_mask(observed, sizes[0], len(checked))
    for v, array in enumerate(checked):
        if not sparse.issparse(array):
            mask[:, v] &= ~np.isnan(array).all(axis=1)
            array = array if mask[:, v].all() else np.where(mask[:, v, None], array, 0)
        check_finite(array, columns[v], labels[v], PARTLY)
    return Views(checked, _check_seen(mask))


def check_kernels(X, observed) -> Views:
    """A stack (m, n, n) or list of kernel matrices; rows of NaN are samples that a kernel does not hold."""
    matrices = list(X) if is_many(X) else [X]
    checked = []
    for p, K in enumerate(matrices):
        K = as_table(K, f"kernel {p}", missing=True)
        K = check_array(K, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", input_name=f"kernel {p}")
        if K.shape[0] != K.shape[1]:
            raise ValueError(f"kernel {p} has shape {K.shape}: a precomputed kernel must be square.")
        checked.append(K)
    sizes = [len(K) for K in checked]
    if len(set(sizes)) > 1:
        raise ValueError(f"kernels differ in size: {sizes} samples. All must compare the same samples, in one order.")
    mask = _check_mask(observed, sizes[0], len(checked))
    for p, K in enumerate(checked):
        mask[:, p] &= ~np.isnan(np.einsum("ii->i", K))
        held = np.flatnonzero(mask[:, p])
        checked[p] = check_precomputed(K if len(held) == len(K) else K[np.ix_(held, held)], f"kernel {p}")
    return Views(checked, _check_seen(mask), pairwise=True)


def check_similarities(X, observed: np.ndarray) -> list[np.ndarray]:
    """Similarities (n_new, n) of new samples with the fitted ones, one matrix a kernel."""
    n, m = observed.shape
    parts = [np.asarray(as_table(part, f"kernel {p}", missing=True)) for p, part in enumerate(X if is_many(X) else [X])]
    if len(parts) != m:
        raise ValueError(f"X holds {len(parts)} kernels, but {m} were fitted.")
    for p, part in enumerate(parts):
        if part.ndim != 2 or part.shape[1] != n:
            raise ValueError(
                f"kernel {p} has shape {part.shape}; give similarities of new samples with the {n} fitted ones, "
                f"(n_new, {n})."
            )
    return parts


def _check_mask(observed, n: int, v: int) -> np.ndarray:
    if observed is None:
        return np.ones((n, v), dtype=bool)
    mask = np.array(observed)
    if mask.shape != (n, v) or not np.isin(mask, (0, 1)).all():
        raise ValueError(
            f"observed must be a boolean table with one row per sample and one column per view, ({n}, {v}); this has "
            f"shape {mask.shape}."
        )
    return mask.astype(bool)


def _check_seen(mask: np.ndarray) -> np.ndarray:
    missing = np.flatnonzero(~mask.any(axis=1))
    if len(missing):
        raise ValueError(
            f"sample {missing[0]} is missing from every view (NaN or not observed); leave out the {len(missing)} "
            "such sample(s)."
        )
    few = np.flatnonzero(mask.sum(axis=0) < 2)
    if len(few) and len(mask) > 1:
        raise ValueError(f"view {few[0]} holds fewer than two samples (of positive weight); leave it out.")
    return mask


# -- the kernels of every view ----------------------------------------------------------------------------------------


def kernels_of(kernel: Any, n_views: int) -> list[list[Kernel]]:
    """Return the kernels of every view."""
    if not isinstance(kernel, list):
        return [[_one(kernel)] for _ in range(n_views)]
    if not kernel:
        raise ValueError("kernel is an empty list; give at least one kernel, or 'auto'.")
    if n_views == 1:
        return [[_one(one) for one in kernel]]
    if len(kernel) != n_views:
        raise ValueError(
            f"kernel lists {len(kernel)} for {n_views} views: give one for each view (or a list of several for it)."
        )
    return [[_one(k) for k in one] if isinstance(one, list) else [_one(one)] for one in kernel]


def is_auto(kernel: Any) -> bool:
    """Return whether nothing was chosen."""
    return isinstance(kernel, str) and kernel == "auto"


def pairwise_kernel(kernel: Any) -> Kernel | None:
    """Return the kernel where X holds similarities, as in "precomputed"."""
    return as_kernel(kernel) if kernel_class(kernel).pairwise else None


def one_kernel(kernel: Any) -> Kernel:
    """Return the kernel that a user gave as an object, a name, a function or a number."""
    if isinstance(kernel, Real) and not isinstance(kernel, bool):
        check_number("gamma in kernel", kernel, above=True)
        return RBF(gamma=float(kernel))
    if isinstance(kernel, str) and kernel == "rbf":
        return RBF(gamma="median")
    return as_kernel(kernel, also=ALSO)


def _one(kernel: Any) -> Kernel:
    if isinstance(kernel, str):
        check_name("kernel", kernel, [name for name in kernel_names() if not kernel_class(name).pairwise], also=ALSO)
    made = one_kernel(kernel)
    if made.pairwise:
        raise ValueError(f"kernel has {made!r} beside others: give it alone, and X as a stack of kernels.")
    return made
