"""MultiKernelClustering: what it takes, what it leaves, and what it refuses."""

import importlib.util
import pickle
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from parts import kernels
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version
from threadpoolctl import threadpool_limits

import reproduction.multikernel
from kernelclust import KernelKMeans, MultiKernelClustering, structured_hsic
from kernelclust._terms import term_class, term_names
from kernelclust.kernels import RBF, Cholesky, DenseKernel, Nystroem, Polynomial, Precomputed, RandomFeatures
from kernelclust.kernels._scale import median_gamma
from kernelclust.kernels._spectrum import LANDMARKS
from kernelclust.multikernel import MKKM, MKKMMR, Average, as_method, method_names, prepare
from kernelclust.objectives import Dependence

pytestmark = pytest.mark.usefixtures("few_starts")

METHODS = [as_method(name) for name in method_names()]
METHODS += [term_class(reproduction.multikernel, name)() for name in term_names(reproduction.multikernel)]
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
X, truth = make_blobs(72, n_features=6, centers=3, cluster_std=2.5, random_state=4)
X.flags.writeable = False
LIST = [X[:, :2], X[:, 2:4], X[:, 4:]]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with threadpool_limits(limits=1):
        yield


def median_kernel(V):
    D = ((V[:, None] - V) ** 2).sum(axis=2)
    return np.exp(-D / (2 * np.median(D[np.triu_indices(len(V), 1)])))


STACK = np.stack([median_kernel(V) for V in LIST])


def same(one, other):
    assert_array_equal(one.labels_, other.labels_)
    assert_allclose(one.weights_, other.weights_, rtol=1e-6)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)


def by_rbf(*args, **settings):
    """The kernels of the papers; those of kernel="auto" are tried in test_many_views.py."""
    return MultiKernelClustering(*args, **{"kernel": "rbf"} | settings)


# -- what it takes ----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*stopped before")  # lmkkm creeps
@every_method
def test_every_method_from_every_kind_of_input(method):
    model = by_rbf(3, method=method, random_state=0).fit(LIST)
    assert adjusted_rand_score(truth, model.labels_) > (0.8 if method.name == "lmkkm" else 0.95)
    columns = by_rbf(3, method=method, views=[[0, 1], slice(2, 4), slice(4, 6)], random_state=0).fit(X)
    given = by_rbf(3, kernel="precomputed", method=method, random_state=0).fit(STACK)
    same(columns, model)
    same(given, model)
    assert_array_equal(model.predict(LIST), columns.predict(X))
    new = [V[:9] + 0.1 for V in LIST]
    similarities = [
        np.exp(-((a[:, None] - b) ** 2).sum(axis=2) / (2 * np.median(D[np.triu_indices(72, 1)])))
        for a, b, D in zip(new, LIST, [((V[:, None] - V) ** 2).sum(axis=2) for V in LIST], strict=True)
    ]
    assert_array_equal(given.predict(similarities), model.predict(new))
    assert model.weights_.sum() == pytest.approx(1)
    assert model.diagnostics_.history[-1] == model.objective_
    assert model.diagnostics_.embedding.shape == (72, 9 if method.name == "crsc" else 3)
    assert (model.diagnostics_.sample_weights is None) == (not method.name == "lmkkm")
    assert_array_equal(model.sizes_, np.bincount(model.labels_))
    assert 0 <= model.diagnostics_.kkt_residual < 1e-8


def test_views_by_name_slice_mask_and_function():
    frame = pd.DataFrame(X, columns=["a1", "a2", "b1", "b2", "c1", "c2"])
    model = by_rbf(3, random_state=0).fit(LIST)
    for views in (
        {"a": ["a1", "a2"], "b": slice("b1", "b2"), "c": make_column_selector("^c")},
        [[0, 1], np.array([False, False, True, True, False, False]), lambda table: ["c1", "c2"]],
    ):
        named = by_rbf(3, views=views, random_state=0).fit(frame)
        same(named, model)
        assert_array_equal(named.feature_names_in_, frame.columns)
        assert_array_equal(named.predict(frame), model.predict(LIST))
    views = [["a1", "a2"], ["b1", "b2"], ["c1", "c2"]]
    same(by_rbf(3, views=views, random_state=0).fit(pl.DataFrame(frame)), model)
    named = by_rbf(3, views=views, random_state=0).fit(frame.assign(name="someone"))
    same(named, model)
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame)
    same(by_rbf(3, views=[[0, 1], [2, 3], [4, 5]], random_state=0).fit(X.tolist()), model)
    alone = by_rbf(2, views=["a1", ["b1"]], random_state=0).fit(frame)
    assert alone.weights_.shape == (2,)


def test_several_kernels_on_one_table():
    kernels = ["linear", "rbf", RBF(gamma=0.01), 0.02, Polynomial(degree=2), rbf_kernel, "graph"]
    model = by_rbf(3, kernel=kernels, random_state=0).fit(X)
    assert model.weights_.shape == (7,)
    assert adjusted_rand_score(truth, model.labels_) == 1
    assert_array_equal(model.predict(X), model.labels_)
    assert MultiKernelClustering(3, random_state=0).fit(X).weights_.shape == (1,)
    gammas = [RBF(gamma=g) for g in (0.01, 0.02)]
    same(
        by_rbf(3, kernel=gammas, random_state=0).fit(X),
        by_rbf(3, kernel=[0.01, 0.02], random_state=0).fit(X),
    )
    two_each = by_rbf(3, kernel=["linear", ["rbf", 0.1], "rbf"], random_state=0).fit(LIST)
    assert two_each.weights_.shape == (4,)


