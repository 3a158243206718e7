"""Numba's ``njit`` for the compiled code of this package.

Improvements of Numba that use its private names are in :mod:`.internals`, which checks that these names exist. If one
is missing, or the environment variable ``RELAXWL_PLAIN_NUMBA`` is set, functions are compiled by plain
``numba.njit``: results are the same, but compiling takes longer. With ``NUMBA_DISABLE_JIT`` functions are run by
Python, where a debugger can follow them.
"""

import logging
import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numba

logger = logging.getLogger("relaxwl")


def _load_internals() -> Callable[[Any], Any] | None:
    """Return the function that modifies compiled functions, or None if they are to stay as Numba makes them."""
    is_disabled: bool = numba.config.DISABLE_JIT  # type: ignore[attr-defined]
    if is_disabled or os.environ.get("RELAXWL_PLAIN_NUMBA"):
        return None
    try:
        from relaxwl._compiling.internals import improve

        improve(numba.njit(lambda: None))
    except Exception as error:  # private names may be removed, moved or changed in any way
        logger.warning("Numba %s is not supported yet, so compiling takes longer: %s", numba.__version__, error)
        return None
    return improve


_improve = _load_internals()


def njit(*args: Any, **options: Any) -> Any:
    """Compile a function as ``numba.njit`` does, with the improvements of :mod:`.internals` if available."""
    if len(args) == 1 and not options and callable(args[0]):
        return njit()(args[0])

    def compiled(function: Any) -> Any:
        try:
            made = numba.njit(*args, **options)(function)
        except RuntimeError as error:
            # Numba finds no folder for machine code, as on a read-only disk. The package must be imported all the same.
            if not options.get("cache") or "cannot cache" not in str(error):
                raise
            _tell_not_cached()
            return njit(*args, **{**options, "cache": False})(function)
        return made if _improve is None else _improve(made)

    return compiled


@cache
def _tell_not_cached() -> None:
    """Warn, once per process, that compiled code is not cached."""
    logger.warning(
        "no folder for compiled code is writable, so it is compiled in each process; NUMBA_CACHE_DIR sets a folder"
    )
