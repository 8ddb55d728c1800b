"""Code shared by the estimators: checks of samples and parameters, and fits that are rolled back on errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelclust._files import write_files
from kernelclust._input import as_table, check_finite, is_graph, rows_are_equal
from kernelclust._model_files import model_bytes
from kernelclust._names import check_flag, check_number
from kernelclust._progress import log, progress_listener, working
from kernelclust._terms import Term
from kernelclust._threads import one_thread
from kernelclust._warnings import warn
from kernelclust.constraints import Constraints, different_rows, make_constraints
from kernelclust.engine import Fit, check_sought
from kernelclust.estimators._callbacks import CallbackSupportMixin, Tasks, with_callbacks
from kernelclust.kernels import (
    Approximation,
    Kernel,
    as_approximation,
    as_kernel,
    check_operator,
    is_operator,
    kernel_class,
)
from kernelclust.solvers import PlacementProblem
from kernelclust.structures import Structure, as_structure, cluster_names, named_nodes, warn_of_names

DEFAULT_CLUSTERS = 8
MIN_SPREAD = 1e-12  # of the variance within clusters, in that of all samples: below, rounding of sums decides
CONSTANT_TOL = 1e-14  # of the trace of a centred kernel beside that of its values: rounding
FLOATS = [np.float64, np.float32]
MAX_TRIAL_WIDTH = 10**6  # columns of the sample that a loaded model is tried with: 8 MB


@contextmanager
def whole_or_nothing(model: BaseEstimator) -> Iterator[None]:
    """A failure inside leaves the model as it was."""
    before = dict(model.__dict__)
    try:
        yield
    except BaseException:
        model.__dict__ = before
        raise


class KernelClusterer(CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """Base of the estimators; a subclass writes `_fit`."""

    kernel: Any = "rbf"
    approximation: Any = "auto"
    min_cluster_size: Any = None
    max_cluster_size: Any = None
    label_weight: Any = None
    compute_confidence: Any = False
    max_iter: Any = 100
    verbose: Any = 0
    labels_: np.ndarray
    _fitted_on_device: bool = False  # whether what was fitted lies on a device
    _terms: ClassVar[dict[str, Callable[[Any], Any]]] = {"kernel": as_kernel, "approximation": as_approximation}

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator, and with `term__parameter` (`kernel__gamma`) those of its terms.

        A term that is still a name becomes an object: set_params(kernel__gamma=2.0) makes RBF(gamma=2.0) of "rbf".
        """
        own = self.get_params(deep=False)
        nested = [key.partition("__") for key in params if "__" in key]
        for name in dict.fromkeys(name for name, _, _ in nested if name in own):
            value = params.get(name, own[name])
            params[name] = self._with_nested(name, value, [inner for outer, _, inner in nested if outer == name])
        return super().set_params(**params)

    def _with_nested(self, name: str, value: Any, wanted: Sequence[str]) -> Any:
        """Return the object of a term given by name or object, and check that it has the parameters `wanted`."""
        make = self._terms.get(name)
        made = value if make is None else make(value)
        if not hasattr(made, "get_params"):
            raise ValueError(f"{name}__{wanted[0]}: {name}={value!r} has no parameters.")
        own = made.get_params()
        for inner in wanted:
            if inner.partition("__")[0] not in own:
                example = f" A correct value is {made.kind}={made.example}." if isinstance(made, Term) else ""
                raise ValueError(
                    f"{name}__{inner}: {name}={value!r} has no parameter {inner!r} (it has: "
                    f"{', '.join(own) or 'none'}).{example}"
                )
        return made

    @with_callbacks
    def _whole(self, X: Any, *arguments: Any):
        """Fit; a failure leaves the last fit whole, or none."""
        y = arguments[0] if arguments else None
        with working(f"{type(self).__name__}.fit"), Tasks.of_fit(self, X, y) as tasks, progress_listener(tasks):
            with whole_or_nothing(self), one_thread():
                return self._fit(X, *arguments)

    def fit_predict(self, X: Any, y: Any = None, **params: Any) -> np.ndarray:
        """Return `labels_` after `fit(X, y, **params)`; known labels and links are used."""
        return self.fit(X, y, **params).labels_

    def _check_samples(self, X, *, reset: bool):
        kernel = self._kernel_term()
        if reset and kernel.accepts_operators and is_operator(X):
            check_operator(X)
            self.n_features_in_ = X.n_samples
            return X
        if reset and kernel.accepts_graphs and is_graph(X):
            X = kernel.affinities(X)
        if sparse.issparse(X) and not kernel.accepts_sparse:
            raise TypeError(
                f"X is a sparse matrix, but kernel={self.kernel!r} needs all its entries: pass X.toarray()."
                f"{kernel.sparse_advice}"
            )
        accepted = "csr" if kernel.accepts_sparse else False
        options = {"dtype": FLOATS, "accept_sparse": accepted, "ensure_all_finite": False}
        order = None if kernel.pairwise else "C"  # sums along rows are rounded alike, however X lay in memory
        X = validate_data(self, as_table(X), reset=reset, order=order, **options)
        if not kernel.reports_bad_entries:
            check_finite(X, self._column_names())
        return kernel.check_samples(X) if reset else X

    @property
    def cluster_names_(self) -> np.ndarray:
        """Names (c,) of the clusters, from the structure; their numbers if it has no names."""
        structure = getattr(self, "structure_", None)
        return cluster_names(structure, len(self.sizes_) if structure is None else structure.n_clusters)

    def _known_places(self, structure: Structure, y: Any) -> Any:
        """Return known labels as nodes, and warn about names that nothing ties to clusters."""
        y = named_nodes(structure, y)
        warn_of_names(structure, y)
        return y

    def _column_names(self) -> np.ndarray | None:
        """Return the column names of the fitted frame; None for arrays."""
        return getattr(self, "feature_names_in_", None)

    def _known(self, weight: np.ndarray, structure: Structure, y, **given: Any) -> Constraints | None:
        """Return the checked side information of `fit` and of the parameters, or None."""
        known = make_constraints(
            weight,
            structure.n_clusters,
            labels=y,
            min_size=self.min_cluster_size,
            max_size=self.max_cluster_size,
            label_weight=self.label_weight,
            **given,
        )
        if known is not None:
            warn_if_all_known(known.place)
        return known

    def _join_equal_rows(
        self,
        tables: Sequence,
        weight: np.ndarray,
        structure: Structure,
        known: Constraints | None,
        *,
        complete: bool = True,
    ) -> tuple[Constraints | None, bool]:
        """Return the side information, and whether it joins equal rows: where there is none, and samples of positive
        weight have fewer different rows than there are clusters, so that some clusters stay empty. Where samples are
        missing from some tables, these are not `complete`.
        """
        comparable = complete and kernel_class(self.kernel).equal_rows_are_equal
        block = few_different_rows(tables, structure.n_clusters, free=known is None, comparable=comparable)
        if block is None or known is not None:
            return known, False
        group = np.full(len(weight), -1)
        group[weight > 0] = block if complete else 0
        return make_constraints(weight, structure.n_clusters, must_link=group, allow_empty=True), True

    def _check_common(self) -> None:
        """Check the parameters that estimators share."""
        check_number("max_iter", self.max_iter, whole=True, least=1)
        if self.label_weight is not None:
            check_number("label_weight", self.label_weight)
        check_flag("compute_confidence", self.compute_confidence)
        if not isinstance(self.verbose, (Integral, np.bool_)):
            raise TypeError(f"verbose={self.verbose!r}: give an integer or True or False.")

    def _check_kernel(self) -> None:
        self._kernel_settings()

    def _kernel_settings(self) -> dict[str, Any]:
        """Return the kernel and the approximation as `fit_kernel` takes them."""
        return {"approximation": self._approximation_term(), "kernel": self._kernel_term()}

    def _kernel_term(self) -> Kernel:
        return as_kernel(self.kernel)

    def _approximation_term(self) -> Approximation | None:
        return as_approximation(self.approximation)

    def _is_exact(self) -> bool:
        """Return whether no approximation was asked for."""
        approximation = self._approximation_term()
        return approximation is None or approximation.is_auto

    def _is_pairwise(self) -> bool:
        return kernel_class(self.kernel).pairwise

    def _subset(self, X, used: np.ndarray):
        """Some of the samples, or the similarities between them."""
        return X[used][:, used] if self._is_pairwise() else X[used]

    def _report(self, line: str) -> None:
        if self.verbose:
            log(f"{type(self).__name__}: {line}")

    def save(self, path: str | os.PathLike[str], extra: dict[str, Any] | None = None) -> None:
        """Write the fitted model to one file without pickle, which `kernelclust.load` reads.

        The file is written under a temporary name and then renamed, so it is either complete or unchanged. The loaded
        model returns the same results bit for bit. Models with functions (such as a kernel of your own) raise an error;
        a networkx graph is stored as the structure that was built from it.

        Parameters
        ----------
        path : str or path
        extra : dict, optional
            JSON values to store with the model, such as names of columns; `kernelclust.load_extra` returns them.
        """
        write_files({os.fspath(path): self._saved(extra)})

    def _saved(self, extra: dict[str, Any] | None = None) -> Iterator[bytes]:
        """Return what `save` writes, for those who write several files in one step."""
        check_is_fitted(self)
        model: Any = copy(self)
        if is_graph(getattr(self, "structure", None)):
            model.structure = as_structure(model.structure)
        return model_bytes(model, extra)

    def _check_loaded(self) -> None:
        """Refuse attributes that contradict each other, as no fit leaves them."""
        check_is_fitted(self)
        structure = getattr(self, "structure_", None)
        if not (structure is None or isinstance(structure, Structure)):
            raise ValueError("structure_ is no structure.")
        c = structure.n_clusters if structure is not None else int(self.n_clusters)
        _check_lengths(self, ("sizes_", "medoids_"), c)
        _check_lengths(self, ("labels_", "position_", "_asked"), len(self.labels_))
        _check_range("labels_", self.labels_, 0, c)
        _check_range("medoids_", getattr(self, "medoids_", np.zeros(0, int)), -1, len(self.labels_))
        placing = getattr(self, "_placing", None)
        if placing is not None and not (isinstance(placing, PlacementProblem) and len(placing.n) == c):
            raise ValueError(f"its arrangements are not of {c} clusters.")
        try:
            with catch_warnings(), np.errstate(all="ignore"):
                simplefilter("ignore")
                self._try_out(c)
        except Exception as error:
            raise ValueError(f"it does not work: {error}") from error

    def _try_out(self, c: int) -> None:
        """Use a loaded model on one sample and its scales on every cluster: what fails here would fail later."""
        repr(self)
        scales = getattr(getattr(self, "_places", None), "scales", None)
        if scales is not None:
            scales(np.zeros((c, c)), np.arange(c))
        sample = self._trial_sample()
        for name in ("predict", "transform", "score", "position") if sample is not None else ():
            if hasattr(self, name) and (name != "position" or getattr(self, "position_", None) is not None):
                getattr(self, name)(sample)

    def _trial_sample(self) -> Any:
        """Return a sample as `predict` takes it; None if it is too wide to be made for a trial."""
        width = getattr(self, "n_features_in_", None)
        if not isinstance(width, Integral) or width < 1:
            raise ValueError(f"n_features_in_ is {width!r:.40}.")
        return np.ones((1, int(width))) if width <= MAX_TRIAL_WIDTH else None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_pairwise()
        tags.input_tags.sparse = kernel_class(self.kernel).accepts_sparse
        return tags


