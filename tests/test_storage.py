import hashlib
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from places import SOURCE
from platforms import linux, posix
from relaxwl._storage import atomic_write, check_folder_writable, check_writable, require_regular, sha256


def test_a_file_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "result.bin"
    with atomic_write(path) as file:
        file.write(b"all of it")
        assert not path.exists()
    assert path.read_bytes() == b"all of it"
    assert [item.name for item in tmp_path.iterdir()] == ["result.bin"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "result.bin"
    path.write_bytes(b"old")
    with pytest.raises(error), atomic_write(str(path)) as file:  # noqa: PT012 - the body is what is interrupted
        file.write(b"half")
        raise error
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["result.bin"]


KILLED = """
import os, pathlib, signal, sys
from unittest import mock
from relaxwl._storage import atomic_write

with mock.patch(sys.argv[2], lambda *_: os.kill(os.getpid(), signal.SIGKILL)), atomic_write(sys.argv[1]) as file:
    file.write(b"new" * 10**6)
"""


@posix
@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.replace"])
def test_a_kill_while_writing_leaves_the_old_file(tmp_path, call):
    path = tmp_path / "result.bin"
    path.write_bytes(b"old")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run([sys.executable, "-c", KILLED, path, call], env=environment, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    write(path)
    assert path.read_bytes() == b"new"


def test_a_missing_folder_is_named(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist"),
        atomic_write(tmp_path / "nowhere" / "x"),
    ):
        pass


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX knows them")
def test_the_file_is_as_readable_as_any_other(tmp_path):
    old = os.umask(0o022)
    try:
        with atomic_write(tmp_path / "x") as file:
            file.write(b"x")
    finally:
        os.umask(old)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o644


def test_checksum(tmp_path):
    (tmp_path / "x").write_bytes(b"content")
    assert sha256(tmp_path / "x") == hashlib.sha256(b"content").hexdigest()


# --------------------------------------------------------------------------------------- what may be at the target


def write(path, content=b"new"):
    with atomic_write(path) as file:
        file.write(content)


@posix
def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target.name)
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@posix
def test_a_dangling_link_makes_what_it_leads_to(tmp_path):
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to("folder/target")
    write(link)
    assert link.is_symlink()
    assert (tmp_path / "folder" / "target").read_bytes() == b"new"
    link.unlink()
    link.symlink_to("nowhere/target")
    with pytest.raises(FileNotFoundError, match=r"link: the folder .*nowhere does not exist"):
        write(link)


@posix
def test_a_loop_of_links_is_refused_by_its_name(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match=r"/a'"):
        write(tmp_path / "a")


@linux
def test_devices_stay_devices_and_their_errors_come_out():
    write("/dev/null")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        write("/dev/full")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


@posix
def test_permissions_are_kept(tmp_path):
    path = tmp_path / "private"
    path.write_bytes(b"old")
    path.chmod(0o600)
    write(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_names_may_be_as_long_as_names_can_be(tmp_path):
    path = tmp_path / ("x" * 255)
    write(path)
    assert path.read_bytes() == b"new"
    with pytest.raises(OSError, match=r"x{300}"):
        write(tmp_path / ("x" * 300))


@posix
def test_a_full_disk_is_reported_with_the_name_that_the_user_gave(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "result.bin"
    path.write_bytes(b"old")
    before, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match=r"result\.bin'") as caught:
            write(path, bytes(10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert "tmp'" not in str(caught.value)
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["result.bin"]


# --------------------------------------------------------------------------------------- before the work


@linux
def test_what_cannot_be_written_is_known_before(tmp_path):
    check_writable(tmp_path / "new")
    check_folder_writable(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        check_writable(tmp_path / "nowhere" / "x")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match=r"file is a file"):
        check_folder_writable(tmp_path / "file" / "x")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody can write to")
def test_a_folder_that_cannot_be_made_is_refused_by_its_name():
    with pytest.raises(OSError, match=r": '/proc/nothing/deep'$"):
        check_folder_writable("/proc/nothing/deep")
    with pytest.raises(OSError, match="/proc/nothing"):
        check_writable("/proc/nothing")


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_permissions_are_known_before(tmp_path):
    (tmp_path / "kept").touch()
    (tmp_path / "kept").chmod(0o444)
    with pytest.raises(PermissionError, match="kept"):
        check_writable(tmp_path / "kept")
    tmp_path.chmod(0o555)
    with pytest.raises(PermissionError, match="new'"):
        check_writable(tmp_path / "new")


@linux
def test_only_regular_files_are_read(tmp_path):
    (tmp_path / "zeros").symlink_to("/dev/zero")
    (tmp_path / "file").write_bytes(b"12345")
    assert require_regular(tmp_path / "file") == 5
    for name, kind in (("zeros", "not a regular file"), (".", "a folder")):
        with pytest.raises(OSError, match=f"it is {kind}"):
            require_regular(tmp_path / name)


def test_where_open_files_cannot_be_replaced_others_get_time_to_close_them(tmp_path, monkeypatch):
    path, tries = tmp_path / "kept", []
    write(path)
    replace = Path.replace

    def busy_at_first(self, target):
        tries.append(target)
        if len(tries) < 3:
            raise PermissionError(13, "somebody has it open", str(target))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", busy_at_first)
    monkeypatch.setattr("relaxwl._storage._WAITS", (0.0, 0.0))
    write(path)
    assert len(tries) == 3
    tries.clear()
    monkeypatch.setattr("relaxwl._storage._WAITS", (0.0,))
    with pytest.raises(PermissionError, match="kept"):
        write(path)
    assert [one.name for one in tmp_path.iterdir()] == ["kept"]
