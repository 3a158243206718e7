"""The one place that maps a chunk function over workers.

Every parallel step of the package is a function that takes arrays and returns arrays, mapped over coarse
chunks whose boundaries do not depend on the number of workers. So the answer is the same for every
``n_jobs``, and another executor can take the place of the threads here without a change elsewhere.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import joblib

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


def map_chunks(function: Callable[[Chunk], Result], chunks: Iterable[Chunk], n_jobs: int | None = None) -> list[Result]:
    """Return ``[function(chunk) for chunk in chunks]``, computed by ``n_jobs`` threads.

    The compiled functions release the interpreter lock, so threads share the arrays and lose nothing. ``n_jobs`` means
    what it means in joblib: ``None`` is one worker (or what ``joblib.parallel_config`` says), -1 is all cores. The
    threads themselves are the standard library's: joblib's take about 10 ms a call, more than many of our calls last.
    """
    chunks = list(chunks)
    n_workers = min(joblib.effective_n_jobs(n_jobs), len(chunks))
    if n_workers <= 1:
        return [function(chunk) for chunk in chunks]
    with ThreadPoolExecutor(n_workers) as pool:
        return list(pool.map(function, chunks))


def spans(total: int, size: int) -> list[tuple[int, int]]:
    """Cut ``range(total)`` into half-open spans of at most ``size``.

    >>> spans(10, 4)
    [(0, 4), (4, 8), (8, 10)]
    """
    return [(start, min(start + size, total)) for start in range(0, total, size)]
