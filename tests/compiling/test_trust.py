"""Machine code that others could have written is not loaded, whoever owns the folder and whatever leads to it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from places import SOURCE
from relaxwl import _compiling
from relaxwl._compiling import njit, trust
from relaxwl._compiling.trust import _is_private, distrust


def _twice(value):
    return 2 * value


def _poison(trace):
    return b"cos\nsystem\n(S'touch " + str(trace).encode() + b"'\ntR."


@pytest.fixture
def cache_dir(tmp_path, monkeypatch):
    """The folder that Numba is told to use."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "kept"))  # it reads the variable when it compiles
    monkeypatch.setattr(trust, "_told", [])
    return tmp_path / "kept"


needs_modes = pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs owners and modes of POSIX")


@pytest.fixture
def kept(tmp_path):
    """A folder as Numba makes it in NUMBA_CACHE_DIR, with a file, that nobody else may write."""
    folder = tmp_path / "kept" / "package_0123"
    folder.mkdir(parents=True)
    (folder / "function.nbi").touch(0o600)
    return folder


@needs_modes
@pytest.mark.parametrize("place", [".", "..", "function.nbi"])
def test_folders_that_others_may_write_are_not_trusted(kept, place):
    assert distrust(kept) == ""
    path = (kept / place).resolve()
    path.chmod(0o777)
    assert distrust(kept) == f"other users may write {path}"


@needs_modes
def test_others_cannot_rename_in_a_folder_with_the_sticky_bit_but_add_to_it(kept):
    kept.parent.chmod(0o1777)
    assert distrust(kept) == ""
    kept.chmod(0o1777)
    assert distrust(kept) == f"other users may write {kept.resolve()}"


@needs_modes
def test_links_on_the_way_to_a_folder_are_not_trusted_where_others_may_replace_them(kept, tmp_path):
    """The folder and the first link are the user's own, and the second link lies where others can change it."""
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    own.mkdir()
    (shared / "second").symlink_to(kept.parent)
    (own / "first").symlink_to("../shared/second")
    way = own / "first" / kept.name
    assert distrust(way) == ""
    shared.chmod(0o777)
    assert distrust(way) == f"other users may write {shared}"
    shared.chmod(0o1777)  # others may add links, but not replace this one
    assert distrust(way) == ""


@needs_modes
def test_links_to_machine_code_and_loops_are_not_trusted(kept, tmp_path):
    (kept / "other.nbc").symlink_to(tmp_path / "elsewhere")
    assert distrust(kept) == f"{kept / 'other.nbc'} is a link"
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    assert distrust(tmp_path / "one" / "kept") == f"{tmp_path / 'one' / 'kept'} leads through too many links"


@needs_modes
@pytest.mark.parametrize("place", [".", "..", "function.nbi"])
def test_folders_that_others_own_are_not_trusted(kept, place, monkeypatch):
    path, owner = (kept / place).resolve(), os.getuid() + 1000
    lstat = Path.lstat

    def status(this):
        found = list(lstat(this))
        return os.stat_result([*found[:4], owner if this == path else found[4], *found[5:]])

    monkeypatch.setattr(Path, "lstat", status)
    assert distrust(kept) == f"{path} belongs to another user"


@needs_modes
@pytest.mark.parametrize(
    ("gid", "name", "members", "group_of_you", "private"),
    [
        (7, "me", [], 9, True),
        (7, "me", ["me"], 9, True),
        (7, "me", ["me", "you"], 9, False),
        (7, "me", [], 7, False),
        (7, "lab", [], 9, False),
        (8, "me", [], 9, False),
        (0, "root", ["you"], 9, True),
    ],
)
def test_a_group_that_has_one_member_is_nobody_else(monkeypatch, gid, name, members, group_of_you, private):
    monkeypatch.setattr("grp.getgrgid", lambda _: SimpleNamespace(gr_name=name, gr_mem=members))
    users = [SimpleNamespace(pw_name="me", pw_gid=7), SimpleNamespace(pw_name="you", pw_gid=group_of_you)]
    monkeypatch.setattr("pwd.getpwuid", lambda _: users[0])
    monkeypatch.setattr("pwd.getpwall", lambda: users)
    assert _is_private.__wrapped__(gid) == private


