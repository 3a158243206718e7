"""Every writer, killed inside of writing."""

import re

import pytest

pytest.importorskip("resource", reason="kills are those of Unix")

from fuzz import windows
from fuzz.windows import FILES, WINDOWS
from places import SOURCE


@pytest.fixture(scope="module")
def writers(tmp_path_factory):
    found = windows.writers(tmp_path_factory.mktemp("models"))
    assert list(found) == list(FILES)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork beside threads
def test_a_kill_inside_of_writing_leaves_the_old_file(writers, name, window, tmp_path):
    windows.check_window(writers[name], tmp_path / FILES[name][0], window)


def test_every_module_that_writes_files_is_met():
    modules = [path for path in SOURCE.rglob("*.py") if re.search(r"\bwith .*atomic_write\(", path.read_text())]
    shards = "distributed/shards.py"  # below
    assert {str(path.relative_to(SOURCE)) for path in modules} == {shards, *(module for _, module in FILES.values())}


@pytest.mark.parametrize("window", WINDOWS[:2])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_kill_inside_of_appending_loses_no_record(window, tmp_path):
    windows.check_records(tmp_path, window)


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_kill_at_any_call_of_writing_shards_is_gone_on_from(window, tmp_path):
    calls = 0
    while windows.check_shards(_made(tmp_path / str(calls)), window, calls):
        calls += 1
    assert calls > 4


def _made(folder):
    folder.mkdir()
    return folder
