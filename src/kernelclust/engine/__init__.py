"""One fit as a value: checked input in, a frozen result out. Estimators, selection and many kernels call it."""

from kernelclust.engine._config import FitConfig, Policy, Samples, distance_exponent
from kernelclust.engine._fit import arrange, fit, useful_spectrum
from kernelclust.engine._judge import Fit, canonical_places, judge, numbered_like, with_order
from kernelclust.engine._order import FEW, UNSURE, Order, n_arrangements
from kernelclust.engine._order_result import (
    Alternative,
    ClusterOrder,
    alternatives,
    cluster_order,
    confidence_of,
    doubtful,
)
from kernelclust.engine._places import Places, Prediction
from kernelclust.engine._steps import is_connected, order_agreement, place, squared_distances, steps

__all__ = [
    "FEW",
    "UNSURE",
    "Alternative",
    "ClusterOrder",
    "Fit",
    "FitConfig",
    "Order",
    "Places",
    "Policy",
    "Prediction",
    "Samples",
    "alternatives",
    "arrange",
    "canonical_places",
    "cluster_order",
    "confidence_of",
    "distance_exponent",
    "doubtful",
    "fit",
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
