"""Code that relies on private names of Numba; the import fails if one of them is missing.

**Linking.** Numba optimizes each function and generates machine code for it as soon as it is compiled. Most functions
of this package are only called by other compiled functions, into which they are linked and where they are optimized
again. So these are compiled without the wrappers that convert Python objects, and machine code of their library is
generated only if the address of a function in it is requested. Compiling for a first fit takes half as long, and the
results are the same. (No function of this package calls itself.)

**Files.** A file of machine code is named after its key. Numba numbers files instead, and takes the next free number:
two processes that compile the same function for different types at the same moment could use the same number, and
later runs would call the code of one for the types of the other. Linked code is part of what calls it, so code on disk
is valid for the content of its source file and of all compiled code that this imports; Numba checks the date of the
file alone.

**Interrupts.** A signal that arrives during a compiled call is handled while its results are turned into Python
objects. Numba then returns a result although an exception is set, and Python turns that into a ``SystemError``:
Ctrl-C would look like a defect. The original exception is the root of the chain of causes, and is raised here.
"""

import gc
import hashlib
import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import codegen, event, types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher

logger = logging.getLogger("relaxwl")
# Numba's classes are not typed.
_Dispatcher: Any = CPUDispatcher
_Library: Any = codegen.JITCodeLibrary
_CacheFile: Any = IndexDataCacheFile
_call = CPUDispatcher.__call__  # super() would look it up at each call

# Private names in use: those that each class defines, and those that its methods set on objects.
NEEDED: dict[Any, tuple[str, str]] = {
    _Dispatcher: ("__call__ compile get_call_template get_overload", "py_func locals targetoptions targetctx _cache"),
    FunctionCache: ("", "_cache_file"),
    _CacheFile: ("_load_index _save_index _save_data _data_name", "_source_stamp"),
    _Library: (
        "_optimize_final_module _finalize_final_module _verify_declare_only_symbols _ensure_finalized codegen "
        "get_pointer_to_function",
        "_final_module _finalized _codegen _compiled_object",
    ),
    codegen.JITCPUCodegen: ("_library_class set_env", ""),
    codegen.RuntimeLinker: ("PREFIX", ""),
    event.Listener: ("on_start on_end", ""),
}


def missing_names() -> list[str]:
    """Return the private names that this Numba lacks."""
    missing = []
    for owner, (defined, set_on_objects) in NEEDED.items():
        codes = [getattr(member, "__code__", None) for base in owner.__mro__ for member in vars(base).values()]
        used = {name for code in codes if code is not None for name in code.co_names}
        lacking = [name for name in defined.split() if not hasattr(owner, name)]
        lacking += [name for name in set_on_objects.split() if name not in used]
        missing += [f"{owner.__name__}.{name}" for name in lacking]
    return missing


if missing := missing_names():
    raise ImportError(f"it lacks {', '.join(missing)}")

# The C wrapper is needed only by functions that are passed as values.
_NO_WRAPPER = {"no_cfunc_wrapper": True}
_TO_BE_LINKED = {"no_cpython_wrapper": True, **_NO_WRAPPER}


