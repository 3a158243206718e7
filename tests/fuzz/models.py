"""Model files with fields, arrays and bytes changed, checksums made right again: refused, or usable."""

import functools
import random
import tempfile
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from fuzz.limits import read_or_refused
from fuzz.mutations import changed_array, changed_bytes, changed_value
from kernels.models import opened, written
from relaxwl import (
    ContinuousWeisfeilerLehman,
    EditCost,
    GraphClassifier,
    GraphRegressor,
    RelaxedWeisfeilerLehman,
    WeisfeilerLehman,
)
from relaxwl.kernels.registry import get_kernel, load_kernel
from relaxwl.predictors import base
from relaxwl.predictors.persistence import load_predictor
from small_graphs import BONDS, collection, random_graphs, with_attributes

# Kernels that are not ours by name, so that each has a model among the cases.
BASELINES = ("ve-hist", "gs", "sp", "pwl", "wl-oa", "odd-sth", "gwl")
SMILES = ["C", "CC", "CCC", "CCO", "CO", "CCN", "c1ccccc1", "CC(=O)O"]


def case(rng: random.Random, folder: Path) -> None:
    """Change a kernel's file, load it, use it."""
    graphs, content = rng.choice(kernels())

    def use(kernel: Any) -> None:
        features = kernel.transform(graphs)
        assert features.shape[0] == len(graphs)
        kernel.kernel_matrix(graphs)

    _load_and_use(rng, folder, content, load_kernel, use)


def predictor_case(rng: random.Random, folder: Path) -> None:
    """Change a predictor's file, with kernels inside, load it, use it."""
    graphs, extra, content = rng.choice(predictors())

    def use(model: Any) -> None:
        assert len(model.predict(graphs, extra=extra)) == len(graphs)
        assert len(model.novelty(graphs)) == len(graphs)
        target = None if len(model._heads) == 1 else 0
        if isinstance(model, GraphRegressor):
            assert model.predict_interval(graphs, 0.8, target, extra).shape == (len(graphs), 2)
        elif target is None:
            assert model.predict_proba(graphs, extra).shape == (len(graphs), len(model.classes_))
            assert model.predict_set(graphs, 0.8, extra=extra).shape == (len(graphs), len(model.classes_))
        else:
            assert len(model.predict_set(graphs, 0.8, target=target)) == len(graphs)
        assert str(model.report_)

    load = functools.partial(load_predictor, kinds=(GraphClassifier, GraphRegressor))
    _load_and_use(rng, folder, content, load, use)


def molecule_case(rng: random.Random, folder: Path) -> None:
    """Change a file of a model of molecules, load it, use it."""
    from rdkit import RDLogger

    from relaxwl.molecules import MoleculeClassifier, MoleculeRegressor

    RDLogger.DisableLog("rdApp.*")
    kind, content = rng.choice(list(zip((MoleculeRegressor, MoleculeClassifier), _molecule_models(), strict=True)))

    def use(model: Any) -> None:
        assert len(model.predict(SMILES)) == len(SMILES)
        assert len(model.novelty(SMILES)) == len(SMILES)

    _load_and_use(rng, folder, content, kind.load, use)


# -------------------------------------------------------------------------------------------------- loading and using


def _load_and_use(
    rng: random.Random, folder: Path, content: bytes, load: Callable[[Path], Any], use: Callable[[Any], None]
) -> None:
    changed = changed_bytes(rng, content) if rng.random() < 0.2 else _changed_model(rng, content)
    size = len(zlib.decompress(content.split(b"\n", 2)[2]))
    _try_file(folder, changed, size, load, use)


def _try_file(folder: Path, content: bytes, size: int, load: Callable[[Path], Any], use: Callable[[Any], None]) -> None:
    """Load a model; what is accepted can be used and saved, or says what is wrong."""
    path = folder / "model.rwl"
    path.write_bytes(content)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        model = read_or_refused(lambda: load(path), size)
        if model is None:
            return
        try:
            use(model)
            model.save(folder / "again.rwl")
        except ValueError as error:
            assert str(error), "an error must say something"


