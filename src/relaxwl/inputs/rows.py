"""Graphs as rows of a table, as hubs keep them: edge_index, edge_attr, node_feat, num_nodes in columns.

A row is a dictionary; a data frame, an Arrow table or a list of dictionaries are many.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from relaxwl.graphs import GraphCollection
from relaxwl.inputs import pyg
from relaxwl.inputs.reading import Names

KIND = "a row with an edge_index"


def recognise(item: Any) -> bool:
    """Whether the item is a dictionary that holds edges as a row of a hub does."""
    return isinstance(item, Mapping) and "edge_index" in item


def read(rows: list[Any], names: Names) -> GraphCollection:
    """Read the cells of each row as the tensors of PyTorch Geometric."""
    return pyg.read([SimpleNamespace(**row) for row in rows], names)


def is_table(graphs: Any) -> bool:
    """Whether the object is a data frame or a table of Arrow: its columns would be taken for its items."""
    return (hasattr(graphs, "columns") and hasattr(graphs, "iloc")) or hasattr(graphs, "to_pylist")


def items_of(table: Any) -> list[Any]:
    """Return the rows of a table, or the graphs themselves if it has one column only."""
    if hasattr(table, "to_pylist"):  # Arrow, where a column without a table is a list of graphs
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
