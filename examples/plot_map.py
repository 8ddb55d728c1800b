"""
A floor plan from signal strengths
==================================

Phones in twelve rooms, three by four, record the signal strengths of eight stations, but not where they are. With
``structure="grid:3x4"`` neighbouring rooms are neighbouring clusters: the result is a floor plan.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelclust import StructuredClustering
from kernelclust.metrics import clustering_accuracy, structured_accuracy
from kernelclust.plots import StructureDisplay, structure_colors

rng = np.random.default_rng(0)
room = rng.permutation(np.arange(600) % 12)
point = np.column_stack([room % 4, room // 4]) + rng.normal(0, 0.13, (600, 2))  # metres / 5, unknown to the model
stations = rng.uniform([-1, -1], [4, 3], (8, 2))
distance = np.linalg.norm(point[:, None] - stations, axis=2)
X = -30 * np.log10(distance + 0.5) + rng.normal(0, 1.2, distance.shape)  # decibels

model = StructuredClustering(structure="grid:3x4", random_state=0).fit(X)
print(f"correct room {clustering_accuracy(room, model.labels_):.0%}, ", end="")
print(f"correct room at the correct node {structured_accuracy(room, model.labels_, 'grid:3x4'):.0%}")
print(f"order_confidence_ {model.order_confidence_:.2f}")

# %%
# Left, the clusters on the grid; right, the true positions of the phones in the colours of their clusters. A plan may
# come out mirrored or upside down, because the signals do not contain where north is.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4))
StructureDisplay.from_estimator(model, ax=left).ax_.set_title("clusters on the grid")
right.scatter(*point.T, s=16, c=structure_colors(model.structure_)[model.labels_], alpha=0.8, linewidths=0)
right.scatter(*stations.T, marker="^", c="#30343b", s=60, label="station")
right.set(title="true positions of the phones", xticks=[], yticks=[], aspect="equal")
right.legend(frameon=False)
plt.show()