def warn_if_all_known(labels: np.ndarray) -> None:
    """Warn where no label (m,) is -1, so that nothing is left to cluster."""
    if (labels >= 0).all():
        warn(
            "y labels every sample, and its labels are returned; leave y out to cluster without them, in a grid "
            "search too."
        )


def among_all(values: np.ndarray, used: np.ndarray, n_samples: int) -> np.ndarray:
    """Return values of some samples as those of all, NaN for the others."""
    spread = np.full((n_samples, *values.shape[1:]), np.nan)
    spread[used] = values
    return spread


def warn_of_lost_differences(found: Fit, X: Any, used: np.ndarray) -> None:
    """Warn where rounding hides the differences between samples: all of them under a constant kernel, or all but those
    of a sample that is alone in its cluster and very far away.
    """
    operator, counts, filled = found.kernel.operator, np.bincount(found.labels, minlength=len(found.n)), found.n > 0
    between, rounding = float((np.diag(found.S)[filled] / found.n[filled]).sum()), CONSTANT_TOL * operator.raw_size()
    if between <= rounding * operator.weight.sum() and operator.trace() <= rounding * operator.weight.sum():
        if different_rows([X], 2) is None:
            warn("the kernel has the same value for all pairs of samples: clusters are arbitrary. Use another kernel.")
        return
    alone = np.flatnonzero(counts[found.labels] == 1)
    if not len(alone) or counts.max() == 1:
        return
    total = operator.trace()
    if total - between > MIN_SPREAD * total or different_rows([X], len(counts) + 1) is not None:
        return
    sample = int(alone[np.argmax(operator.diagonal()[alone])])
    warn(
        f"sample {used[sample]} is so far from the others that their differences are {MIN_SPREAD:g} of the variance at "
        "most, which rounding hides: clusters of the others are arbitrary. Correct this sample or leave it out, or use "
        "kernel='auto', which is robust to it."
    )


