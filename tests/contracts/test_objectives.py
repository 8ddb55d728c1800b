"""The objective as an object: it prints as it is written, and is refused in words where it is wrong."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from kernelclust.objectives import ClusterObjective, Dependence, flat_objective
from kernelclust.structures import as_structure


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "zero-one", "normalize": "l1", "rho": 0},
        {"size_prior": 0.2},
        {"placement": None},
        {"C": 2.0, "rescale": "margin"},
    ],
)
def test_it_prints_as_it_is_written(params):
    objective = Dependence(**params)
    for one in (clone(objective), eval(repr(objective), {"Dependence": Dependence}), Dependence().set_params(**params)):
        assert one.get_params() == objective.get_params() == Dependence().get_params() | params
    objective.check()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"normalize": "l3"}, "unknown normalize 'l3'; known: None, 'l1', 'l2'"),
        ({"placement": "distanc"}, "unknown placement 'distanc'.*Did you mean 'distance'"),
        ({"rho": -1}, "rho=-1: give a number of 0 or more"),
        ({"C": 0}, "C=0: give a number above 0"),
        ({"gamma": -1.0}, "gamma=-1.0: give a number above 0"),
        ({"rescale": "slak"}, "unknown rescale 'slak'.*Did you mean 'slack'"),
        ({"size_prior": "aut"}, "unknown size_prior 'aut'"),
        ({"size_prior": -0.5}, "size_prior=-0.5: give a number of 0 or more"),
    ],
)
def test_a_wrong_parameter_is_named(wrong, says):
    with pytest.raises((ValueError, TypeError), match=says):
        Dependence(**wrong).check()


def test_binding_adds_rho_and_the_size_prior_to_the_structure():
    ring = as_structure("ring:5")
    bound = Dependence(rho=1.5).bind(ring)
    assert isinstance(bound, ClusterObjective) and bound.size_prior == 0 and not bound.has_loss
    assert_array_equal(bound.A, ring.kernel + 1.5 * np.eye(5))
    assert Dependence(size_prior=0.2).bind(ring).size_prior == 0.2
    assert Dependence(size_prior="auto").bind(ring, size_prior=0.3).size_prior == 0.3
    assert flat_objective(Dependence(size_prior=0.2).bind(ring)).size_prior == 0.2
    with pytest.raises(ValueError, match=r"size_prior=0.2 needs normalize='l2' or 'l1' and no loss"):
        Dependence(loss="structure", size_prior=0.2).bind(ring)
