"""Interrupts arrive as themselves, also in the middle of compiled code, which stands on compiled code alone."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from places import SOURCE, TESTS
from relaxed_kernels import optimized
from relaxwl import GraphClassifier, _compiling
from relaxwl._compiling import njit
from relaxwl.unfolding._compiled import distinct_rows
from small_graphs import collection, random_graphs


def run_program(program, **environment):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE.parent), str(TESTS)]), **environment}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@njit(nogil=True)
def _spin(n_steps):
    """Take some time, and return what Numba turns into Python objects by calling Python."""
    values = np.zeros(2)
    for step in range(n_steps):
        values[0] += np.sin(step)
    return values, np.ones(2)


# In a process of its own: an interrupt at any moment may also hit what measures coverage, and leave its lock held.
INTERRUPTED = """
import signal
import numpy as np
from relaxwl import WeisfeilerLehman
from relaxwl.datasets import make_egonets
from compiling.test_compiling import _spin

signal.signal(signal.SIGALRM, signal.default_int_handler)

def interrupted(seconds, work):
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    return False

_spin(1)
assert all(interrupted(0.01, lambda: _spin(20_000_000)) for _ in range(5))

graphs, _ = make_egonets(100, random_state=0)
kernel = WeisfeilerLehman(5)
expected = kernel.fit_transform(graphs)
random = np.random.default_rng(0)
assert any([interrupted(random.uniform(1e-4, 0.04), lambda: kernel.fit_transform(graphs)) for _ in range(30)])
assert (kernel.fit_transform(graphs) != expected).nnz == 0
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers as POSIX knows them")
def test_interrupts_at_any_moment_of_compiled_code_are_interrupts():
    run_program(INTERRUPTED)


def test_other_errors_are_what_they_were():
    with pytest.raises(TypeError):
        _spin()


def test_compiled_functions_call_each_other_and_run_in_threads():
    @njit
    def outer(n_steps):
        first, second = _spin(n_steps)
        return first[0] + second[0]

    results = []
    threads = [threading.Thread(target=lambda: results.append(outer(10))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1 + float(_spin(10)[0][0])] * 3


def test_all_compiled_code_of_the_package_is_interruptible():
    careless = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if path.parent.name != "_compiling"
        and re.search(r"^\s*(from numba import .*\bnjit\b|import numba)", path.read_text(), re.M)
    ]
    assert careless == [], "import njit from relaxwl._compiling instead"


WITHOUT_INTERNALS = """
from numba.core.registry import CPUDispatcher
from relaxwl import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.unfolding._compiled import distinct_rows
from small_graphs import collection, random_graphs

assert type(distinct_rows) is CPUDispatcher
print(KERNEL.fit_transform(collection(random_graphs(6))).toarray().tolist())
"""


RELAXED = "RelaxedWeisfeilerLehman(1, 1, n_clusters=3, random_state=0)"


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["WeisfeilerLehman(2)", RELAXED])
def test_without_private_names_of_numba_all_is_compiled_by_plain_njit(tmp_path, kernel):
    program = WITHOUT_INTERNALS.replace("KERNEL", kernel)
    expected = run_program(program.replace("is CPUDispatcher", "is not CPUDispatcher"))
    assert run_program(program, RELAXWL_PLAIN_NUMBA="1", NUMBA_CACHE_DIR=str(tmp_path)) == expected
    assert list(tmp_path.rglob("*.nbc"))


INTERPRETED = """
import json, warnings
from compiling.test_compiling import fitted
warnings.simplefilter("ignore")  # hashes overflow, of which NumPy warns
print(json.dumps(fitted()))
"""


def fitted():
    graphs = collection(random_graphs(8, seed=1))
    kernel = optimized(2, 1, random_state=0).fit(graphs)
    model = GraphClassifier(effort="quick", random_state=0).fit(graphs, [0, 1] * 4)
    return [type(distinct_rows).__name__, kernel.kernel_matrix(graphs).tolist(), model.predict_proba(graphs).tolist()]


def test_python_runs_all_code_if_numba_is_disabled():
    """So that a debugger can follow it."""
    interpreted = json.loads(run_program(INTERPRETED, NUMBA_DISABLE_JIT="1"))
    assert interpreted == ["function", *fitted()[1:]]


SAVED = """
from relaxwl import RelaxedWeisfeilerLehman
from small_graphs import collection, random_graphs

RelaxedWeisfeilerLehman(1, 1, n_clusters=3, max_iter=0, random_state=0).fit(collection(random_graphs(6))).save("PATH")
"""


@pytest.mark.slow
def test_model_files_are_the_same_with_code_just_compiled_and_code_from_disk(tmp_path):
    files = [tmp_path / name for name in ("compiled.rwl", "from_disk.rwl")]
    for number, path in enumerate(files):
        environment = {"PYTHONHASHSEED": str(number), "MALLOC_PERTURB_": str(1 + number)}
        run_program(SAVED.replace("PATH", str(path)), NUMBA_CACHE_DIR=str(tmp_path / "kept"), **environment)
    compiled, from_disk = (path.read_bytes() for path in files)
    assert compiled == from_disk


RENAMED = """
import logging
import numba.core.environment
logging.basicConfig()
del numba.core.environment.lookup_environment
from relaxwl.unfolding._compiled import counting_order
from relaxwl._compiling import njit

@njit
def half(number):
    return number / 2

@njit(nogil=True)
def quarter(number):
    return half(half(number))

print(type(counting_order).__name__, quarter(8))
"""


def test_a_private_name_that_is_gone_is_named_and_done_without():
    said = run_program(RENAMED)
    assert "CPUDispatcher 2.0" in said
    assert "lookup_environment" in said


def test_without_a_folder_for_machine_code_it_is_compiled_all_the_same(monkeypatch, caplog):
    _compiling._tell_not_cached.cache_clear()
    no_place = RuntimeError("cannot cache function 'thrice': no locator available for file 'x.py'")
    monkeypatch.setattr("numba.core.dispatcher.FunctionCache", lambda _: (_ for _ in ()).throw(no_place))

    @njit(cache=True)
    def thrice(value):
        return 3 * value

    assert thrice(3) == 9
    assert "no folder for compiled code is writable" in caplog.text


COMPILED = sorted(SOURCE.rglob("*_compiled.py"))
ALLOWED = {"heapq", "math", "numba", "numpy", "typing"}
# Other compiled code, and the decorator that compiles it.
OURS = ("_compiled", "relaxwl._compiling.njit")


def imported(path):
    """Return the modules that a file imports; a package is what is imported from it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = SOURCE.parent / (node.module or "").replace(".", "/")
            yield from (f"{node.module}.{alias.name}" for alias in node.names) if module.is_dir() else [node.module]


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: str(path.relative_to(SOURCE)))
def test_compiled_code_imports_compiled_code_alone(path):
    foreign = [name for name in imported(path) if name.split(".")[0] not in ALLOWED and not name.endswith(OURS)]
    assert foreign == []


def test_there_is_compiled_code():
    assert len(COMPILED) >= 6
