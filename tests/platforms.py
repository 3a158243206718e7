"""Which tests need what only some systems have: pipes, links, signals and permissions, or the devices of Linux."""

import os
import sys

import pytest

posix = pytest.mark.skipif(os.name != "posix", reason="needs pipes, links, signals or permissions of Unix")
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full, /dev/zero or /proc")
