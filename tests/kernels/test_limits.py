"""Time limits of blocks."""

import logging

from relaxwl.kernels import base
from relaxwl.kernels.base import watched


def test_progress_is_logged_when_asked_for(monkeypatch, caplog):
    monkeypatch.setattr(base, "PROGRESS_INTERVAL", 0.0)
    with caplog.at_level(logging.INFO):
        assert list(watched([1, 2], "work")) == [1, 2]
        assert not caplog.messages
        assert list(watched([1, 2], "work", verbose=1)) == [1, 2]
    assert [line.split(";")[0] for line in caplog.messages] == ["work: 1 of 2 parts done", "work: 2 of 2 parts done"]
