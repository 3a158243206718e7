"""Graphs of any common kind, turned into a GraphCollection."""

from relaxwl.inputs.convert import as_collection

__all__ = ["as_collection"]
