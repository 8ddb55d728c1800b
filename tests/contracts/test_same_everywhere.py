"""A fit says the same wherever its samples lie: every public attribute and method, or a refusal that names the part.

Parts are found by name, attributes and methods by looking at the fitted model: what is new is covered. torch is no
requirement of the tests, because its package for Linux brings CUDA, several gigabytes of it; where it is installed it
is tested, and where there is a GPU, the card.
"""

from __future__ import annotations

import inspect
from functools import cache
from numbers import Number

import numpy as np
import pytest
import sklearn
from flat_parameters import build
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

import kernelclust
from kernelclust import MaxMarginClustering, MultiKernelClustering, StructuredClustering
from kernelclust._arrays import knows_numpy, to_host
from kernelclust.kernels import RBF, kernel_class, kernel_names
from kernelclust.margin import loss_names
from kernelclust.multikernel import method_names
from kernelclust.structures import Custom, structure_class, structure_names

pytestmark = [pytest.mark.usefixtures("few_starts"), pytest.mark.filterwarnings("ignore")]
CLUSTERS = 4
PRESETS = [
    name
    for name, one in ((name, getattr(kernelclust, name)) for name in kernelclust.__all__)
    if inspect.isclass(one) and issubclass(one, StructuredClustering) and one is not StructuredClustering
]
HOW_FAR = {"rtol": 1e-4, "atol": 1e-4}  # sums are added in another order, weights are learned to a tolerance


# -- places ------------------------------------------------------------------------------------------------------------


def _dask_array(values):
    da = pytest.importorskip("dask.array")
    return da.from_array(values, chunks=(33, *values.shape[1:]))


def _dask_frame(values):
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    kind = pd.Series(values) if values.ndim == 1 else pd.DataFrame(values).add_prefix("x")
    return dd.from_pandas(kind, npartitions=3)


def _strict(values):
    pytest.importorskip("sklearn.externals.array_api_compat", reason="arrays elsewhere need scikit-learn 1.7")
    return pytest.importorskip("array_api_strict").asarray(values)


def _torch(device):
    def make(values):
        torch = pytest.importorskip("torch")
        if device == "cuda" and not torch.cuda.is_available():
            pytest.skip("no GPU")
        return torch.as_tensor(values, device=device)

    return make


PLACES = {
    "dask array": _dask_array,
    "dask frame": _dask_frame,
    "strict": _strict,
    "torch": _torch("cpu"),
    "cuda": _torch("cuda"),
}
every_place = pytest.mark.parametrize("place", [name for name in PLACES if name != "dask frame"])
weights_and_labels = pytest.mark.parametrize(
    ("weighted", "told"),
    [(False, False), (True, False), (False, True), (True, True)],
    ids=["plain", "weights", "labels", "both"],
)
without_and_with = pytest.mark.parametrize("given_too", [False, True], ids=["plain", "both"])


@pytest.fixture(autouse=True)
def dispatching(monkeypatch):
    """scikit-learn lets arrays of other libraries through."""
    if not knows_numpy():
        pytest.skip("arrays elsewhere, and exact kernels in partitions, need NumPy 2 and scikit-learn 1.7")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        yield


def here(value):
    """A value as numpy has it, from wherever it lies."""
    value = value.compute() if hasattr(value, "compute") else value
    return to_host(value) if hasattr(value, "__array__") or hasattr(value, "detach") else value


# -- samples -----------------------------------------------------------------------------------------------------------


