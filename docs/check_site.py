"""Check the built site without a network: ``python docs/check_site.py site``.

Links within the site must be valid, names that docstrings refer to must be in the reference, and pages load fonts,
scripts and styles from the site only.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads, in contrast to links.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "src"), ("iframe", "src"), ("object", "data")}
# Links for machines.
TOLD = {"canonical", "author", "license"}


class Page(HTMLParser):
    """Links, anchors and unresolved references of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[tuple[str, bool]] = []
        self.places: set[str] = set()
        self.unresolved: list[str] = []
        self._n_open, self._is_unresolved = 0, False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the links and anchors of a tag."""
        values = dict(attrs)
        self._n_open += tag == "a"
        if tag == "code":
            self._is_unresolved = "xref py" in (values.get("class") or "") and not self._n_open
        self.places |= {value for key in ("id", "name") if (value := values.get(key))}
        if tag == "link" and values.get("rel") in TOLD:
            return
        for key in ("href", "src", "data"):
            value = values.get(key)
            if value:
                self.links.append((value, (tag, key) in LOADED))

    def handle_endtag(self, tag: str) -> None:
        """Count the links that are open."""
        self._n_open -= tag == "a"

    def handle_data(self, data: str) -> None:
        """Collect the name of a reference that is no link."""
        if self._is_unresolved and data.strip():
            self.unresolved.append(data)
            self._is_unresolved = False


def problems(site: Path) -> list[str]:
    """Return a sentence for every broken link and everything that is loaded from other sites."""
    skipped = {"_static", "_modules"}  # source pages link to names under which the reference may not list an object
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if not skipped & set(path.parts)}
    found = []
    for path, page in pages.items():
        found += [f"{path}: {name} is not in the reference" for name in page.unresolved]
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
                found.append(f"{path}: {link} is broken")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                found.append(f"{path}: {link} has no heading")
    for path in sorted(site.rglob("*.css")):
        links = re.findall(r"(?:url\(|@import )['\"]?(https?:[^'\")]+)", path.read_text(encoding="utf-8"))
        found += [f"{path}: loads {link}" for link in links]
    return found


if __name__ == "__main__":
    site = Path(sys.argv[1]).resolve()
    found = problems(site)
    print("\n".join(found) or f"all links within {site.name} are valid, and nothing is loaded from other sites")
    sys.exit(bool(found))
