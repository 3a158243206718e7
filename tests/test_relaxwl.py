"""The package as a whole: its names are there, and come when they are used."""

import re
import subprocess
import sys
from collections import Counter

import pytest

import relaxwl
from places import SOURCE


@pytest.mark.slow
def test_every_public_name_is_there_and_imported_when_first_used():
    program = (
        "import pickle, sys, relaxwl\n"
        "assert 'numpy' not in sys.modules\n"
        "assert set(relaxwl.__all__) <= set(dir(relaxwl))\n"
        "assert relaxwl.evaluation.cross_validate and relaxwl.clustering.partitioners\n"
        "from relaxwl import *\n"
        "from relaxwl import RelaxedWeisfeilerLehman as again\n"
        "assert again is RelaxedWeisfeilerLehman is relaxwl.kernels.RelaxedWeisfeilerLehman\n"
        "assert pickle.loads(pickle.dumps(again(max_depth=2))).max_depth == 2\n"
        "assert all(getattr(relaxwl, name) is globals()[name] for name in relaxwl.__all__)\n"
        "assert not hasattr(relaxwl, 'nonsense')"
    )
    subprocess.run([sys.executable, "-c", program], timeout=120, check=True)


def test_the_version_is_the_same_everywhere():
    root = SOURCE.parents[1]
    assert relaxwl.__version__ == relaxwl._version.__version__
    assert f"version: {relaxwl.__version__}\n" in (root / "CITATION.cff").read_text("utf-8")
    assert f"version = {{{relaxwl.__version__}}}," in (root / "docs" / "cite.md").read_text("utf-8")
    assert f'version = "{relaxwl.__version__}"' in (root / "conda" / "meta.yaml").read_text("utf-8")
    assert f"## {relaxwl.__version__} " in (root / "CHANGELOG.md").read_text("utf-8")


def test_no_names_differ_by_case_alone():
    """Files of the repository, and pages of the documentation, which are called as what they describe."""
    root = SOURCE.parents[1]
    folders = [root / name for name in ("src", "tests", "docs", "examples", "benchmarks")]
    files = [str(path) for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts]
    pages = re.findall(r"^ +(relaxwl\.[\w.]+|[\w.]+)$", (root / "docs" / "api.md").read_text("utf-8"), re.MULTILINE)
    for names in (files, pages):
        assert not [name for name, count in Counter(map(str.casefold, names)).items() if count > 1]
