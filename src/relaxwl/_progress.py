"""Progress: a ``tqdm`` bar in terminals and notebooks, ``logging`` messages elsewhere.

Work of known length opens a :class:`ProgressBar`; other code reports what it has done by :func:`report`. Both are
silent unless ``verbose`` is set, and reports within an open bar are shown by that bar.
"""

import logging
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextvars import ContextVar, Token
from functools import cache
from html import escape
from types import TracebackType
from typing import Any, Self

logger = logging.getLogger("relaxwl")


class _StderrHandler(logging.Handler):
    """Writes lines for users who set ``verbose`` without having configured ``logging``."""

    def emit(self, record: logging.LogRecord) -> None:
        if sys.stderr is not None and not _is_configured():  # may have been configured since
            sys.stderr.write(self.format(record) + "\n")


_handler = _StderrHandler()
_open_bar: ContextVar["ProgressBar | None"] = ContextVar("open_bar", default=None)


def is_watched() -> bool:
    """Return whether output is displayed interactively, in a terminal or a notebook."""
    return (sys.stderr is not None and sys.stderr.isatty()) or "ipykernel" in sys.modules


def report(
    verbose: int, message: str, *values: object, level: int = 1, share: float | None = None, since: float | None = None
) -> None:
    """Report progress if ``verbose`` is at least ``level``: in the open bar, or as a log message.

    Parameters
    ----------
    verbose : int
        Verbosity: 0 for silence, 1 for progress, 2 for details.
    message, *values : str, object
        Message and values in the format of ``logging``.
    level : int, default=1
        Minimum ``verbose`` for which the message is shown.
    share : float, optional
        Share of the work that is done, from 0 to 1.
    since : float, optional
        Start of the work by ``time.perf_counter``; the message then ends with the remaining time.
    """
    if verbose < level:
        return
    what, bar = message % values, _open_bar.get()
    if bar is not None:
        bar.show(share, what)
        return
    if not _is_configured():
        logger.addHandler(_handler)  # has no effect if it is there already
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)
    left = ""
    if share and since is not None:
        elapsed = time.perf_counter() - since
        left = f"; {duration(elapsed)} so far, about {duration(elapsed * (1 - share) / share)} left"
    logger.info("%s%s", what, left)


def _is_configured() -> bool:
    """Return whether logging of this package, or of all packages, has been configured."""
    return any(handler is not _handler for handler in (*logger.handlers, *logging.root.handlers))


@cache
def _bar_class() -> Any:
    """Return tqdm's bar with a lock that is free in forked children; its own may stay taken, and in the parent, too."""
    from tqdm.auto import tqdm  # takes tens of milliseconds, and most commands need no bar

    from relaxwl._execution import fork_safe_lock

    class Bar(tqdm):
        monitor_interval = 0  # no monitor thread for bars that seldom move

    Bar.set_lock(fork_safe_lock(threading.RLock()))
    return Bar


