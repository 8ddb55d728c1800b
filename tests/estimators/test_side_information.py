"""fit(X, y, must_link=, cannot_link=) and sizes: kept by every estimator and solver, wrong ones refused in words."""

import warnings

import numpy as np
import pandas as pd
import pytest
from flat_parameters import build
from numpy.testing import assert_allclose, assert_array_equal
from parts import ESTIMATORS, RELAXATIONS
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from kernelclust import KernelKMeans, StructuredClustering
from kernelclust.engine import canonical_places
from kernelclust.solvers import greedy
from kernelclust.structures import as_structure

every_estimator = pytest.mark.parametrize("Estimator", ESTIMATORS)
pytestmark = [
    pytest.mark.usefixtures("few_starts"),
    pytest.mark.filterwarnings("ignore:the order of these clusters:UserWarning"),
]

X, truth = make_blobs(60, n_features=3, centers=4, cluster_std=2.5, random_state=5)
X.flags.writeable = False
rng = np.random.default_rng(0)
SOME = np.where(rng.random(60) < 0.2, rng.integers(0, 4, 60), -1)  # labels that the data would not give
FREE = np.flatnonzero(SOME < 0)
MUST = rng.permutation(FREE)[:16].reshape(-1, 2)
CANNOT = rng.permutation(np.setdiff1d(FREE, MUST))[:16].reshape(-1, 2)
FEW_STEPS = {"low_rank_sdp": {"max_steps": 5}}  # what is known is kept wherever a relaxation stops


def check_kept(labels, y=SOME, must=MUST, cannot=CANNOT):
    assert_array_equal(labels[y >= 0], y[y >= 0])
    assert_array_equal(labels[must[:, 0]], labels[must[:, 1]])
    assert np.all(labels[cannot[:, 0]] != labels[cannot[:, 1]])


@every_estimator
def test_every_estimator_keeps_what_is_known(Estimator):
    model = build(Estimator, 4, n_init=3, min_cluster_size=12, max_cluster_size=17, random_state=0)
    model.fit(X, SOME, must_link=MUST, cannot_link=CANNOT)
    check_kept(model.labels_)
    assert model.sizes_.min() >= 12 and model.sizes_.max() <= 17
    assert_allclose(model.sizes_, np.bincount(model.labels_))
    assert model.objective_ <= model.diagnostics_.size_bound * (1 + 1e-9)
    assert model.objective_ <= model.upper_bound_ * (1 + 1e-9)
    assert model.predict(X).shape == (60,)


def test_soft_labels_do_not_move_clusters_to_places_of_other_sizes():
    """Of equivalent numberings soft labels choose one, but only among those that keep what is fixed."""
    movable, wishes = np.array([True, True, False]), np.array([[0.0, 0, 1], [0, 0, 0], [1, 0, 0]])
    S, n = np.eye(3), np.array([3.0, 2.0, 1.0])
    assert_array_equal(canonical_places(as_structure("flat:3"), S, n, movable, wishes), [0, 1, 2])
    assert_array_equal(canonical_places(as_structure("flat:3"), S, n, None, wishes), [2, 1, 0])
    with np.errstate(all="raise", under="ignore"):  # wishes count beside each other, however small
        assert_array_equal(canonical_places(as_structure("flat:3"), S, n, None, 1e-310 * wishes), [2, 1, 0])


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("solver", RELAXATIONS)
def test_every_solver_keeps_what_is_known(solver, polish):
    if solver == "sdp":
        pytest.importorskip("cvxpy")
    few = slice(0, 60, 4) if solver == "sdp" else slice(None)
    y = SOME[few]
    links = {} if solver == "sdp" else {"must_link": MUST, "cannot_link": CANNOT}
    model = build(
        StructuredClustering,
        structure="chain:4",
        kernel="rbf",
        solver=solver,
        solver_params={"polish": polish} | FEW_STEPS.get(solver, {}),
        max_cluster_size=17,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[few], y, **links)
    assert_array_equal(model.labels_[y >= 0], y[y >= 0])
    assert model.sizes_.max() <= 17
    if links:
        check_kept(model.labels_)


@every_estimator
def test_all_labels_given_are_returned(Estimator):
    with pytest.warns(UserWarning, match="labels every sample"):
        model = Estimator(4, random_state=0).fit(X, truth)
    assert_array_equal(model.labels_, truth)


def test_fit_predict_knows_labels_too():
    labels = KernelKMeans(4, random_state=0).fit_predict(X, SOME, must_link=MUST)
    assert_array_equal(labels, KernelKMeans(4, random_state=0).fit(X, SOME, must_link=MUST).labels_)
    assert_array_equal(labels[SOME >= 0], SOME[SOME >= 0])
    pipeline = make_pipeline(StandardScaler(), KernelKMeans(4, random_state=0)).fit(X, SOME)
    assert_array_equal(pipeline[-1].labels_[SOME >= 0], SOME[SOME >= 0])


