"""MaxMarginClustering: clusters that a wide margin separates, by the measure that clusterings are judged by."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from kernelclust._names import check_flag, check_name, check_number
from kernelclust._warnings import warn
from kernelclust.constraints import check_labels
from kernelclust.estimators._base import KernelClusterer, few_different_rows, warn_if_all_known
from kernelclust.estimators._data import Host, on_host, where
from kernelclust.kernels import kernel_class
from kernelclust.margin import (
    CuttingPlane,
    Embedding,
    Hyperplanes,
    Problem,
    as_loss,
    as_solver,
    embed,
    labels_of,
    solve,
    solve_blocks,
    zero_solution,
)
from kernelclust.objectives import check_weights

TRIVIAL = 0.999  # share of the objective of w = 0 above which a fit has found nothing


class MaxMarginClustering(KernelClusterer):
    """Maximum margin clustering: find clusters that a hyperplane separates with a wide margin.

    The margin is measured by a loss: 1 - NMI, 1 - Rand index, 1 - pair F measure, or the error rate.

    Finds the hyperplane w whose own labels y_i = sgn(w . x_i) are hardest to confuse with any other labels y':

        min_w |w|^2 / 2 + C xi,   w . sum_i (y_i - y'_i) x_i >= Delta(y', y) - xi  for all y',

    with Delta = 1 - NMI, 1 - Rand, 1 - F or the error rate (Zhao, Kwok and Zhang, 2009; with the error rate this is
    the older max-margin clustering, MMC or CPMMC, up to units). Choose it when clusters differ along a direction that
    is not the one of the largest variance, where k-means fails, and are of similar size. More than two clusters have a
    w_c each and y_i = argmax_c w_c . x_i + b_c; they are initialized from bisections and from k-means.

    Known labels are kept and influence the hyperplane: y_i is the known label if there is one, whatever the side of
    x_i, so that a hyperplane that contradicts it pays slack, as in a support vector machine. Without labels this is
    clustering, with all of them the support vector machine of Joachims (2005) for the same loss, and between the two it
    is semi-supervised.

    Parameters
    ----------
    n_clusters : int, default=2
    loss : {"nmi", "rand", "f", "error", "adjusted_rand", "v_measure"} or Loss, default="nmi"
        Delta. A name has the defaults; an object carries parameters, as in `kernelclust.margin.losses.F(beta=2.0)`, or
        is a loss of your own, as `kernelclust.margin.losses` describes it. "error" is conventional max-margin
        clustering (MMC, CPMMC): |v|^2 / 2 + (C' / n) sum_i (1 - |v . x_i|)_+ with v = 2 n w and C' = 4 n^2 C.
    C : float or "auto", default="auto"
        Price of the slack xi, after samples are centred and scaled to a mean square length of one. "auto" is 10 / n^2,
        or 10 k / n^2 for k > 2 clusters, n the sum of all weights. With a tenth of it the first cut decides; with
        thirty times as much the labels stay at the initialization.
    bias : bool, default=False
        Whether two clusters have a threshold of their own (its square counts in |w|^2). Clusters of unequal size need
        it; "error" then also needs `balance` of the solver. More than two clusters always have it.
    kernel : str, Kernel or callable, default="linear"
        "linear" and "cosine" work on the samples themselves, sparse ones included; "rbf", "laplacian", "polynomial",
        "auto" and "graph" (images, whatever has neighbours), "diffusion", "precomputed" or a function k(X, Y) through
        their leading eigenvectors. An object carries parameters, as in `kernelclust.kernels.RBF(gamma=0.5)`.
    approximation : str, Approximation or None, default="auto"
        As in `StructuredClustering`.
    solver : "cutting_plane" or CuttingPlane, default="cutting_plane"
        An object sets initializations, tolerance, balance and number of eigenvectors:
        `kernelclust.margin.CuttingPlane(n_init=3, n_components=20)`.
    max_iter : int, default=100
        Maximum number of constraints in the quadratic programs, for each initialization.
    random_state : int, RandomState or None
        Seed of initializations and landmarks.
    verbose : int, default=0
        1 or more logs a line for each initialization.

    Attributes
    ----------
    labels_ : (n,) int array
        The largest cluster is 0, unless labels are known: clusters with known labels have these numbers.
    objective_ : float
        -(|w|^2 / 2 + C_ slack_) at `labels_`, larger is better; with w = 0 it would be about -C_.
    slack_ : float
        xi. Exact for two clusters without weights or with integer weights (with a sum of at most 20 000 or 20 n); with
        other weights, and for more clusters, the largest violation that the search found.
    trivial_ : bool
        True, with a warning, if a cluster is empty or the objective is that of w = 0: then there is no separation.
    sizes_ : (k,) array
        Weight of every cluster.
    coef_, intercept_ : (1, d), (1,) or (k, d), (k,) arrays
        For kernel="linear": decision = x . coef_ + intercept_, for x as given.
    n_iter_ : int
        Constraints in the last quadratic program.
    C_ : float
    diagnostics_ : Bunch
        gamma: inverse width of the kernel in use, or None. history: `objective_` after every cut and then after every
        round of polishing of the best run (more than two clusters: rounds only). It may fall, as Delta jumps when
        labels change; the result is the best with all clusters in use.
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

    _terms = KernelClusterer._terms | {"loss": as_loss, "solver": as_solver}

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        loss: Any = "nmi",
        C: Any = "auto",
        bias: bool = False,
        kernel: Any = "linear",
        approximation: Any = "auto",
        solver: Any = "cutting_plane",
        max_iter: int = 100,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.loss = loss
        self.C = C
        self.bias = bias
        self.kernel = kernel
        self.approximation = approximation
        self.solver = solver
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, must_link: Any = None, cannot_link: Any = None
    ) -> Self:
        """Cluster the samples, with known labels if there are any.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d); (n, n) for kernel="precomputed"
            With kernel="linear" also a Dask array or frame, a tensor on a device, or a memory map: it stays where it
            is and is read block by block, and `labels_` are of the same kind. All initializations are then tried on
            20 000 samples, and the best is continued on all of them.
        y : array of shape (n,), optional
            Known labels: 0 to k - 1, or -1 where the label is unknown. They are kept exactly in `labels_`; `predict`
            does not use them. A known label counts by the weight of its sample: raise the weight to trust it more. Do
            not pass the classes of all samples; leave y out to cluster without them. (If they are 0 to k - 1 they are
            returned as labels, else they are ignored, both with a warning.)
        sample_weight : array of shape (n,), optional
            A weight counts as that many copies of the sample. Samples of weight zero have no influence on the fit; they
            are labelled like new ones. Integer weights give
            the objective of repeated samples exactly, as rivals y' may differ between copies; other weights may be
            divided anywhere. Weights below one are counted in the smallest of them by the losses of pairs ("rand",
            "f", "adjusted_rand"), which need copies.
        must_link, cannot_link : None
            Not supported: a hyperplane cannot keep pairs together or apart. Use `StructuredClustering`.

        Returns
        -------
        self
        """
        return self._whole(X, y, sample_weight, must_link, cannot_link)

    def _fit(self, X, y, sample_weight, must_link, cannot_link):
        self._check_parameters()
        _refuse_links(must_link=must_link, cannot_link=cannot_link)
        y, sample_weight, place = on_host(y), on_host(sample_weight), where(X)
        rank = self._make_solver().n_components
        plain = kernel_class(self.kernel).features_are_samples and rank is None and self._is_exact()
        if plain and place.stays:
            self._fit_blocks(place, place.table(self, X), y, sample_weight)
            return self
        X = self._check_samples(place.brought(X), reset=True)
        weight = check_weights(sample_weight, X)
        used, k = np.flatnonzero(weight > 0), int(self.n_clusters)
        if len(used) < max(k, 2):
            raise ValueError(
                f"n_samples={len(used)} should be >= {max(k, 2)}: there are fewer samples (of positive weight) than "
                "clusters, or one."
            )
        known = self._check_known(y, X.shape[0])
        return self._fit_checked(X, weight, used, known)

    def _fit_blocks(self, place: Host, X, y, sample_weight) -> None:
        """Fit samples that are read block by block where they are."""
        n, k = int(X.shape[0]), int(self.n_clusters)
        if n < max(k, 2):
            raise ValueError(f"n_samples={n} should be >= {max(k, 2)}: there are fewer samples than clusters, or one.")
        weight = check_weights(sample_weight, np.empty((n, 1), dtype=np.int8))
        if not (weight > 0).all():
            raise ValueError(
                "sample_weight holds zeros: not supported yet for samples in blocks. Leave these rows out of X."
            )
        known = self._check_known(y, n)
        planes = solve_blocks(
            place.partitions(X),
            int(X.shape[1]),
            weight,
            self._problem(),
            known=known if (known >= 0).any() else None,
            rng=check_random_state(self.random_state),
            report=self._report,
        )
        self._keep(Embedding.of(None), planes, weight)
        self._used, self.labels_ = None, place.back(planes.labels, X)
        self._judge(planes, False)

    def _fit_checked(self, X, weight, used, known):
        everything = len(used) == len(weight)
        samples = X if everything else self._subset(X, used)
        equal = few_different_rows([samples], int(self.n_clusters), comparable=False)
        if equal is None:
            embedding, planes = self._separate(samples, weight[used], known[used])
        else:
            labels = np.where(known[used] >= 0, known[used], equal)
            embedding, planes = (
                Embedding.of(samples),
                zero_solution(samples.shape[1], weight[used], self._problem(), labels),
            )
        self._keep(embedding, planes, weight[used])
        self._used = None if everything else used
        self.labels_ = planes.labels if everything else self._label_rest(X, planes.labels, used, known)
        self._judge(planes, equal is not None)
        return self

    def _separate(self, samples, weight, known) -> tuple[Embedding, Hyperplanes]:
        rng = check_random_state(self.random_state)
        embedding = embed(
            samples,
            weight,
            kernel=self._kernel_term(),
            approximation=self._approximation_term(),
            n_clusters=int(self.n_clusters),
            solver=self._make_solver(),
            rng=rng,
        )
        planes = solve(
            embedding.Z,
            weight,
            self._problem(),
            known=known if (known >= 0).any() else None,
            rng=rng,
            report=self._report,
        )
        return embedding, planes

    @property
    def diagnostics_(self) -> Bunch:
        """Further measurements of the fit; None for what does not apply."""
        return Bunch(**self._diagnostics)

    def _keep(self, embedding: Embedding, planes: Hyperplanes, weight: np.ndarray) -> None:
        """Store the result of a fit."""
        self.C_ = planes.C
        self.objective_ = -planes.fit.objective
        self.slack_ = planes.fit.slack
        self.n_iter_ = planes.fit.n_iter
        self.sizes_ = np.bincount(planes.labels, weight, minlength=int(self.n_clusters))
        self._diagnostics = {"gamma": embedding.gamma, "history": [-value for value in planes.fit.history]}
        self._length = planes.length
        self._decide = embedding.decision(planes.V, planes.b)
        self.__dict__.pop("coef_", None)
        self.__dict__.pop("intercept_", None)
        if kernel_class(self.kernel).features_are_samples and hasattr(self._decide, "coef"):
            self.coef_, self.intercept_ = self._decide.coef.T, planes.b

    def _label_rest(self, X, labels, used, known) -> np.ndarray:
        """All labels, with samples of weight zero labelled as new ones, but where their label is known."""
        out = known.astype(labels.dtype)
        out[used] = labels
        rest = np.flatnonzero(out < 0)
        if len(rest):
            out[rest] = labels_of(self._scores(X[rest]))
        return out

    def _judge(self, planes: Hyperplanes, equal: bool) -> None:
        """Say when nothing was found, or when the search was cut short; of equal samples it was said."""
        k, fit = int(self.n_clusters), planes.fit
        empty = int((self.sizes_ == 0).sum())
        self.trivial_ = k > 1 and bool(empty or fit.objective >= TRIVIAL * planes.zero_objective)
        if equal:
            return
        if self.trivial_:
            what = f"{empty} of {k} clusters are empty" if empty else "the objective is no lower than that of w = 0"
            self._warn_trivial(f"max-margin clustering found a trivial solution: {what}")
        elif fit.objective > min(fit.history):
            self._warn_trivial(
                "the objective is lower with empty clusters; the labels are the best found with all clusters in use"
            )
        stopped = {
            "max_iter": f"stopped after max_iter={self.max_iter} constraints, before all were met within "
            f"tol={self._make_solver().tol}; raise max_iter or tol, or lower C.",
            "stalled": "stopped because the objective no longer fell while labels kept changing; the labels are the "
            "best found. Raise n_init or tol, or lower C.",
        }
        if fit.stopped_because in stopped:
            warn(stopped[fit.stopped_because], ConvergenceWarning)

    def _warn_trivial(self, what: str) -> None:
        free = self.bias or not self._make_solver().center or self.n_clusters > 2
        advice = "solver=CuttingPlane(balance=0) or another value near it, loss='nmi'" if free else "a larger C"
        warn(f"{what}. Try {advice}, another kernel or CuttingPlane(n_components=...).")

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the signed distance to the hyperplane, up to a factor: above 0 for label 1. (n, k) scores for k > 2.

        Parameters
        ----------
        X : array of shape (n, d); (n, m) similarities with the fitted samples for kernel="precomputed"
        """
        check_is_fitted(self)
        return where(X).each(self, self._decision, X, width=None if self.n_clusters <= 2 else int(self.n_clusters))

    def predict(self, X: Any) -> np.ndarray:
        """Return the side of the hyperplane, or the cluster with the highest score; X as in `decision_function`."""
        check_is_fitted(self)
        return where(X).each(self, self._predicted, X, np.int64)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return how well the hyperplane separates the clusters of X, from 0 (not at all) to 1.

            1 - min_t (t^2 |w|^2 / 2 + C xi(t w)) / (C xi(0)),   C = 10 / n^2 (10 k / n^2 for k > 2 clusters)

        The objective of max-margin clustering on X, relative to that of w = 0, at the best length of w: neither the
        units of the kernel nor the C of the fit matter, only the position of the hyperplane. So kernels and their
        parameters can be compared on samples that were not fitted: a kernel that overfits has scores near 0 there. On
        the fitted samples with C="auto" it is 1 + objective_ / (C_ xi(0)), up to tol. 0 where a cluster is empty.
        Different losses, or numbers of clusters, have different scores.

        Parameters
        ----------
        X : as in `decision_function`
        y : array of shape (n,), optional
            Known labels as in `fit`, -1 where they are unknown: where the hyperplane contradicts them, the score falls.
        sample_weight : array of shape (n,), optional
            A weight counts as that many copies.
        """
        check_is_fitted(self)
        scores = self._scores(self._check_samples(where(X).brought(X), reset=False))
        weight = check_weights(on_host(sample_weight), scores)
        known = check_labels(on_host(y), len(scores), int(self.n_clusters))
        used = weight > 0
        known = known[used] if (known[used] >= 0).any() else None
        return self._problem().separation(scores[used], self._length, weight[used], known)

    # -- checks ---------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_number("n_clusters", self.n_clusters, whole=True, least=1)
        as_loss(self.loss)
        self._check_kernel()
        if isinstance(self.C, str):
            check_name("C", self.C, ["auto"], also=", or a positive number")
        else:
            check_number("C", self.C, above=True)
        self._check_common()
        check_flag("bias", self.bias)
        solver = self._make_solver()
        if not solver.center and (not kernel_class(self.kernel).has_features or solver.n_components is not None):
            raise ValueError(
                "center=False of the solver works on the samples themselves: with kernel='linear' or 'cosine' and no "
                "n_components; eigenvectors of a kernel are centred."
            )
        if solver.balance is not None and solver.center and not self.bias and self.n_clusters == 2:
            raise ValueError(
                f"balance={solver.balance!r} of the solver changes nothing: centred samples without a bias are "
                "balanced. Set bias=True or CuttingPlane(center=False), or leave balance out."
            )

    def _check_known(self, y, n_samples: int) -> np.ndarray:
        known = check_labels(y, n_samples, int(self.n_clusters))
        warn_if_all_known(known)
        return known

    # -- parts ----------------------------------------------------------------------------------------------------

    def _make_solver(self) -> CuttingPlane:
        return as_solver(self.solver)

    def _problem(self) -> Problem:
        return Problem(
            int(self.n_clusters),
            as_loss(self.loss),
            self._make_solver(),
            C=None if isinstance(self.C, str) else self.C,
            bias=self.bias,
            max_iter=self.max_iter,
        )

    def _decision(self, X) -> np.ndarray:
        scores = self._scores(self._check_samples(X, reset=False))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _predicted(self, X) -> np.ndarray:
        return labels_of(self._scores(self._check_samples(X, reset=False)))

    def _scores(self, X) -> np.ndarray:
        """(n, 1) or (n, k) of samples that were checked."""
        return self._decide(X if self._used is None or not self._is_pairwise() else X[:, self._used])


def _refuse_links(**links) -> None:
    for name, pairs in links.items():
        if pairs is not None and np.size(pairs):
            raise ValueError(
                f"{name}: MaxMarginClustering takes no links, as a hyperplane has no way to keep pairs of samples "
                f"together or apart. Use StructuredClustering, which keeps them, or give known labels in y."
            )
