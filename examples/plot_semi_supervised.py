"""
Say what you know: labels, links, sizes
=======================================

Two labelled pictures turn a ring the right way round. Pairs that belong together or apart, and sizes, are kept exactly.
A contradiction is named before any work starts.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelclust import KernelKMeans, StructuredClustering
from kernelclust.datasets import rotated_images

turned = rotated_images(n_clusters=8, per_cluster=25, random_state=0)  # 200 pictures, 8 groups around a full turn
y = np.full(200, -1)  # -1: not known
for place in (0, 2):  # where the ring begins, and which way it runs
    y[np.flatnonzero(turned.target == place)[0]] = place

model = StructuredClustering(structure="ring:8", random_state=0)
alone = model.fit(turned.data).labels_
told = model.fit(turned.data, y).labels_
print(f"at the right place without labels {np.mean(alone == turned.target):.0%}, ", end="")
print(f"with two {np.mean(told == turned.target):.0%}")

# %%
# Without labels the ring is in order, but it may begin anywhere and run either way. With two it is the true one.

fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.8), sharey=True)
for ax, labels, title in zip(axes, [alone, told], ["no label", "two labels"], strict=True):
    ax.scatter(turned.angles, labels, c=turned.target, cmap="twilight_shifted", s=18, edgecolors="0.6", linewidths=0.3)
    ax.set(xlabel="true angle (degrees)", title=title, xticks=range(0, 361, 90))
    known = np.flatnonzero(y >= 0) if labels is told else []
    ax.scatter(turned.angles[known], y[known], s=130, facecolors="none", edgecolors="#d1495b", linewidths=2)
axes[0].set_ylabel("label")
plt.show()

# %%
# Links and sizes, for any structure and kernel:

even = KernelKMeans(5, min_cluster_size=35, max_cluster_size=45, random_state=0)
labels = even.fit(turned.data, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 3)]).labels_
print(f"pictures 0, 1, 2 in cluster {labels[0]}, picture 3 in {labels[3]}; sizes {np.bincount(labels).tolist()}")

# %%
# What cannot be is refused, and the message says why.

try:
    even.fit(turned.data, must_link=[(0, 1), (1, 2)], cannot_link=[(2, 0)])
except ValueError as error:
    print(error)