class ProgressBar:
    """Context manager for work of known length; worker threads may report progress.

    With ``verbose=1`` it shows a bar if output is interactive and the program has not configured ``logging``, else log
    messages; with 2 or more, always log messages. Within an open bar it advances that bar and opens none. A bar ends
    at 100 % unless the work fails.

    Parameters
    ----------
    title : str
        Text before the bar.
    total : float, optional
        Length of the work; None if it is unknown.
    verbose : int, default=1
        Verbosity.
    every : float, default=0.0
        Minimum number of seconds between two messages; the last is always written.
    leave : bool, default=True
        Whether the bar stays when the work is done.
    delay : float, default=0.0
        Number of seconds before the bar appears.
    **options
        Further options of ``tqdm``, such as ``unit``.

    Examples
    --------
    >>> with ProgressBar("squares", 3, verbose=0) as progress:
    ...     for number in range(3):
    ...         progress.add(1, "%d", number**2)
    >>> progress.done
    3.0
    """

    def __init__(
        self,
        title: str,
        total: float | None = 1.0,
        *,
        verbose: int = 1,
        every: float = 0.0,
        leave: bool = True,
        delay: float = 0.0,
        **options: Any,
    ) -> None:
        self.title, self.total, self.verbose, self.every, self.delay = title, total, verbose, every, delay
        self.done = 0.0
        self._options: dict[str, Any] = {"leave": leave, "delay": delay, **options}
        self._start = self._last_line = time.perf_counter()
        self._lock: Any = threading.Lock()
        self._bar: Any = None
        self._token: Token[ProgressBar | None] | None = None

    def __enter__(self) -> Self:
        if self.verbose == 1 and _open_bar.get() is None and is_watched() and not _is_configured():
            bar = _bar_class()
            shape = {} if "unit" in self._options else {"bar_format": "{l_bar}{bar}| {elapsed}<{remaining}{postfix}"}
            self._lock = bar.get_lock()
            with self._lock:  # also what tqdm writes without its lock
                self._bar = bar(
                    desc=self.title, total=self.total, miniters=0, dynamic_ncols=True, **shape, **self._options
                )
            self._token = _open_bar.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None and self._token is not None:
            _open_bar.reset(self._token)
            with self._lock:
                if kind is None and self.total is not None and time.perf_counter() >= self._start + self.delay:
                    self._bar.n = self.total
                    self._bar.refresh()
                self._bar.close()
                self._bar = None

    def add(self, amount: float, message: str = "", *values: object) -> None:
        """Advance the bar and show a description of the finished work."""
        with self._lock:
            self._reach(self.done + amount, message, *values)

    def reach(self, done: float, message: str = "", *values: object) -> None:
        """Set the progress to ``done``, whatever was added before."""
        with self._lock:
            self._reach(max(done, self.done), message, *values)

    def _reach(self, done: float, message: str, *values: object) -> None:
        # Sums of fractions may exceed the whole by rounding.
        self.done = done if self.total is None else min(done, float(self.total))
        if self._bar is not None:
            self._bar.set_postfix_str(message % values, refresh=False)
            self._bar.update(self.done - self._bar.n)
        elif self.verbose and message and self.total:
            now = time.perf_counter()
            if _open_bar.get() is not None or self.done >= self.total or now - self._last_line >= self.every:
                self._last_line = now
                report(self.verbose, message, *values, share=self.done / self.total, since=self._start)

    def show(self, share: float | None, what: str) -> None:
        """Show a report from within the work in an open bar; ``share`` may go from 0 to 1 several times."""
        with self._lock:
            if self._bar is not None:
                self._bar.set_postfix_str(what, refresh=False)
                if share is not None and self.total is not None:
                    if share * self.total < self._bar.n:
                        self._bar.reset()
                    self._bar.update(share * self.total - self._bar.n)


def duration(seconds: float) -> str:
    """Return a human-readable duration.

    >>> [duration(value) for value in (0.0123, 2.5, 61.2, 725, 7300)]
    ['0.012 s', '2.5 s', '61 s', '12 min', '2.0 h']
    """
    if seconds < 1:
        return f"{seconds:.3f} s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def printable(name: str) -> str:
    r"""Return a printable name: lone surrogates, as in damaged file names, are escaped.

    >>> printable("caf\udce9"), printable("café")
    ('caf\\udce9', 'café')
    """
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def html_table(heads: Iterable[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table in HTML whose rows begin with a head; cells are texts, or have a ``text`` and may be ``bold``.

    >>> html_table(["name", "nodes"], [["a<b", 3]]).splitlines()[3]
    '<tr><th scope="row">a&lt;b</th><td>3</td></tr>'
    """
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    lines = []
    for first, *rest in rows:
        styles = (' class="best"' if getattr(cell, "bold", False) else "" for cell in rest)
        texts = [escape(str(getattr(cell, "text", cell))) for cell in (first, *rest)]
        cells = "".join(f"<td{style}>{text}</td>" for style, text in zip(styles, texts[1:], strict=True))
        lines.append(f'<tr><th scope="row">{texts[0]}</th>{cells}</tr>')
    body = "\n".join(lines)
    return f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
