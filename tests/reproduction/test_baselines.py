"""Rivals against scipy and scikit-learn, on data whose tree or order is known, and where a cut cannot be had."""

import warnings
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.cluster import spectral_clustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from kernelclust import KernelKMeans
from kernelclust.datasets import structured_blobs
from kernelclust.kernels import DenseKernel, LowRankKernel
from kernelclust.metrics import level_accuracies, structured_accuracy
from kernelclust.objectives import loss_matrix
from kernelclust.structures import Tree, as_structure
from reproduction.baselines import hierarchical_kmeans, normalized_cut, tree_linkage, xwss
from reproduction.baselines._tree import (
    check_tree,
    children,
    descend,
    distances_to_means,
    is_enough,
    refill,
    settle,
    variances,
)
from reproduction.baselines.linkage import pair_distances
from reproduction.baselines.xwss import relabel

LINKAGES = ["average", "complete", "ward"]
TREES = ["flat:4", "tree:2x3", "tree:3x3", "tree:2x2x2", "tree:(a,(b,(c,d)))", "tree:((a,b,c),(d,e),f)"]
rng = np.random.default_rng(0)


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


def scrambled(structure):
    """A kernel (90, 90) of the structure's clusters, and the true places."""
    blobs = structured_blobs(structure, n_samples=90, noise=0.05, random_state=0)
    X = blobs.data
    return rbf_kernel(X, gamma=1 / (2 * X.var(axis=0).sum())), blobs.target


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


def test_distances_to_means_and_variances():
    X = rng.standard_normal((12, 3))
    groups = [np.array([0, 3, 4]), np.array([7]), np.array([1, 2, 5, 8])]
    means = np.array([X[group].mean(axis=0) for group in groups])
    operator = DenseKernel(X @ X.T)
    D = ((X[:, None] - means) ** 2).sum(axis=2)
    assert_allclose(distances_to_means(operator, groups), D, atol=1e-12)
    assert_allclose(variances(operator, groups), [D[group, j].mean() for j, group in enumerate(groups)], atol=1e-12)


def test_larger_subtrees_get_larger_variances_as_far_as_samples_go():
    X = np.concatenate([[0, 6], [100, 101, 102, 103], [200, 203, 206, 209, 212]])[:, None].astype(float)
    operator = DenseKernel(X @ X.T)
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
        found = refill(DenseKernel(X @ X.T), groups, np.array([1, 3, 1]))
    assert [group.tolist() for group in found] == [[0, 1], [2, 3, 4], [5]]
    with pytest.warns(UserWarning, match="1 sample"):  # an empty group takes the sample that fits least where it is
        found = refill(
            DenseKernel(X @ X.T), [np.arange(5), np.array([5]), np.array([], dtype=int)], np.ones(3, dtype=int)
        )
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
            labels = descend(A, DenseKernel(np.diag(local.uniform(1, 2, m))), divide)
        assert_array_equal(np.unique(labels), np.arange(len(A)))


# -- linkage ----------------------------------------------------------------------------------------------------------


def test_distances_in_feature_space():
    X = rng.standard_normal((15, 4))
    for operator in (DenseKernel(X @ X.T), LowRankKernel(X)):
        assert_allclose(pair_distances(operator), pdist(X), atol=1e-7)
    for i, j in ((0, 1), (2, 9), (13, 14)):
        bad = np.eye(15)
        bad[i, j] = bad[j, i] = 2
        with pytest.raises(ValueError, match=f"= -2 < 0 for samples {i} and {j}"):
            pair_distances(DenseKernel(bad))


@pytest.mark.parametrize("method", LINKAGES)
@pytest.mark.parametrize("c", [1, 2, 5, 30])
def test_flat_is_the_ordinary_cut(method, c):
    X = rng.standard_normal((30, 3))
    expected = fcluster(linkage(X, method), c, "maxclust") if c < 30 else np.arange(30)  # SciPy 1.12 merges two of 30
    assert same_partition(tree_linkage(X @ X.T, f"flat:{c}", method), expected)


def test_ward_is_exact_in_feature_space():
    """Heights of Ward's linkage: the k-means objective rises by height^2 / 2 at each merge."""
    K = rbf_kernel(rng.standard_normal((25, 3)), gamma=0.2)
    heights = linkage(pair_distances(DenseKernel(K)), "ward")[:, 2]
    scatter = [0.0]
    for c in range(24, 0, -1):
        labels = tree_linkage(K, f"flat:{c}", "ward")
        scatter.append(np.trace(K) - sum(K[np.ix_(labels == j, labels == j)].mean(axis=1).sum() for j in range(c)))
    assert_allclose(np.diff(scatter), heights**2 / 2, atol=1e-10)


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
    K, _ = scrambled(spec)
    labels = tree_linkage(K, structure, method)
    below = branches(linkage(pair_distances(DenseKernel(K)), method))
    A, waiting = structure.kernel, [np.arange(structure.n_clusters)]
    while waiting:
        leaves = waiting.pop()
        inside = np.flatnonzero(np.isin(labels, leaves))
        assert frozenset(inside.tolist()) in below
        if len(leaves) > 1:
            parts = children(A, leaves)
            part = np.array([next(k for k, p in enumerate(parts) if labels[i] in p) for i in inside])
            assert same_partition(part, tree_linkage(K[np.ix_(inside, inside)], f"flat:{len(parts)}", method))
            waiting += parts


