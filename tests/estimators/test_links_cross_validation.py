"""Links under cross-validation: one number a sample is split with the samples, pairs are rows of a fold."""

import numpy as np
import pytest
from joblib import parallel_backend
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelclust import KernelKMeans, StructuredClustering
from kernelclust.solvers import Greedy

pytestmark = pytest.mark.usefixtures("few_starts")

X, truth = make_blobs(60, n_features=3, centers=4, cluster_std=2.5, random_state=5)
rng = np.random.default_rng(0)
TOGETHER = np.where(rng.random(60) < 0.5, rng.integers(0, 12, 60), -1)
APART = np.full(60, -1)
APART[rng.permutation(np.flatnonzero(TOGETHER < 0))[:20]] = np.repeat(np.arange(5), 4)
FOLDS = KFold(3, shuffle=True, random_state=0)
MODEL = KernelKMeans(4, n_init=2, random_state=0)


def check_kept(labels, together, apart):
    for group in np.unique(together[together >= 0]):
        assert len(np.unique(labels[together == group])) == 1
    for group in np.unique(apart[apart >= 0]):
        assert len(np.unique(labels[apart == group])) == np.sum(apart == group)


def test_every_fold_has_the_groups_of_its_samples():
    found = cross_validate(
        MODEL,
        X,
        cv=FOLDS,
        params={"must_link": TOGETHER, "cannot_link": APART},
        return_estimator=True,
        return_indices=True,
        error_score="raise",
    )
    for model, train in zip(found["estimator"], found["indices"]["train"], strict=True):
        check_kept(model.labels_, TOGETHER[train], APART[train])
        alone = clone(MODEL).fit(X[train], must_link=TOGETHER[train], cannot_link=APART[train])
        assert_array_equal(model.labels_, alone.labels_)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_grid_search_with_groups(n_jobs):
    search = GridSearchCV(MODEL, {"kernel__gamma": [0.01, 0.1]}, cv=FOLDS, n_jobs=n_jobs, error_score="raise")
    with parallel_backend("threading"):
        search.fit(X, must_link=TOGETHER, cannot_link=APART)
    check_kept(search.best_estimator_.labels_, TOGETHER, APART)


def test_a_pipeline_with_groups():
    pipeline = make_pipeline(StandardScaler(), MODEL)
    search = GridSearchCV(pipeline, {"kernelkmeans__kernel__gamma": [0.1, 1.0]}, cv=FOLDS, error_score="raise")
    search.fit(X, kernelkmeans__must_link=TOGETHER)
    check_kept(search.best_estimator_[-1].labels_, TOGETHER, np.full(60, -1))


PAIRS = np.array([[0, 1], [2, 3]])


@pytest.mark.parametrize("name", ["must_link", "cannot_link"])
def test_pairs_beyond_the_rows_of_a_fold_are_an_error_that_says_what_to_do(name):
    """A fold has 40 of the 60 samples."""
    pairs = [[0, 1], [2, 40]]
    says = rf"{name}\[1\] = \[2, 40\] .* no sample 40: X has 40.* in cross-validation.* give one integer per sample"
    with pytest.raises(ValueError, match=says):
        cross_validate(MODEL, X, cv=FOLDS, params={name: pairs}, error_score="raise")
    search = GridSearchCV(
        make_pipeline(StandardScaler(), MODEL), {"kernelkmeans__n_init": [1]}, cv=FOLDS, error_score="raise"
    )
    with pytest.raises(ValueError, match="no sample 40"):
        search.fit(X, **{f"kernelkmeans__{name}": pairs})


def test_pairs_are_rows_of_the_fold():
    found = cross_validate(
        MODEL, X, cv=FOLDS, params={"must_link": PAIRS}, return_estimator=True, return_indices=True, error_score="raise"
    )
    for model, train in zip(found["estimator"], found["indices"]["train"], strict=True):
        assert_array_equal(model.labels_, clone(MODEL).fit(X[train], must_link=PAIRS).labels_)
        assert_array_equal(model.labels_[PAIRS[:, 0]], model.labels_[PAIRS[:, 1]])


def test_no_pairs_are_no_links():
    cross_validate(MODEL, X, cv=FOLDS, params={"must_link": [], "cannot_link": np.empty((0, 2))}, error_score="raise")


class PairsOfItsOwn(ClusterMixin, BaseEstimator):
    """Makes pairs for whatever samples it is given."""

    def fit(self, X, y=None):
        self.model_ = StructuredClustering(3, solver=Greedy(n_init=1), random_state=0).fit(
            X, must_link=[(0, 1)], cannot_link=[(1, 2)]
        )
        return self

    def score(self, X, y=None):
        return self.model_.score(X)


def test_pairs_that_a_user_makes_for_each_fold_are_welcome():
    cross_validate(PairsOfItsOwn(), X, cv=FOLDS, error_score="raise")
    KernelKMeans(4, n_init=1).fit(X, must_link=PAIRS)
    make_pipeline(StandardScaler(), KernelKMeans(4, n_init=1)).fit(X, kernelkmeans__must_link=PAIRS)
