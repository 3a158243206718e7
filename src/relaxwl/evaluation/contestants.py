"""The kernels that take part in an evaluation: names of the registry, or estimators."""

import functools
import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np
from sklearn.base import clone

from relaxwl.costs import EditCost
from relaxwl.kernels.base import GraphKernel
from relaxwl.kernels.registry import get_kernel

Variant = tuple[dict[str, Any], GraphKernel]
VariantMaker = Callable[[int | None, int | None, float | None], list[Variant]]
# Parameters that change how a kernel is computed, or are set anew in each repetition, but not what it is.
NOT_IDENTITY = frozenset({"n_jobs", "time_limit", "random_state", "sparse_output", "verbose"})
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True)
class Contestant:
    """A kernel under evaluation.

    Selection chooses from the settings of its ``variants(random_state, n_jobs, time_limit)``, and among settings with a
    ``max_depth`` from those in ``depths`` (None: from all).
    """

    name: str
    title: str
    variants: VariantMaker
    depths: tuple[int, ...] | None = None

    def identity(self) -> str:
        """Return a digest of the kernel's variants and all their parameters."""
        text = "\n".join(
            f"{_stable(given)} {type(kernel).__module__}.{type(kernel).__qualname__} {_stable(_identifying(kernel))}"
            for given, kernel in self.variants(0, None, None)
        )
        return hashlib.sha256(f"{self.depths}\n{text}".encode()).hexdigest()

    def depths_within(self, wanted: tuple[int, ...] | None) -> tuple[int, ...] | None:
        """Return the depths to choose from if users want only some; a kernel with one depth has nothing to choose.

        Raises
        ------
        ValueError
            If the kernel offers none of those that are wanted.
        """
        if wanted is None or (self.depths is not None and len(self.depths) == 1):
            return self.depths
        within = wanted if self.depths is None else tuple(depth for depth in wanted if depth in self.depths)
        if not within:
            raise ValueError(none_of_the_depths(self.name, wanted, self.depths or ()))
        return within


def resolve(kernels: Any) -> list[Contestant]:
    """Return the contestants that a user's ``kernels`` argument means.

    Parameters
    ----------
    kernels : str, GraphKernel, iterable of these, or mapping from name to GraphKernel
        Names are those of ``relaxwl.kernels.registry``. A string may hold several names with commas between them.

    Examples
    --------
    >>> from relaxwl.kernels import WeisfeilerLehman
    >>> [contestant.name for contestant in resolve({"shallow": WeisfeilerLehman(max_depth=1)})]
    ['shallow']
    """
    if isinstance(kernels, Mapping):
        contestants = [_estimator(kernel, name) for name, kernel in kernels.items()]
    else:
        contestants = [_one(kernel) for kernel in _listed(kernels)]
    if not contestants:
        raise ValueError("kernels is empty; name at least one kernel")
    names = [contestant.name for contestant in contestants]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two kernels are called {name!r}; give them names of their own with a dict name → kernel")
    return contestants


def _listed(kernels: Any) -> list[Any]:
    if isinstance(kernels, str):
        return [name.strip() for name in kernels.split(",") if name.strip()]
    if isinstance(kernels, Iterable):
        return list(kernels)
    return [kernels]


def _one(kernel: Any) -> Contestant:
    if not isinstance(kernel, str):
        return _estimator(kernel, type(kernel).__name__)
    entry = get_kernel(kernel)
    return Contestant(entry.name, entry.title, entry.variants, entry.depths)


def _estimator(kernel: Any, name: str) -> Contestant:
    """Wrap an estimator: cloned for every fit, reseeded, and given the threads unless it has its own."""
    if not isinstance(kernel, GraphKernel):
        raise TypeError(f"kernels must be names or GraphKernel estimators, not {kernel!r}")

    def variants(random_state: int | None, n_jobs: int | None, time_limit: float | None) -> list[Variant]:
        copy = clone(kernel)
        known = copy.get_params(deep=False)
        if "random_state" in known:
            copy.set_params(random_state=random_state)
        if known.get("n_jobs", 1) is None:
            copy.set_params(n_jobs=n_jobs)
        return [({}, copy)]

    return Contestant(name, name, variants)


