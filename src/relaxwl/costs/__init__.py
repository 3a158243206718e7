"""Edit costs of labels and attributes, checked to be metrics."""

from relaxwl.costs.edit_cost import EditCost

__all__ = ["EditCost"]
