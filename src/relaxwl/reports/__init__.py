"""Reports: plots and self-contained pages."""

from relaxwl.reports.comparison import render_comparison as render_comparison
from relaxwl.reports.comparison import write_comparison
from relaxwl.reports.effects import render_effects as render_effects
from relaxwl.reports.effects import write_effects
from relaxwl.reports.explorer import render_explorer as render_explorer
from relaxwl.reports.explorer import write_explorer
from relaxwl.reports.html import render_report as render_report
from relaxwl.reports.html import write_report

__all__ = ["write_comparison", "write_effects", "write_explorer", "write_report"]
