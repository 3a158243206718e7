"""Time limits for kernels, and progress for those who wait; the clock itself is in ``relaxwl._deadline``."""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

from relaxwl._deadline import Deadline, TimeLimitReached, check_time, current_deadline, time_limit
from relaxwl._progress import report
from relaxwl.graphs.arrays import Float64

if TYPE_CHECKING:
    from relaxwl.kernels.base import Candidate

__all__ = ["Deadline", "TimeLimitReached", "TimeLimited", "check_time", "current_deadline", "time_limit", "watched"]

Item = TypeVar("Item")

# Seconds between two lines of progress.
PROGRESS_INTERVAL = 5.0


def watched(items: Sequence[Item], what: str, verbose: int = 0) -> Iterator[Item]:
    """Yield the items one by one, checking the clock before each; ``verbose`` logs every few seconds how far we are."""
    last_line = time.monotonic()
    for done, item in enumerate(items):
        check_time()
        if time.monotonic() - last_line >= PROGRESS_INTERVAL:
            last_line = time.monotonic()
            report(verbose, "%s: %d of %d parts done", what, done, len(items), share=done / len(items))
        yield item


class TimeLimited:
    """Puts everything that users call on a count kernel under the kernel's own ``time_limit``."""

    time_limit: float | None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from graphs which columns there are."""
        with time_limit(self.time_limit):
            super().fit(X, y)  # type: ignore[misc]
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the features of ``X``; the same as ``fit(X).transform(X)``, in one pass."""
        with time_limit(self.time_limit):
            return super().fit_transform(X, y, **fit_params)  # type: ignore[misc]

    def transform(self, X: Any) -> Any:
        """Return the features of graphs: a CSR array (n_graphs, n_features)."""
        with time_limit(self.time_limit):
            return super().transform(X)  # type: ignore[misc]

    def kernel_matrix(self, X: Any, Y: Any = None) -> Float64:
        """Return the Gram matrix between ``X`` and ``Y`` (by default ``X`` itself) as a dense array."""
        with time_limit(self.time_limit):
            return super().kernel_matrix(X, Y)  # type: ignore[misc, no-any-return]

    def fit_kernel_matrix(self, X: Any) -> Float64:
        """Fit, and return the Gram matrix of ``X``; the same as ``fit(X).kernel_matrix(X)``, in one pass."""
        with time_limit(self.time_limit):
            return super().fit_kernel_matrix(X)  # type: ignore[misc, no-any-return]

    def fit_candidates(self, X: Any) -> list["Candidate"]:
        """Fit, and return the Gram matrix of ``X`` for every setting that this one fit covers."""
        with time_limit(self.time_limit):
            return super().fit_candidates(X)  # type: ignore[misc, no-any-return]

    def candidates(self, X: Any, Y: Any = None) -> list["Candidate"]:
        """Return, in the same order as :meth:`fit_candidates`, the Gram matrices between ``X`` and ``Y``."""
        with time_limit(self.time_limit):
            return super().candidates(X, Y)  # type: ignore[misc, no-any-return]
