"""One fit as a value: checked input in, a frozen result out. Estimators, selection and many kernels call it."""

from kernelclust.engine._alternatives import Alternative, alternatives, doubtful
from kernelclust.engine._arrange import arrange
from kernelclust.engine._doubt import UNSURE
from kernelclust.engine._fit import Fit, Request, fit, judge, numbered_like, useful_spectrum, with_order
from kernelclust.engine._numbering import canonical_places
from kernelclust.engine._order import FEW, Order, n_arrangements
from kernelclust.engine._places import Places, fitted_places
from kernelclust.engine._prediction import Prediction
from kernelclust.engine._steps import is_connected, order_agreement, place, squared_distances, steps

__all__ = [
    "FEW",
    "UNSURE",
    "Alternative",
    "Fit",
    "Order",
    "Places",
    "Prediction",
    "Request",
    "alternatives",
    "arrange",
    "canonical_places",
    "doubtful",
    "fit",
    "fitted_places",
    "is_connected",
    "judge",
    "n_arrangements",
    "numbered_like",
    "order_agreement",
    "place",
    "squared_distances",
    "steps",
    "useful_spectrum",
    "with_order",
]
