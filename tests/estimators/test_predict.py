"""predict and score against their definitions, and identities between fits that must agree."""

import itertools
import time

import numpy as np
import pytest
from flat_parameters import build
from numpy.testing import assert_allclose, assert_array_equal
from parts import kernels
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from kernelclust import CLUHSIC, CLUHSICAL, KernelKMeans, StructuredClustering, structured_hsic
from kernelclust.kernels import RBF, RandomFeatures, kernel_class
from kernelclust.solvers import Greedy
from kernelclust.structures import Custom, as_structure

TRANSDUCTIVE = kernels(is_function=False, pairwise=False, without=("auto",))
KERNELS = kernels(is_function=True)
OF_DISTANCES = kernels(has_gamma=True, translation_invariant=True)
STRUCTURES = ["flat", "chain", "ring", "grid:2x3", "tree:2x3"]
OBJECTIVES = [(None, "l2"), ("zero-one", "l1"), ("structure", "l1"), ("zero-one", "l2"), ("structure", "l2")]

generator = np.random.default_rng(0)
noise = generator.standard_normal((160, 5))
fresh = 1.5 * generator.standard_normal((200, 5))
ANGLES = np.arange(6) * np.pi / 3
RING = 4 * np.column_stack([np.cos(ANGLES), np.sin(ANGLES), 0.3 * np.cos(2 * ANGLES)])  # no two sides quite alike
SIZES = [14, 20, 11, 17, 23, 9]
truth = np.repeat(np.arange(6), SIZES)
blobs = RING[truth] + 0.25 * generator.standard_normal((len(truth), 3))
pytestmark = [
    pytest.mark.usefixtures("few_starts"),
    pytest.mark.filterwarnings("ignore:the order of these clusters:UserWarning"),
    pytest.mark.filterwarnings("error::RuntimeWarning"),
]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with threadpool_limits(limits=1):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def six(structure, **options):
    """Six clusters on any of the structures, quickly."""
    settings = {"kernel": "rbf", "n_init": 3, "compute_confidence": False, "random_state": 0}
    return build(StructuredClustering, 6, structure=structure, **(settings | options))


# -- predict ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("approximation", [None, "nystroem", "cholesky"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_fitted_samples_keep_their_labels(kernel, approximation, rng):
    """Where no single move raises F, every sample is nearer to its own mean than to any other.

    Its own cluster loses n / (n - 1) |x - mu|^2 with it and another would gain only n / (n + 1) |x - mu'|^2.
    """
    for weight in (None, rng.uniform(0.1, 3, 160)):
        model = build(KernelKMeans, 7, kernel=kernel, approximation=approximation, n_components=60, random_state=0)
        model.fit(noise, sample_weight=weight)
        assert_array_equal(model.predict(noise), model.labels_)


@pytest.mark.parametrize("kernel", TRANSDUCTIVE)
def test_fitted_samples_keep_their_labels_in_a_graph(kernel, rng):
    """A graph kernel exists between fitted samples only: a new sample borrows the similarities of its neighbours, and
    a fitted one is its own nearest neighbour. Rows that are repeated share them, so there it holds only nearly."""
    for X in (noise, rng.standard_normal((160, 40))):
        model = KernelKMeans(4, kernel=kernel, random_state=0).fit(X)
        assert_array_equal(model.predict(X), model.labels_)
    repeated = np.vstack([blobs, blobs[::3]])
    model = KernelKMeans(6, kernel=kernel, random_state=0).fit(repeated)
    assert (model.predict(repeated) == model.labels_).mean() > 0.95
    assert_array_equal(model.predict(blobs + 1e-3), model.predict(blobs))


def test_random_features_keep_labels_too():
    model = KernelKMeans(7, approximation=RandomFeatures(400), random_state=0).fit(noise)
    assert_array_equal(model.predict(noise), model.labels_)


