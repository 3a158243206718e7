"""ToGraphs in pipelines, and graphs beside other features in data frames."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from relaxwl import ToGraphs, WeisfeilerLehman, as_collection


def molecules(number=12):
    graphs = []
    for i in range(number):
        graph = nx.cycle_graph(4) if i % 2 else nx.path_graph(4)
        nx.set_node_attributes(graph, "C", "element")
        graphs.append(graph)
    return graphs, np.arange(number) % 2


def test_raw_objects_go_in_at_predict_time():
    graphs, y = molecules()
    model = make_pipeline(ToGraphs(node_label="element"), WeisfeilerLehman(2), SVC(kernel="linear"))
    assert model.fit(graphs, y).score(graphs, y) == 1
    assert model.predict(graphs[:1]) == [0]
    assert clone(model[0]).get_params() == model[0].get_params()
    assert model[:1].transform(graphs) == as_collection(graphs, node_label="element")


def test_graphs_beside_other_columns_of_a_data_frame():
    graphs, y = molecules()
    table = pd.DataFrame({"graph": graphs, "mass": np.arange(12.0), "charge": np.ones(12)})
    features = ColumnTransformer(
        [
            ("structure", make_pipeline(ToGraphs(node_label="element"), WeisfeilerLehman(2)), ["graph"]),
            ("numbers", StandardScaler(), ["mass", "charge"]),
        ]
    )
    model = make_pipeline(features, SVC(kernel="linear"))
    assert model.fit(table, y).score(table, y) == 1
    n_trees = WeisfeilerLehman(2).fit_transform(as_collection(graphs, node_label="element")).shape[1]
    assert features.transform(table).shape == (12, n_trees + 2)
    model.predict(table.iloc[[3]])


def test_graphs_beside_their_own_sizes():
    graphs, y = molecules()
    sizes = FunctionTransformer(lambda collection: collection.node_counts[:, None].astype(float))
    model = make_pipeline(
        ToGraphs(node_label="element"),
        FeatureUnion([("trees", WeisfeilerLehman(1)), ("sizes", sizes)]),
        SVC(kernel="linear"),
    )
    assert model.fit(graphs, y).score(graphs, y) == 1


def test_the_type_of_graphs_is_kept_in_mind():
    arcs = ToGraphs().fit([np.triu(np.ones((3, 3)), 1)])
    assert arcs.transform([np.ones((2, 2)) - np.eye(2)]).directed
    with pytest.raises(ValueError, match="the graph is undirected, but directed=True"):
        arcs.transform([nx.path_graph(2)])
    forgetful = ToGraphs(symmetrize=True).fit([nx.DiGraph([(0, 1)])])
    assert not forgetful.transform([nx.DiGraph([(0, 1)])]).directed
