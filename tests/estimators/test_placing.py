"""The manners of transform, membership, position, arrangements and questions."""

import pickle

import numpy as np
import pandas as pd
import pytest
from flat_parameters import build
from numpy.testing import assert_allclose, assert_array_equal
from parts import ESTIMATORS
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelclust import (
    KernelKMeans,
    MaxMarginClustering,
    MultiKernelClustering,
    StructuredClustering,
)
from kernelclust.engine import doubtful
from kernelclust.kernels import DenseKernel

pytestmark = [pytest.mark.usefixtures("few_starts"), pytest.mark.filterwarnings("ignore::UserWarning")]
X, truth = make_blobs(60, n_features=3, centers=4, cluster_std=0.8, random_state=0)
METHODS = ["transform", "membership", "position", "pseudotime", "lineages", "position_interval", "pseudotime_interval"]
every_estimator = pytest.mark.parametrize("Estimator", [*ESTIMATORS, MultiKernelClustering])


def on_a_chain(Estimator, n_clusters=4):
    if Estimator is KernelKMeans:
        return build(Estimator, n_clusters, n_init=2, random_state=0)
    return build(Estimator, structure=f"chain:{n_clusters}", n_init=2, random_state=0)


@pytest.mark.parametrize("kernel", ["auto", "graph"])
def test_neighbours_by_a_tree_survive_copies(kernel):
    t = np.linspace(0, 5, 300)[:, None]
    model = StructuredClustering(structure="chain:4", kernel=kernel, random_state=0).fit(np.hstack([np.cos(t), t]))
    new = np.hstack([np.cos(t + 0.01), t])
    assert_array_equal(pickle.loads(pickle.dumps(model)).transform(new), model.transform(new))


@every_estimator
def test_all_of_it_is_there_and_survives_copies(Estimator):
    model = on_a_chain(Estimator).fit(X)
    assert_array_equal(model.labels_[model.medoids_], np.arange(4))
    for twin in (pickle.loads(pickle.dumps(model)), clone(model).fit(X)):
        assert_array_equal(twin.transform(X), model.transform(X))
        assert_array_equal(twin.membership(X), model.membership(X))
        if Estimator is KernelKMeans:
            assert twin.order_ is None and not hasattr(twin, "position")
        else:
            assert_array_equal(twin.position(X), model.position(X))
            assert_array_equal(twin.order_.queries(3), model.order_.queries(3))
            assert [one.score for one in twin.order_.alternatives(3)] == [
                one.score for one in model.order_.alternatives(3)
            ]
    assert_array_equal(Estimator.fit_transform(clone(model), X), model.transform(X))


@every_estimator
def test_names_of_columns(Estimator):
    model = on_a_chain(Estimator).fit(X)
    names = [f"{Estimator.__name__.lower()}{j}" for j in range(4)]
    assert_array_equal(model.get_feature_names_out(), names)
    frame = model.set_output(transform="pandas").transform(pd.DataFrame(X, index=np.arange(60) + 5).to_numpy())
    assert list(frame.columns) == names


def test_frames_keep_their_index():
    frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(60) + 100)
    model = KernelKMeans(4, random_state=0).set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).index) == list(frame.index)


def test_in_a_pipeline():
    steps = make_pipeline(StandardScaler(), KernelKMeans(6, random_state=0))
    Z = StandardScaler().fit_transform(X)
    assert_array_equal(steps.fit_transform(X), KernelKMeans(6, random_state=0).fit(Z).transform(Z))


def test_classes_in_a_pipeline_are_known_labels():
    steps = make_pipeline(KernelKMeans(4, random_state=0), LogisticRegression())
    with pytest.warns(UserWarning, match="y labels every sample"):
        steps.fit(X, truth)
    assert_array_equal(steps[0].labels_, truth)


@every_estimator
@pytest.mark.parametrize("method", METHODS)
def test_before_a_fit(Estimator, method):
    absent = {KernelKMeans: METHODS[2:], MultiKernelClustering: METHODS[5:]}
    if method in absent.get(Estimator, ()):
        assert not hasattr(Estimator(), method)
        return
    with pytest.raises(NotFittedError):
        getattr(Estimator(), method)(X)


@every_estimator
def test_no_evidence_before_a_fit(Estimator):
    assert not hasattr(Estimator(), "order_") and not hasattr(Estimator(), "diagnostics_")


def test_max_margin_clusters_have_no_means():
    for name in [*METHODS, "order_"]:
        assert not hasattr(MaxMarginClustering().fit(X), name)


def test_views_with_missing_samples():
    views = [X[:, :2].copy(), X[:, 1:].copy()]
    views[0][3] = np.nan
    model = MultiKernelClustering(structure="ring:4", random_state=0).fit(views)
    for found in (model.transform(views), model.membership(views), model.position(views), model.position_):
        assert np.isfinite(found).all()
    assert_allclose(model.position(views), model.position_, atol=1e-6)


@pytest.mark.parametrize("structure", ["ring:6", "chain:6", "flat:4"])
def test_views_predict_their_own_labels(structure):
    views = [X[:, :2], X[:, 1:]]
    model = MultiKernelClustering(structure=structure, random_state=0).fit(views)
    assert_array_equal(model.predict(views), model.labels_)


def test_weight_zero_in_views():
    weight = np.ones(60)
    weight[:5] = 0
    model = MultiKernelClustering(structure="chain:4", kernel="rbf", random_state=0).fit([X], sample_weight=weight)
    assert_allclose(model.position([X]), model.position_, atol=1e-6)
    assert (model.medoids_ >= 5).all()
    with pytest.raises(ValueError, match="n=56 queries, but 55 samples"):
        model.order_.queries(56)


