"""Output of commands: results, notes and progress.

Results go to standard output, notes to standard error, with a progress bar if that is a terminal. ``--quiet`` prints
only results, ``--json`` makes results machine-readable.
"""

import io
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from relaxwl._progress import ProgressBar, is_watched

# Seconds after which an interrupt without effect is repeated.
REPEAT_INTERVAL = 2.0
# A word that is too long to be shown in full: its first and last characters are.
LONG_WORD = re.compile(r"(\S{300})\S{400,}(\S{300})")


class UserError(Exception):
    """Bad input; the message is shown without a traceback."""


def print_error(text: str) -> None:
    """Print the error in one line."""
    _to_stderr(f"relaxwl: {' '.join(printable(text).split())}\n")


def printable(text: str) -> str:
    r"""Return a message with control characters escaped and very long words, such as names of files, shortened.

    >>> printable("no file a\x1b[2J"), len(printable(5000 * "x"))
    ('no file a\\x1b[2J', 601)
    """
    text = LONG_WORD.sub(r"\1…\2", text)
    return "".join(c if c.isprintable() or c.isspace() else c.encode("unicode_escape").decode() for c in text)


def error_text(error: BaseException) -> str:
    """Return the message of an error without the error number of the system.

    >>> error_text(OSError(28, "No space left on device", "X.npz")), error_text(KeyError("x")), error_text(ValueError())
    ('X.npz: No space left on device', 'x', 'ValueError')
    """
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if isinstance(error, KeyError) and error.args:
        return str(error.args[0])
    return str(error) or type(error).__name__


# Parameters of the library whose option has another name.
OPTIONS = {
    "max_depth": "depth",
    "n_folds": "folds",
    "n_jobs": "jobs",
    "n_partitions": "partitions",
    "n_clusters": "clusters",
}


def option(parameter: str) -> str:
    """Return the option that sets a parameter.

    >>> option("n_clusters"), option("node_label")
    ('--clusters', '--node-label')
    """
    return f"--{OPTIONS.get(parameter, parameter).replace('_', '-')}"


def write_any_text() -> None:
    """Make standard output accept all characters, also those that its encoding lacks."""
    if os.name == "nt":
        os.system("")  # enables escape sequences in the Windows console, for erasing lines and bold text
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Discard the remaining output: its reader is gone, or the disk is full."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def watch_interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether the user has interrupted the work, whatever exception was raised.

    Exceptions in callbacks, such as those of the compiler, are lost, so an interrupt is repeated until the work has
    ended.
    """
    seen = threading.Event()
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield seen.is_set
        return

    alarm, hook = getattr(signal, "SIGALRM", None), sys.unraisablehook
    usual_alarm = None if alarm is None else signal.getsignal(alarm)

    def interrupt(number: int, frame: FrameType | None) -> None:
        seen.set()
        if alarm is not None:
            signal.signal(alarm, interrupt)
            signal.setitimer(signal.ITIMER_REAL, REPEAT_INTERVAL)
        raise KeyboardInterrupt

    def tell_others(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            hook(unraisable)

    signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = tell_others
    try:
        yield seen.is_set
    finally:
        if alarm is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(alarm, usual_alarm)
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, usual)


def _to_stderr(text: str) -> None:
    """Write to standard error, if possible; errors are ignored."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


class Console:
    """Writes to the user."""

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json

    def note(self, text: str) -> None:
        """Print a note about the work."""
        if not self.quiet:
            _to_stderr(printable(text) + "\n")

    def result(self, text: str, data: Any = None) -> None:
        """Print the result: ``text``, or ``data`` as JSON if requested."""
        if self.as_json:
            # In other encodings, characters that they lack would be written in a form that is not valid JSON.
            encoding = getattr(sys.stdout, "encoding", None) or ""
            text = json.dumps(data, ensure_ascii=not encoding.lower().startswith("utf"))
        try:
            print(text, flush=True)
        except BrokenPipeError:
            raise
        except OSError as error:
            discard_output()
            raise OSError(error.errno, error.strerror, "standard output") from None

    @property
    def verbose(self) -> int:
        """Value of ``verbose`` for kernels: progress is shown in terminals only."""
        return int(is_watched() and not (self.quiet or self.as_json))

    def bar(self, title: str) -> ProgressBar:
        """Return a context manager that shows a progress bar and removes it afterwards."""
        return ProgressBar(title, verbose=self.verbose, leave=False)
