"""Baselines against scipy and scikit-learn, on data whose tree or order is known, and where a cut cannot be had."""

import warnings
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.cluster import AgglomerativeClustering, KMeans, spectral_clustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from kernelclust import KernelKMeans
from kernelclust.baselines import XWSS, HierarchicalKernelKMeans, NormalizedCut, PlacedClustering, TreeLinkage
from kernelclust.baselines._tree import (
    check_tree,
    children,
    descend,
    distances_to_means,
    is_enough,
    refill,
    settle,
    variances,
)
from kernelclust.baselines.linkage import pair_distances
from kernelclust.baselines.xwss import relabel
from kernelclust.datasets import structured_blobs
from kernelclust.kernels import DenseKernel, LowRankKernel
from kernelclust.metrics import level_accuracies, structured_accuracy
from kernelclust.objectives.dependence import loss_matrix
from kernelclust.structures import Tree, as_structure

LINKAGES = ["average", "complete", "ward"]
TREES = ["flat:4", "tree:2x3", "tree:3x3", "tree:2x2x2", "tree:(a,(b,(c,d)))", "tree:((a,b,c),(d,e),f)"]
rng = np.random.default_rng(0)


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


def scrambled(structure, n_samples=90, noise=0.05, seed=0):
    blobs = structured_blobs(structure, n_samples=n_samples, noise=noise, random_state=seed)
    return blobs.data, blobs.target


# -- trees ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", TREES)
def test_the_tree_is_read_from_the_kernel(spec):
    """Nodes found by splitting A at its least entry are those that `levels` lists."""
    structure = as_structure(spec)
    A = check_tree(structure, "test")
    found, waiting = set(), [np.arange(len(A))]
    while waiting:
        leaves = waiting.pop()
        found.add(tuple(leaves))
        if len(leaves) > 1:
            assert_array_equal(np.sort(np.concatenate(children(A, leaves))), leaves)
            waiting += children(A, leaves)
    levels = structure.levels() if isinstance(structure, Tree) else [np.arange(len(A))]
    expected = {tuple(np.flatnonzero(groups == j)) for groups in levels for j in np.unique(groups)}
    assert found == expected | {tuple(range(len(A)))}


@pytest.mark.parametrize("spec", ["ring:3", "chain:2", "flat:2*chain:2", "tree:((a,b))", "tree:1x3", [[2.0]]])
def test_structures_that_are_trees_under_another_name(spec):
    """Every relabelling of ring:3 is allowed: it is flat; two chains of two are the tree 2x2."""
    assert len(check_tree(as_structure(spec), "test")) >= 1


@pytest.mark.parametrize("spec", ["chain:3", "ring:4", "grid:2x2", "flat:2*chain:3"])
def test_structures_that_are_no_trees(spec):
    with pytest.raises(ValueError, match="is no tree"):
        check_tree(as_structure(spec), "test")


@pytest.mark.parametrize("dense", [True, False])
def test_distances_to_means_and_variances(dense):
    X = rng.standard_normal((12, 3))
    groups = [np.array([0, 3, 4]), np.array([7]), np.array([1, 2, 5, 8])]
    means = np.array([X[group].mean(axis=0) for group in groups])
    operator = DenseKernel(X @ X.T) if dense else LowRankKernel(X)
    D = ((X[:, None] - means) ** 2).sum(axis=2)
    assert_allclose(distances_to_means(operator, groups), D, atol=1e-12)
    assert_allclose(variances(operator, groups), [D[group, j].mean() for j, group in enumerate(groups)], atol=1e-12)


