"""Graphs of PyTorch Geometric: tensors edge_index (or adj_t), x and edge_attr.

Data hubs store the same as rows of a table. A row is a dictionary; a data frame, an Arrow table or a list of
dictionaries contains many rows.
"""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.graphs.building import as_names, common_names, join_labels, tells_directions, there_are
from relaxwl.graphs.labels import Label
from relaxwl.inputs.reading import GraphParts, Names, build, warn_of_unread

KIND = "a PyTorch Geometric graph"

# Names of attributes that are read by default, and names that belong neither to nodes nor to edges.
DEFAULTS = {"node": ("x", "node_feat"), "edge": ("edge_attr", "edge_weight")}
APART = frozenset({"edge_index", "adj_t", "y", "num_nodes", "batch", "ptr"})


def is_pyg(item: Any) -> bool:
    """Whether the item has the edges of a PyTorch Geometric ``Data`` object."""
    return hasattr(item, "edge_index")


def unbatched(items: Sequence[Any]) -> list[Any]:
    """Return the graphs of batches one by one."""
    return [graph for item in items for graph in (item.to_data_list() if hasattr(item, "to_data_list") else [item])]


def read_pyg(graphs: list[Any], names: Names) -> GraphCollection:
    """Read the tensors of each object."""
    unread: dict[str, set[str]] = {"node": set(), "edge": set()}
    parts = []
    for index, graph in enumerate(graphs):
        try:
            parts.append(_parts(graph, names, index, unread))
        except GraphError:
            raise
        except (TypeError, ValueError, OverflowError) as error:  # from NumPy, for values that are not arrays
            raise GraphError(index, f"cannot be read: {error}") from None
    warn_of_unread(names, names, unread["node"], unread["edge"])
    called = (common_names([getattr(graph, key, None) for graph in graphs]) for key in ("name", "id"))
    return build(parts, names).with_names(next((found for found in called if found is not None), None))


def is_row(item: Any) -> bool:
    """Whether the item is a dictionary that holds edges in the form of a dataset row."""
    return isinstance(item, Mapping) and "edge_index" in item


def read_rows(rows: list[Any], names: Names) -> GraphCollection:
    """Read the cells of each row as the tensors of PyTorch Geometric."""
    return read_pyg([SimpleNamespace(**row) for row in rows], names)


def is_table(graphs: Any) -> bool:
    """Whether the object is a data frame or an Arrow table, whose columns would be taken for its items."""
    return (hasattr(graphs, "columns") and hasattr(graphs, "iloc")) or hasattr(graphs, "to_pylist")


def items_of(table: Any) -> list[Any]:
    """Return the rows of a table, or the graphs themselves if it has one column only."""
    if hasattr(table, "to_pylist"):  # Arrow; a column without a table is a list of graphs
        names, rows = list(getattr(table, "column_names", [])), table.to_pylist()
    else:
        names, rows = list(table.columns), table.to_dict("records")
    if not names or "edge_index" in names:
        return list(rows)
    if len(names) == 1:
        return [row[names[0]] for row in rows]
    raise TypeError(
        f"the table has the columns {', '.join(map(repr, names))}; choose the one that holds the graphs, "
        "table[['graph']], or name the column of edges edge_index"
    )


def _parts(graph: Any, names: Names, index: int, unread: dict[str, set[str]]) -> GraphParts:
    arcs, weights = _arcs(graph, index)
    n_nodes = _node_count(graph, index)
    columns: dict[str, Any] = {}
    used = set(APART)
    for kind in ("node", "edge"):
        labels = as_names(getattr(names, f"{kind}_label"))
        wanted = getattr(names, f"{kind}_attributes")
        if wanted is None:
            wanted = [key for key in DEFAULTS[kind] if key not in labels and getattr(graph, key, None) is not None]
        used |= {*labels, *as_names(wanted)}
        columns[f"{kind}_labels"] = _labels(graph, labels, names.missing, index) if labels else None
        arrays = [_array_of(graph, name, index) for name in as_names(wanted)]
        if kind == "edge" and weights is not None and names.edge_attributes is None:
            arrays.append(weights)
        arrays = [array.reshape(-1, 1) if array.ndim == 1 else array for array in arrays]
        try:
            columns[f"{kind}_attributes"] = np.concatenate(arrays, axis=1) if arrays else None
        except ValueError as error:
            raise GraphError(index, f"the attributes do not fit together: {error}") from None
    for kind, length in (("node", n_nodes), ("edge", len(arcs))):
        unread[kind] |= {key for key in _keys(graph) if key not in used and _has_length(getattr(graph, key), length)}
    directed = tells_directions(arcs, n_nodes, columns["edge_labels"], columns["edge_attributes"])
    return GraphParts(n_nodes, arcs, **columns, directed=directed)


