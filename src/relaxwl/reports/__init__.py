"""Renders what was computed: plots and self-contained pages."""

from relaxwl.reports.html import render_report, write_report

__all__ = ["render_report", "write_report"]
