"""More samples than one core can bear: on a graphics card, or any device of the array API."""

from kernelclust.large._grow import Grown, grow

__all__ = ["Grown", "grow"]