def test_nothing_known_changes_nothing():
    plain = StructuredClustering(structure="ring:4", random_state=0).fit(X)
    nothing = StructuredClustering(structure="ring:4", random_state=0)
    nothing.fit(X, np.full(60, -1), must_link=[], cannot_link=np.empty((0, 2), dtype=int))
    assert_array_equal(plain.labels_, nothing.labels_)
    assert plain.objective_ == nothing.objective_
    assert plain.order_.margin == nothing.order_.margin


def ring(n=80, sectors=8, seed=0):
    rng = np.random.default_rng(seed)
    at = np.repeat(np.arange(sectors), n // sectors)
    angle = 2 * np.pi * at / sectors
    return np.c_[np.cos(angle), np.sin(angle)] + 0.05 * rng.standard_normal((len(at), 2)), at


@pytest.mark.parametrize(
    ("search", "solver", "label_weight"),
    [
        ("refine", "greedy", None),
        ("refine", "greedy", 5.0),
        ("global", "greedy", None),
        ("global", "greedy", 5.0),
        ("refine", "low_rank_sdp", None),
    ],
)
def test_three_labels_turn_a_ring_as_they_say(search, solver, label_weight):
    Z, at = ring()
    y = np.full(80, -1)
    y[[0, 10, 30]] = at[[0, 10, 30]]  # sectors 0, 1 and 3: which way round, and where it begins
    model = build(
        StructuredClustering,
        structure="ring:8",
        kernel="rbf",
        search=search,
        solver=solver,
        label_weight=label_weight,
        random_state=0,
        solver_params=FEW_STEPS.get(solver),
        compute_confidence=False,
    )
    assert_array_equal(model.fit(Z, y).labels_, at)
    y[[0, 10, 30]] = (5 - at[[0, 10, 30]]) % 8
    assert_array_equal(model.fit(Z, y).labels_, (5 - at) % 8)
    assert model.order_.margin > 0


def test_labels_help_where_the_data_alone_mislead():
    """Two long bars, labels at the ends: known ends carry the rest with them."""
    rng = np.random.default_rng(0)
    t = rng.uniform(-3, 3, 200)
    side = np.repeat([0, 1], 100)
    Z = np.c_[t, 1.2 * side + 0.1 * rng.standard_normal(200)]
    y = np.full(200, -1)
    for s in (0, 1):
        group = np.flatnonzero(side == s)
        y[group[np.argsort(t[group])[[0, 1, 2, 30, 50, 70, -3, -2, -1]]]] = s
    alone = KernelKMeans(2, kernel="linear", random_state=0).fit(Z).labels_
    helped = KernelKMeans(2, kernel="linear", random_state=0).fit(Z, y).labels_
    assert np.mean(helped == side) > max(np.mean(alone == side), np.mean(alone != side))


def test_sample_order_does_not_matter():
    order = np.random.default_rng(3).permutation(60)
    where = np.argsort(order)
    model = StructuredClustering(structure="chain:4", kernel="rbf", random_state=0)
    one = clone(model).fit(X, SOME, must_link=MUST, cannot_link=CANNOT)
    other = clone(model).fit(X[order], SOME[order], must_link=where[MUST], cannot_link=where[CANNOT])
    assert_allclose(one.objective_, other.objective_, rtol=1e-9)
    assert_array_equal(one.labels_[order], other.labels_)
    linked = clone(model).fit(X, must_link=MUST), clone(model).fit(X[order], must_link=where[MUST])
    assert_array_equal(linked[0].labels_[order], linked[1].labels_)


def test_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr(greedy, "MIN_PARALLEL_SAMPLES", 0)
    labels = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            model = StructuredClustering(structure="ring:4", kernel="rbf", max_cluster_size=16, random_state=0)
            labels.append(model.fit(X, SOME, cannot_link=CANNOT).labels_)
    assert_array_equal(*labels)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_samples_of_weight_zero_keep_what_is_known_about_them(kernel):
    data = rbf_kernel(X) if kernel == "precomputed" else X
    weight = np.ones(60)
    known, linked, chain = FREE[0], MUST[0], MUST[1]
    y = SOME.copy()
    y[known] = 3
    weight[[known, linked[0], chain[0], chain[1]]] = 0
    model = KernelKMeans(4, kernel=kernel, random_state=0).fit(data, y, weight, must_link=MUST)
    check_kept(model.labels_, y=y, cannot=np.empty((0, 2), dtype=int))
    used = weight > 0
    number = np.cumsum(used) - 1
    left = MUST[np.all(used[MUST], axis=1)]
    part = data[np.ix_(used, used)] if kernel == "precomputed" else data[used]
    without = KernelKMeans(4, kernel=kernel, random_state=0).fit(part, y[used], must_link=number[left])
    assert_array_equal(model.labels_[used], without.labels_)
    with pytest.raises(ValueError, match="weight zero"):
        model.fit(data, sample_weight=weight, cannot_link=[[chain[0], 5]])


def test_weights_count_in_sizes():
    weight = np.where(np.arange(60) < 6, 5.0, 1.0)  # 84 in all
    model = KernelKMeans(4, min_cluster_size=21, max_cluster_size=21, random_state=0).fit(X, sample_weight=weight)
    assert_allclose(np.bincount(model.labels_, weight), 21)


def test_a_size_for_each_place():
    sizes = [5, 10, 15, 30]
    model = StructuredClustering(structure="chain:4", min_cluster_size=sizes, max_cluster_size=sizes, random_state=0)
    assert_array_equal(np.bincount(model.fit(X).labels_), sizes)


def test_must_links_are_merged_samples():
    """A fit with must-links is a fit of the blocks' means and weights, in feature space."""
    model = KernelKMeans(4, kernel="linear", n_init=20, random_state=0).fit(X, must_link=MUST)
    block = np.arange(60)
    block[MUST[:, 1]] = MUST[:, 0]
    _, block = np.unique(block, return_inverse=True)
    weight = np.bincount(block)
    means = np.stack([np.bincount(block, column) for column in X.T], axis=1) / weight[:, None]
    merged = KernelKMeans(4, kernel="linear", n_init=20, random_state=0).fit(means, sample_weight=weight)
    assert_allclose(model.objective_, merged.objective_, rtol=1e-9)
    assert_array_equal(model.labels_, merged.labels_[block])


def test_places_that_labels_leave_empty_are_reported():
    with pytest.warns(UserWarning, match="cluster 3 is empty: labels and links"):
        model = KernelKMeans(4).fit(X[:6], [0, 0, 1, 1, 2, 2])
    assert_array_equal(model.labels_, [0, 0, 1, 1, 2, 2])
    assert not np.any(model.predict(X) == 3)
    with pytest.warns(UserWarning, match="clusters 2, 3 are empty: labels and links"):
        KernelKMeans(4).fit(X[:6], [0, 0, 1, 1, 1, 0])


def test_soft_labels_may_be_overruled():
    """One wrong label far inside another group."""
    Z, at = make_blobs(90, centers=[[0, 0], [8, 0], [0, 8]], cluster_std=0.5, random_state=0)
    y = np.where(np.arange(90) % 6 == 0, at, -1)
    wrong = np.flatnonzero(y >= 0)[0]
    y[wrong] = (at[wrong] + 1) % 3
    soft = KernelKMeans(3, label_weight=0.5, random_state=0).fit(Z, y)
    assert_array_equal(soft.labels_, at)
    hard = KernelKMeans(3, random_state=0).fit(Z, y)
    assert hard.labels_[wrong] == y[wrong]
    firm = KernelKMeans(3, label_weight=50.0, random_state=0).fit(Z, y)
    assert_array_equal(firm.labels_, hard.labels_)


def test_frames_and_lists():
    frame = pd.DataFrame(X, columns=list("abc"))
    y = pd.Series(SOME, index=np.arange(60)[::-1])
    links = pd.DataFrame(MUST, columns=["one", "other"])
    model = KernelKMeans(4, random_state=0).fit(frame, y, must_link=links, cannot_link=CANNOT.tolist())
    plain = KernelKMeans(4, random_state=0).fit(X, SOME, must_link=MUST, cannot_link=CANNOT)
    assert_array_equal(model.labels_, plain.labels_)
    floats = KernelKMeans(4, random_state=0).fit(
        X, SOME.astype(float), must_link=MUST.astype(float), cannot_link=CANNOT
    )
    assert_array_equal(floats.labels_, plain.labels_)


# -- bad input --------------------------------------------------------------------------------------------------------

OUTSIDE = np.where(np.arange(60) == 7, 4, SOME)
NAMES = np.array(["a", "b"] * 30)


@pytest.mark.parametrize(
    ("error", "match", "arguments"),
    [
        (ValueError, r"y\[7\] = 4 is not a node .* 0 to 3 .* -1 where", {"y": OUTSIDE}),
        (ValueError, r"y\[0\] = -2 is not a node", {"y": np.full(60, -2)}),
        (ValueError, r"y\[3\] = 0.5 is not a node", {"y": np.where(np.arange(60) == 3, 0.5, 1)}),
        (ValueError, r"y\[3\] = nan is not a node", {"y": np.where(np.arange(60) == 3, np.nan, 1)}),
        (ValueError, "y holds str_ values such as", {"y": NAMES}),
        (ValueError, "y holds True and False", {"y": truth > 1}),
        (ValueError, r"y has shape \(59,\), but X has 60 samples", {"y": SOME[:-1]}),
        (ValueError, r"y has shape \(60, 2\)", {"y": np.zeros((60, 2))}),
        (ValueError, r"must_link\[1\] = \[3, 60\] is not a pair", {"must_link": [[0, 1], [3, 60]]}),
        (ValueError, r"cannot_link\[0\] = \[-1, 3\] is not a pair", {"cannot_link": [[-1, 3]]}),
        (ValueError, r"cannot_link\[0\] = \[0.5, 3.0\] is not a pair", {"cannot_link": [[0.5, 3]]}),
        (ValueError, "cannot_link holds pairs .* got shape", {"cannot_link": [[0, 1, 2]]}),
        (ValueError, "must_link holds pairs .* got shape", {"must_link": [0, 1]}),
        (ValueError, "must_link holds pairs", {"must_link": [["a", "b"]]}),
        (ValueError, "must_link holds pairs", {"must_link": 3}),
        (ValueError, "must_link holds pairs", {"must_link": np.ones((60, 2), dtype=bool)}),
        (ValueError, r"cannot_link\[0\] = \[2, 2\] separates a sample from itself", {"cannot_link": [[2, 2]]}),
        (ValueError, "must_link joins 0 - 1 - 2", {"must_link": [[0, 1], [1, 2]], "cannot_link": [[0, 2]]}),
    ],
)
def test_bad_knowledge_is_refused_before_any_work(error, match, arguments, monkeypatch):
    model = KernelKMeans(4, random_state=0).fit(X)
    before = dict(model.__dict__)
    monkeypatch.setattr("kernelclust.engine._fit.fit_kernel", None)  # no kernel work may start
    with pytest.raises(error, match=match):
        model.fit(X, **arguments)
    assert model.__dict__ == before
    fresh = KernelKMeans(4)
    with pytest.raises(error):
        fresh.fit(X, **arguments)
    assert not hasattr(fresh, "labels_")


@pytest.mark.parametrize(
    ("error", "match", "parameters"),
    [
        (TypeError, "min_cluster_size must be a number", {"min_cluster_size": "5"}),
        (TypeError, "max_cluster_size must be a number", {"max_cluster_size": True}),
        (TypeError, "max_cluster_size must be a number", {"max_cluster_size": [[5]]}),
        (ValueError, "max_cluster_size must be a number .* 4 of them", {"max_cluster_size": [30, 30]}),
        (ValueError, "min_cluster_size must be a number", {"min_cluster_size": -1}),
        (ValueError, "min_cluster_size must be a number", {"min_cluster_size": np.nan}),
        (ValueError, "min_cluster_size must be a number", {"min_cluster_size": np.inf}),
        (ValueError, "4 clusters need 64 in all, the samples weigh 60", {"min_cluster_size": 16}),
        (ValueError, "4 clusters hold 56 in all, the samples weigh 60", {"max_cluster_size": 14}),
        (ValueError, "is above max_cluster_size", {"min_cluster_size": 15, "max_cluster_size": 14}),
        (ValueError, "label_weight", {"label_weight": -1.0}),
        (TypeError, "label_weight", {"label_weight": "soft"}),
        (ValueError, "label_weight", {"label_weight": np.inf}),
    ],
)
def test_bad_sizes_and_weights_of_labels_are_refused(error, match, parameters):
    model = build(KernelKMeans, 4, **parameters)
    with pytest.raises(error, match=match):
        model.fit(X, SOME)
    assert not hasattr(model, "labels_")


def test_classes_that_are_no_places_are_ignored_with_a_warning():
    """What scikit-learn's tools hand to every estimator as y."""
    model = KernelKMeans(3, random_state=0)
    with pytest.warns(UserWarning, match="y is ignored, .* label 3, .* nodes 0 to 2"):
        labels = model.fit(X, truth).labels_
    assert_array_equal(labels, KernelKMeans(3, random_state=0).fit(X).labels_)


def test_all_rows_equal():
    model = KernelKMeans(3, min_cluster_size=5, max_cluster_size=8, random_state=0)
    y = np.full(20, -1)
    y[:3] = [0, 1, 2]
    model.fit(np.ones((20, 2)), y, must_link=[[0, 5]], cannot_link=[[0, 6], [1, 6]])
    assert_array_equal(model.labels_[[0, 1, 2, 5, 6]], [0, 1, 2, 0, 2])
    assert model.sizes_.min() >= 5 and model.sizes_.max() <= 8
