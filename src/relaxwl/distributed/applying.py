"""Fitted kernels applied to sharded collections: one task per shard, on a Dask cluster or in this process.

A task receives the name of a shard and the model, opens the shard on its worker and returns features. If a worker dies,
another one computes its results again.
"""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, save_npz, vstack

from relaxwl._execution import one_thread
from relaxwl._storage import atomic_write
from relaxwl.distributed.shards import ShardedCollection
from relaxwl.graphs import GraphCollection
from relaxwl.kernels.base import CountKernel, explicit_features


def transform(kernel: CountKernel, shards: ShardedCollection) -> Any:
    """Return the features of all graphs as a lazy Dask array, one sparse block per shard.

    ``compute()`` runs on the current client and joins the blocks; ``to_delayed()`` returns them separately. The result
    equals ``kernel.transform(shards.to_collection())`` bit for bit.

    Parameters
    ----------
    kernel : fitted kernel with explicit features
        It is sent to the workers once.
    shards : ShardedCollection
        Shards in a folder that all workers can read.

    Returns
    -------
    dask.array.Array (n_graphs, n_features)
        The features, a sparse block per shard.

    See Also
    --------
    transform_to_files : Write the features to files.
    predict : Predictions instead of features.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from relaxwl import WeisfeilerLehman
    >>> from relaxwl.datasets import make_egonets
    >>> from relaxwl.distributed import ShardWriter
    >>> graphs, y = make_egonets(20, random_state=0)
    >>> kernel = WeisfeilerLehman(1).fit(graphs)
    >>> with TemporaryDirectory() as folder:
    ...     with ShardWriter(folder, graphs_per_shard=8) as writer:
    ...         writer.add(graphs)
    ...     transform(kernel, ShardedCollection.open(folder)).numblocks
    (3, 1)
    """
    array, delayed = _dask("dask.array"), _dask("dask")
    sent = delayed.delayed(kernel, pure=True)
    task = delayed.delayed(_features, pure=True)
    n_columns = _features(kernel, shards[0][:1]).shape[1]
    blocks = [
        array.from_delayed(task(sent, shard), (part.n_graphs, n_columns), meta=csr_array((0, n_columns)))
        for shard, part in zip(shards.singles(), shards.manifest.parts, strict=True)
    ]
    # Dask joins sparse matrices, but not the sparse arrays of older versions of SciPy.
    array.dispatch.concatenate_lookup.register(
        csr_array, lambda parts, axis=0: (vstack, hstack)[axis](parts, format="csr")
    )
    return array.concatenate(blocks, axis=0)


def predict(model: Any, shards: ShardedCollection, method: str = "predict") -> Any:
    """Return the predictions of a fitted model for all graphs as a lazy Dask array, one block per shard.

    Parameters
    ----------
    model : fitted model
        A :class:`relaxwl.GraphClassifier`, a pipeline that begins with a kernel, or another model for graphs, fitted
        for instance to :meth:`ShardedCollection.sample`. It is sent to the workers once.
    shards : ShardedCollection
        Shards in a folder that all workers can read.
    method : str, default="predict"
        Method of the model to call, such as ``"predict_proba"``; it must return one array with a row for each graph.

    Returns
    -------
    dask.array.Array (n_graphs, ...)
        The predictions, a block per shard.

    See Also
    --------
    transform : Features instead of predictions.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from relaxwl import WeisfeilerLehman
    >>> from relaxwl.datasets import make_egonets
    >>> from relaxwl.distributed import ShardWriter
    >>> graphs, y = make_egonets(60, random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     with ShardWriter(folder, graphs_per_shard=20) as writer:
    ...         writer.add(graphs, y)
    ...     shards = ShardedCollection.open(folder)
    ...     model = make_pipeline(WeisfeilerLehman(1), KNeighborsClassifier()).fit(*shards.sample(40))
    ...     predict(model, shards).compute().shape
    (60,)
    """
    array, delayed = _dask("dask.array"), _dask("dask")
    sent = delayed.delayed(model, pure=True)
    task = delayed.delayed(_predictions, pure=True)
    kind = _predictions(model, method, shards[0][:1])
    blocks = [
        array.from_delayed(task(sent, method, shard), (part.n_graphs, *kind.shape[1:]), kind.dtype)
        for shard, part in zip(shards.singles(), shards.manifest.parts, strict=True)
    ]
    return array.concatenate(blocks, axis=0)


def _predictions(model: Any, method: str, graphs: Any) -> NDArray[Any]:
    """Return the predictions for graphs, or for a collection of one shard."""
    graphs = graphs[0] if isinstance(graphs, ShardedCollection) else graphs
    with one_thread():
        found = getattr(model, method)(graphs)
    try:
        rows = np.asarray(found)
    except ValueError:  # arrays of different shapes, as for several targets
        rows = np.zeros(())
    if rows.shape[:1] != (len(graphs),):
        raise ValueError(
            f"{method} of {type(model).__name__} does not return one array with a row for each graph; call it for each "
            f"shard: [model.{method}(shard) for shard in shards]"
        )
    return rows


def transform_to_files(
    kernel: CountKernel, shards: ShardedCollection, folder: str | os.PathLike[str], *, client: Any = None
) -> list[Path]:
    """Write the features of each shard to a file ``features-….npz`` in the format of ``scipy.sparse.save_npz``.

    Existing files are kept, so that an interrupted run can be resumed. Use a separate folder for each kernel and
    collection.

    Parameters
    ----------
    kernel : fitted kernel with explicit features
        It is sent to the workers once.
    shards : ShardedCollection
        Shards in a folder that all workers can read.
    folder : path
        Created if it does not exist. All workers must be able to write to it.
    client : dask.distributed.Client, optional
        Client that runs the tasks, one per shard; without a client, shards are processed one after the other in this
        process.

    Returns
    -------
    list of Path
        The files, in the order of the shards.

    See Also
    --------
    transform : The features as a Dask array.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from relaxwl import WeisfeilerLehman
    >>> from relaxwl.datasets import make_egonets
    >>> from relaxwl.distributed import ShardWriter
    >>> graphs, y = make_egonets(20, random_state=0)
    >>> kernel = WeisfeilerLehman(1).fit(graphs)
    >>> with TemporaryDirectory() as folder:
    ...     with ShardWriter(folder, graphs_per_shard=8) as writer:
    ...         writer.add(graphs)
    ...     files = transform_to_files(kernel, ShardedCollection.open(folder), f"{folder}/features")
    ...     len(files)
    3
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    task = partial(_write_features, kernel, target)
    return [Path(path) for path in _mapped(task, shards, client)]


def _mapped(task: Callable[[ShardedCollection], str], shards: ShardedCollection, client: Any) -> Iterator[str]:
    singles = shards.singles()
    if client is None:
        return map(task, singles)
    return iter(client.gather(client.map(task, singles, pure=True)))


def _features(kernel: CountKernel, shard: ShardedCollection | GraphCollection) -> csr_array:
    """Return the features of graphs, or of a collection of one shard; by one thread, since tasks use all cores."""
    with one_thread():
        return explicit_features(kernel, kernel.prepare(shard[0] if isinstance(shard, ShardedCollection) else shard))


def _write_features(kernel: CountKernel, folder: Path, shard: ShardedCollection) -> str:
    path = folder / f"features-{Path(shard.manifest.parts[0].name).stem.removeprefix('part-')}.npz"
    if not path.exists():
        features = _features(kernel, shard)
        with atomic_write(path) as file:
            save_npz(file, features)
    return str(path)


def _dask(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise ImportError("sharded collections on a cluster need Dask: pip install 'relaxwl[dask]'") from None
