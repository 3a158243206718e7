import hashlib
import os

import pytest

from relaxwl._storage import atomic_write, sha256


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