WAYS = {
    "average": tree_linkage,
    "complete": lambda K, structure: tree_linkage(K, structure, "complete"),
    "ward": lambda K, structure: tree_linkage(K, structure, "ward"),
    "k-means": lambda K, structure: hierarchical_kmeans(K, structure, random_state=0),
    "xwss": lambda K, structure: xwss(K, structure, [hierarchical_kmeans(K, structure, random_state=0)]),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@every_way
@pytest.mark.parametrize("spec", ["flat:4", "tree:3x3", "tree:2x2x2"])
def test_blobs_on_a_tree_are_found_in_any_order(spec, way):
    K, truth = scrambled(spec)
    labels = way(K, spec)
    assert structured_accuracy(truth, labels, spec) == 1
    if spec != "flat:4":
        assert all(accuracy == 1 for accuracy in level_accuracies(truth, labels, spec))
    order = np.random.default_rng(1).permutation(len(K))
    assert_array_equal(labels[order], way(K[np.ix_(order, order)], spec))


def uneven_blobs():
    """Four groups on tree:(a,(b,(c,d))) in the plane, as far apart as the tree says."""
    centres = np.array([[0.0, 0], [60, 0], [80, 4], [80, -4]])
    truth = np.repeat(np.arange(4), 10)
    return centres[truth] + np.random.default_rng(3).normal(0, 0.3, (40, 2)), truth


@pytest.mark.parametrize("way", ["ward", "k-means"])
@pytest.mark.parametrize("spec", ["tree:(a,(b,(c,d)))", "tree:(((a,b),c),d)"])
def test_unequal_subtrees_are_matched_by_variance(way, spec):
    X, truth = uneven_blobs()
    if spec == "tree:(((a,b),c),d)":
        truth = 3 - truth
    shuffled = np.random.default_rng(0).permutation(len(X))
    labels = WAYS[way](X[shuffled] @ X[shuffled].T, spec)
    assert structured_accuracy(truth[shuffled], labels, spec) == 1


def test_an_outlier_takes_no_subtree():
    """Average linkage gives an outlier a branch of its own; one sample cannot fill three leaves, so it joins the
    nearest, and the ordinary cut is had back where it can."""
    blobs = structured_blobs("tree:3x3", n_samples=90, noise=0.02, random_state=0)
    X, truth = blobs.data, blobs.target
    X = np.vstack([X, X[truth == 0][0] * 30])
    assert np.bincount(fcluster(linkage(X, "average"), 3, "maxclust")).min() <= 1
    labels = tree_linkage(X @ X.T, "tree:3x3")
    assert_array_equal(np.unique(labels), np.arange(9))
    for family in range(3):
        assert len(np.unique(labels[:-1][truth // 3 == family] // 3)) == 1
    assert labels[-1] // 3 == labels[:-1][truth == 0][0] // 3  # with its own family
    flat = tree_linkage(X @ X.T, "flat:4")
    assert (flat == flat[-1]).sum() == 1  # a leaf needs one sample only: an outlier may have it


@pytest.mark.parametrize("m", [4, 5, 9])
def test_a_dendrogram_that_only_sheds_single_samples(m):
    """Each sample is farther than all before it: no cut leaves two branches of two, yet all leaves are filled."""
    x = 3.0 ** np.arange(m)
    with pytest.warns(UserWarning, match="moved"):
        labels = tree_linkage(np.outer(x, x), "tree:2x2")
    assert_array_equal(np.unique(labels), np.arange(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(np.unique(tree_linkage(np.outer(x, x), "tree:(a,(b,(c,d)))")), np.arange(4))


# -- k-means and cuts -------------------------------------------------------------------------------------------------


def test_at_depth_one_it_is_kernel_k_means():
    """Down to the seed, on noise, where another seed finds another optimum."""
    K = rbf_kernel(np.random.default_rng(0).standard_normal((200, 10)))
    found = []
    for seed in (1, 2):
        found.append(hierarchical_kmeans(K, "flat:9", n_init=1, random_state=seed))
        twin = KernelKMeans(9, kernel="precomputed", n_init=1, random_state=seed)
        assert same_partition(found[-1], twin.fit_predict(K))
    assert not same_partition(*found)


def test_the_second_level_is_kernel_k_means_of_the_first():
    K = rbf_kernel(rng.standard_normal((80, 2)), gamma=0.25)
    labels = hierarchical_kmeans(K, "tree:2x3", random_state=0)
    assert same_partition(labels // 3, KernelKMeans(2, kernel="precomputed", random_state=1).fit_predict(K))
    for half in (labels < 3, labels >= 3):
        twin = KernelKMeans(3, kernel="precomputed", random_state=1).fit(K[np.ix_(half, half)])
        again = KernelKMeans(3, kernel="precomputed", init=labels[half] % 3).fit(K[np.ix_(half, half)])
        assert_allclose(again.objective_, twin.objective_)
        assert same_partition(again.labels_, labels[half])


def test_normalised_cut_is_scikit_learns():
    for m in (600, 60):  # scikit-learn's own is ARPACK at either size
        K = rbf_kernel(rng.standard_normal((m, 2)), gamma=0.25)
        for assign in ("cluster_qr", "discretize"):
            labels = normalized_cut(K, 4, assign=assign, random_state=0)
            assert same_partition(labels, spectral_clustering(K, n_clusters=4, assign_labels=assign, random_state=0))
    each = [labels == j for j in range(4)]
    spread = [np.mean((K.diagonal() - 2 * K[:, y].mean(1) + K[np.ix_(y, y)].mean())[y]) for y in each]
    assert (np.diff(spread) < 0).all()
    with pytest.raises(ValueError, match="not negative"):
        normalized_cut(K - 0.5, 4)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("assign", ["cluster_qr", "discretize"])
def test_cuts_of_graphs_in_pieces_and_of_tiny_similarities(assign):
    """A cut has no unit, takes every label, and is the same for the same seed where the graph falls into pieces."""
    truth = np.arange(12) % 3
    pieces = (truth[:, None] == truth).astype(float)
    for K in (pieces, 1e-320 * pieces, 1e300 * pieces):
        assert same_partition(normalized_cut(K, 3, assign=assign, random_state=0), truth)
    for K in (np.zeros((7, 7)), np.eye(13), np.diag(np.arange(6.0))):
        labels = normalized_cut(K, 3, assign=assign, random_state=0)
        assert set(labels) == {0, 1, 2}
        assert_array_equal(normalized_cut(K, 3, assign=assign, random_state=0), labels)


# -- xwss -------------------------------------------------------------------------------------------------------------


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
    K = rbf_kernel(X, gamma=0.25)
    start = np.random.RandomState(0).permutation(np.arange(30) % structure.n_clusters)
    labels = xwss(K, spec, [start], loss=loss, C=1.0)
    scores = ridge_scores(K, labels, structure.kernel, loss_matrix(loss, structure), 1.0)
    predicted = scores.argmax(axis=1)
    alone = np.bincount(labels)[labels] == 1
    assert_array_equal(predicted[~alone], labels[~alone])
    assert_array_equal(xwss(K, spec, [labels], loss=loss, C=1.0, max_iter=1), labels)


def test_the_start_whose_regression_fits_best_wins():
    """The least objective of eq. (3), by other means, over the labels that every start ends in."""
    structure = as_structure("ring:4")
    K, Delta = rbf_kernel(np.random.default_rng(7).standard_normal((24, 2)), gamma=0.5), structure.loss
    starts = [np.random.RandomState(seed).permutation(np.arange(24) % 4) for seed in range(6)]
    ends = [xwss(K, structure, [start], C=1.0) for start in starts]

    def objective(labels):
        f = ridge_scores(K, labels, structure.kernel, Delta, 1.0)
        slack = sum(
            Delta[y, z] * (1 - f[i, y] + f[i, z]) ** 2 for i, y in enumerate(labels) for z in range(4) if z != y
        )
        centred = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
        W = np.linalg.pinv(centred, rcond=1e-10) @ f @ np.linalg.pinv(structure.kernel)  # f = K W A
        return 0.5 * np.trace(W.T @ f) + slack

    values = [objective(labels) for labels in ends]
    assert len({labels.tobytes() for labels in ends}) > 1
    assert_array_equal(xwss(K, structure, starts, C=1.0), ends[int(np.argmin(values))])


def test_one_round_is_the_prediction():
    """With the structure in it: without, it would be another."""
    X = np.random.default_rng(8).standard_normal((60, 2))
    structure = as_structure("chain:5")
    start = np.random.default_rng(0).permutation(np.arange(60) % 5)
    K = rbf_kernel(X, gamma=0.25)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        labels = xwss(K, structure, [start], max_iter=1)
    predicted = ridge_scores(K, start, structure.kernel, structure.loss, 0.1).argmax(axis=1)
    assert_array_equal(labels, predicted)
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
            start = np.random.RandomState(seed).permutation(np.arange(25) % 5)
            labels = xwss(rbf_kernel(X), "ring:5", [start], C=0.01, max_iter=30)
        assert_array_equal(np.unique(labels), np.arange(5))
