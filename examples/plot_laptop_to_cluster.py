"""
From a laptop to a cluster
==========================

Graphs that do not fit into memory lie in a folder of shards. A model is fitted to a sample of them and applied to all,
or fitted to all of them on a Dask cluster. Here the cluster is a thread of this process, so that the page builds
anywhere; ``Client("tcp://…")`` is all that changes on a real one.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import relaxwl
from relaxwl.distributed import ShardedCollection, ShardWriter, predict

# %%
# Graphs come in batches and are written as they come. A shard of 10^5 to 10^6 vertices is a good size in earnest.

folder = TemporaryDirectory()
place = Path(folder.name) / "graphs.shards"
graphs, y = relaxwl.datasets.make_perturbed(300, n_classes=4, n_nodes=30, rewired=0.2, n_labels=5, random_state=7)
with ShardWriter(place, graphs_per_shard=50) as writer:
    for start in range(0, 300, 75):
        writer.add(graphs[start : start + 75], y[start : start + 75])
shards = ShardedCollection.open(place)
print(shards)

# %%
# The simple way: fit on a sample, predict on everything. A task reads one shard, predicts, and forgets it.

client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
sizes, scores = (10, 20, 40, 80, 160), []
for size in sizes:
    kernel = relaxwl.RelaxedWeisfeilerLehman(max_depth=2, n_partitions=2, normalize=True, random_state=0)
    model = make_pipeline(kernel, LogisticRegression(C=10)).fit(*shards.sample(size, random_state=0))
    scores.append(float(np.mean(predict(model, shards).compute() == shards.y)))
print("accuracy:", [round(score, 2) for score in scores])

# %%
# The other way: fit on all shards. The model is that of one machine, bit for bit, however many workers there are.

kernel = relaxwl.RelaxedWeisfeilerLehman(max_depth=2, n_partitions=1, random_state=0).fit(shards)
here = relaxwl.RelaxedWeisfeilerLehman(max_depth=2, n_partitions=1, random_state=0).fit(shards.to_collection())
some = shards[0]
print("entries that differ:", (kernel.transform(some) != here.transform(some)).nnz)
features = kernel.transform(shards)
print(features.numblocks[0], "blocks of features, computed when they are asked for")

# %%
# What is learnt: how large a sample must be. Where such a curve levels off, fitting on more graphs adds little.

figure, axes = plt.subplots(figsize=(5, 3))
axes.plot(sizes, scores, "o-")
axes.set(xlabel="graphs in the sample", ylabel="accuracy on all shards", xscale="log", ylim=(0, 1.02))
axes.set_xticks(sizes, [str(size) for size in sizes])
figure.tight_layout()
client.close()
folder.cleanup()
