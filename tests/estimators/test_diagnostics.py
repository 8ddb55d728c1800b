"""`diagnostics_`: every entry is what the documentation says, or None where it does not apply."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from kernelclust import Diffrac, DisKMeans, KernelKMeans, MultiKernelClustering, StructuredClustering
from kernelclust.kernels import RBF
from kernelclust.multikernel import MKKMMR, _refine
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy, Spectral
from reproduction.multikernel import LMKKM

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
X = np.random.default_rng(0).standard_normal((40, 3)) * [3, 2, 1]
TREE = "tree:((a,b),c)"  # of uneven branches: bounds differ


def fit(**parameters):
    terms = {"structure": TREE, "kernel": RBF(0.1), "compute_confidence": False, "random_state": 0}
    return StructuredClustering(**terms | parameters).fit(X)


def test_what_does_not_apply_is_none():
    told = fit(kernel="linear").diagnostics_
    for name in ("gamma", "n_samples_seen", "rbf_agreement", "relaxed_objective", "ridge", "view_agreement"):
        assert told[name] is None, name
    assert told.size_prior == 0
    assert fit().diagnostics_.gamma == 0.1
    many = MultiKernelClustering(3, kernel="rbf", method="average", random_state=0).fit([X, X[:, :1]]).diagnostics_
    assert many.lam == 0 and many.sample_weights is None


def test_history_ends_at_the_objective():
    start = np.random.default_rng(1).permutation(np.arange(40) % 3)
    model = fit(solver=Greedy(search="global", init=start, n_init=1))
    history = model.diagnostics_.history
    assert len(history) > 2 and np.all(np.diff(history) > 0)
    assert_allclose(history[-1], model.objective_)
    many = MultiKernelClustering(3, kernel="rbf", random_state=0).fit([X, X[:, :1]])
    assert_allclose(many.diagnostics_.history[-1], many.objective_)
    assert np.all(np.diff(many.diagnostics_.history) >= 0)


def test_bounds_and_priors():
    model = fit(objective=Dependence(size_prior=0.2))
    assert model.diagnostics_.size_prior == 0.2
    model = fit()
    assert model.objective_ <= model.diagnostics_.size_bound < model.upper_bound_


def test_a_relaxation_tells_its_value_before_rounding():
    """The spectral value: the sum of products of the eigenvalues of K and A, largest with largest."""
    model = fit(solver=Spectral(polish=False), objective=Dependence(rho=1.0))
    H = np.eye(40) - 1 / 40
    of_K = np.linalg.eigvalsh(H @ rbf_kernel(X, gamma=0.1) @ H)[::-1]
    of_A = np.linalg.eigvalsh(model.structure_.kernel + np.eye(3))[::-1]
    assert model.diagnostics_.relaxed_objective > model.objective_
    assert model.diagnostics_.relaxed_objective <= of_K[:3] @ of_A * (1 + 1e-9)


def test_the_ridge_of_the_discriminative_presets():
    assert DisKMeans(3, lam=0.3, random_state=0).fit(X).diagnostics_.ridge == 0.3
    assert_allclose(Diffrac(3, kappa=0.3, random_state=0).fit(X).diagnostics_.ridge, 40 * 0.3)


def test_similarities_between_clusters_are_means():
    model = KernelKMeans(3, kernel=RBF(0.1), random_state=0).fit(X)
    H = np.eye(40) - 1 / 40
    K = H @ rbf_kernel(X, gamma=0.1) @ H
    each = [model.labels_ == j for j in range(3)]
    means = [[K[np.ix_(j, k)].mean() for k in each] for j in each]
    assert_allclose(model.diagnostics_.cluster_similarity, means, atol=1e-12)


def test_agreements_are_of_the_right_pairs():
    """A column of another unit changes the views and not what rbf says of the graph's clusters alone."""
    model = StructuredClustering(3, random_state=0, compute_confidence=False).fit(X * [1, 1, 100])
    told = model.diagnostics_
    assert 0 <= told.view_agreement < 1 and 0 <= told.rbf_agreement <= 1
    assert told.view_agreement != told.rbf_agreement


def test_what_many_kernels_measure():
    views, weight = [X[:, :2], X[:, 1:]], np.r_[np.zeros(4), np.ones(36)]
    model = MultiKernelClustering(3, kernel="rbf", method=MKKMMR(lam=0.5), random_state=0)
    told = model.fit(views, sample_weight=weight).diagnostics_
    assert told.lam == 0.5 and told.kkt_residual >= 0
    assert told.relaxed_objective > model.objective_  # minus a lower bound
    assert told.embedding.shape == (40, 3) and np.isnan(told.embedding[:4]).all()
    assert_allclose(told.embedding[4:].T @ told.embedding[4:], np.eye(3), atol=1e-8)
    told = model.set_params(method=LMKKM()).fit(views, sample_weight=weight).diagnostics_
    assert told.sample_weights.shape == (40, 2) and np.isnan(told.sample_weights[:4]).all()
    assert_allclose(told.sample_weights[4:].sum(axis=1), 1)


def test_the_residual_of_kernel_weights_is_that_of_the_weights_in_use(monkeypatch):
    """With lam=0 the quadratic form is diagonal: what clusters leave unexplained of every kernel, here of one trace."""
    model = MultiKernelClustering(3, kernel="rbf", method=MKKMMR(lam=0.0, unit_diagonal=True), random_state=0)
    views = [X[:, :2], X[:, 1:]]
    assert model.fit(views).diagnostics_.kkt_residual < 1e-12  # the weights are optimal
    monkeypatch.setattr(_refine, "minimize_on_simplex", lambda Q: np.full(len(Q), 1 / len(Q)))  # and these are not
    rest = 1 - model.fit(views).explained_
    assert_allclose(model.weights_, 0.5)
    assert_allclose(model.diagnostics_.kkt_residual, 1 - rest.min() / rest.mean())
    assert model.diagnostics_.kkt_residual > 0.01
