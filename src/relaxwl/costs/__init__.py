"""Edit costs of labels and attributes, checked to be metrics."""

from relaxwl.costs.codebook import GAP, Codebook, Sketch
from relaxwl.costs.edit_cost import EditCost, checked_cost
from relaxwl.costs.metric import UniformCosts, check_finite, cost_text

__all__ = ["GAP", "Codebook", "EditCost", "Sketch", "UniformCosts", "check_finite", "checked_cost", "cost_text"]
