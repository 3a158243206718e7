"""Numba's ``njit`` for the compiled code of this package.

Improvements of Numba that use its private names are in :mod:`.internals`, which checks that these names exist. If one
is missing, or the environment variable ``RELAXWL_PLAIN_NUMBA`` is set, functions are compiled by plain
``numba.njit``: results are the same, but compiling takes longer.

Machine code on disk is a pickle, so anyone who can write it can make this process execute arbitrary code. Folders that
other users own or may write are therefore not used.
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
# Maximum number of folders and links in a path: links, which others may create at any moment, can form a loop.
MAX_STEPS = 1000


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
        if options.get("cache") and made is not function and (reason := distrust(Path(made.stats.cache_path))):
            return in_memory(function, reason)
        # With NUMBA_DISABLE_JIT, Numba returns the Python function itself, which cannot be improved.
        return made if _improve is None or made is function else _improve(made)

    return compiled


@cache
def distrust(folder: Path) -> str:
    """Return why other users may write into a cache folder, or "" if only this user and root can.

    Parameters
    ----------
    folder : Path
        An existing folder. All links and folders that its path leads through are checked as well, because whoever may
        rename one of them can replace it.

    Returns
    -------
    str
        A reason that names a folder or file. Always empty on Windows, where modes do not describe access by others.
    """
    if not hasattr(os, "getuid"):
        return ""
    steps = _steps(folder)
    if len(steps) > MAX_STEPS:
        return f"{folder} leads through too many links"
    *above, real = steps
    files = [path for path in real.iterdir() if path.suffix in {".nbi", ".nbc"}]
    for path in [real, *above, *files]:
        try:
            status = path.lstat()
        except FileNotFoundError:  # replaced in the meantime, by a process of this user
            continue
        if status.st_uid not in (os.getuid(), 0):
            return f"{path} belongs to another user"
        if stat.S_ISLNK(status.st_mode):
            if path in files:  # Numba creates no links
                return f"{path} is a link"
            continue
        if path in above and status.st_mode & stat.S_ISVTX:  # as in /tmp: users cannot rename files of others
            continue
        if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid)):
            return f"other users may write {path}"
    return ""


def _steps(folder: Path) -> list[Path]:
    """Return all folders and links that a path leads through, in order; the last one is the folder itself."""
    place = Path(folder.absolute().anchor)
    found, names = [place], list(folder.absolute().parts[1:])
    while names and len(found) <= MAX_STEPS:
        step = place / names.pop(0)
        if step.name == "..":
            place = place.parent
            continue
        found.append(step)
        if step.is_symlink():
            target = step.readlink()
            names[:0] = target.parts[1:] if target.is_absolute() else target.parts
            place = Path(target.anchor) if target.is_absolute() else place
        else:
            place = step
    return found if names else [*(step for step in found if step != place), place]


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