@pytest.mark.parametrize("structure", ["flat:4", np.eye(4) + 1])
def test_structures_without_positions(structure):
    model = StructuredClustering(structure=structure, random_state=0).fit(X)
    assert model.position_ is None
    with pytest.raises(ValueError, match="has no positions between its clusters"):
        model.position(X)


@pytest.mark.parametrize("structure", ["flat:4", "ring:3", "chain:2", "chain:1"])
def test_one_arrangement(structure):
    model = StructuredClustering(structure=structure, random_state=0).fit(X)
    assert model.order_ is None and model.order_confidence_ is None


def test_known_nodes_leave_one_arrangement():
    model = StructuredClustering(structure="chain:4", random_state=0)
    blobs = StructuredClustering(structure="chain:4", random_state=0).fit(X)
    y = np.full(60, -1)
    y[blobs.medoids_] = np.arange(4)
    order = model.fit(X, y).order_
    assert order.margin is None and order.confidence == 1
    with pytest.raises(
        ValueError, match="only one arrangement of the clusters on 'chain:4' that agrees with the known labels"
    ):
        order.alternatives()
    assert not set(blobs.medoids_) & set(order.queries(56))


def test_an_order_reads_well():
    model = StructuredClustering(structure="chain:4", random_state=0).fit(X)
    assert repr(model.order_).startswith("ClusterOrder('chain:4': confidence=0.")
    assert "weakest link=" in repr(model.order_)
    model.set_params(compute_confidence=False).fit(X)
    assert model.order_confidence_ is None and model.order_.pvalue is None and model.order_.links is None
    assert repr(model.order_) == f"ClusterOrder('chain:4': margin={model.order_.margin:.3g})"


def test_bad_numbers():
    model = StructuredClustering(structure="chain:4", random_state=0).fit(X)
    for method in (model.order_.alternatives, model.order_.queries):
        with pytest.raises(ValueError, match="n=0: give an integer of 1 or more"):
            method(0)
        with pytest.raises(TypeError, match=r"n=2\.5"):
            method(2.5)
    with pytest.raises(ValueError, match="n=61 queries, but 60 samples"):
        model.order_.queries(61)
    assert sorted(model.order_.queries(60)) == list(range(60))
    assert len(model.order_.alternatives(1)) == 1
    assert len(model.order_.alternatives(1000)) == 12  # 4! / 2
    for method in (model.transform, model.membership, model.position):
        with pytest.raises(ValueError, match="features"):
            method(X[:, :2])


def test_samples_beyond_floating_point():
    model = StructuredClustering(structure="chain:4", kernel="polynomial", random_state=0).fit(X)
    for method in (model.transform, model.membership, model.position):
        with pytest.raises(ValueError, match="too far away"):
            method([[1e200] * 3])


def test_arrangements_give_labels():
    model = StructuredClustering(structure="chain:4", random_state=0).fit(X)
    first, second, *_ = model.order_.alternatives()
    assert_array_equal(first.nodes[model.labels_], model.labels_)
    assert first.score == 0 and second.score == -model.order_.margin
    assert not np.array_equal(second.nodes[model.labels_], model.labels_)


def test_operators_know_their_own_samples():
    K = X @ X.T
    model = StructuredClustering(structure="chain:4", kernel="precomputed", random_state=0).fit(
        DenseKernel(K, np.ones(60))
    )
    twin = StructuredClustering(structure="chain:4", kernel="precomputed", random_state=0).fit(K)
    assert_allclose(model.position_, twin.position_, atol=1e-9)
    assert_array_equal(model.medoids_, twin.medoids_)
    with pytest.raises(ValueError, match="new samples cannot be assigned"):
        model.transform(K)


@pytest.mark.parametrize("label_weight", [None, 0.5])
@pytest.mark.parametrize("Estimator", [StructuredClustering, MultiKernelClustering])
def test_known_labels_are_not_asked_for(Estimator, label_weight):
    y, weight = np.full(60, -1), np.ones(60)
    y[[3, 7]], weight[[7, 9]] = truth[[3, 7]], 0
    model = Estimator(structure="chain:4", label_weight=label_weight, random_state=0)
    model.fit(X, y, sample_weight=weight, must_link=[(3, 5), (10, 11)])
    closed = {3, 5, 7, 9}  # 5 is in the cluster of 3; 9 has no weight
    assert set(model.order_.queries(56)) == set(range(60)) - closed
    with pytest.raises(ValueError, match="n=57 queries, but 56 samples"):
        model.order_.queries(57)


def test_questions_are_typical_samples_first():
    model = StructuredClustering(structure="ring:4", random_state=0).fit(X)
    asked = model.order_.queries(8)
    assert set(asked[:4]) == set(model.medoids_)
    assert_array_equal(model.labels_[asked[:4]], model.labels_[asked[4:]])  # the same clusters in the same order
    away = model.transform(X)[np.arange(60), model.labels_]
    for first, second in zip(asked[:4], asked[4:], strict=True):
        assert away[first] <= away[second]


def test_questions_are_about_the_clusters_that_tell_most():
    """One sample of each cluster, in the order of `doubtful`."""
    noise = np.random.default_rng(6).standard_normal((60, 3))
    model = StructuredClustering(structure="chain:5", kernel="rbf", random_state=0).fit(noise)
    first = doubtful(model.order_._problem, model.sizes_)
    assert_array_equal(model.labels_[model.order_.queries(5)], first)
    assert not np.array_equal(first, np.argsort(first))  # neither their numbers nor the ranks
