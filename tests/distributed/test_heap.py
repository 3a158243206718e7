"""Memory is kept while a task runs, and given back as the environment asks for when none does."""

import pytest

from relaxwl.distributed import heap


@pytest.fixture
def settings(monkeypatch):
    """Return what the C library would be told, in order."""
    told = []

    class Library:
        @staticmethod
        def mallopt(setting, value):
            told.append((setting, value))

    monkeypatch.setattr(heap, "_library", lambda: Library)
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    return told


def test_the_first_task_keeps_and_the_last_one_gives_back(settings):
    with heap.kept_memory():
        kept = list(settings)
        with heap.kept_memory():
            pass
        assert settings == kept == [(heap.MMAP_THRESHOLD, 1 << 25), (heap.TRIM_THRESHOLD, 1 << 26)]
    assert settings[2:] == [(heap.MMAP_THRESHOLD, 1 << 17), (heap.TRIM_THRESHOLD, 65536)]


def test_a_task_that_fails_gives_back_too(settings):
    with pytest.raises(KeyError), heap.kept_memory():
        raise KeyError
    assert settings[-1] == (heap.TRIM_THRESHOLD, 65536)


@pytest.mark.parametrize("asked", [None, "much"])
def test_nothing_is_touched_where_nothing_is_asked_for(monkeypatch, asked):
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    if asked is not None:
        monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", asked)
    heap._library.cache_clear()
    try:
        assert heap._library() is None
        with heap.kept_memory():
            pass
    finally:
        heap._library.cache_clear()
