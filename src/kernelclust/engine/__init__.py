"""One fit as a value: checked input in, a frozen result out. Estimators and selection call it."""

from kernelclust.engine._evidence import LOW_SUPPORT
from kernelclust.engine._fit import Fit, Request, fit, warn_of_margin
from kernelclust.engine._numbering import canonical_places, renumbered
from kernelclust.engine._prediction import Prediction

__all__ = ["LOW_SUPPORT", "Fit", "Prediction", "Request", "canonical_places", "fit", "renumbered", "warn_of_margin"]