def test_a_single_kernel_is_kernel_k_means():
    model = by_rbf(3, kernel="linear", method=MKKMMR(center=True, unit_diagonal=False), random_state=0).fit(X)
    other = KernelKMeans(3, kernel="linear", random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, other.labels_) == 1
    assert_array_equal(model.weights_, [1])
    total = ((X - X.mean(axis=0)) ** 2).sum()
    assert -model.objective_ - model.diagnostics_.lam / 2 * total == pytest.approx(total - other.objective_)


def test_columns_of_frames_in_a_list_are_checked_by_name():
    frames = [pd.DataFrame(V, columns=["a", "b"]) for V in LIST]
    model = by_rbf(3, random_state=0).fit(frames)
    assert_array_equal(model.predict(frames), model.predict(LIST))
    for other in (frames[1][["b", "a"]], frames[1].set_axis(["a", "c"], axis=1)):
        with pytest.raises(ValueError, match=r"feature names should match.*: view 1 has '.', '.', and was"):
            model.predict([frames[0], other, frames[2]])
    model.fit(LIST)
    assert model.predict([frames[0], frames[1][["b", "a"]], frames[2]]).shape == (72,)  # there were no names


def test_sparse_views_and_frames_in_a_list():
    parts = [sparse.csr_matrix(LIST[0]), pd.DataFrame(LIST[1]), LIST[2].tolist()]
    parts[2] = np.array(parts[2])
    same(by_rbf(3, random_state=0).fit(parts), by_rbf(3, random_state=0).fit(LIST))


def test_pipelines_clones_and_pickles():
    pipe = make_pipeline(StandardScaler(), by_rbf(3, views=[slice(0, 3), slice(3, 6)], random_state=0))
    labels = pipe.fit_predict(X)
    assert_array_equal(pipe.predict(X), labels)
    model = clone(pipe[-1])
    assert not hasattr(model, "labels_")
    Z = np.random.default_rng(0).standard_normal((500, 4))
    model.fit(Z)
    stored = pickle.dumps(model)
    assert len(stored) < 200_000  # a kernel matrix would be 2 MB
    assert_array_equal(pickle.loads(stored).predict(Z[::3]), model.predict(Z[::3]))


def test_nothing_of_the_users_is_changed():
    for kernel, data in (("precomputed", list(STACK)), ("rbf", LIST), ("linear", LIST)):
        for center in (True, False):
            copy = [part.copy() for part in data]
            by_rbf(3, kernel=kernel, method=MKKMMR(center=center), random_state=0).fit(copy).predict(copy)
            for part, same in zip(data, copy, strict=True):
                assert_array_equal(part, same)


def test_same_seed_same_labels_and_order_does_not_matter():
    noisy = [V + 2 * np.random.default_rng(1).standard_normal(V.shape) for V in LIST]
    one = by_rbf(3, random_state=3).fit(noisy)
    same(one, by_rbf(3, random_state=3).fit(noisy))
    order = np.random.default_rng(0).permutation(72)
    turned = by_rbf(3, random_state=3).fit([noisy[p][order] for p in (2, 0, 1)])
    assert_allclose(turned.weights_, one.weights_[[2, 0, 1]], rtol=1e-3)
    assert adjusted_rand_score(turned.labels_, one.labels_[order]) > 0.95
    assert turned.objective_ == pytest.approx(one.objective_, rel=1e-2)


# -- what is learned --------------------------------------------------------------------------------------------------


def test_lam_is_that_of_equation_8():
    model = by_rbf(3, method=MKKMMR(lam=0.05, refine=False), random_state=0).fit(LIST)
    H = np.eye(72) - 1 / 72
    K = [H @ one @ H for one in STACK]
    K = [one / np.sqrt(np.outer(np.diag(one), np.diag(one))) for one in K]
    M = np.array([[np.trace(a @ b) for b in K] for a in K])
    mu, rest = model.weights_, np.eye(72) - model.diagnostics_.embedding @ model.diagnostics_.embedding.T
    value = sum(w**2 * np.trace(one @ rest) for w, one in zip(mu, K, strict=True)) + 0.05 / 2 * mu @ M @ mu
    assert -model.objective_ == pytest.approx(value)
    assert model.objective_ == model.diagnostics_.relaxed_objective
    assert model.diagnostics_.lam == 0.05
    refined = by_rbf(3, method=MKKMMR(lam=0.05), random_state=0).fit(LIST)
    Pi = np.eye(3)[refined.labels_]
    rest = np.eye(72) - Pi @ np.diag(1 / Pi.sum(axis=0)) @ Pi.T
    mu = refined.weights_
    value = sum(w**2 * np.trace(one @ rest) for w, one in zip(mu, K, strict=True)) + 0.05 / 2 * mu @ M @ mu
    assert -refined.objective_ == pytest.approx(value)
    assert refined.objective_ <= refined.diagnostics_.relaxed_objective == pytest.approx(model.objective_)
    assert_allclose(
        by_rbf(3, method=MKKMMR(lam=0, refine=False), random_state=0).fit(LIST).weights_,
        by_rbf(3, method=MKKM(refine=False), random_state=0).fit(LIST).weights_,
    )