def few_different_rows(
    tables: Sequence, n_clusters: int, *, free: bool = True, comparable: bool = True
) -> np.ndarray | None:
    """Return which of the different rows each sample has, with a warning, where the tables have fewer of them than
    clusters; None otherwise.

    Not `free` are samples about which something is known, which then decides. Where rows are not `comparable`, only
    samples that are all equal count.
    """
    n = tables[0].shape[0]
    if n_clusters == 1 or n < n_clusters:
        return None
    if all(map(rows_are_equal, tables)):
        answer = " All are in one cluster, and the others are empty." if free else ""
        warn(f"all {n} samples are equal: there is nothing to cluster.{answer}")
        return np.zeros(n, dtype=np.intp)
    block = different_rows(tables, n_clusters) if comparable else None
    if block is None:
        return None
    number = int(block.max()) + 1
    answer = (
        f"equal rows are in one cluster, so {n_clusters - number} of {n_clusters} stay empty"
        if free
        else "some equal rows are in different clusters, or clusters are empty"
    )
    warn(f"X has {number} different rows, fewer than {n_clusters} clusters: {answer}. Use at most {number} clusters.")
    return block


def check_structure(n_clusters: Any, structure: Any) -> Structure:
    """The structure, of the size that it carries or that n_clusters says (8 if neither does)."""
    if n_clusters is not None:
        if not isinstance(n_clusters, Integral) or isinstance(n_clusters, bool):
            if isinstance(n_clusters, Real):
                raise TypeError(f"n_clusters={n_clusters!r}: give an integer, or None.")
            text = repr(n_clusters) if isinstance(n_clusters, str) else None
            raise TypeError(
                f"n_clusters{'=' + text if text else ' is of type ' + type(n_clusters).__name__}: give an integer, or "
                f"None. Pass a structure by name: structure={text or '...'}."
            )
        if n_clusters < 1:
            raise ValueError(f"n_clusters={n_clusters}: give 1 or more.")
        return as_structure(structure, int(n_clusters))
    sized = not isinstance(structure, str) or ":" in structure or "(" in structure
    return as_structure(structure, None if sized else DEFAULT_CLUSTERS)


