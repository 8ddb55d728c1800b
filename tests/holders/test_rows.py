"""Sums on a device, against the kernel matrix."""

import numpy as np
import pytest

from kernelclust._arrays import to_host
from kernelclust.engine._rounds import climb
from kernelclust.engine.holders._device import ArrayKernel, DevicePool, _kind
from kernelclust.engine.holders._labelled import put
from kernelclust.engine.holders._rows import FeatureRows, Rows
from kernelclust.kernels import kernel_class
from kernelclust.objectives import Dependence
from kernelclust.structures import as_structure

KERNELS = {
    "rbf": {"gamma": 0.2},
    "laplacian": {"gamma": 0.2},
    "polynomial": {"gamma": 0.3, "degree": 2, "coef0": 1.0},
    "linear": {},
    "cosine": {},
}


def _rows(arrays, kernel, X, weight):
    """The rows that a fit would use, and the kernel matrix by the ordinary function."""
    Z, w = arrays.make(X.astype(np.float32)), arrays.make(weight)
    made = kernel_class(kernel)(**KERNELS[kernel])
    function = ArrayKernel(made, like=Z[:1, ...])
    Z = function.prepare(Z)
    kind = FeatureRows if made.has_features else _kind(_xp(Z), Z, function)[0]
    return kind(Z, w, function), made.block(X, X)


def _xp(array):
    from kernelclust._arrays import namespace

    return namespace(array)


def _case(c=5, m=300, weighted=True):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, 6))
    weight = rng.choice([1.0, 2.0, 3.0], m) if weighted else np.ones(m)
    labels = rng.integers(0, c - 1, m)  # the last cluster is empty
    return X, weight, labels, np.eye(c)[labels] * weight[:, None]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_all_sums_are_those_of_the_matrix(arrays, kernel, weighted):
    X, weight, labels, P = _case(weighted=weighted)
    rows, K = _rows(arrays, kernel, X, weight)
    there = arrays.make(labels)
    size = np.abs(K @ P).max()
    sums, square = rows.sums(there, 5)
    np.testing.assert_allclose(to_host(sums), (K @ P).T, atol=1e-5 * size)
    assert square == pytest.approx(weight @ (K * K) @ weight, rel=1e-4)
    np.testing.assert_allclose(to_host(rows.own()), np.diag(K), rtol=1e-5)
    index = np.array([3, 50, 51, 200])
    now = (labels[index] + 1) % 5
    np.testing.assert_allclose(rows.totals(there, 5), P.T @ K @ P, atol=1e-5 * np.abs(P.T @ K @ P).max())
    change = (np.eye(5)[now] - np.eye(5)[labels[index]]) * weight[index, None]
    given = [arrays.make(part) for part in (index, labels[index], now)]
    np.testing.assert_allclose(to_host(rows.change(*given, 5)), (K[:, index] @ change).T, atol=1e-5 * size)
    among = to_host(rows.change(*given, 5, among=True))
    np.testing.assert_allclose(among, (K[np.ix_(index, index)] @ change).T, atol=1e-5 * size)
    new = X[:7] + 0.1
    found = to_host(rows.sums_of(rows.function.prepare(arrays.make(new.astype(np.float32))), there, 5))
    expected = kernel_class(kernel)(**KERNELS[kernel]).block(new, X) @ P
    np.testing.assert_allclose(found, expected.T, atol=1e-5 * size)


def test_short_memory_means_smaller_blocks_and_then_an_error(arrays):
    X, weight, labels, P = _case()
    rows, K = _rows(arrays, "rbf", X, weight)
    plain, limit = Rows(rows.Z, rows.weight, rows.function), [2**15]

    def scarce(A, B):
        if A.shape[0] * B.shape[0] > limit[0]:
            raise RuntimeError("CUDA out of memory")
        return rows.function(A, B)

    plain.function = scarce
    np.testing.assert_allclose(plain.totals(arrays.make(labels), 5), P.T @ K @ P, rtol=1e-4)
    np.testing.assert_allclose(to_host(plain.sums(arrays.make(labels), 5)[0]), (K @ P).T, rtol=1e-4)
    limit[0] = 100
    with pytest.raises(MemoryError, match="fit on the host"):
        plain.sums(arrays.make(labels), 5)


