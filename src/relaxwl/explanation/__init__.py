"""What a kernel has found: clusters of neighborhoods that tell classes apart, and where in the graphs they are."""

from relaxwl.explanation.explain import explain
from relaxwl.explanation.explanation import (
    ClusterEvidence,
    ClusterInGraph,
    Explanation,
    GraphExplanation,
    PairExplanation,
    SharedCluster,
)
from relaxwl.explanation.members import Member, Members
from relaxwl.explanation.weights import LinearWeights

__all__ = [
    "ClusterEvidence",
    "ClusterInGraph",
    "Explanation",
    "GraphExplanation",
    "LinearWeights",
    "Member",
    "Members",
    "PairExplanation",
    "SharedCluster",
    "explain",
]
