"""The smallest pieces of a picture: lines, texts, and the document around them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from html import escape
from unicodedata import east_asian_width

FONT_SIZE = 13.0
SMALL = 11.0 / FONT_SIZE
MARGIN = 14.0
MAX_LABEL_LENGTH = 18
# Text beside nodes takes the color of the page around the picture; nodes bring their own, with letters to
# match. `:root` applies only where the picture stands alone and there is no page to take a color from.
STYLE = """\
svg.rwl:root{color:#1f2933}
.rwl{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.rwl text{fill:currentColor;font-size:13px;text-anchor:middle}
.rwl text.small{font-size:11px}.rwl text.start{text-anchor:start}.rwl text.end{text-anchor:end}
.rwl .faint{opacity:.7}
.rwl .edge{stroke:currentColor;stroke-width:1.3;fill:none;opacity:.5}
.rwl .link{stroke:currentColor;stroke-width:1;fill:none;opacity:.35}
.rwl .match{stroke:currentColor;stroke-width:1.1;stroke-dasharray:4 4;fill:none;opacity:.5}
.rwl .node{fill:#eef2f6;stroke:#52606d;stroke-width:1.4}
.rwl .note{fill:#eef2f6;stroke:#9aa5b1;stroke-dasharray:2 2}
.rwl .relabeled{fill:#ffd95e;stroke:#94690a}
.rwl .deleted{fill:#ff9c94;stroke:#b3261e}
.rwl .inserted{fill:#9accff;stroke:#0b57b0}
.rwl .lit{fill:#ff9f43;stroke:#b35900}
.rwl .against{fill:#7db8f5;stroke:#0b57b0}
.rwl text.on,.rwl text.ink{fill:#1f2933}
.rwl text.changed{fill:#94690a;font-weight:700}
@media (prefers-color-scheme:dark){
svg.rwl:root{color:#e4e7eb}
.rwl .node,.rwl .note{fill:#323f4b;stroke:#9aa5b1}
.rwl text.on{fill:#f5f7fa}
.rwl .relabeled{fill:#ffd95e;stroke:#ffefb0}
.rwl .deleted{fill:#ff9c94;stroke:#ffd3cf}
.rwl .inserted{fill:#9accff;stroke:#d6eaff}
.rwl .lit{fill:#ff9f43;stroke:#ffe0bf}
.rwl .against{fill:#7db8f5;stroke:#d6eaff}
.rwl text.changed{fill:#ffd95e}
}
"""


def shortened(label: str) -> str:
    """Cut a label that is too long to be drawn."""
    return label if len(label) <= MAX_LABEL_LENGTH else label[: MAX_LABEL_LENGTH - 1] + "…"


def amount(count: int) -> str:
    """Return a number of nodes; one that is too long to read is rounded (as a decimal: a float may not hold it)."""
    return f"{count:,}" if count < 10**9 else f"{Decimal(count):.1e}"


def text_width(text: str) -> float:
    """Return about how wide a text is; characters of East Asian scripts are twice as wide."""
    return FONT_SIZE * sum(1.0 if east_asian_width(character) in "WF" else 0.56 for character in text)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Draw a straight line."""
    return f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def text(x: float, y: float, words: str, kind: str) -> str:
    """Return a text whose letters are centered on a height; `dy` is understood where baselines are not."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" dy=".35em">{escaped(words)}</text>' if words else ""


def escaped(text: str) -> str:
    """Return text fit for XML: markup shown as it is written, characters that XML forbids replaced."""
    allowed = (c if c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff" else "\ufffd" for c in text)
    return escape("".join(allowed))


def document(width: float, height: float, title: str, body: Iterable[str], embed_style: bool) -> str:
    """Return the elements as a complete SVG document."""
    style = f"<style>{STYLE}</style>\n" if embed_style else ""
    content = "\n".join(element for element in body if element)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rwl" role="img" viewBox="0 0 {width:.1f} {height:.1f}" '
        f'width="{width:.1f}" height="{height:.1f}">\n<title>{escaped(title)}</title>\n{style}{content}\n</svg>\n'
    )
