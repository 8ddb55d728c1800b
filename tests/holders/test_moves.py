"""Tables of moves, against F itself."""

import numpy as np
import pytest

from kernelclust._arrays import namespace
from kernelclust.engine._moves import best_moves, centred, move_tables, raw_assignment
from kernelclust.objectives import Dependence
from kernelclust.structures import as_structure

OBJECTIVES = [
    {"normalize": "l2"},
    {"normalize": "l2", "rho": 2.0, "size_prior": 0.2},
    {"normalize": "l1", "loss": "structure"},
    {"normalize": None, "loss": "structure"},
    {"normalize": "l2", "loss": "zero-one"},
    {"normalize": "l2", "loss": "structure", "rescale": "margin"},
    {"normalize": "l1", "loss": "structure", "rescale": "margin"},
]


def _case(seed, structure="ring:4", m=14):
    rng = np.random.default_rng(seed)
    structure = as_structure(structure)
    c = structure.n_clusters
    X = rng.standard_normal((m, 3))
    K = X @ X.T + 3.0  # not centred
    weight = rng.choice([1.0, 2.0, 0.5], m)
    labels = np.concatenate([np.arange(c), rng.integers(0, c, m - c)])
    return structure, K, weight, labels


def _totals(K, weight, labels, c):
    P = np.eye(c)[labels] * weight[:, None]
    return P.T @ K @ P, P.sum(axis=0)


def _value(objective, K, weight, labels):
    H = np.eye(len(K)) - np.outer(np.ones(len(K)), weight / weight.sum())
    S, n = _totals(H @ K @ H.T, weight, labels, objective.n_clusters)
    return objective.value(S, n)


@pytest.mark.parametrize("options", OBJECTIVES)
def test_tables_say_what_every_single_move_does_to_f(options):
    for seed in range(3):
        structure, K, weight, labels = _case(seed)
        objective, c = Dependence(**{"rho": 0.0} | options).bind(structure), structure.n_clusters
        S, n = _totals(K, weight, labels, c)
        before = _value(objective, K, weight, labels)
        assert objective.value(centred(S, n), n) == pytest.approx(before, rel=1e-10)
        G = K @ (np.eye(c)[labels] * weight[:, None])
        for i in range(len(K)):
            tables = move_tables(objective, S, n, weight[i], allow_empty=True)
            a = labels[i]
            said = tables.constant[a] + tables.direction[a] @ G[i] + tables.own[a] * K[i, i]
            done = [_value(objective, K, weight, np.where(np.arange(len(K)) == i, b, labels)) for b in range(c)]
            np.testing.assert_allclose(said, np.array(done) - before, atol=1e-9 * max(1.0, abs(before)))


def test_a_move_that_empties_a_cluster_is_none_unless_allowed():
    structure, K, _, labels = _case(0)
    labels[:] = np.minimum(labels, 2)
    labels[0] = 3
    S, n = _totals(K, np.ones(len(K)), labels, 4)
    objective = Dependence(rho=0.0).bind(structure)
    forbidden = move_tables(objective, S, n, 1.0, allow_empty=False).constant
    assert np.all(forbidden[3, :3] == -np.inf) and forbidden[3, 3] == 0
    assert np.isfinite(move_tables(objective, S, n, 1.0, allow_empty=True).constant).all()


def test_rises_are_those_of_the_centred_kernel():
    structure, K, weight, labels = _case(1)
    objective, c = Dependence(rho=1.0).bind(structure), 4
    S, n = _totals(K, weight, labels, c)
    share = weight / weight.sum()
    new = np.random.default_rng(0).standard_normal(len(K))  # similarities of a new sample
    seen = new - K @ share - new @ share + share @ K @ share
    M, h = objective.slopes(centred(S, n), n)
    P = np.eye(c)[labels] * weight[:, None]
    rises = raw_assignment(objective, S, n).rises
    np.testing.assert_allclose(rises(new @ P), (seen @ P) @ M + h, rtol=1e-9)


def test_best_moves_read_the_tables_of_their_level(arrays):
    structure, K, weight, labels = _case(2, m=40)
    objective, c = Dependence(rho=2.0).bind(structure), 4
    S, n = _totals(K, weight, labels, c)
    G = K @ (np.eye(c)[labels] * weight[:, None])
    levels = np.unique(weight)
    tables = [move_tables(objective, S, n, w, allow_empty=False) for w in levels]
    level = np.searchsorted(levels, weight)
    said = [tables[k].constant[a] + tables[k].direction[a] @ g + tables[k].own[a] * own
            for k, a, g, own in zip(level, labels, G, np.diag(K), strict=True)]  # fmt: skip
    there = [arrays.make(np.ascontiguousarray(part)) for part in (G.T, np.diag(K), labels, level)]
    to, gain = best_moves(namespace(there[0]), *there, tables)
    np.testing.assert_array_equal(np.asarray(_host(to)), np.argmax(said, axis=1))
    np.testing.assert_allclose(np.asarray(_host(gain)), np.max(said, axis=1), atol=1e-9)


def _host(array):
    return array.cpu() if hasattr(array, "cpu") else array
