"""Distances, memberships and positions are what their formulas say, in features that can be written down."""

import numpy as np
import pytest
from flat_parameters import build
from numpy.testing import assert_allclose, assert_array_equal
from parts import kernels
from scipy.stats import rankdata, spearmanr
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from kernelclust import CLUHSICAL, Diffrac, KernelKMeans, MultiKernelClustering, StructuredClustering
from kernelclust.engine._scales import _between
from kernelclust.kernels import RBF
from kernelclust.objectives import Dependence
from kernelclust.solvers import Greedy
from kernelclust.structures import Chain, Custom, Flat, Grid, Product, Ring, Tree, as_structure, structure_names

pytestmark = [pytest.mark.usefixtures("few_starts"), pytest.mark.filterwarnings("ignore::UserWarning")]
rng = np.random.default_rng(0)
X, _ = make_blobs(80, n_features=3, centers=5, cluster_std=1.5, random_state=1)


def curve(m=150, noise=0.03, seed=0):
    """Samples along three quarters of a circle, and how far along they are."""
    draw = np.random.default_rng(seed)
    time = draw.random(m)
    angle = 1.5 * np.pi * time
    return time, np.c_[np.cos(angle), np.sin(angle)] + noise * draw.standard_normal((m, 2))


def features(K):
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


def means(phi, labels, weight, c):
    return np.array([np.average(phi[labels == j], axis=0, weights=weight[labels == j]) for j in range(c)])


# -- distances ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", ["flat:5", "chain:5", "tree:(a,(b,(c,(d,e))))"])
@pytest.mark.parametrize("weighted", [False, True])
def test_distances_in_written_down_features(structure, weighted):
    weight = np.random.default_rng(3).integers(1, 4, 80).astype(float) if weighted else np.ones(80)
    model = StructuredClustering(structure=structure, kernel=RBF(gamma=0.1), random_state=0)
    model.fit(X, sample_weight=weight)
    phi = features(rbf_kernel(X, gamma=0.1))
    mu = means(phi, model.labels_, weight, 5)
    away = np.linalg.norm(phi[:, None] - mu, axis=2)
    assert_allclose(model.transform(X), away, atol=1e-7)
    own = np.where(model.labels_[:, None] == np.arange(5), away, np.inf)
    assert_array_equal(model.medoids_, own.argmin(axis=0))


def test_linear_distances_are_those_of_kmeans():
    model = KernelKMeans(5, kernel="linear", random_state=0).fit(X)
    other = KMeans(5, init=means(X, model.labels_, np.ones(80), 5), n_init=1).fit(X)
    assert_array_equal(other.labels_, model.labels_)
    new = X[:20] + 0.3
    assert_allclose(model.transform(new), other.transform(new), atol=1e-9)
    assert_array_equal(model.transform(new).argmin(axis=1), model.predict(new))


@pytest.mark.parametrize("kernel", kernels(is_function=False, pairwise=False))
def test_kernels_between_fitted_samples_give_these_their_own_distances(kernel):
    model = KernelKMeans(4, kernel=kernel, random_state=0).fit(X)
    assert_array_equal(model.transform(X)[model.medoids_].argmin(axis=1), np.arange(4))
    near = model.transform(X)[np.arange(80), model.labels_]
    assert_array_equal(
        [np.flatnonzero(model.labels_ == j)[near[model.labels_ == j].argmin()] for j in range(4)], model.medoids_
    )


def test_given_similarities():
    K = rbf_kernel(X, gamma=0.1)
    by_name = KernelKMeans(4, kernel=RBF(gamma=0.1), random_state=0).fit(X)
    given = KernelKMeans(4, kernel="precomputed", random_state=0).fit(K)
    assert_allclose(given.transform(K), by_name.transform(X), atol=1e-7)
    assert_array_equal(given.medoids_, by_name.medoids_)
    assert_allclose(given.membership(K), by_name.membership(X), atol=1e-7)


def test_discriminative_presets_measure_by_the_kernel_they_are_made_of():
    model = Diffrac(5, kernel=RBF(gamma=0.1), random_state=0).fit(X)
    phi = features(rbf_kernel(X, gamma=0.1))
    away = np.linalg.norm(phi[:, None] - means(phi, model.labels_, np.ones(80), 5), axis=2)
    assert_allclose(model.transform(X), away, atol=1e-7)
    assert_array_equal(model.medoids_, np.where(model.labels_[:, None] == np.arange(5), away, np.inf).argmin(axis=0))


