"""Numba's ``njit`` for the compiled code of this package.

What we add to Numba needs names of Numba that are not public: all of it is in :mod:`.internals`, which checks that
these names are there. Where one is missing, or where the environment sets ``RELAXWL_PLAIN_NUMBA``, functions are
compiled by plain ``numba.njit``: results are the same, and compiling takes longer.

Machine code on disk is a pickle: whoever can write it can let us execute anything. So folders that others own or may
write are not used.
"""

import logging
import os
import stat
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

logger = logging.getLogger("relaxwl")


def _load_internals() -> Callable[[Any], Any] | None:
    """Return the function that modifies compiled functions, or None if this version of Numba is not supported."""
    if os.environ.get("RELAXWL_PLAIN_NUMBA"):
        return None
    try:
        from relaxwl._compiling.internals import improve

        improve(numba.njit(lambda: None))
    except Exception as error:  # private names may be gone, moved, or changed in ways that nobody foresees
        logger.warning("Numba %s is not supported yet, so compiling takes longer: %s", numba.__version__, error)
        return None
    return improve


_improve = _load_internals()


def njit(*args: Any, **options: Any) -> Any:
    """Compile a function as ``numba.njit`` does, with the improvements of :mod:`.internals` where they are possible."""
    if len(args) == 1 and not options and callable(args[0]):
        return njit()(args[0])

    def in_memory(function: Any, reason: str) -> Any:
        tell_not_kept(reason)
        return njit(*args, **{**options, "cache": False})(function)

    def compiled(function: Any) -> Any:
        try:
            made = numba.njit(*args, **options)(function)
        except RuntimeError as error:  # there is no folder that machine code could be kept in
            if not options.get("cache") or "cannot cache" not in str(error):
                raise
            return in_memory(function, "no cache folder is writable")
        if options.get("cache") and made is not function and (reason := distrust(Path(made.stats.cache_path))):
            return in_memory(function, reason)
        # With NUMBA_DISABLE_JIT a plain function comes out, which needs no help.
        return made if _improve is None or made is function else _improve(made)

    return compiled


@cache
def distrust(folder: Path) -> str:
    """Return why other users may write into a cache folder, or "" if only this user and root can.

    Parameters
    ----------
    folder : Path
        A folder that exists. The folders above it count as well: who may rename one of them may replace it.

    Returns
    -------
    str
        A reason that names a folder or file. Always empty on Windows, where modes say nothing about others.
    """
    if not hasattr(os, "getuid"):
        return ""
    real = folder.resolve()
    above = {*folder.absolute().parents, *real.parents, folder.absolute()} - {real}
    files = [path for path in real.iterdir() if path.suffix in {".nbi", ".nbc"}]
    for path in [real, *sorted(above), *files]:
        try:
            status = path.lstat()
        except FileNotFoundError:  # another process has replaced it since, which is one of ours
            continue
        if status.st_uid not in (os.getuid(), 0):
            return f"{path} belongs to another user"
        kept_apart = path in above and status.st_mode & stat.S_ISVTX  # in /tmp none can rename what is another's
        if stat.S_ISLNK(status.st_mode) or kept_apart:
            continue
        if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid)):
            return f"other users may write {path}"
    return ""


@cache
def _is_private(gid: int) -> bool:
    """Whether a group is root's, or the private group of this user."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(os.getuid())
    except KeyError:
        return gid == 0
    return gid == 0 or (gid == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name})


@cache
def tell_not_kept(reason: str) -> None:
    """Warn, once for each reason, that compiled code is not cached."""
    advice = "NUMBA_CACHE_DIR sets another folder"
    logger.warning("compiled code cannot be cached and is compiled in each process (%s); %s", reason, advice)
