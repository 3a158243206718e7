"""How far an evaluation is, for those who wait."""

import threading
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class ProgressEvent:
    """How far an evaluation is: ``done`` of ``total`` folds (part of a fold counts too), and what it does now."""

    dataset: str
    kernel: str
    repetition: int
    done: float
    total: int
    description: str


class Meter:
    """Turns the steps of an evaluation into events. Worker threads may advance it; events come one at a time."""

    def __init__(self, callback: Callable[[ProgressEvent], None] | None, dataset: str, total: int) -> None:
        self._callback = callback
        self._lock = threading.Lock()
        self._dataset, self._total = dataset, total
        self._kernel, self._repetition = "", 0
        self._base = self._done = 0.0
        self._ceiling = 0.0

    def start(self, kernel: str, repetition: int, n_folds: int) -> "Share":
        """Begin a repetition, and return the meter for it."""
        self._kernel, self._repetition = kernel, repetition
        self._ceiling = self._base + n_folds
        self.advance(0.0, "starting")
        return Share(self, n_folds)

    def finish(self, n_folds: int, description: str = "done") -> None:
        """Count folds as done, whatever was reported about their parts."""
        self._base += n_folds
        self._done = self._ceiling = self._base
        self.advance(0.0, description)

    def advance(self, n_folds: float, description: str) -> None:
        """Report that something was done."""
        with self._lock:
            # Shares are fractions, whose sum may exceed the whole by rounding.
            self._done = min(self._done + n_folds, self._ceiling)
            if self._callback is not None:
                self._callback(
                    ProgressEvent(self._dataset, self._kernel, self._repetition, self._done, self._total, description)
                )


@dataclass(frozen=True)
class Share:
    """A part of the work, worth ``n_folds`` folds."""

    meter: Meter
    n_folds: float

    def part(self, n_parts: int) -> "Share":
        """Return one of ``n_parts`` equal parts."""
        return Share(self.meter, self.n_folds / n_parts)

    def say(self, description: str) -> None:
        """Report what is being done."""
        self.meter.advance(0.0, description)

    def advance(self, fraction: float, description: str) -> None:
        """Report that a fraction of this part was done."""
        self.meter.advance(fraction * self.n_folds, description)
