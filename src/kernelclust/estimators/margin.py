"""MaxMarginClustering: clusters that a wide margin separates, by the measure that clusterings are judged by."""

from __future__ import annotations

import warnings
from contextlib import nullcontext

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kernelclust._names import check_name, check_number
from kernelclust._threads import ONE_THREAD, one_thread
from kernelclust.kernels import APPROXIMATIONS, check_precomputed, kernel_names
from kernelclust.margin import (
    Features,
    MarginFit,
    Options,
    TableLoss,
    check_loss,
    embed,
    make_features,
    make_loss,
    natural_C,
    solve_many,
    solve_two,
    trivial_slack,
)

TRIVIAL = 0.999  # share of the objective of w = 0 above which a fit has found nothing


class MaxMarginClustering(ClusterMixin, BaseEstimator):
    """Clusters with a wide margin between them, by NMI, Rand index, pair F measure or error rate.

    Finds the hyperplane w whose own labels y_i = sgn(w . x_i) are hardest to confuse with any other labels y':

        min_w |w|^2 / 2 + C xi,   w . sum_i (y_i - y'_i) x_i >= Delta(y', y) - xi  for all y',

    with Delta = 1 - NMI, 1 - Rand, 1 - F or the error rate (Zhao, Kwok and Zhang, 2009; with the error rate this is
    the older max-margin clustering, MMC or CPMMC, up to units). Choose it when clusters differ along a direction that
    is not the one of the largest variance, where k-means fails, and are of similar size. More than two clusters have a
    w_c each and y_i = argmax_c w_c . x_i + b_c; they start from bisections and from k-means.

    Parameters
    ----------
    n_clusters : int, default=2
    loss : {"nmi", "rand", "f", "error", "adjusted_rand", "v_measure"} or object, default="nmi"
        Delta. `kernelclust.margin.losses` says how to bring your own. "error" is conventional max-margin clustering
        (MMC, CPMMC): |v|^2 / 2 + (C' / n) sum_i (1 - |v . x_i|)_+ with v = 2 n w and C' = 4 n^2 C.
    beta : float, default=1.5
        Of "f" and "v_measure": above 1, separating what belongs together costs more than joining what does not.
    kernel : str or callable, default="linear"
        "linear" and "cosine" work on the samples themselves, sparse ones included; "rbf", "laplacian", "polynomial",
        "auto" and "graph" (images, whatever has neighbours), "diffusion", "precomputed" or a function k(X, Y) through
        their leading eigenvectors.
    gamma : float, "scale" or None, default=None
        Inverse width of "rbf" and "laplacian", factor of "polynomial". None and "scale" are 1 / mean squared distance
        between samples (1 / mean distance for "laplacian").
    degree, coef0 : float, default=3, 1
        Of the polynomial kernel.
    kernel_params : dict, optional
        More parameters of the kernel, as in `StructuredClustering`.
    C : float or "auto", default="auto"
        Price of the slack xi, after samples are centred and scaled to a mean square length of one. "auto" is 10 / n^2,
        or 10 k / n^2 for k > 2 clusters. A tenth of it lets the first cut decide, thirty times as much learns any start
        by heart.
    center : bool, default=True
        Whether the mean is subtracted, so that the hyperplane runs through it. False is the paper's form, which needs
        `balance`; for "linear" and "cosine" without `n_components`.
    bias : bool, default=False
        Whether two clusters have a threshold of their own (its square counts in |w|^2). Clusters of unequal size need
        it; "error" then also needs `balance`. More than two clusters always have it.
    balance : float, optional
        l in |sum_i w . x_i| <= l, in the units of w . x, which are about 1 / n. On centred samples it bounds n |bias|.
    n_components : int, optional
        Leading directions in use. None: 100 for kernels, and for "linear" and "cosine" with more than 300 features, as
        random starts are lost among many directions (text: 20 to 100); else all. As many as features: the samples
        themselves.
    approximation : {"auto", "nystroem", "cholesky", "random_features"} or None, default="auto"
        As in `StructuredClustering`.
    epsilon : float, default=0.03
        Labelings may violate the margin by so much beyond xi, in the units of Delta.
    max_cuts : int, default=60
        Constraints in the quadratic programs at most.
    n_init : int, default=10
        Starts: the principal direction and random ones; the lowest objective wins.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : (n,) int array
        The largest cluster is 0.
    objective_ : float
        |w|^2 / 2 + C_ slack_ at `labels_`; with w = 0 it would be about C_.
    slack_ : float
        xi; exact for two clusters, for more the largest violation found.
    trivial_ : bool
        Whether a cluster is empty or the objective is that of w = 0: then nothing was found, and a warning says so.
    coef_, intercept_ : (1, d), (1,) or (k, d), (k,) arrays
        For kernel="linear": decision = x . coef_ + intercept_, for x as given.
    n_cuts_ : int
        Constraints in the last quadratic program.
    history_ : list of float
        Objective after every cut and then after every round of polishing of the run that won (more than two clusters:
        rounds only). It may rise, as Delta jumps when labels change; the lowest with all clusters in use is kept.
    C_ : float
    gamma_ : float or None
        Width in use.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import MaxMarginClustering
    >>> rng = np.random.default_rng(0)
    >>> side = np.repeat([-1.0, 1.0], 50)
    >>> X = np.c_[10 * rng.uniform(-1, 1, 100), side + 0.2 * rng.standard_normal(100)]  # wide, cut across
    >>> labels = MaxMarginClustering(random_state=0).fit_predict(X / X.std(axis=0))
    >>> len(set(zip(side, labels.tolist())))
    2
    """

    def __init__(
        self,
        n_clusters=2,
        *,
        loss="nmi",
        beta=1.5,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        C="auto",
        center=True,
        bias=False,
        balance=None,
        n_components=None,
        approximation="auto",
        epsilon=0.03,
        max_cuts=60,
        n_init=10,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.loss = loss
        self.beta = beta
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.C = C
        self.center = center
        self.bias = bias
        self.balance = balance
        self.n_components = n_components
        self.approximation = approximation
        self.epsilon = epsilon
        self.max_cuts = max_cuts
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X, y=None):
        """Cluster the samples.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d); (n, n) for kernel="precomputed"
        y : ignored

        Returns
        -------
        self
        """
        before = dict(self.__dict__)
        try:
            return self._fit(X)
        except BaseException:
            self.__dict__ = before  # nothing half-fitted: the last fit whole, or none
            raise

    def _fit(self, X):
        self._check_parameters()
        X = self._check_samples(X, reset=True)
        n, k = X.shape[0], int(self.n_clusters)
        if n < max(k, 2):
            raise ValueError(f"n_samples={n} should be >= {max(k, 2)}: there are fewer samples than clusters, or one.")
        rng = check_random_state(self.random_state)
        with one_thread() if n <= ONE_THREAD else nullcontext():
            embedding = embed(
                X,
                kernel=self.kernel,
                gamma="scale" if self.gamma is None else self.gamma,
                degree=self.degree,
                coef0=self.coef0,
                kernel_params=self.kernel_params,
                n_clusters=k,
                approximation=self.approximation,
                n_components=self.n_components,
                center=self.center,
                rng=rng,
            )
            features = make_features(embedding.Z, center=self.center, bias=self.bias or k > 2)
            self.C_ = natural_C(n, k) if self.C == "auto" else float(self.C)
            fit = self._solve(embedding.Z, features, rng)
        W = _numbered(fit, k, features)
        V, b = features.raw(W)
        self.labels_ = _labels(features.scores(W))
        self.objective_ = fit.objective
        self.slack_ = fit.slack
        self.n_cuts_ = fit.n_cuts
        self.history_ = fit.history
        self.gamma_ = embedding.gamma
        self._decide = embedding.decision(V, b)
        self.__dict__.pop("coef_", None)
        self.__dict__.pop("intercept_", None)
        if self.kernel == "linear" and hasattr(self._decide, "coef"):
            self.coef_, self.intercept_ = self._decide.coef.T, b
        self._judge(fit, k)
        return self

    def _solve(self, Z, features: Features, rng) -> MarginFit:
        n, k = Z.shape[0], int(self.n_clusters)
        options = Options(self.C_, self.balance, self.epsilon, self.max_cuts)
        if k == 1:
            return MarginFit(np.zeros(features.n_features), np.zeros(n, dtype=bool), 0.0, 0.0, 0, "converged", [0.0])
        if k == 2:
            return solve_two(features, self._make_loss(n), options, self.n_init, rng)
        return solve_many(Z, features, k, self._make_loss, options, self.n_init, rng)

    def _make_loss(self, n: int) -> TableLoss:
        return make_loss(self.loss, n, self.beta)

    def _judge(self, fit: MarginFit, k: int) -> None:
        """Say when nothing was found, or when the search was cut short."""
        n = len(fit.labels)
        empty = k - len(np.unique(self.labels_))
        nothing = self.C_ * trivial_slack(self._make_loss(n), k)
        self.trivial_ = k > 1 and bool(empty or fit.objective >= TRIVIAL * nothing)
        if self.trivial_:
            what = f"{empty} of {k} clusters are empty" if empty else "the objective is no lower than that of w = 0"
            self._warn_trivial(f"max-margin clustering found a trivial solution: {what}")
        elif fit.objective > min(fit.history):
            self._warn_trivial("the objective is lower with empty clusters; the labels are the best with all in use")
        if fit.stopped_because == "max_cuts":
            warnings.warn(
                f"stopped after max_cuts={self.max_cuts} constraints, before all were met within "
                f"epsilon={self.epsilon}; raise max_cuts or epsilon, or lower C.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _warn_trivial(self, what: str) -> None:
        free = self.bias or not self.center or self.n_clusters > 2
        advice = "balance=0 or another value near it, loss='nmi'" if free else "a larger C"
        warnings.warn(f"{what}. Try {advice}, another kernel or other n_components.", UserWarning, stacklevel=5)

    def decision_function(self, X):
        """Signed distance to the hyperplane, up to a factor: above 0 for label 1. (n, k) scores for k > 2 clusters.

        Parameters
        ----------
        X : array of shape (n, d); (n, m) similarities with the fitted samples for kernel="precomputed"
        """
        check_is_fitted(self)
        scores = self._decide(self._check_samples(X, reset=False))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X):
        """Side of the hyperplane, or cluster with the highest score, of new samples; X as in `decision_function`."""
        scores = self.decision_function(X)
        return _labels(scores[:, None] if scores.ndim == 1 else scores)

    # -- checks ---------------------------------------------------------------------------------------------------

    def _check_samples(self, X, *, reset: bool):
        precomputed = self._is_precomputed()
        X = validate_data(
            self, X, reset=reset, dtype=[np.float64, np.float32], accept_sparse=False if precomputed else "csr"
        )
        return check_precomputed(X) if precomputed and reset else X

    def _check_parameters(self) -> None:
        check_number("n_clusters", self.n_clusters, whole=True, least=1)
        check_loss(self.loss, self.beta)
        check_name("approximation", self.approximation, APPROXIMATIONS)
        if not callable(self.kernel):
            check_name("kernel", self.kernel, kernel_names(graphs=False), also=", or a function k(X, Y)")
        if isinstance(self.C, str):
            check_name("C", self.C, ["auto"], also=", or a positive number")
        else:
            check_number("C", self.C, above=True)
        if isinstance(self.gamma, str):
            check_name("gamma", self.gamma, ["scale"], also=", or a positive number")
        elif self.gamma is not None:
            check_number("gamma", self.gamma, above=True)
        for name in ("balance", "n_components"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), whole=name != "balance", least=name != "balance")
        check_number("epsilon", self.epsilon)
        check_number("max_cuts", self.max_cuts, whole=True, least=1)
        check_number("n_init", self.n_init, whole=True, least=1)
        check_number("degree", self.degree, whole=True, least=1)
        check_number("coef0", self.coef0)
        for name in ("center", "bias"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise TypeError(f"{name}={getattr(self, name)!r}: give True or False.")
        if not self.center and (self.kernel not in ("linear", "cosine") or self.n_components is not None):
            raise ValueError(
                "center=False works on the samples themselves: with kernel='linear' or 'cosine' and no n_components; "
                "eigenvectors of a kernel are centred."
            )

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags


def _labels(scores: np.ndarray) -> np.ndarray:
    """(n, 1) -> side, (n, k) -> argmax."""
    return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)


def _numbered(fit: MarginFit, k: int, features: Features) -> np.ndarray:
    """Weights (d, 1) or (d, k) with the largest cluster first; of two equal ones the one that reaches further out."""
    if k <= 2:
        few = int(fit.labels.sum())
        f = features.scores(fit.w)
        up = 2 * few < len(f) or (2 * few == len(f) and float((f**3).sum()) <= 0)
        return (fit.w if up else -fit.w)[:, None]
    order = np.argsort(-np.bincount(fit.labels, minlength=k), kind="stable")
    return fit.w.reshape(-1, k)[:, order]
