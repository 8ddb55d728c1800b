"""What every loss of max-margin clustering promises, run over every file in the folder."""

from itertools import permutations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import kernelclust.margin.losses as package
from kernelclust import MaxMarginClustering
from kernelclust._terms import term_class
from kernelclust.kernels import RBF
from kernelclust.margin import NMI, CuttingPlane, F, as_solver, loss_names, most_violated
from kernelclust.margin._search import search, two_by_two, value_of
from kernelclust.margin._table_loss import make_loss
from kernelclust.margin._table_search import search_table, table
from kernelclust.margin._weights import SampleWeights
from kernelclust.margin.losses import as_loss
from reproduction.table_scan import scan

NAMES = loss_names()
every_name = pytest.mark.parametrize("name", NAMES)


def delta(name, z, y, k, weight=None, beta=1.5):
    """Loss between two labelings, from the formula in the package's docstring."""
    part = term_class(package, name)()
    if "beta" in part.get_params():
        part.set_params(beta=beta)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    N = np.zeros((k, k))
    np.add.at(N, (z, y), weight)
    cells = np.diag(N) if part.only_diagonal else N
    own, given = (part.phi(N.sum(axis=axis)).sum() for axis in (1, 0))
    base, rate = part.affine(np.array([own]), given, weight.sum())
    return float(np.ravel(base)[0] - np.ravel(rate)[0] * part.phi(cells).sum())


def labelings(n, k=2):
    return np.array(list(product(range(k), repeat=n)))


def scores_like_the_loss(rng, n):
    f = rng.standard_normal(n) * 10 ** rng.uniform(-2.5, 0)
    return np.round(f, 1) if rng.random() < 0.3 else f


def test_the_folder_is_found():
    assert {"nmi", "rand", "f", "error", "adjusted_rand", "v_measure"} <= set(NAMES)


@every_name
def test_it_prints_as_it_is_written(name):
    """And it is found by its name, and by its class in the package."""
    made = term_class(package, name)
    loss = made(**({"beta": 2.0} if "beta" in made().get_params() else {}))
    assert loss.kind == "loss" and loss.name == name and type(as_loss(name)) is made
    assert getattr(package, made.__name__) is made
    again = eval(repr(loss), {made.__name__: made})
    assert again.get_params() == clone(loss).get_params() == loss.get_params()
    assert as_loss(loss) is loss
    if "beta" in loss.get_params():
        with pytest.raises(ValueError, match="beta=-1"):
            as_loss(loss.set_params(beta=-1))


def test_the_solver_prints_as_it_is_written():
    solver = CuttingPlane(n_init=3, balance=0.1)
    assert repr(solver) == "CuttingPlane(balance=0.1, n_init=3)"
    assert clone(solver).get_params() == solver.get_params() == eval(repr(solver)).get_params()
    assert repr(as_solver("cutting_plane")) == "CuttingPlane()"
    for wrong, says in (({"n_init": 0}, "n_init=0"), ({"tol": -1}, "tol=-1"), ({"center": 1}, "center=1")):
        with pytest.raises((ValueError, TypeError), match=says):
            as_solver(CuttingPlane(**wrong))


def test_terms_of_the_wrong_kind():
    X = np.arange(20.0)[:, None]
    for terms, says in (
        ({"loss": NMI}, r"loss=NMI is a class, not an object: write loss=NMI\(\)"),
        ({"loss": RBF()}, r"loss=RBF\(\): RBF is a kernel; .*'nmi'.* such as loss=F\(beta=1.5\)"),
        ({"loss": 3}, r"loss=3: give one of the names"),
        ({"solver": NMI()}, r"solver=NMI\(\): NMI is a loss; .* such as solver=CuttingPlane\(n_init=3\)"),
        ({"solver": "greedy"}, "unknown solver 'greedy'; known: 'cutting_plane'"),
        ({"kernel": F()}, r"kernel=F\(\): F is a loss"),
    ):
        with pytest.raises((TypeError, ValueError), match=says):
            MaxMarginClustering(**terms).fit(X)


def test_nested_parameters_make_objects_of_names():
    model = MaxMarginClustering(loss="f").set_params(loss__beta=2.0, solver__n_init=3, kernel__gamma=0.5, kernel="rbf")
    assert [repr(term) for term in (model.loss, model.solver, model.kernel)] == [
        "F(beta=2.0)",
        "CuttingPlane(n_init=3)",
        "RBF(gamma=0.5)",
    ]
    with pytest.raises(ValueError, match=r"loss__beta: loss='nmi' has no parameter 'beta' \(it has: none\)"):
        MaxMarginClustering().set_params(loss__beta=2.0)


