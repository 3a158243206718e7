"""Graph kernels as scikit-learn transformers."""

from importlib import import_module as _import_module

from relaxwl.kernels.registry import get_kernel, kernel_names, load_kernel
from relaxwl.kernels.relaxed import RelaxedWeisfeilerLehman
from relaxwl.kernels.wl import WeisfeilerLehman

__all__ = [
    "RelaxedWeisfeilerLehman",
    "WeisfeilerLehman",
    "baselines",
    "get_kernel",
    "kernel_names",
    "load_kernel",
]


def __getattr__(name: str) -> object:
    # Imported when first used: most users need no kernels to compare with.
    if name == "baselines":
        return _import_module("relaxwl.kernels.baselines")
    raise AttributeError(f"module 'relaxwl.kernels' has no attribute {name!r}")
