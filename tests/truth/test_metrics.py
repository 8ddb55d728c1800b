"""Scores against their definitions, against scikit-learn, and against each other."""

from itertools import combinations, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelclust.metrics import (
    clustering_accuracy,
    clustering_distance,
    hsic,
    hsic_test,
    level_accuracies,
    pair_f_score,
    purity_score,
    structured_accuracy,
    structured_loss,
)
from kernelclust.structures import Custom, Flat, as_structure

STRUCTURES = ["flat:5", "chain:5", "ring:5", "ring:4", "grid:2x3", "tree:2x3", "tree:(A,(B,(C,D)))", "flat:2*chain:3"]


def labels(n, c, seed):
    return np.random.default_rng(seed).integers(0, c, n)


def noisy(y, c, seed, share=0.3):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(y)) < share, rng.integers(0, c, len(y)), y)


def kernel(m, seed):
    X = np.random.default_rng(seed).standard_normal((m, 3))
    return X @ X.T + 2.0


def relabellings(structure):
    A, Delta = structure.kernel, structure.loss
    for order in permutations(range(structure.n_clusters)):
        p = np.array(order)
        if np.allclose(A[np.ix_(p, p)], A) and np.allclose(Delta[np.ix_(p, p)], Delta):
            yield p


# ---- accuracy and purity


@pytest.mark.parametrize("seed", range(5))
def test_accuracy_is_the_best_of_all_namings(seed):
    y, z = labels(40, 4, seed), labels(40, 4, seed + 100)
    best = max(np.mean(y == np.array(p)[z]) for p in permutations(range(4)))
    assert_allclose(clustering_accuracy(y, z), best)
    assert_allclose(clustering_accuracy(y, z), structured_accuracy(y, z, "flat:4"))


@pytest.mark.parametrize(("true", "pred"), [(2, 4), (4, 2), (3, 1), (1, 3)])
def test_accuracy_with_unequal_numbers(true, pred):
    y, z = labels(30, true, 0), labels(30, pred, 1)
    names = permutations(range(max(true, pred)))
    assert_allclose(clustering_accuracy(y, z), max(np.mean(y == np.array(p)[z]) for p in names))


def test_names_do_not_matter():
    y, z = labels(30, 3, 0), labels(30, 3, 1)
    words = np.array(["x", "y", "z"])[y]
    far = np.array([-7, 1000, 3])[z]
    for score in (
        clustering_accuracy,
        purity_score,
        pair_f_score,
        clustering_distance,
    ):
        assert_allclose(score(words, far), score(y, z))
        assert_allclose(score(words.tolist(), far.tolist()), score(y, z))


def test_purity_by_hand():
    assert_allclose(purity_score([0, 0, 1, 1, 2], [0, 0, 0, 1, 1]), (2 + 1) / 5)
    y, z = labels(60, 4, 2), labels(60, 4, 3)
    assert_allclose(purity_score(y, z), sum(np.bincount(y[z == j]).max() for j in range(4)) / 60)
    assert purity_score(y, np.arange(60)) == 1.0
    assert purity_score(y, z) >= clustering_accuracy(y, z)


@pytest.mark.parametrize("score", [clustering_accuracy, purity_score])
def test_whole_weights_are_repetitions(score):
    y, z = labels(30, 3, 0), labels(30, 3, 1)
    weight = np.random.default_rng(2).integers(0, 4, 30)
    assert_allclose(score(y, z, sample_weight=weight), score(np.repeat(y, weight), np.repeat(z, weight)))


# ---- scores that know the structure


@pytest.mark.parametrize("text", STRUCTURES)
def test_structured_scores_are_the_best_of_all_relabellings(text):
    structure = as_structure(text)
    c, Delta = structure.n_clusters, structure.loss
    group = list(relabellings(structure))
    for seed in range(4):
        y = labels(25, c, seed)
        z = noisy(y, c, seed) if seed % 2 else labels(25, c, seed + 50)
        assert_allclose(structured_accuracy(y, z, text), max(np.mean(y == p[z]) for p in group))
        assert_allclose(structured_loss(y, z, structure), min(Delta[y, p[z]].mean() for p in group))


