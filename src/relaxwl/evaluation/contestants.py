"""The kernels that take part in an evaluation: names of the registry, or estimators."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from relaxwl.costs import EditCost
from relaxwl.kernels.base import GraphKernel
from relaxwl.kernels.registry import get_kernel

Variant = tuple[dict[str, Any], GraphKernel]
VariantMaker = Callable[[int | None, int | None, float | None], list[Variant]]
# Parameters that change how a kernel is computed, or are set anew in each repetition, but not what it is.
NOT_IDENTITY = frozenset({"n_jobs", "time_limit", "random_state", "verbose"})
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
        """Return the depths to choose from if users want only some; a kernel with one depth has nothing to choose."""
        if wanted is None or (self.depths is not None and len(self.depths) == 1):
            return self.depths
        return wanted if self.depths is None else tuple(depth for depth in wanted if depth in self.depths)


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


def is_reseeded(kernel: GraphKernel) -> bool:
    """Say whether the kernel depends on a seed."""
    return any(name.rpartition("__")[2] == "random_state" for name in kernel.get_params())


def _identifying(kernel: GraphKernel) -> dict[str, Any]:
    return {name: value for name, value in kernel.get_params().items() if name.rpartition("__")[2] not in NOT_IDENTITY}


def _stable(value: Any) -> str:
    """Describe a parameter in a way that is the same in another process."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_stable(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, np.ndarray):
        return f"array {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_stable, value)) + "]"
    if isinstance(value, EditCost):
        return _stable_cost(value)
    if callable(value) and hasattr(value, "__code__"):
        return f"{value.__module__}.{value.__qualname__} {_code_digest(value)}"
    return ADDRESS.sub("", repr(value))


def _stable_cost(cost: EditCost) -> str:
    """Describe costs by all their numbers, and costs made from a function by what the function does."""
    try:
        return json.dumps(cost.to_dict(), sort_keys=True)
    except (TypeError, ValueError):
        return f"{cost!r} {_stable(cost.function)}"


def _code_digest(function: Any) -> str:
    """Return a digest of what a function does: its code, constants, defaults and what it closes over."""
    code = function.__code__
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    content = repr((code.co_code, [ADDRESS.sub("", repr(item)) for item in code.co_consts], code.co_names))
    return hashlib.sha256(f"{content}{_stable([function.__defaults__ or (), cells])}".encode()).hexdigest()[:16]