def test_larger_subtrees_get_larger_variances_as_far_as_samples_go():
    X = np.concatenate([[0, 6], [100, 101, 102, 103], [200, 203, 206, 209, 212]])[:, None].astype(float)
    operator = LowRankKernel(X)
    wide_but_few, narrow, wide = np.arange(2), np.arange(2, 6), np.arange(6, 11)
    for order in permutations([wide_but_few, narrow, wide]):
        for needs, expected in (
            ([2, 1, 1], [wide, wide_but_few, narrow]),
            ([1, 1, 2], [wide_but_few, narrow, wide]),
            ([3, 3, 1], [wide, narrow, wide_but_few]),  # the two samples cannot fill three leaves
            ([1, 2, 5], [narrow, wide_but_few, wide]),
        ):
            settled = settle(operator, list(order), np.array(needs), variances(operator, list(order)))
            for found, group in zip(settled, expected, strict=True):
                assert_array_equal(found, group)


def test_refill_moves_the_nearest_that_can_be_spared():
    X = np.array([0.0, 1, 2, 3, 10, 30])[:, None]
    groups = [np.arange(4), np.array([4]), np.array([5])]
    with pytest.warns(UserWarning, match=r"2 sample\(s\) moved"):
        found = refill(LowRankKernel(X), groups, np.array([1, 3, 1]))
    assert [group.tolist() for group in found] == [[0, 1], [2, 3, 4], [5]]
    with pytest.warns(UserWarning, match="1 sample"):  # an empty group takes the sample that fits least where it is
        found = refill(LowRankKernel(X), [np.arange(5), np.array([5]), np.array([], dtype=int)], np.ones(3, dtype=int))
    assert [group.tolist() for group in found] == [[0, 1, 2, 3], [5], [4]]


@pytest.mark.parametrize("sizes", [[3, 1, 1], [2, 2, 1], [1, 1, 1], [4, 1, 2]])
@pytest.mark.parametrize("needs", [[1, 1, 1], [2, 1, 1], [2, 2, 1], [3, 1, 1], [1, 1, 3]])
def test_is_enough_is_a_matching(sizes, needs):
    matching = any(all(s >= n for s, n in zip(order, needs, strict=True)) for order in permutations(sizes))
    assert is_enough(sizes, np.array(needs)) == matching


@pytest.mark.parametrize("spec", ["tree:(a,(b,(c,d)))", "tree:((a,b,c),(d,e),f)", "tree:2x2x2", "flat:7"])
@pytest.mark.parametrize("seed", range(5))
def test_every_leaf_is_filled_whatever_a_division_does(spec, seed):
    """Groups at random, as unequal as may be, and just as many samples as leaves, or a few more."""
    A = check_tree(as_structure(spec), "test")
    local = np.random.default_rng(seed)
    for m in (len(A), len(A) + 2):

        def divide(samples, needs):
            order = local.permutation(samples)
            return np.split(order, np.sort(local.choice(np.arange(1, len(samples)), len(needs) - 1, replace=False)))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            labels = descend(A, LowRankKernel(local.standard_normal((m, 2))), divide)
        assert_array_equal(np.unique(labels), np.arange(len(A)))


# -- linkage ----------------------------------------------------------------------------------------------------------


def test_distances_in_feature_space():
    X = rng.standard_normal((15, 4))
    for operator in (DenseKernel(X @ X.T), LowRankKernel(X)):
        assert_allclose(pair_distances(operator), pdist(X), atol=1e-7)
    K = rbf_kernel(X)
    assert_allclose(pair_distances(DenseKernel(K)), np.sqrt(2 - 2 * K[np.triu_indices(15, 1)]))
    for i, j in ((0, 1), (2, 9), (13, 14)):
        bad = np.eye(15)
        bad[i, j] = bad[j, i] = 2
        with pytest.raises(ValueError, match=f"= -2 < 0 for samples {i} and {j}"):
            pair_distances(DenseKernel(bad))


