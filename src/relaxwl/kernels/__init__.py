"""Graph kernels as scikit-learn transformers."""

from relaxwl.kernels.relaxed import RelaxedWeisfeilerLehman
from relaxwl.kernels.wl import WeisfeilerLehman

__all__ = ["RelaxedWeisfeilerLehman", "WeisfeilerLehman"]
