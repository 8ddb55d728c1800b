"""MaxMarginClustering: scikit-learn's checks, any kind of input, new samples, and clear words for bad input."""

import inspect
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from parts import kernels
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import kernelclust
from kernelclust import MaxMarginClustering, StructuredClustering
from kernelclust.kernels import RBF, Polynomial
from kernelclust.margin import CuttingPlane, F, Rand, loss_names
from kernelclust.margin._solve import trivial_slack
from kernelclust.margin._table_loss import make_loss
from kernelclust.margin.losses import as_loss

X, truth = make_blobs(80, n_features=4, centers=2, cluster_std=1.0, random_state=0)
X.flags.writeable = False
THREE, three = make_blobs(60, n_features=3, centers=3, cluster_std=0.5, random_state=1)
KERNELS = kernels(pairwise=False)
every_loss = pytest.mark.parametrize("loss", loss_names())


def fit(data=X, y=None, sample_weight=None, **parameters):
    own = {name: parameters.pop(name) for name in CuttingPlane().get_params() if name in parameters}
    solver = CuttingPlane(**{"n_init": 4} | own)
    return MaxMarginClustering(**{"random_state": 0, "solver": solver} | parameters).fit(data, y, sample_weight)


# -- what a fit leaves ------------------------------------------------------------------------------------------------


@every_loss
def test_attributes(loss):
    model = fit(loss=loss)
    assert adjusted_rand_score(truth, model.labels_) == 1
    assert model.C_ == 10 / 80**2
    assert 0 < -model.objective_ < model.C_ * trivial_slack(make_loss(as_loss(loss), 80), 2)
    assert model.objective_ == max(model.diagnostics_.history)
    assert model.trivial_ is False
    assert 0 <= model.slack_ <= 2
    assert 1 <= model.n_iter_ <= 60
    assert model.coef_.shape == (1, 4) and model.intercept_.shape == (1,)
    assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0])
    assert_array_equal(model.labels_, model.decision_function(X) > 0)


def test_objective_is_what_the_documentation_says():
    """In samples that are centred and scaled to a mean square length of one."""
    model = fit(C=0.001)
    scale = np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).mean())
    assert -model.objective_ == pytest.approx(np.square(scale * model.coef_).sum() / 2 + 0.001 * model.slack_)
    f = model.decision_function(X)
    assert f.sum() == pytest.approx(0, abs=1e-9)
    y = np.where(f > 0, 1, -1)
    assert model.slack_ == pytest.approx(kernelclust.margin.most_violated(f, y)[1] - np.abs(f).sum(), abs=1e-9)


@every_loss
def test_three_clusters(loss):
    model = fit(THREE, n_clusters=3, loss=loss)
    assert adjusted_rand_score(three, model.labels_) == 1
    assert model.C_ == 30 / 60**2
    assert model.coef_.shape == (3, 3) and model.intercept_.shape == (3,)
    assert model.decision_function(THREE).shape == (60, 3)
    assert_allclose(model.decision_function(THREE), THREE @ model.coef_.T + model.intercept_)
    assert_array_equal(model.predict(THREE), model.labels_)
    assert not model.trivial_


def test_a_cluster_in_the_middle():
    """Along a line the middle one of three needs a bias."""
    line = np.repeat([-5.0, 0.0, 5.0], 20)[:, None] + 0.3 * np.random.default_rng(0).standard_normal((60, 1))
    model = fit(line, n_clusters=3)
    assert adjusted_rand_score(np.repeat(np.arange(3), 20), model.labels_) == 1


def test_large_clusters_come_first():
    uneven = np.vstack([X[truth == 0][:15], X[truth == 1]])
    sizes = np.bincount(fit(uneven).labels_)
    assert 35 < sizes[0] < 45 and sizes[1] == 55 - sizes[0]
    sizes = np.bincount(fit(np.vstack([THREE[three == 1][:8], THREE[three != 1][:35]]), n_clusters=3).labels_)
    assert list(sizes) == sorted(sizes, reverse=True)


def test_one_cluster():
    model = fit(n_clusters=1)
    assert not model.labels_.any() and not model.trivial_
    assert not model.predict(X).any()


def test_refit_forgets():
    model = fit()
    model.set_params(kernel="rbf").fit(X)
    assert not hasattr(model, "coef_") and not hasattr(model, "intercept_")
    assert model.diagnostics_.gamma > 0
    assert set(vars(model.set_params(kernel="linear").fit(X))) == set(vars(fit()))


