"""Numba's ``njit`` for the compiled code of this package: quicker to compile, and made safe against interrupts.

A function that other compiled code calls is compiled a second time for that purpose (:mod:`.linking`): it then needs no
machine code and nothing that turns Python's objects into its arguments and back, which is most of the price. (None of
ours calls itself: recursion would need the two to know each other.)

A signal that arrives during a compiled call is handled while its results are turned into Python objects. Numba then
returns a result although an exception is set, and Python turns that into a ``SystemError``: Ctrl-C would look like a
defect. The exception that was set is at the root of its causes, and comes out here as itself.

The first function of ours that is compiled, and not found among what is kept on disk (:mod:`.keeping`), is logged:
seconds of silence follow.
"""

import logging
from functools import cached_property
from typing import Any

import numba
from numba.core import event, types
from numba.core.registry import CPUDispatcher

from relaxwl._compiling.keeping import in_turn, keep_well, tell_not_kept
from relaxwl._compiling.linking import machine_code_later

logger = logging.getLogger("relaxwl")

# Only functions that are handed over as values need this one.
_NO_WRAPPER = {"no_cfunc_wrapper": True}
_TO_BE_LINKED = {"no_cpython_wrapper": True, **_NO_WRAPPER}

# Numba's methods have no types.
_call = CPUDispatcher.__call__
_compile: Any = CPUDispatcher.compile
_Dispatcher: Any = CPUDispatcher


class InterruptibleDispatcher(CPUDispatcher):
    """A compiled function that lets an exception of a signal handler through as it is."""

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function."""
        try:
            return _call(self, *args)
        except SystemError as error:
            cause: BaseException = error
            while isinstance(cause, SystemError) and cause.__cause__ is not None:
                cause = cause.__cause__
            raise cause from None

    def compile(self, signature: Any) -> Any:
        """Compile for types of arguments; of what is called on the way no machine code is made."""
        with in_turn(self, signature), machine_code_later(self):  # who waits holds no lock of Numba's
            return _compile(self, signature)

    @cached_property
    def linked(self) -> Any:
        """The same function, as compiled code calls it."""
        this: Any = self
        return _Dispatcher(this.py_func, this.locals, {**this.targetoptions, **_TO_BE_LINKED})

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Find the version that compiled code calls; a constant argument needs none of its own, just its type."""
        named = {name: types.unliteral(kind) for name, kind in kws.items()}
        return self.linked.get_call_template(tuple(types.unliteral(kind) for kind in args), named)

    def get_overload(self, signature: Any) -> Any:
        """Return what stands for that version in the code of its callers."""
        return self.linked.get_overload(signature)


def njit(*args: Any, **options: Any) -> Any:
    """Compile a function as ``numba.njit`` does; what comes out is an :class:`InterruptibleDispatcher`."""
    if len(args) == 1 and not options and callable(args[0]):
        return njit()(args[0])
    return lambda function: _interruptible(_compilable(function, args, {**_NO_WRAPPER, **options}))


def _compilable(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    try:
        return numba.njit(*args, **options)(function)
    except RuntimeError as error:  # there is no folder that machine code could be kept in
        if not options.get("cache") or "cannot cache" not in str(error):
            raise
        tell_not_kept("no folder for it can be written")
        return numba.njit(*args, **{**options, "cache": False})(function)


def _interruptible(function: Any) -> Any:
    # With NUMBA_DISABLE_JIT a plain function comes out, which needs no help.
    if isinstance(function, CPUDispatcher):
        function.__class__ = InterruptibleDispatcher
        keep_well(function)
    return function


class _Announcer(event.Listener):
    """Says once in a process that code is being compiled."""

    silent = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__
        if not self.silent and module.startswith("relaxwl"):
            self.silent = True
            logger.info("compiling %s and what follows: some seconds, once a machine (see relaxwl warm-up)", module)

    def on_end(self, event: Any) -> None:
        """Nothing is said at the end."""


event.register("numba:compile", _Announcer())
