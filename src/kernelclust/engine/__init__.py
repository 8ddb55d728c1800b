"""One fit as a value: checked input in, a frozen result out. Estimators and selection call it, nothing is overridden."""

from kernelclust.engine._fit import Fit, Request, fit, warn_of_margin
from kernelclust.engine._numbering import canonical_places, renumbered
from kernelclust.engine._prediction import Prediction

__all__ = ["Fit", "Prediction", "Request", "canonical_places", "fit", "renumbered", "warn_of_margin"]