def test_auto_lam_withstands_noise_that_a_large_lam_prefers():
    """Noise resembles no other view, which regularisation rewards; the alignment of labels and kernel does not."""
    rng = np.random.default_rng(0)
    noise = 3 * rng.standard_normal((72, 6))
    views = [X[:, :3] + 2 * rng.standard_normal((72, 3)), X[:, 3:] + 2 * rng.standard_normal((72, 3)), noise]
    auto = by_rbf(3, random_state=0).fit(views)
    large = by_rbf(3, method=MKKMMR(lam=256 * auto.diagnostics_.lam), random_state=0).fit(views)
    assert auto.weights_[2] == auto.weights_.min()
    assert large.weights_[2] == large.weights_.max()
    assert adjusted_rand_score(truth, auto.labels_) > 0.95


def test_auto_lam_does_not_depend_on_scale():
    auto = by_rbf(3, method=MKKMMR(unit_diagonal=False), random_state=0, kernel="precomputed")
    one, scaled = clone(auto).fit(STACK), clone(auto).fit(100 * STACK)
    assert scaled.diagnostics_.lam == pytest.approx(one.diagnostics_.lam / 100)
    assert_allclose(scaled.weights_, one.weights_, rtol=1e-5)
    for correlation in ("hsic", "mmd", "kl"):
        model = by_rbf(3, method=MKKMMR(correlation=correlation), random_state=0).fit(LIST)
        assert adjusted_rand_score(truth, model.labels_) == 1


def test_copies_of_a_view_share_its_weight():
    views = [*LIST, LIST[0], LIST[0]]  # one view three times
    weights = by_rbf(3, method=MKKMMR(lam=10.0, refine=False), random_state=0).fit(views).weights_
    assert_allclose(weights[[0, 3, 4]], weights[0], rtol=1e-6)
    single = by_rbf(3, method=MKKMMR(lam=10.0, refine=False), random_state=0).fit(LIST).weights_
    assert weights[[0, 3, 4]].sum() == pytest.approx(single[0], rel=0.05)


def test_clusters_of_many_views_sit_on_a_ring():
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(8), 15)
    angle = 2 * np.pi * place / 8
    circle = np.c_[np.cos(angle), np.sin(angle)]
    views = [circle + 0.25 * rng.standard_normal((120, 2)), circle @ [[1], [0]] + 0.25 * rng.standard_normal((120, 1))]
    for method in ("mkkm-mr", reproduction.multikernel.CRSC(), reproduction.multikernel.RMKC()):
        model = by_rbf(structure="ring:8", method=method, random_state=0).fit(views)
        means = [np.bincount(model.labels_[place == p], minlength=8).argmax() for p in range(8)]
        step = np.diff([*means, means[0]]) % 8
        assert set(step) in ({1}, {7})
        assert model.diagnostics_.history == sorted(model.diagnostics_.history)


def test_losses_and_trees():
    for structure, loss in (("flat", "zero-one"), ("tree:2x2", "structure")):
        model = by_rbf(4, structure=structure, objective=Dependence(loss=loss), random_state=0).fit(LIST)
        assert model.diagnostics_.kkt_residual < 1e-8
        assert model.diagnostics_.history == sorted(model.diagnostics_.history)


@pytest.mark.parametrize("kernel", kernels(pairwise=False))
def test_a_constant_view_is_refused_by_name(kernel):
    with pytest.raises(ValueError, match=r"\(view 2\) is constant: .* leave it out"):
        by_rbf(3, kernel=kernel).fit([*LIST[:2], np.full((len(LIST[0]), 2), 3.7)])
    assert len(by_rbf(2, kernel=kernel).fit([np.ones((20, 4))]).labels_) == 20


def test_degenerate_kernels_are_reported_and_avoidable():
    flat = np.repeat([[0.0], [1.0]], 36, axis=0)  # two values: a kernel of rank one
    views = [X, flat[np.random.default_rng(0).permutation(72)]]
    with pytest.warns(UserWarning, match="kernel 1 has next to no residual"):
        model = by_rbf(3, method="mkkm", random_state=0).fit(views)
    assert model.weights_[1] > 0.99
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert by_rbf(3, method=MKKM(ridge=0.2), random_state=0).fit(views).weights_[1] < 0.9
        by_rbf(3, method="average", random_state=0).fit(views)
    with pytest.warns(UserWarning, match="kernel 1 has next to no residual"):  # mkkm-mr gives it less weight, not none
        assert by_rbf(3, random_state=0).fit(views).weights_[1] < 0.9


