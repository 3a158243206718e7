"""Warnings that point at the line of the caller's own code, wherever in the package they come from."""

import sys
import warnings
from pathlib import Path
from types import FrameType

PACKAGE = str(Path(__file__).parent)


def warn_user(message: str) -> None:
    """Warn of something at the first line outside this package, so that Python shows it once a place and not once."""
    level, frame = 1, sys._getframe(1)
    while _is_ours(frame) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level + 1)


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(PACKAGE)
