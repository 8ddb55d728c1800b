"""What every structure promises, run over every file in the folder."""

import copy
import pickle
import time
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone

from kernelclust.structures import Custom, Product, Ring, Tree, as_structure, structure_class, structure_names

NAMES = structure_names()
every_name = pytest.mark.parametrize("name", NAMES)
every_size = pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 12])


def example(name, size):
    return structure_class(name).example(size)


def test_the_folder_is_found():
    assert {"flat", "chain", "ring", "grid", "tree", "product", "custom"} <= set(NAMES)


@every_name
@every_size
def test_kernel(name, size):
    structure = example(name, size)
    c, A = structure.n_clusters, structure.kernel
    assert isinstance(c, int)
    assert A.shape == (c, c)
    assert A.dtype == np.float64
    assert_array_equal(A, A.T)
    assert np.linalg.eigvalsh(A)[0] >= -1e-9 * np.abs(A).max()
    assert structure.kernel is A  # made once


@every_name
@every_size
def test_loss(name, size):
    structure = example(name, size)
    c, Delta = structure.n_clusters, structure.loss
    assert Delta.shape == (c, c)
    assert Delta.dtype == np.float64
    assert_array_equal(Delta, Delta.T)
    assert_array_equal(np.diag(Delta), 0)
    assert np.all(Delta[~np.eye(c, dtype=bool)] > 0)
    assert structure.loss is Delta


@every_name
@pytest.mark.parametrize("matrix", ["kernel", "loss"])
def test_matrices_cannot_be_changed(name, matrix):
    with pytest.raises(ValueError, match="read-only"):
        getattr(example(name, 4), matrix)[0, 0] = 9.0


@every_name
@every_size
def test_copies_are_equal(name, size):
    structure = example(name, size)
    for twin in (pickle.loads(pickle.dumps(structure)), copy.deepcopy(structure), clone(structure, safe=False)):
        assert type(twin) is type(structure)
        assert twin == structure
        assert hash(twin) == hash(structure)
        assert_array_equal(twin.kernel, structure.kernel)
        assert_array_equal(twin.loss, structure.loss)
        assert not twin.kernel.flags.writeable
    if size > 1:
        assert structure != example(name, size - 1)
    assert structure != "text"


class Holder(BaseEstimator):
    def __init__(self, structure=None):
        self.structure = structure


@every_name
def test_is_a_parameter_of_an_estimator(name):
    structure = example(name, 4)
    holder = clone(Holder(structure))
    assert holder.structure == structure
    assert repr(structure) in repr(holder)


@every_name
@every_size
def test_text_form(name, size):
    structure = example(name, size)
    if not type(structure).text_form:
        with pytest.raises(ValueError, match="cannot be given as text"):
            as_structure(str(structure))
    else:
        assert as_structure(str(structure)) == structure
    assert repr(structure).startswith(type(structure).__name__ + "(")


@every_name
def test_text_in_the_class_is_readable(name):
    part = structure_class(name)
    if part.text_form:
        assert isinstance(as_structure(part.text_form), part)
        assert str(as_structure(part.text_form)) == part.text_form
    if part.size_is_enough:
        assert as_structure(name, 5).n_clusters == 5
    elif part.without_shape:
        assert as_structure(name, 5).is_sought and as_structure(name, 5).n_clusters == 5
    else:
        with pytest.raises(ValueError, match="needs its shape" if part.text_form else "pass the matrix"):
            as_structure(name, 5)


@every_name
@every_size
def test_drawing(name, size):
    structure = example(name, size)
    points, lines = structure.positions(), structure.segments()
    assert points.shape == (structure.n_clusters, 2)
    assert points.min() >= -1e-12
    assert points.max() <= 1 + 1e-12
    assert len(np.unique(points.round(9), axis=0)) == structure.n_clusters  # no two on one spot
    assert lines.ndim == 3
    assert lines.shape[1:] == (2, 2)
    assert all(0 <= i < j < structure.n_clusters for i, j in structure.edges())


@every_name
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_align_against_all_permutations(name, size):
    structure = example(name, size)
    A, Delta, columns = structure.kernel, structure.loss, np.arange(structure.n_clusters)
    orders = (np.array(order) for order in permutations(columns))
    keeps = [p for p in orders if np.allclose(A[np.ix_(p, p)], A) and np.allclose(Delta[np.ix_(p, p)], Delta)]
    rng = np.random.default_rng(size)
    for _ in range(5):
        benefit = rng.standard_normal(A.shape)
        p = structure.align(benefit)
        assert any(np.array_equal(p, q) for q in keeps)
        assert_allclose(benefit[p, columns].sum(), max(benefit[q, columns].sum() for q in keeps))
    assert_array_equal(structure.align(np.zeros(A.shape)), columns)


TWELVE = {name: example(name, 12) for name in NAMES} | {
    "custom: identity": Custom(np.eye(12)),
    "custom: all alike": Custom(np.ones((12, 12))),
    "custom: ring": Custom(Ring(12).kernel),
    "custom: tree": Custom(Tree(3, 4).kernel, Tree(3, 4).loss),
    "custom: chains": Custom(Product("flat:4", "chain:3").kernel),
    "custom: rigid": Custom(np.cov(np.random.default_rng(0).standard_normal((12, 20)))),
    "custom: icosahedron": Custom(nx.icosahedral_graph()),
    "custom: four triangles": Custom(nx.disjoint_union_all([nx.cycle_graph(3)] * 4)),
    "custom: hexagonal prism": Custom(nx.circular_ladder_graph(6)),
    "tree of depth three": Tree(2, 2, 3),
    "chain of flats": Product("chain:3", "flat:4"),
    "ring of rings": Product("ring:3", "ring:4"),
}


@pytest.mark.parametrize("name", TWELVE)
def test_align_does_not_list_permutations(name):
    """12! permutations would take hours."""
    structure = TWELVE[name]
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    for benefit in (rng.random((12, 12)), np.ones((12, 12)), np.eye(12)[::-1], rng.integers(0, 2, (12, 12))):
        p = structure.align(benefit)
        assert_allclose(structure.kernel[np.ix_(p, p)], structure.kernel, atol=1e-9)
        assert_allclose(structure.loss[np.ix_(p, p)], structure.loss, atol=1e-9)
    assert time.perf_counter() - start < 5.0
