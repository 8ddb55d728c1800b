"""One fit as a value: checked input in, a frozen result out. Estimators, selection and many kernels call it."""

from kernelclust.engine._config import FitConfig, Policy, Samples, distance_exponent
from kernelclust.engine._fit import arrange, useful_spectrum
from kernelclust.engine._found import check_sought, structure_of
from kernelclust.engine._judge import Fit, canonical_places, judge, numbered_from, numbered_like, with_order
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
from kernelclust.engine._position_errors import PositionErrors
from kernelclust.engine._rounds import Holder, InMemory, fit, go_on
from kernelclust.engine._shapes import family_or_flat, structure_probabilities
from kernelclust.engine._steps import is_connected, order_agreement, place, squared_distances, steps
from kernelclust.engine._structure_table import StructureTable

__all__ = [
    "FEW",
    "UNSURE",
    "Alternative",
    "ClusterOrder",
    "Fit",
    "FitConfig",
    "Holder",
    "InMemory",
    "Order",
    "Places",
    "Policy",
    "PositionErrors",
    "Prediction",
    "Samples",
    "StructureTable",
    "alternatives",
    "arrange",
    "canonical_places",
    "check_sought",
    "cluster_order",
    "confidence_of",
    "distance_exponent",
    "doubtful",
    "family_or_flat",
    "fit",
    "go_on",
    "is_connected",
    "judge",
    "n_arrangements",
    "numbered_from",
    "numbered_like",
    "order_agreement",
    "place",
    "squared_distances",
    "steps",
    "structure_of",
    "structure_probabilities",
    "useful_spectrum",
    "with_order",
]
