"""Linear predictors fitted to shards: features by shard, losses and gradients summed over the shards in their order.

Features are computed once for each shard and stay on the workers of a cluster or, without a cluster, in memory-mapped
files of a temporary folder. So a fit needs memory for one shard and a few gradients at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from relaxwl._progress import report
from relaxwl.distributed.fitting import ShardPart, source_of
from relaxwl.distributed.fitting import fit as fit_kernel
from relaxwl.distributed.levels import FAN_IN, ShardSource
from relaxwl.distributed.shards import ShardedCollection
from relaxwl.distributed.tasks import Cluster, Handle, current_tasks
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64, prefix_sums
from relaxwl.kernels.statistics import N_RANKED, evenly_spaced
from relaxwl.learning.linear import Models, Task, add_losses, losses_of, squares_of, values_of
from relaxwl.molecules.descriptors import descriptor_names, ranked_rows, raw_descriptors
from relaxwl.molecules.reading import as_molecules
from relaxwl.predictors.blocks import KernelBlocks
from relaxwl.predictors.views import CountView, Objects, Similarity, StatisticsScaler, VectorView


@contextmanager
def fit_features(blocks: KernelBlocks, shards: ShardedCollection, verbose: int = 0) -> Iterator["ShardRows"]:
    """Fit the views of blocks to all shards; a context manager that provides the features of the shards."""
    for place, view in enumerate(blocks.views, 1):
        if isinstance(view, CountView):
            fit_kernel(view.kernel, shards, unary=True)
        if isinstance(view, VectorView):
            _fit_vectors(view, shards)
        report(verbose, "%s: fitted to %d shards", view.name, len(shards), share=place / (len(blocks.views) + 1))
    tasks = current_tasks()
    on_cluster = isinstance(tasks, Cluster)
    with tasks.working(shards.folder) if isinstance(tasks, Cluster) else nullcontext(), TemporaryDirectory() as folder:
        source = source_of(shards, tasks)
        written = None if on_cluster else folder
        found = source.each(features_of_part, blocks, written)
        n_features = sum(view.n_features() for view in blocks.views)
        yield ShardRows(source, found, [part.n_graphs for part in shards.manifest.parts], n_features, written)


def _fit_vectors(view: VectorView, shards: ShardedCollection) -> None:
    """Fit the scale of descriptors or statistics to objects that are evenly spaced among those of all shards."""
    source = source_of(shards, current_tasks())
    if isinstance(view.scaler, StatisticsScaler):
        rows = source.tasks.share(evenly_spaced(np.arange(shards.n_graphs), N_RANKED))
        view.scaler.fit(source.joined(GraphCollection.concatenate, source.each_part(graphs_of_part, rows)))
    else:
        rows = source.tasks.share(ranked_rows(shards.n_graphs))
        view.scaler.fit_table(source.joined(np.concatenate, source.each_part(descriptors_of_part, rows)))
    # A linear model takes the columns themselves, whatever kernels there would be on them.
    view.kernels, view.blocks = ((None, None),), view.blocks[:1]
    view.similarities = [Similarity(np.arange(view.n_features()), None, 1.0)]


def graphs_of_part(part: ShardPart, own: None, rows: Int64) -> GraphCollection:
    """Return the graphs of a shard that are among ``rows`` of all shards."""
    graphs = part.graphs()
    return graphs[rows[(rows >= part.first_graph) & (rows < part.first_graph + len(graphs))] - part.first_graph]


def descriptors_of_part(part: ShardPart, own: None, rows: Int64) -> Float64:
    """Return RDKit's values for the molecules of a shard that are among ``rows`` of all shards."""
    graphs, names = graphs_of_part(part, None, rows), descriptor_names()
    return np.array(raw_descriptors(as_molecules(graphs), names)).reshape(len(graphs), len(names))


def features_of_part(graphs: GraphCollection, blocks: KernelBlocks, folder: str | None) -> Any:
    """Return the features of a shard, or write them to a folder and return their location."""
    views: list[Any] = blocks.views
    molecules = as_molecules(graphs) if any(view.source == "molecules" for view in views) else None
    features = blocks.features(Objects(graphs.with_parts(given=()), None, molecules))
    features.sort_indices()  # for a fixed order of sums
    return _stored(features.astype(np.float32), folder)


