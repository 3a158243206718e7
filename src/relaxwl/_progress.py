"""Progress of long work through ``logging``: silent by default, shown when the user asks with ``verbose``."""

import logging
import time

logger = logging.getLogger("relaxwl")


def report(
    verbose: int,
    message: str,
    *values: object,
    level: int = 1,
    share: float | None = None,
    since: float | None = None,
) -> None:
    """Log a line of progress if ``verbose`` is at least ``level``.

    ``share`` says which part of the work is done, if that is known; with ``since``, when it began on the clock of
    ``time.perf_counter``, the line ends with the time that is left. Handlers that draw find the share, and the line
    without the time, in the record's ``share`` and ``what``. A user who sets ``verbose`` wants to see it, also without
    having configured ``logging``; a handler of our own is added only then, and only if there is none.
    """
    if verbose < level:
        return
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)
    what = message % values
    logger.info("%s%s", what, _time_left(share, since), extra={"what": what, "share": share})


def _time_left(share: float | None, since: float | None) -> str:
    if not share or since is None:
        return ""
    elapsed = time.perf_counter() - since
    return f"; {duration(elapsed)} so far, about {duration(elapsed * (1 - share) / share)} left"


def duration(seconds: float) -> str:
    """Return a duration as people read it.

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
    r"""Return a name that any file or terminal can take: lone surrogates, as in damaged file names, are spelt out.

    >>> printable("caf\udce9"), printable("café")
    ('caf\\udce9', 'café')
    """
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
