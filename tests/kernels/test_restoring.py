"""Models from trees of plain values: only what may be there, and no deeper than anybody writes."""

import subprocess
import sys
import zipfile

import pytest

from kernels.models import TRAIN, objects, replaced, rewritten
from relaxwl import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.kernels.persistence import ModelFileError
from relaxwl.kernels.registry import get_kernel
from small_graphs import collection


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: replaced(header, version=99), "written in format 99 by a newer relaxwl.*upgrade relaxwl"),
        (lambda header: replaced(header, version="new"), "not a relaxwl model, or it is damaged"),
        (lambda header: replaced(header, format="other"), "is not a relaxwl model"),
        (lambda header: header.pop("version"), "not a relaxwl model, or it is damaged"),
        (lambda header: header.pop("arrays"), "not a relaxwl model, or it is damaged"),
        (lambda header: replaced(header, arrays=["0" * 64]), "array 0 does not match its checksum"),
        (lambda header: header.pop("model"), "does not hold a complete model"),
        (lambda header: replaced(header, model=[]), "does not hold a complete model"),
        (lambda header: header["model"].pop("state"), "does not hold a complete model"),
        (lambda header: replaced(header["model"], state=3), "does not hold a complete model"),
        (lambda header: replaced(header["model"], **{"class": "os.system"}), "holds a os.system, not one of"),
        (lambda header: replaced(header["model"]["state"], cost={"object": "Popen"}), "does not hold a complete"),
        (lambda header: replaced(header["model"]["state"], cost={"array": 10**6}), "does not hold a complete"),
        (lambda header: replaced(header["model"]["state"], max_depth=-1), "max_depth must be a whole number"),
        (lambda header: replaced(header["model"]["state"], chains_={"list": []}), "has no attribute chains_"),
        (lambda header: replaced(header["model"]["state"], partitions_={"list": []}), "does not hold a complete"),
        (lambda header: replaced(next(objects(header["model"], "Rows"))["state"], more=1), "Rows has no more"),
    ],
)
def test_foreign_and_newer_headers_are_refused(model, change, message):
    path, _ = model
    path.write_bytes(rewritten(path, change))
    with pytest.raises(ModelFileError, match=message):
        RelaxedWeisfeilerLehman.load(path)


@pytest.mark.parametrize("depth", [300, 100_000])
def test_values_nested_too_deep_are_refused(tmp_path, depth):
    path = tmp_path / "model.rwl"
    tree = '{"list": [' * depth + "]}" * depth
    with zipfile.ZipFile(path, "w") as archive:
        state = f'{{"class": "WeisfeilerLehman", "state": {{"rows_": {tree}}}}}'
        archive.writestr("model.json", f'{{"format": "relaxwl-model", "version": 1, "arrays": [], "model": {state}}}')
    if depth == 300:
        path.write_bytes(rewritten(path, lambda header: None))  # with a valid checksum
    with pytest.raises(ModelFileError):
        WeisfeilerLehman.load(path)


@pytest.mark.slow
def test_a_kernel_that_was_not_imported_is_found(tmp_path):
    get_kernel("sp").make().fit(collection(TRAIN)).save(tmp_path / "model.rwl")
    program = "import sys, relaxwl; print(relaxwl.kernels.load_kernel(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(tmp_path / "model.rwl")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240).stdout
    assert printed.strip() == "ShortestPath()"
