"""Pictures that gallery examples write as SVG files, beside the plots of matplotlib."""

import shutil
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst


def scrape_svg(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Move the SVG files that a code block wrote beside its example into the gallery."""
    pictures = []
    for written in sorted(Path(block_vars["src_file"]).parent.glob("*.svg")):
        picture = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
        shutil.move(written, picture)
        pictures.append(str(picture))
    return str(figure_rst(pictures, gallery_conf["src_dir"]))