def test_a_gpu_with_less_shared_memory_loads_less_ahead(arrays, monkeypatch):
    if arrays.name != "cuda":
        pytest.skip("fused passes are those of a GPU")
    from kernelclust.engine.holders import _gpu

    X, weight, labels, P = _case()
    rows, K = _rows(arrays, "rbf", np.tile(X, 5), weight)
    monkeypatch.setattr(_gpu, "STAGES", 40)  # more than any GPU has memory for
    np.testing.assert_allclose(rows.totals(arrays.make(labels), 5), P.T @ K @ P, rtol=1e-4)


@pytest.mark.parametrize("structure", ["flat:6", "ring:6", "tree:2x3"])
def test_rounds_never_lower_f_and_end_where_no_move_gains(arrays, structure):
    X, weight, _, _ = _case(6)
    structure = as_structure(structure)
    objective = Dependence(rho=2.0).bind(structure)
    rows, K = _rows(arrays, "rbf", X, weight)
    labels = np.random.default_rng(1).integers(0, 6, len(X))
    pool = DevicePool(rows, arrays.make(labels), 6)
    done = climb(pool, objective, max_iter=200, tol=1e-7)
    assert pool.settle() < 1e-6
    assert done.stopped_because == "converged" and np.all(np.diff(done.history) > 0) and len(done.history) > 2

    H = np.eye(len(K)) - np.outer(np.ones(len(K)), weight / weight.sum())

    def value(labels):
        P = np.eye(6)[labels] * weight[:, None]
        return objective.value(P.T @ H @ K @ H.T @ P, P.sum(axis=0))

    final = to_host(pool.labels)
    assert done.history[-1] == pytest.approx(value(final), rel=1e-5)
    best = value(final)
    for i in range(0, len(X), 7):
        for b in range(6):
            moved = np.where(np.arange(len(X)) == i, b, final)
            if len(np.unique(moved)) == 6:
                assert value(moved) <= best + 1e-5 * abs(best)


def test_totals_are_those_of_a_new_pass_and_drift_is_told(arrays):
    """S comes from the kernel, whatever sums say; both ways of keeping it current are compared with it."""
    X, weight, labels, P = _case()
    rows, K = _rows(arrays, "rbf", X, weight)
    S, largest = P.T @ K @ P, float(np.abs(P.T @ K @ P).max())
    pool = DevicePool(rows, arrays.make(labels), 5)
    assert pool.settle() < 1e-6
    pool.G = 1.01 * pool.G
    assert pool.settle() == pytest.approx(0.01, rel=1e-3)
    np.testing.assert_allclose(pool.totals()[0], S, atol=1e-5 * largest)
    pool.fresh()
    assert pool.settle() < 1e-6
    pool._totals = 1.02 * S, P.sum(axis=0)
    assert pool.settle() == pytest.approx(0.02, rel=1e-3)


def test_rounds_leave_no_cluster_empty(arrays):
    X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 20, axis=0) + 1e-3 * np.arange(40)[:, None]
    rows, _ = _rows(arrays, "linear", X, np.ones(40))
    labels = np.where(np.arange(40) < 20, 0, 1)
    labels[[0, 39]] = 2  # far from each other, with twins all around: both would rather go, at once
    pool = DevicePool(rows, arrays.make(labels), 3)
    climb(pool, Dependence(rho=0.0).bind(as_structure("flat:3")), max_iter=1, tol=1e-12)
    assert sorted(np.bincount(to_host(pool.labels))) == [1, 19, 20]  # one went


def test_put_is_an_assignment(arrays):
    array, index, values = np.arange(10), np.array([0, 4, 9]), np.array([7, 7, 8])
    expected = array.copy()
    expected[index] = values
    given = [arrays.make(part) for part in (array, index, values)]
    np.testing.assert_array_equal(to_host(put(_xp(given[0]), *given)), expected)


def test_bounds_hold_whatever_the_clusters(arrays):
    X, weight, _, _ = _case(4)
    rows, K = _rows(arrays, "rbf", X, weight)
    labels = np.random.default_rng(3).integers(0, 4, len(X))  # no clusters at all: the worst case
    pool = DevicePool(rows, arrays.make(labels), 4)
    bounds, trace = pool.bounds()
    H = np.eye(len(K)) - np.outer(np.ones(len(K)), weight / weight.sum())
    root = np.sqrt(weight)
    values = np.linalg.eigvalsh(root[:, None] * (H @ K @ H.T) * root)[::-1]
    assert np.all(bounds >= values[:3] * (1 - 1e-6)) and np.all(bounds < 2 * np.linalg.norm(values))
    assert trace == pytest.approx(values.sum(), rel=1e-5)
