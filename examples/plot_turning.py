"""
A photograph, turned full circle
================================

350 pictures of one photograph, turned step by step through a full circle, then shuffled. Their clusters lie on a ring:
the last is next to the first. KMeans finds the clusters too, but numbers them arbitrarily.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from kernelclust import StructuredClustering
from kernelclust.datasets import rotated_images
from kernelclust.metrics import clustering_accuracy, structured_accuracy
from kernelclust.plots import StructureDisplay

turned = rotated_images(n_clusters=10, size=64, random_state=0)  # 10 clusters around a full turn
model = StructuredClustering(structure="ring:10", random_state=0).fit(turned.data)
kmeans = KMeans(10, n_init=10, random_state=0).fit(turned.data)

# %%
# Clustering accuracy asks whether the clusters were found. *Structured* accuracy also asks whether each has the right
# number. It allows for what the data cannot tell: where the ring begins, and which way it runs.

for name, labels in [("KMeans", kmeans.labels_), ("ring:10", model.labels_)]:
    accuracy = clustering_accuracy(turned.target, labels)
    structured = structured_accuracy(turned.target, labels, "ring:10")
    print(f"{name:<8} accuracy {accuracy:4.0%}   structured accuracy {structured:4.0%}")

# %%
# One picture of each cluster, drawn at the node of the ring that its number gives it.

pictures = np.where(turned.images.any(axis=0), turned.images, np.nan)  # nothing outside the disc
fig, axes = plt.subplots(1, 2, figsize=(10, 5))
for ax, title, labels in zip(
    axes, ["KMeans: arbitrary order", "kernelclust: in order"], [kmeans.labels_, model.labels_], strict=True
):
    typical = [pictures[labels == node][0] for node in range(10)]
    StructureDisplay("ring:10", thumbnails=typical).plot(ax).ax_.set_title(title)
plt.show()

# %%
# How certain is this order? The estimated probability that it is correct, and the p-value against data without order:

print(f"order_confidence_ {model.order_confidence_:.2f}, order_.pvalue {model.order_.pvalue:.2f}")
