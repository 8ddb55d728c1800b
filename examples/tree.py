"""Nine groups in three families: labels 0-2, 3-5 and 6-8 are siblings, so families can be read off the labels."""

import numpy as np

from kernelclust import KernelKMeans, StructuredClustering
from kernelclust.datasets import structured_blobs
from kernelclust.metrics import clustering_accuracy, structured_accuracy

blobs = structured_blobs("tree:3x3", n_samples=450, noise=0.3, random_state=0)
families = blobs.target // 3

for model in [KernelKMeans(9, random_state=0), StructuredClustering(structure="tree:3x3", random_state=0)]:
    labels = model.fit_predict(blobs.data)
    print(
        f"{type(model).__name__:<21} groups {clustering_accuracy(blobs.target, labels):.0%},",
        f"at the right place {structured_accuracy(blobs.target, labels, 'tree:3x3'):.0%},",
        f"families read off the labels {clustering_accuracy(families, labels // 3):.0%}",
    )

new = blobs.centers + 0.1  # predict places new samples on the same tree
print("new samples, one a group, go to", np.array2string(model.predict(new)))
