"""
Rows of a heat map, in order
============================

A table whose rows belong on a line, but came shuffled: here the rows of a photograph. `seriate` orders the samples
themselves, from their distances alone. The order of a dendrogram's leaves, as heat maps usually have it, is beside it.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.datasets import load_sample_image

from kernelclust import seriate

photo = load_sample_image("china.jpg").mean(axis=2)[100:300]
shuffled = np.random.default_rng(0).permutation(len(photo))
X = photo[shuffled]

found = seriate(X)
distances = pdist(X)
leaves = leaves_list(optimal_leaf_ordering(linkage(distances, "average"), distances))

fig, axes = plt.subplots(1, 3, figsize=(10, 3.2))
for ax, title, order in zip(
    axes, ["as they came", "optimal leaf ordering", "seriate"], [np.arange(len(X)), leaves, found.order], strict=True
):
    ax.imshow(X[order], cmap="gray", aspect="auto")
    ax.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# Nothing says which end is the top, so the picture may be upside down. Rank correlation with the true order, and the
# estimated fraction of pairs of rows that would come out in the same order again:

for name, order in [("optimal leaf ordering", leaves), ("seriate", found.order)]:
    print(f"{name:<22} {abs(spearmanr(shuffled[order], np.arange(len(X)))[0]):.3f}")
print(found)

# %%
# The matrix of distances, in both orders. Where the order is right, distances grow away from the diagonal; the number
# of violations is `anti_robinson_events`.

fig, axes = plt.subplots(1, 2, figsize=(8, 4))
D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
for ax, title, order in zip(axes, ["as they came", "seriate"], [np.arange(len(X)), found.order], strict=True):
    ax.imshow(D[np.ix_(order, order)])
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
