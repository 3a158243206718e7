"""
Shards and Dask
===============

Collections that do not fit into memory are stored in a folder of shards. A model is fitted on a sample and applied to
all shards, or fitted on all shards with Dask. This example uses a cluster of one thread; with ``Client("tcp://…")``
the same code runs on any Dask cluster whose workers can read the folder.
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
# Graphs are written in batches. In practice a shard should have 100,000 to 1,000,000 nodes.

folder = TemporaryDirectory()
place = Path(folder.name) / "graphs.shards"
graphs, y = relaxwl.datasets.make_perturbed(300, n_classes=4, n_nodes=30, rewired=0.2, n_labels=5, random_state=7)
with ShardWriter(place, graphs_per_shard=50) as writer:
    for start in range(0, 300, 75):
        writer.add(graphs[start : start + 75], y[start : start + 75])
shards = ShardedCollection.open(place)
print(shards)

# %%
# Fit on a sample and predict for all shards. A task reads and predicts one shard.

client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
sizes, scores = (10, 20, 40, 80, 160), []
for size in sizes:
    kernel = relaxwl.RelaxedWeisfeilerLehman(max_depth=2, n_partitions=2, normalize=True, random_state=0)
    model = make_pipeline(kernel, LogisticRegression(C=10)).fit(*shards.sample(size, random_state=0))
    scores.append(float(np.mean(predict(model, shards).compute() == shards.y)))
print("accuracy:", [round(score, 2) for score in scores])

# %%
# Fit on all shards (:class:`~relaxwl.distributed.ShardedCollection`). The model equals that of a fit in memory, bit
# for bit, for any number of workers.

kernel = relaxwl.RelaxedWeisfeilerLehman(max_depth=2, n_partitions=2, random_state=0).fit(shards)
here = relaxwl.RelaxedWeisfeilerLehman(max_depth=2, n_partitions=2, random_state=0).fit(shards.to_collection())
some = shards[0]
print("entries that differ:", (kernel.transform(some) != here.transform(some)).nnz)
features = kernel.transform(shards)
print(features.numblocks[0], "blocks of features, computed on demand")

# %%
# Accuracy against the size of the sample. Where the curve levels off, fitting on more graphs adds little.

figure, axes = plt.subplots(figsize=(5, 3))
axes.plot(sizes, scores, "o-")
axes.set(xlabel="graphs in the sample", ylabel="accuracy on all shards", xscale="log", ylim=(0, 1.02))
axes.set_xticks(sizes, [str(size) for size in sizes])
figure.tight_layout()
client.close()
folder.cleanup()

# %%
# **Summary.** Graphs are stored once as shards. A model of a sample predicts all of them, and a kernel can also be
# fitted on all of them, with the same result as in memory.