def test_nothing_is_half_fitted():
    model = fit()
    before = dict(vars(model))
    few = np.repeat(np.eye(2), 5, axis=0)
    with pytest.raises(ValueError, match="only 2 samples are different"):
        model.set_params(n_clusters=3).fit(few)
    assert vars(model).keys() == before.keys() and model.n_features_in_ == 4
    fresh = MaxMarginClustering(3)
    with pytest.raises(ValueError, match="only 2 samples are different"):
        fresh.fit(few)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


# -- kernels and new samples ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("kernel", [*KERNELS, rbf_kernel])
def test_kernels_know_new_samples(kernel, n_clusters):
    model = fit(THREE, kernel=kernel, n_clusters=n_clusters)
    assert_array_equal(model.predict(THREE), model.labels_)
    near = THREE + 1e-6
    assert_array_equal(model.predict(near[::-1]), model.labels_[::-1])
    assert_allclose(model.decision_function(near), model.decision_function(THREE), atol=1e-5)
    assert hasattr(model, "coef_") == (kernel == "linear")


def test_a_kernel_separates_rings():
    rings, ring = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    assert adjusted_rand_score(ring, fit(rings, kernel=RBF(gamma=5.0)).labels_) == 1
    new, new_ring = make_circles(100, factor=0.3, noise=0.05, random_state=1)
    assert adjusted_rand_score(new_ring, fit(rings, kernel=RBF(gamma=5.0)).predict(new)) == 1


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_precomputed_is_the_kernel(n_clusters):
    model = fit(THREE, kernel=RBF(gamma=0.1), n_clusters=n_clusters)
    given = fit(rbf_kernel(THREE, gamma=0.1), kernel="precomputed", n_clusters=n_clusters)
    assert_array_equal(given.labels_, model.labels_)
    assert given.objective_ == pytest.approx(model.objective_, rel=1e-3)
    new = THREE[:7] + 0.1
    assert_array_equal(given.predict(rbf_kernel(new, THREE, gamma=0.1)), model.predict(new))


def test_linear_kernel_is_the_samples():
    centred = X - X.mean(axis=0)
    model, given = fit(), fit(centred @ centred.T, kernel="precomputed")
    assert_array_equal(given.labels_, model.labels_)
    assert given.objective_ == pytest.approx(model.objective_, rel=1e-2)  # both within epsilon of a minimum


@pytest.mark.parametrize("approximation", ["nystroem", "cholesky", "random_features"])
def test_low_rank_factors(approximation):
    model = fit(kernel="rbf", approximation=approximation)
    assert adjusted_rand_score(truth, model.labels_) == 1
    assert_array_equal(model.predict(X), model.labels_)
    f = model.decision_function(X)
    assert abs(f.sum()) < 1e-6 * np.abs(f).sum()  # centred


def test_components():
    wide = np.hstack([X, 0.1 * np.random.default_rng(0).standard_normal((80, 400))])
    model = fit(wide, n_components=2)
    assert adjusted_rand_score(truth, model.labels_) == 1
    assert model.coef_.shape == (1, 404)
    assert np.linalg.matrix_rank(np.vstack([model.coef_, fit(wide).coef_])) == 2
    assert_array_equal(model.predict(wide), model.labels_)
    itself = fit(wide, n_components=404)  # no principal components
    assert_allclose(itself.coef_ @ np.linalg.svd(wide - wide.mean(axis=0))[2][80:].T, 0, atol=1e-9)


# -- kinds of input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
@pytest.mark.parametrize("parameters", [{}, {"bias": True}, {"kernel": "cosine"}, {"kernel": "rbf"}, {"n_clusters": 3}])
def test_sparse_is_dense(parameters, convert):
    dense = np.where(np.abs(X) < 0.7, 0, X)
    model, same = fit(convert(dense), **parameters), fit(dense, **parameters)
    assert_array_equal(model.labels_, same.labels_)
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-6)
    assert_array_equal(model.predict(dense), model.predict(convert(dense)))


