"""Conversion as a step of a scikit-learn pipeline."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from relaxwl._validation import GraphEstimator
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.labels import Label
from relaxwl.inputs.convert import as_collection


class ToGraphs(TransformerMixin, GraphEstimator):
    """Transformer that converts graphs of other libraries into a GraphCollection.

    As the first step of a pipeline it accepts raw objects: networkx or PyTorch Geometric graphs, rows of a data frame,
    a column of graphs of a ``ColumnTransformer``. The parameters are those of :func:`relaxwl.as_collection`.

    Parameters
    ----------
    node_label, edge_label : str or list of str, optional
        Names of the attributes that contain labels.
    node_attributes, edge_attributes : str or list of str, optional
        Names of numeric attributes.
    symmetrize : bool, default=False
        Ignore the directions of directed graphs.
    directed : bool, optional
        Whether edges are arcs, if the graphs do not determine it. By default as in ``fit``.
    missing : label, optional
        Label of nodes and edges without a label.

    Attributes
    ----------
    directed_ : bool
        Whether the graphs of ``fit`` were directed.

    See Also
    --------
    relaxwl.as_collection : The same as a function.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklearn.pipeline import make_pipeline
    >>> from relaxwl import WeisfeilerLehman
    >>> ring = nx.cycle_graph(3)
    >>> nx.set_node_attributes(ring, "C", "element")
    >>> make_pipeline(ToGraphs(node_label="element"), WeisfeilerLehman(max_depth=1)).fit_transform([ring]).toarray()
    array([[3., 3.]])
    """

    def __init__(
        self,
        node_label: str | Sequence[str] | None = None,
        edge_label: str | Sequence[str] | None = None,
        node_attributes: str | Sequence[str] | None = None,
        edge_attributes: str | Sequence[str] | None = None,
        symmetrize: bool = False,
        directed: bool | None = None,
        missing: Label | None = None,
    ) -> None:
        self.node_label = node_label
        self.edge_label = edge_label
        self.node_attributes = node_attributes
        self.edge_attributes = edge_attributes
        self.symmetrize = symmetrize
        self.directed = directed
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn whether the graphs are directed.

        Parameters
        ----------
        X : as in :func:`relaxwl.as_collection`
            The graphs.
        y : ignored
            Not used; present for API consistency.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> GraphCollection:
        """Convert the graphs, and learn whether they are directed.

        Parameters
        ----------
        X : as in :func:`relaxwl.as_collection`
            The graphs.
        y : ignored
            Not used; present for API consistency.
        **fit_params : ignored
            Not used; present for API consistency.

        Returns
        -------
        GraphCollection
            The graphs.
        """
        graphs = as_collection(_column(X), **self.get_params())
        self.directed_ = graphs.directed
        return graphs

    def transform(self, X: Any) -> GraphCollection:
        """Return the graphs as a collection.

        Parameters
        ----------
        X : as in :func:`relaxwl.as_collection`
            The graphs.

        Returns
        -------
        GraphCollection
            The graphs.
        """
        check_is_fitted(self)
        directed = None if self.symmetrize else self.directed_
        return as_collection(_column(X), **{**self.get_params(), "directed": directed})


def _column(X: Any) -> Any:
    """Return the graphs of an array of objects with one column, as a ColumnTransformer passes them."""
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2 and X.shape[1] == 1:
        return X[:, 0]
    return X
