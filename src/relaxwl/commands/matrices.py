"""``relaxwl features`` and ``relaxwl kernel``: graphs as vectors, and as a Gram matrix, in one file."""

from argparse import Namespace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from relaxwl._storage import atomic_write
from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import Source, open_source
from relaxwl.kernels.base import CountKernel, GraphKernel
from relaxwl.kernels.registry import get_kernel, load_kernel


def run_features(arguments: Namespace, console: Console) -> None:
    """Write the sparse feature matrix."""
    source = open_source(arguments.dataset, console, arguments.seed)
    kernel = _kernel(arguments)
    if not hasattr(kernel, "transform"):
        raise UserError(f"{arguments.kernel} has no explicit features; use 'relaxwl kernel' for its Gram matrix")
    if arguments.apply:
        features = kernel.transform(source.graphs)
    else:
        features = kernel.fit_transform(source.graphs)
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
    source = open_source(arguments.dataset, console, arguments.seed)
    kernel = _kernel(arguments)
    if arguments.apply:
        matrix = kernel.kernel_matrix(source.graphs)
    else:
        matrix = kernel.fit_kernel_matrix(source.graphs)
        _save(kernel, arguments, console)
    _write(arguments.output, {"K": matrix}, source)
    console.result(
        f"Gram matrix of {len(matrix)} graphs written to {arguments.output}\n"
        f"read it with numpy.load({arguments.output!r})['K']",
        {"output": arguments.output, "graphs": len(matrix)},
    )


def _kernel(arguments: Namespace) -> Any:
    """Return the kernel that was asked for: fitted if it comes from a file."""
    wanted = {
        "max_depth": arguments.depth,
        "n_partitions": arguments.partitions,
        "n_clusters": _clusters(arguments.clusters),
        "similarity": arguments.similarity,
        "normalize": arguments.normalize,
        "edge_labels": arguments.edge_labels or None,
        "verbose": 0 if arguments.quiet else None,
    }
    settings = {name: value for name, value in wanted.items() if value is not None}
    if arguments.apply:
        if arguments.model or set(settings) - {"verbose"}:
            raise UserError("--apply uses the kernel as it was saved: leave out the options of the kernel and --model")
        return load_kernel(arguments.apply)
    if arguments.kernel == "rwl-auto":
        raise UserError(
            "rwl-auto chooses its setting by cross-validation; use relaxwl benchmark, or rwl-star with --clusters and "
            "--similarity"
        )
    entry = get_kernel(arguments.kernel)
    known = entry.kernel_class()().get_params()
    foreign = [name for name in settings if name not in known and name != "verbose"]
    if foreign:
        options = ", ".join("--" + name.removeprefix("n_").replace("max_depth", "depth") for name in foreign)
        raise UserError(f"the kernel {arguments.kernel} has no option {options}")
    settings = {name: value for name, value in settings.items() if name in known}
    return entry.make(arguments.seed, arguments.jobs, None, **settings)


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


def _save(kernel: GraphKernel, arguments: Namespace, console: Console) -> None:
    if not arguments.model:
        return
    if not isinstance(kernel, CountKernel):
        raise UserError(f"{arguments.kernel} cannot be saved: it has no explicit features; leave out --model")
    kernel.save(arguments.model)
    console.note(f"fitted kernel saved in {arguments.model}; score other graphs with --apply {arguments.model}")


def _write(path: str, arrays: dict[str, Any], source: Source) -> None:
    if source.y is not None:
        arrays["y"] = source.y
    with atomic_write(path) as file:
        np.savez_compressed(file, **arrays)