@pytest.mark.parametrize("n_components", [None, 5, 10_000])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_sparse_stays_sparse(n_components, n_clusters, monkeypatch):
    text = sparse.random(120, 10_000, density=0.002, random_state=0, format="csr")
    text = sparse.hstack([3.0 * (np.arange(120) < 60)[:, None], text[:, 1:]], format="csr")

    toarray = sparse.csr_matrix.toarray

    def only_rows(self, *arguments, **options):
        assert self.shape[0] <= n_clusters, "made dense"
        return toarray(self, *arguments, **options)

    monkeypatch.setattr(sparse.csr_matrix, "toarray", only_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(sparse.csr_matrix(text), n_components=n_components, n_clusters=n_clusters)
        assert_array_equal(model.predict(sparse.csr_matrix(text)), model.labels_)
    if n_clusters == 2:
        assert adjusted_rand_score(np.arange(120) < 60, model.labels_) > 0.9


def test_frames_lists_and_precisions():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = fit(frame)
    assert list(model.feature_names_in_) == list("abcd")
    for other in (X.tolist(), np.asfortranarray(X), X.astype(np.float32)):
        assert_array_equal(fit(other).labels_, model.labels_)
    assert_array_equal(model.predict(frame), model.labels_)


def test_units_and_order_do_not_matter():
    labels = fit().labels_
    for other in (1e6 * X, 1e-6 * X, 1e200 * X, X + 1e4):
        assert_array_equal(fit(other).labels_, labels)
    order = np.random.default_rng(0).permutation(80)
    for parameters in ({}, {"kernel": "rbf"}, {"loss": "rand"}):
        assert adjusted_rand_score(fit(X[order], **parameters).labels_, fit(**parameters).labels_[order]) == 1


def test_seeds_clones_and_pickles():
    noise = np.random.default_rng(0).standard_normal((100, 5))
    for parameters in ({}, {"kernel": "rbf"}, {"n_clusters": 3, "loss": "error"}):
        model = fit(noise, **parameters)
        assert_array_equal(clone(model).fit(noise).labels_, model.labels_)
        copy = pickle.loads(pickle.dumps(model))
        assert_array_equal(copy.predict(noise), model.labels_)


# -- options ----------------------------------------------------------------------------------------------------------


def test_bias_moves_the_threshold():
    """One in eight: through the mean, the hyperplane cuts the large cluster's side; a threshold finds the gap."""
    rng = np.random.default_rng(0)
    uneven = np.r_[rng.uniform(0, 1, 140), rng.uniform(1.6, 1.9, 20)][:, None]
    side = np.arange(160) >= 140
    plain, biased = fit(uneven), fit(uneven, bias=True, C=100 / 160**2)
    assert adjusted_rand_score(side, plain.labels_) < 0.8
    assert adjusted_rand_score(side, biased.labels_) > adjusted_rand_score(side, plain.labels_)


def test_bias_does_not_push_all_to_one_side():
    images, digit = load_digits(return_X_y=True)
    images, digit = images[(digit == 1) | (digit == 7)], digit[(digit == 1) | (digit == 7)]
    model = fit(images, bias=True)
    assert not model.trivial_
    assert adjusted_rand_score(digit, model.labels_) > 0.9


@pytest.mark.parametrize("limit", [0.0, 0.02])
def test_balance(limit):
    model = fit(center=False, balance=limit)
    assert abs(model.decision_function(X).sum()) <= limit + 1e-6
    biased = fit(bias=True, balance=limit)
    assert abs(biased.decision_function(X).mean()) <= limit / 80 + 1e-8


def test_own_loss():
    class Twice(Rand):
        def affine(self, own, given, n):
            base, rate = super().affine(own, given, n)
            return 2 * base, 2 * rate

    model, rand = fit(loss=Twice(), C=0.002, tol=0.06), fit(loss="rand", C=0.001)
    assert_array_equal(model.labels_, rand.labels_)
    assert model.objective_ == pytest.approx(4 * rand.objective_, rel=5e-3)


# -- known labels -----------------------------------------------------------------------------------------------------


def some_known(y, n_known, k, seed=0):
    """Known labels of some samples, of every class at least one."""
    rng = np.random.default_rng(seed)
    known = np.full(len(y), -1)
    at = np.r_[[rng.choice(np.flatnonzero(y == c)) for c in range(k)], rng.choice(len(y), n_known - k)]
    known[at] = y[at]
    return known


@every_loss
@pytest.mark.parametrize("flipped", [False, True])
def test_known_labels_name_the_clusters(loss, flipped):
    for data, classes, k in ((X, truth, 2), (THREE, three, 3)):
        classes = (classes + 1) % k if flipped else classes
        model = fit(data, n_clusters=k, loss=loss, y=some_known(classes, k, k))
        assert_array_equal(model.labels_, classes)
        assert_array_equal(model.predict(data), classes)
        assert_array_equal(model.sizes_, np.bincount(classes))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("k", [2, 3])
def test_known_labels_are_kept_whatever_they_say(k, kernel):
    """Labels at random contradict the data; `labels_` has them, and new samples go by the hyperplane."""
    data = X if k == 2 else THREE
    rng = np.random.default_rng(0)
    known = np.where(rng.random(len(data)) < 0.3, rng.integers(0, k, len(data)), -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(data, n_clusters=k, kernel=kernel, y=known)
    assert_array_equal(model.labels_[known >= 0], known[known >= 0])
    assert_array_equal(model.labels_[known < 0], model.predict(data)[known < 0])
    assert np.any(model.labels_ != model.predict(data))


def test_known_labels_teach():
    """A cross of four blobs can be cut two ways; labels of weight say which, and the names of the sides."""
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 2, (120, 2))
    cross = 4.0 * corner + 0.5 * rng.standard_normal((120, 2))
    for axis, names in ((0, (0, 1)), (1, (0, 1)), (0, (1, 0)), (1, (1, 0))):
        side = np.array(names)[corner[:, axis]]
        known = np.full(120, -1)
        known[:12] = side[:12]
        assert_array_equal(fit(cross, y=known).labels_, side)


@pytest.mark.parametrize("name", [0, 1])
@pytest.mark.parametrize("side", [0, 1])
def test_labels_of_one_cluster_name_both(side, name):
    known = np.full(80, -1)
    known[np.flatnonzero(truth == side)[:2]] = name
    for parameters in ({"n_init": 1}, {"kernel": "rbf"}, {"bias": True}):
        assert_array_equal(fit(y=known, **parameters).labels_ == name, truth == side)


def test_a_cluster_without_known_labels_is_found():
    known = np.full(60, -1)
    at = np.flatnonzero(three == 1)[:3]
    known[at] = 2
    model = fit(THREE, n_clusters=3, y=known)
    assert adjusted_rand_score(three, model.labels_) == 1
    assert_array_equal(model.labels_ == 2, three == 1)


def test_all_labels_known_is_a_support_vector_machine():
    """With the error rate: |v|^2 / 2 + C' / n sum hinge, v = 2 n w, C' = 4 n^2 C; against scikit-learn's."""
    rng = np.random.default_rng(0)
    data = rng.standard_normal((60, 3)) + 0.7 * rng.choice([-1, 1], 60)[:, None]
    classes = (data @ [1.0, 0.5, -0.2] + 0.8 * rng.standard_normal(60) > 0).astype(int)
    with pytest.warns(UserWarning, match="y labels every sample"):
        model = fit(data, loss="error", y=classes, tol=1e-5, max_iter=2000)
    centred = data - data.mean(axis=0)
    scaled = centred / np.sqrt(np.square(centred).sum(axis=1).mean())
    n, price = 60, 4 * 60**2 * model.C_
    machine = SVC(kernel="linear", C=price / n, tol=1e-8).fit(scaled, classes)
    signs = 2 * classes - 1

    def objective(v):
        return v @ v / 2 + price / n * np.maximum(1 - signs * (scaled @ v), 0).sum()

    ours = objective(2 * n * model.decision_function(data) @ np.linalg.pinv(scaled).T)
    assert ours == pytest.approx(-4 * n**2 * model.objective_, rel=1e-3)
    # scikit-learn's has a free threshold, ours none: lower, and close on centred samples
    theirs = (
        machine.coef_[0] @ machine.coef_[0] / 2
        + machine.C * np.maximum(1 - signs * machine.decision_function(scaled), 0).sum()
    )
    assert theirs <= ours * (1 + 1e-6) <= 1.2 * theirs
    steps = rng.standard_normal((200, 3)) * 10 ** rng.uniform(-3, 0, (200, 1))
    best = 2 * n * model.decision_function(data) @ np.linalg.pinv(scaled).T
    assert all(objective(best + step) >= ours * (1 - 1e-3) for step in steps)


def test_no_known_label_is_no_y():
    assert_array_equal(fit(y=np.full(80, -1)).labels_, fit().labels_)
    model = MaxMarginClustering(solver=CuttingPlane(n_init=4), random_state=0)
    assert_array_equal(model.fit_predict(X, 1 - truth), 1 - truth)


def test_bad_labels_and_links():
    with pytest.warns(UserWarning, match="y is ignored"):
        model = fit(y=np.arange(80))
    assert_array_equal(model.labels_, fit().labels_)
    for y, message in (
        (np.where(truth > 0, -1, 2), "y.* = 2 is not a node"),
        (truth[:5], "shape"),
        (["a"] * 80, "Unknown label"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(y=y)
    for links in ({"must_link": [(0, 1)]}, {"cannot_link": np.array([[0, 1]])}):
        with pytest.raises(ValueError, match=f"{next(iter(links))}.*StructuredClustering"):
            MaxMarginClustering().fit(X, **links)
    MaxMarginClustering(solver=CuttingPlane(n_init=1)).fit(X, must_link=None, cannot_link=[])


# -- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"bias": True},
        {"center": False, "balance": 0.01},
        {"n_components": 2},
        {"kernel": "rbf"},
        {"kernel": Polynomial(degree=2, coef0=1)},
        {"kernel": "cosine"},
        {"n_clusters": 3},
        {"n_clusters": 3, "loss": "error"},
    ],
)
@pytest.mark.parametrize("labelled", [False, True])
def test_weights_are_repeats(parameters, labelled):
    rng = np.random.default_rng(0)
    data, classes = (THREE, three) if "n_clusters" in parameters else (X, truth)
    weight = rng.integers(0, 4, len(data))
    weight[-3:] = 1
    k = parameters.get("n_clusters", 2)
    y = some_known(np.where(weight > 0, classes, -1), 6, k) if labelled else np.full(len(data), -1)
    one = fit(data, y=y, sample_weight=weight, **parameters)
    many = fit(np.repeat(data, weight, axis=0), y=np.repeat(y, weight), **parameters)
    assert one.objective_ == pytest.approx(many.objective_, rel=1e-6)
    assert one.slack_ == pytest.approx(many.slack_, rel=1e-5)
    assert one.C_ == many.C_
    assert_array_equal(np.repeat(one.labels_, weight), many.labels_)
    assert_allclose(one.sizes_, many.sizes_)
    assert_allclose(one.decision_function(data), many.decision_function(data), atol=1e-6 / len(data))
    assert_array_equal(one.labels_[weight == 0], one.predict(data)[weight == 0])
    assert one.score(data, sample_weight=weight) == pytest.approx(many.score(np.repeat(data, weight, axis=0)), abs=1e-6)


@every_loss
@pytest.mark.parametrize("k", [2, 3])
def test_units_of_other_weights_do_not_matter(loss, k):
    """Weights that are no counts: any unit below one gives the same labels, as does a fine count."""
    data, classes = (X, truth) if k == 2 else (THREE, three)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(data))
    labels = fit(data, n_clusters=k, loss=loss, sample_weight=weight).labels_
    assert adjusted_rand_score(classes, labels) == 1
    for other in (1e-3 * weight, weight / weight.sum(), np.round(20 * weight), 1e9 * weight):
        assert_array_equal(fit(data, n_clusters=k, loss=loss, sample_weight=other).labels_, labels)


