"""What the baselines with one explicit block of features share."""

from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int32
from relaxwl.kernels.base import CountKernel, Settings
from relaxwl.kernels.counting import Counts
from relaxwl.kernels.wl import matched_codes


class DepthFeatures(CountKernel):
    """A count kernel with a block of features for each depth, compared by the dot product, all depths alike."""

    base = "subtree"
    similarity = "dot"
    depth_weights = None


class FlatFeatures(DepthFeatures):
    """A count kernel without depths: one block of features, one Gram matrix.

    Subclasses give ``_fit_block`` and ``_block``.
    """

    max_depth = 0

    def _fit_block(self, graphs: GraphCollection) -> Counts:
        raise NotImplementedError

    def _block(self, graphs: GraphCollection) -> Counts:
        raise NotImplementedError

    def _fit_counts(self, graphs: GraphCollection) -> list[Counts]:
        return [self._fit_block(graphs)]

    def _counts(self, graphs: GraphCollection) -> list[Counts]:
        return [self._block(graphs)]

    def variations(self) -> list[Settings]:
        """Return one setting: there is nothing to choose from."""
        return [{}]


def node_codes_in(graphs: GraphCollection, vocabulary: tuple[object, ...] | None) -> Int32:
    """Return the node labels' codes in a fitted vocabulary; unseen labels get codes behind it."""
    return matched_codes(graphs, vocabulary, None, False)[0]


def n_known_labels(vocabulary: tuple[object, ...] | None) -> int:
    """Return the number of codes that a vocabulary stands for; unlabeled graphs have one common label."""
    return 1 if vocabulary is None else len(vocabulary)


def label_names(vocabulary: tuple[object, ...] | None) -> list[str]:
    """Return a word for each code."""
    return ["·"] if vocabulary is None else [str(label) for label in vocabulary]
