"""Unfolding trees: distinct neighborhoods as rows, refinement step by step, and trees to look at."""

from relaxwl.unfolding.refine import leaves, refine
from relaxwl.unfolding.rows import TreeRows, canonical_order, check_rows, distinct, join_rows

__all__ = ["TreeRows", "canonical_order", "check_rows", "distinct", "join_rows", "leaves", "refine"]