def _stored(features: csr_array, folder: str | None) -> Any:
    """Write features to a folder, if there is one, and return their location."""
    if folder is None:
        return features
    path = mkdtemp(dir=folder)
    for name in ("data", "indices", "indptr"):
        np.save(Path(path, f"{name}.npy"), getattr(features, name))
    return path, features.shape


def _opened(features: Any) -> csr_array:
    """Return features that may be in files, which are mapped into memory."""
    if isinstance(features, csr_array):
        return features
    path, shape = features
    arrays = (np.load(Path(path, f"{name}.npy"), mmap_mode="c") for name in ("data", "indices", "indptr"))
    return csr_array(tuple(arrays), shape=shape)


class ShardRows:
    """Features of shards, as :class:`relaxwl.learning.linear.FeatureRows`.

    Results of the shards are added in groups whose bounds depend only on the number of shards.
    """

    def __init__(
        self, source: ShardSource, features: list[Handle], sizes: list[int], n_features: int, folder: str | None
    ) -> None:
        self.n_features = n_features
        self._source, self._tasks, self._features, self._folder = source, source.tasks, features, folder
        self._spans = [(int(a), int(b)) for a, b in pairwise(prefix_sums(np.array(sizes, np.int64)))]
        self.single = np.zeros(sum(sizes))

    def __getitem__(self, rows: Int64) -> "ShardRows":
        """Return some of the rows, in ascending order."""
        own = [rows[(rows >= start) & (rows < stop)] - start for start, stop in self._spans]
        pairs = zip(self._features, own, strict=True)
        found = [self._tasks.submit(_taken, *pair, self._folder) for pair in pairs]
        return ShardRows(self._source, found, [len(some) for some in own], self.n_features, self._folder)

    def squares(self, weights: Float64) -> Float64:
        """Return the weighted sum of squares of each feature.

        It is copied, because arrays from a worker may be unaligned, and NumPy sums such arrays in another order.
        """
        return np.array(self._summed(squares_of, _total, [weights[slice(*span)] for span in self._spans]))

    def learn(self, task: Task) -> Callable[[Models], tuple[Float64, Float64]]:
        """Return a function that returns the loss and the gradient of models, summed over all rows."""
        own = [self._tasks.share(task.take(slice(*span))) for span in self._spans]

        def summed(models: Models) -> tuple[Float64, Float64]:
            loss, gradient = self._summed(losses_of, add_losses, own, self._tasks.share(models))
            return loss, gradient

        return summed

    def values(self, coefficients: Float64) -> Float64:
        """Return the linear predictions for all rows: (n_rows, n_models)."""
        shared = self._tasks.share(coefficients)
        found = [self._tasks.submit(_applied, values_of, features, shared) for features in self._features]
        return np.concatenate(self._tasks.gather(found))

    def expand(self, coefficients: Float64) -> Float64:
        """Return the coefficients unchanged, because no features are joined."""
        return coefficients

    def _summed(
        self, function: Callable[..., Any], join: Callable[..., Any], own: Sequence[Any], *arguments: Any
    ) -> Any:
        """Return the sum over all shards of ``function(features, own, *arguments)``."""
        submit, groups = self._tasks.submit, list[Handle]()
        pairs = list(zip(self._features, own, strict=True))
        for start in range(0, len(pairs), FAN_IN):
            found = [submit(_applied, function, *pair, *arguments) for pair in pairs[start : start + FAN_IN]]
            groups.append(submit(join, found))
        return self._tasks.gather([submit(join, groups)])[0]


def _taken(features: Any, rows: Int64, folder: str | None) -> Any:
    return _stored(csr_array(_opened(features)[rows]), folder)


def _applied(function: Callable[..., Any], features: Any, *arguments: Any) -> Any:
    return function(_opened(features), *arguments)


def _total(arrays: Sequence[Float64]) -> Float64:
    return np.asarray(sum(arrays[1:], start=arrays[0]))
