"""Collections that no single machine need hold, in shards, and kernels applied to them on a Dask cluster."""

from relaxwl.distributed.applying import predict, transform, transform_to_files
from relaxwl.distributed.shards import ShardedCollection, ShardWriter
from relaxwl.distributed.shards import ShardError as ShardError

__all__ = ["ShardWriter", "ShardedCollection", "predict", "transform", "transform_to_files"]
