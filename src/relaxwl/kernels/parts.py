"""Graphs in parts: the one way in which kernels are fitted to graphs in memory and to shards on workers.

A kernel that can be fitted to shards has a method :meth:`PartwiseKernel.fit_parts`, which asks nothing of the graphs
but what :class:`Parts` offers: a function is called for each part (:meth:`Parts.each`), its results stay where they
were made and are given to other functions for the same part, or are joined and brought here (:meth:`Parts.joined`).
A collection in memory is one part, and everything then happens in this process.

Functions are those of modules, not methods or closures: they are sent to workers by name. They return the same
wherever and however often they are called, so that what is lost with a worker is computed again elsewhere; what they
are given they leave as it is. The model must not depend on how the graphs are cut into parts: join by content (sorted
distinct rows, smallest keys), and sum whole numbers or in an order that content fixes.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast

from relaxwl.graphs import GraphCollection
from relaxwl.kernels.counting import Counts

Prepared = TypeVar("Prepared")
# What stands for a result of a function that may be in another process.
Handle = Any
# What to do where shards cannot be fitted.
SAMPLE_ADVICE = "fit it on a sample: kernel.fit(shards.sample(10_000)[0])"
# Results that are joined at a time.
FAN_IN = 16


class Tasks(Protocol):
    """Runs functions, here or on workers."""

    @property
    def n_threads(self) -> int:
        """Number of functions that can run at the same time."""

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Have a function called; arguments may be handles, also within lists. ``name`` is shown to who watches."""

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Wait for results, and bring them here."""

    def share(self, value: Any) -> Handle:
        """Return what many calls can take for a value, which is sent once."""


class LocalTasks:
    """Functions called in this process, each at once: a handle is the result."""

    n_threads = 1

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Call a function."""
        return function(*arguments)

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Return the results."""
        return list(handles)

    def share(self, value: Any) -> Handle:
        """Return the value itself."""
        return value


class Part(Protocol):
    """Some consecutive graphs."""

    @property
    def first_graph(self) -> int:
        """Number of the first of them among all graphs."""

    def prepared(self, prepare: Callable[[GraphCollection], Prepared]) -> Prepared:
        """Return what a function makes of the graphs; in memory it is made once."""


class Parts:
    """Graphs that a kernel is fitted to, in parts.

    Parameters
    ----------
    parts : list of Part
        All graphs, in order.
    kind : GraphCollection
        No graphs, but with the vocabularies of all.
    tasks : Tasks
        Where functions are called.

    Attributes
    ----------
    in_memory : bool
        Whether all graphs are one part in this process. Then ``fit_parts`` returns their counts.
    """

    in_memory = False

    def __init__(self, parts: Sequence[Part], kind: GraphCollection, tasks: Tasks) -> None:
        self.parts, self.kind, self.tasks = parts, kind, tasks

    def __len__(self) -> int:
        return len(self.parts)

    def known(self, prepare: Callable[[GraphCollection], Prepared]) -> Prepared:
        """Return, here, what a function makes of graphs of this kind: of all if they are in memory, else of none."""
        return prepare(self.kind)

    def each(
        self, name: str, function: Callable[..., Any], *arguments: Any, own: Sequence[Handle] | None = None
    ) -> list[Handle]:
        """Call ``function(part, *arguments)`` for each part; ``function(part, own[i], *arguments)`` with ``own``.

        Parameters
        ----------
        name : str
            Shown to who watches the workers.
        function : function of a module
            Gets at the graphs by ``part.prepared``.
        *arguments : values, or handles as :meth:`share` returns them
        own : list of handles, optional
            One for each part, as an earlier call has returned them.

        Returns
        -------
        results : list of handles
        """
        first = [[]] * len(self.parts) if own is None else [[one] for one in own]
        return [
            self.tasks.submit(name, function, part, *mine, *arguments)
            for part, mine in zip(self.parts, first, strict=True)
        ]

    def joined(self, name: str, join: Callable[[list[Any]], Any], results: Sequence[Handle]) -> Any:
        """Return, here, what ``join(list of results)`` makes of the results of all parts, a few at a time, in order."""
        results = list(results) if len(results) > 1 else [self.tasks.submit(name, join, list(results))]
        while len(results) > 1:
            starts = range(0, len(results), FAN_IN)
            results = [self.tasks.submit(name, join, results[start : start + FAN_IN]) for start in starts]
        return self.tasks.gather(results)[0]

    def share(self, value: Any) -> Handle:
        """Return what many calls can take for a value, which is sent to each worker once."""
        return self.tasks.share(value)


class Whole(Parts):
    """A collection in memory as one part."""

    in_memory = True

    def __init__(self, graphs: GraphCollection) -> None:
        super().__init__([_WholePart(graphs)], graphs, LocalTasks())

    def known(self, prepare: Callable[[GraphCollection], Prepared]) -> Prepared:
        """Return what a function makes of the graphs."""
        return self.parts[0].prepared(prepare)


class _WholePart:
    first_graph = 0

    def __init__(self, graphs: GraphCollection) -> None:
        self._graphs = graphs
        self._made: tuple[Any, Any] = None, None

    def prepared(self, prepare: Callable[[GraphCollection], Prepared]) -> Prepared:
        before, made = self._made
        if before is not prepare:
            made = prepare(self._graphs)
            self._made = prepare, made
        return cast(Prepared, made)


class PartwiseKernel(Protocol):
    """What a kernel offers to shards: ``kernel.fit(shards)`` calls it, and so does ``kernel.fit(graphs)``.

    A kernel without this method is refused with the advice to fit it to a sample. To score shards, a fitted kernel
    needs nothing but ``weighted_counts``.
    """

    def fit_parts(self, parts: Parts) -> list[Counts] | None:
        """Fit to all graphs; parameters have been checked before.

        Returns
        -------
        counts : list of Counts, or None
            The counts of the graphs at each depth, if ``parts.in_memory``; else nothing is looked at.
        """
