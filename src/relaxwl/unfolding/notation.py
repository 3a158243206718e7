"""Trees as text, such as ``1(2(1,3),3(1))``: labels written, and whole trees read."""

import json
import re
from collections.abc import Callable
from typing import Generic, NoReturn, TypeVar

from relaxwl.graphs.labels import Label, check_nesting, plain_label

Tree = TypeVar("Tree")

_BARE_LABEL = re.compile(r"[^\s(),:\"\[\]]+")
_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")


def written(label: Label) -> str:
    """Return a label in the notation of :meth:`relaxwl.UnfoldingTree.parse`."""
    if isinstance(label, tuple):
        return f"[{','.join(written(part) for part in label)}]"
    if not isinstance(label, str):
        return repr(label)
    bare = _BARE_LABEL.fullmatch(label) and not _NUMBER.fullmatch(label)
    return label if bare else json.dumps(label, ensure_ascii=False)


class Reader(Generic[Tree]):
    """Reads the notation of :meth:`relaxwl.UnfoldingTree.parse` from left to right.

    ``make`` builds a tree from its label and its children, each with the label of the edge to it.
    """

    def __init__(self, text: str, make: Callable[[Label, list[tuple[Tree, Label]]], Tree]) -> None:
        if not isinstance(text, str):
            raise TypeError(f"text must be a string, not {type(text).__name__}")
        self.text, self.make = text, make
        self.place = 0

    def read(self) -> Tree:
        """Return the tree; open brackets wait on a stack, so depth is not limited."""
        # Of each open bracket: the label before it, the edge label before that, and the children so far.
        waiting: list[tuple[Label, Label, list[tuple[Tree, Label]]]] = []
        while True:
            edge, label = self._labels()
            if self._take("("):
                waiting.append((label, edge, []))
                continue
            tree = self.make(label, [])
            while waiting:
                waiting[-1][2].append((tree, edge))
                if self._take(","):
                    break
                if not self._take(")"):
                    self._fail("',' or ')'")
                label, edge, children = waiting.pop()
                tree = self._close(label, children)
            else:
                break
        if edge is not None:
            raise ValueError(f"the root of a tree cannot have an edge label: {self._excerpt(0)}")
        if self.place < len(self.text):
            self._fail("the end")
        return tree

    def _close(self, label: Label, children: list[tuple[Tree, Label]]) -> Tree:
        try:
            return self.make(label, children)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{error} (before {self._excerpt(self.place)})") from None

    def _labels(self) -> tuple[Label, Label]:
        """Read a node label and the edge label before it, if there is one."""
        label = self._label()
        return (label, self._label()) if self._take(":") else (None, label)

    def _label(self, nesting: int = 0) -> Label:
        """Read one label: quoted, in square brackets, or bare; ``nesting`` counts the brackets around it."""
        self._skip_space()
        if self.text.startswith('"', self.place):
            return self._quoted()
        if self._take("["):
            check_nesting(nesting)
            parts: list[Label] = []
            if not self._take("]"):
                parts.append(self._label(nesting + 1))
                while self._take(","):
                    parts.append(self._label(nesting + 1))
                if not self._take("]"):
                    self._fail("',' or ']'")
            return tuple(parts)
        match = _BARE_LABEL.match(self.text, self.place)
        if match is None:
            self._fail("a label")
        self.place = match.end()
        self._skip_space()
        word = match.group()
        if _INTEGER.fullmatch(word):
            return int(word)
        return plain_label(float(word)) if _NUMBER.fullmatch(word) else word

    def _quoted(self) -> str:
        try:
            label, self.place = json.JSONDecoder().raw_decode(self.text, self.place)
        except json.JSONDecodeError:
            self._fail("a closed quoted label")
        self._skip_space()
        return str(label)

    def _take(self, character: str) -> bool:
        """Step over a character, and white space after it, if it is the next one."""
        if not self.text.startswith(character, self.place):
            return False
        self.place += 1
        self._skip_space()
        return True

    def _skip_space(self) -> None:
        while self.place < len(self.text) and self.text[self.place].isspace():
            self.place += 1

    def _fail(self, expected: str) -> NoReturn:
        raise ValueError(f"expected {expected} at position {self.place}: {self._excerpt(self.place)}")

    def _excerpt(self, place: int) -> str:
        return repr(self.text[place : place + 20]) if place < len(self.text) else "the end of the text"
