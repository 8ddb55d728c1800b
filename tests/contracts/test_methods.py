"""What every method for many kernels promises, run over every file in the folder, and over the rivals of the papers."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

import kernelclust.multikernel as package
import reproduction.multikernel as rivals
from kernelclust import KernelKMeans, MultiKernelClustering
from kernelclust._terms import term_class, term_names
from kernelclust.kernels import RBF, Cholesky, DenseKernel, KernelOperator, LowRankKernel, TiledKernel
from kernelclust.multikernel import MKKMMR, Method, Task, as_method, correlation_matrix, method_names, prepare

RIVALS = {name: term_class(rivals, name) for name in term_names(rivals)}
METHODS: dict[str, type[Method]] = {name: term_class(package, name) for name in method_names()} | RIVALS
every_name = pytest.mark.parametrize("name", METHODS)
GAMMA = 0.05
pytestmark = [
    pytest.mark.usefixtures("few_starts"),
    pytest.mark.filterwarnings("ignore:.*stopped before"),  # some creep
    pytest.mark.filterwarnings("ignore:the order of these clusters"),
]


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


OF_METHODS = ("refine", "unit_diagonal")


def model(name, **options):
    method = METHODS[name](**{key: options.pop(key) for key in OF_METHODS if key in options})
    return MultiKernelClustering(3, method=method, random_state=0, **options)


def test_the_folder_is_found():
    assert {"average", "mkkm", "mkkm-mr"} <= set(METHODS) and len(RIVALS) >= 5


@every_name
def test_declarations(name):
    """A docstring that says when to use it, the parameters that all methods have, and known declarations."""
    one = METHODS[name]()
    assert one.name == name and one.kind == "method"
    assert len(one.__doc__.strip()) > 60
    assert {"refine", "center", "unit_diagonal", "n_init"} <= set(one.get_params())
    assert set(one.needs) <= {"affinity"}
    assert one.unweighted is None or one.unweighted.endswith(".")


@every_name
def test_terms_print_as_they_are_written_and_can_be_copied(name):
    method = METHODS[name](refine=False, n_init=3)
    assert repr(METHODS[name]()) == f"{METHODS[name].__name__}()"
    again = eval(repr(method), {METHODS[name].__name__: METHODS[name]})
    assert again.get_params() == clone(method).get_params() == method.get_params()
    assert as_method(method) is method
    assert getattr(rivals if name in RIVALS else package, METHODS[name].__name__) is METHODS[name]
    if name not in RIVALS:
        assert type(as_method(name)) is METHODS[name]


@every_name
def test_parameters_are_checked(name):
    for key, wrong in (("refine", 1), ("center", None), ("unit_diagonal", "yes"), ("n_init", 0), ("tol", -1.0)):
        if key in METHODS[name]().get_params():
            with pytest.raises((TypeError, ValueError), match=f"{key}={wrong!r}"):
                as_method(METHODS[name](**{key: wrong}))


def test_methods_of_the_wrong_kind():
    with pytest.raises(TypeError, match=r"method=MKKMMR is a class, not an object: write method=MKKMMR\(\)"):
        as_method(MKKMMR)
    with pytest.raises(TypeError, match=r"method=RBF\(\): RBF is a kernel; .* such as method=MKKMMR\(lam=0.5\)"):
        as_method(RBF())
    with pytest.raises(TypeError, match=r"method=3: .*'mkkm-mr'.* such as method=MKKMMR\(lam=0.5\)"):
        as_method(3)
    with pytest.raises(ValueError, match=r"unknown method 'mkkm-m'.* Did you mean 'mkkm-mr'"):
        as_method("mkkm-m")


def test_a_method_of_ones_own():
    class Loudest(Method):
        def __init__(self, refine=True, center=True, unit_diagonal=True, n_init="auto"):
            self.refine, self.center, self.unit_diagonal, self.n_init = refine, center, unit_diagonal, n_init

        def solve(self, task):
            found = package.Average().solve(task)
            return found

    views, truth = make_views()
    assert (
        adjusted_rand_score(truth, MultiKernelClustering(3, method=Loudest(), random_state=0).fit(views).labels_) == 1
    )


def test_nested_parameters_make_objects_of_names():
    views, _ = make_views()
    one = MultiKernelClustering(3, random_state=0).set_params(method__lam=0.5, method__refine=False)
    assert repr(one.method) == "MKKMMR(lam=0.5, refine=False)"
    other = MultiKernelClustering(3, method=MKKMMR(lam=0.5, refine=False), random_state=0)
    assert_array_equal(one.fit(views).weights_, other.fit(views).weights_)
    assert repr(MultiKernelClustering().set_params(method="mkkm", method__ridge=0.1).method) == "MKKM(ridge=0.1)"
    joined = np.hstack(views)
    columns = [range(0, 3), range(3, 6), range(6, 9)]
    grid = GridSearchCV(
        MultiKernelClustering(3, views=columns, kernel="rbf", random_state=0), {"method__lam": [1e-3, 10.0]}, cv=2
    )
    assert set(grid.fit(joined).best_params_) == {"method__lam"}


def test_unknown_nested_parameters():
    said = r"method__gamma: method='average' has no parameter 'gamma' \(it has: .*\)\. .*method=MKKMMR\(lam=0.5\)"
    one = MultiKernelClustering(method="average")
    with pytest.raises(ValueError, match=said):
        one.set_params(method__gamma=1.0)
    assert one.method == "average"
    with pytest.raises(ValueError, match=r"structure__size: structure='flat' has no parameters"):
        one.set_params(structure__size=3)


@every_name
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("c", [1, 3])
def test_solution(name, form, c):
    views, _ = make_views()
    found = METHODS[name]().solve(make_task(views, form, c))
    assert (found.weights >= 0).all()
    assert found.weights.sum() == pytest.approx(1)
    assert found.weights.shape == (3,)
    assert found.embedding.shape[0] == 48
    assert np.isfinite(found.embedding).all()
    for H in np.split(found.embedding, found.embedding.shape[1] // c, axis=1):
        assert_allclose(H.T @ H, np.eye(c), atol=1e-8)
    assert found.objective == found.history[-1]
    if not METHODS[name].may_rise:
        assert all(b <= a + 1e-10 * abs(a) for a, b in pairwise(found.history))
    if found.by_sample is not None:
        assert_allclose(found.by_sample.sum(axis=1), 1)
    if found.labels is not None:
        assert len(np.unique(found.labels)) == c


@every_name
def test_the_form_of_a_kernel_does_not_matter(name):
    views, _ = make_views()
    dense = METHODS[name]().solve(make_task(views))
    for form in ("low rank", "tiled"):
        other = METHODS[name]().solve(make_task(views, form))
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
        fitted = model(name, kernel=GAMMA, unit_diagonal=False, refine=refine).fit(views[0])
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
    if METHODS[name].unweighted is not None:
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
    settings = {"approximation": Cholesky(48), "max_cluster_size": 17, "min_cluster_size": 15}
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
    """Fewer distinct samples than clusters, constant data, one cluster: finite results, equal samples together."""
    rng = np.random.default_rng(0)
    twice = np.repeat(rng.standard_normal((2, 2)), 6, axis=0)
    for data, c in (([twice, 2 * twice], 2), ([twice, twice], 3), ([np.ones((12, 2))], 3), ([twice, twice], 1)):
        fitted = MultiKernelClustering(c, method=METHODS[name](), random_state=0).fit(data)
        assert np.isfinite(fitted.weights_).all()
        assert fitted.weights_.sum() == pytest.approx(1)
        assert np.isfinite(fitted.objective_)
        different, same = np.unique(np.hstack(data), axis=0, return_inverse=True)
        assert len(set(fitted.labels_)) == min(c, len(different))
        assert len(set(zip(same.ravel(), fitted.labels_, strict=True))) == len(different)
        assert 0 <= fitted.score(data) <= 1


@every_name
def test_memory_is_as_declared(name):
    n = 600
    views, _ = make_views(n)
    task = make_task(views, max_iter=4)
    method = METHODS[name]()
    if "n_steps" in method.get_params():
        method.set_params(n_steps=2)
    a, b = method.extra_matrices
    for _ in range(2):  # the first imports and compiles
        tracemalloc.start()
        method.solve(task)
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
    method = METHODS[name]()
    if method.needs:
        said = rf"method='{name}' needs kernels with `{method.needs[0]}`, which kernel 1 \(Bare\)"
        with pytest.raises(ValueError, match=said):
            method.check_kernels(kernels)
        return
    method.check_kernels(kernels)
    prepared = [prepare(kernel) for kernel in kernels]
    task = Task(prepared, 3, np.random.RandomState(0), correlation_matrix(prepared))
    assert np.isfinite(method.solve(task).objective)
