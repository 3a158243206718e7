"""Conversion of graphs of other libraries into a GraphCollection."""

from relaxwl.inputs.convert import as_collection
from relaxwl.inputs.transformer import ToGraphs

__all__ = ["ToGraphs", "as_collection"]
