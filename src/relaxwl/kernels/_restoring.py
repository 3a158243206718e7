"""Models from what a file holds: a tree of plain values, and arrays."""

from dataclasses import fields, is_dataclass
from typing import Any

from numpy.typing import NDArray

from relaxwl.costs import EditCost
from relaxwl.kernels.model_schema import KINDS, check_model


class Reader:
    """Restores models; ``kinds`` are the classes of estimators that may be among them."""

    def __init__(self, arrays: list[NDArray[Any]], kinds: dict[str, type]) -> None:
        self._arrays = arrays
        self._kinds = {**kinds, **KINDS}
        self._objects: dict[int, Any] = {}

    def model(self, kind: type, state: dict[str, Any]) -> Any:
        """Restore a model: an estimator with its parameters and all that was fitted."""
        return self._filled(kind(), self.attributes(state))

    def _filled(self, model: Any, values: dict[str, Any]) -> Any:
        parameters = model.get_params(deep=False)
        for name, value in values.items():
            setattr(model, name, value)
        check_model(model, values.keys() - parameters.keys())
        return model

    def attributes(self, state: dict[str, Any]) -> dict[str, Any]:
        """Restore values by their names."""
        return {name: self.value(plain) for name, plain in state.items()}

    def value(self, plain: Any) -> Any:
        """Restore one value."""
        if not isinstance(plain, dict):
            return plain
        if "list" in plain:
            return [self.value(item) for item in plain["list"]]
        if "tuple" in plain:
            return tuple(self.value(item) for item in plain["tuple"])
        if "dict" in plain:
            return self.attributes(plain["dict"])
        if "array" in plain:
            return self._arrays[plain["array"]]
        if "cost" in plain:
            return EditCost.from_dict(plain["cost"])
        if "same" in plain:
            return self._objects[plain["same"]]
        item = self._object(plain["object"], plain["state"])
        # Known from now on only: nothing can hold itself, so no tree of objects is endless.
        self._objects[plain["number"]] = item
        return item

    def _object(self, name: str, state: dict[str, Any]) -> Any:
        kind: Any = self._kinds[name]
        if hasattr(kind, "_validate_parameters"):
            return self.model(kind, state)
        values = self.attributes(state)
        if hasattr(kind, "from_state"):
            return kind.from_state(**values)
        if is_dataclass(kind) and isinstance(kind, type):
            unknown = values.keys() - {field.name for field in fields(kind)}
            if unknown:
                raise ValueError(f"{name} has no {', '.join(sorted(unknown))}")
            return kind(**values)
        item = kind()
        for field, value in values.items():
            setattr(item, field, value)
        return item