@pytest.mark.parametrize("method", LINKAGES)
@pytest.mark.parametrize("c", [1, 2, 5, 30])
def test_flat_is_the_ordinary_cut(method, c):
    X = rng.standard_normal((30, 3))
    expected = fcluster(linkage(X, method), c, "maxclust")
    for kernel in ("linear", "precomputed"):
        model = TreeLinkage(f"flat:{c}", linkage=method, kernel=kernel).fit(X @ X.T if kernel == "precomputed" else X)
        assert same_partition(model.labels_, expected)
    assert same_partition(AgglomerativeClustering(c, linkage=method).fit_predict(X), expected)


def test_ward_is_exact_in_feature_space():
    """Heights of Ward's linkage: the k-means objective rises by height^2 / 2 at each merge."""
    X = rng.standard_normal((25, 3))
    model = TreeLinkage("flat:2", linkage="ward").fit(X)
    K = rbf_kernel(X, gamma=model.gamma_)
    scatter = [0.0]
    for c in range(24, 0, -1):
        labels = TreeLinkage(f"flat:{c}", linkage="ward").fit_predict(X)
        scatter.append(np.trace(K) - sum(K[np.ix_(labels == j, labels == j)].mean(axis=1).sum() for j in range(c)))
    assert_allclose(np.diff(scatter), model.linkage_matrix_[:, 2] ** 2 / 2, atol=1e-10)


def branches(Z):
    """Samples below every node of a dendrogram."""
    members = [frozenset([i]) for i in range(len(Z) + 1)]
    for a, b in Z[:, :2].astype(int):
        members.append(members[a] | members[b])
    return set(members)


@pytest.mark.parametrize("method", LINKAGES)
@pytest.mark.parametrize("spec", TREES)
def test_nodes_of_the_tree_are_branches_of_the_dendrogram(spec, method):
    """Where branches are large enough, the samples at a node of the tree are those below a node of the dendrogram, and
    siblings are the first cut of their parent's branch."""
    structure = as_structure(spec)
    X, _ = scrambled(spec)
    model = TreeLinkage(structure, linkage=method).fit(X)
    below = branches(model.linkage_matrix_)
    A, waiting = structure.kernel, [np.arange(structure.n_clusters)]
    while waiting:
        leaves = waiting.pop()
        inside = np.flatnonzero(np.isin(model.labels_, leaves))
        assert frozenset(inside.tolist()) in below
        if len(leaves) > 1:
            parts = children(A, leaves)
            part = np.array([next(k for k, p in enumerate(parts) if model.labels_[i] in p) for i in inside])
            K = rbf_kernel(X[inside], gamma=model.gamma_)
            own = TreeLinkage(f"flat:{len(parts)}", linkage=method, kernel="precomputed").fit_predict(K)
            assert same_partition(part, own)
            waiting += parts


@pytest.mark.parametrize("method", LINKAGES)
@pytest.mark.parametrize("spec", ["flat:4", "tree:3x3", "tree:2x2x2"])
def test_linkage_finds_blobs_on_a_tree(spec, method):
    X, truth = scrambled(spec)
    labels = TreeLinkage(spec, linkage=method).fit_predict(X)
    assert structured_accuracy(truth, labels, spec) == 1
    if spec != "flat:4":
        assert all(accuracy == 1 for accuracy in level_accuracies(truth, labels, spec))


def uneven_blobs():
    """Four groups on tree:(a,(b,(c,d))) in the plane, as far apart as the tree says."""
    centres = np.array([[0.0, 0], [60, 0], [80, 4], [80, -4]])
    truth = np.repeat(np.arange(4), 10)
    return centres[truth] + np.random.default_rng(3).normal(0, 0.3, (40, 2)), truth


@pytest.mark.parametrize("model", [TreeLinkage(linkage="ward"), HierarchicalKernelKMeans(random_state=0)], ids=str)
@pytest.mark.parametrize("spec", ["tree:(a,(b,(c,d)))", "tree:(((a,b),c),d)"])
def test_unequal_subtrees_are_matched_by_variance(model, spec):
    X, truth = uneven_blobs()
    if spec == "tree:(((a,b),c),d)":
        truth = 3 - truth
    shuffled = np.random.default_rng(0).permutation(len(X))
    labels = model.set_params(structure=spec, kernel="linear").fit_predict(X[shuffled])
    assert structured_accuracy(truth[shuffled], labels, spec) == 1


