"""Every field and array of model files changed one at a time, checksums right: refused by name, or the model works.

``python -m fuzz.fields`` (with ``tests`` and ``src`` on the path) makes all changes of all models, or of those that it
is given by name; ``1/5`` among the names makes every fifth change. The campaign draws from them.
"""

import contextlib
import copy
import functools
import itertools
import random
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from fuzz import models
from fuzz.limits import OverLimit
from kernels.models import opened, written
from relaxwl import GraphClassifier, GraphRegressor
from relaxwl.kernels.persistence import ModelFileError
from relaxwl.kernels.registry import load_kernel
from relaxwl.predictors import base
from small_graphs import collection, random_graphs, with_attributes

# What the use of a changed model may take, beside a multiple of what the model itself takes.
SECONDS, TIMES = 2.0, 10.0
# What a valid model may say of graphs that are not those it was fitted on, as its file has it.
OTHER_GRAPHS = re.compile(
    "was fitted on |fitted to shards without the counts|edge_labels=True, but the graphs have no edge labels|"
    "edge_weights=|it is too large to be looked at|extra must|unseen='error'|has no explicit features|set_output"
)

LONG = {"list": [0] * 20_000}
DEEP: Any = functools.reduce(lambda inner, _: {"list": [inner]}, range(3000), 0)
VALUES: dict[str, Any] = {
    "nan": float("nan"), "inf": float("inf"), "-inf": float("-inf"), "-1": -1, "-0.5": -0.5, "0": 0, "1": 1, "2": 2,
    "1.5": 1.5, "1e308": 1e308, "1e-320": 1e-320, "2**31": 2**31, "2**63": 2**63, "10**400": 10**400, "true": True,
    "false": False, "none": None, "text": "x", "no text": "", "list": {"list": []}, "tuple": {"tuple": []},
    "dict": {"dict": {}}, "a list": {"list": [1.0]}, "nothing": {}, "long": LONG, "deep": DEEP,
    "number": {"array": 0}, "array": {"array": 10**6}, "before": {"array": -1}, "same": {"same": 0},
    "cost": {"cost": {}}, "object": {"object": "ColumnScaler", "number": 10**6, "state": {}},
}  # fmt: skip
FLOATS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "-1": -1.0, "0": 0.0, "1e308": 1e308, "1e-320": 1e-320,
          "1e100": 1e100, "-1e100": -1e100}  # fmt: skip
WHOLES = {"-1": -1, "0": 0, "least": -(2**31), "most": 2**31 - 1, "more": 10**9}
TYPES = ("<f2", "<f4", "<f8", "<f16", "<c16", "<i2", "<i4", "<i8", "<u8", "|b1", "<U3", "|S2", "|O", ">i4", "<M8[s]")


class Model(NamedTuple):
    """A saved model, how to read it, and how to use it: raises what is wrong with its answers."""

    name: str
    content: bytes
    load: Callable[[Path], Any]
    use: Callable[[Any], None]


class Change(NamedTuple):
    """One change of one place of a model."""

    model: Model
    place: tuple[Any, ...]
    name: str

    def __str__(self) -> str:
        return f"{self.model.name}: {'/'.join(map(str, self.place))} = {self.name}"


# ---------------------------------------------------------------------------------------------------------- using


def _finite(values: Any, what: str) -> None:
    assert np.isfinite(values).all(), f"{what} must be finite"


def use_kernel(graphs: Any, kernel: Any) -> None:
    """Compare graphs, and name features."""
    features = kernel.transform(graphs)
    _finite(features.data, "features")
    _finite(kernel.kernel_matrix(graphs), "the Gram matrix")
    assert len(kernel.get_feature_names_out()) == features.shape[1]


