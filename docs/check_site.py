"""Check the built site without a network: ``python docs/check_site.py site``.

Every link to a page, picture or heading of ours must lead somewhere, and no page may load anything from elsewhere:
fonts, scripts and styles are local.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads by itself, as opposed to what a reader may click on.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "src"), ("iframe", "src"), ("object", "data")}
# Links that only tell machines something.
TOLD = {"canonical", "author", "license"}


class Page(HTMLParser):
    """The links of a page, and the places in it that links can lead to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[tuple[str, bool]] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag's links and its name."""
        values = dict(attrs)
        self.places |= {value for key in ("id", "name") if (value := values.get(key))}
        if tag == "link" and values.get("rel") in TOLD:
            return
        for key in ("href", "src", "data"):
            value = values.get(key)
            if value:
                self.links.append((value, (tag, key) in LOADED))


def problems(site: Path) -> list[str]:
    """Return a sentence for every link that leads nowhere and everything that is loaded from elsewhere."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    found = []
    for path, page in pages.items():
        for link, is_loaded in page.links:
            parts = urlsplit(link)
            if parts.scheme == "data" or (parts.scheme and not is_loaded):
                continue
            if parts.scheme or parts.netloc:
                found.append(f"{path}: loads {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{path}: {link} leads nowhere")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                found.append(f"{path}: {link} leads to no heading")
    for path in sorted(site.rglob("*.css")):
        links = re.findall(r"(?:url\(|@import )['\"]?(https?:[^'\")]+)", path.read_text(encoding="utf-8"))
        found += [f"{path}: loads {link}" for link in links]
    return found


if __name__ == "__main__":
    site = Path(sys.argv[1]).resolve()
    found = problems(site)
    print("\n".join(found) or f"all links within {site.name} lead somewhere, and nothing is loaded from elsewhere")
    sys.exit(bool(found))