def _arcs(graph: Any, index: int) -> tuple[Any, Any]:
    """Return the arcs as rows and, of an ``adj_t`` whose entries are not all 1, the weights."""
    if graph.edge_index is None and getattr(graph, "adj_t", None) is not None:
        return _transposed(graph.adj_t)
    if graph.edge_index is None:
        return np.empty((0, 2), np.int64), None
    arcs = as_array(graph.edge_index)
    if arcs.size == 0:
        return np.empty((0, 2), np.int64), None
    if arcs.ndim != 2 or arcs.shape[0] != 2:
        raise GraphError(index, f"edge_index must have shape (2, n_edges), not {arcs.shape}")
    return arcs.T, None


def _transposed(matrix: Any) -> tuple[Any, Any]:
    """Read ``adj_t``, whose entry [i, j] is an arc from j to i, as torch_sparse, torch or SciPy keep it."""
    if hasattr(matrix, "coo"):  # torch_sparse
        heads, tails, values = matrix.coo()
    elif hasattr(matrix, "tocoo"):  # SciPy
        entries = matrix.tocoo()
        heads, tails, values = entries.row, entries.col, entries.data
    else:
        entries = matrix.to_sparse_coo().coalesce()
        (heads, tails), values = entries.indices(), entries.values()
    arcs = np.column_stack([as_array(tails), as_array(heads)]).astype(np.int64)
    weights = None if values is None else as_array(values).astype(np.float64).reshape(len(arcs), -1)
    return arcs, None if weights is None or (weights == 1).all() else weights


def _node_count(graph: Any, index: int) -> int:
    count = getattr(graph, "num_nodes", None)
    if count is not None:
        number = as_array(count).reshape(-1)  # data hubs store a list with one number
        if len(number) != 1 or number.dtype.kind not in "iuf" or not abs(number[0]) < 2**63 or number[0] % 1:
            raise GraphError(index, f"num_nodes must be an integer, not {count!r}")
        return int(number[0])
    for name in DEFAULTS["node"]:
        if getattr(graph, name, None) is not None:
            return len(getattr(graph, name))
    raise GraphError(index, "has neither num_nodes nor x to tell its number of nodes")


def _keys(graph: Any) -> list[str]:
    """Return the names of the attributes of the object; a method or, in old versions of PyTorch Geometric, a list."""
    keys = getattr(graph, "keys", None)
    if keys is None:
        return [key for key in getattr(graph, "__dict__", {}) if not key.startswith("_")]
    return list(keys() if callable(keys) else keys)


def _has_length(values: Any, length: int) -> bool:
    shape: Any = getattr(values, "shape", (len(values),) if isinstance(values, (list, tuple)) else ())
    return len(shape) > 0 and int(shape[0]) == length > 0


def _array_of(graph: Any, name: str, index: int) -> Any:
    values = getattr(graph, name, None)
    if values is None:
        known = [key for key in _keys(graph) if getattr(graph, key, None) is not None]
        raise GraphError(index, f"has no {name!r}; {there_are(known)}")
    return as_array(values)


def _labels(graph: Any, names: Sequence[str], missing: Label | None, index: int) -> Any:
    """Return one label per row: the value of a single column, or a tuple of the values of all columns."""
    columns: list[Any] = []
    for name in names:
        values, given = _array_of(graph, name, index), getattr(graph, name)
        mixed = isinstance(given, (list, tuple)) and values.dtype.kind in "OU" and values.ndim < 3
        if mixed:  # NumPy would convert 1 and "a" to two strings
            rows = (row.tolist() if hasattr(row, "tolist") else row for row in given)
            columns.extend(zip(*(row if isinstance(row, (list, tuple)) else [row] for row in rows), strict=True))
        else:
            columns.extend(values.T.tolist() if values.ndim == 2 else [values.tolist()])
    return join_labels(columns, missing)


def as_array(values: Any) -> Any:
    """Return a tensor of any library, type and device, or nested lists, as an array."""
    for step in ("detach", "cpu"):
        if hasattr(values, step):
            values = getattr(values, step)()
    if "bfloat16" in str(getattr(values, "dtype", "")):  # NumPy has no such type
        values = values.float()
    array = values.numpy() if hasattr(values, "numpy") else np.asarray(values)
    if array.dtype == object and array.ndim and all(map(np.ndim, array)):  # pandas stores rows as an array of arrays
        array = np.array([np.asarray(row) for row in array])
    return array
