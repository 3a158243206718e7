"""Parquet files, folders of shards and files of folds, changed: refused, or what they say."""

import functools
import hashlib
import io
import json
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import relaxwl
from fuzz.limits import read_or_refused
from fuzz.mutations import changed_array, changed_bytes, changed_lines, changed_value
from relaxwl.datasets import read_parquet
from relaxwl.datasets.smiles import from_smiles
from relaxwl.distributed import ShardedCollection, ShardWriter
from relaxwl.evaluation.folds import read_splits
from small_graphs import BONDS, collection, random_graphs, with_attributes

# ---------------------------------------------------------------------------------------------------------- Parquet


Arcs = list[set[tuple[int, int]]]


def parquet_case(rng: random.Random, folder: Path) -> None:
    """Change rows, write them to a Parquet file and read it; what was not changed is read as it is.

    Bytes are not changed: pyarrow reads the files, and is not tested here.
    """
    path = folder / "graphs.parquet"
    content, arcs = _parquet_of_rows(rng)
    if content is None:
        return
    path.write_bytes(content)
    batch = rng.choice((None, None, 1, 5))

    def read() -> Any:
        found = read_parquet(path, batch_size=batch)
        return found if batch is None else list(found)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = read_or_refused(read, 20 * len(content))
        parts = [] if found is None else [found] if batch is None else found
        for graphs, y in parts:
            assert y is None or len(y) == len(graphs)
            _use(graphs)
        if arcs is not None and parts:
            assert [_arcs(graphs, graph) for graphs, _ in parts for graph in graphs] == arcs, "edges were guessed"
        # Where all have two arcs or none, these may be two lists or two pairs.
        assert arcs is None or parts or {len(one) for one in arcs} <= {0, 2}, "good rows are refused"


def _arcs(graphs: Any, graph: Any) -> set[tuple[int, int]]:
    pairs = {(u, v) for u, v in graph.edges.tolist()}
    return pairs if graphs.directed else pairs | {(v, u) for u, v in pairs}


def _parquet_of_rows(rng: random.Random) -> tuple[bytes | None, Arcs | None]:
    """Return a file with rows that may be anything that a Parquet file can hold, and the arcs of rows not changed."""
    import pyarrow
    import pyarrow.parquet

    directed, pairs, labeled, weighted = (rng.random() < 0.5 for _ in range(4))
    rows: Any = []
    arcs: Arcs | None = []
    for _ in range(rng.randrange(1, 4)):
        size = rng.randrange(1, 5)
        ends = {(rng.randrange(size), rng.randrange(size)) for _ in range(rng.randrange(5))}
        given = sorted({(u, v) for u, v in ends if u != v})
        given = given if directed else sorted({*given, *((v, u) for u, v in given)})
        arcs.append(set(given))
        row = {
            "edge_index": [list(arc) for arc in given] if pairs else [[u for u, _ in given], [v for _, v in given]],
            "num_nodes": size,
            "node_label": [rng.choice("ab") for _ in range(size)],
            "node_feat": [[rng.random()] for _ in range(size)],
            "y": rng.randrange(2),
        }
        row |= {"edge_label": ["xy"[(u + v) % 2] for u, v in given]} if labeled else {}
        row |= {"edge_attr": [[1.0 * u * v, u + v] for u, v in given]} if weighted else {}
        rows.append(row)
    for _ in range(rng.choice((0, 1, 1, 2))):
        rows, arcs = changed_value(rng, rows), None
    noted = None
    if rng.random() < 0.3:
        noted, arcs = changed_value(rng, {"directed": False, "json": []}), None
    try:
        table = pyarrow.Table.from_pylist(rows)
        if noted is not None:
            table = table.replace_schema_metadata({b"relaxwl": json.dumps(noted).encode()})
        file = io.BytesIO()
        pyarrow.parquet.write_table(table, file)
    except (pyarrow.ArrowException, TypeError, ValueError, AttributeError, KeyError, OverflowError):
        return None, None  # no Parquet file can hold these
    return file.getvalue(), arcs


# ---------------------------------------------------------------------------------------------- tables of molecules

ROWS = b"""name,smiles,expt
ethanol,CCO,-0.3
"benzene, pure",c1ccccc1,2.1
salt,[Na+].[Cl-],-1e1
acid,CC(=O)O,0.17
"""