@cache
def samples(c=CLUSTERS):
    """Clouds along a bent line that are far apart."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(c), 24 - 3 * np.arange(c))  # no ties between clusters
    angle = 1.7 * np.pi * truth / c
    X = np.c_[3 * np.cos(angle), 2 * np.sin(angle), 0.3 * truth] + 0.35 * rng.standard_normal((len(truth), 3))
    mixed = rng.permutation(len(truth))
    return X[mixed], truth[mixed]


@cache
def side_information(c=CLUSTERS):
    """Whole weights, and labels of some samples of two clusters."""
    _, truth = samples(c)
    weight = np.random.default_rng(1).integers(1, 6, len(truth)).astype(float)
    y = np.full(len(truth), -1)
    for j in range(min(2, c)):
        y[np.flatnonzero(truth == j)[:3]] = j
    return weight, y


def similarities(X):
    return rbf_kernel(X, gamma=0.2)


# -- what a fitted model says ------------------------------------------------------------------------------------------


def attributes(model):
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def methods(model, first):
    """Public methods that take `first`, and nothing else that they need; none that fits."""
    for name in dir(model):
        method = None if name.startswith("_") else getattr(model, name, None)
        if not inspect.ismethod(method) or "fit" in name:
            continue
        needed = [one for one in inspect.signature(method).parameters.values() if one.kind is not one.VAR_KEYWORD]
        if needed and needed[0].name == first and all(one.default is not one.empty for one in needed[1:]):
            yield name, method


def said(method, *arguments):
    """What a method returns, or the error that it raises."""
    try:
        return method(*arguments)
    except ValueError as error:
        return error


def everything(model, X):
    """Attributes and answers, by name."""
    out = dict(attributes(model))
    out |= {f"{name}(X)": said(method, X) for name, method in methods(model, "X")}
    out |= {f"{name}(3)": said(method, 3) for name, method in methods(model, "n")}
    for name, value in attributes(model).items():  # results that have questions of their own
        if type(value).__module__.startswith("kernelclust.e"):
            out |= {f"{name}.{asked}(3)": said(method, 3) for asked, method in methods(value, "n")}
    return out


def assert_same(mine, theirs, name):
    """Equal but for rounding, whatever it is."""
    mine, theirs = here(mine), here(theirs)
    if name.endswith("['embedding']"):  # directions of a subspace, which may turn
        mine, theirs = mine @ mine.T, theirs @ theirs.T
        assert_allclose(theirs, mine, atol=1e-3, err_msg=name)
        return
    if name.endswith("['history']"):  # the way there may be another
        mine, theirs = mine[-1], theirs[-1]
    if name == "n_iter_":
        assert isinstance(mine, int) and isinstance(theirs, int) and min(mine, theirs) >= 1
        return
    if isinstance(mine, Exception) or isinstance(theirs, Exception):
        assert type(mine) is type(theirs), f"{name}: {mine!r} here, {theirs!r} there"
    elif mine is None or theirs is None or isinstance(mine, (str, bool)):
        assert mine == theirs if isinstance(mine, (str, bool)) else mine is theirs, f"{name}: {mine!r}, {theirs!r}"
    elif isinstance(mine, (Number, np.ndarray)):
        if np.asarray(mine).dtype.kind in "fiub":
            assert_allclose(np.asarray(theirs, dtype=float), np.asarray(mine, dtype=float), **HOW_FAR, err_msg=name)
        else:
            np.testing.assert_array_equal(theirs, mine, err_msg=name)
    elif isinstance(mine, dict):
        assert mine.keys() == theirs.keys(), name
        for key in mine:
            assert_same(mine[key], theirs[key], f"{name}[{key!r}]")
    elif isinstance(mine, (list, tuple)):
        assert len(mine) == len(theirs), f"{name}: {len(mine)} here, {len(theirs)} there"
        for i, pair in enumerate(zip(mine, theirs, strict=True)):
            assert_same(*pair, f"{name}[{i}]")
    elif hasattr(mine, "kernel") and hasattr(mine, "n_clusters"):  # a structure
        assert_same(mine.kernel, theirs.kernel, name)
    else:
        assert type(mine) is type(theirs), name
        fields = {one for one in dir(mine) if not one.startswith("_") and not callable(getattr(mine, one))}
        assert fields, f"{name}: {mine!r} cannot be compared"
        for one in sorted(fields):
            assert_same(getattr(mine, one), getattr(theirs, one), f"{name}.{one}")


HOST: dict[tuple, tuple] = {}  # what models say about arrays of numpy, which all other places are compared with


def on_the_host(model, X, weight, y):
    texts = str(sorted(model.get_params().items(), key=str))
    key = (texts, getattr(model, "structure", None), type(model), weight is None, y is None)
    if key not in HOST:
        HOST.clear()
        HOST[key] = everything(clone(model).fit(X, y, sample_weight=weight), X)
    return HOST[key]


def check(model, place, X, weight=None, y=None, *, names):
    """Fit here and there, and compare; a refusal says one of the `names`, and without names there is none."""
    make = PLACES[place]
    there = [make(one) for one in X] if isinstance(X, list) else make(X)
    beside = [None if one is None else make(one) for one in (y, weight)]
    try:
        other = clone(model).fit(there, beside[0], sample_weight=beside[1])
    except ValueError as error:
        assert any(name in str(error) for name in names), f"a refusal that names none of {names}: {error}"
        return
    expected, found = on_the_host(model, X, weight, y), everything(other, there)
    assert expected.keys() == found.keys() - {"feature_names_in_"}
    wrong = []
    for name, value in expected.items():
        try:
            assert_same(value, found[name], name)
        except AssertionError as error:
            wrong.append(str(error).strip().replace("\n\n", "\n"))
    assert not wrong, "\n".join(wrong)


def may_refuse(kernel):
    """Functions of two samples run everywhere; others may be refused by name."""
    return [] if kernel_class(kernel).is_function else [kernel]


def given(weighted, told, c=CLUSTERS):
    weight, y = side_information(c)
    return weight if weighted else None, y if told else None


# -- the contract ------------------------------------------------------------------------------------------------------


def test_everything_is_looked_at():
    X, _ = samples()
    found = everything(StructuredClustering(structure="ring:4", kernel="rbf", random_state=0).fit(X), X)
    assert {"labels_", "sizes_", "objective_", "predict(X)", "membership(X)", "position(X)", "score(X)"} <= set(found)
    assert {"pseudotime(X)", "lineages(X)"} <= set(found)
    assert any("(3)" in name and not isinstance(value, Exception) for name, value in found.items())
    assert {"transform(X)", "upper_bound_"} <= set(found) and PRESETS


@every_place
@pytest.mark.parametrize("kernel", kernel_names())
@weights_and_labels
def test_kernels(place, kernel, weighted, told):
    X, _ = samples()
    X = similarities(X) if kernel_class(kernel).pairwise else X
    model = StructuredClustering(structure="ring:4", kernel=kernel, random_state=0)
    check(model, place, X, *given(weighted, told), names=may_refuse(kernel))


@every_place
@pytest.mark.parametrize("approximation", [None, "nystroem", "cholesky", "random_features"])
def test_approximations(place, approximation):
    X, _ = samples()
    options = {} if approximation is None else {"n_components": len(X)}
    model = build(
        StructuredClustering, structure="ring:4", kernel="rbf", approximation=approximation, random_state=0, **options
    )
    check(model, place, X, *given(True, True), names=["approximation"])


@every_place
def test_widths(place):
    for gamma in ("scale", "median", 0.3):
        model = StructuredClustering(structure="ring:4", kernel=RBF(gamma), approximation=None, random_state=0)
        check(model, place, samples()[0], *given(True, False), names=["gamma"])


@every_place
@without_and_with
def test_a_function_of_the_users(place, given_too):
    model = StructuredClustering(structure="chain:4", kernel=lambda A, B: (A @ B.T + 1.0) ** 2, random_state=0)
    check(model, place, samples()[0], *given(given_too, given_too), names=["kernel"])


@every_place
@pytest.mark.parametrize("structure", structure_names())
@weights_and_labels
def test_structures(place, structure, weighted, told):
    structure = structure_class(structure).example(CLUSTERS)
    model = StructuredClustering(structure=structure, kernel="rbf", approximation=None, random_state=0)
    check(
        model,
        place,
        samples(structure.n_clusters)[0],
        *given(weighted, told, structure.n_clusters),
        names=["structure"],
    )


@every_place
@without_and_with
def test_graphs(place, given_too):
    """Positions on a graph: an edge and a fraction, one cluster without an edge; a fork has paths from a root."""
    fork = np.array([[0, 1, 0, 0], [1, 0, 1, 1], [0, 1, 0, 0], [0, 1, 0, 0]])
    path = fork * (np.add.outer(np.arange(4), np.arange(4)) < 4)
    for links in (fork, path):
        model = StructuredClustering(structure=Custom.from_links(links), kernel="rbf", approximation=None)
        check(model.set_params(random_state=0), place, samples()[0], *given(given_too, given_too), names=[])


@every_place
@pytest.mark.parametrize("preset", PRESETS)
@without_and_with
def test_presets(place, preset, given_too):
    kind = getattr(kernelclust, preset)
    size = {"structure": "chain:4"} if "structure" in kind().get_params() else {"n_clusters": 4}
    check(build(kind, random_state=0, **size), place, samples()[0], *given(given_too, given_too), names=[preset])


@every_place
@pytest.mark.parametrize("method", method_names())
@pytest.mark.parametrize("told", [False, True], ids=["plain", "labels"])
def test_methods_of_many_kernels(place, method, told):
    X, _ = samples()
    model = MultiKernelClustering(structure="chain:4", kernel="rbf", method=method, random_state=0)
    check(model, place, [X[:, :2], X[:, 1:]], *given(False, told), names=[method])


@every_place
@pytest.mark.parametrize("kernel", kernel_names())
@without_and_with
def test_kernels_of_views(place, kernel, given_too):
    X, _ = samples()
    views = [similarities(X[:, :2]), similarities(X[:, 1:])] if kernel_class(kernel).pairwise else [X[:, :2], X[:, 1:]]
    model = MultiKernelClustering(structure="ring:4", kernel=kernel, random_state=0)
    check(model, place, views, *given(given_too, given_too), names=may_refuse(kernel))


@every_place
@pytest.mark.parametrize("kernel", kernel_names())
@without_and_with
def test_margin(place, kernel, given_too):
    X, _ = samples(2)
    X = similarities(X) if kernel_class(kernel).pairwise else X
    model = MaxMarginClustering(2, kernel=kernel, random_state=0)
    check(model, place, X, *given(given_too, given_too, 2), names=may_refuse(kernel))


@every_place
@pytest.mark.parametrize("loss", loss_names())
def test_losses_of_the_margin(place, loss):
    check(MaxMarginClustering(2, loss=loss, random_state=0), place, samples(2)[0], *given(True, True, 2), names=[loss])


def test_frames_in_partitions():
    X, _ = samples()
    for model in (
        StructuredClustering(structure="ring:4", kernel="rbf", approximation=None, random_state=0),
        StructuredClustering(structure="ring:4", kernel="linear", random_state=0),
        MaxMarginClustering(4, random_state=0),
    ):
        check(model, "dask frame", X, *given(True, True), names=[])
