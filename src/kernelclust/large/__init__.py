"""More samples than one core can bear: on a graphics card, or in partitions."""

from kernelclust.large._dask import as_parts, as_rows, beside, is_partitioned, lazily, shards_of
from kernelclust.large._exact import Read, fit_exact
from kernelclust.large._grow import Grown, grow
from kernelclust.large._shards import (
    Features,
    Moments,
    Sharded,
    Sums,
    feature_gram,
    feature_moments,
    fit_features,
    fit_shards,
    look_at_all,
)
from kernelclust.large._tensors import TensorShards, ThereSamples, features_there, labels_there

__all__ = [
    "Features",
    "Grown",
    "Moments",
    "Read",
    "Sharded",
    "Sums",
    "TensorShards",
    "ThereSamples",
    "as_parts",
    "as_rows",
    "beside",
    "feature_gram",
    "feature_moments",
    "features_there",
    "fit_exact",
    "fit_features",
    "fit_shards",
    "grow",
    "is_partitioned",
    "labels_there",
    "lazily",
    "look_at_all",
    "shards_of",
]
