"""Unfolding trees: distinct neighborhoods as rows, refinement step by step, and trees to look at."""

from relaxwl.unfolding.rows import TreeRows, leaves, refine

__all__ = ["TreeRows", "leaves", "refine"]
