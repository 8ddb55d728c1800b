"""StructuredClustering under the names that people search for."""

from __future__ import annotations

from kernelclust.estimators.structured import DEFAULT_CLUSTERS, StructuredClustering


class KernelKMeans(StructuredClustering):
    """Kernel k-means: clusters without an order, in the feature space of any kernel.

    Minimises sum_i |phi(x_i) - mu_y(i)|^2, i.e. maximises F = sum_j S_jj / n_j with S_jj the kernel summed over
    cluster j. Choose it where KMeans would do but for the shape of the clusters, or where only a kernel is at hand.
    `StructuredClustering` with structure="flat"; see there for parameters and attributes.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from kernelclust import KernelKMeans
    >>> X, ring = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    >>> labels = KernelKMeans(2, gamma=5, random_state=0).fit_predict(X)
    >>> int(max((labels == ring).sum(), (labels != ring).sum()))
    300
    """

    def __init__(
        self,
        n_clusters=DEFAULT_CLUSTERS,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        size_prior="auto",
        init="auto",
        n_init="auto",
        approximation="auto",
        n_components=None,
        min_cluster_size=None,
        max_cluster_size=None,
        label_weight=None,
        max_iter=100,
        tol=1e-10,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.size_prior = size_prior
        self.init = init
        self.n_init = n_init
        self.approximation = approximation
        self.n_components = n_components
        self.min_cluster_size = min_cluster_size
        self.max_cluster_size = max_cluster_size
        self.label_weight = label_weight
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    structure, loss, normalize, rho = "flat", None, "l2", 0.0
    search, placement, solver, solver_params, polish, allow_empty = "refine", "distance", "greedy", None, True, False


class CLUHSIC(StructuredClustering):
    """Clustering by maximal dependence as its paper means it (Song, Smola, Gretton and Borgwardt, 2007).

    F = tr(K P A P') with the label kernel A itself (rho = 0), from several starts, point moves alternated with
    placement by F. `StructuredClustering` refines a flat fit instead, which keeps clusters whole more often.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import CLUHSIC
    >>> X = np.repeat([0.0, 1.0, 2.0, 3.0], 10)[:, None]
    >>> labels = CLUHSIC(4, structure="chain", random_state=0).fit_predict(X)[::10]
    >>> sorted([labels.tolist(), labels[::-1].tolist()])[0]  # a chain has two directions
    [0, 1, 2, 3]
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
        rho=0.0,
        search="global",
        placement="F",
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
        super().__init__(**{name: value for name, value in locals().items() if name not in ("self", "__class__")})


class CLUHSICAL(StructuredClustering):
    """CLUHSIC with a loss between clusters (Zhong, Pan, Kwok and Tsang, 2010).

    Rows of P are eq. (12) of the paper: the summed loss at a sample's own place, minus the loss elsewhere, columns
    normalised to l1 norm one. A far mistake costs more than a near one; groups of similar size are favoured.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import CLUHSICAL
    >>> X = np.repeat([0.0, 1.0, 2.0, 3.0], 10)[:, None]
    >>> labels = CLUHSICAL(4, structure="chain", random_state=0).fit_predict(X)[::10]
    >>> sorted([labels.tolist(), labels[::-1].tolist()])[0]  # a chain has two directions
    [0, 1, 2, 3]
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
        loss="structure",
        normalize="l1",
        rho=0.0,
        search="global",
        placement="F",
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
        super().__init__(**{name: value for name, value in locals().items() if name not in ("self", "__class__")})
