"""Models of molecules in files: JSON with the training molecules and what was learned; kernels are computed again."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from relaxwl._storage import atomic_write, require_regular
from relaxwl._validation import check_integer, is_integer
from relaxwl.kernels.model_schema import require
from relaxwl.kernels.persistence import ModelFileError
from relaxwl.learning.gaussian_process import GaussianProcess

FORMAT = "relaxwl-molecules"
VERSION = 1
# What a file that describes no model leads to.
CONTENT_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError)
# Kernels are computed when a model is read: no file may ask for more of them than anybody would wait for.
MOST = {"max_depth": 50, "n_partitions": 1000}


def write_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; an existing file is replaced only when all is written."""
    parameters = model.get_params(deep=False)
    for name, most in MOST.items():
        check_integer(name, parameters[name], least=1, most=most)
    if callable(parameters["atom_labels"]):
        raise TypeError("a model file cannot keep the function atom_labels; use pickle or joblib.dump for this model")
    views, labels = parameters["views"], parameters["atom_labels"]
    content = {
        "format": FORMAT,
        "version": VERSION,
        "class": type(model).__name__,
        "parameters": {
            **parameters,
            "views": list(views),
            "atom_labels": labels if isinstance(labels, str) else list(labels),
            "n_jobs": None,
            "random_state": model.seed_,
        },
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "smiles": model._smiles,
        "targets": model._targets.tolist(),
        "processes": [{"weights": p.weights_.tolist(), "noise": p.noise_} for p in model._processes],
    }
    with atomic_write(path) as file:
        file.write(json.dumps(content).encode())


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as :func:`write_model` begins one."""
    require_regular(path)
    with Path(path).open("rb") as file:
        return file.read(64).startswith(b'{"format": "' + FORMAT.encode())


def read_model(path: str | os.PathLike[str], kinds: dict[str, type]) -> Any:
    """Read a model of one of these classes, and compute its kernels."""
    require_regular(Path(path))
    try:
        content = json.loads(Path(path).read_bytes())
        known = content["format"] == FORMAT
    except CONTENT_ERRORS as error:
        raise ModelFileError(f"{path} is not a model of molecules ({error})") from None
    if not known:
        raise ModelFileError(f"{path} is not a model of molecules")
    if content.get("version") != VERSION:
        raise ModelFileError(f"{path} was written in another format than {VERSION}: upgrade relaxwl to load it")
    if str(content.get("class")) not in kinds:
        raise ModelFileError(f"{path} holds a {content.get('class')}, not one of {', '.join(kinds)}")
    try:
        _check(content)
        return _restored(kinds[content["class"]], content)
    except CONTENT_ERRORS as error:
        raise ModelFileError(f"{path} does not hold a complete model: {error}") from None


def _check(content: dict[str, Any]) -> None:
    """Check what would be taken for something else, or for ever; the rest is checked as parameters and data are."""
    parameters, targets, classes = content["parameters"], content["targets"], content["classes"]
    for name, most in MOST.items():
        check_integer(name, parameters[name], least=1, most=most)
    require(parameters["n_jobs"] is None, "n_jobs must not be in a file")
    check_integer("verbose", parameters["verbose"], most=10)
    require(all(isinstance(view, str) for view in parameters["views"]), "views must be texts")
    smiles = content["smiles"]
    require(isinstance(smiles, list) and all(isinstance(text, str) for text in smiles), "smiles must be texts")
    require(isinstance(targets, list) and len(targets) == len(smiles), "there must be a target for each molecule")
    if classes is None:
        require(all(isinstance(y, (int, float)) for y in targets), "targets must be numbers")
        return
    kinds = {type(name) for name in classes}
    require(len(kinds) == 1 and kinds <= {bool, int, float, str}, "classes must be names of one kind")
    require(len(set(classes)) == len(classes) > 1, "there must be at least two different classes")
    require(all(is_integer(y) and 0 <= y < len(classes) for y in targets), "targets must be numbers of classes")


def _restored(kind: Any, content: dict[str, Any]) -> Any:
    model = kind().set_params(**content["parameters"])
    if content["classes"] is not None:
        model.classes_ = np.array(content["classes"])
    model._targets = np.array(content["targets"])
    kernels = model._fit_kernels(model._batch(content["smiles"]))
    learned = zip(model._process_targets(), content["processes"], strict=True)
    model._keep(kernels, [GaussianProcess().condition(kernels, y, one["weights"], one["noise"]) for y, one in learned])
    return model
