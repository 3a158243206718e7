"""Relaxed Weisfeiler-Lehman graph kernels."""

__version__ = "0.1.0.dev0"