def use_predictor(objects: Any, extra: Any, model: Any) -> None:
    """Predict, with all that a prediction comes with."""
    n_objects, predicted = len(objects), model.predict(objects, extra=extra)
    assert len(predicted) == n_objects
    novelty = model.novelty(objects)
    assert novelty.shape == (n_objects,)
    if model._novelty is not None:
        _finite(novelty, "the novelty")
    assert str(model.report_)
    for target in range(len(model._heads)):
        if model._heads[target] is None:
            continue
        of = target if model._is_table else None
        own = predicted[:, target] if model._is_table else predicted
        if isinstance(model, GraphRegressor):
            means, stds = (one.reshape(n_objects, -1)[:, target] for one in model.predict(objects, True, extra))
            _finite(own.astype(float), "predictions")
            _finite(stds, "standard deviations")
            assert (means == own).all()
            interval = model.predict_interval(objects, 0.8, of, extra)
            assert (interval[:, 0] <= interval[:, 1]).all(), "an interval must have its lower end first"
        else:
            found = model.predict_proba(objects, extra)
            table = found[target] if model._is_table else found
            classes = model.classes_[target] if model._is_table else model.classes_
            _finite(table, "probabilities")
            np.testing.assert_allclose(table.sum(axis=1), 1)
            chosen = table[np.arange(n_objects), np.searchsorted(classes, own)]
            assert (chosen == table.max(axis=1)).all(), "predict must return a class of the largest probability"
            if len(model._split or model._heads[target].calibration.scores):  # of few objects there are none
                assert len(model.predict_set(objects, 0.8, target=of, extra=extra)) == n_objects
        use_explanations(model, objects[:2], None if extra is None else extra[:2], of)


def use_explanations(model: Any, objects: Any, extra: Any, target: int | None) -> None:
    """Look for neighbors, and for what nodes, clusters and columns do to predictions."""
    if model._compares():
        distances, indices = model.kneighbors(objects, 1, extra)
        _finite(distances, "distances of neighbors")
        assert (indices < model.n_objects_in_).all()
    for effects in model.explain(objects, extra, target):
        _finite([effects.value, *effects.effects], "effects of nodes")
        _finite([one.effect for one in (*effects.clusters(), *effects.columns())], "effects of clusters and columns")


# --------------------------------------------------------------------------------------------------------- models


@functools.cache
def kernel_models() -> list[Model]:
    """Return a kernel of each kind."""
    found = []
    for number, (graphs, content) in enumerate(models.kernels()):
        name = opened(content)[0]["class"]
        found.append(Model(f"{name} {number}", content, load_kernel, functools.partial(use_kernel, graphs)))
    return found


@functools.cache
def predictor_models() -> list[Model]:
    """Return predictors of graphs with heads of all kinds."""
    kinds: Any = {"GraphClassifier": GraphClassifier, "GraphRegressor": GraphRegressor}
    found = []
    graphs = collection(random_graphs(12, seed=1))
    attributed = with_attributes(random_graphs(12, seed=3), labeled=True)
    split: Any = {"effort": "quick", "random_state": 0, "calibration": "split"}
    numbers, two = np.linspace(0, 1, 12), np.arange(12) % 2
    gaps = np.where(np.arange(24).reshape(12, 2) == 3, np.nan, np.stack([numbers, numbers[::-1] ** 2], axis=1))
    tables = np.array([[*"aabbccaabbcc"], [*"xyxyxyxyxyxy"]], object).T, gaps
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        more = [
            (graphs, None, models._saved(GraphClassifier(**split).fit(graphs, two))),
            (graphs, None, models._saved(GraphRegressor(**split).fit(graphs, numbers))),
        ]
        with mock.patch.object(base, "LINEAR_FROM", 5):
            for kind, table in zip((GraphClassifier, GraphRegressor), tables, strict=True):
                more.append((graphs, None, models._saved(kind(**split).fit(graphs, table))))
            more.append((attributed, None, models._saved(GraphClassifier(random_state=0).fit(attributed, two))))
        with mock.patch.multiple(base, MATRICES_UP_TO=5, N_WEIGHED=6):
            more.append((graphs, None, models._saved(GraphRegressor(**split).fit(graphs, numbers))))
            more.append((graphs, None, models._saved(GraphRegressor(random_state=0).fit(graphs, gaps))))
    for number, (graphs, extra, content) in enumerate([*models.predictors(), *more]):
        name = opened(content)[0]["class"]
        use = functools.partial(use_predictor, graphs, extra)
        found.append(Model(f"{name} {number}", content, kinds[name].load, use))
    return found


