"""Image scraper for SVG files that gallery examples write, and texts of thumbnails."""

import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx_gallery.scrapers import figure_rst

TITLE = re.compile(r'<div class="sphx-glr-thumbnail-title">(.*?)</div>', re.S)


def scrape_svg(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Move SVG files named after the example, which a code block wrote beside it, into the gallery."""
    source, pictures = Path(block_vars["src_file"]), []
    for written in sorted(source.parent.glob(f"{source.stem.removeprefix('plot_')}*.svg")):
        picture = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
        shutil.move(written, picture)
        pictures.append(str(picture))
    return str(figure_rst(pictures, gallery_conf["src_dir"]))


def describe_thumbnails(app: Any, doctree: nodes.document) -> None:
    """Give each thumbnail the title that follows it as its alternative text."""
    pictures: list[nodes.image] = []
    for node in doctree.findall():
        if isinstance(node, nodes.image) and not node.get("alt"):
            pictures.append(node)
        elif isinstance(node, nodes.raw) and (title := TITLE.search(node.astext())):
            for picture in pictures:
                picture["alt"] = title[1]
            pictures = []


def setup(app: Any) -> dict[str, Any]:
    """Register ``describe_thumbnails``."""
    app.connect("doctree-read", describe_thumbnails)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