# -- a loss by itself -------------------------------------------------------------------------------------------------


@every_name
@pytest.mark.parametrize("k", [2, 3])
def test_equal_labelings_cost_nothing_and_others_something(name, k):
    for n in (1, 2, 4):
        every = labelings(n, k)
        loss = make_loss(as_loss(name), n)
        for y in every[:: 5 if n == 4 else 1]:
            assert loss.of_tables(table(y, y, k)) == pytest.approx(0, abs=1e-12)
            values = loss.of_tables(np.array([table(z, y, k) for z in every]))
            assert np.all(values >= 0) and np.all(np.isfinite(values))
            assert_allclose(values, [delta(name, z, y, k) for z in every], atol=1e-12)
    assert values.max() > 0


@every_name
def test_symmetry(name):
    """Delta(y', y) = Delta(y, y') unless the loss says that it does not hold; with beta = 1 then too."""
    claimed = term_class(package, name).symmetric
    rng = np.random.default_rng(0)
    differ = []
    for _ in range(30):
        z, y = rng.integers(0, 3, (2, 8))
        one, other = (delta(name, *pair, 3) for pair in ((z, y), (y, z)))
        differ.append(abs(one - other) > 1e-9)
        assert delta(name, z, y, 3, beta=1.0) == pytest.approx(delta(name, y, z, 3, beta=1.0), abs=1e-12)
    assert any(differ) is not claimed


@every_name
def test_concave_in_the_table(name):
    """With the sizes fixed, and for tables of weights too: what the search rests on."""
    n_pos, n_neg = 7, 5
    loss = make_loss(as_loss(name), n_pos + n_neg)
    for p, step in product(np.arange(0, 12.5, 0.5), (1.0, 0.25)):
        a = np.arange(max(0.0, p - n_neg), min(p, n_pos) + 1e-9, step)
        tables = np.array([[a, p - a], [n_pos - a, n_neg - p + a]]).transpose(2, 0, 1)
        values = loss.of_tables(tables)
        assert np.all(np.diff(values, 2) <= 1e-12)
        if p == round(p) and step == 1:
            assert_allclose(values, loss.of_tables(np.round(tables).astype(int)), atol=1e-12)


@every_name
def test_names_of_clusters(name):
    """They do not matter, unless the loss looks at the diagonal only; renaming in both never does."""
    rng = np.random.default_rng(1)
    matters = []
    for _ in range(10):
        z, y = rng.integers(0, 2, (2, 9))
        matters.append(abs(delta(name, 1 - z, y, 2) - delta(name, z, y, 2)) > 1e-9)
        assert delta(name, 1 - z, 1 - y, 2) == pytest.approx(delta(name, z, y, 2), abs=1e-12)
        z, y = rng.integers(0, 3, (2, 9))
        for order in permutations(range(3)):
            new = np.array(order)
            assert delta(name, new[z], new[y], 3) == pytest.approx(delta(name, z, y, 3), abs=1e-12)
    assert any(matters) is term_class(package, name).only_diagonal


@every_name
@pytest.mark.parametrize("k", [2, 3])
def test_weights_are_repeats(name, k):
    rng = np.random.default_rng(2)
    for _ in range(10):
        weight = rng.integers(1, 4, 7)
        z, y = rng.integers(0, k, (2, 7))
        repeated = delta(name, np.repeat(z, weight), np.repeat(y, weight), k)
        assert delta(name, z, y, k, weight) == pytest.approx(repeated, abs=1e-12)
        loss = make_loss(as_loss(name), SampleWeights(7, weight.astype(float)))
        assert loss.of_tables(table(z, y, k, weight)) == pytest.approx(repeated, abs=1e-12)


# -- the most violated labeling ---------------------------------------------------------------------------------------


@every_name
def test_most_violated_is_the_best_of_all(name):
    rng = np.random.default_rng(3)
    for trial in range(18):
        n = 1 + trial % 6
        f, y = scores_like_the_loss(rng, n), rng.integers(0, 2, n)
        every = labelings(n)
        values = (2 * every - 1) @ f + [delta(name, 1 - z, 1 - y, 2) for z in every]
        z, value = most_violated(f, 2 * y - 1, loss=name)
        assert value == pytest.approx(values.max(), abs=1e-10)
        assert z @ f + delta(name, (z < 0).astype(int), 1 - y, 2) == pytest.approx(value, abs=1e-10)


