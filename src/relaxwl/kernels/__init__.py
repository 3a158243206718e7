"""Graph kernels as scikit-learn transformers."""

from relaxwl.kernels.wl import WeisfeilerLehman

__all__ = ["WeisfeilerLehman"]
