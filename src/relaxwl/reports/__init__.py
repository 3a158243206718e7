"""Renders what was computed: plots and self-contained pages."""

from relaxwl.reports.effects import render_effects, write_effects
from relaxwl.reports.explorer import render_explorer, write_explorer
from relaxwl.reports.html import render_report, write_report

__all__ = ["render_effects", "render_explorer", "render_report", "write_effects", "write_explorer", "write_report"]
