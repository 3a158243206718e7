"""Unfolding trees: distinct neighborhoods as rows, refinement, and trees as objects."""

from relaxwl.unfolding.rows import TreeRows, leaves, refine

__all__ = ["TreeRows", "leaves", "refine"]
