"""F is what the papers define, its optimum is found, and no bound is ever exceeded."""

from itertools import product

import numpy as np
import pytest
from flat_parameters import build
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

from kernelclust import CLUHSIC, CLUHSICAL, KernelKMeans, StructuredClustering, structured_hsic
from kernelclust.datasets import structured_blobs
from kernelclust.kernels import DenseKernel, leading_spectrum
from kernelclust.objectives import Dependence, loss_matrix
from kernelclust.solvers import Greedy
from kernelclust.structures import as_structure

STRUCTURES = ["flat:3", "chain:3", "ring:4", "grid:2x2", "tree:(a,(b,c))", "flat:2*chain:2"]
LOSSES = [None, "zero-one", "structure"]
NORMALIZATIONS = [None, "l1", "l2"]


def random_kernel(m, seed=0, rank=None):
    X = np.random.default_rng(seed).standard_normal((m, rank or m))
    return X @ X.T


def definition(K, labels, structure, loss=None, normalize="l2", C=0.1, gamma=1.0, rescale="slack"):
    """Straight from the papers, sample by sample: eq. (5) of CLUHSIC, eqs. (11) to (13) of CLUHSICAL."""
    m, c = len(K), structure.n_clusters
    H = np.eye(m) - 1.0 / m
    Delta = loss_matrix(loss, structure)
    P = np.zeros((m, c))
    for i, y in enumerate(labels):
        if Delta is None:
            P[i, y] = 1.0
        else:
            P[i] = -Delta[y]
            P[i, y] = Delta[y].sum()
    for j in range(c):
        norm = {None: 1.0, "l1": np.abs(P[:, j]).sum(), "l2": np.sqrt((P[:, j] ** 2).sum())}[normalize]
        P[:, j] = P[:, j] / norm if norm > 0 else 0.0
    trace = np.trace(H @ K @ H @ P @ structure.kernel @ P.T)
    if Delta is None or (normalize == "l1" and rescale == "slack"):
        return trace
    others = np.array([[y != one for y in range(c)] for one in labels])
    penalty = np.abs(P).sum() if rescale == "slack" else 2 * np.square(P)[others].sum()
    return 4 * (C * m) ** 2 * gamma / m**2 * trace - (C * m) / m * penalty


