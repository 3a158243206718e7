"""Commands in processes of their own: through pipes, and in a terminal."""

import os
import select
import signal
import subprocess
import sys
import time

COMMAND = [sys.executable, "-m", "relaxwl.cli"]


def run(*arguments, **options):
    """Run a command through pipes."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False, **options
    )


def heed_interrupts():
    """Undo that a shell lets its background jobs, and so all their children, ignore interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def in_terminal(arguments, until=None, send=None, timeout=240):
    """Run a command in a pseudo-terminal; return what it showed and its exit code."""
    import pty  # not on Windows
    import termios

    parent, child = pty.openpty()
    termios.tcsetwinsize(child, (24, 100))
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=child,
        stdout=child,
        stderr=child,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )
    os.close(child)
    shown, end = b"", time.monotonic() + timeout
    while time.monotonic() < end:
        if select.select([parent], [], [], 0.1)[0]:
            try:
                block = os.read(parent, 65536)
            except OSError:  # the other end was closed
                break
            if not block:
                break
            shown += block
        if send is not None and until in shown:
            os.killpg(process.pid, send)
            send = None
    try:
        code = process.wait(timeout=60)
    finally:
        process.kill()
        os.close(parent)
    return shown.decode(), code