POISONED = """
import logging, sys
logging.basicConfig()
from relaxwl._compiling import njit

@njit(cache=True)
def twice(value):
    return 2 * value

print(twice(3), twice.stats.cache_path)
"""


@needs_modes
@pytest.mark.parametrize("plain", ["", "1"])
def test_machine_code_that_others_may_write_is_not_loaded(tmp_path, plain):
    """A pickle in such a folder, which would write a file, is not read; the code is compiled in memory."""
    script, folder, trace = tmp_path / "poisoned.py", tmp_path / "kept", tmp_path / "executed"
    script.write_text(POISONED)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent), "NUMBA_CACHE_DIR": str(folder)}
    environment["RELAXWL_PLAIN_NUMBA"] = plain

    def run():
        command = [sys.executable, str(script)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    assert run().stdout.startswith("6 ")
    (index,) = folder.rglob("*.nbi")
    index.write_bytes(_poison(trace))
    run()  # the file is the user's own: this is what the check is there for
    assert trace.exists()
    trace.unlink()
    index.write_bytes(_poison(trace))
    index.parent.chmod(0o777)
    done = run()
    assert done.stdout == "6 None\n", done.stderr
    assert f"other users may write {index.parent}" in done.stderr
    assert not trace.exists()


@needs_modes
def test_folders_that_cannot_be_examined_are_not_trusted(kept, monkeypatch):
    def refused(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refused)  # root may read all folders
    assert distrust(kept) == f"{kept}: Permission denied"
    assert distrust(kept / "gone") == f"{kept / 'gone'}: No such file or directory"
    assert distrust(Path("kept")).startswith("kept is a relative path")


@needs_modes
def test_a_folder_that_was_replaced_since_it_was_checked_is_not_loaded_from(cache_dir, tmp_path, caplog):
    """Others may take the place of a folder that was removed, in /tmp for example, while a process runs."""

    def twice():
        return njit(cache=True)(_twice)

    twice()(3)
    decorated, trace = twice(), tmp_path / "executed"
    (folder,) = cache_dir.iterdir()
    shutil.copytree(folder, tmp_path / "copy")
    for index in (tmp_path / "copy").glob("*.nbi"):
        index.write_bytes(_poison(trace))
    shutil.rmtree(folder)
    (tmp_path / "copy").rename(folder)
    folder.chmod(0o777)
    before = sorted(folder.iterdir())
    assert decorated(3) == 6
    assert not trace.exists()
    assert f"other users may write {folder}" in caplog.text
    assert sorted(folder.iterdir()) == before, "nothing is written there"


def test_a_folder_that_cannot_be_written_any_more_is_done_without(cache_dir, caplog):
    decorated = njit(cache=True)(_twice)
    shutil.rmtree(cache_dir)
    cache_dir.write_text("a file")
    assert decorated(3) == 6
    assert len(caplog.records) == 1


@needs_modes
@pytest.mark.skipif(getattr(os, "geteuid", int)() != 0, reason="needs root, who can give files away")
def test_machine_code_that_others_own_is_not_loaded(cache_dir, tmp_path, monkeypatch, caplog):
    """Another user owns the index, the machine code, the folder, or one above it: nothing of it is read."""
    trace = tmp_path / "executed"

    def compiled():
        _compiling._distrust_once.cache_clear()
        monkeypatch.setattr(trust, "_told", [])
        twice = njit(cache=True)(_twice)
        return twice(3), twice.stats.cache_path

    assert compiled()[1] is not None
    (index,), (code,) = (cache_dir.rglob(ending) for ending in ("*.nbi", "*.nbc"))
    index.write_bytes(_poison(trace))
    for path in (index, code, index.parent, index.parent.parent):
        os.chown(path, 65534, 65534)
        assert compiled() == (6, None)
        os.chown(path, 0, 0)
        assert f"compiled in each process ({path} belongs to another user)" in caplog.text
        assert not trace.exists()
    compiled()  # the user's own again: this is what the check is there for
    assert trace.exists()


def test_one_line_is_said_in_a_process(monkeypatch, caplog):
    monkeypatch.setattr(trust, "_told", [])
    for reason in ("one", "other"):
        trust.tell_not_kept(reason)
    assert ["(one)" in record.getMessage() for record in caplog.records] == [True]
