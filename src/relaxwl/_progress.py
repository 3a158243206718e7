"""Progress of long work through ``logging``: silent by default, shown when the user asks with ``verbose``."""

import logging

logger = logging.getLogger("relaxwl")


def report(verbose: int, message: str, *values: object, level: int = 1) -> None:
    """Log a line of progress if ``verbose`` is at least ``level``.

    A user who sets ``verbose`` wants to see it, also without having configured ``logging``; a handler of our own is
    added only then, and only if there is none.
    """
    if verbose < level:
        return
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)
    logger.info(message, *values)