def test_linear_kernel_predicts_the_nearest_centroid(rng):
    for weight in (np.ones(160), rng.uniform(0, 2, 160)):
        model = KernelKMeans(7, kernel="linear", random_state=0).fit(noise, sample_weight=weight)
        means = np.array(
            [np.average(noise[y], axis=0, weights=weight[y]) for y in model.labels_ == np.arange(7)[:, None]]
        )
        assert_array_equal(model.predict(fresh), pairwise_distances(fresh, means).argmin(axis=1))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial"])
def test_other_kernels_predict_the_nearest_mean_in_feature_space(kernel, rng):
    """|phi(x) - mu_j|^2 = k(x, x) - 2 mean k(x, j) + mean k(j, j), from the definition."""
    function = {"rbf": rbf_kernel, "laplacian": laplacian_kernel, "polynomial": polynomial_kernel}[kernel]
    params = {"degree": 2, "coef0": 1} if kernel == "polynomial" else {}
    options = {"gamma": 0.2, **params}
    weight = rng.uniform(0.1, 2, 160)
    model = build(KernelKMeans, 5, kernel=kernel, gamma=0.2, kernel_params=params, random_state=0)
    model.fit(noise, sample_weight=weight)
    P = np.eye(5)[model.labels_] * weight[:, None]
    P /= P.sum(axis=0)
    K, K_new = function(noise, **options), function(fresh, noise, **options)
    squared = np.diag(P.T @ K @ P) - 2 * K_new @ P
    assert_array_equal(model.predict(fresh), squared.argmin(axis=1))


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(("loss", "normalize"), [*OBJECTIVES, (None, "l1"), (None, None), ("structure", None)])
def test_predict_goes_where_F_rises_most(structure, loss, normalize):
    """Put a little of a new sample into each cluster in turn: predict names the one that raises F most."""
    model = six(structure, kernel="precomputed", loss=loss, normalize=normalize, rho=1.0)
    K = rbf_kernel(noise, gamma=0.1)
    model.fit(K)
    A = Custom(model.structure_.kernel + (0 if structure == "flat" else np.eye(6)))
    Delta = None if loss is None else (1 - np.eye(6) if loss == "zero-one" else model.structure_.loss)
    little = 1e-6
    for x, label in zip(fresh[:6], model.predict(rbf_kernel(fresh[:6], noise, gamma=0.1)), strict=True):
        grown = rbf_kernel(np.vstack([noise, x]), gamma=0.1)
        weight = np.r_[np.ones(160), little]
        # the kernel stays centred at the fitted samples: shift the origin there before weights are given
        grown = grown - grown[:, :160].mean(axis=1)[:, None] - grown[:160].mean(axis=0) + K.mean()
        values = [raw_value(grown, np.r_[model.labels_, j], A, Delta, normalize, weight) for j in range(6)]
        assert values[label] >= max(values) - 1e-9 * little * max(np.abs(values))