def test_weights_of_a_precomputed_kernel():
    K = rbf_kernel(X, gamma=0.1)
    weight = np.random.default_rng(0).integers(0, 3, 80)
    model, given = (
        fit(kernel=RBF(gamma=0.1), sample_weight=weight),
        fit(K, kernel="precomputed", sample_weight=weight),
    )
    assert_array_equal(given.labels_, model.labels_)
    assert_allclose(given.decision_function(K), model.decision_function(X), atol=1e-6)


def test_weight_zero_takes_part_in_nothing():
    weight = np.ones(82)
    weight[[3, 7]] = 0
    wild = np.insert(X, [3, 6], 1e3, axis=0)  # rows 3 and 7
    model, plain = fit(wild, sample_weight=weight), fit()
    assert_allclose(model.coef_, plain.coef_)
    assert_array_equal(model.labels_[weight > 0], plain.labels_)
    assert_array_equal(model.labels_[weight == 0], plain.predict(wild[weight == 0]))
    known = np.full(82, -1)
    known[3] = 1 - model.labels_[3]
    assert_array_equal(fit(wild, y=known, sample_weight=weight).labels_[[3, 7]], [known[3], model.labels_[7]])
    assert model.sizes_.sum() == 80


def test_heavy_samples_are_heard():
    """Weights decide which of two directions is the clustering."""
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 2, (120, 2))
    cross = 4.0 * corner + 0.5 * rng.standard_normal((120, 2))
    on_diagonal = corner[:, 0] == corner[:, 1]
    for heavy, side in ((on_diagonal, corner[:, 0]), (~on_diagonal, corner[:, 0])):
        labels = fit(cross, sample_weight=np.where(heavy, 50.0, 1.0)).labels_
        assert adjusted_rand_score(side[heavy], labels[heavy]) == 1


