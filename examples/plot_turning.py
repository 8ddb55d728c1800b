"""
A photograph, turned full circle
================================

350 pictures of one photograph, each turned a little further, then shuffled. Their groups lie on a ring: the last is
next to the first. KMeans finds the groups too, but numbers them as they came.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from kernelclust import StructuredClustering
from kernelclust.datasets import rotated_images
from kernelclust.metrics import clustering_accuracy, structured_accuracy
from kernelclust.plots import StructureDisplay

turned = rotated_images(n_clusters=10, size=64, random_state=0)  # 10 groups around a full turn
model = StructuredClustering(structure="ring:10", random_state=0).fit(turned.data)
kmeans = KMeans(10, n_init=10, random_state=0).fit(turned.data)

# %%
# Accuracy asks whether groups were found. *Structured* accuracy also asks whether they are in the right place, up to
# what nobody can know: where the ring begins, and which way it runs.

for name, labels in [("KMeans", kmeans.labels_), ("ring:10", model.labels_)]:
    found = clustering_accuracy(turned.target, labels)
    placed = structured_accuracy(turned.target, labels, "ring:10")
    print(f"{name:<8} right group {found:4.0%}   right place {placed:4.0%}")

# %%
# One picture of each group, at the place that its number gives it.

pictures = np.where(turned.images.any(axis=0), turned.images, np.nan)  # nothing outside the disc
fig, axes = plt.subplots(1, 2, figsize=(10, 5))
for ax, title, labels in zip(
    axes, ["KMeans: as they came", "kernelclust: in order"], [kmeans.labels_, model.labels_], strict=True
):
    typical = [pictures[labels == place][0] for place in range(10)]
    StructureDisplay("ring:10", thumbnails=typical).plot(ax).ax_.set_title(title)
plt.show()

# %%
# How sure is this order? A number between 0 and 1, and the chance that noise looks as orderly:

print(f"order_confidence_ {model.order_confidence_:.2f}, order_.pvalue {model.order_.pvalue:.2f}")
