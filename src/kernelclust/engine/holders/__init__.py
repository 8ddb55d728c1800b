"""Samples wherever they lie, and their fit: on a device (`_device`), in partitions by features (`_features`) or by the
kernel itself (`_exact`). A holder gives some samples to the ordinary search, and all of them to a pool, whose rounds
raise F (`_fit`).
"""

from kernelclust.engine.holders._device import DeviceHolder
from kernelclust.engine.holders._exact import ExactHolder, reading
from kernelclust.engine.holders._features import (
    FeatureHolder,
    FeaturePool,
    Features,
    feature_gram,
    feature_moments,
    look_at_all,
    products,
)
from kernelclust.engine.holders._partitions import (
    ArrayPartitions,
    DaskPartitions,
    Partitions,
    align_to_partitions,
    as_rows,
    is_partitioned,
    map_partitions,
)

__all__ = [
    "ArrayPartitions",
    "DaskPartitions",
    "DeviceHolder",
    "ExactHolder",
    "FeatureHolder",
    "FeaturePool",
    "Features",
    "Partitions",
    "align_to_partitions",
    "as_rows",
    "feature_gram",
    "feature_moments",
    "is_partitioned",
    "look_at_all",
    "map_partitions",
    "products",
    "reading",
]
