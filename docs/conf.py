"""How Sphinx builds the pages: ``make docs`` writes them into site/."""

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

from pictures import scrape_svg  # noqa: E402

from relaxwl import __version__  # noqa: E402

# A worker of the gallery that has grown large is replaced by a new one, as it should be.
warnings.filterwarnings("ignore", "A worker stopped while some jobs")

project = "relaxwl"
author = "The relaxwl developers"
project_copyright = "The relaxwl developers"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "formulas",  # the rest is ours, in _ext
    "command_line",
]
templates_path = ["_templates"]
exclude_patterns = [
    "images/*.py",
    "_ext",
    "_templates",
    "**/README.txt",
    "**/sg_execution_times.rst",
    "sg_execution_times.rst",
]
suppress_warnings = ["config.cache"]  # the picture scraper is a function, which no cache can hold
smartquotes = False  # {"subtree", "edge"} is code, and keeps its quotes

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings name the types in words
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"  # names of methods fit beside the page, those with their class do not
numpydoc_show_class_members = False  # our template lists them
numpydoc_class_members_toctree = False
copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib", scrape_svg),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "parallel": 2,
    "show_api_usage": False,
    "doc_module": ("relaxwl",),
    "backreferences_dir": "api/examples",
    "inspect_global_variables": False,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "relaxwl"
html_static_path = ["_static"]
html_css_files = ["relaxwl.css"]
html_show_sourcelink = False
# Pages without pages below them need no list of these.
html_sidebars = {name: [] for name in ("index", "start", "cite", "changelog")}
html_favicon = "_static/favicon.svg"
html_math_renderer = "mathml"
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def is_foreign(app, what, name, member, skip, options):
    """Leave out what scikit-learn and others gave our classes: their documentation tells it better."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
    module = getattr(function, "__module__", None)
    foreign = isinstance(module, str) and not module.startswith("relaxwl") and callable(function)
    return True if foreign else None


def setup(app):
    """Connect the rule above."""
    app.connect("autodoc-skip-member", is_foreign)