@pytest.mark.parametrize("method", ["mkkm", "mkkm-mr"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_warning_is_about_ranks_up_to_the_number_of_clusters(method, weighted):
    """A linear kernel of r columns has rank r, centred or not; c + 1 leave a residual."""
    rng = np.random.default_rng(0)
    ranks, c = (1, 3, 4, 5, 9), 4
    views = [rng.standard_normal((60, r)) for r in ranks]
    weight = rng.integers(1, 4, 60) if weighted else None
    low = [p for p, r in enumerate(ranks) if r <= c]
    with pytest.warns(UserWarning, match=f"kernels {', '.join(map(str, low))} have next to no residual.*n_clusters=4"):
        MultiKernelClustering(c, kernel="linear", method=method, random_state=0).fit(views, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultiKernelClustering(c, kernel="linear", method=method, random_state=0).fit(views[3:], sample_weight=weight)


def test_predict_is_the_nearest_mean():
    model = by_rbf(3, random_state=0).fit(LIST)
    new = np.random.default_rng(0).uniform(X.min(), X.max(), (40, 6))
    parts = [new[:, :2], new[:, 2:4], new[:, 4:]]
    together = [np.vstack(pair) for pair in zip(LIST, parts, strict=True)]
    distance = np.zeros((40, 3))
    for w, one, D in zip(model.weights_, together, [((V[:, None] - V) ** 2).sum(axis=2) for V in LIST], strict=True):
        gamma = 1 / (2 * np.median(D[np.triu_indices(72, 1)]))
        K = np.exp(-gamma * ((one[:, None] - one) ** 2).sum(axis=2))
        r, t = K[:, :72].mean(axis=1), K[:72, :72].mean()  # centred with the fitted means
        K = K - r[:, None] - r + t
        K = K / np.sqrt(np.outer(np.diag(K), np.diag(K)))
        for c in range(3):
            at = np.flatnonzero(model.labels_ == c)
            far = np.diag(K)[72:] - 2 * K[72:, at].mean(axis=1) + K[np.ix_(at, at)].mean()
            distance[:, c] += w**2 * far
    assert_array_equal(model.predict(parts), distance.argmin(axis=1))
    low = by_rbf(3, kernel="linear", random_state=0).fit(LIST)
    assert_array_equal(low.predict(LIST), low.labels_)


def test_large_clusters_come_first():
    keep = np.flatnonzero((truth == 1) | (np.arange(72) % 3 == 0) | ((truth == 2) & (np.arange(72) % 2 == 0)))
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(keep)
        model = by_rbf(3, random_state=seed).fit([V[order] for V in LIST])
        assert list(model.sizes_) == sorted(model.sizes_, reverse=True)
        assert len(set(model.sizes_)) == 3
        assert_array_equal(model.sizes_, np.bincount(model.labels_))
        assert_array_equal(model.predict([V[order] for V in LIST]), model.labels_)


# -- missing samples --------------------------------------------------------------------------------------------------


@every_method
def test_samples_may_be_missing_from_views(method):
    observed = np.random.default_rng(0).uniform(size=(72, 3)) < 0.75
    observed[~observed.any(axis=1), 0] = True
    masked = by_rbf(3, method=method, random_state=0).fit(LIST, observed=observed)
    blank = [np.where(seen[:, None], V, np.nan) for V, seen in zip(LIST, observed.T, strict=True)]
    same(masked, by_rbf(3, method=method, random_state=0).fit(blank))
    table = by_rbf(3, method=method, views=[[0, 1], [2, 3], [4, 5]], random_state=0)
    same(masked, table.fit(np.hstack(blank)))
    floor = {"mkkm": 0.4, "lmkkm": 0.6, "rmsc": 0.5}.get(method.name, 0.8)
    assert adjusted_rand_score(truth, masked.labels_) > floor
    assert_array_equal(masked.predict(LIST, observed=observed), masked.predict(blank))
    if method.name == "mkkm-mr":
        kernels = [median_kernel(V[seen]) for V, seen in zip(LIST, observed.T, strict=True)]
        stack = np.full((3, 72, 72), np.nan)
        for full, K, seen in zip(stack, kernels, observed.T, strict=True):
            full[np.ix_(seen, seen)] = K
        given = by_rbf(3, kernel="precomputed", random_state=0)
        same(given.fit(stack), masked)
        everyone = np.stack([rbf_kernel(V, gamma=0.1) for V in LIST])
        same(given.fit(everyone, observed=observed), clone(given).fit(np.where(np.isnan(stack), np.nan, everyone)))
        assert given.predict(everyone[:, :5]).shape == (5,)


def test_a_view_of_few_samples_does_not_look_better():
    """Weights do not depend on how many of the samples a view holds, but on what it says about them."""
    rng = np.random.default_rng(0)
    big, _ = make_blobs(300, n_features=4, centers=3, cluster_std=3.0, random_state=0)
    views = [big[:, :2] + rng.standard_normal((300, 2)), big[:, 2:] + rng.standard_normal((300, 2))]
    whole = by_rbf(3, random_state=0).fit(views).weights_
    observed = np.ones((300, 2), dtype=bool)
    observed[rng.choice(300, 150, replace=False), 1] = False
    half = by_rbf(3, random_state=0).fit(views, observed=observed).weights_
    assert_allclose(half, whole, atol=0.15)


# -- sizes ------------------------------------------------------------------------------------------------------------


def test_low_rank_kernels_give_nearly_the_same():
    exact = by_rbf(3, random_state=0).fit(LIST)
    for way in (Nystroem(60), Cholesky(60), RandomFeatures(60)):
        model = by_rbf(3, approximation=way, random_state=0).fit(LIST)
        assert adjusted_rand_score(model.labels_, exact.labels_) > 0.9
        assert_allclose(model.weights_, exact.weights_, atol=0.05)
        assert_array_equal(model.predict(LIST), model.labels_)
    settings = {"approximation": Cholesky(len(STACK[0]))}
    given = by_rbf(3, kernel="precomputed", **settings, random_state=0).fit(STACK)
    assert_allclose(given.weights_, exact.weights_, atol=1e-3)
    assert_array_equal(given.predict(STACK), given.labels_)


def test_memory_is_linear_in_samples():
    n = 26_000  # one kernel matrix would be 5.4 GB
    V, labels = make_blobs(n, n_features=4, centers=4, cluster_std=1.0, random_state=0)
    views = [V[:, :2], V[:, 2:]]
    model = by_rbf(4, method=MKKMMR(n_init=1), random_state=0)
    tracemalloc.start()
    with pytest.warns(UserWarning, match="Nystrom") as said:
        model.fit(views)
    assert len([one for one in said if "Nystrom" in str(one.message)]) == 1  # once, not once a kernel
    assert said[0].filename == __file__
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 2 * n * 300 * 8
    assert adjusted_rand_score(labels, model.labels_) > 0.99


def test_kernels_are_not_copied():
    """Peak memory beside the given kernels does not grow with their number."""
    n = 600
    rng = np.random.default_rng(0)
    stack = np.stack([rbf_kernel(rng.standard_normal((n, 3))) for _ in range(8)])
    for refine in (False, True):
        peaks = []
        for m in (2, 2, 8):  # the first compiles
            model = by_rbf(3, kernel="precomputed", method=MKKMMR(refine=refine, n_init=1), random_state=0)
            tracemalloc.start()
            model.fit(stack[:m])
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert peaks[2] - peaks[1] < n * n * 8  # copies of six more kernels would be six of these
        # blocks of rows, of which so small a kernel is only a few; numpy 2.5 counts the work space of eigenvectors too
        work = 2 * LANDMARKS**2 if parse_version(np.__version__) >= parse_version("2.5") else 0
        assert peaks[2] < (4 * n * n + work) * 8


# -- what it refuses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({"method": "mkkm-m"}, LIST, "Did you mean 'mkkm-mr'"),
        ({"method": MKKMMR(lam=-1.0)}, LIST, "lam=-1.0"),
        ({"method": MKKMMR(lam="big")}, LIST, "unknown lam"),
        ({"method": MKKMMR(power=3)}, LIST, "power=3"),
        ({"method": MKKM(ridge=-1)}, LIST, "ridge"),
        ({"method": MKKMMR(correlation="cosine")}, LIST, "unknown correlation"),
        ({"kernel": "rbff"}, LIST, "Did you mean 'rbf'"),
        ({"kernel": ["rbf"]}, LIST, "1 for 3 views"),
        ({"kernel": []}, LIST, "empty"),
        ({"kernel": [RBF]}, X, r"kernel=RBF is a class, not an object: write kernel=RBF\(\)"),
        ({"kernel": [MKKMMR()]}, X, r"kernel=MKKMMR\(\): MKKMMR is a method; .*kernel=RBF\(gamma=0.5\)"),
        ({"kernel": [Precomputed(), "rbf"]}, LIST[:2], "beside others"),
        ({"kernel": [-1.0]}, X, "gamma"),
        ({"objective": Dependence(placement=None)}, LIST, "unknown placement None"),
        ({"objective": "dependenc"}, LIST, "Did you mean 'dependence'"),
        ({"approximation": MKKMMR()}, LIST, "MKKMMR is a method"),
        ({"views": []}, X, "views is empty"),
        ({"views": [["a"]]}, X, "view '0' cannot be taken"),
        ({"views": {"far": [0, 9]}}, X, "view 'far' cannot be taken"),
        ({"views": [[]]}, X, "no columns"),
        ({"views": [[0]]}, LIST, "list of views already"),
        ({"method": reproduction.multikernel.RMKKM(gamma=1.5)}, LIST, "between 0 and 1"),
        ({"structure": "ring:4", "n_clusters": 3}, LIST, "3"),
        ({"n_clusters": 100}, LIST, "fewer samples"),
        ({}, [X, X[:-1]], "differ in their numbers of samples"),
        ({}, [X, np.where(X > 5, np.nan, X)], "contains NaN in view 1.* not in part"),
        ({}, np.where(np.arange(72)[:, None] == 3, np.nan, X), "missing from every view"),
        ({"kernel": "precomputed"}, [STACK[0], STACK[1][:9, :9]], "kernels differ in size"),
        ({"kernel": "precomputed"}, [STACK[0][:, :9]], "square"),
        ({"kernel": "precomputed"}, [STACK[0] + np.triu(np.ones((72, 72)), 1)], "not symmetric"),
        ({"kernel": "precomputed"}, [STACK[0], -STACK[1]], "far from positive semidefinite"),
        ({"kernel": "precomputed", "views": [[0]]}, STACK, "choose columns"),
    ],
)
def test_bad_input_is_refused_by_name(options, data, message):
    model = by_rbf(**({"n_clusters": 3} | options))
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(data)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_wrong_types_are_refused():
    for options in ({"max_iter": 1.5}, {"method": 3}, {"objective": Dependence}, {"compute_confidence": 1}):
        with pytest.raises((TypeError, ValueError), match=next(iter(options))):
            by_rbf(3, **options).fit(LIST)


def test_bad_masks_and_new_samples():
    model = by_rbf(3, random_state=0)
    with pytest.raises(ValueError, match=r"observed must be .*\(72, 3\)"):
        model.fit(LIST, observed=np.ones((72, 2)))
    with pytest.raises(ValueError, match="sample 5 is missing from every view"):
        model.fit(LIST, observed=np.arange(72)[:, None] * np.ones(3) != 5)
    with pytest.raises(NotFittedError):
        model.predict(LIST)
    model.fit(LIST)
    before = model.labels_.copy()
    with pytest.raises(ValueError, match="fitted with"):
        model.predict([X[:, :3], *LIST[1:]])
    with pytest.raises(ValueError, match="differ"):
        model.fit([X, X[:3]])
    assert_array_equal(model.labels_, before)  # the last fit whole
    given = by_rbf(3, kernel="precomputed", random_state=0).fit(STACK)
    with pytest.raises(ValueError, match="2 kernels"):
        given.predict(STACK[:2])
    with pytest.raises(ValueError, match="72 fitted"):
        given.predict(STACK[:, :, :9])


def test_the_tolerance_of_a_method():
    loose, tight = (by_rbf(3, method=MKKMMR(tol=tol), random_state=0).fit(LIST) for tol in (0.5, 1e-9))
    assert loose.n_iter_ < tight.n_iter_
    with pytest.raises(ValueError, match="tol=-1"):
        by_rbf(3, method=MKKMMR(tol=-1)).fit(LIST)


def test_a_method_that_ran_out_of_steps_says_so():
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        by_rbf(3, max_iter=1, random_state=0).fit(LIST)


@pytest.mark.filterwarnings("ignore:kernel 2 has next to no residual")
def test_extremes():
    same_everywhere = np.ones((12, 2))
    assert by_rbf(2, random_state=0).fit(same_everywhere).labels_.shape == (12,)
    assert_array_equal(by_rbf(1, random_state=0).fit(LIST).labels_, 0)
    assert sorted(by_rbf(4, random_state=0).fit([V[:4] for V in LIST]).labels_) == [0, 1, 2, 3]


# -- weights and side information -------------------------------------------------------------------------------------


def test_samples_of_weight_zero_take_part_in_nothing_and_get_a_label():
    """From tables, with missing samples, and from kernels."""
    rng = np.random.default_rng(0)
    weight = np.where(np.arange(72) % 5 == 2, 0.0, rng.integers(1, 4, 72))
    used = weight > 0
    spoilt = [np.where(used[:, None], V, V + 0.3 * rng.standard_normal(V.shape)) for V in LIST]
    observed = rng.uniform(size=(72, 3)) < 0.8
    observed[~observed.any(axis=1), 0] = True
    for mask in (None, observed):
        alone = None if mask is None else mask[used]
        model = by_rbf(3, random_state=0).fit(spoilt, sample_weight=weight, observed=mask)
        part = [V[used] for V in LIST]
        other = by_rbf(3, random_state=0).fit(part, sample_weight=weight[used], observed=alone)
        assert_array_equal(model.labels_[used], other.labels_)
        assert_allclose(model.weights_, other.weights_, rtol=1e-8)
        assert_array_equal(model.labels_, np.where(used, model.labels_, other.predict(spoilt, observed=mask)))
        assert np.isnan(model.diagnostics_.embedding[~used]).all()
        stack = np.stack([rbf_kernel(V, gamma=0.05) for V in spoilt])
        given = by_rbf(3, kernel="precomputed", random_state=0)
        given.fit(stack, sample_weight=weight, observed=mask)
        table = by_rbf(3, kernel=[0.05] * 3, random_state=0)
        table.fit(spoilt, sample_weight=weight, observed=mask)
        assert_array_equal(given.labels_, table.labels_)
        assert_allclose(given.weights_, table.weights_, rtol=1e-6)
        assert_array_equal(given.predict(stack, observed=mask), table.predict(spoilt, observed=mask))


def test_weights_change_the_fit_and_ones_do_not():
    plain = by_rbf(3, random_state=0).fit(LIST)
    same(by_rbf(3, random_state=0).fit(LIST, sample_weight=np.ones(72)), plain)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, 72)
    heavy = by_rbf(3, random_state=0).fit(LIST, sample_weight=weight)
    assert heavy.sizes_.sum() == pytest.approx(weight.sum())
    assert np.abs(heavy.weights_ - plain.weights_).max() > 1e-3
    scaled = by_rbf(3, method=MKKMMR(lam=heavy.diagnostics_.lam), random_state=0).fit(LIST, sample_weight=weight)
    assert scaled.objective_ == pytest.approx(heavy.objective_)
    with pytest.raises(ValueError, match="correlation function sees kernel matrices without the sample_weight"):
        by_rbf(3, method=MKKMMR(correlation=lambda a, b: (a * b).sum())).fit(LIST, sample_weight=weight)