def raw_value(K, labels, structure, loss, normalize, weight):
    """F of a kernel that is centred already, written out from P = Pi T / N."""
    A = structure.kernel
    Pi = np.eye(len(A))[labels]
    T = np.eye(len(A)) if loss is None else np.diag(loss.sum(axis=1)) - loss
    P = Pi @ T
    if normalize == "l1":
        P = P / (weight @ np.abs(P))
    elif normalize == "l2":
        P = P / np.sqrt(weight @ P**2)
    W = weight[:, None] * P
    value = np.trace(K @ W @ A @ W.T)
    if loss is None or normalize == "l1":
        return value
    return 4 * 0.1**2 * value - 0.1 * float(weight @ np.abs(P).sum(axis=1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("approximation", [None, "cholesky"])
def test_precomputed_is_the_kernel_it_was_computed_from(approximation, weighted, rng):
    weight = (rng.random(160) > 0.3) * rng.uniform(0.5, 2, 160) if weighted else None
    for structure in ("flat", "ring"):
        options = {"approximation": approximation, "n_components": 50, "random_state": 0}
        one = build(StructuredClustering, 5, structure=structure, kernel=RBF(gamma=0.1), **options).fit(
            noise, sample_weight=weight
        )
        given = build(StructuredClustering, 5, structure=structure, kernel="precomputed", **options)
        given.fit(rbf_kernel(noise, gamma=0.1), sample_weight=weight)
        assert_array_equal(one.labels_, given.labels_)
        assert_allclose(one.objective_, given.objective_, rtol=1e-9)
        assert_array_equal(one.predict(fresh), given.predict(rbf_kernel(fresh, noise, gamma=0.1)))
        assert_allclose(one.score(fresh), given.score(rbf_kernel(fresh, noise, gamma=0.1)), rtol=1e-9)
        assert given.n_features_in_ == 160


def test_a_function_is_the_kernel_it_computes():
    def bell(A, B, width):
        return np.exp(-(pairwise_distances(A, B) ** 2) / width)

    one = build(KernelKMeans, 5, kernel=bell, kernel_params={"width": 10.0}, random_state=0).fit(noise)
    named = KernelKMeans(5, kernel=RBF(gamma=0.1), random_state=0).fit(noise)
    assert_array_equal(one.labels_, named.labels_)
    assert_allclose(one.objective_, named.objective_, rtol=1e-9)
    assert_array_equal(one.predict(fresh), named.predict(fresh))


@pytest.mark.parametrize("kernel", [*KERNELS, *TRANSDUCTIVE])
def test_blocks(kernel):
    """Many new samples at once are each predicted as if alone; 160 x 30 000 similarities are more than one block."""
    many = np.tile(fresh, (150, 1)) + np.repeat(np.arange(150), 200)[:, None] * 1e-3
    model = KernelKMeans(5, kernel=kernel, random_state=0).fit(noise)
    labels = model.predict(many)
    alone = np.concatenate([model.predict(many[i : i + 1]) for i in range(0, len(many), 601)])
    assert_array_equal(labels[::601], alone)
    assert_allclose(model.score(many), model.score(np.repeat(many, 2, axis=0)), rtol=1e-9)


# -- score ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_score_of_the_fitted_samples_is_the_objective_over_its_bound(kernel, rng):
    for weight in (None, rng.uniform(0.1, 3, 160)):
        model = KernelKMeans(7, kernel=kernel, random_state=0).fit(noise, sample_weight=weight)
        score = model.score(noise, sample_weight=weight)
        assert_allclose(score, model.objective_ / model.upper_bound_, rtol=1e-9)
        assert 0 < score <= 1


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(("loss", "normalize"), OBJECTIVES)
def test_score_is_the_explained_share_of_the_distances(structure, loss, normalize, rng):
    """Whatever the objective, by explicit distances in the feature space of a linear kernel."""
    others = 4 * fresh[:, :3]
    for weight in (np.ones(len(blobs)), rng.uniform(0.5, 2, len(blobs))):
        model = six(structure, kernel="linear", loss=loss, normalize=normalize).fit(blobs, sample_weight=weight)
        means = np.array(
            [weight[one] @ blobs[one] / weight[one].sum() for one in model.labels_ == np.arange(6)[:, None]]
        )
        within = np.square(others - means[model.predict(others)]).sum(axis=1)
        total = np.square(others - weight @ blobs / weight.sum()).sum(axis=1)
        w = rng.uniform(0, 2, len(others))
        B = np.sqrt(weight)[:, None] * (blobs - weight @ blobs / weight.sum())
        values = np.linalg.eigvalsh(B.T @ B)[::-1]
        reach = values[:5].sum() / values.sum()  # three columns: five clusters more than reach all
        share = np.clip((1 - w @ within / (w @ total)) / reach, 0, 1)
        assert_allclose(model.score(others, sample_weight=w), share, rtol=1e-7)
        even = np.clip((1 - within.sum() / total.sum()) / reach, 0, 1)
        assert_allclose(model.score(others, np.zeros(len(others))), even, rtol=1e-7)


def test_score_does_not_prefer_the_kernel_with_the_largest_entries():
    """Multiplying a kernel changes F and not the score; a grid search finds the degree that sees the clusters."""
    others = blobs + 0.1
    model = KernelKMeans(6, kernel="linear", random_state=0)
    scores = [model.fit(scale * blobs).score(scale * others) for scale in (1, 9)]
    assert_allclose(*scores)
    grid = {"kernel": ["linear", "polynomial"]}
    search = GridSearchCV(KernelKMeans(6, random_state=0), grid, cv=3).fit(100 * blobs)
    assert np.all((search.cv_results_["mean_test_score"] >= 0) & (search.cv_results_["mean_test_score"] <= 1))


def test_objective_is_dependence_and_scatter():
    """F of a flat linear fit = total scatter - inertia; and as good as what scikit-learn's KMeans finds."""
    for X, c in ((noise, 5), (blobs, 6), (make_blobs(300, centers=8, random_state=1)[0], 8)):
        model = KernelKMeans(c, kernel="linear", random_state=0).fit(X)
        total = ((X - X.mean(axis=0)) ** 2).sum()
        inertia = sum(((X[model.labels_ == j] - X[model.labels_ == j].mean(axis=0)) ** 2).sum() for j in range(c))
        assert_allclose(model.objective_, total - inertia, rtol=1e-10)
        assert_allclose(model.objective_, structured_hsic(X @ X.T, model.labels_, "flat"), rtol=1e-10)
        assert model.objective_ >= (total - KMeans(c, n_init=20, random_state=0).fit(X).inertia_) * (1 - 1e-3)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(("loss", "normalize"), [*OBJECTIVES, (None, "l1"), (None, None)])
def test_objective_is_dependence_of_the_labels(structure, loss, normalize, rng):
    weight = rng.uniform(0.5, 2, 160)
    for rho, search in itertools.product((0.0, 2.0), ("refine", "global")):
        model = six(structure, loss=loss, normalize=normalize, rho=rho, search=search, init="k-means++", n_init=2)
        model.fit(noise, sample_weight=weight)
        A = model.structure_.kernel + (0 if structure == "flat" else rho * np.eye(6))
        Delta = model.structure_.loss if loss == "structure" else loss
        value = structured_hsic(
            rbf_kernel(noise, gamma=model.diagnostics_.gamma),
            model.labels_,
            A,
            loss=Delta,
            normalize=normalize,
            sample_weight=weight,
        )
        assert_allclose(model.objective_, value, rtol=1e-9)
        assert model.upper_bound_ >= model.objective_
        assert model.diagnostics_.size_bound >= model.objective_
        assert (np.diff(model.diagnostics_.history) >= -1e-9 * abs(model.objective_)).all()
        assert_allclose(model.sizes_, np.bincount(model.labels_, weight, minlength=6))


# -- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [*KERNELS, *TRANSDUCTIVE])
@pytest.mark.parametrize("structure", ["flat", "ring"])
def test_samples_of_weight_zero_are_new_samples(kernel, structure, rng):
    """They take part in nothing, and get the label that predict gives them."""
    weight = (rng.random(160) > 0.3) * rng.uniform(0.5, 2, 160)
    used = weight > 0
    model = six(structure, kernel=kernel).fit(noise, sample_weight=weight)
    without = six(structure, kernel=kernel).fit(noise[used], sample_weight=weight[used])
    assert_array_equal(model.labels_[used], without.labels_)
    assert_array_equal(model.labels_[~used], without.predict(noise[~used]))
    assert_array_equal(model.labels_[~used], model.predict(noise[~used]))
    assert model.objective_ == without.objective_
    assert model.diagnostics_.gamma == without.diagnostics_.gamma
    huge = noise.copy()
    huge[~used] *= 1e3  # nor does their scale matter
    assert_array_equal(six(structure, kernel=kernel).fit(huge, sample_weight=weight).labels_[used], without.labels_)


def test_samples_of_weight_zero_in_a_precomputed_kernel_and_a_start(rng):
    K = rbf_kernel(noise, gamma=0.1)
    weight = (rng.random(160) > 0.3).astype(float)
    used = weight > 0
    init = rng.integers(0, 5, 160)
    model = KernelKMeans(5, kernel="precomputed", init=init).fit(K, sample_weight=weight)
    without = KernelKMeans(5, kernel="precomputed", init=init[used]).fit(K[np.ix_(used, used)])
    assert_array_equal(model.labels_[used], without.labels_)
    assert_array_equal(model.labels_[~used], without.predict(K[~used][:, used]))
    assert_array_equal(model.predict(K), without.predict(K[:, used]))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("structure", ["flat", "chain", "ring"])
def test_weights_are_repeats(kernel, structure, rng):
    """Where there is one best clustering a weight of 3 and 3 copies find it alike, with the same F."""
    weight = rng.integers(0, 4, len(blobs))
    copies = np.repeat(np.arange(len(blobs)), weight)
    one = six(structure, kernel=kernel).fit(blobs, sample_weight=weight)
    many = six(structure, kernel=kernel).fit(blobs[copies])
    if kernel == "cosine":  # sees angles only, in which these blobs lie close together
        assert_allclose(one.objective_, many.objective_, rtol=1e-3)
        return
    assert_array_equal(one.labels_[copies], many.labels_)
    assert_allclose(one.objective_, many.objective_, rtol=1e-9)
    assert_allclose(one.diagnostics_.size_bound, many.diagnostics_.size_bound, rtol=1e-9)
    if one.order_ is not None:
        assert_allclose(one.order_.margin, many.order_.margin, rtol=1e-6)
    assert_array_equal(one.predict(blobs + 0.1), many.predict(blobs + 0.1))
    if kernel in ("rbf", "laplacian", "polynomial"):
        assert_allclose(one.diagnostics_.gamma, many.diagnostics_.gamma, rtol=1e-9)


@pytest.mark.parametrize(("loss", "normalize"), OBJECTIVES)
def test_weights_are_repeats_under_every_objective(loss, normalize, rng):
    weight = rng.integers(1, 4, len(blobs))
    copies = np.repeat(np.arange(len(blobs)), weight)
    for Estimator in (StructuredClustering, CLUHSICAL, *([CLUHSIC] if loss is None else [])):
        kernel = {} if loss is None else {"kernel": "rbf"}  # else the default of each, once
        options = {"structure": "ring", "normalize": normalize, "n_init": 5, "random_state": 0} | kernel
        options |= {} if Estimator is CLUHSIC else {"loss": loss}  # which has none
        one = build(Estimator, 6, **options).fit(blobs, sample_weight=weight)
        many = build(Estimator, 6, **options).fit(blobs[copies])
        assert_allclose(one.objective_, many.objective_, rtol=1e-9)
        assert_array_equal(one.labels_[copies], many.labels_)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("init", ["spectral", "given"])
def test_weights_are_repeats_from_one_start(init, seed):
    """On any data: a given start has the same F, and the spectral start sees weights as copies."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 3, 160)
    copies = np.repeat(np.arange(160), weight)
    start = rng.integers(0, 4, 160)
    starts = ("spectral", "spectral") if init == "spectral" else (start, start[copies])
    one, many = (KernelKMeans(4, init=given, max_iter=1) for given in starts)
    with pytest.warns(UserWarning, match="max_iter=1"):
        one.fit(noise, sample_weight=weight)
        many.fit(noise[copies])
    assert_allclose(one.diagnostics_.history[0], many.diagnostics_.history[0], rtol=1e-9)


# -- approximations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("approximation", ["nystroem", "cholesky"])
@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed"])
def test_low_rank_at_full_rank_is_dense(kernel, approximation, rng):
    X, new = (noise, fresh) if kernel != "precomputed" else (noise @ noise.T, fresh @ noise.T)
    for structure in ("flat", "ring"):
        start = rng.integers(0, 6, 160)
        dense = six(structure, kernel=kernel, approximation=None, init=start).fit(X)
        low = six(structure, kernel=kernel, approximation=approximation, n_components=160, init=start).fit(X)
        assert_allclose(low.objective_, dense.objective_, rtol=1e-4)
        assert (low.labels_ == dense.labels_).mean() > 0.98
        if (low.labels_ == dense.labels_).all():
            assert (low.predict(new) == dense.predict(new)).mean() > 0.98
    dense = KernelKMeans(6, kernel="rbf", approximation=None, random_state=0).fit(blobs)
    low = build(
        KernelKMeans, 6, kernel="rbf", approximation=approximation, n_components=len(blobs), random_state=0
    ).fit(blobs)
    assert_array_equal(low.labels_, dense.labels_)
    assert_allclose(low.objective_, dense.objective_, rtol=1e-5)
    assert_allclose(low.score(blobs + 0.1), dense.score(blobs + 0.1), rtol=1e-4)


@pytest.mark.parametrize("kernel", kernels(has_features=True))
def test_exact_features_are_the_matrix(kernel):
    """Linear and cosine kernels of few columns need no matrix; with many columns they are one: the same F."""
    narrow = KernelKMeans(5, kernel=kernel, random_state=0).fit(blobs)
    wide = KernelKMeans(5, kernel=kernel, random_state=0).fit(np.hstack([blobs, np.zeros((len(blobs), 100))]))
    assert_allclose(narrow.objective_, wide.objective_, rtol=1e-9)
    assert_array_equal(narrow.labels_, wide.labels_)


@pytest.mark.parametrize("kernel", kernels(has_frequencies=True))
def test_random_features_approach_the_kernel(kernel):
    exact = KernelKMeans(6, kernel=kernel, random_state=0).fit(blobs)
    errors = []
    for components in (20, 600):
        options = {"approximation": "random_features", "n_components": components}
        values = [
            build(KernelKMeans, 6, kernel=kernel, random_state=seed, **options).fit(blobs).objective_
            for seed in range(5)
        ]
        errors.append(np.mean(np.abs(np.array(values) / exact.objective_ - 1)))
    assert errors[1] < 0.05
    assert errors[1] < errors[0] / 2
    model = build(KernelKMeans, 6, kernel=kernel, random_state=0, **options).fit(blobs)
    assert adjusted_rand_score(exact.labels_, model.labels_) == 1
    assert_array_equal(model.predict(blobs), model.labels_)


def test_more_components_than_samples_cost_no_more_than_samples():
    """B B' has the eigenvalues of B'B: 60 of them, not 3000, which would take many seconds."""
    start = time.process_time()
    options = {"approximation": "random_features", "n_components": 3000, "init": "spectral"}
    model = build(KernelKMeans, 6, random_state=0, **options).fit(blobs[:60])
    assert time.process_time() - start < 2
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize("kernel", OF_DISTANCES)
def test_the_rank_that_the_eigengap_asks_for_finds_the_same_clusters(kernel):
    """The rank itself may differ by a few columns between precisions; what is left of the trace is below the gap."""
    exact = KernelKMeans(6, kernel=kernel, random_state=0).fit(blobs)
    for X in (blobs, blobs.astype(np.float32)):
        model = KernelKMeans(6, kernel=kernel, approximation="cholesky", random_state=0).fit(X)
        assert_array_equal(model.labels_, exact.labels_)
        assert model.objective_ <= exact.objective_ * (1 + 1e-4)  # a part of the trace is left out
        assert_array_equal(model.predict(X), exact.labels_)


@pytest.mark.parametrize("approximation", [None, "nystroem", "cholesky", "random_features"])
def test_single_precision_is_close_to_double(approximation):
    options = {"approximation": approximation, "n_components": None if approximation is None else 90, "random_state": 0}
    draws = approximation == "random_features"
    for kernel in kernels(is_function=True, without=("cosine",), **({"has_frequencies": True} if draws else {})):
        double = build(KernelKMeans, 6, kernel=kernel, **options).fit(blobs)
        single = build(KernelKMeans, 6, kernel=kernel, **options).fit(blobs.astype(np.float32))
        assert_array_equal(single.labels_, double.labels_)
        assert_allclose(single.objective_, double.objective_, rtol=1e-4)
        assert_array_equal(single.predict(blobs.astype(np.float32) + 0.1), double.predict(blobs + 0.1))
        assert isinstance(single.objective_, float)


# -- invariances ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", STRUCTURES)
def test_scaling_the_kernel_scales_the_objective(structure):
    K, new = rbf_kernel(noise, gamma=0.1), rbf_kernel(fresh, noise, gamma=0.1)
    one = six(structure, kernel="precomputed").fit(K)
    for scale in (1e-30, 1e-15, 1e-6, 0.5, 3.0, 1e6, 1e15, 1e30):
        other = six(structure, kernel="precomputed").fit(K * scale)
        assert_array_equal(one.labels_, other.labels_)
        assert_allclose(other.objective_, one.objective_ * scale, rtol=1e-9)
        assert_allclose(other.upper_bound_, one.upper_bound_ * scale, rtol=1e-9)
        assert_allclose(other.gap_, one.gap_, rtol=1e-6)
        if one.order_ is not None:
            assert_allclose(other.order_.margin, one.order_.margin, rtol=1e-6)
        assert_array_equal(one.predict(new), other.predict(new * scale))


def test_a_constant_added_to_the_kernel_changes_nothing(rng):
    """Nor a function of one sample: K_ij + f_i + f_j centres to the same."""
    K = rbf_kernel(noise, gamma=0.1)
    f = rng.standard_normal(160)
    for structure in ("flat", "ring"):
        one = six(structure, kernel="precomputed").fit(K)
        for other in (K + 5.0, K + f[:, None] + f):
            model = six(structure, kernel="precomputed").fit(other)
            assert_array_equal(model.labels_, one.labels_)
            assert_allclose(model.objective_, one.objective_, rtol=1e-9)


@pytest.mark.parametrize(
    ("kernel", "structure"),
    [
        *itertools.product([*kernels(translation_invariant=True), "precomputed"], STRUCTURES),
        ("graph", "flat"),
        ("graph", "chain"),  # far groups hang together by one link each: a graph sees no ring or grid here
    ],
)
def test_sample_order(kernel, structure):
    """Rows in another order, and another seed: the same labels, in that order."""
    X = blobs + 10.0 * (truth // 3)[:, None] if structure.startswith("tree") else blobs  # two families
    X = rbf_kernel(X, gamma=0.05) if kernel == "precomputed" else X
    one = six(structure, kernel=kernel).fit(X)
    if structure in ("flat", "chain", "ring"):
        assert adjusted_rand_score(truth, one.labels_) == 1
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(blobs))
        shuffled = X[order] if kernel != "precomputed" else X[np.ix_(order, order)]
        other = six(structure, kernel=kernel, random_state=seed).fit(shuffled)
        assert_array_equal(other.labels_, one.labels_[order])
        assert_allclose(other.objective_, one.objective_, rtol=1e-9)


def test_ring_and_chain_come_out_in_order(rng):
    model = six("ring").fit(blobs)
    place = np.array([model.labels_[truth == j][0] for j in range(6)])
    step = (place - np.roll(place, 1)) % 6
    assert (step == 1).all() or (step == 5).all()
    line = np.arange(6.0)[truth][:, None] + 0.1 * rng.standard_normal((len(truth), 1))
    place = six("chain").fit_predict(line)
    assert_array_equal(place, truth if place[0] == 0 else 5 - truth)


@pytest.mark.parametrize("kernel", [*OF_DISTANCES, *TRANSDUCTIVE])
@pytest.mark.parametrize("structure", ["flat", "ring"])
def test_translation_and_scale(kernel, structure):
    """gamma="scale" knows no unit and no origin; a power of two changes no digit but the exponent."""
    one = six(structure, kernel=kernel).fit(noise)
    other = six(structure, kernel=kernel).fit(noise * 2.0**20)
    assert_array_equal(one.labels_, other.labels_)
    assert_allclose(one.objective_, other.objective_, rtol=1e-9)
    assert_array_equal(one.predict(fresh), other.predict(fresh * 2.0**20))
    one = six(structure, kernel=kernel).fit(blobs)
    for scale, shift in ((1.0, 100.0), (1e-6, 0.0), (1e6, -3e6), (7.0, 1e4)):
        other = six(structure, kernel=kernel).fit(blobs * scale + shift)
        assert_array_equal(one.labels_, other.labels_)
        assert_allclose(one.objective_, other.objective_, rtol=1e-5)
    if kernel in OF_DISTANCES:
        power = kernel_class(kernel).distance_exponent
        assert_allclose(
            six(structure, kernel=kernel).fit(blobs * 10).diagnostics_.gamma,
            one.diagnostics_.gamma / 10**power,
            rtol=1e-9,
        )


def test_gamma_scale_is_one_over_the_mean_distance():
    squared = pairwise_distances(noise) ** 2
    assert_allclose(KernelKMeans(3).fit(noise).diagnostics_.gamma, 1 / squared.mean(), rtol=1e-9)
    city = pairwise_distances(noise, metric="cityblock")
    assert_allclose(KernelKMeans(3, kernel="laplacian").fit(noise).diagnostics_.gamma, 1 / city.mean(), rtol=1e-9)
    assert KernelKMeans(3, kernel=RBF(gamma=0.3)).fit(noise).diagnostics_.gamma == 0.3
    assert KernelKMeans(3, kernel="linear").fit(noise).diagnostics_.gamma is None


def test_label_symmetries(rng):
    """A start whose labels are moved by a symmetry of the structure ends at the same labels."""
    start = rng.integers(0, 6, len(blobs))
    for structure, moves in [
        ("ring:6", [lambda y: (y + 2) % 6, lambda y: (5 - y) % 6]),
        ("chain:6", [lambda y: 5 - y]),
        ("flat:6", [lambda y: np.array([3, 1, 5, 0, 4, 2])[y]]),
        ("tree:2x3", [lambda y: (y + 3) % 6]),
    ]:
        options = {"structure": as_structure(structure), "kernel": "rbf", "search": "global", "rho": 0.0}
        one = build(StructuredClustering, solver=Greedy(init=start), **options).fit(blobs)
        for move in moves:
            other = build(StructuredClustering, solver=Greedy(init=move(start)), **options).fit(blobs)
            assert_allclose(other.objective_, one.objective_, rtol=1e-9)
            assert_array_equal(other.labels_, one.labels_)


@pytest.mark.parametrize("normalize", ["l1", "l2", None])
@pytest.mark.parametrize("structure", ["flat:3", "chain:3", "ring:3"])
def test_a_loss_of_ones_own_decides_the_numbering(structure, normalize):
    """Labels used to be renumbered by symmetries of the structure that the loss does not have: F 35.5, labels 9.7."""
    x = np.r_[np.zeros(9), np.full(6, 3.0), np.full(3, 9.0)][:, None] + np.linspace(0, 0.1, 18)[:, None]
    for loss in ([[0, 1, 9], [1, 0, 1], [9, 1, 0]], [[0, 2, 5], [1, 0, 1], [3, 4, 0]], 1 - np.eye(3)):
        model = CLUHSICAL(structure=structure, kernel="linear", loss=np.array(loss, float), normalize=normalize,
                          random_state=0).fit(x)  # fmt: skip
        value = structured_hsic(x @ x.T, model.labels_, structure, loss=np.array(loss, float), normalize=normalize)
        assert_allclose(model.objective_, value, rtol=1e-9)


def test_a_fitted_sample_is_found_again_whatever_rounding_says_of_its_distance():
    rng = np.random.default_rng(0)
    X = rng.random((40, 30)) + 50.0
    model = StructuredClustering(3, kernel="graph", random_state=0).fit(X)
    nudged = X * (1 + 1e-15 * rng.standard_normal(X.shape))  # the last bit of every number
    np.testing.assert_allclose(model.transform(nudged), model.transform(X), rtol=1e-12, atol=1e-12)