def test_many_kernels_have_the_distances_of_their_sum():
    views = [X[:, :1], X[:, 1:]]
    model = MultiKernelClustering(4, kernel=["linear", RBF(gamma=0.1)], random_state=0).fit(views)
    total = np.zeros((80, 80))
    for K, weight in zip((views[0] @ views[0].T, rbf_kernel(views[1], gamma=0.1)), model.weights_, strict=True):
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
        total += weight**2 * K / np.sqrt(np.outer(np.diag(K), np.diag(K)))
    phi = features(total)
    away = np.linalg.norm(phi[:, None] - means(phi, model.labels_, np.ones(80), 4), axis=2)
    assert_allclose(model.transform(views), away, atol=1e-7)
    assert_array_equal(model.medoids_, np.where(model.labels_[:, None] == np.arange(4), away, np.inf).argmin(axis=0))
    assert_allclose(model.membership(views).sum(axis=1), 1)


def test_an_empty_cluster_has_no_mean():
    model = KernelKMeans(3, kernel="linear").fit(X, np.repeat([0, 2], 40))  # every label is known
    assert not model.sizes_.all()
    empty = model.sizes_ == 0
    assert np.isnan(model.transform(X)[:, empty]).all()
    assert np.isfinite(model.transform(X)[:, ~empty]).all()
    assert_array_equal(model.medoids_[empty], -1)
    assert_array_equal(model.membership(X)[:, empty], 0)
    assert_allclose(model.membership(X).sum(axis=1), 1)


# -- membership --------------------------------------------------------------------------------------------------------


def test_membership_is_the_softmax_of_squared_distances():
    model = StructuredClustering(structure="ring:5", kernel="rbf", random_state=0).fit(X)
    share, squared = model.membership(X), model.transform(X) ** 2
    assert_allclose(share.sum(axis=1), 1)
    odds = np.log(share[:, :1] / np.maximum(share, 1e-300))
    some = share > 1e-12
    ratio = ((squared - squared[:, :1])[some]) / (2 * model._places.variance)
    assert_allclose(odds[some], ratio, atol=1e-6)


def test_the_variance_is_the_most_likely_one():
    """The likelihood of a mixture of equal clouds with these means, written down, is largest there."""
    blobs, _ = make_blobs(400, n_features=2, centers=[[0, 0], [3, 0], [0, 3]], cluster_std=1.0, random_state=0)
    model = KernelKMeans(3, kernel="linear", random_state=0).fit(blobs)
    mu = means(blobs, model.labels_, np.ones(400), 3)
    squared = ((blobs[:, None] - mu) ** 2).sum(axis=2)

    def likelihood(t):
        return np.log((np.exp(-squared / (2 * t)) / t).sum(axis=1)).sum()

    t = model._places.variance
    assert likelihood(t) > max(likelihood(0.98 * t), likelihood(1.02 * t))


@pytest.mark.parametrize("apart", [3.0, 6.0])
def test_shares_mean_what_they_say(apart):
    """Of samples whose largest share is about s, about s are in the cloud that it names."""
    centres = apart * np.eye(3)[:, :3]
    blobs, truth = make_blobs(3000, n_features=3, centers=centres, cluster_std=1.0, random_state=0)
    model = KernelKMeans(3, kernel="linear", init=truth, random_state=0).fit(blobs)
    name = np.array([np.bincount(truth[model.labels_ == j]).argmax() for j in range(3)])
    share = model.membership(blobs)
    right = name[share.argmax(axis=1)] == truth
    assert np.mean(share.max(axis=1)) == pytest.approx(right.mean(), abs=0.02)


def test_limits_of_membership():
    points = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    model = KernelKMeans(3, kernel="linear", random_state=0).fit(points)
    assert_allclose(model.membership(points)[np.arange(12), model.labels_], 1)
    middle = np.sort(model.membership([[0.5]])[0])
    assert_allclose(middle, [0, 0.5, 0.5], atol=1e-6)
    assert_array_equal(KernelKMeans(1).fit(X).membership(X), 1)
    alike = KernelKMeans(2, kernel="linear", random_state=0).fit(np.ones((6, 2)))
    assert_array_equal(alike.membership(np.ones((2, 2))), [[1, 0], [1, 0]])


# -- positions ---------------------------------------------------------------------------------------------------------


def test_positions_are_ranks_within_clusters_between_neighbours():
    """The formula, in features that are written down."""
    _, Z = curve()
    model = StructuredClustering(structure="chain:5", kernel=RBF(gamma=1.0), random_state=0).fit(Z)
    phi = features(rbf_kernel(Z, gamma=1.0))
    mu = means(phi, model.labels_, np.ones(len(Z)), 5)
    for j in range(5):
        here = model.labels_ == j
        score = phi[here] @ (mu[min(j + 1, 4)] - mu[max(j - 1, 0)])
        assert_allclose(model.position_[here], j - 0.5 + (rankdata(score) - 0.5) / here.sum(), atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "auto"])
