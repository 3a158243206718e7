"""Sharded collections, and kernels fitted and applied to them with Dask."""

from relaxwl.distributed.applying import predict, transform, transform_to_files
from relaxwl.distributed.shards import ShardedCollection, ShardWriter
from relaxwl.distributed.shards import ShardError as ShardError

__all__ = ["ShardWriter", "ShardedCollection", "predict", "transform", "transform_to_files"]
