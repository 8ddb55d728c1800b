"""One fit as a value: checked input in, a frozen result out. Estimators, selection and many kernels call it."""

from kernelclust.engine._alternatives import Alternative, alternatives, doubtful
from kernelclust.engine._arrange import arrange
from kernelclust.engine._evidence import LOW_SUPPORT
from kernelclust.engine._fit import Fit, Request, fit, judge, useful_spectrum, warn_of_order
from kernelclust.engine._numbering import canonical_places
from kernelclust.engine._places import Places
from kernelclust.engine._prediction import Prediction

__all__ = [
    "LOW_SUPPORT",
    "Alternative",
    "Fit",
    "Places",
    "Prediction",
    "Request",
    "alternatives",
    "arrange",
    "canonical_places",
    "doubtful",
    "fit",
    "judge",
    "useful_spectrum",
    "warn_of_order",
]
