"""An extension of the reference's builder: what our docstrings leave to convention, in the words that it reads."""

import re
from typing import Any

from griffe import Extension, Object

ROLE = re.compile(r":(?:meth|class|func|mod):(?=`)")


class DocstringConventions(Extension):
    """Puts the heading that numpydoc asks for before doctests that short docstrings give without one.

    Roles such as ``:meth:`` go: the names behind them stand as code.
    """

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Edit one docstring."""
        docstring = obj.docstring
        if docstring is None:
            return
        docstring.value = ROLE.sub("", docstring.value)
        text, mark, examples = docstring.value.partition(">>>")
        if mark and "Examples\n---" not in text:
            docstring.value = f"{text}Examples\n--------\n{mark}{examples}"
