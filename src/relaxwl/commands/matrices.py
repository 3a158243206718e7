"""``relaxwl features`` and ``relaxwl kernel``: graphs as vectors, and as a Gram matrix, in one file."""

from argparse import Namespace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from relaxwl._registry import get_estimator
from relaxwl._storage import atomic_write
from relaxwl.commands.console import OPTIONS, Console, UserError
from relaxwl.commands.sources import Columns, Source, open_source
from relaxwl.kernels.base import CountKernel, GraphKernel
from relaxwl.kernels.registry import load_kernel

DEFAULT_KERNEL = "rwl-star"


def run_features(arguments: Namespace, console: Console) -> None:
    """Write the sparse feature matrix."""
    kernel = _kernel(arguments, console)
    if not hasattr(kernel, "transform"):
        raise UserError(f"{arguments.kernel} has no explicit features; use 'relaxwl kernel' for its Gram matrix")
    source = open_source(arguments.dataset, console, arguments.seed, Columns.of(arguments))
    with console.bar(source.name):
        features = kernel.transform(source.graphs) if arguments.apply else kernel.fit_transform(source.graphs)
    _save(kernel, arguments, console)
    matrix = csr_array(features)
    # What scipy.sparse.load_npz reads, and the classes beside it.
    arrays: dict[str, Any] = {
        "format": np.array(b"csr"), "shape": np.array(matrix.shape), "data": matrix.data,
        "indices": matrix.indices, "indptr": matrix.indptr, "_is_array": np.array(True),
    }  # fmt: skip
    _write(arguments.output, arrays, source)
    summary = {"output": arguments.output, "graphs": matrix.shape[0], "features": matrix.shape[1]}
    console.result(
        f"{matrix.shape[0]} graphs × {matrix.shape[1]} features ({matrix.nnz} entries) written to {arguments.output}\n"
        f"read it with scipy.sparse.load_npz({arguments.output!r})",
        summary,
    )


def run_kernel(arguments: Namespace, console: Console) -> None:
    """Write the Gram matrix."""
    kernel = _kernel(arguments, console)
    source = open_source(arguments.dataset, console, arguments.seed, Columns.of(arguments))
    with console.bar(source.name):
        matrix = kernel.kernel_matrix(source.graphs) if arguments.apply else kernel.fit_kernel_matrix(source.graphs)
    _save(kernel, arguments, console)
    _write(arguments.output, {"K": matrix}, source)
    console.result(
        f"Gram matrix of {len(matrix)} graphs written to {arguments.output}\n"
        f"read it with numpy.load({arguments.output!r})['K']",
        {"output": arguments.output, "graphs": len(matrix)},
    )


def _kernel(arguments: Namespace, console: Console) -> Any:
    """Return the kernel that was asked for, which says how far it is if the user wants to see it."""
    wanted = {
        "max_depth": arguments.depth,
        "n_partitions": arguments.partitions,
        "n_clusters": _clusters(arguments.clusters),
        "similarity": arguments.similarity,
        "normalize": arguments.normalize,
        "edge_labels": arguments.edge_labels or None,
    }
    settings = {name: value for name, value in wanted.items() if value is not None}
    if not arguments.apply:
        kernel = _new_kernel(arguments, settings)
    elif settings or arguments.model or arguments.kernel:
        raise UserError("--apply uses the kernel as it was saved: leave out --model, --kernel and the kernel's options")
    else:
        kernel = load_kernel(arguments.apply)
    return kernel.set_params(verbose=console.verbose)


def _new_kernel(arguments: Namespace, settings: dict[str, Any]) -> GraphKernel:
    """Return the kernel of a name, not yet fitted; what it cannot do is refused before any work."""
    name = arguments.kernel or DEFAULT_KERNEL
    kernel: GraphKernel = get_estimator(name).make(arguments.seed, arguments.jobs)
    if not isinstance(kernel, GraphKernel):
        raise UserError(
            f"{name} predicts by itself and has no Gram matrix; use relaxwl benchmark, or rwl-star with --clusters and "
            "--similarity"
        )
    foreign = [setting for setting in settings if setting not in kernel.get_params()]
    if foreign:
        raise UserError(f"the kernel {name} has no option {', '.join(OPTIONS[setting] for setting in foreign)}")
    if arguments.model and not isinstance(kernel, CountKernel):
        raise UserError(f"{name} cannot be saved: it has no explicit features; leave out --model")
    kernel.set_params(**settings)
    return kernel


def _clusters(text: str | None) -> Any:
    """Read a rule for the number of clusters, or several with commas between them."""
    if text is None or text in ("sqrt", "log2"):
        return text
    if "," in text:
        return [_clusters(part.strip()) for part in text.split(",")]
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise UserError(f"--clusters takes a number, a factor such as 0.5, 'sqrt' or 'log2', not {text!r}") from None


def _save(kernel: CountKernel, arguments: Namespace, console: Console) -> None:
    if arguments.model:
        kernel.set_params(verbose=0).save(arguments.model)  # who loads it may not want to see its progress
        console.note(f"fitted kernel saved in {arguments.model}; score other graphs with --apply {arguments.model}")


def _write(path: str, arrays: dict[str, Any], source: Source) -> None:
    if source.y is not None:
        arrays["y"] = source.y
    if source.graphs.names is not None:
        arrays["names"] = np.array(source.graphs.names)
    with atomic_write(path) as file:
        np.savez_compressed(file, **arrays)
