"""
Known labels, links and sizes
=============================

Two known labels determine where a ring begins and which way it runs. Links between pairs of samples and bounds on
cluster sizes are kept exactly. A contradiction raises an error before the fit starts.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelclust import KernelKMeans, StructuredClustering
from kernelclust.datasets import rotated_images

turned = rotated_images(n_clusters=8, per_cluster=25, random_state=0)  # 200 pictures, 8 clusters around a full turn
y = np.full(200, -1)  # -1: unknown
for node in (0, 2):  # where the ring begins, and which way it runs
    y[np.flatnonzero(turned.target == node)[0]] = node

model = StructuredClustering(structure="ring:8", random_state=0)
free = model.fit(turned.data).labels_
anchored = model.fit(turned.data, y).labels_
print(f"at the correct node without known labels {np.mean(free == turned.target):.0%}, ", end="")
print(f"with two {np.mean(anchored == turned.target):.0%}")

# %%
# Without known labels the clusters are in order, but the ring may begin anywhere and run either way. With two known
# labels it agrees with the true one.

fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.8), sharey=True)
for ax, labels, title in zip(axes, [free, anchored], ["no known label", "two known labels"], strict=True):
    ax.scatter(turned.angles, labels, c=turned.target, cmap="twilight_shifted", s=18, edgecolors="0.6", linewidths=0.3)
    ax.set(xlabel="true angle (degrees)", title=title, xticks=range(0, 361, 90))
    known = np.flatnonzero(y >= 0) if labels is anchored else []
    ax.scatter(turned.angles[known], y[known], s=130, facecolors="none", edgecolors="#d1495b", linewidths=2)
axes[0].set_ylabel("label")
plt.show()

# %%
# Links and sizes, for any structure and kernel:

even = KernelKMeans(5, min_cluster_size=35, max_cluster_size=45, random_state=0)
labels = even.fit(turned.data, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 3)]).labels_
print(f"pictures 0, 1, 2 in cluster {labels[0]}, picture 3 in {labels[3]}; sizes {np.bincount(labels).tolist()}")

# %%
# Constraints that contradict each other raise an error that names them.

try:
    even.fit(turned.data, must_link=[(0, 1), (1, 2)], cannot_link=[(2, 0)])
except ValueError as error:
    print(error)
