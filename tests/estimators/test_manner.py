"""One manner for all estimators: parameters, defaults, and what was found wrong before."""

import inspect
import threading
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_info, threadpool_limits

from kernelclust import (
    CLUHSIC,
    CLUHSICAL,
    Diffrac,
    DisKMeans,
    KernelKMeans,
    MaxMarginClustering,
    MultiKernelClustering,
    StructuredClustering,
    _threads,
)
from kernelclust._threads import in_order, n_threads, one_thread
from kernelclust.kernels import auto
from kernelclust.policies import auto as policy

pytestmark = pytest.mark.usefixtures("few_starts")

PRESETS = [KernelKMeans, CLUHSIC, CLUHSICAL, DisKMeans, Diffrac]
EVERYONE = [StructuredClustering, *PRESETS, MultiKernelClustering, MaxMarginClustering]
X = make_blobs(80, 6, centers=4, random_state=0)[0]


@pytest.mark.parametrize(
    ("Estimator", "most"),
    [
        (StructuredClustering, 14),
        (MultiKernelClustering, 15),
        (MaxMarginClustering, 12),
        *((one, 15) for one in PRESETS),
    ],
)
def test_an_estimator_has_few_parameters(Estimator, most):
    assert len(Estimator().get_params(deep=False)) <= most


@pytest.mark.parametrize("Estimator", EVERYONE)
def test_an_estimator_has_few_attributes(Estimator):
    model = Estimator(2, random_state=0).fit(X)
    public = [name for name in dir(model) if name.endswith("_") and not name.startswith("_") and hasattr(model, name)]
    assert len(public) <= 14, public


@pytest.mark.parametrize("Preset", PRESETS)
def test_presets_declare_what_differs_and_nothing_else(Preset):
    base = StructuredClustering().get_params()
    own = Preset().get_params()
    added = set(own) - set(base)
    assert added <= {"lam", "kappa", "loss", "normalize", "init", "n_init"}
    assert "__init__" not in inspect.getsource(Preset)
    for name in set(base) - set(own):  # what is fixed is fixed for all of the class
        assert hasattr(Preset, name)
    with pytest.raises(TypeError, match="unexpected keyword"):
        Preset(nonsense=1)


@pytest.mark.parametrize("Estimator", EVERYONE)
def test_names_and_defaults_are_the_same_everywhere(Estimator):
    params = Estimator().get_params()
    assert params["verbose"] == 0
    assert params["random_state"] is None
    assert params["approximation"] == "auto"
    assert params["max_iter"] == 100
    signature = list(inspect.signature(Estimator.fit).parameters)
    assert signature[:6] == ["self", "X", "y", "sample_weight", "must_link", "cannot_link"]
    model = Estimator(2, random_state=0).fit(X)
    assert 0 <= model.score(X) <= 1
    assert model.sizes_.sum() == len(X)
    assert model.n_iter_ >= 1
    if Estimator is not MaxMarginClustering:
        assert model.structure_.n_clusters == 2
        assert model.order_ is None  # two clusters have one arrangement


@pytest.mark.parametrize("Estimator", [StructuredClustering, CLUHSIC, CLUHSICAL, DisKMeans, MultiKernelClustering])
def test_a_number_that_contradicts_the_structure_is_always_an_error(Estimator):
    """8 used to be taken for "not given"."""
    for number in (4, 8):
        with pytest.raises(ValueError, match=r"ring:6|n_clusters"):
            Estimator(n_clusters=number, structure="ring:6").fit(X)
    assert Estimator(6, structure="ring:6", random_state=0).fit(X).structure_.n_clusters == 6
    assert Estimator(structure="ring:6", random_state=0).fit(X).structure_.n_clusters == 6
    assert Estimator(structure="ring", random_state=0).fit(X).structure_.n_clusters == 8


@pytest.mark.parametrize("Preset", [CLUHSIC, CLUHSICAL, DisKMeans, Diffrac])
def test_presets_take_no_size_prior_that_they_do_not_have(Preset, monkeypatch):
    monkeypatch.setattr(auto, "MIN_VIEW_AGREEMENT", 2.0)  # views always disagree
    assert policy.SIZE_PRIOR > 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = Preset(4, kernel="auto", random_state=0).fit(X)
        general = StructuredClustering(4, kernel="auto", random_state=0).fit(X)
    assert model.diagnostics_.size_prior == 0
    assert general.diagnostics_.size_prior == policy.SIZE_PRIOR
    assert sum("size_prior" in str(one.message) for one in caught) == 1


def blas_threads():
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def test_blas_threads_are_restored_whatever_runs_beside():
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        assert max(before) == 2
        seen = []

        def one_fit(seed):
            seen.append(KernelKMeans(4, random_state=seed).fit(X).labels_)

        fits = [threading.Thread(target=one_fit, args=(seed,)) for seed in range(6)]
        for one in fits:
            one.start()
        for one in fits:
            one.join()
        one_fit(6)
        assert len(seen) == 7
        assert blas_threads() == before
        first, second = one_thread(), one_thread()  # overlapping: the last to leave restores
        first.__enter__()
        second.__enter__()
        first.__exit__()
        assert max(blas_threads()) == 1
        second.__exit__()
        assert blas_threads() == before
        with pytest.raises(ValueError, match="NaN"):
            KernelKMeans(4).fit(X * np.nan)
        assert blas_threads() == before


def test_a_single_item_of_work_has_all_threads(monkeypatch):
    """A pass over the kernel was made by one thread, because one start was climbed from in a thread of its own."""
    monkeypatch.setattr(_threads, "_openmp_effective_n_threads", lambda: 3)
    assert list(in_order(lambda item: n_threads(), [0])) == [3]
    assert list(in_order(lambda item: n_threads(), [0, 1])) == [1, 1]
    assert n_threads() == 3
