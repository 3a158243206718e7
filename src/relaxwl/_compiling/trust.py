"""Whether a folder of machine code can be trusted.

Machine code on disk is a pickle, so anyone who can write it can make this process execute arbitrary code. Folders that
other users own or may write are therefore not used. They are checked when a function is decorated and, by
:mod:`.internals`, at each use, because another user may have replaced a folder that was removed.
"""

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

logger = logging.getLogger("relaxwl")
# Maximum number of folders and links in a path: links, which others may create at any moment, can form a loop.
MAX_STEPS = 1000


def distrust(folder: Path, prefix: str = "") -> str:
    """Return why other users may write into a cache folder, or "" if only this user and root can.

    Parameters
    ----------
    folder : Path
        All links and folders that its path leads through are checked as well, because whoever may rename one of
        them can replace it.
    prefix : str
        Beginning of the names of the files to check.

    Returns
    -------
    str
        A reason that names a folder or file. Always empty on Windows, where modes do not describe access by others.
    """
    if not hasattr(os, "getuid"):
        return ""
    try:
        return next(_reasons(folder, prefix), "")
    except OSError as error:  # not readable, or changed by another process at this moment
        return f"{folder}: {error.strerror}"


def _reasons(folder: Path, prefix: str) -> Iterator[str]:
    if not folder.is_absolute():
        yield f"{folder} is a relative path, which leads elsewhere from another working directory"
    steps = _steps(folder)
    if len(steps) > MAX_STEPS:
        yield f"{folder} leads through too many links"
    for path in steps:
        status = path.lstat()
        # In folders such as /tmp users cannot rename files of others, but they can add files.
        writable = not stat.S_ISLNK(status.st_mode) and not (path != steps[-1] and status.st_mode & stat.S_ISVTX)
        yield from _reasons_of(path, status, writable)
    for path in steps[-1].iterdir():
        if path.name.startswith(prefix) and path.suffix in {".nbi", ".nbc"}:
            with suppress(FileNotFoundError):  # replaced in the meantime, by a process of this user
                status = path.lstat()
                if stat.S_ISLNK(status.st_mode):  # Numba creates no links
                    yield f"{path} is a link"
                yield from _reasons_of(path, status, True)


def _reasons_of(path: Path, status: os.stat_result, writable: bool) -> Iterator[str]:
    """Yield why other users may write a file or folder; modes matter only where it is ``writable``."""
    if status.st_uid not in (os.getuid(), 0):
        yield f"{path} belongs to another user"
    by_others = status.st_mode & stat.S_IWOTH
    if writable and (by_others or (status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid))):
        yield f"other users may write {path}"


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
    if gid == 0 or (gid, group.gr_name) != (user.pw_gid, user.pw_name):
        return gid == 0
    # A group does not list the users whose primary group it is.
    members = {*group.gr_mem, *(other.pw_name for other in pwd.getpwall() if other.pw_gid == gid)}
    return members <= {user.pw_name}


_told: list[str] = []


def tell_not_kept(reason: str) -> None:
    """Warn, once per process, that compiled code is not cached."""
    if not _told:
        advice = "NUMBA_CACHE_DIR sets another folder"
        logger.warning("compiled code cannot be cached and is compiled in each process (%s); %s", reason, advice)
    _told.append(reason)
