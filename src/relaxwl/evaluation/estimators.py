"""What takes part in an evaluation: names of the registry, kernels, or predictors that take graphs."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from relaxwl._progress import printable
from relaxwl._registry import get_estimator
from relaxwl.costs import EditCost
from relaxwl.kernels.base import GraphKernel
from relaxwl.kernels.registry import Entry

# Parameters that change how a kernel is computed, or are set anew in each repetition, but not what it is.
NOT_IDENTITY = frozenset({"n_jobs", "random_state", "sparse_output", "verbose"})
# What stands for a parameter that is code, and so cannot be recognized.
CODE = "code"


def resolve(kernels: Any, depths: tuple[int, ...] | None = None) -> list[Entry]:
    """Return the estimators that a user's ``kernels`` argument means, with the choice of depths that is left to them.

    Parameters
    ----------
    kernels : str, estimator, iterable of these, or mapping from name to estimator
        Names are those of ``relaxwl.kernels.registry``. A string may hold several names with commas between them. An
        estimator is a GraphKernel, or has ``fit(graphs, y)`` and ``predict(graphs)``.
    depths : tuple of int, optional
        The depths to choose from, where there is a choice.

    Examples
    --------
    >>> from relaxwl.kernels import WeisfeilerLehman
    >>> [estimator.name for estimator in resolve({"shallow": WeisfeilerLehman(max_depth=1)})]
    ['shallow']
    """
    if isinstance(kernels, Mapping):
        entries = [_own(kernel, str(name)) for name, kernel in kernels.items()]
    else:
        if isinstance(kernels, str):
            kernels = [name.strip() for name in kernels.split(",") if name.strip()]
        listed = kernels if isinstance(kernels, Iterable) else [kernels]
        entries = [get_estimator(item) if isinstance(item, str) else _own(item) for item in listed]
    if not entries:
        raise ValueError("kernels is empty; name at least one kernel")
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two kernels are called {name!r}; give them names of their own with a dict name → kernel")
    return [entry.within(depths) for entry in entries]


def _own(estimator: Any, name: str | None = None) -> Entry:
    """Return the entry of an estimator of the user."""
    predicts = all(hasattr(estimator, method) for method in ("fit", "predict", "get_params"))
    if isinstance(estimator, type) or not (isinstance(estimator, GraphKernel) or predicts):
        raise TypeError(
            f"kernels must be names, GraphKernel estimators or predictors with fit and predict, not {estimator!r}"
        )
    title = type(estimator).__name__ if name is None else printable(name)
    return Entry(title, title, prototype=estimator)


def is_kernel(entry: Entry) -> bool:
    """Say whether a estimator is a kernel, which needs a support vector machine; else it predicts by itself."""
    return issubclass(entry.estimator_class(), GraphKernel)


def is_reseeded(kernel: GraphKernel) -> bool:
    """Say whether the kernel depends on a seed."""
    return any(name.rpartition("__")[2] == "random_state" for name in kernel.get_params())


def identity(entry: Entry) -> str:
    """Return a digest of a estimator's variants and all their parameters; the same in every process.

    Of code, such as a function that says how many clusters to make, nothing is known but the estimator's name.
    """
    content = [
        [variant.parameters, variant.settings, _class_path(variant.estimator), _identifying(variant.estimator)]
        for variant in entry.variants()
    ]
    described = _described(content)
    if _holds_code(described):
        described = [entry.name, described]
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def require_recognisable(entry: Entry) -> None:
    """Refuse a estimator whose records could not be told from those of another: code, and no name of its own."""
    if entry.prototype is None or entry.name != type(entry.prototype).__name__:
        return
    for name, value in _identifying(entry.prototype).items():
        if _holds_code(_described(value)):
            raise ValueError(
                f"{name} of {entry.name} is code, by which a stored record cannot be recognized; name the kernel, as "
                f"in {{'my kernel': {entry.name}(...)}}, and give it another name when you change the code"
            )


def _identifying(estimator: Any) -> dict[str, Any]:
    parameters = estimator.get_params().items()
    return {name: value for name, value in parameters if name.rpartition("__")[2] not in NOT_IDENTITY}


def _class_path(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _described(value: Any) -> Any:
    """Describe a parameter as JSON can hold it: plain data by its content, objects of ours by class and state."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _described(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_described(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_described(item) for item in value), key=json.dumps)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return ["array", value.dtype.str, list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
    if isinstance(value, EditCost):
        try:
            return _described(value.to_dict())
        except (TypeError, ValueError):  # costs that a function gives
            return {CODE: _class_path(value)}
    if hasattr(value, "get_params") and not isinstance(value, type):
        return [_class_path(value), _described(_identifying(value))]
    if type(value).__module__.startswith("relaxwl.") and hasattr(value, "__dict__"):
        return [_class_path(value), _described(vars(value))]
    return {CODE: getattr(value, "__qualname__", _class_path(value))}


def _holds_code(described: Any) -> bool:
    if isinstance(described, dict):
        return described.keys() == {CODE} or any(map(_holds_code, described.values()))
    return isinstance(described, list) and any(map(_holds_code, described))