@every_name
def test_fast_search_is_the_scan(name):
    rng = np.random.default_rng(4)
    for _ in range(60):
        n = int(rng.integers(1, 80))
        f, y = scores_like_the_loss(rng, n), rng.random(n) < rng.random()
        loss = make_loss(as_loss(name), n)
        assert value_of(f, y, search(f, y, loss), loss) == pytest.approx(scan(f, y, loss)[2], abs=1e-9)


@every_name
def test_search_with_whole_weights_is_that_of_repeats(name):
    """And so the best of all labelings of the copies."""
    rng = np.random.default_rng(5)
    for trial in range(12):
        n = 1 + trial % 5
        f, y, weight = scores_like_the_loss(rng, n), rng.integers(0, 2, n), rng.integers(1, 4, n)
        z, value = most_violated(f, 2 * y - 1, loss=name, sample_weight=weight)
        many_f, many_y = np.repeat(f, weight), np.repeat(y, weight)
        assert value == pytest.approx(most_violated(many_f, 2 * many_y - 1, loss=name)[1], abs=1e-10)
        if len(many_f) <= 9:
            every = labelings(len(many_f))
            values = (2 * every - 1) @ many_f + [delta(name, 1 - one, 1 - many_y, 2) for one in every]
            assert value == pytest.approx(values.max(), abs=1e-10)
        copies = (z + 1) / 2 * weight
        assert_allclose(copies, np.round(copies), atol=1e-9)
        assert np.all(copies >= -1e-9) and np.all(copies <= weight + 1e-9)


@every_name
def test_search_with_any_weights_is_nearly_the_best(name):
    """Of labelings that leave samples whole, and of those that part them in quarters; finer ones gain little."""
    rng = np.random.default_rng(6)
    for _ in range(8):
        n = 6
        f, y, weight = scores_like_the_loss(rng, n) / 2, rng.random(n) < 0.5, rng.uniform(1, 3, n)
        weights = SampleWeights(n, weight)
        loss = make_loss(as_loss(name), weights)
        taken = search(f, y, loss, weights)
        value = value_of(f, y, taken, loss, weights)
        whole, quarters = (
            ((2 * parts - weight) @ f + loss.of_tables(two_by_two(parts, y, weights))).max()
            for parts in (labelings(n) * weight, labelings(n, 5) / 4 * weight)
        )
        assert whole - 2e-3 <= value and quarters - 2e-3 <= value <= quarters + 0.1
        N = two_by_two(taken[None], y, weights)[0]
        assert N.sum() == pytest.approx(weight.sum()) and N.sum(axis=0)[0] == pytest.approx(weight[y].sum())


@every_name
@pytest.mark.parametrize("weighted", [False, True])
def test_table_search_is_the_best_of_all(name, weighted):
    """Of three clusters, and but for one in sixteen, by a little, with weights, where samples are whole."""
    rng = np.random.default_rng(7)
    misses = 0
    for _ in range(16):
        n, k = 5, 3
        F, y = rng.standard_normal((n, k)) * 10 ** rng.uniform(-2.5, 0), rng.integers(0, k, n)
        weight = rng.uniform(1, 3, n) if weighted else None
        s = np.ones(n) if weight is None else weight
        loss = make_loss(as_loss(name), SampleWeights(n, weight))
        z, value = search_table(F, y, loss, weight=weight)
        every = labelings(n, k)
        tables = np.einsum("zni,nj,n->zij", np.eye(k)[every], np.eye(k)[y], s)
        values = F[np.arange(n), every] @ s + loss.of_tables(tables)
        assert s @ F[np.arange(n), z] + delta(name, z, y, k, s) == pytest.approx(value, abs=1e-10)
        assert value <= values.max() + 1e-10
        misses += value < values.max() - 1e-9
    assert misses <= weighted


# -- a fit ------------------------------------------------------------------------------------------------------------


@every_name
def test_a_fit_finds_two_clear_clusters(name):
    rng = np.random.default_rng(8)
    side = np.repeat([0, 1], 15)
    X = rng.standard_normal((30, 3)) + 6 * side[:, None]
    weight = rng.integers(1, 4, 30)
    model = MaxMarginClustering(loss=name, solver=CuttingPlane(n_init=3), random_state=0)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0))
    model.fit(X, sample_weight=weight)
    assert abs(np.mean(model.labels_ == side) - 0.5) == 0.5
    assert model.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    assert_array_equal(np.repeat(model.labels_, weight), repeated.labels_)