def test_bad_weights():
    for weight, message in ((-np.ones(80), "negative"), (np.zeros(80), "zero"), (np.ones(5), "shape")):
        with pytest.raises(ValueError, match=message):
            fit(sample_weight=weight)
    with pytest.raises(ValueError, match="positive weight"):
        fit(sample_weight=np.r_[1, np.zeros(79)])


# -- score ------------------------------------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("k", [2, 3])
def test_score_of_the_fitted_samples_is_their_objective(loss, k):
    data = X if k == 2 else THREE
    model = fit(data, n_clusters=k, loss=loss, tol=0.003)
    nothing = model.C_ * trivial_slack(make_loss(as_loss(loss), len(data)), k)
    assert model.score(data) == pytest.approx(1 + model.objective_ / nothing, abs=0.02)
    assert model.score(data) >= 1 + model.objective_ / nothing - 1e-3


def test_score_knows_no_units():
    """Neither those of samples and kernels nor the price of the fit."""
    score = fit().score(X)
    assert 0 < score < 1
    for s in (1e-3, 1e3):
        assert fit(s * X).score(s * X) == pytest.approx(score, abs=2e-3)
        K = rbf_kernel(X, gamma=0.1)
        models = [fit(u * K, kernel="precomputed") for u in (1.0, s)]
        assert models[0].score(K) == pytest.approx(models[1].score(s * K), abs=2e-3)
    for twin in (fit(), fit()):
        twin._length, twin._decide = 7 * twin._length, (lambda Z, decide=twin._decide: 7 * decide(Z))
        assert twin.score(X) == pytest.approx(score, abs=2e-3)


