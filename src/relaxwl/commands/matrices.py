"""``relaxwl features`` and ``relaxwl kernel``: graphs as vectors, and as a Gram matrix, in one file."""

from argparse import Namespace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from relaxwl._registry import get_estimator
from relaxwl._storage import atomic_write
from relaxwl._validation import read_number
from relaxwl.commands.console import Console, UserError, option
from relaxwl.commands.sources import open_source
from relaxwl.kernels.base import CountKernel, GraphKernel
from relaxwl.kernels.registry import load_kernel

DEFAULT_KERNEL = "rwl-star"


def run(arguments: Namespace, console: Console) -> None:
    """Write the sparse feature matrix (``relaxwl features``) or the Gram matrix (``relaxwl kernel``)."""
    kernel, features = _kernel(arguments, console), arguments.command == "features"
    if features and not hasattr(kernel, "transform"):
        raise UserError(f"{arguments.kernel} has no explicit features; use 'relaxwl kernel' for its Gram matrix")
    source = open_source(arguments.dataset, arguments, console)
    method = "transform" if features else "kernel_matrix"
    with console.bar(source.name):
        matrix = getattr(kernel, method if arguments.apply else f"fit_{method}")(source.graphs)
    if arguments.model:
        kernel.set_params(verbose=0).save(arguments.model)  # the saved kernel should not report progress
        console.note(f"kernel saved to {arguments.model}; apply it to other graphs with --apply {arguments.model}")
    arrays: dict[str, Any] = {"K": matrix}
    summary = {"output": arguments.output, "graphs": matrix.shape[0]}
    words = f"Gram matrix of {len(source.graphs)} graphs written to {arguments.output}"
    if features:
        matrix = csr_array(matrix)
        # The arrays that scipy.sparse.load_npz reads, and the classes.
        arrays = {
            "format": np.array(b"csr"), "shape": np.array(matrix.shape), "data": matrix.data,
            "indices": matrix.indices, "indptr": matrix.indptr, "_is_array": np.array(True),
        }  # fmt: skip
        summary["features"] = matrix.shape[1]
        sizes = f"{matrix.shape[0]} graphs × {matrix.shape[1]} features ({matrix.nnz} entries)"
        words = f"{sizes} written to {arguments.output}"
    arrays |= {} if source.y is None else {"y": source.y}
    arrays |= {} if source.graphs.names is None else {"names": np.array(source.graphs.names)}
    with atomic_write(arguments.output) as file:
        np.savez_compressed(file, **arrays)
    reader = f"scipy.sparse.load_npz({arguments.output!r})" if features else f"numpy.load({arguments.output!r})['K']"
    console.result(f"{words}\nread it with {reader}", summary)


def _kernel(arguments: Namespace, console: Console) -> Any:
    """Return the requested kernel; unsupported options raise an error before any work."""
    wanted = {
        "max_depth": arguments.depth,
        "n_partitions": arguments.partitions,
        "n_clusters": _clusters(arguments.clusters),
        "similarity": arguments.similarity,
        "normalize": arguments.normalize,
        "edge_labels": arguments.edge_labels or None,
    }
    settings = {name: value for name, value in wanted.items() if value is not None}
    if arguments.apply:
        if settings or arguments.model or arguments.kernel:
            raise UserError(
                "--apply uses the kernel as it was saved: leave out --model, --kernel and the kernel's options"
            )
        return load_kernel(arguments.apply).set_params(verbose=console.verbose)
    name = arguments.kernel or DEFAULT_KERNEL
    kernel: GraphKernel = get_estimator(name).make(arguments.seed, arguments.jobs)
    if not isinstance(kernel, GraphKernel):
        raise UserError(
            f"{name} is a predictor and has no Gram matrix; use relaxwl benchmark, or rwl-star with --clusters and "
            "--similarity"
        )
    foreign = [setting for setting in settings if setting not in kernel.get_params()]
    if foreign:
        raise UserError(f"the kernel {name} has no option {', '.join(map(option, foreign))}")
    if arguments.model and not isinstance(kernel, CountKernel):
        raise UserError(f"{name} cannot be saved: it has no explicit features; leave out --model")
    return kernel.set_params(**settings, verbose=console.verbose)


def _clusters(text: str | None) -> Any:
    """Read a rule for the number of clusters, or several rules separated by commas."""
    if text is None or text in ("sqrt", "log2", "all"):
        return text
    if "," in text:
        return [_clusters(part.strip()) for part in text.split(",")]
    try:
        number = read_number(text)
        return number if "." in text else int(text)
    except ValueError:
        raise UserError(
            f"--clusters takes a number, a factor such as 0.5, 'sqrt', 'log2' or 'all', not {text!r}"
        ) from None