def test_positions_follow_the_time(kernel):
    time, Z = curve()
    position = StructuredClustering(structure="chain:6", kernel=kernel, random_state=0).fit(Z).position_
    assert abs(spearmanr(time, position)[0]) > 0.99
    assert position.min() >= -0.5 and position.max() <= 5.5


def test_positions_on_a_ring_close():
    draw = np.random.default_rng(0)
    angle = draw.uniform(0, 2 * np.pi, 200)
    Z = np.c_[np.cos(angle), np.sin(angle)] + 0.02 * draw.standard_normal((200, 2))
    model = StructuredClustering(structure="ring:6", random_state=0).fit(Z)
    assert model.position_.min() >= 0 and model.position_.max() < 6
    turn = 2 * np.pi * model.position_ / 6
    resultant = max(abs(np.exp(1j * (turn - angle)).mean()), abs(np.exp(1j * (turn + angle)).mean()))
    assert resultant > 0.98


def test_positions_on_a_grid_are_row_and_column():
    draw = np.random.default_rng(0)
    Z = draw.uniform(0, 1, (400, 2)) * [3, 4]
    start = (np.floor(Z[:, 0]) * 4 + np.floor(Z[:, 1])).astype(int)
    model = StructuredClustering(structure="grid:3x4", solver=Greedy(init=start), kernel="linear", random_state=0).fit(
        Z
    )
    assert model.position_.shape == (400, 2)
    truth = [abs(spearmanr(Z[:, k], model.position_[:, k])[0]) for k in (0, 1)]
    assert min(truth) > 0.95
    product = Product("chain:3", "chain:4").axes()
    for one, other in zip(Grid(3, 4).axes(), product, strict=True):
        assert_array_equal(one.coordinate, other.coordinate)
        assert_array_equal(one.towards, other.towards)


def test_positions_on_a_tree_lead_towards_siblings():
    draw = np.random.default_rng(0)
    centre = np.array([[0.0, 0], [4, 0], [0, 50], [4, 50]])
    truth = np.repeat(np.arange(4), 30)
    Z = centre[truth] + draw.standard_normal((120, 2))
    model = StructuredClustering(structure="tree:2x2", kernel="linear", random_state=0).fit(Z)
    leaf, share = model.position_.T
    assert_array_equal(leaf, model.labels_)
    assert share.min() > 0 and share.max() < 1
    for j in range(4):
        here = model.labels_ == j
        side = 1 if Z[here, 0].mean() < 2 else -1
        assert spearmanr(side * Z[here, 0], share[here])[0] > 0.95


@pytest.mark.parametrize("structure", ["chain:4", "ring:4", "grid:2x3", "tree:2x2", "chain:2*ring:3"])
def test_positions_round_to_labels(structure):
    model = StructuredClustering(structure=structure, random_state=0).fit(X)
    new = X + 0.1
    for position, labels in ((model.position_, model.labels_), (model.position(new), model.predict(new))):
        axes = as_structure(structure).axes()
        columns = position[:, None] if position.ndim == 1 else position
        assert columns.shape == (80, len(axes))
        for axis, column in zip(axes, columns.T, strict=True):
            step = column - axis.coordinate[labels]
            step = (step + axis.period / 2) % axis.period - axis.period / 2 if axis.period else step
            assert np.abs(step).max() <= 0.5


def test_fitted_samples_keep_their_position():
    _, Z = curve()
    for kernel in ("rbf", "graph", "linear"):
        model = StructuredClustering(structure="chain:5", kernel=kernel, random_state=0).fit(Z)
        assert_array_equal(model.predict(Z), model.labels_)
        assert_allclose(model.position(Z), model.position_, atol=1e-6)


def test_equal_samples_have_one_position():
    Z = np.repeat(np.arange(12.0)[:, None], 3, axis=0)
    model = StructuredClustering(structure="chain:3", kernel="rbf", random_state=0).fit(Z)
    position = model.position_.reshape(12, 3)
    assert_allclose(position, position[:, :1] * np.ones(3), atol=1e-9)
    assert (np.diff(position[:, 0]) > 0).all() or (np.diff(position[:, 0]) < 0).all()


def test_weights_are_repeats():
    draw = np.random.default_rng(2)
    _, Z = curve(60)
    weight = draw.integers(1, 4, 60)
    start = np.argsort(np.argsort(Z[:, 1])) // 15
    settings = {"structure": "chain:4", "init": start, "random_state": 0}
    weighted = build(StructuredClustering, **settings).fit(Z, sample_weight=weight)
    settings["init"] = np.repeat(start, weight)
    repeated = build(StructuredClustering, **settings).fit(np.repeat(Z, weight, axis=0))
    assert_array_equal(np.repeat(weighted.labels_, weight), repeated.labels_)
    assert_allclose(np.repeat(weighted.position_, weight), repeated.position_, atol=1e-8)
    assert_allclose(weighted.transform(Z), repeated.transform(Z), atol=1e-8)
    assert_allclose(weighted.membership(Z), repeated.membership(Z), atol=1e-6)
    assert_array_equal(np.repeat(np.arange(60), weight)[repeated.medoids_], weighted.medoids_)


