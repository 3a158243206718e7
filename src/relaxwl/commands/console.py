"""What a command says while it works and when it is done.

Results go to standard output, progress and notes to standard error: a bar that redraws itself on a terminal, plain
lines elsewhere. ``--quiet`` leaves only results, ``--json`` makes results machine-readable.
"""

import json
import logging
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relaxwl._progress import duration

# Seconds between two lines of progress where there is no terminal, and between two redraws where there is one.
LINE_INTERVAL = 10.0
REDRAW_INTERVAL = 0.1


class UserError(Exception):
    """Bad input: the message is all that the user needs to see."""


class Console:
    """Writes to the user."""

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json
        self.is_terminal = sys.stderr.isatty()

    def note(self, text: str) -> None:
        """Say something about the work."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def result(self, text: str, data: Any = None) -> None:
        """Give the result: ``text``, or ``data`` as JSON if that was asked for."""
        print(json.dumps(data, ensure_ascii=False) if self.as_json else text, flush=True)

    @contextmanager
    def bar(self, title: str) -> Iterator["Bar"]:
        """Show the progress of the work within, and wipe it away afterwards."""
        bar = Bar(title, self)
        try:
            yield bar
        finally:
            bar.close()

    @property
    def shows_kernels(self) -> bool:
        """Whether lines of progress that kernels log are for the user to see."""
        return not (self.quiet or self.as_json)

    @contextmanager
    def kernel_bar(self, title: str) -> Iterator[None]:
        """Show what kernels with ``verbose=1`` log during the work within."""
        if not self.shows_kernels:
            yield
            return
        logger = logging.getLogger("relaxwl")
        level = logger.level
        with self.bar(title) as bar:
            handler = _BarHandler(bar)
            logger.addHandler(handler)
            try:
                yield
            finally:
                logger.removeHandler(handler)
                logger.setLevel(level)


class Bar:
    """Progress with the time that is left."""

    def __init__(self, title: str, console: Console) -> None:
        self.title = title
        self.console = console
        self.start = time.monotonic()
        self.shown = -LINE_INTERVAL
        self.drawn = False

    def update(self, done: float, total: float, description: str = "") -> None:
        """Say how far the work is."""
        if self.console.quiet:
            return
        now = time.monotonic() - self.start
        interval = REDRAW_INTERVAL if self.console.is_terminal else LINE_INTERVAL
        if now - self.shown < interval and done < total:
            return
        self.shown = now
        share = min(done / total, 1.0) if total else 1.0
        left = f"{duration(now * (1 - share) / share)} left" if share > 0.005 else "…"
        if self.console.is_terminal:
            self._draw(share, description, left)
        else:
            print(f"{self.title}: {share:4.0%} {description} ({left})", file=sys.stderr, flush=True)

    def restart(self) -> None:
        """Count the time from now on: another part of the work begins."""
        self.start = time.monotonic()
        self.shown = -LINE_INTERVAL

    def _draw(self, share: float, description: str, left: str) -> None:
        width = shutil.get_terminal_size().columns
        filled = round(share * 24)
        line = f"{self.title} {'█' * filled}{'░' * (24 - filled)} {share:4.0%} {left}  {description}"
        sys.stderr.write("\r\x1b[K" + line[: width - 1])
        sys.stderr.flush()
        self.drawn = True

    def close(self) -> None:
        """Leave a clean line behind."""
        if self.drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class _BarHandler(logging.Handler):
    """Turns the lines that a kernel logs into progress of a bar."""

    def __init__(self, bar: Bar) -> None:
        super().__init__(logging.INFO)
        self.bar = bar
        self.share = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Show how far the kernel is; a line that does not say so leaves the bar where it is."""
        share: float | None = getattr(record, "share", None)
        # A kernel may have several rounds, such as its depths and then its Gram matrix.
        if share is not None and share < self.share:
            self.bar.restart()
        self.share = self.share if share is None else share
        self.bar.update(self.share, 1.0, getattr(record, "what", record.getMessage()))
