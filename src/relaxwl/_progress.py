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
    return f"; {elapsed:.1f} s so far, about {elapsed * (1 - share) / share:.1f} s left"
