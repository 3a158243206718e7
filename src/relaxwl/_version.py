"""The version of the package; this module has no imports."""

__version__ = "0.1.0"
