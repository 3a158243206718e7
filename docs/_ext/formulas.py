"""Render formulas as MathML, which browsers display without scripts."""

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml


def mathml(formula: str, block: bool) -> str:
    """Translate LaTeX into one ``<math>`` element.

    >>> mathml("x^2", block=False)[:5]
    '<math'
    """
    return str(latex2mathml.tex2mathml(formula, as_block=block))


def _inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.Element) -> None:
    translator.body.append(f'<div class="formula">{mathml(node.astext(), block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