# ---------------------------------------------------------------------------------------------------------- models


def _saved(model: Any) -> bytes:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder, "model.rwl")
        model.save(path)
        return path.read_bytes()


@functools.cache
def kernels() -> list[tuple[Any, bytes]]:
    plain = collection(random_graphs(12, seed=1))
    bonded = collection(random_graphs(12, seed=2, bonds=BONDS))
    attributed = with_attributes(random_graphs(12, seed=3), labeled=True)
    relaxed = functools.partial(RelaxedWeisfeilerLehman, max_depth=2, n_partitions=2, random_state=0)
    made = [
        (WeisfeilerLehman(2), plain),
        (WeisfeilerLehman(2, base="shortest-path", edge_labels=False), plain),
        (WeisfeilerLehman(1, base="edge", edge_labels=True), bonded),
        (relaxed(), plain),
        (relaxed(approximate=False), plain),
        (relaxed(edge_labels=True, normalize=True), bonded),
        (relaxed(similarity="intersection", n_clusters=[0.5, 3]), plain),
        (relaxed(cost=EditCost.from_attributes(blank=1.0, n_codes=4)), attributed),
        (ContinuousWeisfeilerLehman(max_depth=1, n_partitions=2, similarity="dot", random_state=0), attributed),
        *((get_kernel(name).make(random_state=0), plain) for name in BASELINES),
    ]
    return [(graphs, _saved(kernel.fit(graphs))) for kernel, graphs in made]


@functools.cache
def predictors() -> list[tuple[Any, Any, bytes]]:
    graphs = collection(random_graphs(12, seed=1))
    two, three, numbers = np.arange(12) % 2, np.array(list("abc") * 4), np.linspace(0, 1, 12)
    extra = np.random.default_rng(0).normal(size=(12, 2))
    quick = {"effort": "quick", "random_state": 0}
    made = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, y, vectors in (
            (GraphClassifier(**quick), two, None),
            (GraphClassifier(**quick), three, extra),
            (GraphRegressor(**quick), numbers, None),
            (GraphRegressor(**quick), numbers, extra),
        ):
            made.append((graphs, vectors, _saved(model.fit(graphs, y, vectors))))
        tables = np.stack([two, np.arange(12) // 6], axis=1), np.stack([numbers, numbers[::-1] ** 2], axis=1)
        for model, table in zip((GraphClassifier(**quick), GraphRegressor(**quick)), tables, strict=True):
            table = np.where(np.arange(24).reshape(12, 2) == 3, np.nan, table)
            made.append((graphs, None, _saved(model.fit(graphs, table))))
        with mock.patch.object(base, "LINEAR_FROM", 5):
            for model, y in ((GraphClassifier(**quick), three), (GraphRegressor(**quick), numbers)):
                made.append((graphs, extra, _saved(model.fit(graphs, y, extra))))
    return made


@functools.cache
def _molecule_models() -> tuple[bytes, bytes]:
    from relaxwl.molecules import MoleculeClassifier, MoleculeRegressor

    settings = {"max_depth": 2, "n_partitions": 2, "random_state": 0}
    carbons, kinds = [1, 2, 3, 2, 1, 2, 6, 2], ["plain"] * 3 + ["other"] * 5
    return (
        _saved(MoleculeRegressor(**settings).fit(SMILES, carbons)),
        _saved(MoleculeClassifier(("wl", "descriptors"), **settings).fit(SMILES, kinds)),
    )


# -------------------------------------------------------------------------------------------------------- changing


def _changed_model(rng: random.Random, content: bytes) -> bytes:
    header, arrays = opened(content)
    for _ in range(rng.choice((1, 1, 2, 3))):
        if arrays and rng.random() < 0.6:
            place = rng.randrange(len(arrays))
            arrays[place] = np.asarray(changed_array(rng, arrays[place]))
        else:
            key = rng.choice(("state", "state", "state", *header))
            header[key] = changed_value(rng, header[key])
    if rng.random() < 0.05:
        described: Any = [[array.dtype.str, list(array.shape)] for array in arrays]
        header["arrays"] = changed_value(rng, described)
    return written(header, arrays)