@pytest.mark.parametrize("correlation", ["trace", "hsic", "mmd", "kl"])
def test_weights_are_repeats_in_every_correlation(correlation):
    weight = np.random.default_rng(0).integers(1, 4, 72)
    settings = {"method": MKKMMR(correlation=correlation), "random_state": 0}
    one = by_rbf(3, **settings).fit(LIST, sample_weight=weight)
    many = by_rbf(3, **settings).fit([np.repeat(V, weight, axis=0) for V in LIST])
    assert_allclose(one.weights_, many.weights_, rtol=1e-4)
    assert one.diagnostics_.lam == pytest.approx(many.diagnostics_.lam, rel=1e-4)
    assert one.objective_ == pytest.approx(many.objective_, rel=1e-4)


def test_weights_are_repeats_beyond_a_full_decomposition():
    rng = np.random.default_rng(0)
    Z, _ = make_blobs(400, n_features=6, centers=4, cluster_std=2.0, random_state=0)
    weight = rng.integers(1, 4, 400)
    for kernel in ("rbf", "linear"):
        settings = {"kernel": kernel, "method": MKKMMR(unit_diagonal=False), "random_state": 0}
        one = by_rbf(4, **settings).fit([Z[:, :3], Z[:, 3:]], sample_weight=weight)
        twice = np.repeat(Z, weight, axis=0)
        many = by_rbf(4, **settings).fit([twice[:, :3], twice[:, 3:]])
        assert_allclose(one.weights_, many.weights_, atol=1e-3)
        assert one.objective_ == pytest.approx(many.objective_, rel=1e-3)
        assert adjusted_rand_score(np.repeat(one.labels_, weight), many.labels_) > 0.97


