"""Image scraper for SVG files that gallery examples write."""

import shutil
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst


def scrape_svg(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Move SVG files named after the example, which a code block wrote beside it, into the gallery."""
    source, pictures = Path(block_vars["src_file"]), []
    for written in sorted(source.parent.glob(f"{source.stem.removeprefix('plot_')}*.svg")):
        picture = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
        shutil.move(written, picture)
        pictures.append(str(picture))
    return str(figure_rst(pictures, gallery_conf["src_dir"]))
