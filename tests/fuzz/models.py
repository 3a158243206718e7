"""Model files with fields, arrays and bytes changed, checksums made right again: refused, or usable."""

import functools
import hashlib
import io
import json
import random
import warnings
import zipfile
from pathlib import Path

import numpy as np

from fuzz.mutations import changed_array, changed_bytes, changed_value
from relaxwl import EditCost, RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl._memory import forget_peak_memory, peak_memory
from relaxwl.kernels.registry import load_kernel
from small_graphs import BONDS, collection, random_graphs, with_attributes

MEMORY_BYTES, BYTES_PER_BYTE = 2**26, 50


def case(rng: random.Random, folder: Path) -> None:
    """Change a model, load it, use it."""
    graphs, content = rng.choice(_models())
    path = folder / "model.rwl"
    path.write_bytes(changed_bytes(rng, content) if rng.random() < 0.2 else _changed_model(rng, content))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = sum(info.file_size for info in archive.infolist())
    forget_peak_memory()
    before = peak_memory()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            kernel = load_kernel(path)
        except (ValueError, OSError) as error:
            assert str(error), "an error must say something"
            taken = peak_memory() - before
            assert taken <= MEMORY_BYTES + BYTES_PER_BYTE * size, f"{taken} bytes of memory for {size} bytes of model"
            return
        try:
            features = kernel.transform(graphs)
            assert features.shape[0] == len(graphs)
            kernel.kernel_matrix(graphs)
            kernel.save(folder / "again.rwl")
        except ValueError as error:
            assert str(error), "an error must say something"


@functools.cache
def _models() -> list[tuple[object, bytes]]:
    plain = collection(random_graphs(12, seed=1))
    bonded = collection(random_graphs(12, seed=2, bonds=BONDS))
    attributed = with_attributes(random_graphs(12, seed=3), labelled=True)
    relaxed = functools.partial(RelaxedWeisfeilerLehman, max_depth=2, n_partitions=2, random_state=0)
    kernels = [
        (WeisfeilerLehman(2), plain),
        (WeisfeilerLehman(2, base="shortest-path", edge_labels=False), plain),
        (WeisfeilerLehman(1, base="edge", edge_labels=True), bonded),
        (relaxed(), plain),
        (relaxed(approximate=False), plain),
        (relaxed(edge_labels=True, normalize=True), bonded),
        (relaxed(similarity="intersection", n_clusters=[0.5, 3]), plain),
        (relaxed(cost=EditCost.from_attributes(blank=1.0, n_codes=4)), attributed),
    ]
    models = []
    for kernel, graphs in kernels:
        file = io.BytesIO()
        path = Path(f"/tmp/fuzz-model-{id(file)}.rwl")
        kernel.fit(graphs).save(path)
        models.append((graphs, path.read_bytes()))
        path.unlink()
    return models


def _changed_model(rng: random.Random, content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    header = json.loads(members["model.json"])
    arrays = [name for name in members if name.endswith(".npy")]
    for _ in range(rng.choice((1, 1, 2, 3))):
        if arrays and rng.random() < 0.6:
            name = rng.choice(arrays)
            array = np.load(io.BytesIO(members[name]), allow_pickle=False)
            file = io.BytesIO()
            np.save(file, changed_array(rng, array), allow_pickle=False)
            members[name] = file.getvalue() if rng.random() < 0.95 else changed_bytes(rng, members[name])
        else:
            key = rng.choice(list(header))
            header[key] = changed_value(rng, header[key])
    if isinstance(header.get("arrays"), list):
        for name in arrays:
            number = int(Path(name).stem)
            if number < len(header["arrays"]):
                header["arrays"][number] = hashlib.sha256(members[name]).hexdigest()
    body = {name: value for name, value in header.items() if name != "checksum"}
    header["checksum"] = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    members["model.json"] = json.dumps(header).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return file.getvalue()