def test_soft_labels_pull():
    y = np.full(72, -1)
    y[np.flatnonzero(truth == 0)[:8]] = 0
    y[np.flatnonzero(truth == 1)[:8]] = 0  # two groups are said to be one
    hard = by_rbf(3, kernel="linear", random_state=0).fit(LIST, y)
    assert_array_equal(hard.labels_[y == 0], 0)
    soft = [by_rbf(3, kernel="linear", label_weight=t, random_state=0).fit(LIST, y) for t in (0.01, 100.0)]
    assert adjusted_rand_score(truth, soft[0].labels_) > 0.95
    assert_array_equal(soft[1].labels_[y == 0], 0)
    assert soft[1].diagnostics_.history == sorted(soft[1].diagnostics_.history)


def test_labels_name_the_places_of_a_structure():
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(6), 12)
    angle = 2 * np.pi * place / 6
    views = [np.c_[np.cos(angle), np.sin(angle)] + 0.15 * rng.standard_normal((72, 2)) for _ in range(2)]
    y = np.full(72, -1)
    y[[0, 12]] = 4, 3  # the ring turned, and the other way round
    for refine in (True, False):
        settings = {"approximation": Cholesky(72), "random_state": 0}
        model = by_rbf(structure="ring:6", method=MKKMMR(refine=refine), **settings).fit(views, y)
        assert model.labels_[0] == 4
        assert model.labels_[12] == 3
        assert adjusted_rand_score(place, model.labels_) > 0.9
        means = [np.bincount(model.labels_[place == p], minlength=6).argmax() for p in range(6)]
        assert means == [4, 3, 2, 1, 0, 5]


