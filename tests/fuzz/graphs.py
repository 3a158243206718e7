"""Graphs in the forms of others, right and wrong, and molecules as text."""

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import relaxwl
from fuzz.limits import read_or_refused
from fuzz.mutations import VALUES, changed_bytes, changed_lines, changed_value

SMILES = """CCO c1ccccc1 CC(=O)Oc1ccccc1C(=O)O [Na+].[Cl-] C/C=C/C N[C@@H](C)C(=O)O C1CC1 [2H]O[2H] O=S(=O)(O)O C#N [Fe]
*C CC. C1CCCCC1Br n1ccccc1""".split()


def case(rng: random.Random, folder: Path) -> None:
    """Convert something; what is accepted can be used."""
    graphs = [_graph(rng) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    given: Any = graphs
    if rng.random() < 0.6:
        given = changed_value(rng, [_as_lists(graph) for graph in graphs])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            collection = relaxwl.as_collection(given, symmetrize=rng.random() < 0.3)
        except (ValueError, TypeError, OSError) as error:
            assert str(error), "an error must say something"
            return
    relaxwl.WeisfeilerLehman(2).fit_transform(collection)


def _graph(rng: random.Random) -> Any:
    size = rng.randrange(0, 5)
    edges = [(rng.randrange(size), rng.randrange(size)) for _ in range(size and rng.randrange(6))]
    labels = [rng.choice(("a", "b", 1, 2.5)) for _ in range(size)]
    matrix = np.zeros((size, size), int)
    for u, v in edges:
        matrix[u, v] = matrix[v, u] = 1
    match rng.randrange(5):
        case 0:
            return (size, edges)
        case 1:
            return (size, edges, labels)
        case 2:
            return matrix
        case 3:
            return scipy.sparse.csr_array(matrix)
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from((node, {"label": label}) for node, label in enumerate(labels))
    graph.add_edges_from(edges)
    return graph


def _as_lists(graph: Any) -> Any:
    return [graph[0], [list(edge) for edge in graph[1]], *map(list, graph[2:])] if isinstance(graph, tuple) else [1, []]


GRAPHML = b"""<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="label" attr.type="string"/>
<key id="d1" for="edge" attr.name="weight" attr.type="double"/>
<graph edgedefault="undirected"><node id="a"><data key="d0">C</data></node><node id="b"><data key="d0">O</data></node>
<node id="c"><data key="d0">C</data></node><edge source="a" target="b"><data key="d1">1.5</data></edge>
<edge source="b" target="c"><data key="d1">2</data></edge></graph></graphml>
"""
GML = b"""graph [
  directed 0
  node [ id 0 label "C" value 1.5 ]
  node [ id 1 label "O" value 2 ]
  node [ id 2 label "N" list [ a 1 b "x" ] ]
  edge [ source 0 target 1 weight 3 ]
  edge [ source 1 target 2 weight -1.0E-3 ]
]
"""
EDGES = b"a b {'weight': 1}\nb c {'weight': 2.5}\n# a comment\nc d {}\n"
FORMS = {".graphml": GRAPHML, ".gml": GML, ".edgelist": EDGES}


def files_case(rng: random.Random, folder: Path) -> None:
    """Read a folder of graph files, some of them damaged; what is accepted can be used."""
    ending = rng.choice(list(FORMS))
    size = 0
    for number in range(rng.choice((1, 2, 3))):
        content = FORMS[ending]
        if rng.random() < 0.8:
            content = rng.choice((changed_bytes, changed_lines))(rng, content)
        (folder / f"{number}{ending}").write_bytes(content)
        size += len(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named = rng.choice(({}, {}, {"edge_attributes": "weight"}, {"edge_label": "weight", "directed": True}))
        graphs = read_or_refused(lambda: relaxwl.as_collection(folder, **named), size)
        if graphs is not None:
            relaxwl.WeisfeilerLehman(2, edge_labels="edge_label" in named).fit_transform(graphs)
            assert graphs.edge_attributes is None or np.isfinite(graphs.edge_attributes).all()


def molecules_case(rng: random.Random, folder: Path) -> None:
    """Read molecules as text, some of them damaged; what cannot be read is named."""
    from rdkit import RDLogger

    from relaxwl.molecules import from_smiles

    RDLogger.DisableLog("rdApp.*")
    strings: list[Any] = rng.sample(SMILES, rng.randrange(1, 4))
    for _ in range(rng.choice((0, 1, 1, 2))):
        place = rng.randrange(len(strings))
        changed = changed_bytes(rng, str(strings[place]).encode(errors="replace"))
        strings[place] = rng.choice(VALUES) if rng.random() < 0.05 else changed.decode(errors="surrogateescape")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            most = rng.choice((1000, 1000, None, 5))
            graphs = from_smiles(strings, max_atoms=most)
        except (ValueError, TypeError) as error:
            assert str(error), "an error must say something"
            return
    assert len(graphs) == len(strings)
    assert most is None or graphs.node_counts.max() <= most
    relaxwl.WeisfeilerLehman(2).fit_transform(graphs)