@pytest.mark.parametrize("kernel", ["rbf", "auto"])
def test_the_order_of_samples_does_not_matter(kernel):
    _, Z = curve(90)
    other = np.random.default_rng(5).permutation(90)
    one, two = (
        StructuredClustering(
            structure="chain:4",
            kernel=kernel,
            objective=Dependence(size_prior=0),
            solver=Greedy(n_init=3),
            random_state=0,
        ).fit(Z[at])
        for at in (np.arange(90), other)
    )
    assert_array_equal(one.labels_[other], two.labels_)
    assert_allclose(one.position_[other], two.position_, atol=1e-7)
    assert_array_equal(other[two.medoids_], one.medoids_)
    assert_allclose(one.membership(Z), two.membership(Z), atol=1e-6)


def test_samples_of_weight_zero_are_placed_as_new_ones():
    _, Z = curve(80)
    weight = np.ones(80)
    weight[::7] = 0
    model = StructuredClustering(structure="chain:4", random_state=0).fit(Z, sample_weight=weight)
    assert_allclose(model.position(Z), model.position_, atol=1e-7)
    assert (weight[model.medoids_] > 0).all()
    assert_array_equal(model.labels_[model.medoids_], np.arange(4))
    asked = model.order_.queries(int(weight.sum()))
    assert (weight[asked] > 0).all()
    assert len(set(asked)) == len(asked)


def test_a_loss_does_not_stand_in_the_way():
    model = CLUHSICAL(structure="chain:4", random_state=0).fit(X)
    assert_array_equal(np.round(model.position_ + 1e-9), model.labels_)


def test_neighbours_without_samples_are_passed_over():
    """An empty cluster has no mean; those beside it look at what is left, or stay in the middle."""
    Z = np.arange(12.0)[:, None]
    model = StructuredClustering(structure="chain:4", kernel="linear").fit(Z, np.repeat([0, 1, 3], 4))
    assert_allclose(model.position_, [*(np.arange(8) / 4 - 0.375), 3, 3, 3, 3])
    assert_allclose(model.position([[-5.0], [20.0]]), model.position_[[0, -1]])


# -- axes of structures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", structure_names())
def test_axes_are_well_formed(name):
    for size in (1, 2, 3, 4, 6, 12):
        structure = as_structure(name, size) if name in ("flat", "chain", "ring") else None
        structure = structure or {"grid": Grid, "tree": Tree, "product": Product, "custom": Custom}[name].example(size)
        for axis in structure.axes() or []:
            c = structure.n_clusters
            assert axis.coordinate.shape == (c,) and axis.towards.shape == (c, c)
            assert_allclose(axis.towards.sum(axis=1), 0, atol=1e-12)


def test_who_has_axes():
    for structure in (Flat(3), Custom(np.eye(3)), Product("flat:4", "chain:3")):
        assert structure.axes() is None
    assert len(Chain(3).axes()) == len(Ring(3).axes()) == 1
    assert len(Grid(2, 3).axes()) == len(Tree(2, 2).axes()) == len(Product("chain:3", "ring:4").axes()) == 2
    assert_array_equal(Chain(3).axes()[0].towards, [[-1, 1, 0], [-1, 0, 1], [0, -1, 1]])
    assert_array_equal(Ring(3).axes()[0].towards, [[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    tree = Tree(["a", [["b"], ["c", "d"]]]).axes()[1].towards
    third, half = 1 / 3, 1 / 2
    assert_allclose(tree, [[-1, third, third, third], [0, -1, half, half], [0, 0, -1, 1], [0, 0, 1, -1]])


def test_renamed_trees():
    tree = Tree(["a", ["b", "c"]]).renamed(["x", "y", "z"])
    assert str(tree) == "tree:(x,(y,z))"
    with pytest.raises(ValueError, match="2 names of a Tree's leaves for 3 clusters"):
        tree.renamed(["x", "y"])


def test_places_between_scores_that_are_hardly_numbers():
    """Scores of subnormal size have the places of the same scores at any other size, bit for bit."""
    at, share, score = np.array([1.0, 3.0, 10.0]), np.array([0.2, 0.5, 0.9]), np.array([-4.0, 1.0, 2.0, 7.0, 1e300])
    expected = np.interp(score, at, share)
    assert_array_equal(_between(score, at, share), expected)
    assert_array_equal(_between(score[:4] * 2.0**-1074, at * 2.0**-1074, share), expected[:4])
    assert_array_equal(_between(score[:4], np.zeros(1), share[:1]), np.full(4, 0.2))
