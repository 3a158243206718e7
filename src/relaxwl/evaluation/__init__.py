"""Nested cross-validation, its records and tables."""
