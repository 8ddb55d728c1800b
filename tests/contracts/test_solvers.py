"""What every solver promises, run over every file in the folder, on every operator."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kernelclust.kernels.operators as operators
import kernelclust.solvers as package
from kernelclust import StructuredClustering, dependence_score
from kernelclust._names import load, names
from kernelclust.constraints import make_constraints
from kernelclust.kernels import DenseKernel, leading_spectrum
from kernelclust.objectives import make_dependence
from kernelclust.solvers import Options, Problem, check_solver_params, load_solver, solver_names
from kernelclust.structures import as_structure

pytestmark = pytest.mark.usefixtures("few_starts")

NAMES = solver_names()
every_solver = pytest.mark.parametrize("name", NAMES)
OPERATORS = names(operators)
M, C = 12, 3  # small: the semidefinite programs take most of the time


def problem(kernel, constraints=None):
    """With the spectrum of the explicit matrix, whose signs are the same whatever the operator."""
    objective = make_dependence(as_structure("chain:3"), rho=1.0)
    flat = make_dependence(as_structure("flat", C))
    spectrum = leading_spectrum(explicit(kernel), C + 7, C - 1, np.random.RandomState(0))
    return Problem(kernel, spectrum, objective, flat, constraints)


def explicit(operator):
    """The same kernel as a matrix in memory."""
    return DenseKernel(operator.rows(np.arange(operator.n_samples)), operator.weight)


def solved(name, kernel, constraints=None, params=None, **options):
    solve = load_solver(name, kernel)
    return solve(problem(kernel, constraints), Options(**options), np.random.RandomState(0), **params or {})


def test_the_folder_is_found():
    assert {"greedy", "spectral", "polar", "nmf", "low_rank_sdp", "sdp"} <= set(NAMES)


@pytest.mark.parametrize(("name", "weighted"), [("greedy", False), *((name, True) for name in NAMES)])
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_gives_what_its_matrix_gives(name, weighted, operator):
    rng = np.random.RandomState(0)
    weight = rng.uniform(0.5, 2, M) if weighted else np.ones(M)
    kernel, _ = load(operators, operator).example(rng, weight)
    params = {"max_steps": 3} if name == "low_rank_sdp" else None  # far along, its way hangs on rounding
    one, other = solved(name, kernel, params=params), solved(name, explicit(kernel), params=params)
    if one.relaxed_value is None:
        assert_allclose(one.value, other.value, rtol=1e-9)
    else:  # labels of a relaxation of noise hang on rounding; its value does not, but for one that is not convex
        assert_allclose(one.relaxed_value, other.relaxed_value, rtol=0.2 if name == "low_rank_sdp" else 0.02)
    assert_allclose(one.value, make_dependence(as_structure("chain:3"), rho=1.0).value(
        kernel.cluster_sums(one.labels, C), np.bincount(one.labels, weight, minlength=C)), rtol=1e-9)  # fmt: skip
    assert set(one.labels.tolist()) == {0, 1, 2}
    assert np.all(np.diff(one.history) >= -1e-9 * abs(one.value))


@every_solver
def test_labels_links_and_sizes_are_kept(name):
    rng = np.random.RandomState(0)
    kernel, _ = load(operators, "dense").example(rng, np.ones(M))
    y = np.full(M, -1)
    y[:3] = 0, 2, 1
    known = make_constraints(np.ones(M), C, labels=y, must_link=[[3, 4]], cannot_link=[[5, 6]], max_size=5)
    for polish in (True, False):
        labels = solved(name, kernel, known, polish=polish).labels
        assert_array_equal(labels[:3], y[:3])
        assert labels[3] == labels[4] and labels[5] != labels[6]
        assert np.bincount(labels, minlength=C).max() <= 5


@every_solver
def test_the_estimator_knows_it_by_name(name):
    X = np.repeat([[0.0, 0], [2, 0.3], [4, 0]], 4, axis=0) + 0.05 * np.random.default_rng(0).standard_normal((12, 2))
    model = StructuredClustering(structure="chain:3", solver=name, kernel="linear", rho=1.0, random_state=0).fit(X)
    assert model.upper_bound_ >= model.objective_
    A = model.structure_.kernel + np.eye(3)
    assert_allclose(model.objective_, dependence_score(X @ X.T, model.labels_, A), rtol=1e-9)
    with pytest.raises(ValueError, match=f"solver_params has 'nonsense', which solver='{name}' does not take"):
        check_solver_params(name, {"nonsense": 1})


def test_what_a_solver_needs_is_named_before_work(monkeypatch):
    kernel, _ = load(operators, "weighted_sum").example(np.random.RandomState(0), np.ones(M))
    monkeypatch.setattr(load(package, "greedy"), "NEEDS", ("affinity",), raising=False)
    with pytest.raises(ValueError, match="'greedy' needs a kernel with `affinity`, which WeightedSumKernel lacks"):
        load_solver("greedy", kernel)
