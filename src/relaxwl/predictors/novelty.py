"""Novelty: how far an object is from the training objects, as a p-value among them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from relaxwl._execution import spans
from relaxwl.graphs.arrays import Float64
from relaxwl.kernels.counting import checked_rows

# Number of nearest training objects whose mean distance counts.
N_NEAREST = 3
# Number of training objects that are kept by models that do not compare with all of them.
N_KEPT = 1_000
ROWS_AT_ONCE = 512
# Distances up to this are 0: those of copies, up to rounding.
ROUNDING = 1e-7


@dataclass(frozen=True, eq=False)
class Novelty:
    """Distances of training objects to the nearest others, with which those of new objects are compared.

    The distance is 1 minus the normalized similarity that the model uses.

    Attributes
    ----------
    reference : float64 array (n,)
        The mean distance of each training object to its nearest others, ascending.
    features : csr array (n, n_features) or None
        Features of length 1 of the objects, if the model does not keep its training objects.
    """

    reference: Float64
    features: csr_array | None = None

    def to_state(self) -> dict[str, Any]:
        """Return the state for a model file."""
        if self.features is None:
            return {"reference": self.reference}
        parts = {name: getattr(self.features, name) for name in ("data", "indices", "indptr")}
        return {"reference": self.reference, **parts, "n_columns": self.features.shape[1]}

    @classmethod
    def from_state(cls, reference: Float64, **features: Any) -> "Novelty":
        """Restore a measure from the result of :meth:`to_state`."""
        return cls(reference, checked_rows(**features) if features else None)

    @classmethod
    def of_blocks(cls, blocks: Mapping[str, Float64], weights: Mapping[str, float]) -> "Novelty":
        """Return the distances between training objects, given their Gram matrices and the weights of these."""
        diagonals = [weight * blocks[name].diagonal().astype(np.float64) for name, weight in weights.items()]
        own: Float64 = np.sum(np.array(diagonals), axis=0)
        found = []
        for start, stop in spans(len(own), ROWS_AT_ONCE):
            rows = (weight * blocks[name][start:stop] for name, weight in weights.items())
            similarity = normalized(np.asarray(sum(rows), np.float64), own[start:stop], own)
            similarity[np.arange(stop - start), np.arange(start, stop)] = -np.inf  # the object itself
            found.append(mean_distances(similarity))
        return cls(np.sort(np.concatenate(found)))

    @classmethod
    def of_features(cls, features: csr_array) -> "Novelty":
        """Return the distances between some training objects, given their features."""
        rows = _of_length_one(features)
        similarity = (rows @ rows.T).toarray()
        np.fill_diagonal(similarity, -np.inf)
        return cls(np.sort(mean_distances(similarity)), rows)

    def distances(self, features: csr_array) -> Float64:
        """Return the mean distances of new objects to the nearest objects that are kept."""
        assert self.features is not None
        return mean_distances((_of_length_one(features) @ self.features.T).toarray())

    def p_values(self, distances: Float64) -> Float64:
        """Return the share of training objects that are at least as far from the others, the new one included."""
        n_nearer = np.searchsorted(self.reference, distances - ROUNDING)
        return np.asarray((len(self.reference) - n_nearer + 1) / (len(self.reference) + 1))


def normalized(similarity: Float64, own: Float64, others: Float64) -> Float64:
    """Return similarities with those of objects with themselves scaled to 1."""
    lengths, other_lengths = (np.sqrt(np.maximum(values, 1e-300)) for values in (own, others))
    return np.asarray(similarity / lengths[:, None] / other_lengths)


def mean_distances(similarity: Float64) -> Float64:
    """Return 1 minus the mean of the largest similarities of each row; -inf marks an object itself."""
    n_nearest = min(N_NEAREST, int((similarity > -np.inf).sum(axis=1).min(initial=similarity.shape[1])))
    if not n_nearest:
        return np.zeros(len(similarity))
    nearest = np.partition(similarity, similarity.shape[1] - n_nearest, axis=1)[:, -n_nearest:]
    return np.asarray(np.maximum(1 - nearest.mean(axis=1), 0.0))


def _of_length_one(features: csr_array) -> csr_array:
    lengths = np.sqrt(np.asarray(features.multiply(features).sum(axis=1)).ravel())
    scaled: csr_array = features.astype(np.float64)
    scaled.data = scaled.data / np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(scaled.indptr))
    return scaled