@pytest.mark.parametrize(
    "model", [TreeLinkage(linkage="complete"), HierarchicalKernelKMeans(random_state=0), XWSS(random_state=0)], ids=str
)
@pytest.mark.parametrize("spec", ["tree:3x3", "tree:(a,(b,(c,d)))"])
def test_the_order_of_samples_does_not_matter(model, spec):
    X, _ = scrambled(spec, noise=0.2)
    model = model.set_params(structure=spec)
    order = np.random.default_rng(1).permutation(len(X))
    assert_array_equal(model.fit_predict(X)[order], model.fit_predict(X[order]))


def test_an_outlier_takes_no_subtree():
    """Average linkage gives an outlier a branch of its own; one sample cannot fill three leaves, so it joins the
    nearest, and the ordinary cut is had back where it can."""
    X, truth = scrambled("tree:3x3", noise=0.02)
    far = X[truth == 0][0] * 30
    assert np.bincount(fcluster(linkage(np.vstack([X, far]), "average"), 3, "maxclust")).min() <= 1
    labels = TreeLinkage("tree:3x3", kernel="linear").fit_predict(np.vstack([X, far]))
    assert_array_equal(np.unique(labels), np.arange(9))
    for family in range(3):
        assert len(np.unique(labels[:-1][truth // 3 == family] // 3)) == 1
    assert labels[-1] // 3 == labels[:-1][truth == 0][0] // 3  # with its own family
    flat = TreeLinkage("flat:4", kernel="linear").fit_predict(np.vstack([X, far]))
    assert (flat == flat[-1]).sum() == 1  # a leaf needs one sample only: an outlier may have it


@pytest.mark.parametrize("m", [4, 5, 9])
def test_a_dendrogram_that_only_sheds_single_samples(m):
    """Each sample is farther than all before it: no cut leaves two branches of two, yet all leaves are filled."""
    X = 3.0 ** np.arange(m)[:, None]
    with pytest.warns(UserWarning, match="moved"):
        labels = TreeLinkage("tree:2x2", kernel="linear").fit_predict(X)
    assert_array_equal(np.unique(labels), np.arange(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(np.unique(TreeLinkage("tree:(a,(b,(c,d)))", kernel="linear").fit_predict(X)), np.arange(4))


# -- k-means, cuts, placement -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_at_depth_one_it_is_kernel_k_means(kernel):
    """Down to the seed, on noise, where another seed finds another optimum."""
    X = np.random.default_rng(0).standard_normal((200, 10))
    X = rbf_kernel(X) if kernel == "precomputed" else X
    found = []
    for seed in (1, 2):
        model = HierarchicalKernelKMeans("flat:9", kernel=kernel, n_init=1, random_state=seed)
        twin = KernelKMeans(9, kernel=kernel, n_init=1, random_state=seed)
        found.append(model.fit_predict(X))
        assert same_partition(found[-1], twin.fit_predict(X))
    assert not same_partition(*found)


def test_the_second_level_is_kernel_k_means_of_the_first():
    X = rng.standard_normal((80, 2))
    model = HierarchicalKernelKMeans("tree:2x3", random_state=0).fit(X)
    K = rbf_kernel(X, gamma=model.gamma_)
    assert same_partition(model.labels_ // 3, KernelKMeans(2, kernel="precomputed", random_state=1).fit_predict(K))
    for half in (model.labels_ < 3, model.labels_ >= 3):
        twin = KernelKMeans(3, kernel="precomputed", random_state=1).fit(K[np.ix_(half, half)])
        again = KernelKMeans(3, kernel="precomputed", init=model.labels_[half] % 3).fit(K[np.ix_(half, half)])
        assert_allclose(again.objective_, twin.objective_)
        assert same_partition(again.labels_, model.labels_[half])


@pytest.mark.parametrize("spec", ["flat:4", "tree:3x3", "tree:2x2x2"])
def test_k_means_down_a_tree_finds_blobs_on_it(spec):
    X, truth = scrambled(spec)
    for model in (HierarchicalKernelKMeans(spec, random_state=0), XWSS(spec, random_state=0)):
        assert structured_accuracy(truth, model.fit_predict(X), spec) == 1


def test_low_rank_down_a_tree():
    X, truth = scrambled("tree:3x3")
    model = HierarchicalKernelKMeans("tree:3x3", approximation="nystroem", n_components=30, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert structured_accuracy(truth, model.fit_predict(X), "tree:3x3") == 1


def test_normalised_cut_is_scikit_learns():
    X = rng.standard_normal((60, 2))
    for assign in ("cluster_qr", "discretize"):
        model = NormalizedCut(4, assign_labels=assign, random_state=0).fit(X)
        K = rbf_kernel(X, gamma=model.gamma_)
        assert same_partition(model.labels_, spectral_clustering(K, n_clusters=4, assign_labels=assign, random_state=0))
    spread = [np.mean((K.diagonal() - 2 * K[:, y].mean(1) + K[np.ix_(y, y)].mean())[y]) for y in of_each(model.labels_)]
    assert (np.diff(spread) < 0).all()


def of_each(labels):
    return [labels == j for j in np.unique(labels)]


def test_normalised_cut_of_a_linear_kernel_is_not_centred():
    X = np.abs(rng.standard_normal((40, 3)))
    labels = NormalizedCut(3, kernel="linear", random_state=0).fit_predict(X)
    expected = spectral_clustering(X @ X.T, n_clusters=3, assign_labels="cluster_qr", random_state=0)
    assert same_partition(labels, expected)


@pytest.mark.parametrize("spec", ["ring:10", "chain:7", "grid:2x3", "tree:2x2"])
def test_clusters_are_placed_in_order(spec):
    blobs = structured_blobs(spec, n_samples=100, noise=0.02, random_state=1)
    model = PlacedClustering(structure=spec, random_state=0).fit(blobs.data)
    assert structured_accuracy(blobs.target, model.labels_, spec) == 1
    assert model.placement_margin_ > 0.1


def test_the_placement_is_the_shortest_way_through_the_means():
    """By enumeration, squared steps; and it is the clusterer's partition."""
    X = np.random.default_rng(5).standard_normal((40, 2))
    model = PlacedClustering(structure="chain:6", random_state=0).fit(X)
    assert same_partition(model.labels_, model.clusterer_.labels_)
    means = np.array([X[model.labels_ == j].mean(axis=0) for j in range(6)])

    def way(order):
        return (np.diff(means[list(order)], axis=0) ** 2).sum()

    assert_allclose(way(range(6)), min(way(order) for order in permutations(range(6))))


@pytest.mark.parametrize(("offset", "scale"), [(0.0, 1e-100), (1e8, 1.0), (0.0, 1e153)])
def test_any_clusterer_in_any_unit_far_from_the_origin(offset, scale):
    """AgglomerativeClustering takes the structure's number of clusters."""
    blobs = structured_blobs("ring:6", n_samples=60, noise=0.02, random_state=2)
    X = (blobs.data + offset) * scale
    labels = PlacedClustering(AgglomerativeClustering(linkage="complete"), structure="ring:6").fit_predict(X)
    assert structured_accuracy(blobs.target, labels, "ring:6") == 1


def test_the_given_clusterer_is_not_touched():
    given = KMeans(3, n_init=2)
    model = PlacedClustering(given, structure="chain:4", random_state=0).fit(rng.standard_normal((30, 2)))
    assert given.n_clusters == 3 and not hasattr(given, "labels_") and model.clusterer_.n_clusters == 4


# -- XWSS -------------------------------------------------------------------------------------------------------------


def ridge_scores(K, labels, A, Delta, C):
    """The docstring's problem minimised directly over w in the features of K and A: f = <w, phi(x) (x) lambda(y)>."""
    values, vectors = np.linalg.eigh(K - K.mean(0) - K.mean(1)[:, None] + K.mean())
    phi = vectors * np.sqrt(np.maximum(values, 0))
    values, vectors = np.linalg.eigh(A)
    lam = vectors * np.sqrt(np.maximum(values, 0))
    rows = []
    for i, y in enumerate(labels):
        for z in range(len(A)):
            if z != y:
                rows.append(np.sqrt(2 * C * Delta[y, z]) * np.append(np.outer(phi[i], lam[y] - lam[z]).ravel(), 1.0))
    rows = np.array(rows)
    features, target = rows[:, :-1], rows[:, -1]
    w = np.linalg.solve(np.eye(features.shape[1]) + features.T @ features, features.T @ target)
    return phi @ w.reshape(phi.shape[1], lam.shape[1]) @ lam.T


@pytest.mark.parametrize("loss", ["zero-one", "structure"])
@pytest.mark.parametrize("spec", ["tree:2x2", "chain:4", "ring:5"])
def test_labels_are_their_own_prediction(spec, loss):
    """A fixed point: the predictor trained on the labels found, by other means, predicts them."""
    X = np.random.default_rng(7).standard_normal((30, 2))
    structure = as_structure(spec)
    model = XWSS(spec, loss=loss, C=1.0, init="random", random_state=0).fit(X)
    scores = ridge_scores(
        rbf_kernel(X, gamma=model.gamma_), model.labels_, structure.kernel, loss_matrix(loss, structure), 1.0
    )
    predicted = scores.argmax(axis=1)
    alone = np.bincount(model.labels_)[model.labels_] == 1
    assert_array_equal(predicted[~alone], model.labels_[~alone])
    assert model.n_iter_ > 1
    again = XWSS(spec, loss=loss, C=1.0, init=model.labels_).fit(X)
    assert again.n_iter_ == 1
    assert_array_equal(again.labels_, model.labels_)


def test_one_round_is_the_prediction():
    """With the structure in it: without, it would be another."""
    X = np.random.default_rng(8).standard_normal((60, 2))
    structure = as_structure("chain:5")
    start = np.random.default_rng(0).permutation(np.arange(60) % 5)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = XWSS(structure, init=start, max_iter=1).fit(X)
    K = rbf_kernel(X, gamma=model.gamma_)
    predicted = ridge_scores(K, start, structure.kernel, structure.loss, 0.1).argmax(axis=1)
    assert_array_equal(model.labels_, predicted)
    assert (predicted != ridge_scores(K, start, np.eye(5), structure.loss, 0.1).argmax(axis=1)).any()


def test_places_keep_a_sample():
    scores = np.array([[3.0, 1, 0], [3, 2, 0], [3, 0, 1], [3, 0, 0.5]])
    assert_array_equal(relabel(scores, np.array([1, 1, 2, 2])), [0, 1, 2, 0])
    assert_array_equal(relabel(np.zeros((4, 3)), np.array([1, 0, 2, 2])), [1, 0, 2, 2])  # ties stay
    swapped = np.array([[0.0, 1, 2], [1, 0, 2], [1, 2, 0]])  # everyone wants to leave; places fill in turn
    assert_array_equal(np.sort(relabel(swapped, np.arange(3))), np.arange(3))


def test_it_ends_on_noise():
    """Labels at random on data without groups: a fixed point, a cycle or the limit, every place taken."""
    for seed in range(6):
        X = np.random.default_rng(seed).standard_normal((25, 8))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = XWSS("ring:5", init="random", C=0.01, random_state=seed, max_iter=30).fit_predict(X)
        assert_array_equal(np.unique(labels), np.arange(5))