@pytest.mark.parametrize("text", STRUCTURES)
def test_structured_scores_do_not_see_relabellings(text):
    structure = as_structure(text)
    c = structure.n_clusters
    y = labels(40, c, 0)
    z = noisy(y, c, 1)
    for p in list(relabellings(structure))[:24]:
        assert structured_accuracy(y, p[y], structure) == 1.0
        assert structured_loss(y, p[y], structure) == 0.0
        assert_allclose(structured_accuracy(y, p[z], structure), structured_accuracy(y, z, structure))
        assert_allclose(structured_loss(p[y], z, structure), structured_loss(y, z, structure))


@pytest.mark.parametrize("text", STRUCTURES)
def test_structure_can_only_cost(text):
    c = as_structure(text).n_clusters
    y, z = labels(40, c, 0), labels(40, c, 1)
    assert structured_accuracy(y, z, text) <= clustering_accuracy(y, z) + 1e-12


def test_flat_loss_is_the_error_rate():
    y, z = labels(50, 6, 0), labels(50, 6, 1)
    assert_allclose(structured_loss(y, z, "flat:6"), 1 - clustering_accuracy(y, z))


def test_right_clusters_at_wrong_places_are_seen():
    y = np.repeat(np.arange(5), 4)
    shuffled = np.array([2, 0, 4, 1, 3])[y]
    assert clustering_accuracy(y, shuffled) == 1.0
    assert structured_accuracy(y, shuffled, "chain:5") < 0.5
    assert structured_loss(y, shuffled, "chain:5") > 1.0


@pytest.mark.parametrize("score", [structured_accuracy, structured_loss, level_accuracies])
def test_whole_weights_are_repetitions_in_a_structure(score):
    y, z = labels(30, 6, 0), labels(30, 6, 1)
    weight = np.random.default_rng(2).integers(0, 4, 30)
    weighted = score(y, z, "tree:2x3", sample_weight=weight)
    assert_allclose(weighted, score(np.repeat(y, weight), np.repeat(z, weight), "tree:2x3"))


@pytest.mark.parametrize("text", ["tree:3x3", "tree:2x2x3", "tree:5", "tree:((A,B,C),(D,E),(F))"])
def test_tree_loss_is_the_sum_of_errors_over_levels(text):
    c = as_structure(text).n_clusters
    for seed in range(6):
        y = labels(60, c, seed)
        z = noisy(y, c, seed, share=0.2 * seed)[
            np.random.default_rng(seed).permutation(60) if seed == 5 else slice(None)
        ]
        accuracies = level_accuracies(y, z, text)
        assert_allclose(structured_loss(y, z, text), (1 - accuracies).sum())
        assert np.all(np.diff(accuracies) <= 1e-12)  # finer is never easier


def test_level_accuracies_by_hand():
    y = [0, 0, 1, 2, 3, 3, 4, 5]
    z = [0, 0, 0, 3, 3, 3, 5, 0]
    assert_allclose(level_accuracies(y, z, "tree:2x3"), [6 / 8, 5 / 8])
    assert_allclose(structured_loss(y, z, "tree:2x3"), 5 / 8)


def test_finest_level_of_an_uneven_tree():
    tree = as_structure("tree:(A,(B,(C,D)))")
    y, z = labels(40, 4, 0), noisy(labels(40, 4, 0), 4, 1)
    accuracies = level_accuracies(y, z, tree)
    assert accuracies.shape == (3,)
    assert accuracies[-1] <= structured_accuracy(y, z, tree) + 1e-12


def test_structure_may_be_a_matrix():
    y, z = labels(40, 4, 0), labels(40, 4, 1)
    assert_allclose(structured_accuracy(y, z, np.eye(4)), clustering_accuracy(y, z))
    assert_allclose(
        structured_loss(y, z, Custom(np.eye(4), loss=3 * Flat(4).loss)), 3 * structured_loss(y, z, "flat:4")
    )