def test_side_information_is_checked_before_work_and_reported():
    with pytest.raises(ValueError, match="cannot_link"):
        by_rbf(3).fit(LIST, must_link=[[0, 1]], cannot_link=[[0, 1]])
    with pytest.raises(ValueError, match="size"):
        by_rbf(3, min_cluster_size=30).fit(LIST)
    with pytest.warns(UserWarning, match="labels every sample"):
        model = by_rbf(3, kernel="linear", random_state=0).fit(LIST, truth)
    assert_array_equal(model.labels_, truth)
    with pytest.raises(ValueError, match="label_weight"):
        by_rbf(3, label_weight=-1.0).fit(LIST)


# -- scores -----------------------------------------------------------------------------------------------------------


def test_score_is_the_share_of_spread_that_clusters_explain_over_what_they_could():
    settings = {"kernel": "linear", "method": MKKMMR(unit_diagonal=False), "random_state": 0}
    model = by_rbf(3, **settings).fit(LIST)
    Z = np.hstack([w * (V - V.mean(axis=0)) for w, V in zip(model.weights_, LIST, strict=True)])
    means = np.array([Z[model.labels_ == c].mean(axis=0) for c in range(3)])
    within = ((Z - means[model.labels_]) ** 2).sum()
    eigenvalues = np.linalg.eigvalsh(Z.T @ Z)[::-1]
    reach = eigenvalues[:2].sum() / eigenvalues.sum()
    assert model.score(LIST) == pytest.approx((1 - within / (Z**2).sum()) / reach)
    weight = np.random.default_rng(0).uniform(size=72)
    within = (weight * ((Z - means[model.labels_]) ** 2).sum(axis=1)).sum()
    total = (weight * (Z**2).sum(axis=1)).sum()
    assert model.score(LIST, sample_weight=weight) == pytest.approx((1 - within / total) / reach)
    assert 0 <= model.score([V[:1] for V in LIST]) <= 1
    assert model.score(LIST, observed=np.ones((72, 3))) == model.score(LIST)


def test_score_of_scaled_kernels_may_use_a_direction_for_every_cluster():
    model = by_rbf(3, kernel="linear", method="average", random_state=0).fit(LIST)
    Z = np.hstack([(V - V.mean(axis=0)) / np.linalg.norm(V - V.mean(axis=0), axis=1)[:, None] for V in LIST])
    means = np.array([Z[model.labels_ == c].mean(axis=0) for c in range(3)])
    eigenvalues = np.linalg.eigvalsh(Z.T @ Z)[::-1]
    explained = 1 - ((Z - means[model.labels_]) ** 2).sum() / (Z**2).sum()
    assert model.score(LIST) == pytest.approx(explained / (eigenvalues[:3].sum() / eigenvalues.sum()))
    assert model.score(LIST) <= 1


