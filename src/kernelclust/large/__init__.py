"""More samples than one core can bear: on a graphics card, or in partitions."""

from kernelclust.large._dask import as_parts, as_rows, beside, is_partitioned, lazily, shards_of
from kernelclust.large._exact import Read, fit_exact
from kernelclust.large._grow import Grown, grow
from kernelclust.large._shards import Sharded, fit_shards

__all__ = [
    "Grown",
    "Read",
    "Sharded",
    "as_parts",
    "as_rows",
    "beside",
    "fit_exact",
    "fit_shards",
    "grow",
    "is_partitioned",
    "lazily",
    "shards_of",
]
