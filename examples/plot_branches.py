"""
A lineage that branches: a graph as structure
=============================================

Cells that mature along one path and then choose between two fates lie neither on a chain nor at the leaves of a
taxonomy. Any networkx graph can be the structure; its nodes are the clusters.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.decomposition import PCA

from kernelclust import StructuredClustering
from kernelclust.plots import EmbeddingDisplay

stages = nx.Graph([("stem", "early"), ("early", "late"), ("late", "red 1"), ("red 1", "red 2")])
stages.add_edges_from([("late", "white 1"), ("white 1", "white 2")])

# %%
# Simulated counts of 60 genes: 20 rise along the path, 20 with each fate.

rng = np.random.default_rng(0)
nodes = list(stages)
truth = rng.permutation(np.repeat(np.arange(7), 50))
depth = np.array([nx.shortest_path_length(stages, "stem", node) for node in nodes])[truth]
fate = np.array([{"r": -1, "w": 1}.get(node[0], 0) for node in nodes])[truth]
programme = np.column_stack(
    [np.minimum(depth, 2), np.maximum(depth - 2, 0) * (fate < 0), np.maximum(depth - 2, 0) * (fate > 0)]
)
rate = np.exp(0.4 + np.kron(np.eye(3), rng.uniform(0.3, 1.0, 20)).T @ programme.T).T  # (350, 60)
counts = rng.poisson(rate)
X = np.log1p(counts)

# %%

names = np.array(nodes)
y = np.full(350, "", dtype=object)
for fate_known in ("red 2", "white 2"):  # one known cell of each fate, as the data do not determine which is which
    y[np.flatnonzero(names[truth] == fate_known)[0]] = fate_known
model = StructuredClustering(structure=stages, random_state=0).fit(X, y)
print(f"at the correct stage: {np.mean(model.cluster_names_[model.labels_] == names[truth]):.0%}")
print(
    "counts of",
    ", ".join(f"{name} {size}" for name, size in zip(model.cluster_names_, model.sizes_.astype(int), strict=True)),
)

# %%

fig, ax = plt.subplots(figsize=(7, 5))
EmbeddingDisplay.from_predictions(PCA(2, random_state=0).fit_transform(X), model.labels_, model.structure_, ax=ax)
ax.set_title("Seven stages; lines join neighbours in the graph")
plt.show()