class LinkingDispatcher(_Dispatcher):
    """A compiled function that is linked into what calls it, and lets exceptions of signal handlers through."""

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
        """Compile for types of arguments, without machine code for the functions that are called."""
        with _deferred_code_generation(self):
            return super().compile(signature)

    @property
    def linked(self) -> Any:
        """The same function, as compiled code calls it."""
        if "_linked" not in vars(self):
            self._linked = _Dispatcher(self.py_func, self.locals, {**self.targetoptions, **_TO_BE_LINKED})
        return self._linked

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Find the version that compiled code calls; a constant argument is compiled by type, not by value."""
        named = {name: types.unliteral(kind) for name, kind in kws.items()}
        return self.linked.get_call_template(tuple(types.unliteral(kind) for kind in args), named)

    def get_overload(self, signature: Any) -> Any:
        """Return the symbol by which callers refer to this version."""
        return self.linked.get_overload(signature)


def improve(function: Any) -> Any:
    """Let a function of ``numba.njit`` be a :class:`LinkingDispatcher` that keeps code in a :class:`KeyedCacheFile`."""
    function.__class__ = LinkingDispatcher
    function.targetoptions.update(_NO_WRAPPER)
    if isinstance(function._cache, FunctionCache):
        file = function._cache._cache_file
        file.__class__ = KeyedCacheFile
        file._source_stamp = source_digest(function.py_func.__code__.co_filename)
    return function


class LinkedLibrary(_Library):
    """A library whose machine code is generated when an address in it is requested."""

    _made = False
    _compiled_object: bytes | None = None  # read from disk

    def _optimize_final_module(self) -> None:
        """Do nothing: the code is optimized in its callers."""

    def _finalize_final_module(self) -> None:
        """Finish linking; generate machine code now only if it was read from disk or is recursive."""
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
            environment = lookup_environment(variable.name) if variable.name.startswith("_ZN08NumbaEnv") else None
            if environment is not None:
                self._codegen.set_env(variable.name, environment)

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function, or 0 if there is none of that name."""
        self._ensure_finalized()
        if not self._made:
            with suppress(NameError):  # there is no such function
                if not self._final_module.get_function(name).is_declaration:
                    self._make()
        address: int = super().get_pointer_to_function(name) if self._made else 0
        return address

    @property
    def codegen(self) -> Any:
        """The object that sets environments in machine code; a placeholder while there is no machine code."""
        return self._codegen if self._made else _NoMachineCode


class _NoMachineCode:
    """Placeholder for machine code that has not been generated."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Do nothing."""


@contextmanager
def _deferred_code_generation(dispatcher: Any) -> Iterator[None]:
    """Defer generation of machine code for all functions compiled within the block."""
    with global_compiler_lock:  # other threads must compile as usual
        generator = dispatcher.targetctx.codegen()
        before = vars(generator).get("_library_class")
        generator._library_class = LinkedLibrary
        collecting = gc.isenabled()
        gc.disable()  # compiling makes many long-lived objects, all of which the collector would visit
        try:
            yield
        finally:
            if collecting:
                gc.enable()
            if before is None:
                del generator._library_class
            else:
                generator._library_class = before


class KeyedCacheFile(_CacheFile):
    """A disk cache that several processes may write at once: entries can be lost, but never confused."""

    def save(self, key: Any, data: Any) -> None:
        """Write the data to a file named after their key, then add it to the index."""
        digest = hashlib.sha256(repr((key, self._source_stamp)).encode()).hexdigest()
        name = self._data_name(int(digest[:16], 16))
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})


_IMPORTED = re.compile(r"^from (relaxwl[.\w]*_compiled) import", re.MULTILINE)


@cache
def source_digest(file: str) -> str:
    """Return a digest of a file of compiled code and of the files that it imports."""
    source = Path(file).read_text(encoding="utf-8")
    loaded = [sys.modules[name] for name in _IMPORTED.findall(source) if name in sys.modules]
    imported = [source_digest(str(module.__file__)) for module in loaded]
    return hashlib.sha256("\0".join([source, *imported]).encode()).hexdigest()


if hasattr(os, "register_at_fork"):
    # A child that is forked while another thread compiles would otherwise wait forever as soon as it compiles.
    release = global_compiler_lock.release
    os.register_at_fork(before=global_compiler_lock.acquire, after_in_parent=release, after_in_child=release)


class _Announcer(event.Listener):
    """Reports once per process that functions are being compiled, which takes seconds."""

    silent = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__
        if not self.silent and module.startswith("relaxwl"):
            self.silent = True
            logger.info("compiling %s and others: some seconds, once per machine (see relaxwl warm-up)", module)

    def on_end(self, event: Any) -> None:
        """Do nothing."""


event.register("numba:compile", _Announcer())