@functools.cache
def molecule_models() -> list[Model]:
    """Return predictors of molecules."""
    from rdkit import RDLogger

    from relaxwl.molecules import MoleculeClassifier, MoleculeRegressor

    RDLogger.DisableLog("rdApp.*")
    kinds: Any = {"MoleculeClassifier": MoleculeClassifier, "MoleculeRegressor": MoleculeRegressor}
    contents = [*models._molecule_models()]
    small: Any = {"max_depth": 1, "n_partitions": 1, "random_state": 0}
    numbers, three = np.arange(8.0), [*"aaabbbcc"]
    gaps = np.where(np.arange(16).reshape(8, 2) == 3, np.nan, np.stack([numbers, numbers[::-1] ** 2], axis=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with mock.patch.object(base, "LINEAR_FROM", 5):
            contents.append(models._saved(MoleculeClassifier(**small).fit(models.SMILES, list("abababab"))))
            contents.append(models._saved(MoleculeRegressor(**small).fit(models.SMILES, gaps)))
        with mock.patch.multiple(base, MATRICES_UP_TO=5, N_WEIGHED=6, N_FACTORED=6):
            contents.append(models._saved(MoleculeRegressor(**small).fit(models.SMILES, gaps)))
            contents.append(models._saved(MoleculeClassifier(**small).fit(models.SMILES, three)))
        some: Any = {**small, "views": ("wl", "fingerprints"), "calibration": "split", "standardize": True}
        contents.append(models._saved(MoleculeClassifier(**some).fit(models.SMILES, three)))
    found = []
    for number, content in enumerate(contents):
        name = opened(content)[0]["class"]
        use = functools.partial(use_predictor, models.SMILES, None)
        found.append(Model(f"{name} {number}", content, kinds[name].load, use))
    return found


# -------------------------------------------------------------------------------------------------------- changing


def places(model: Model) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield ways to the values of a model's state, and the values: each field once for each place of its class.

    Of the items of a list those are taken that are of another class than the ones before, and the last one.
    """
    known = set()

    def below(tree: Any, way: tuple[Any, ...], sign: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
        if isinstance(tree, dict) and "object" in tree:
            sign = (*sign[-2:], tree["object"])  # where it is, and what it is
        if (sign, way[-1] == -1) in known:
            return
        known.add((sign, way[-1] == -1))
        yield way, tree
        if isinstance(tree, dict):
            for key in tree:
                yield from below(tree[key], (*way, key), (*sign, key))
        elif isinstance(tree, list):
            for place, item in enumerate(tree):
                yield from below(item, (*way, place - len(tree)), sign)

    header, _ = opened(model.content)
    yield from itertools.islice(below(header["state"], ("state",), ()), 1, None)


def changes(model: Model) -> Iterator[Change]:
    """Yield all changes of a model."""
    _, arrays = opened(model.content)
    for way, value in places(model):
        if way[-1] in ("list", "tuple", "dict", "number", "object", "array", "same"):
            names = ["missing", "-1", "none", "text", "2**63"]  # of the tree itself
        else:
            names = ["missing", "extra", *VALUES]
        if isinstance(value, dict) and "array" in value:
            array = arrays[value["array"]]
            kinds = FLOATS if array.dtype.kind == "f" else WHOLES if array.dtype.kind in "iu" else {}
            if array.size:
                names += [f"{where} {kind}" for kind in kinds for where in ("first", "last", "all")]
            names += [f"type {kind}" for kind in TYPES]
            names += ["empty", "shorter", "longer", "reversed", "axis", "flat", "columns", "long double", "shape"]
        for name in names:
            yield Change(model, way, name)


def changed(change: Change) -> bytes | None:
    """Return the file with the change, or None where it makes no difference."""
    header, arrays = opened(change.model.content)
    *way, last = change.place
    items: Any = header
    for key in way:
        items = items[key]
    name = change.name
    if name == "missing":
        del items[last]
    elif name == "extra":
        if isinstance(items, dict):
            items[f"{last}x"] = items[last]
        else:
            items.append(copy.deepcopy(items[last]))
    elif name in VALUES:
        if type(items[last]) is type(VALUES[name]) and items[last] == VALUES[name]:
            return None
        items[last] = VALUES[name]
    else:
        number = items[last]["array"]
        array = _changed_array(arrays[number], name)
        if array is None:
            return None
        # An array of its own: others may be the same.
        items[last] = {"array": len(arrays)}
        if name == "shape":
            described = [[one.dtype.str, list(one.shape)] for one in arrays] + [["<f8", [2**40, 2**40]]]
            return written({**header, "arrays": described}, arrays)
        if name in ("type |O", "type <M8[s]"):
            described = [[one.dtype.str, list(one.shape)] for one in arrays] + [[name.split()[1], list(array.shape)]]
            return written({**header, "arrays": described}, [*arrays, array])
        arrays.append(array)
    if name != "deep":
        return written(header, arrays)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * 3000)
    try:
        return written(header, arrays)
    finally:
        sys.setrecursionlimit(limit)


def _changed_array(array: np.ndarray, name: str) -> np.ndarray | None:
    """Return another array, or None where there is none."""
    where, _, kind = name.partition(" ")
    if where in ("first", "last", "all"):
        values: Any = FLOATS if array.dtype.kind == "f" else WHOLES
        other = array.copy()
        flat = other.reshape(-1)
        with np.errstate(all="ignore"):
            flat[{"first": slice(1), "last": slice(-1, None), "all": slice(None)}[where]] = np.array(
                values[kind]
            ).astype(array.dtype)
        return None if np.array_equal(other, array) else other
    if name in ("type |O", "type <M8[s]", "shape"):
        return np.zeros(array.shape, np.int64)
    if where == "type":
        with np.errstate(all="ignore"), contextlib.suppress(ValueError):  # texts that are no numbers
            return None if array.dtype == np.dtype(kind) else array.astype(kind)
        return None
    if name == "long double":
        return array.astype(np.longdouble) if array.dtype.kind in "iufb" else None
    size = max(len(array), 1)
    made: dict[str, Callable[[], np.ndarray]] = {
        "empty": lambda: array[:0], "shorter": lambda: array[:-1], "reversed": lambda: array[::-1].copy(),
        "longer": lambda: np.concatenate([array, array[-1:], np.zeros_like(array[:1])]),
        "axis": lambda: array[None], "flat": lambda: array.reshape(-1),
        "columns": lambda: np.resize(array, (size, 2)) if array.ndim == 1 else array[..., :-1].copy(),
    }  # fmt: skip
    other = made[name]()
    return None if other.shape == array.shape and np.array_equal(other, array) else other


# --------------------------------------------------------------------------------------------------------- running


@functools.cache
def _usual_seconds(model: Model) -> float:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder, "model.rwl")
        path.write_bytes(model.content)
        for _ in range(2):  # the first compiles
            started = time.process_time()
            model.use(model.load(path))
        return time.process_time() - started


def run(change: Change, folder: Path) -> str:
    """Load and use the changed model; return what it was refused with, or nothing."""
    try:
        return _run(change, folder)
    except OverLimit:  # it may have compiled something
        return _run(change, folder)


def _run(change: Change, folder: Path) -> str:
    content = changed(change)
    if content is None:
        return ""
    path = folder / "changed-model.rwl"
    path.write_bytes(content)
    limit = SECONDS + TIMES * _usual_seconds(change.model)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with np.errstate(all="ignore"):
                loaded = change.model.load(path)
        except ModelFileError as error:
            assert path.name in str(error), "a refusal must name the file"
            said = str(error)
        else:
            said = ""
            try:
                with np.errstate(all="ignore"):
                    change.model.use(loaded)
            except (ValueError, MemoryError) as error:
                said = str(error)
                if not OTHER_GRAPHS.search(said):
                    raise
    taken = time.process_time() - started
    if taken > limit:
        raise OverLimit(f"took {taken:.1f} seconds of the processor, and {limit:.1f} are enough")
    return said


def _drawn_from(made: Callable[[], list[Model]]) -> Callable[[random.Random, Path], None]:
    @functools.cache
    def every() -> list[Change]:
        return [change for model in made() for change in changes(model)]

    def case(rng: random.Random, folder: Path) -> None:
        run(rng.choice(every()), folder)

    return case


kernel_case, predictor_case, molecule_case = map(_drawn_from, (kernel_models, predictor_models, molecule_models))


def main() -> int:
    """Make all changes, and print those that led to something else than an error or an answer."""
    names, every = [one for one in sys.argv[1:] if "/" not in one], 1
    for share in sys.argv[1:]:
        every = int(share.partition("/")[2]) if "/" in share else every
    n_found = 0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for model in (*kernel_models(), *predictor_models(), *molecule_models()):
            if names and model.name not in names and model.name.split()[0] not in names:
                continue
            n_changes = n_refused = 0
            for change in itertools.islice(changes(model), None, None, every):
                n_changes += 1
                try:
                    n_refused += bool(run(change, Path(folder)))
                except Exception as error:
                    n_found += 1
                    print(f"FOUND {change}: {type(error).__name__}: {str(error)[:200]}", flush=True)
            print(f"{model.name}: {n_changes} changes, {n_refused} refused", flush=True)
    return min(n_found, 1)


if __name__ == "__main__":
    import conftest  # noqa: F401 - sets the folder of compiled code, before Numba is imported

    sys.exit(main())