def test_a_loss_of_ones_own_keeps_its_numbering():
    """Labels used to be renumbered by symmetries of the structure that the loss does not have."""
    steps = (np.r_[np.zeros(9), np.full(6, 3.0), np.full(3, 9.0)] + np.linspace(0, 0.1, 18))[:, None]
    loss = np.array([[0, 1, 9.0], [1, 0, 1], [9, 1, 0]])
    settings = {
        "structure": "flat:3",
        "objective": Dependence(loss=loss),
        "kernel": "linear",
        "method": Average(unit_diagonal=False),
    }
    scale = []
    for X in (steps, steps**2, np.random.default_rng(0).standard_normal((18, 2))):
        Z = X - X.mean(axis=0)
        model = by_rbf(**settings, random_state=0).fit(X)
        value = structured_hsic(
            Z @ Z.T, model.labels_, "flat:3", loss=loss
        )  # -objective_ is tr K - F / t, one t for all
        scale.append(value / ((Z**2).sum() + model.objective_))
    assert_allclose(scale, scale[0])


def test_grid_search():
    grid = {"n_clusters": [2, 3], "method": ["average", "mkkm-mr"]}
    model = by_rbf(views=[slice(0, 3), slice(3, 6)], random_state=0)
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X)
    scores = search.cv_results_["mean_test_score"]
    assert np.all((scores > 0) & (scores < 1))
    assert search.best_params_["n_clusters"] == 3
    assert search.predict(X).shape == (72,)


# -- odd cases --------------------------------------------------------------------------------------------------------


def test_one_cluster_with_a_loss():
    for method in METHODS:
        model = by_rbf(1, method=method, objective=Dependence(loss="zero-one"), random_state=0).fit(LIST)
        assert_array_equal(model.labels_, 0)
        assert np.isfinite(model.objective_)
        assert_allclose(model.weights_.sum(), 1)


@pytest.mark.parametrize("size", [1e-310, 1e-250, 1e90])
@pytest.mark.parametrize("unit", [True, False])
def test_the_size_of_kernels_does_not_matter(size, unit):
    stack = np.stack([rbf_kernel(V, gamma=0.05) for V in LIST])
    one = by_rbf(3, kernel="precomputed", method=MKKMMR(unit_diagonal=unit), random_state=0)
    other = clone(one).fit(size * stack)
    one.fit(stack)
    assert np.isfinite(other.objective_)
    assert np.isfinite(other.weights_).all()
    assert other.weights_.sum() == pytest.approx(1)
    assert adjusted_rand_score(one.labels_, other.labels_) > 0.95
    assert 0 <= other.score(size * stack) <= 1
    if unit:
        assert_allclose(other.weights_, one.weights_, rtol=1e-6)


def test_labels_do_not_depend_on_the_number_of_threads():
    Z = np.random.default_rng(0).standard_normal((72, 6))  # no clusters: every start ends elsewhere
    settings = {"views": [[0, 1, 2], [3, 4, 5]], "method": MKKMMR(n_init=1, refine=False), "random_state": 0}
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            fits.append(by_rbf(6, **settings).fit(Z))
    same(*fits)


def test_kernels_that_are_never_stored():
    """With no memory for matrices the same is found, entry by entry made anew."""
    whole = by_rbf(3, random_state=0).fit(LIST)
    with config_context(working_memory=0.001), warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in ("mkkm-mr", "average"):
            tiled = by_rbf(3, method=method, random_state=0).fit(LIST)
            assert_array_equal(tiled.labels_, whole.labels_)
        assert_array_equal(tiled.predict(LIST), tiled.labels_)
        tiled = by_rbf(3, random_state=0).fit(LIST)
        assert_allclose(tiled.weights_, whole.weights_, rtol=1e-6)


def test_memory_of_kernels_that_are_never_stored():
    n = 3000
    Z, labels = make_blobs(n, n_features=4, centers=3, random_state=0)
    views = [Z[:, :2], Z[:, 2:]]
    model = by_rbf(3, method=MKKMMR(lam=0.01, n_init=1), random_state=0)
    with config_context(working_memory=1):
        model.fit([V[:400] for V in views])  # compiles
        tracemalloc.start()
        model.fit(views)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1.7 * n * n * 8  # blocks of rows, of a size that does not grow with n; both kernels would be two
    assert adjusted_rand_score(labels, model.labels_) > 0.95


def test_graph_kernels_cannot_be_left_uncentred():
    with pytest.raises(ValueError, match=r"kernel='graph' .* uncentred"):
        by_rbf(3, kernel="graph", method=MKKMMR(center=False)).fit(LIST)


def test_the_papers_width_counts_copies():
    weight = np.random.default_rng(0).integers(1, 5, 72)
    for V in LIST:
        assert median_gamma(V, weight.astype(float)) == pytest.approx(
            median_gamma(np.repeat(V, weight, axis=0), np.ones(weight.sum()))
        )


# -- scripts ----------------------------------------------------------------------------------------------------------


def script(path):
    spec = importlib.util.spec_from_file_location(path.replace("/", "_"), Path(__file__).resolve().parents[2] / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_benchmark_prepares_kernels_as_the_library_does():
    benchmark = script("benchmarks/multikernel.py")
    views, labels = benchmark.make_views(40, 2)
    K = benchmark.prepared(benchmark.gaussian(views[0]))
    assert_allclose(np.diag(K), 1)
    assert_allclose(K, prepare(DenseKernel(median_kernel(views[0]))) @ np.eye(40), atol=1e-12)
    assert labels.shape == (40,)
