"""Graph kernels as scikit-learn transformers."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from relaxwl.kernels.registry import get_kernel, kernel_names, load_kernel

if TYPE_CHECKING:
    from relaxwl._execution import TimeLimitReached, time_limit
    from relaxwl.kernels import baselines
    from relaxwl.kernels.continuous import ContinuousWeisfeilerLehman
    from relaxwl.kernels.relaxed import RelaxedWeisfeilerLehman
    from relaxwl.kernels.wl import WeisfeilerLehman

__all__ = [
    "ContinuousWeisfeilerLehman", "RelaxedWeisfeilerLehman", "TimeLimitReached", "WeisfeilerLehman", "baselines",
    "get_kernel", "kernel_names", "load_kernel", "time_limit",
]  # fmt: skip
_MODULES = {"Continuous": "continuous", "Relaxed": "relaxed", "": "wl"}


def __getattr__(name: str) -> object:
    # Imported on first use, because the command line reads the registry for its help, which needs no numerics.
    if name == "baselines":
        return _import_module("relaxwl.kernels.baselines")
    if name in ("TimeLimitReached", "time_limit"):
        return getattr(_import_module("relaxwl._execution"), name)
    kind = name.removesuffix("WeisfeilerLehman")
    if kind != name and kind in _MODULES:
        return getattr(_import_module(f"relaxwl.kernels.{_MODULES[kind]}"), name)
    raise AttributeError(f"module 'relaxwl.kernels' has no attribute {name!r}")
