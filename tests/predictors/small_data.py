"""Small graphs for predictors."""

from small_graphs import collection, random_graphs

PLAIN = random_graphs(14)
TRAIN, TEST = collection(PLAIN), collection(random_graphs(6, seed=1))
GRAPHS = collection(random_graphs(20))