def known_structure(n_clusters: Any, structure: Any, where: str, advice: str = "name a structure") -> Structure:
    """The structure, which is no structure to be found."""
    found = check_structure(n_clusters, structure)
    if found.is_sought:
        raise ValueError(
            f"structure '{found}' is found by StructuredClustering.fit, not supported yet by {where}: {advice}."
        )
    return found


def check_findable(model: Any, structure: Structure, y: Any) -> None:
    """Refuse what speaks of nodes where the structure is to be found."""
    if not structure.is_sought:
        return
    check_sought(structure)
    nodes = {
        "y": y is not None,
        "min_cluster_size of each node": np.ndim(model.min_cluster_size) > 0,
        "max_cluster_size of each node": np.ndim(model.max_cluster_size) > 0,
    }
    if given := [name for name, there in nodes.items() if there]:
        raise ValueError(
            f"{', '.join(given)} with structure '{structure}': the nodes of a structure that is found are not known "
            "before the fit. Leave it out, or name a structure."
        )


def check_enough_samples(n_samples: int, structure: Structure) -> None:
    c = structure.n_clusters
    if n_samples < c:
        raise ValueError(
            f"n_samples={n_samples} should be >= n_clusters={c}: there are fewer samples (of positive weight) than "
            f"clusters in structure '{structure}'."
        )


def _check_lengths(model: Any, names: tuple[str, ...], length: int) -> None:
    for name in names:
        value = getattr(model, name, None)
        if value is not None and (not isinstance(value, np.ndarray) or value.shape[:1] != (length,)):
            raise ValueError(f"{name} has shape {np.shape(value)}, but must have {length} rows.")


def _check_range(name: str, values: np.ndarray, low: int, end: int) -> None:
    whole = values.dtype.kind in "iu" and values.ndim == 1
    if not whole or values.min(initial=low) < low or values.max(initial=low) >= end:
        raise ValueError(f"{name} must be integers from {low} to {end - 1}.")