def none_of_the_depths(kernel: str, wanted: Iterable[int], offered: Iterable[int]) -> str:
    """Say that a kernel does not offer the depths that users ask for.

    >>> none_of_the_depths("wl", [8, 9], [1, 2, 3])
    'depths 8, 9 were asked for, but the kernel wl offers 1, 2, 3'
    """
    asked, there = (", ".join(map(str, depths)) or "none" for depths in (wanted, offered))
    return f"depths {asked} were asked for, but the kernel {kernel} offers {there}"


def is_reseeded(kernel: GraphKernel) -> bool:
    """Say whether the kernel depends on a seed."""
    return any(name.rpartition("__")[2] == "random_state" for name in kernel.get_params())


def _identifying(kernel: Any) -> dict[str, Any]:
    return {name: value for name, value in kernel.get_params().items() if name.rpartition("__")[2] not in NOT_IDENTITY}


def _stable(value: Any, within: tuple[Any, ...] = ()) -> str:
    """Describe a parameter in a way that is the same in another process.

    ``within`` holds the objects that the value is a part of, so that one that refers to itself has an end.
    """
    if any(value is outer for outer in within):
        return "itself"
    stable = functools.partial(_stable, within=(*within, value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {stable(value[key])}" for key in sorted(value, key=str)) + "}"
    if isinstance(value, np.ndarray):
        return f"array {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(stable, value)) + "]"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(stable, value))) + "}"
    if isinstance(value, EditCost):
        return _stable_cost(value)
    if isinstance(value, functools.partial):
        return f"partial {stable([value.func, value.args, value.keywords])}"
    if callable(value) and hasattr(value, "__code__"):
        of = f" of {stable(value.__self__)}" if hasattr(value, "__self__") else ""
        return f"{value.__module__}.{value.__qualname__} {_code_digest(value, stable)}{of}"
    text = repr(value)
    return _stable_object(value, stable) if ADDRESS.search(text) else text


def _stable_cost(cost: EditCost) -> str:
    """Describe costs by all their numbers, and costs made from a function by what the function does."""
    try:
        return json.dumps(cost.to_dict(), sort_keys=True)
    except (TypeError, ValueError):
        return f"{cost!r} {_stable(cost.function)}"


def _stable_object(value: Any, stable: Callable[[Any], str]) -> str:
    """Describe an object whose ``repr`` tells nothing but its address: by its class, state and what it does."""
    cls = type(value)
    state: Any
    if hasattr(value, "get_params"):
        state = _identifying(value)
    else:
        try:
            state = value.__reduce_ex__(2)[1:3]  # what pickle and copy take along
        except TypeError:  # such as a lock, which has no state of its own
            state = None
    classes = [other for other in cls.__mro__ if other.__module__ != "builtins"]
    content = [[_members(other) for other in classes], state]
    return f"{cls.__module__}.{cls.__qualname__} {hashlib.sha256(stable(content).encode()).hexdigest()[:16]}"


def _members(cls: type) -> dict[str, Any]:
    """Return a class's methods, the functions of its properties, and its other attributes but those of Python's own."""
    members: dict[str, Any] = {}
    for name, member in vars(cls).items():
        if isinstance(member, property):
            members[name] = [member.fget, member.fset, member.fdel]
        elif isinstance(member, (staticmethod, classmethod)):
            members[name] = member.__func__
        elif inspect.isfunction(member) or not name.startswith(("__", "_abc_")):
            members[name] = member
    return members


def _code_digest(function: Any, stable: Callable[[Any], str]) -> str:
    """Return a digest of what a function does: its code, constants, defaults and what it closes over."""
    function = getattr(function, "py_func", function)  # what Numba has compiled
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    content = [_code_content(function.__code__), function.__defaults__, function.__kwdefaults__, cells]
    return hashlib.sha256(stable(content).encode()).hexdigest()[:16]


def _code_content(code: CodeType) -> list[Any]:
    """Return what compiled code does, with that of the functions inside it, but not where it stands."""
    constants = [_code_content(item) if isinstance(item, CodeType) else item for item in code.co_consts]
    return [code.co_code, constants, code.co_names]