@pytest.mark.parametrize("rescale", ["slack", "margin"])
@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("spec", STRUCTURES)
def test_score_is_the_definition(spec, loss, normalize, rescale):
    structure = as_structure(spec)
    K = random_kernel(9)
    for seed in range(3):
        labels = np.random.default_rng(seed).integers(0, structure.n_clusters, 9)  # empty clusters too
        terms = {"loss": loss, "normalize": normalize, "C": 0.3, "gamma": 0.7, "rescale": rescale}
        score = structured_hsic(K, labels, spec, **terms)
        assert_allclose(score, definition(K, labels, structure, **terms), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rescale", ["slack", "margin"])
def test_f_is_the_first_order_of_the_regression_behind_it(rescale):
    """-F is t2 of d'(gamma J + S)^-1 d, every matrix written out; t1 - t2 then falls as the square of C gamma.

    Slack re-scaling: d = 1, S^-1 = 2 C Delta (eqs. 3 to 7); margin re-scaling: d = Delta, S^-1 = 2 C.
    """
    structure, m = as_structure("tree:(a,(b,c))"), 7
    K, labels = random_kernel(m, seed=2) / m, np.arange(m) % 3
    H = np.eye(m) - 1 / m
    pairs = [(i, y) for i in range(m) for y in range(3) if y != labels[i]]
    A, K0 = structure.kernel, H @ K @ H
    J = np.array(
        [
            [K0[i, j] * (A[labels[i], labels[j]] - A[labels[i], z] - A[y, labels[j]] + A[y, z]) for j, z in pairs]
            for i, y in pairs
        ]
    )
    Delta = np.array([structure.loss[labels[i], y] for i, y in pairs])
    errors = []
    for C in (0.01, 0.001):
        gamma = 0.7
        d, inverse = (
            (np.ones(len(pairs)), 2 * C * Delta) if rescale == "slack" else (Delta, 2 * C * np.ones(len(pairs)))
        )
        t1 = d @ np.linalg.solve(gamma * J + np.diag(1 / inverse), d)
        t2 = d @ (inverse * d) - gamma * (inverse * d) @ J @ (inverse * d)
        terms = {"loss": "structure", "normalize": None, "C": C, "gamma": gamma, "rescale": rescale}
        assert_allclose(structured_hsic(K, labels, structure, **terms), -t2, rtol=1e-9)
        errors.append((t1 - t2) / t1)
    assert errors[0] > 0 and errors[0] / errors[1] == pytest.approx(100, rel=0.2)


def test_score_takes_a_loss_array_that_need_not_be_symmetric():
    Delta = np.array([[0.0, 1, 4], [2, 0, 1], [3, 1, 0]])
    K, labels = random_kernel(8), np.array([0, 1, 2, 0, 1, 2, 2, 0])
    for normalize in NORMALIZATIONS:
        score = structured_hsic(K, labels, "chain:3", loss=Delta, normalize=normalize)
        assert_allclose(score, definition(K, labels, as_structure("chain:3"), Delta, normalize))


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_repeats(loss, normalize):
    K, labels, weight = random_kernel(8), np.arange(8) % 3, np.array([1, 2, 3, 1, 1, 4, 0, 2])
    index = np.repeat(np.arange(8), weight)
    options = {"loss": loss, "normalize": normalize}
    weighted = structured_hsic(K, labels, "chain:3", sample_weight=weight, **options)
    assert_allclose(weighted, structured_hsic(K[np.ix_(index, index)], labels[index], "chain:3", **options))


@pytest.mark.parametrize("spec", STRUCTURES)
def test_zero_one_loss_without_normalisation_is_corollary_1(spec):
    structure, K = as_structure(spec), random_kernel(10)
    c = structure.n_clusters
    labels = np.random.default_rng(1).integers(0, c, 10)
    trace = structured_hsic(K, labels, structure, normalize=None)
    value = structured_hsic(K, labels, structure, normalize=None, loss="zero-one", C=0.1)
    assert_allclose(value, 0.04 * c**2 * trace - 2 * (0.1 * 10) * (c - 1))


def test_flat_l2_is_kmeans():
    X = np.random.default_rng(0).standard_normal((60, 4))
    labels = KMeans(3, n_init=1, random_state=0).fit(X)
    total = ((X - X.mean(0)) ** 2).sum()
    assert_allclose(structured_hsic(X @ X.T, labels.labels_, "flat:3"), total - labels.inertia_)
    ours = KernelKMeans(3, kernel="linear", random_state=0).fit(X)
    best = KMeans(3, n_init=50, random_state=0).fit(X)
    assert total - ours.objective_ <= best.inertia_ * (1 + 1e-9)


# -- the exact optimum ------------------------------------------------------------------------------------------------


def all_sums(K, c, *, empty):
    """Cluster sums and sizes of every labeling."""
    labels = np.array([y for y in product(range(c), repeat=len(K)) if empty or len(set(y)) == c])
    H = np.eye(len(K)) - 1 / len(K)
    Pi = np.eye(c)[labels]  # (labelings, m, c)
    return Pi.transpose(0, 2, 1) @ (H @ K @ H) @ Pi, Pi.sum(axis=1)


def optimum(K, structure, loss, normalize, *, empty=False, rho=0.0):
    """Largest F over all labelings."""
    objective = Dependence(loss=loss, normalize=normalize, rho=rho).bind(structure)
    sums = all_sums(K, structure.n_clusters, empty=empty)
    return max(objective.value(S, n) for S, n in zip(*sums, strict=True))


@pytest.mark.filterwarnings("ignore:the order of these clusters")
@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("spec", ["flat:3", "chain:3", "ring:4", "tree:(a,(b,c))"])
def test_enough_starts_find_the_optimum_and_never_more(spec, loss, normalize):
    structure = as_structure(spec)
    K = random_kernel(6, seed=3)
    best = optimum(K, structure, loss, normalize)
    model = StructuredClustering(
        structure=spec,
        kernel="precomputed",
        objective=Dependence(loss=loss, normalize=normalize, rho=0.0, placement="F"),
        solver=Greedy(search="global", init="random", n_init=60),
        random_state=0,
    )
    model.fit(K)
    assert_allclose(model.objective_, best, rtol=1e-9, atol=1e-12)
    assert_allclose(structured_hsic(K, model.labels_, spec, loss=loss, normalize=normalize), best, rtol=1e-9)
    assert model.upper_bound_ >= best * (1 - 1e-12)


@pytest.mark.parametrize("normalize, rescale", [(None, "slack"), ("l2", "slack"), ("l2", "margin"), ("l1", "margin")])
def test_c_and_gamma_of_eq_11_are_found_by_enumeration_and_are_the_scale_of_the_kernel(normalize, rescale):
    """F(C, gamma; K) = (C / 0.1) F(0.1, 1; 10 C gamma K)."""
    structure, K = as_structure("tree:(a,(b,c))"), random_kernel(6, seed=4)
    sums = all_sums(K, 3, empty=False)
    best = []
    for C, gamma in ((0.1, 1.0), (2.0, 0.3), (1e-3, 0.5)):
        terms = {"normalize": normalize, "rescale": rescale}
        objective = Dependence(loss="structure", rho=0.0, C=C, gamma=gamma, **terms).bind(structure)
        values = [objective.value(S, n) for S, n in zip(*sums, strict=True)]
        best.append(int(np.argmax(values)))
        model = StructuredClustering(
            structure=structure,
            kernel="precomputed",
            objective=Dependence(loss="structure", rho=0.0, placement="F", **terms),
            solver=Greedy(search="global", init="random", n_init=20),
            compute_confidence=False,
            random_state=0,
        )
        assert_allclose(C / 0.1 * model.fit(10 * C * gamma * K).objective_, max(values), rtol=1e-9)
        assert_allclose(
            model.set_params(objective__C=C, objective__gamma=gamma).fit(K).objective_, max(values), rtol=1e-9
        )
    assert best[-1] != best[0]  # the scale matters


def test_c_and_gamma_leave_eq_13_as_it_is():
    K, labels = random_kernel(9), np.arange(9) % 3
    one, other = (structured_hsic(K, labels, "chain:3", loss="structure", normalize="l1", C=C) for C in (0.1, 7.0))
    assert one == other


@pytest.mark.filterwarnings("ignore:the order of these clusters")
def test_allowing_empty_clusters_reaches_the_larger_optimum():
    K = random_kernel(6, seed=1)
    structure = as_structure("chain:3")
    free, kept = (optimum(K, structure, None, None, empty=empty) for empty in (True, False))
    assert free > kept * (1 + 1e-6)  # unnormalised chains leave a node empty
    options = {"structure": "chain:3", "kernel": "precomputed", "normalize": None, "init": "random", "n_init": 60}
    assert_allclose(
        build(CLUHSIC, **options, random_state=0, solver=Greedy(search="global", allow_empty=True)).fit(K).objective_,
        free,
    )
    model = build(CLUHSIC, **options, random_state=0).fit(K)
    assert_allclose(model.objective_, kept)
    assert len(np.unique(model.labels_)) == 3


@pytest.mark.filterwarnings("ignore:the order of these clusters")
@pytest.mark.parametrize("seed", range(5))
def test_the_default_search_finds_the_flat_optimum(seed):
    K = random_kernel(8, seed=seed, rank=3)
    assert_allclose(
        KernelKMeans(3, kernel="precomputed", random_state=0).fit(K).objective_,
        optimum(K, as_structure("flat:3"), None, "l2"),
    )


def test_presets_are_the_papers():
    """The label kernel itself, F maximised from every initialization: the same fit as with the terms written out."""
    X = structured_blobs("chain:4", n_samples=60, noise=0.6, random_state=0).data
    for Preset, loss, normalize in ((CLUHSIC, None, "l2"), (CLUHSICAL, "structure", "l1")):
        objective = Dependence(loss, normalize, rho=0.0, size_prior=0.0, placement="F")
        terms = {"kernel": "rbf", "objective": objective, "solver": Greedy(search="global")}
        settings = {"structure": "chain:4", "compute_confidence": False, "random_state": 0}
        preset = Preset(**settings).fit(X)
        written = StructuredClustering(**terms, **settings).fit(X)
        assert_array_equal(preset.labels_, written.labels_)
        assert preset.objective_ == written.objective_


# -- bounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rescale", ["slack", "margin"])
@pytest.mark.parametrize("rho", [0.0, 2.0])
@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("spec", ["flat:3", "chain:3", "ring:4", "tree:(a,(b,c))"])
def test_no_labeling_exceeds_the_bounds(spec, loss, normalize, rho, rescale):
    structure = as_structure(spec)
    c, m = structure.n_clusters, 6
    K = random_kernel(m, seed=5)
    objective = Dependence(loss=loss, normalize=normalize, rho=rho, rescale=rescale).bind(structure)
    bounds = leading_spectrum(DenseKernel(K), c, c - 1, np.random.RandomState(0)).bounds
    everywhere = objective.upper_bound(bounds, float(m))
    best = {}
    for S, n in zip(*all_sums(K, c, empty=True), strict=True):
        best[tuple(n)] = max(objective.value(S, n), best.get(tuple(n), -np.inf))
    for n, value in best.items():
        slack = 1e-9 * (1 + abs(value))
        assert value <= objective.size_bound(bounds, np.array(n)) + slack
        assert value <= everywhere + slack


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize(
    "loss", ["zero-one", "structure", np.array([[0, 1, 9.0], [0.1, 0, 1], [9, 1, 0]]), np.eye(3)[[1, 2, 0]]]
)
def test_the_penalty_is_bounded_in_units_of_the_weights_whatever_the_loss(loss, unit):
    """|P|_1 grows with the root of the weights, and a column of P may be zero where a loss has zeros."""
    weight = unit * np.random.default_rng(0).uniform(0.5, 2, 6)
    objective = Dependence(loss=loss, rho=0.0).bind(as_structure("chain:3"))
    no_data = np.zeros((3, 3))
    best = max(
        objective.value(no_data, np.bincount(y, weight, minlength=3)) for y in product(range(3), repeat=6)
    )  # fmt: skip
    bound = objective.upper_bound(np.zeros(2), weight.sum(), weight.min())
    assert best <= bound * (1 - 1e-12) <= 0
    if isinstance(loss, str):
        assert bound <= 0.5 * best


@pytest.mark.parametrize("spec", ["flat:4", "chain:4", "ring:5", "tree:2x2", "grid:2x3"])
def test_the_size_bound_is_reached_when_the_kernel_is_the_structure(spec):
    structure = as_structure(spec)
    A, c = structure.kernel, structure.n_clusters
    labels = np.repeat(np.arange(c), np.arange(3, 3 + c))
    P = np.eye(c)[labels] / np.sqrt(np.bincount(labels))
    H = np.eye(len(labels)) - 1 / len(labels)
    K = H @ P @ A @ P.T @ H
    objective = Dependence(rho=0.0).bind(structure)
    bounds = leading_spectrum(DenseKernel(K), c, c - 1, np.random.RandomState(0)).bounds
    n = np.bincount(labels).astype(float)
    value = structured_hsic(K, labels, structure)
    assert_allclose(objective.size_bound(bounds, n), value)
    if spec.startswith("flat"):
        assert_allclose(objective.upper_bound(bounds, n.sum()), value)


def test_the_fitted_bounds_are_in_order_and_the_gap_closes():
    labels = np.repeat(np.arange(4), 15)
    K = (labels[:, None] == labels).astype(float)
    model = KernelKMeans(4, kernel="precomputed", random_state=0).fit(K)
    assert_allclose([model.upper_bound_, model.diagnostics_.size_bound], model.objective_)
    assert model.gap_ == pytest.approx(0, abs=1e-12)
    noise = random_kernel(60)
    model = KernelKMeans(4, kernel="precomputed", random_state=0).fit(noise)
    assert model.objective_ < model.diagnostics_.size_bound <= model.upper_bound_ * (1 + 1e-12)
    assert_allclose(model.gap_, 1 - model.objective_ / model.upper_bound_)


# -- rates of change --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rescale", ["slack", "margin"])
@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_slopes_are_derivatives(loss, normalize, rescale):
    """Adding a sample of small weight to cluster b changes F at the rate that predict uses."""
    structure = as_structure("tree:(a,(b,c))")
    objective = Dependence(loss=loss, normalize=normalize, rho=0.0, rescale=rescale).bind(structure)
    rng = np.random.default_rng(0)
    S, n, g, step = random_kernel(3), rng.uniform(2, 5, 3), rng.standard_normal(3), 1e-6
    M, h = objective.slopes(S, n)
    for b in range(3):
        e = np.eye(3)[b]
        change = np.outer(g, e) + np.outer(e, g)
        up = objective.value(S + step * change, n + step * e)
        down = objective.value(S - step * change, n - step * e)
        assert_allclose((up - down) / (2 * step), (g @ M + h)[b], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_scaling_the_kernel_scales_the_value_and_keeps_the_labels(scale):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(centre, 0.3, (15, 2)) for centre in ([0, 0], [2, 0], [4, 0])])
    K = X @ X.T
    for spec in ("flat:3", "chain:3"):
        model = StructuredClustering(structure=spec, kernel="precomputed", random_state=0)
        plain, scaled = model.fit(K).labels_, model.fit(scale * K)
        assert_array_equal(scaled.labels_, plain)
        assert_allclose(scaled.objective_, scale * StructuredClustering(
            structure=spec, kernel="precomputed", random_state=0).fit(K).objective_, rtol=1e-9)  # fmt: skip
