"""What every method for many kernels promises, run over every file in the folder, and over the rivals of the papers."""

import inspect
import tracemalloc
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

import kernelclust.multikernel as package
import reproduction.multikernel
from kernelclust import KernelKMeans, MultiKernelClustering
from kernelclust._names import keywords, load, names
from kernelclust.kernels import RBF, DenseKernel, KernelOperator, LowRankKernel, TiledKernel
from kernelclust.multikernel import Task, correlation_matrix, load_method, method_names, prepare

RIVALS = [f"reproduction.multikernel.{name}" for name in names(reproduction.multikernel)]
NAMES = [*method_names(), *RIVALS]
every_name = pytest.mark.parametrize("name", NAMES)
GAMMA = 0.05
pytestmark = [
    pytest.mark.usefixtures("few_starts"),
    pytest.mark.filterwarnings("ignore:.*stopped before"),  # some creep
    pytest.mark.filterwarnings("ignore:the order of these clusters"),
]


def part(name):
    return import_module(name) if "." in name else load(package, name.replace("-", "_"))


def make_views(n=48, c=3, seed=0, size=0.7):
    """Views of the same clear clusters, each with its own noise."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % c
    return [4 * np.eye(c)[truth] + s * rng.standard_normal((n, c)) for s in (size, 1.3 * size, 1.6 * size)], truth


def gaussian(X, Y):
    return rbf_kernel(X, Y, gamma=GAMMA)


FORMS = {
    "dense": lambda X, w: DenseKernel(gaussian(X, X), w),
    "low rank": lambda X, w: LowRankKernel(np.linalg.cholesky(gaussian(X, X) + 1e-12 * np.eye(len(X))), w),
    "tiled": lambda X, w: TiledKernel(gaussian, X, w),
}


def make_task(views, form="dense", c=3, weight=None, **options):
    weight = np.ones(len(views[0])) if weight is None else weight
    kernels = [prepare(FORMS[form](X, weight)) for X in views]
    return Task(kernels, c, np.random.RandomState(0), correlation_matrix(kernels), **options)


def model(name, **options):
    return MultiKernelClustering(3, method=name, random_state=0, **options)


def test_the_folder_is_found():
    assert {"average", "mkkm", "mkkm-mr"} <= set(NAMES) and len(RIVALS) >= 5


@every_name
def test_file(name):
    """A docstring that says when to use it, keyword-only parameters with defaults, and known declarations."""
    one = part(name)
    assert len(one.__doc__.strip()) > 60
    first, *rest = inspect.signature(one.solve).parameters.values()
    assert first.name == "task"
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in rest)
    assert set(getattr(one, "NEEDS", ())) <= {"affinity"}
    reason = getattr(one, "UNWEIGHTED", "it.")
    assert reason.endswith(".")


@every_name
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("c", [1, 3])
def test_solution(name, form, c):
    views, _ = make_views()
    found = part(name).solve(make_task(views, form, c))
    assert (found.weights >= 0).all()
    assert found.weights.sum() == pytest.approx(1)
    assert found.weights.shape == (3,)
    assert found.embedding.shape[0] == 48
    assert np.isfinite(found.embedding).all()
    for H in np.split(found.embedding, found.embedding.shape[1] // c, axis=1):
        assert_allclose(H.T @ H, np.eye(c), atol=1e-8)
    assert found.objective == found.history[-1]
    if not getattr(part(name), "MAY_RISE", False):
        assert all(b <= a + 1e-10 * abs(a) for a, b in pairwise(found.history))
    if found.by_sample is not None:
        assert_allclose(found.by_sample.sum(axis=1), 1)
    if found.labels is not None:
        assert len(np.unique(found.labels)) == c


@every_name
def test_the_form_of_a_kernel_does_not_matter(name):
    views, _ = make_views()
    dense = part(name).solve(make_task(views))
    for form in ("low rank", "tiled"):
        other = part(name).solve(make_task(views, form))
        assert_allclose(other.weights, dense.weights, rtol=1e-3)
        assert other.objective == pytest.approx(dense.objective, rel=1e-4)


@every_name
def test_clear_clusters_are_found_and_predicted(name):
    views, truth = make_views()
    for refine in (True, False):
        fitted = model(name, refine=refine).fit(views)
        assert adjusted_rand_score(truth, fitted.labels_) == 1
        assert_array_equal(fitted.predict(views), fitted.labels_)
        assert 0 < fitted.score(views) <= 1
        assert_array_equal(fitted.sizes_, [16, 16, 16])


@every_name
def test_one_kernel_is_kernel_k_means(name):
    views, _ = make_views()
    for refine in (True, False):
        fitted = model(name, kernels=GAMMA, unit_diagonal=False, refine=refine).fit(views[0])
        other = KernelKMeans(3, kernel=RBF(gamma=GAMMA), random_state=0).fit(views[0])
        assert adjusted_rand_score(fitted.labels_, other.labels_) == 1
        assert_allclose(fitted.weights_, [1])


@every_name
def test_order_of_samples_and_of_kernels_does_not_matter(name):
    views, _ = make_views()
    one = model(name).fit(views)
    order, turn = np.random.default_rng(1).permutation(48), [2, 0, 1]
    other = model(name).fit([views[p][order] for p in turn])
    assert_allclose(other.weights_, one.weights_[turn], rtol=1e-3, atol=1e-6)
    assert adjusted_rand_score(other.labels_, one.labels_[order]) == 1
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-4)


@every_name
@pytest.mark.parametrize("options", [{}, {"refine": False}, {"structure": "chain"}], ids=str)
def test_weights_are_repeats_or_refused(name, options):
    views, truth = make_views(36)
    weight = np.random.default_rng(0).integers(0, 4, 36)
    weight[:6] = 1, 2, 3, 1, 2, 0
    fitted = model(name, **options)
    if hasattr(part(name), "UNWEIGHTED"):
        with pytest.raises(ValueError, match=rf"method='{name}' takes no sample_weight other than 0 and 1"):
            fitted.fit(views, sample_weight=weight)
        weight = np.minimum(weight, 1)
    fitted.fit(views, sample_weight=weight)
    repeated = model(name, **options).fit([np.repeat(V, weight, axis=0) for V in views])
    assert_array_equal(np.repeat(fitted.labels_, weight), repeated.labels_)
    assert_allclose(fitted.weights_, repeated.weights_, rtol=1e-3)
    assert fitted.objective_ == pytest.approx(repeated.objective_, rel=1e-4)
    assert fitted.score(views, sample_weight=weight) == pytest.approx(
        repeated.score([np.repeat(V, weight, axis=0) for V in views]), rel=1e-3
    )
    assert_allclose(fitted.sizes_, repeated.sizes_)
    assert adjusted_rand_score(truth, fitted.labels_) == 1  # samples of weight zero have a label, too
    assert fitted.labels_.shape == (36,)


@every_name
@pytest.mark.parametrize("refine", [True, False])
def test_what_is_known_is_kept(name, refine):
    views, truth = make_views()
    y = np.full(48, -1)
    y[[0, 1, 2, 3]] = 2, 0, 1, 0  # the last one against the data
    must, cannot = [[5, 6]], [[7, 10]]
    settings = {"approximation": "cholesky", "n_components": 48, "max_cluster_size": 17, "min_cluster_size": 15}
    fitted = model(name, refine=refine, **settings)
    labels = fitted.fit(views, y, must_link=must, cannot_link=cannot).labels_
    assert_array_equal(labels[:4], y[:4])
    assert labels[5] == labels[6]
    assert labels[7] != labels[10]
    assert fitted.sizes_.min() >= 15
    assert fitted.sizes_.max() <= 17
    assert_array_equal(fitted.sizes_, np.bincount(labels))
    assert adjusted_rand_score(truth, labels) > 0.8


@every_name
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_odd_data(name):
    """Fewer distinct samples than clusters, constant data, one cluster: finite results, no cluster empty."""
    rng = np.random.default_rng(0)
    twice = np.repeat(rng.standard_normal((2, 2)), 6, axis=0)
    for data, c in (([twice, 2 * twice], 2), ([twice, twice], 3), ([np.ones((12, 2))], 3), ([twice, twice], 1)):
        fitted = MultiKernelClustering(c, method=name, random_state=0).fit(data)
        assert np.isfinite(fitted.weights_).all()
        assert fitted.weights_.sum() == pytest.approx(1)
        assert np.isfinite(fitted.objective_)
        assert set(fitted.labels_) == set(range(c))
        assert 0 <= fitted.score(data) <= 1


@every_name
def test_memory_is_as_declared(name):
    n = 600
    views, _ = make_views(n)
    task = make_task(views, max_iter=4)
    options = {"n_steps": 2} if "n_steps" in keywords(part(name).solve) else {}
    a, b = getattr(part(name), "MATRICES", (0, 0))
    for _ in range(2):  # the first imports and compiles
        tracemalloc.start()
        part(name).solve(task, **options)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < (a * len(views) + b + 1) * n * n * 8


class Bare(KernelOperator):
    """No more than a kernel has to have."""

    def __init__(self, K):
        H = np.eye(len(K)) - 1 / len(K)
        self.weight, self.matrix = np.ones(len(K)), H @ K @ H

    def __matmul__(self, V):
        return self.matrix @ V

    def rows(self, index, columns=None):
        return self.matrix[index].copy() if columns is None else self.matrix[index][:, columns]

    def diagonal(self):
        return np.diag(self.matrix).copy()

    def raw_size(self):
        return 1.0


@every_name
def test_what_a_method_needs_is_asked_for_by_name(name):
    """A method that names nothing works with kernels that have nothing but what all have."""
    views, _ = make_views()
    kernels = [DenseKernel(gaussian(views[0], views[0])), Bare(gaussian(views[1], views[1]))]
    needs = getattr(part(name), "NEEDS", ())
    if needs:
        said = rf"method='{name}' needs kernels with `{needs[0]}`, which kernel 1 \(Bare\)"
        with pytest.raises(ValueError, match=said):
            load_method(name, kernels)
        return
    prepared = [prepare(kernel) for kernel in kernels]
    task = Task(prepared, 3, np.random.RandomState(0), correlation_matrix(prepared))
    assert np.isfinite(load_method(name, kernels)(task).objective)
