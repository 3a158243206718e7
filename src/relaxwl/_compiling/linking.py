"""Machine code where it is called, and nowhere else.

Numba optimises each function and makes machine code of it as soon as it is compiled. Most of ours are called by other
compiled code alone, into which they are linked, and there they are optimised again. So a library of code is kept here
as it is, to be linked, until the address of one of its functions is asked for: then alone machine code is made. A first
fit takes half as long to compile, and its results are the same.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import codegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment

_ENVIRONMENT = "_ZN08NumbaEnv"
# Numba's classes have no types.
_Library: Any = codegen.JITCodeLibrary


# What is changed here has stood in Numba unchanged from 0.61 to 0.68; where a later one lacks it, its own way is taken.
_STEPS = "_optimize_final_module", "_finalize_final_module", "_verify_declare_only_symbols", "get_pointer_to_function"
AS_KNOWN = hasattr(codegen.JITCPUCodegen, "_library_class") and all(hasattr(_Library, name) for name in _STEPS)


class LinkedLibrary(_Library):
    """A library of code that is made into machine code when an address in it is asked for."""

    _made = False
    _compiled_object: bytes | None = None  # read from disk

    def _optimize_final_module(self) -> None:
        """Leave the code as it is: it is optimised where it is called."""

    def _finalize_final_module(self) -> None:
        """End the linking; make machine code now only if it comes from disk, or calls itself by an address."""
        self._finalized = True
        recursive = any(
            each.name.startswith(codegen.RuntimeLinker.PREFIX) for each in self._final_module.global_variables
        )
        if self._compiled_object is not None:
            self._made = True
            super()._finalize_final_module()
        elif recursive:
            self._make()
        else:
            self._verify_declare_only_symbols()

    def _make(self) -> None:
        self._made = True
        super()._optimize_final_module()
        self._final_module.verify()
        super()._finalize_final_module()
        for variable in self._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    self._codegen.set_env(variable.name, environment)

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function, or 0 if there is none of that name."""
        self._ensure_finalized()
        if not self._made and self._defines(name):
            self._make()
        address: int = super().get_pointer_to_function(name) if self._made else 0
        return address

    def _defines(self, name: str) -> bool:
        try:
            return not self._final_module.get_function(name).is_declaration
        except NameError:
            return False

    @property
    def codegen(self) -> Any:
        """What writes environments into machine code, once there is some."""
        return self._codegen if self._made else _NoMachineCode


class _NoMachineCode:
    """Stands for machine code that is not made: its environments are set when it is."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Do nothing."""


@contextmanager
def no_garbage_collected() -> Iterator[None]:
    """Let the garbage collector rest: compiling makes many small objects that live, and it looks at all of them."""
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


@contextmanager
def machine_code_later(dispatcher: Any) -> Iterator[None]:
    """Keep all code that is compiled within to be linked, and make machine code only where it is called by address.

    Parameters
    ----------
    dispatcher : numba dispatcher
        The function that is compiled within; it tells what generates code.
    """
    if not AS_KNOWN:
        yield
        return
    with global_compiler_lock, no_garbage_collected():  # other threads compile as they are used to
        generator = dispatcher.targetctx.codegen()
        before = vars(generator).get("_library_class")
        generator._library_class = LinkedLibrary
        try:
            yield
        finally:
            if before is None:
                del generator._library_class
            else:
                generator._library_class = before
