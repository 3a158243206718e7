"""Files of records: damaged lines are named and set aside, and never become another result."""

import random
import warnings
from pathlib import Path

from evaluation.records import described, given_up, repetitions
from fuzz.mutations import changed_bytes, changed_lines
from relaxwl.evaluation import ResultStore
from relaxwl.evaluation.tables import results_table

RECORDS = [*repetitions((1, 0.5), (0.5, 1)), *repetitions((0, 0.5), kernel="gs"), given_up(kernel="sp")]
RECORDS += [described()]


def case(rng: random.Random, folder: Path) -> None:
    """Keep records, damage the file, load what is left, go on."""
    store = ResultStore(folder / "results.jsonl")
    kept = rng.sample(RECORDS, rng.randrange(1, len(RECORDS) + 1))
    # What loses its checksum is known by those before it: only a file's first line could pass for an old one.
    store.append(kept[:1])
    first = store.path.read_bytes()
    store.append(kept[1:])
    content = store.path.read_bytes().removeprefix(first)
    changed = changed_lines(rng, content) if rng.random() < 0.2 else changed_bytes(rng, content)
    store.path.write_bytes(first + changed)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        loaded = list(store.load())
        assert all(record in kept for record in loaded), "a damaged line became a record"
        assert len(loaded) == len(kept) or noted or changed.count(b"\n") < content.count(b"\n")
        store.append(RECORDS)
        again = store.load()
    assert all(record in list(again) for record in RECORDS), "what was computed again is not there"
    results_table(again).render("markdown")
