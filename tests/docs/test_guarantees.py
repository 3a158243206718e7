"""Every guarantee on the page about reliability names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_guarantees_name_tests_that_exist():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 20
    missing = [f"{path}::{name}" for path, name in named if f"def {name}(" not in (ROOT / path).read_text("utf-8")]
    assert not missing


def test_targets_of_the_campaign_are_listed():
    from fuzz.campaign import SHORT_CASES

    listed = PAGE[PAGE.index("| target | case |") : PAGE.index("### Cases run")]
    assert not [name for name in SHORT_CASES if f"`{name}`" not in listed]


def test_bounds_on_the_pages_are_those_of_the_code():
    from relaxwl import _memory, _storage, cli
    from relaxwl.datasets import fetch, parquet_pages, smiles
    from relaxwl.kernels import model_schema as schema
    from relaxwl.kernels import persistence
    from relaxwl.molecules.families import MAX_EIGENVALUES, MAX_PATHS
    from relaxwl.molecules.predictors import MAX_EXPLAINED

    times, free = _storage.BYTES_PER_BYTE, _storage.FREE_BYTES >> 20
    most, values = smiles.MAX_ATOMS, parquet_pages.FREE_VALUES // 10**6
    for page, sentences in {
        PAGE: [
            f"Zip files of data sets unpack to at most {free} MiB plus {times} times their size",
            f"Pages of Parquet files unpack to at most {free} MiB plus {times} times the file",
            f"at most {values} million values plus {parquet_pages.VALUES_PER_BYTE} for each byte of the file; a row "
            "counts as ten.",
            f"SMILES strings of more than {most:,} atoms or {most // 2 + 100} rings",
            f"announce more than {4 * most:,} atoms, hydrogens included",
            f"molecules with more than {MAX_PATHS:,} paths of four bonds",
            f"eigenvalues (`BCUT2D`) none for more than {MAX_EIGENVALUES} atoms",
            f"Explanations of molecules with more than {MAX_EXPLAINED} atoms",
            f"Depths on the command line are at most {cli.DEEPEST:,}",
            f"by default {fetch.TIME_LIMIT_SECONDS / 60:g} minutes",
        ],
        (ROOT / "docs" / "model-format.md").read_text(encoding="utf-8"): [
            f"`relaxwl model {persistence.VERSION}`",
            f"unpack to {free} MiB plus {times} bytes per byte of the file",
            "at most three quarters of the available memory",
            f"at most {persistence.MAX_AXES} axes",
            f"its text to {persistence.MAX_JSON_BYTES >> 20} MiB",
            f"at most {schema.MAX_DEPTH:,} depths, {schema.MAX_PARTITIONS:,} partitions (and depths times partitions), "
            f"{schema.MAX_VIEWS} views, {schema.MAX_BLOCKS} blocks of kernels, {schema.MAX_CLASSES:,} classes and "
            f"{schema.MAX_TARGETS:,} targets",
        ],
    }.items():
        words = " ".join(page.split())
        assert [sentence for sentence in sentences if sentence not in words] == []
    assert (parquet_pages.VALUES_PER_ROW, _memory.MEMORY_SHARE) == (10, 0.75)
    assert cli.DEEPEST == schema.MAX_DEPTH
