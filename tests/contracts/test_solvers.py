"""What every solver promises, run over every file in the folder, on every operator."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import kernelclust.kernels.operators as operators
import kernelclust.solvers as package
from kernelclust import StructuredClustering, structured_hsic
from kernelclust._names import load, names
from kernelclust._terms import term_class
from kernelclust.constraints import make_constraints
from kernelclust.kernels import DenseKernel, leading_spectrum
from kernelclust.objectives import Dependence
from kernelclust.solvers import Problem, Run, Solver, as_solver, climb, solver_names
from kernelclust.structures import as_structure

pytestmark = pytest.mark.usefixtures("few_starts")

NAMES = solver_names()
every_solver = pytest.mark.parametrize("name", NAMES)
OPERATORS = names(operators)
M, C = 12, 3  # small: the semidefinite programs take most of the time


def problem(kernel, constraints=None):
    """With the spectrum of the explicit matrix, whose signs are the same whatever the operator."""
    objective = Dependence(rho=1.0).bind(as_structure("chain:3"))
    flat = Dependence(rho=0.0).bind(as_structure("flat", C))
    spectrum = leading_spectrum(explicit(kernel), C + 7, C - 1, np.random.RandomState(0))
    return Problem(kernel, spectrum, objective, flat, constraints)


def explicit(operator):
    """The same kernel as a matrix in memory."""
    return DenseKernel(operator.rows(np.arange(operator.n_samples)), operator.weight)


def solved(name, kernel, constraints=None, **params):
    solver = term_class(package, name)(**params)
    return solver.solve(problem(kernel, constraints), Run(), np.random.RandomState(0))


def test_the_folder_is_found():
    assert {"greedy", "spectral", "polar", "nmf", "low_rank_sdp", "sdp"} <= set(NAMES)


@pytest.mark.parametrize(("name", "weighted"), [("greedy", False), *((name, True) for name in NAMES)])
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_gives_what_its_matrix_gives(name, weighted, operator):
    rng = np.random.RandomState(0)
    weight = rng.uniform(0.5, 2, M) if weighted else np.ones(M)
    kernel, _ = load(operators, operator).example(rng, weight)
    params = {"max_steps": 3} if name == "low_rank_sdp" else {}  # far along, its way hangs on rounding
    one, other = solved(name, kernel, **params), solved(name, explicit(kernel), **params)
    if one.relaxed_value is None:
        assert_allclose(one.value, other.value, rtol=1e-9)
    else:  # labels of a relaxation of noise hang on rounding; its value does not, but for one that is not convex
        assert_allclose(one.relaxed_value, other.relaxed_value, rtol=0.2 if name == "low_rank_sdp" else 0.02)
    assert_allclose(one.value, Dependence(rho=1.0).bind(as_structure("chain:3")).value(
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
    for polish in (True, False) if term_class(package, name).is_relaxation else (None,):
        labels = solved(name, kernel, known, **({} if polish is None else {"polish": polish})).labels
        assert_array_equal(labels[:3], y[:3])
        assert labels[3] == labels[4] and labels[5] != labels[6]
        assert np.bincount(labels, minlength=C).max() <= 5


@every_solver
def test_the_estimator_knows_it_by_name(name):
    X = np.repeat([[0.0, 0], [2, 0.3], [4, 0]], 4, axis=0) + 0.05 * np.random.default_rng(0).standard_normal((12, 2))
    model = StructuredClustering(
        structure="chain:3", solver=name, kernel="linear", objective=Dependence(rho=1.0), random_state=0
    ).fit(X)
    assert model.upper_bound_ >= model.objective_
    A = model.structure_.kernel + np.eye(3)
    assert_allclose(model.objective_, structured_hsic(X @ X.T, model.labels_, A), rtol=1e-9)
    given = StructuredClustering(
        structure="chain:3", solver=as_solver(name), kernel="linear", objective=Dependence(rho=1.0), random_state=0
    )
    assert_array_equal(given.fit(X).labels_, model.labels_)
    assert given.get_params()["solver__tol"] == 1e-10
    with pytest.raises(ValueError, match="no parameter 'nonsense'"):
        given.set_params(solver__nonsense=1)


@every_solver
def test_it_prints_as_it_is_written(name):
    solver = as_solver(name)
    defaults = solver.get_params()
    assert {"tol", "allow_empty"} | ({"polish"} if solver.is_relaxation else set()) <= set(defaults)
    for params in ({}, {"tol": 1e-6}, {"tol": 1e-6, "allow_empty": True}):
        solver.set_params(**params)
        for one in (
            clone(solver),
            eval(repr(solver), {type(solver).__name__: getattr(package, type(solver).__name__)}),
        ):
            assert type(one) is type(solver) and one.get_params() == solver.get_params() == defaults | params
    assert solver.name == name


@every_solver
@pytest.mark.parametrize("wrong", [{"tol": -1}, {"tol": None}, {"allow_empty": 2}, {"polish": "no"}, {"max_steps": 0}])
def test_its_parameters_are_checked_before_work(name, wrong):
    (parameter, value), solver = *wrong.items(), as_solver(name)
    if parameter in solver.get_params():
        model = StructuredClustering(3, solver=solver.set_params(**wrong))
        with pytest.raises((ValueError, TypeError), match=f"{parameter}={value!r}: give "):
            model.fit(np.zeros((12, 2)))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (package.Greedy, r"solver=Greedy is a class, not an object: write solver=Greedy\(\)"),
        (Dependence(), r"Dependence is an objective; give one of the names .*solver=Greedy\(search='global'\)"),
        (
            "gredy",
            r"unknown solver 'gredy'; known: .*'greedy'.*solver=Greedy\(search='global'\).*Did you mean 'greedy'",
        ),
        (3, r"solver=3: give one of the names 'greedy'.*solver=Greedy\(search='global'\)"),
    ],
    ids=str,
)
def test_what_is_no_solver_is_named_with_a_correct_one(wrong, says):
    with pytest.raises((ValueError, TypeError), match=says):
        StructuredClustering(3, solver=wrong).fit(np.zeros((12, 2)))


def test_a_new_solver_is_an_object():
    """Nothing of the library knows it; it works with tolerances, constraints and samples of weight zero."""

    class Even(Solver):
        def __init__(self, tol=0.0, allow_empty=False):
            self.tol, self.allow_empty = tol, allow_empty

        def solve(self, problem, run, rng):
            labels = np.arange(problem.kernel.n_samples) % problem.objective.n_clusters
            return climb(problem.kernel, problem.objective, labels, **self.climbing(run))

    X = np.random.default_rng(0).standard_normal((20, 2))
    model = StructuredClustering(
        structure="chain:3", solver=Even(), kernel="linear", objective=Dependence(rho=1.0), random_state=0
    )
    model.fit(X, sample_weight=np.arange(20) > 1)
    A = model.structure_.kernel + np.eye(3)
    assert_allclose(model.objective_, structured_hsic(X[2:] @ X[2:].T, model.labels_[2:], A), rtol=1e-9)


def test_what_a_solver_needs_is_named_before_work(monkeypatch):
    kernel, _ = load(operators, "weighted_sum").example(np.random.RandomState(0), np.ones(M))
    monkeypatch.setattr(package.Greedy, "needs", ("affinity",))
    with pytest.raises(ValueError, match="'greedy' needs a kernel with `affinity`, which WeightedSumKernel lacks"):
        package.Greedy().check_kernel(kernel)
