"""MultiKernelClustering: several kernels or views of the same samples, weighed and clustered together."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

import kernelclust.kernels as kernel_parts
import kernelclust.multikernel as methods
from kernelclust._names import check_name, check_number, load, names
from kernelclust._threads import ONE_THREAD, one_thread
from kernelclust.estimators.structured import (
    DEFAULT_CLUSTERS,
    StructuredClustering,
    canonical_places,
    check_enough_samples,
)
from kernelclust.kernels import (
    APPROXIMATIONS,
    DenseKernel,
    FittedKernel,
    LowRankKernel,
    Spectrum,
    check_definite,
    fit_kernel,
)
from kernelclust.multikernel import CORRELATIONS, Refined, Relaxed, Task, correlation_matrix, prepare, refine
from kernelclust.multikernel._extension import extension
from kernelclust.multikernel._refine import alignment, unit_rows
from kernelclust.multikernel._spectral import lam_path
from kernelclust.multikernel._views import (
    Views,
    check_kernels,
    check_views,
    columns_of,
    is_many,
    kernels_of,
    median_gamma,
)
from kernelclust.objectives import Dependence, make_dependence
from kernelclust.objectives.dependence import NORMALIZATIONS
from kernelclust.solvers.placement import RULES
from kernelclust.solvers.starts import fill_empty

DOMINANT = 0.9  # weight from which a kernel with next to no residual is reported
KRYLOV = 6  # products that a kernel's lowest eigenvalue is sought with
ROUNDING = 1e-12  # share of a kernel's diagonal that centring may leave of a constant one
DEGENERATE = 0.01  # residual, as a share of the trace, that is next to none


class MultiKernelClustering(ClusterMixin, BaseEstimator):
    """Cluster samples that are described by several kernels or views, and learn how much each of them counts.

    The default minimises (Liu et al. 2016, eq. 8)

        sum_p mu_p^2 Tr(K_p (I - H H')) + lam / 2 mu' M mu,   mu >= 0, sum mu = 1, H'H = I,

    where M says how alike two kernels are, so that kernels which repeat each other share one vote; then replaces the
    relaxed H by true labels and goes on with discrete moves and new weights in turn (`refine`), with any structure.
    Kernels are centred and scaled to a unit diagonal first. Always compare with concatenated, standardised views.

    Parameters
    ----------
    n_clusters : int, default=8
    method : str, default="mkkm-mr"
        "average": the mean kernel. "mkkm": weights without regularisation. "mkkm-mr": with it. "lmkkm": weights for
        every sample. "rmkkm": distances instead of squares, for outliers. "crsc": co-regularised spectral clustering.
        "rmsc": a low-rank random walk behind all views. "rmkc": a low-rank kernel behind corrupted ones.
    kernels : "auto", "precomputed", kernel or list, default="auto"
        A kernel is a name ("rbf", "linear", "graph", ...), a function k(X, Y), a number (gamma of "rbf") or a pair
        (kernel, {parameter: value}). A list has one for each view (or a list of several for it); with a single view all
        are put on it. "auto": "rbf" for each view, or three of them, narrow to wide, on a single table. The width of
        "rbf" is the median distance between samples unless gamma is given. "precomputed": X is a stack of kernels.
    views : list or dict of columns, optional
        For X one table: the columns of every view, as names, numbers, a slice, or a function of X.
    lam : float or "auto", default="auto"
        Of "mkkm-mr", in the paper's units: on prepared kernels, M undivided. 0 is "mkkm". "auto" tries 1/16, 1/4, 1 and
        4 times the value at which both terms count the same for the mean kernel, and keeps the fit whose labels align
        best with its combined kernel, <K, P P'> / |K| |P P'| with P the normalised labels (eq. 10 of the paper). Small
        values trust kernels that few eigenvectors describe, large ones kernels that resemble no other, noise too.
    correlation : {"trace", "hsic", "mmd", "kl"} or callable, default="trace"
        M: Tr(K_p K_q) as in the paper, or others (see `kernelclust.multikernel.correlation_matrix`).
    power : {1, 2}, default=2
        Kernels are combined as sum_p mu_p^power K_p. 2 is eq. (8) and falls in every step; 1 is the authors' program.
    ridge : float, default=0.0
        Added to every residual in units of its kernel's trace. 0.01 or more keeps a kernel that c eigenvectors
        describe completely from taking all the weight in "mkkm".
    structure : str, Structure or (c, c) array, default="flat"
        How clusters relate, as in `StructuredClustering`; used by `refine`.
    loss, normalize, rho, placement
        As in `StructuredClustering`.
    refine : bool, default=True
        Whether labels are improved by discrete moves. False is the papers' methods. "rmkkm", whose labels are
        discrete already, is refined for a structure only.
    center, unit_diagonal : bool, default=True, True
        Whether kernels are centred, then scaled to a unit diagonal.
    method_params : dict, optional
        Parameters of the method: n_steps ("lmkkm"), gamma ("rmkkm"), strength ("crsc"), sparsity, growth, accuracy
        ("rmsc"), bad_share, n_steps ("rmkc").
    n_init : int, default=10
        k-means starts on the rows of the embedding; the lowest inertia counts.
    approximation, n_components
        As in `StructuredClustering`; "auto" is exact while all kernels together fit scikit-learn's `working_memory`.
    max_iter : int, default=100
    tol : float, default=1e-6
        Relative fall of the objective at which the method stops.
    random_state : int, RandomState or None
    verbose : int, default=0

    Attributes
    ----------
    labels_ : (n,) int array
    weights_ : (m,) array
        Weights mu of the kernels; they add up to one.
    objective_ : float
        The value of eq. (8) on the prepared kernels at `labels_` and `weights_` (with `refine`; for other methods and
        structures its counterpart), or of the method's own objective at its relaxed solution (without).
    history_ : list of float
        The objective after every step. Never rises, but for power=1 and "rmsc".
    kkt_residual_ : float
        Relative optimality gap of `weights_`: mu'g - min g over mu'g, g half the slope of eq. (8). Zero if optimal.
    embedding_ : (n, k) array
        Relaxed labels.
    relaxed_objective_ : float
        Objective before refinement.
    sample_weights_ : (n, m) array or None
        Of "lmkkm".
    lam_ : float
        In use; 0 for other methods.
    sizes_, structure_, n_iter_, n_features_in_

    Notes
    -----
    A sample that is missing from a view (a row of NaN, or False in `observed`) has similarity zero with all others in
    that view, as if it sat at the view's mean: the view says nothing about it. Kernels are multiplied by n / (samples
    held), so that a view does not look better for holding few. A sample missing from all views is refused.

    Memory: the kernels, which are not copied, and O(n m c); "rmsc" and "rmkc" need more matrices of the same size.

    `predict` puts new samples where F of the combined kernel rises most: the nearest mean for flat clusters. "crsc",
    "rmsc" and "rmkc" have no function of x; the mean of the kernels stands in.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from kernelclust import MultiKernelClustering
    >>> X, y = make_blobs(90, n_features=4, centers=3, random_state=0)
    >>> noise = np.random.default_rng(0).standard_normal((90, 3))
    >>> model = MultiKernelClustering(3, random_state=0).fit([X[:, :2], X[:, 2:], noise])
    >>> len(set(zip(y.tolist(), model.labels_.tolist())))
    3
    >>> model.weights_.shape
    (3,)
    """

    def __init__(
        self,
        n_clusters=DEFAULT_CLUSTERS,
        *,
        method="mkkm-mr",
        kernels="auto",
        views=None,
        lam="auto",
        correlation="trace",
        power=2,
        ridge=0.0,
        structure="flat",
        loss=None,
        normalize="l2",
        rho=2.0,
        placement="distance",
        refine=True,
        center=True,
        unit_diagonal=True,
        method_params=None,
        n_init=10,
        approximation="auto",
        n_components=None,
        max_iter=100,
        tol=1e-6,
        random_state=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.method = method
        self.kernels = kernels
        self.views = views
        self.lam = lam
        self.correlation = correlation
        self.power = power
        self.ridge = ridge
        self.structure = structure
        self.loss = loss
        self.normalize = normalize
        self.rho = rho
        self.placement = placement
        self.refine = refine
        self.center = center
        self.unit_diagonal = unit_diagonal
        self.method_params = method_params
        self.n_init = n_init
        self.approximation = approximation
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, *, observed=None):
        """Learn weights and labels.

        Parameters
        ----------
        X : table (n, d); list of tables, one a view; or stack (m, n, n) or list of kernels for kernels="precomputed"
        y : ignored
        observed : bool array of shape (n, views), optional
            False where a sample is missing from a view; rows of NaN say the same.

        Returns
        -------
        self
        """
        before = dict(self.__dict__)
        try:
            return self._fit(X, observed)
        except BaseException:
            self.__dict__ = before  # nothing half-fitted: the last fit whole, or none
            raise

    def _fit(self, X, observed):
        solve, params = self._check_parameters()
        structure = self._check_structure()
        views = self._check_samples(X, observed, reset=True)
        check_enough_samples(views.n_samples, structure)
        with one_thread() if views.n_samples <= ONE_THREAD else nullcontext():
            return self._fit_checked(views, structure, solve, params)

    def _fit_checked(self, views: Views, structure, solve: Callable, params: dict):
        n, c = views.n_samples, structure.n_clusters
        rng = check_random_state(self.random_state)
        fitted, samples = self._fit_kernels(views, c, rng)
        self._check_informative(fitted)
        kernels = [
            prepare(one.operator, n, held, center=self.center, unit=self.unit_diagonal)
            for one, held in zip(fitted, samples, strict=True)
        ]
        m = len(kernels)
        needs_M = self.method == "mkkm-mr" and m > 1
        M = correlation_matrix(kernels, self.correlation) if needs_M else np.diag([k.trace for k in kernels])
        options = {"lam": self.lam, "power": self.power, "ridge": self.ridge}
        task = Task(kernels, min(c, n), rng, M, max_iter=self.max_iter, tol=self.tol, **options)
        objective = make_dependence(structure, loss=self.loss, normalize=self.normalize, rho=self.rho)
        tasks = lam_path(task) if needs_M and isinstance(self.lam, str) else [task]
        fits = [self._search(one, solve, params, objective) for one in tasks]
        relaxed, found = fits[0]
        if len(fits) > 1:
            T = M if self.correlation == "trace" else correlation_matrix(kernels)
            scores = [alignment(kernels, T, both[1].labels, self._coefficients_of(*both)) for both in fits]
            relaxed, found = fits[int(np.argmax(scores))]
        labels, weights, coefficients = found.labels, found.weights, self._coefficients_of(relaxed, found)
        if not found.converged:
            warnings.warn(
                f"method={self.method!r} stopped before it had converged; raise max_iter={self.max_iter} or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        S = np.sum([mu * kernel.cluster_sums(labels, c) for mu, kernel in zip(coefficients, kernels, strict=True)], 0)
        node = canonical_places(structure, S, np.bincount(labels, minlength=c).astype(float))
        labels, order = node[labels], np.argsort(node)
        S, sizes = S[np.ix_(order, order)], np.bincount(labels, minlength=c).astype(float)
        self._warn_of_degenerate(task, relaxed, weights)

        self.structure_ = structure
        self.labels_ = labels
        self.weights_ = weights
        self.objective_ = float(found.objective)
        self.relaxed_objective_ = float(relaxed.objective)
        self.history_ = found.history
        self.kkt_residual_ = float(found.gap)
        self.embedding_ = relaxed.embedding
        self.sample_weights_ = relaxed.by_sample
        self.lam_ = relaxed.lam
        self.sizes_ = sizes
        self.n_iter_ = len(relaxed.history)
        self._slopes = objective.slopes(S, sizes)
        self._coefficients = coefficients
        self._extensions = [
            extension(one, kernel, labels, c, unit=self.unit_diagonal, center=self.center)
            for one, kernel in zip(fitted, kernels, strict=True)
        ]
        return self

    def predict(self, X, *, observed=None):
        """Place new samples where F of the combined kernel rises most; the nearest mean for flat clusters.

        Parameters
        ----------
        X : as in `fit`; for kernels="precomputed" a stack (m, n_new, n) of similarities with the fitted samples. The
            similarity of a new sample with itself is then taken to be the mean of the fitted ones.
        observed : bool array of shape (n_new, views), optional

        Returns
        -------
        labels : (n_new,) int array
        """
        check_is_fitted(self)
        views = self._check_samples(X, observed, reset=False)
        G = np.zeros((views.n_samples, len(self.sizes_)))
        for coefficient, one, v in zip(self._coefficients, self._extensions, self._view_of_kernel, strict=True):
            samples = views.samples(v)
            if samples is None or len(samples):
                G[slice(None) if samples is None else samples] += coefficient * one(views.held(v))
        return np.argmax(self._rises(G), axis=1)

    # -- checks ---------------------------------------------------------------------------------------------------

    _check_structure = StructuredClustering._check_structure
    _rises = StructuredClustering._rises
    _report = StructuredClustering._report

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernels, str) and self.kernels == "precomputed"

    def _check_samples(self, X, observed, *, reset: bool) -> Views:
        if self._is_precomputed():
            if self.views is not None:
                raise ValueError("views choose columns of a table; with kernels='precomputed' X holds kernels.")
            return self._check_similarities(X, observed, reset=reset)
        if is_many(X):
            if self.views is not None:
                raise ValueError("X is a list of views already; give views=None, or one table.")
            parts = list(X)
            view_names = [str(v) for v in range(len(parts))]
            views = check_views(parts, view_names, observed)
        else:
            if self.views is None:
                options = {"dtype": [np.float64, np.float32], "accept_sparse": "csr", "ensure_all_finite": "allow-nan"}
                parts, view_names = [validate_data(self, X, reset=reset, **options)], ["X"]
            else:  # columns of no view may hold anything
                X = X if hasattr(X, "shape") else np.asarray(X)
                validate_data(self, X, reset=reset, skip_check_array=True)
                parts, view_names = columns_of(X, self.views)
            views = check_views(parts, view_names, observed)
        widths = [array.shape[1] for array in views.arrays]
        if reset:
            self._widths = widths
            if is_many(X):
                self.n_features_in_ = sum(widths)
                self.__dict__.pop("feature_names_in_", None)
        elif widths != self._widths:
            raise ValueError(
                f"X has views of {widths} features, but {type(self).__name__} was fitted with {self._widths} features."
            )
        return views

    def _check_similarities(self, X, observed, *, reset: bool) -> Views:
        if reset:
            views = check_kernels(X, observed)
            self.n_features_in_ = views.n_samples
            self.__dict__.pop("feature_names_in_", None)
            return views
        parts = [np.asarray(part) for part in (X if is_many(X) else [X])]
        if len(parts) != len(self._extensions):
            raise ValueError(f"X holds {len(parts)} kernels, but {len(self._extensions)} were fitted.")
        for p, part in enumerate(parts):
            if part.ndim != 2 or part.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"kernel {p} has shape {part.shape}; give similarities of new samples with the "
                    f"{self.n_features_in_} fitted ones, (n_new, {self.n_features_in_})."
                )
            parts[p] = part if self._samples[p] is None else part[:, self._samples[p]]
        return check_views(parts, [str(p) for p in range(len(parts))], observed)

    def _check_parameters(self) -> tuple[Callable, dict]:
        known = [name.replace("_", "-") for name in names(methods)]
        check_name("method", self.method, known)
        check_name("normalize", self.normalize, NORMALIZATIONS)
        check_name("placement", self.placement, RULES)
        check_name("approximation", self.approximation, APPROXIMATIONS)
        if isinstance(self.lam, str):
            check_name("lam", self.lam, ["auto"], also=", or a number of 0 or more")
        else:
            check_number("lam", self.lam)
        if not callable(self.correlation):
            check_name("correlation", self.correlation, CORRELATIONS, also=", or a function of two kernel matrices")
        if isinstance(self.power, bool) or self.power not in (1, 2):
            raise ValueError(f"power={self.power!r}: give 2 (the paper's formula) or 1 (its authors' program).")
        for name, least in (("ridge", 0), ("rho", 0), ("tol", 0)):
            check_number(name, getattr(self, name), least=least)
        for name in ("n_init", "max_iter"):
            check_number(name, getattr(self, name), whole=True, least=1)
        if self.n_components is not None:
            check_number("n_components", self.n_components, whole=True, least=1)
        for name in ("refine", "center", "unit_diagonal"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise TypeError(f"{name}={getattr(self, name)!r}: give True or False.")
        if self.method_params is not None and not isinstance(self.method_params, Mapping):
            raise TypeError(f"method_params={self.method_params!r}: give a dict of parameters, or None.")
        part, params = load(methods, self.method.replace("-", "_")), dict(self.method_params or {})
        for name in params:
            if name not in part.PARAMETERS:
                allowed = ", ".join(part.PARAMETERS) or "none"
                raise ValueError(
                    f"method_params has {name!r}, which method={self.method!r} does not take (it takes: {allowed})."
                )
        return part.solve, params

    # -- parts ----------------------------------------------------------------------------------------------------

    def _fit_kernels(self, views: Views, n_clusters: int, rng) -> tuple[list[FittedKernel], list]:
        if self._is_precomputed():
            wanted: list[list] = [[("precomputed", {})] for _ in views.arrays]
        else:
            wanted = kernels_of(self.kernels, len(views.arrays))
        total = sum(len(some) for some in wanted)
        fitted, samples, self._view_of_kernel, self._samples = [], [], [], []
        for v, some in enumerate(wanted):
            held, X = views.samples(v), views.arrays[v] if self._is_precomputed() else views.held(v)
            for kernel, params in some:
                one = self._fit_kernel(X, kernel, dict(params), n_clusters, total, rng)
                if one.operator.form == "dense" and (callable(kernel) or kernel == "precomputed"):
                    _check_definite(one.operator)
                fitted.append(one)
                samples.append(held)
                self._view_of_kernel.append(v)
            self._samples.append(held)
        return fitted, samples

    def _check_informative(self, fitted: list[FittedKernel]) -> None:
        """Refuse a constant kernel beside others: it has no residual, so weights would go to it."""
        constant = [self.center and _is_constant(one.operator) for one in fitted]
        if any(constant) and not all(constant):
            p = constant.index(True)
            raise ValueError(
                f"kernel {p} (view {self._view_of_kernel[p]}) is constant: all its samples are equal, so it says "
                "nothing about clusters; leave it out."
            )

    def _fit_kernel(self, X, kernel, params: dict, n_clusters: int, total: int, rng) -> FittedKernel:
        gamma = params.pop("gamma", "scale") if not callable(kernel) else "scale"
        width = params.pop("width", 1.0) if not callable(kernel) else 1.0
        if isinstance(gamma, str) and gamma == "median":
            gamma = median_gamma(X, width)
        if kernel == "precomputed" and self.approximation in (None, "auto"):
            return FittedKernel(DenseKernel(X))
        return fit_kernel(
            X,
            np.ones(X.shape[0]),
            kernel=kernel,
            gamma=gamma,
            degree=params.pop("degree", 3) if kernel == "polynomial" else 3,
            coef0=params.pop("coef0", 1) if kernel == "polynomial" else 1,
            kernel_params=params,
            n_clusters=n_clusters,
            approximation=self._approximation(X, kernel, total),
            n_components=self.n_components,
            rng=rng,
        )

    def _approximation(self, X, kernel, total: int) -> str | None:
        """ "auto" for one kernel of many: exact while all of them fit."""
        n, d = X.shape
        if self.approximation != "auto" or total * n * n * X.dtype.itemsize / 2**20 <= get_config()["working_memory"]:
            return None if self.approximation == "auto" else self.approximation
        if not callable(kernel) and hasattr(load(kernel_parts, kernel), "features") and d <= n // 2:
            return None
        warnings.warn(
            f"{total} kernel matrices of {n} x {n} would take more than scikit-learn's working_memory: using Nystrom "
            "approximations. Set approximation=None for exact kernels, approximation='nystroem' to accept this "
            "silently, or sklearn.set_config(working_memory=...).",
            UserWarning,
            stacklevel=8,
        )
        return "nystroem"

    def _round(self, relaxed: Relaxed, n_clusters: int, rng) -> np.ndarray:
        if relaxed.labels is not None:
            return relaxed.labels
        E = unit_rows(relaxed.embedding)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
            labels = KMeans(n_clusters, n_init=self.n_init, random_state=rng).fit_predict(E)
        return fill_empty(labels, E, n_clusters)

    def _search(self, task: Task, solve: Callable, params: dict, objective: Dependence) -> tuple[Relaxed, Refined]:
        relaxed = solve(task, **params)
        self._report(f"{self.method}: objective {relaxed.objective:.6g} after {len(relaxed.history)} steps")
        c = objective.n_clusters
        labels = self._round(relaxed, c, task.rng)
        flat = np.array_equal(objective.A, np.eye(c)) and not objective.has_loss
        if not self.refine or (flat and relaxed.labels is not None):
            way = (relaxed.objective, relaxed.history, relaxed.gap, relaxed.converged)
            return relaxed, Refined(labels, relaxed.weights, *way)
        refined = refine(task, relaxed, labels, objective, rule=self.placement)
        self._report(f"refined: objective {refined.objective:.6g} after {len(refined.history)} steps")
        return relaxed, replace(refined, converged=relaxed.converged and refined.converged)

    def _coefficients_of(self, relaxed: Relaxed, found: Refined) -> np.ndarray:
        """What kernels are multiplied by in the sum that labels new samples."""
        if relaxed.by_sample is not None:
            return np.mean(relaxed.by_sample**2, axis=0)
        return found.weights**self.power if relaxed.learns else found.weights

    def _warn_of_degenerate(self, task: Task, relaxed: Relaxed, weights: np.ndarray) -> None:
        p = int(np.argmax(weights))
        if len(weights) == 1 or weights[p] < DOMINANT or relaxed.coefficients is None:
            return
        H, kernel = relaxed.embedding, task.kernels[p]
        residual = 1 - float(np.sum(H * (kernel @ H))) / max(kernel.trace, np.finfo(float).tiny)
        if residual < DEGENERATE:
            warnings.warn(
                f"kernel {p} has next to no residual ({100 * residual:.2g}% of its trace): {task.n_clusters} "
                f"eigenvectors describe it completely, so method={self.method!r} gives it {weights[p]:.3f} of the "
                "weight whatever it knows about clusters. Use method='mkkm-mr' with a larger lam, method='average', "
                "ridge=0.01 or more, or leave the kernel out.",
                UserWarning,
                stacklevel=5,
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags


def _is_constant(operator: DenseKernel | LowRankKernel) -> bool:
    """Whether samples differ by no more than rounding."""
    own = float(np.mean(operator.diagonal()))
    if operator.form == "low_rank":
        raw = own + float(operator.offset @ operator.offset)
    else:
        raw = float(np.abs(np.diagonal(operator.K)).mean())
    return own <= ROUNDING * raw


def _check_definite(kernel: DenseKernel) -> None:
    """Refuse a kernel that is far from positive semidefinite, seen from a small Krylov space."""
    n = kernel.n_samples
    Q = np.linalg.qr(np.random.RandomState(0).standard_normal((n, 1)))[0]
    images = kernel @ Q
    for _ in range(min(KRYLOV, n - 1)):
        newest = images[:, -1:] - Q @ (Q.T @ images[:, -1:])
        newest = np.linalg.qr(newest - Q @ (Q.T @ newest))[0]
        Q, images = np.hstack([Q, newest]), np.hstack([images, kernel @ newest])
    H = Q.T @ images
    values = np.linalg.eigvalsh((H + H.T) / 2)
    seen = Spectrum(values[::-1], Q, values[::-1], float(values[0]), 1 / float(np.sqrt(n)))
    check_definite(seen, kernel)
