"""Say what is already known: a few labels turn a ring the right way round, links and sizes are kept."""

import numpy as np

from kernelclust import KernelKMeans, StructuredClustering
from kernelclust.datasets import rotated_images

turned = rotated_images(n_clusters=10, random_state=0)  # 350 images, 10 groups around a full turn
y = np.full(350, -1)  # -1: not known
for place in (0, 1, 3):  # three labelled images say where the ring begins and which way it runs
    y[np.flatnonzero(turned.target == place)[0]] = place
model = StructuredClustering(structure="ring:10", random_state=0)
alone, told = model.fit(turned.data).labels_, model.fit(turned.data, y).labels_
print(f"at the right place without labels: {np.mean(alone == turned.target):.0%}, with three: ", end="")
print(f"{np.mean(told == turned.target):.0%}")

together, apart = [(0, 1), (1, 2)], [(0, 3)]  # numbers of images
even = KernelKMeans(5, min_cluster_size=60, max_cluster_size=80, random_state=0)
labels = even.fit(turned.data, must_link=together, cannot_link=apart).labels_
print(f"images 0, 1, 2 in cluster {labels[0]}, image 3 in {labels[3]}; sizes {np.bincount(labels).tolist()}")

try:
    even.fit(turned.data, must_link=together, cannot_link=[(2, 0)])
except ValueError as error:
    print(f"refused: {error}")
