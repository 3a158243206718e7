"""How far an evaluation is."""

from evaluation.toy_kernels import QUICK, Slow
from relaxwl.evaluation import cross_validate
from relaxwl.kernels import WeisfeilerLehman


def test_progress_ends_at_the_total_and_never_goes_back(toy):
    events = []
    cross_validate({"a": WeisfeilerLehman(max_depth=1), "b": Slow()}, *toy, progress=events.append, n_jobs=2, **QUICK)
    done = [event.done for event in events]
    assert done == sorted(done)
    assert done[-1] == events[-1].total == 16
    assert {"fitting", "choosing", "done", "out of time"} <= {event.description for event in events}
