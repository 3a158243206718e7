"""Unfolding trees: distinct neighbourhoods as rows, refinement step by step, and trees to look at."""

from relaxwl.unfolding.refine import leaves, refine
from relaxwl.unfolding.rows import Rows, canonical_order, check_rows, distinct, join_rows

__all__ = ["Rows", "canonical_order", "check_rows", "distinct", "join_rows", "leaves", "refine"]
