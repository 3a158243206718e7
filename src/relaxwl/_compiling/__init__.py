"""Numba's ``njit`` for the compiled code of this package.

What we add to Numba needs names of Numba that are not public: all of it is in :mod:`.internals`, which checks that
these names are there. Where one is missing, or where the environment sets ``RELAXWL_PLAIN_NUMBA``, functions are
compiled by plain ``numba.njit``: results are the same, and compiling takes longer.
"""

import logging
import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numba

logger = logging.getLogger("relaxwl")


def _load_internals() -> Callable[[Any], Any] | None:
    """Return what improves a compiled function, or None if this Numba is not one that it knows."""
    if os.environ.get("RELAXWL_PLAIN_NUMBA"):
        return None
    try:
        from relaxwl._compiling.internals import improve

        improve(numba.njit(lambda: None))
    except Exception as error:  # private names may be gone, moved, or changed in ways that nobody foresees
        logger.warning("Numba %s is not known, so that compiling takes longer: %s", numba.__version__, error)
        return None
    return improve


_improve = _load_internals()


def njit(*args: Any, **options: Any) -> Any:
    """Compile a function as ``numba.njit`` does, with the improvements of :mod:`.internals` where they are possible."""
    if len(args) == 1 and not options and callable(args[0]):
        return njit()(args[0])

    def compiled(function: Any) -> Any:
        try:
            made = numba.njit(*args, **options)(function)
        except RuntimeError as error:  # there is no folder that machine code could be kept in
            if not options.get("cache") or "cannot cache" not in str(error):
                raise
            tell_not_kept("no folder for it can be written")
            made = numba.njit(*args, **{**options, "cache": False})(function)
        # With NUMBA_DISABLE_JIT a plain function comes out, which needs no help.
        return made if _improve is None or made is function else _improve(made)

    return compiled


@cache
def tell_not_kept(reason: str) -> None:
    """Say once for each reason that compiling will be needed again."""
    advice = "NUMBA_CACHE_DIR names another folder for it"
    logger.warning("machine code cannot be kept, and is compiled in each process (%s); %s", reason, advice)
