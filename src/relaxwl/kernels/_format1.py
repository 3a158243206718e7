"""Model files of format 1: their objects as they were then, turned into today's.

Format 1 kept the groups of a depth twice (in ``chains_``, by depth, and in ``partitions_``, to look at), centres and
trees as rows of two kinds, and with every partitioner a copy of the costs that it was given.
"""

from types import SimpleNamespace
from typing import Any

from relaxwl.kernels import _restoring
from relaxwl.kernels.model_schema import KINDS
from relaxwl.kernels.partition import Fed, Partition
from relaxwl.unfolding import Rows

# What rows were called, each with its own name for the number of points.
FORMER_ROWS = {"TreeRows": "n_previous", "Centers": "n_points"}
# Attributes of estimators that are no more.
DROPPED = ("gram_seconds_", "time_limit")
# What is made anew from the rest, or no longer kept.
FORGOTTEN = ("Level", "Partition", "ExactTrees")


class Reader(_restoring.Reader):
    """Restores a model of format 1."""

    def model(self, kind: type, state: dict[str, Any]) -> Any:
        """Restore an estimator with its parameters and all that was fitted."""
        values = self.attributes({name: plain for name, plain in state.items() if name not in DROPPED})
        if "chains_" in values:
            chains = values.pop("chains_")
            described = values["partitions_"]
            values["partitions_"] = _partitions(chains, described, values["approximate"], values["edge_encoding_"])
        return self._filled(kind(), values)

    def value(self, plain: Any) -> Any:
        """Restore one value; costs that partitioners were given are not needed."""
        return None if isinstance(plain, dict) and "ground" in plain else super().value(plain)

    def _object(self, name: str, state: dict[str, Any]) -> Any:
        values = self.attributes(state)
        if name in FORMER_ROWS:
            values["n_children"] = values.pop(FORMER_ROWS[name])
            return Rows(**values)
        if name in FORGOTTEN:
            return SimpleNamespace(**values)
        kind: Any = KINDS[name]
        kept = {field: value for field, value in values.items() if field not in ("ground_", "distances_")}
        if hasattr(kind, "from_state"):
            return kind.from_state(**kept)
        item = object.__new__(kind)
        for field, value in kept.items():
            object.__setattr__(item, field, value)
        return item


def _partitions(chains: Any, described: Any, feed_groups: bool, edge_encoding: Any) -> list[list[Partition]]:
    """Return the fitted partitions; where trees are fed, one chain holds all of them."""
    found: list[list[Partition]] = []
    for index, levels in enumerate(described):
        chain, place = (chains[index], 0) if feed_groups else (chains[0], index)
        if len(chain) != len(levels):
            raise ValueError("partitions_ and chains_ must agree")
        partitions = []
        for depth, (level, shown) in enumerate(zip(chain, levels, strict=True)):
            centers = _edged(level.centers[place], edge_encoding)
            partitioner = level.partitioners[place]
            if hasattr(partitioner, "rows_"):
                centers = partitioner.rows_
            elif hasattr(partitioner, "centers_"):
                partitioner.centers_ = centers
            drawn = centers if shown.drawn is shown.centers else _edged(shown.drawn, edge_encoding)
            summary = (shown.sizes, shown.n_trees, shown.radius, shown.examples)
            fed = None
            if depth + 1 < len(chain) and feed_groups:
                fed = Fed(centers, level.fed)
            elif depth + 1 < len(chain):
                # One for all partitions, as it is one for all in today's files.
                fed = Fed(level.rows, level.fed) if index == 0 else found[0][depth].fed
            partitions.append(Partition.from_state(depth, index, partitioner, centers, fed, drawn, summary))
        found.append(partitions)
    return found


def _edged(centers: Rows, edge_encoding: Any) -> Rows:
    """Return centres that know how many edge codes there are, which they did not need to know then."""
    n_edge_codes = edge_encoding.n_codes
    return Rows(*centers.arrays, centers.n_children // max(n_edge_codes, 1), n_edge_codes)
