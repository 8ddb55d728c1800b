"""Every estimator on random cases, held to every invariant; `make soak` runs many more."""

import numpy as np
import pytest
from cases import ESTIMATORS, Case, draw
from hypothesis import given, note, settings
from hypothesis import strategies as st
from invariants import check

from kernelclust.kernels import RBF, Nystroem, RandomFeatures
from kernelclust.margin import NMI, CuttingPlane
from kernelclust.objectives import Dependence
from kernelclust.solvers import LowRankSDP, Spectral
from kernelclust.structures import Chain, Flat, Grid, Product
from reproduction.multikernel import LMKKM, RMKKM

settings.register_profile("properties", derandomize=True, deadline=None, database=None, max_examples=5)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@settings(settings.get_profile("properties"))
@given(data=st.data())
def test_invariants(estimator, data):
    case = draw(lambda options: data.draw(st.sampled_from(options)), estimator)
    note(repr(case))
    check(case)


def _samples(shape, n, d, *, scale=1.0, offset=0.0, dtype="float64", layout="C", listed=False):
    return locals()


FOUND_BY_SOAK = {
    "distances of rmkkm that are rounding": Case(
        "MultiKernelClustering",
        {
            "method": RMKKM(refine=False),
            "kernel": "precomputed",
            "structure": Chain(3),
            "objective": Dependence(loss=np.array([[0.0, 1.5, 4.5], [1, 0, 1.5], [4, 1, 0]]), placement="F"),
        },
        3,
        _samples("outlier", 30, 2, scale=1e-9, layout="read-only", listed=True),
        "none",
        ["tight sizes", "contradiction"],
        "order",
        514,
    ),
    "a constant view after unit_diagonal": Case(
        "MultiKernelClustering",
        {
            "method": LMKKM(refine=False, n_init=1),
            "kernel": "linear",
            "structure": Chain(2),
            "objective": Dependence(normalize="l1"),
            "label_weight": 0.5,
        },
        2,
        _samples("collinear", 32, 5, scale=1e-9, offset=1e6, layout="sparse", listed=True),
        "integers",
        ["labels", "must pairs", "must groups"],
        "repeats",
        715,
    ),
    "a variance that underflows": Case(
        "DisKMeans",
        {
            "kernel": RBF(1000.0),
            "solver": LowRankSDP(),
            "approximation": RandomFeatures(),
            "max_iter": 1,
            "structure": Chain(6),
        },
        6,
        _samples("arc", 6, 2, scale=1e-160, offset=1.0, layout="Fortran"),
        "none",
        ["cannot pairs", "cannot groups"],
        "jobs",
        154,
    ),
    "an eigenvalue that is rounding": Case(
        "StructuredClustering",
        {
            "kernel": "linear",
            "solver": Spectral(),
            "approximation": None,
            "label_weight": 0.5,
            "max_iter": 3,
            "structure": Product(Flat(2), Chain(3)),
        },
        6,
        _samples("copies", 35, 1, scale=1e9, dtype="float32", layout="sparse"),
        "none",
        ["cannot pairs", "cannot groups", "contradiction"],
        "repeats",
        229,
    ),
    "principal directions of constant samples": Case(
        "MaxMarginClustering",
        {
            "loss": NMI(),
            "C": 1e-3,
            "solver": CuttingPlane(n_init=3, n_components=1),
            "approximation": None,
            "n_clusters": 1,
        },
        1,
        _samples("constant", 28, 3, scale=1e6, offset=1.0, dtype="int64", layout="read-only"),
        "ones",
        ["labels", "contradiction"],
        "order",
        255,
    ),
    "landmarks of the rbf kernel that arranges a grid": Case(
        "StructuredClustering",
        {
            "approximation": Nystroem(5),
            "objective": Dependence(rho=0.0),
            "label_weight": 10.0,
            "structure": Grid(2, 3),
        },
        6,
        _samples("arc", 38, 3, scale=1e6, dtype="int64", layout="read-only"),
        "none",
        ["sizes", "contradiction"],
        "order",
        229,
    ),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", FOUND_BY_SOAK)
def test_cases_that_a_soak_broke_once(name):
    """Cases of fixed bugs, written out: what a seed draws changes with the parts and their parameters."""
    case = FOUND_BY_SOAK[name]
    case.parameters["random_state"] = 0
    check(case)