def molecules_case(rng: random.Random, folder: Path) -> None:
    """Change a table of molecules and read it; what is left has a target for each graph."""
    from rdkit import RDLogger

    from relaxwl.datasets import load_molecules

    RDLogger.DisableLog("rdApp.*")
    path = folder / rng.choice(("table.csv", "table.tsv", "table.sdf"))
    rows = rng.choice(_sdf_files()) if path.suffix == ".sdf" else ROWS
    content = rng.choice((changed_bytes, changed_bytes, changed_lines))(rng, rows)
    path.write_bytes(content.replace(b",", b"\t") if path.suffix == ".tsv" else content)
    target, errors = rng.choice(("expt", "expt", None, "name", "x")), rng.choice(("raise", "skip", "nan"))
    most = rng.choice((1000, 1000, None, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = read_or_refused(
            lambda: load_molecules(path, target=target, errors=errors, max_atoms=most), len(content)
        )
        if found is not None:
            graphs, y = found
            assert (y is None) == (target is None)
            assert y is None or len(y) == len(graphs)
            assert most is None or graphs.node_counts.max(initial=0) <= most, "a molecule is larger than asked for"
            for molecule, n_nodes in zip(graphs.molecules(), graphs.node_counts, strict=True):
                assert molecule is None or molecule.GetNumAtoms() == n_nodes, "the graph is of another molecule"
            _use(graphs)


@functools.cache
def _sdf_files() -> list[bytes]:
    """Return the rows as molecules of SDF files, in the old form and the new, with a property that misleads."""
    from rdkit import Chem

    files = []
    for new in (False, True):
        texts = []
        for number, smiles in enumerate(("CCO", "c1ccccc1", "[Na+].[Cl-]", "CC(=O)O")):
            block = Chem.MolToMolBlock(Chem.MolFromSmiles(smiles), forceV3000=new)
            texts.append(f"{block}>  <expt>\n{number}.5\n\n>  <smiles>\nCCCC\n\n$$$$\n")
        files.append("".join(texts).encode())
    return files


# ----------------------------------------------------------------------------------------------------------- shards


def shards_case(rng: random.Random, folder: Path) -> None:
    """Change the manifest or a part, checksums made right again, and read all of it."""
    files = dict(rng.choice(_shard_folders()))
    manifest = json.loads(files["manifest.json"])
    parts = [name for name in files if name.endswith(".npz")]
    size = sum(map(len, files.values()))
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(parts or [""])
        match rng.randrange(4):
            case 0:
                manifest = changed_value(rng, manifest)
            case 1 if name in parts:
                files[name] = changed_bytes(rng, files[name])
                parts.remove(name)  # nobody can read it any more
            case _ if name in parts:
                files[name], n_bytes = _changed_part(rng, files[name])
                size += n_bytes
    listed = manifest.get("parts") if isinstance(manifest, dict) and rng.random() < 0.9 else None
    for part in listed if isinstance(listed, list) else []:
        if isinstance(part, dict) and part.get("name") in list(files):
            part["sha256"] = hashlib.sha256(files[part["name"]]).hexdigest()
    files["manifest.json"] = json.dumps(manifest).encode() if rng.random() < 0.95 else changed_bytes(
        rng, files["manifest.json"])  # fmt: skip
    for name, content in files.items():
        (folder / name).write_bytes(content)

    def read() -> Any:
        shards = ShardedCollection.open(folder)
        repr(shards)
        return shards, list(shards), shards.y, shards.to_collection()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = read_or_refused(read, 10 * size)
        if found is not None:
            shards, graphs, y, whole = found
            assert sum(map(len, graphs)) == len(whole) == shards.n_graphs, "the manifest says something else"
            assert y is None or len(y) == len(whole)
            if hasattr(whole, "molecules"):
                assert len(whole.molecules()) == len(whole)
            _use(whole)


@functools.cache
def _shard_folders() -> list[dict[str, bytes]]:
    folders = []
    for graphs, y in (
        (collection(random_graphs(9, seed=1)), np.arange(9) % 2),
        (collection(random_graphs(9, seed=2, bonds=BONDS)), None),
        (with_attributes(random_graphs(9, seed=3), labeled=True), np.linspace(0, 1, 9)),
        (from_smiles(["C", "CC", "CCO", "c1ccccc1", "[Na+].[Cl-]"]), [1.0, 2.0, 3.0, 6.0, 0.0]),
    ):
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            with ShardWriter(folder, graphs_per_shard=4) as writer:
                writer.add(graphs, y)
            folders.append({path.name: path.read_bytes() for path in Path(folder).iterdir()})
    return folders


def _changed_part(rng: random.Random, content: bytes) -> tuple[bytes, int]:
    """Return a part with an array changed, and the bytes that it unpacks to."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    name = rng.choice(list(arrays))
    match rng.randrange(12):
        case 0:
            del arrays[name]
        case 1:
            arrays[rng.choice(list(arrays))] = arrays[name]
        case _:
            arrays[name] = changed_array(rng, arrays[name])
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue(), sum(array.nbytes for array in arrays.values())


# ----------------------------------------------------------------------------------------------------------- folds


def splits_case(rng: random.Random, folder: Path) -> None:
    """Change a file of folds; what is accepted has each graph at most once in a fold."""
    order = rng.sample(range(12), 12)
    fold = {"test": order[:3], "model_selection": [{"train": order[3:8], "validation": order[8:]}]}
    folds: Any = [fold] * rng.choice((1, 2))
    for _ in range(rng.choice((0, 1, 1, 3))):
        folds = changed_value(rng, folds)
    content = json.dumps(folds).encode()
    content = changed_bytes(rng, content) if rng.random() < 0.3 else content
    path = folder / "splits.json"
    path.write_bytes(content)
    splits = read_or_refused(lambda: read_splits(path, 12), len(content))
    if splits is None:
        return
    for split in splits.given:
        ((fit, held_out),) = split.inner
        everything = [*split.test.tolist(), *fit.tolist(), *held_out.tolist()]
        assert len(set(everything)) == len(everything)
        assert set(everything) <= set(range(12))
        assert sorted([*fit.tolist(), *held_out.tolist()]) == split.train.tolist()


def _use(graphs: Any) -> None:
    try:
        relaxwl.WeisfeilerLehman(2).fit_transform(graphs)
    except ValueError as error:
        assert str(error), "an error must say something"
