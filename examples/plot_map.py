"""
A floor plan from signal strengths
==================================

Twelve rooms, three by four. Phones note how strong they hear eight stations, and never where they are. On
``structure="grid:3x4"`` the rooms come out next to their neighbours: a floor plan.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelclust import StructuredClustering
from kernelclust.metrics import clustering_accuracy, structured_accuracy
from kernelclust.plots import StructureDisplay, structure_colors

rng = np.random.default_rng(0)
room = rng.permutation(np.arange(600) % 12)
place = np.column_stack([room % 4, room // 4]) + rng.normal(0, 0.13, (600, 2))  # metres / 5, unknown to the model
stations = rng.uniform([-1, -1], [4, 3], (8, 2))
distance = np.linalg.norm(place[:, None] - stations, axis=2)
X = -30 * np.log10(distance + 0.5) + rng.normal(0, 1.2, distance.shape)  # decibels

model = StructuredClustering(structure="grid:3x4", random_state=0).fit(X)
print(f"right room {clustering_accuracy(room, model.labels_):.0%}, ", end="")
print(f"at the right place of the plan {structured_accuracy(room, model.labels_, 'grid:3x4'):.0%}")
print(f"order_confidence_ {model.order_confidence_:.2f}")

# %%
# Left the plan as it was found, right where the phones truly were, in the same colours. A plan may come out mirrored or
# upside down: nothing in the signals says where north is.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4))
StructureDisplay.from_estimator(model, ax=left).ax_.set_title("found: labels on a grid")
right.scatter(*place.T, s=16, c=structure_colors(model.structure_)[model.labels_], alpha=0.8, linewidths=0)
right.scatter(*stations.T, marker="^", c="#30343b", s=60, label="station")
right.set(title="the truth: phones in rooms", xticks=[], yticks=[], aspect="equal")
right.legend(frameon=False)
plt.show()