@pytest.mark.parametrize(
    ("y", "z", "structure", "message"),
    [
        ([0, 1, 5], [0, 1, 2], "chain:5", "y_true .* nodes of 'chain:5', integers from 0 to 4; got .* 0 to 5"),
        ([0, 1, 2], [0, -1, 2], "chain:5", "y_pred must hold nodes of 'chain:5'.* from -1 to 2"),
        ([0, 1, 2], [0, 0.5, 2], "chain:5", "y_pred must hold .*Number your labels in that order first"),
        (["a", "b"], [0, 1], "chain:5", "y_true must hold .*got <U1 values such as"),
        (["0", "1"], [0, 1], "chain:5", "y_true must hold .*got <U1 values such as"),
        ([0, 1], [0, 1, 2], "chain:5", "inconsistent numbers of samples"),
        ([[0, 1]], [0, 1], "chain:5", r"y_true must hold one value per sample.*got shape \(1, 2\)"),
        ([], [], "chain:5", "0 sample"),
        ([0.0, np.nan], [0, 1], "chain:5", "y_true contains NaN"),
        ([0, 1], [0, 1], "chian:5", "Did you mean 'chain'"),
        ([0, 1], [0, 1], "chain", "needs a number of clusters"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:elementwise comparison")
def test_structured_scores_refuse(y, z, structure, message):
    for score in (structured_accuracy, structured_loss):
        with pytest.raises(ValueError, match=message):
            score(y, z, structure)


def test_whole_floats_are_labels():
    assert structured_accuracy([0.0, 1.0], np.array([1, 0], dtype=object), "chain:2") == 1.0


def test_levels_need_a_tree():
    with pytest.raises(ValueError, match="needs a structure with levels, like 'tree:3x3'; 'ring:4' has none"):
        level_accuracies([0, 1], [0, 1], "ring:4")


@pytest.mark.parametrize("weight", [[1, -1, 1], [0, 0, 0], [1, np.nan, 1], [[1, 1, 1]]])
def test_bad_weights(weight):
    with pytest.raises(ValueError, match=r"(?i)sample.weight"):
        clustering_accuracy([0, 1, 1], [0, 1, 1], sample_weight=weight)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clustering_accuracy([0, 1, 1], [0, 1, 1], sample_weight=[1, 1])


@pytest.mark.parametrize("score", [clustering_accuracy, pair_f_score, clustering_distance])
def test_lengths_must_agree(score):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        score([0, 1], [0, 1, 1])


# ---- pairs


def count_pairs(y, z):
    both = true_only = pred_only = 0
    for i, j in combinations(range(len(y)), 2):
        true, pred = y[i] == y[j], z[i] == z[j]
        both += true and pred
        true_only += true and not pred
        pred_only += pred and not true
    return both, true_only, pred_only


@pytest.mark.parametrize("seed", range(4))
def test_pair_scores_by_counting_pairs(seed):
    y, z = labels(25, 3, seed), labels(25, 4, seed + 10)
    both, true_only, pred_only = count_pairs(y, z)
    precision, recall = both / (both + pred_only), both / (both + true_only)
    for beta in (0.5, 1.0, 2.0):
        expected = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
        assert_allclose(pair_f_score(y, z, beta), expected)
    assert_allclose(pair_f_score(y, z), 2 * both / (2 * both + true_only + pred_only))


def test_beta_above_one_weighs_recall():
    y, split, merged = [0, 0, 0, 0, 1, 1], [0, 0, 2, 2, 1, 1], [0, 0, 0, 0, 0, 0]
    assert pair_f_score(y, split, 3.0) < pair_f_score(y, split, 1.0)  # perfect precision, poor recall
    assert pair_f_score(y, merged, 3.0) > pair_f_score(y, merged, 1.0)  # perfect recall, poor precision


def test_pair_scores_at_the_ends():
    alone, together = np.arange(4), np.zeros(4)
    assert pair_f_score(alone, alone) == pair_f_score(together, together) == 1.0
    assert pair_f_score(alone, together) == pair_f_score(together, alone) == 0.0
    assert pair_f_score([3], [8]) == 1.0


@pytest.mark.parametrize("beta", [0, -1.0, np.inf, np.nan, "1"])
def test_bad_beta(beta):
    with pytest.raises(ValueError, match="beta must be a finite number above 0"):
        pair_f_score([0, 1], [0, 1], beta)


# ---- distance


def partition_matrix(y):
    P = (y[:, None] == np.unique(y)[None, :]).astype(float)
    P /= np.sqrt(P.sum(axis=0))
    return P @ P.T


@pytest.mark.parametrize(("c1", "c2"), [(3, 3), (2, 5), (1, 4), (30, 3)])
def test_distance_is_the_norm_of_the_difference(c1, c2):
    y, z = labels(30, c1, 0), labels(30, c2, 1)
    expected = np.linalg.norm(partition_matrix(y) - partition_matrix(z)) ** 2
    assert_allclose(clustering_distance(y, z), expected)
    assert_allclose(clustering_distance(z, y), expected)
    assert_allclose(clustering_distance(y, y + 7), 0.0, atol=1e-12)


def test_distance_does_not_see_centring():
    y, z = labels(30, 3, 0), labels(30, 4, 1)
    H = np.eye(30) - 1 / 30
    centred = H @ (partition_matrix(y) - partition_matrix(z)) @ H
    assert_allclose(clustering_distance(y, z), np.linalg.norm(centred) ** 2)


# ---- HSIC


def biased_by_definition(K, L):
    m = len(K)
    H = np.eye(m) - np.ones((m, m)) / m
    return np.trace(H @ K @ H @ L) / (m - 1) ** 2


def unbiased_by_definition(K, L):
    """The U-statistic itself: the mean over all ordered quadruples of different samples."""
    quadruples = np.array(list(permutations(range(len(K)), 4)))
    i, j, q, r = quadruples.T
    return np.mean(K[i, j] * (L[i, j] + L[q, r] - 2 * L[i, q]))


@pytest.mark.parametrize("m", [2, 3, 8, 40])
def test_biased_hsic_is_the_trace(m):
    K, L = kernel(m, 0), kernel(m, 1)
    assert_allclose(hsic(K, L), biased_by_definition(K, L))
    assert_allclose(hsic(L, K), hsic(K, L))
    assert hsic(K, L) >= 0


@pytest.mark.parametrize("m", [4, 5, 7])
def test_unbiased_hsic_is_the_u_statistic(m):
    K, L = kernel(m, 0), kernel(m, 1)
    assert_allclose(hsic(K, L, "unbiased"), unbiased_by_definition(K, L))
    k, l = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
    printed = np.trace(k @ l) + k.sum() * l.sum() / ((m - 1) * (m - 2)) - 2 * (k @ l).sum() / (m - 2)
    assert_allclose(hsic(K, L, "unbiased"), printed / (m * (m - 3)))


@pytest.mark.parametrize("m", [4, 5, 6])
def test_unbiased_hsic_vanishes_on_average_over_all_orders(m):
    # sums over permutations: sK sL (1 / (m (m-1)) + 1 / ((m-1)(m-2)) - 2 / (m (m-2))) = 0
    K, L = kernel(m, 0), kernel(m, 1)
    orders = [np.array(p) for p in permutations(range(m))]
    values = [hsic(K, L[np.ix_(p, p)], "unbiased") for p in orders]
    assert_allclose(np.mean(values), 0.0, atol=1e-12)
    assert np.std(values) > 1e-3
    assert np.mean([hsic(K, L[np.ix_(p, p)]) for p in orders]) > 1e-3  # which is why the other is called biased


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_hsic_does_not_see_constants(estimator):
    K, L = kernel(20, 0), kernel(20, 1)
    assert_allclose(hsic(K + 1e6, L - 1e3, estimator), hsic(K, L, estimator), rtol=1e-6)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_hsic_in_blocks_is_hsic(estimator, monkeypatch):
    K, L = kernel(17, 0), kernel(17, 1)
    whole = hsic(K, L, estimator)
    monkeypatch.setattr("kernelclust.metrics.dependence.BLOCK", 5 * 17)
    assert_allclose(hsic(K, L, estimator), whole)


def test_hsic_of_a_partition_is_the_clustering_objective():
    y, K = labels(30, 4, 0), kernel(30, 1)
    Pi = np.eye(4)[y]
    A = as_structure("chain:4").kernel
    H = np.eye(30) - 1 / 30
    assert_allclose(hsic(K, Pi @ A @ Pi.T), np.trace(Pi.T @ H @ K @ H @ Pi @ A) / 29**2)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_permutation_values_are_hsic_values(estimator):
    K, L = kernel(9, 0), kernel(9, 1)
    result = hsic_test(K, L, n_permutations=20, random_state=3, estimator=estimator)
    rng = np.random.RandomState(3)
    orders = [rng.permutation(9) for _ in range(20)]
    expected = [hsic(K, L[np.ix_(p, p)], estimator) for p in orders]
    assert_allclose(result.null, expected)
    assert_allclose(result.statistic, hsic(K, L, estimator))
    assert_allclose(result.p_value, (1 + np.sum(np.array(expected) >= result.statistic)) / 21)


def test_permutation_test_is_reproducible_and_finds_dependence():
    x = np.linspace(0, 1, 30)
    K = np.exp(-10 * (x[:, None] - x) ** 2)
    first, second = (hsic_test(K, K, 199, random_state=0) for _ in range(2))
    assert first.p_value == second.p_value == 1 / 200
    assert_allclose(first.null, second.null, rtol=0)


def test_ties_count_against_dependence():
    y = np.array([0, 0, 1, 1])
    L = (y[:, None] == y).astype(float)
    result = hsic_test(L * 0.1, L, 300, random_state=0)  # a third of all orders gives the same labelling
    assert 0.25 < result.p_value < 0.42
    constant = hsic_test(np.ones((6, 6)), kernel(6, 0), 50, random_state=0)
    assert constant.p_value == 1.0


def test_permutation_test_keeps_its_level():
    # under independence P(p <= a) <= a; 400 draws at a = 0.1: four standard deviations are 0.06
    rng = np.random.default_rng(0)
    p_values = []
    for draw in range(400):
        x, z = rng.standard_normal((2, 12, 1))
        p_values.append(hsic_test(x * x.T, z * z.T, 39, random_state=draw).p_value)
    p_values = np.array(p_values)
    for level in (0.1, 0.5):
        spread = 4 * np.sqrt(level * (1 - level) / 400)
        assert abs(np.mean(p_values <= level + 1e-12) - level) < spread


@pytest.mark.parametrize(
    ("K", "L", "options", "message"),
    [
        (np.ones((3, 2)), np.eye(3), {}, r"K must be a square .* got shape \(3, 2\); hsic takes kernels"),
        (np.eye(3), np.triu(np.ones((3, 3))), {}, "L is not symmetric"),
        (np.eye(3), np.eye(4), {}, "same samples; K has 3, L has 4"),
        (np.eye(3), np.eye(3), {"estimator": "unbiased"}, "unbiased estimator needs at least 4 samples, got 3"),
        (np.eye(1), np.eye(1), {}, "biased estimator needs at least 2 samples"),
        (np.eye(4), np.eye(4), {"estimator": "exact"}, "unknown estimator 'exact'; known: biased, unbiased"),
        (np.full((3, 3), np.nan), np.eye(3), {}, "K contains NaN"),
    ],
)  # fmt: skip
def test_hsic_refuses(K, L, options, message):
    for function in (hsic, hsic_test):
        with pytest.raises(ValueError, match=message):
            function(K, L, **options)


@pytest.mark.parametrize("n", [0, -3, 2.5, True])
def test_bad_number_of_permutations(n):
    with pytest.raises(ValueError, match="n_permutations must be an integer above 0"):
        hsic_test(np.eye(3), np.eye(3), n_permutations=n)
