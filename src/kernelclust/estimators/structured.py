"""StructuredClustering: check, build the parts of the formula, solve, keep what was learned."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

import kernelclust.solvers as solvers
from kernelclust._names import check_name, check_number, load, names
from kernelclust._threads import ONE_THREAD, one_thread
from kernelclust._units import unit_warning
from kernelclust.estimators._evidence import DISAGREE, LOW_SUPPORT, SIZE_PRIOR, Evidence
from kernelclust.kernels import (
    APPROXIMATIONS,
    FittedKernel,
    Spectrum,
    check_definite,
    check_graph,
    check_precomputed,
    fit_kernel,
    kernel_names,
    leading_spectrum,
)
from kernelclust.objectives import Dependence, make_dependence
from kernelclust.objectives.dependence import NORMALIZATIONS, check_weights
from kernelclust.solvers._constraints import Constraints, equal_rows, make_constraints
from kernelclust.solvers._problem import Options, Problem
from kernelclust.solvers.greedy import INITS, SEARCHES, check_start
from kernelclust.solvers.placement import RULES, placement_margin, placement_problem
from kernelclust.structures import Structure, as_structure

EXTRA_DIMENSIONS = 8  # eigenvectors beyond the c - 1 that a flat clustering needs
LOW_MARGIN = 0.3  # placement margins below deserve a warning
DEFAULT_CLUSTERS = 8


class StructuredClustering(ClusterMixin, BaseEstimator):
    """Kernel clustering whose clusters have places: on a chain, a ring, a grid, a tree, or any graph.

    Maximises the dependence between data and labels (CLUHSIC, CLUHSICAL),

        F = tr(K P A P'),   P = Pi T N^-1,

    where K compares samples, A compares clusters, Pi holds the labels one-hot, T comes from a loss (the identity
    without one) and N normalises columns. Choose a `structure` when clusters have neighbours (stages, seasons, a map,
    a taxonomy): label j then means place j of it. With structure="flat" and normalize="l2" this is kernel k-means.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters for "flat", "chain" and "ring". A structure that carries its size sets it, and any value
        other than the default must agree with it.
    structure : str, Structure or (c, c) array, default="flat"
        How clusters relate: "flat", "chain", "ring", "ring:12", "grid:3x4", "tree:3x3", "tree:(a,(b,c))",
        "flat:4*chain:3", an object of `kernelclust.structures`, a psd matrix or a networkx graph.
    kernel : str or callable, default="rbf"
        "linear", "polynomial", "rbf", "laplacian", "cosine" (text), "graph" (commute times in a nearest-neighbour
        graph: curved clusters, images, cells), "auto" (the mean of such graphs over three views of X and three
        sizes), "diffusion", "precomputed", "precomputed_graph" (X holds the affinities of a graph, sparse or dense),
        or a function k(X, Y) -> (n, m) matrix. Beyond 3000 samples the graph kernels keep the smoothest functions on
        the graph alone (2c + 10 of them, or `n_components`).
    gamma : float or "scale", default="scale"
        Inverse width of "rbf" and "laplacian", factor of "polynomial". "scale" is 1 / mean squared distance between
        samples (1 / mean distance for "laplacian").
    degree, coef0 : float, default=3, 1
        Of the polynomial kernel.
    kernel_params : dict, optional
        More parameters of the kernel: n_neighbors, regularization ("graph"), n_neighbors, time ("diffusion"), or
        keywords of your function.
    loss : {"zero-one", "structure"}, (c, c) array or None, default=None
        What it costs to mistake one cluster for another (CLUHSICAL). With normalize="l1", "zero-one" says that groups
        of similar size are expected.
    normalize : {"l2", "l1", None}, default="l2"
        Norm that columns of P are divided by. "l1" needs a loss to be useful.
    rho : float, default=2.0
        Added to the diagonal of A, so that a cluster prefers itself to its neighbours; no effect for "flat".
    size_prior : float or "auto", default="auto"
        a >= 0: sizes are normalised as n_j + a m / c, so that clusters of like size are preferred. A belief about the
        groups, for l1 and l2 without a loss: 0.2 helps where groups are known to be even (topics of equal share),
        and breaks up true groups where they are not. "auto" is 0, but for kernel="auto" on data whose views
        (as given, standardised, scaled rows) disagree about the clusters: there it is 0.2, with a warning.
    search : {"refine", "place", "global"}, default="refine"
        "refine": fit without structure, place the clusters on the structure, improve with F. "place": stop before the
        improvement; keeps the flat clusters, which was measured to be better for trees. "global": maximise F from
        every start, point moves alternated with placement, as the papers mean it.
    placement : {"distance", "F"}, default="distance"
        How clusters find their places: neighbours should have close means, or F should be large.
    solver : {"greedy", "spectral", "polar", "nmf", "low_rank_sdp", "sdp"}, default="greedy"
        Point moves and placement, or a relaxation of l2 without a loss: orthonormal labels ("spectral", "polar"),
        non-negative factors ("nmf"), semidefinite ("low_rank_sdp"; "sdp" for a few dozen samples, with
        kernelclust[sdp]). They do not use `search`, `placement`, `init` and `n_init`.
    solver_params : dict, optional
        Parameters of the relaxation: max_steps, step_tol ("polar", "nmf"); rank, pull, violation, max_steps
        ("low_rank_sdp"); conic_solver ("sdp").
    polish : bool, default=True
        Whether the labels of a relaxation are improved by point moves and placement. False is the papers' method.
    init : {"auto", "spectral", "projected", "k-means++", "random"} or array of labels, default="auto"
        "auto" tries a deterministic spectral start and `n_init` others in the kernel's leading eigenvectors, shakes
        the best, then finishes it on the kernel itself. The others run every start on the kernel.
    n_init : int or "auto", default="auto"
        Number of starts; "auto" is 20 for init="auto", 1 for "spectral", else 10.
    approximation : {"auto", "nystroem", "cholesky", "random_features"} or None, default="auto"
        None is the exact kernel. "auto" is exact while the kernel matrix fits scikit-learn's `working_memory`
        (1024 MiB unless set: 11 585 samples in double precision), else Nystrom, with a warning.
    n_components : int, optional
        Rank of the approximation; 300 by default. "cholesky" takes as many columns as the eigengap asks for.
    min_cluster_size, max_cluster_size : number or array of shape (c,), optional
        Bounds on the size of every cluster, or of each place: kept exactly. Sizes are sums of sample weights.
    label_weight : float, optional
        None trusts the labels y given to `fit` fully. A number t >= 0 trusts them softly: F gains
        t (b / m) w_i for every labelled sample that gets its label, where b is the bound of F for equal sizes, so
        that t = 1 counts a label like a sample's mean share of the best F.
    max_iter : int, default=100
        Sweeps over the samples at most, for each start.
    tol : float, default=1e-10
        A sample is moved when F rises by more than `tol` times the sum of F's absolute terms.
    allow_empty : bool, default=False
        Whether moves may leave a cluster empty.
    n_jobs : int, optional
        Threads over starts; the labels do not depend on it.
    random_state : int, RandomState or None
        Seed of starts and landmarks.
    verbose : int, default=0
        Print a line a start.

    Attributes
    ----------
    labels_ : (m,) int array
        Place of every sample in the structure. Of equivalent numberings (a ring turned, a flat clustering permuted)
        the one with large clusters first, unless labels were given: then clusters have the places that these say.
    objective_ : float
        F at `labels_`, as optimised: K centred and otherwise as given, rho included.
    upper_bound_ : float
        No labeling has a larger F.
    gap_ : float
        (upper_bound_ - objective_) / upper_bound_: how far the *optimisation* may be from the best, not how right the
        clustering is.
    size_bound_ : float
        No labeling with these cluster sizes has a larger F; tighter.
    placement_margin_ : float
        How much better this arrangement is than the best different one, in standard deviations over all
        arrangements. Below 0.3 several arrangements fit almost equally well; a large one is no proof.
    sizes_ : (c,) array
        Weight of every cluster.
    support_ : float or None
        With kernel="auto" on a chain or ring: how far other graphs of the same samples, and rbf kernels, give the same
        arrangement; 1 when all do. Below 0.8 a warning says that the order is uncertain. Not a probability.
    view_agreement_ : float or None
        With kernel="auto": how alike the clusterings are that X as given, standardised, and with scaled rows give.
    size_prior_ : float
        Size prior in use.
    relaxed_objective_ : float or None
        F at the labels of a relaxation before rounding.
    structure_ : Structure
    gamma_ : float or None
        Width in use.
    n_iter_ : int
    history_ : list of float
        F after every sweep of the run that won, with what soft labels add; never falls.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import StructuredClustering
    >>> angle = np.repeat(np.arange(6) * np.pi / 3, 20)
    >>> X = np.c_[np.cos(angle), np.sin(angle)] + 0.05 * np.random.default_rng(0).standard_normal((120, 2))
    >>> model = StructuredClustering(structure="ring:6", random_state=0).fit(X)
    >>> step = np.diff(model.labels_[::20]) % 6  # next sector, next place: all +1 or all -1
    >>> bool(np.all(step == 1) or np.all(step == 5))
    True
    """

    def __init__(
        self,
        n_clusters=DEFAULT_CLUSTERS,
        *,
        structure="flat",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        loss=None,
        normalize="l2",
        rho=2.0,
        size_prior="auto",
        search="refine",
        placement="distance",
        solver="greedy",
        solver_params=None,
        polish=True,
        init="auto",
        n_init="auto",
        approximation="auto",
        n_components=None,
        min_cluster_size=None,
        max_cluster_size=None,
        label_weight=None,
        max_iter=100,
        tol=1e-10,
        allow_empty=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.structure = structure
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.loss = loss
        self.normalize = normalize
        self.rho = rho
        self.size_prior = size_prior
        self.search = search
        self.placement = placement
        self.solver = solver
        self.solver_params = solver_params
        self.polish = polish
        self.init = init
        self.n_init = n_init
        self.approximation = approximation
        self.n_components = n_components
        self.min_cluster_size = min_cluster_size
        self.max_cluster_size = max_cluster_size
        self.label_weight = label_weight
        self.max_iter = max_iter
        self.tol = tol
        self.allow_empty = allow_empty
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, sample_weight=None, must_link=None, cannot_link=None):
        """Cluster the samples, and keep to what is known about them.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (m, d); (m, m) for kernel="precomputed" and
            "precomputed_graph"
        y : array of shape (m,), optional
            Known labels: the place of a sample in the structure, 0 to c - 1, or -1 where it is unknown. Classes of all
            samples are no side information: leave y out to cluster without them (given, they are returned, with a
            warning, or ignored, with a warning, where they do not fit the structure).
        sample_weight : array of shape (m,), optional
            A weight counts as that many copies; weight zero takes part in nothing but gets a label.
        must_link, cannot_link : arrays of shape (n, 2), optional
            Pairs of sample indices that must, or must not, be in one cluster.

        Labels (unless `label_weight` makes them soft), links and sizes are kept exactly by every solver. A
        contradiction is an error, before any other work. `predict` knows nothing of them. With few labels
        search="refine" follows them best: "global" maximises F, and F may prefer other places for all samples but the
        labelled ones.

        Returns
        -------
        self
        """
        before = dict(self.__dict__)
        try:
            return self._fit(X, y, sample_weight, must_link, cannot_link)
        except BaseException:
            self.__dict__ = before  # nothing half-fitted: the last fit whole, or none
            raise

    def fit_predict(self, X, y=None, **params):
        """`labels_` after `fit(X, y, **params)`: known labels and links are used."""
        return self.fit(X, y, **params).labels_

    def _fit(self, X, y, sample_weight, must_link, cannot_link):
        self._check_parameters()
        X = self._check_samples(X, reset=True)
        weight, structure = check_weights(sample_weight, X), self._check_structure()
        check_enough_samples(int((weight > 0).sum()), structure)
        known = make_constraints(
            weight,
            structure.n_clusters,
            labels=y,
            must_link=must_link,
            cannot_link=cannot_link,
            min_size=self.min_cluster_size,
            max_size=self.max_cluster_size,
            label_weight=self.label_weight,
            allow_empty=self.allow_empty,
        )
        if known is not None and (known.place >= 0).all():
            warnings.warn(
                "y labels every sample, and its labels are returned; leave y out to cluster without them.",
                UserWarning,
                stacklevel=3,
            )
        with one_thread() if X.shape[0] <= ONE_THREAD else nullcontext():
            return self._fit_checked(X, weight, structure, known)

    def _fit_checked(self, X, weight, structure: Structure, known: Constraints | None):
        used = np.flatnonzero(weight > 0)
        rng = check_random_state(self.random_state)

        named = isinstance(self.kernel, str) and not self._is_precomputed()
        if named and not sparse.issparse(X) and (text := unit_warning(X, weight)):
            warnings.warn(text, UserWarning, stacklevel=4)
        everything = len(used) == len(weight)
        c = structure.n_clusters
        samples = X if everything else self._subset(X, used)
        fitted = self._fit_kernel(samples, weight[used], c, rng)
        evidence = self._gather(fitted, weight[used], c)
        size_prior = self._choose_size_prior(evidence)
        objective = make_dependence(
            structure, loss=self.loss, normalize=self.normalize, rho=self.rho, size_prior=size_prior
        )
        spectrum = leading_spectrum(fitted.operator, c - 1 + EXTRA_DIMENSIONS, c - 1, rng)
        check_definite(spectrum, fitted.operator)
        fitted, spectrum = self._transform(fitted, spectrum, c, rng)
        operator = fitted.operator
        constraints = known if known is None or everything else known.among(used)
        copies = equal_rows(samples, c, weight[used]) if known is None and not self._is_graph() else None
        problem = Problem(operator, spectrum, objective, _flat_objective(objective), constraints, copies)
        solve, params = self._solver()
        solution = solve(problem, self._options(used, len(weight), c), rng, **params)
        if not solution.converged:
            stopped = {
                "max_iter": f"stopped after max_iter={self.max_iter} sweeps while samples were moving; raise max_iter.",
                "max_steps": f"the relaxation of solver={self.solver!r} stopped before it had converged; raise "
                "max_steps in solver_params.",
            }
            warnings.warn(
                stopped[solution.stopped_because],
                ConvergenceWarning,
                stacklevel=4,
            )
        S = solution.cluster_sums
        sizes = np.bincount(solution.labels, operator.weight, minlength=c)
        node = canonical_places(structure, S, sizes, **problem.placing(objective, solution.labels))
        labels = node[solution.labels]
        order = np.argsort(node)
        S, n = S[np.ix_(order, order)], np.bincount(labels, operator.weight, minlength=c)

        self.structure_ = structure
        self.gamma_ = fitted.gamma
        self.sizes_ = n
        self.objective_ = solution.value if constraints is None else objective.value(S, n)
        spectral_bound = objective.upper_bound(spectrum.bounds, n.sum(), operator.weight.min())
        self.upper_bound_ = max(min(spectral_bound, solution.bound), self.objective_)
        self.relaxed_objective_ = solution.relaxed_value
        self.size_bound_ = max(objective.size_bound(spectrum.bounds, n), self.objective_)
        self.gap_ = _gap(self.upper_bound_, self.objective_)
        placing = problem.placing(objective, labels)
        self.placement_margin_ = placement_margin(placement_problem(self.placement, objective, S, n, **placing))
        self.size_prior_ = size_prior
        self.view_agreement_ = evidence.agreement() if evidence else None
        self.support_ = evidence.support(structure.kernel, labels) if evidence and structure.is_sweep else None
        self.n_iter_ = solution.n_iter
        self.history_ = solution.history
        self._slopes, self._penalties = objective.slopes(S, n), objective.penalties(n)
        self._extension = fitted.extension(labels, c)
        self._used = None if everything else used
        self.labels_ = labels if everything else self._label_rest(X, labels, used, known)
        if known is not None and not self.allow_empty and not n.all():
            warnings.warn(
                f"no sample is left for cluster {', '.join(map(str, np.flatnonzero(n == 0)))}: labels and links keep "
                "all of them elsewhere.",
                UserWarning,
                stacklevel=4,
            )
        if self.support_ is not None and self.support_ < LOW_SUPPORT:
            warnings.warn(
                f"other graphs of the same samples arrange them differently on '{structure}' (support "
                f"{self.support_:.2g}): the clusters may be right, their order is uncertain.",
                UserWarning,
                stacklevel=4,
            )
        if self.placement_margin_ < LOW_MARGIN:
            warnings.warn(
                f"several arrangements of these clusters on '{structure}' fit almost equally well (placement margin "
                f"{self.placement_margin_:.2g}): the clusters may be right, their order is not supported by the data.",
                UserWarning,
                stacklevel=4,
            )
        return self

    def predict(self, X):
        """Place new samples where F rises most, the clusters held as they are; for a flat l2 fit, the nearest mean.

        Parameters
        ----------
        X : array of shape (n, d); (n, m) similarities (affinities) with the fitted samples for
            kernel="precomputed" ("precomputed_graph")

        Returns
        -------
        labels : (n,) int array
        """
        return np.argmax(self._rises(self._similarity_sums(X)), axis=1)

    def score(self, X, y=None, sample_weight=None):
        """Dependence between X and the labels that `predict` gives it, measured against the fitted clusters.

        The larger the better. Equals `objective_` on the fitted samples, but for those that `predict` would place
        elsewhere.
        """
        G = self._similarity_sums(X)
        labels = np.argmax(self._rises(G), axis=1)
        M, _ = self._slopes
        parts = np.einsum("ij,ij->i", G, M.T[labels]) / 2 - self._penalties[labels]
        return float(parts.sum() if sample_weight is None else parts @ check_weights(sample_weight, parts))

    # -- checks ---------------------------------------------------------------------------------------------------

    def _check_samples(self, X, *, reset: bool):
        precomputed, graph = self._is_precomputed(), self._is_graph()
        X = validate_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            accept_sparse="csr" if graph or not precomputed else False,
            ensure_all_finite=not graph,  # named by row and column
        )
        if graph:
            return check_graph(X) if reset else X
        return check_precomputed(X) if precomputed and reset else X

    def _check_structure(self) -> Structure:
        n_clusters = self.n_clusters
        if not isinstance(n_clusters, Integral) or isinstance(n_clusters, bool):
            hint = f" A structure goes by name: structure={n_clusters!r}." if isinstance(n_clusters, str) else ""
            raise TypeError(f"n_clusters={n_clusters!r}: give a whole number.{hint}")
        if n_clusters < 1:
            raise ValueError(f"n_clusters={n_clusters}: give 1 or more.")
        sized = not (isinstance(self.structure, str) and ":" not in self.structure)
        default = sized and n_clusters == DEFAULT_CLUSTERS
        return as_structure(self.structure, None if default else int(n_clusters))

    def _check_parameters(self) -> None:
        check_name("search", self.search, SEARCHES)
        check_name("placement", self.placement, RULES)
        check_name("normalize", self.normalize, NORMALIZATIONS)
        check_name("approximation", self.approximation, APPROXIMATIONS)
        if not callable(self.kernel):
            check_name("kernel", self.kernel, kernel_names(), also=", or a function k(X, Y)")
        if self.init is None or isinstance(self.init, str):
            check_name("init", self.init, INITS, also=", or an array of labels")
        if isinstance(self.n_init, str):
            check_name("n_init", self.n_init, ["auto"], also=", or a whole number")
        else:
            check_number("n_init", self.n_init, whole=True, least=1)
        if isinstance(self.gamma, str):
            check_name("gamma", self.gamma, ["scale"], also=", or a positive number")
        else:
            check_number("gamma", self.gamma, above=True)
        check_number("max_iter", self.max_iter, whole=True, least=1)
        check_number("rho", self.rho)
        if isinstance(self.size_prior, str):
            check_name("size_prior", self.size_prior, ["auto"], also=", or a number")
        else:
            check_number("size_prior", self.size_prior)
        check_number("tol", self.tol)
        check_number("degree", self.degree, whole=True, least=1)
        check_number("coef0", self.coef0)
        if self.label_weight is not None:
            check_number("label_weight", self.label_weight)
        if self.n_components is not None:
            check_number("n_components", self.n_components, whole=True, least=1)
        if self.n_jobs is not None and (not isinstance(self.n_jobs, Integral) or self.n_jobs == 0):
            raise TypeError(f"n_jobs={self.n_jobs!r}: give a number of threads, -1 for all, or None.")
        for name in ("allow_empty", "polish"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise TypeError(f"{name}={getattr(self, name)!r}: give True or False.")
        if not isinstance(self.verbose, (Integral, np.bool_)):
            raise TypeError(f"verbose={self.verbose!r}: give a whole number or True or False.")
        for name in ("kernel_params", "solver_params"):
            if getattr(self, name) is not None and not isinstance(getattr(self, name), Mapping):
                raise TypeError(f"{name}={getattr(self, name)!r}: give a dict of parameters, or None.")

    def _solver(self) -> tuple[Callable, dict]:
        known = [name for name in names(solvers) if name not in ("placement", "starts")]
        check_name("solver", self.solver, known)
        part, params = load(solvers, self.solver), dict(self.solver_params or {})
        for name in params:
            if name not in part.PARAMETERS:
                allowed = ", ".join(part.PARAMETERS) or "none"
                raise ValueError(
                    f"solver_params has {name!r}, which solver={self.solver!r} does not take (it takes: {allowed})."
                )
        return part.solve, params

    def _options(self, used: np.ndarray, n_samples: int, n_clusters: int) -> Options:
        init = self.init if isinstance(self.init, str) else check_start(self.init, n_samples, n_clusters)[used]
        return Options(
            search=self.search,
            placement=self.placement,
            init=init,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            allow_empty=self.allow_empty,
            polish=self.polish,
            n_jobs=self.n_jobs,
            report=self._report,
        )

    # -- parts ----------------------------------------------------------------------------------------------------

    def _fit_kernel(self, X, weight, n_clusters: int, rng):
        return fit_kernel(
            X,
            weight,
            kernel=self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            n_clusters=n_clusters,
            approximation=self.approximation,
            n_components=self.n_components,
            rng=rng,
        )

    def _gather(self, fitted: FittedKernel, weight, n_clusters: int) -> Evidence | None:
        """What the kernels that a mean kernel is made of say by themselves."""
        if not fitted.members or n_clusters == 1:
            return None
        return Evidence(fitted.members, fitted.pictures, weight, n_clusters, check_random_state(0))

    def _choose_size_prior(self, evidence: Evidence | None) -> float:
        if not isinstance(self.size_prior, str):
            return float(self.size_prior)
        plain = self.loss is None and self.normalize is not None and self.solver == "greedy"
        if evidence is None or not plain or evidence.agreement() >= DISAGREE:
            return 0.0
        warnings.warn(
            f"the views of X (as given, columns standardised, rows scaled) cluster it differently (alignment "
            f"{evidence.agreement():.2f}): groups are expected to have similar sizes, size_prior={SIZE_PRIOR}. Set "
            "size_prior=0 if that is wrong, or choose a kernel by name.",
            UserWarning,
            stacklevel=6,
        )
        return SIZE_PRIOR

    def _transform(self, fitted: FittedKernel, spectrum: Spectrum, n_clusters: int, rng):
        """Kernel and spectrum that the objective sees; presets may change them."""
        return fitted, spectrum

    def _subset(self, X, used):
        return X[np.ix_(used, used)] if self._is_precomputed() else X[used]

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel in ("precomputed", "precomputed_graph")

    def _is_graph(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed_graph"

    def _similarity_sums(self, X, *, check: bool = True) -> np.ndarray:
        """Centred similarity sums of samples with the fitted clusters (n, c)."""
        if check:
            check_is_fitted(self)
            X = self._check_samples(X, reset=False)
        return self._extension(X if self._used is None or not self._is_precomputed() else X[:, self._used])

    def _rises(self, G: np.ndarray) -> np.ndarray:
        """Rate at which F rises with a sample in each cluster (n, c)."""
        M, h = self._slopes
        return G @ M + np.where(self.sizes_ > 0, h, -np.inf)

    def _label_rest(self, X, labels, used, known: Constraints | None) -> np.ndarray:
        """All labels, with samples of weight zero placed as new ones, but where something is known about them."""
        out = np.full(X.shape[0], -1, dtype=labels.dtype)
        out[used] = labels
        rest = np.flatnonzero(out < 0)
        rises = self._rises(self._similarity_sums(X[rest], check=False))
        out[rest] = np.argmax(rises, axis=1) if known is None else known.complete(out, rest, rises)
        return out

    def _report(self, line: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {line}")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = self._is_graph() or not self._is_precomputed()
        return tags


def check_enough_samples(n_samples: int, structure: Structure) -> None:
    c = structure.n_clusters
    if n_samples < c:
        raise ValueError(
            f"n_samples={n_samples} should be >= n_clusters={c}: there are fewer samples (of positive weight) than "
            f"clusters in structure '{structure}'."
        )


def _flat_objective(objective: Dependence) -> Dependence:
    """F without structure, for the first stage of "refine": kernel k-means, or zero-one loss where there is a loss.

    Unnormalised and l1 values without a loss favour degenerate clusters, so their first stage is kernel k-means.
    """
    c = objective.n_clusters
    if objective.has_loss and objective.normalize is not None:
        return Dependence(np.eye(c), c * np.eye(c) - 1, objective.normalize, objective.coef, objective.penalty)
    return Dependence(np.eye(c), np.eye(c), "l2", size_prior=objective.size_prior)


def canonical_places(
    structure: Structure,
    S: np.ndarray,
    n: np.ndarray,
    movable: np.ndarray | None = None,
    linear: np.ndarray | None = None,
) -> np.ndarray:
    """Of all equivalent numberings, the one with large clusters first, so that sample order does not matter.

    Clusters that are not `movable` keep their number, and what soft labels say (`linear`) comes first.
    """
    c = len(n)
    rank = np.empty(c)
    spread = np.diag(S) / np.where(n > 0, n, 1)
    rank[np.lexsort((spread, n))] = np.arange(c)
    benefit = np.outer(np.arange(c, 0, -1.0), rank)
    if movable is not None and not movable.all():
        benefit[~movable] = 0.0
        benefit[:, ~movable] = 0.0
        benefit[~movable, ~movable] = 10 * max(benefit.sum(), 1.0)
    if linear is not None and linear.any():
        benefit += 10 * max(benefit.sum(), 1.0) / linear.max() * linear.T
    return np.asarray(structure.align(benefit))


def _gap(bound: float, value: float) -> float:
    if not np.isfinite(bound):
        return 1.0
    return (bound - value) / abs(bound) if bound != 0 else 0.0  # nothing to gain: the value is zero but for rounding
