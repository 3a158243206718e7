"""Numba's ``njit`` for the compiled code of this package.

Improvements of Numba that use its private names are in :mod:`.internals`, which checks that these names exist. If one
is missing, or the environment variable ``RELAXWL_PLAIN_NUMBA`` is set, functions are compiled by plain
``numba.njit``: results are the same, but compiling takes longer.

Machine code is not cached in folders that other users may write: see :mod:`.trust`.
"""

import logging
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

from relaxwl._compiling.trust import distrust, tell_not_kept

logger = logging.getLogger("relaxwl")


def _load_internals() -> Callable[[Any], Any] | None:
    """Return the function that modifies compiled functions, or None if this version of Numba is not supported."""
    if os.environ.get("RELAXWL_PLAIN_NUMBA"):
        return None
    try:
        from relaxwl._compiling.internals import improve

        improve(numba.njit(lambda: None))
    except Exception as error:  # private names may be removed, moved or changed in any way
        logger.warning("Numba %s is not supported yet, so compiling takes longer: %s", numba.__version__, error)
        return None
    return improve


_improve = _load_internals()
_distrust_once = cache(distrust)  # one folder has many functions


def njit(*args: Any, **options: Any) -> Any:
    """Compile a function as ``numba.njit`` does, with the improvements of :mod:`.internals` if available."""
    if len(args) == 1 and not options and callable(args[0]):
        return njit()(args[0])

    def in_memory(function: Any, reason: str) -> Any:
        tell_not_kept(reason)
        return njit(*args, **{**options, "cache": False})(function)

    def compiled(function: Any) -> Any:
        try:
            made = numba.njit(*args, **options)(function)
        except RuntimeError as error:  # there is no folder for machine code
            if not options.get("cache") or "cannot cache" not in str(error):
                raise
            return in_memory(function, "no cache folder is writable")
        if options.get("cache") and made is not function and (reason := _distrust_once(Path(made.stats.cache_path))):
            return in_memory(function, reason)
        # With NUMBA_DISABLE_JIT, Numba returns the Python function itself, which cannot be improved.
        return made if _improve is None or made is function else _improve(made)

    return compiled