def test_score_of_new_samples_tells_clusters_from_none():
    rng = np.random.default_rng(0)
    gaps = [np.abs(g) for g in (0.0, 2.0, 4.0, 8.0)]
    scores = []
    for gap in gaps:
        data = rng.standard_normal((200, 3))
        data[:, 0] += gap * rng.integers(0, 2, 200)
        scores.append(fit(data[::2]).score(data[1::2]))
    assert np.all(np.diff(scores) > 0)
    assert fit().score(np.full((10, 4), 5.0)) == 0  # all on one side
    assert fit(n_clusters=1).score(X) == 0


def test_score_chooses_the_kernel():
    rings, ring = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    grid = [{"kernel": ["linear"]}, {"kernel": ["rbf"], "kernel__gamma": [0.01, 2.0, 1000.0]}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(MaxMarginClustering(solver=CuttingPlane(n_init=4), random_state=0), grid, cv=3).fit(rings)
    assert search.best_params_ == {"kernel": "rbf", "kernel__gamma": 2.0}
    assert adjusted_rand_score(ring, search.best_estimator_.labels_) == 1


def test_score_hears_known_labels():
    model = fit()
    right = model.score(X, model.labels_)
    assert right == model.score(X)
    assert model.score(X, 1 - model.labels_) == 0
    some = np.where(np.arange(80) < 10, 1 - model.labels_, -1)
    assert 0 < model.score(X, some) < right


# -- names and lines --------------------------------------------------------------------------------------------------


def test_parameters_are_in_the_order_of_structured_clustering():
    ours, theirs = (list(inspect.signature(E).parameters) for E in (MaxMarginClustering, StructuredClustering))
    both = [name for name in ours if name in theirs]
    assert both == [name for name in theirs if name in both]
    assert len(both) >= 7 and len(ours) == 10


def test_parameters_of_the_kernel():
    with_degree = fit(kernel=Polynomial(degree=1, coef0=0))
    linear = fit(n_components=4)
    assert adjusted_rand_score(with_degree.labels_, linear.labels_) == 1


def test_verbose_logs_a_line_a_start(caplog):
    caplog.set_level("INFO", logger="kernelclust")

    def lines(**settings):
        caplog.clear()
        fit(**settings)
        return [
            r.getMessage() for r in caplog.records if r.getMessage().startswith("MaxMarginClustering: initialization")
        ]

    found = lines(verbose=1)
    assert len(found) == 4 and found[0].startswith("MaxMarginClustering: initialization 0: objective = ")
    assert not lines() and len(lines(n_init="auto", verbose=True)) == 10


# -- bad input and trivial fits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_clusters": 81}, "n_samples=80 should be >= 81"),
        ({"n_clusters": 2.5}, "n_clusters=2.5"),
        ({"loss": "nmii"}, "Did you mean 'nmi'"),
        ({"loss": 3}, "loss=3: give one of the names"),
        ({"loss": F(beta=-0.5)}, "beta=-0.5"),
        ({"C": 0}, "C=0: give a number above 0"),
        ({"C": -1.0}, "C=-1.0"),
        ({"C": "big"}, "unknown C 'big'"),
        ({"kernel": "rfb"}, "Did you mean 'rbf'"),
        ({"kernel": RBF(gamma=-1)}, "gamma=-1"),
        ({"kernel": RBF(gamma="auto")}, "unknown gamma"),
        ({"kernel": RBF(gamma=None)}, "gamma=None"),
        ({"n_init": "many"}, "unknown n_init"),
        ({"init": "randm"}, "Did you mean 'random'"),
        ({"verbose": "yes"}, "verbose='yes'"),
        ({"solver": "greedy"}, "unknown solver 'greedy'"),
        ({"balance": 0.1}, "balance=0.1 of the solver changes nothing"),
        ({"balance": -0.1}, "balance=-0.1"),
        ({"n_components": 0}, "n_components=0"),
        ({"tol": -1}, "tol=-1"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"n_init": 0}, "n_init=0"),
        ({"bias": "yes"}, "bias='yes'"),
        ({"center": 1}, "center=1"),
        ({"center": False, "kernel": "rbf"}, "center=False"),
        ({"center": False, "n_components": 2}, "center=False"),
        ({"approximation": "nystrom"}, "Did you mean 'nystroem'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        fit(**parameters)


def test_bad_samples():
    with pytest.raises(ValueError, match="n_samples=1"):
        fit(X[:1])
    for same in (np.full((10, 3), 0.3), sparse.csr_matrix(np.full((10, 3), 0.3))):
        for kernel in ("linear", "rbf"):
            with pytest.warns(UserWarning, match="all 10 samples are equal"):
                assert fit(same, kernel=kernel).trivial_
    with pytest.raises(ValueError, match="n_clusters=4, but only 3 samples are different"):
        fit(np.repeat(np.eye(3), 4, axis=0), n_clusters=4)
    with pytest.raises(ValueError, match="not symmetric"):
        fit(np.triu(np.ones((5, 5))), kernel="precomputed")
    with pytest.raises(ValueError, match="features"):
        fit().predict(X[:, :2])


def test_a_constant_feature_is_no_harm():
    with_constant = np.column_stack([X, np.full(80, 7.0)])
    assert_array_equal(fit(with_constant).labels_, fit().labels_)


def test_trivial_fits_are_told():
    with pytest.warns(UserWarning, match=r"trivial solution: .*larger C"):
        model = fit(C=1e-9)
    assert model.trivial_
    one_sided = X - X.min() + 1
    with pytest.warns(UserWarning, match=r"clusters are empty.*balance"):
        model = fit(one_sided, center=False, loss="error")
    assert model.trivial_ and len(np.unique(model.labels_)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not fit(one_sided, center=False, loss="error", balance=0.01).trivial_


def test_stopping_early_is_told():
    noise = np.random.default_rng(0).standard_normal((60, 10))
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        fit(noise, max_iter=2)


def test_what_cannot_be_solved_is_a_value_error(monkeypatch):
    X = np.random.default_rng(0).standard_normal((21, 2))
    with pytest.raises(ValueError, match=r"largest eigenvalue is .*e-3\d\d, too small for hyperplanes"):
        MaxMarginClustering(kernel="precomputed").fit(1e-320 * (X @ X.T))
    monkeypatch.setattr("daqp.solve", lambda *_, **__: (None, None, -4, None))
    with pytest.raises(ValueError, match=r"was not solved \(DAQP exit -4\): C="):
        MaxMarginClustering(random_state=0).fit(X)
