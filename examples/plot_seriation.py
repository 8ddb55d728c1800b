"""
Rows of a heat map, in order
============================

The rows of a table have an order but are shuffled; here they are the rows of a photograph. `seriate` orders the
samples themselves, from their distances alone. It is compared with the order of the leaves of a dendrogram, the usual
order of heat maps.
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

result = seriate(X)
distances = pdist(X)
leaves = leaves_list(optimal_leaf_ordering(linkage(distances, "average"), distances))

fig, axes = plt.subplots(1, 3, figsize=(10, 3.2))
for ax, title, order in zip(
    axes, ["shuffled", "optimal leaf ordering", "seriate"], [np.arange(len(X)), leaves, result.order], strict=True
):
    ax.imshow(X[order], cmap="gray", aspect="auto")
    ax.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# The data do not determine which end is the top, so the picture may be upside down. The script prints the rank
# correlation with the true order, and the estimated fraction of pairs of rows that would come out in the same order
# again:

for name, order in [("optimal leaf ordering", leaves), ("seriate", result.order)]:
    print(f"{name:<22} {abs(spearmanr(shuffled[order], np.arange(len(X)))[0]):.3f}")
print(result)

# %%
# The matrix of distances, in both orders. If the order is correct, distances grow away from the diagonal; the number of
# violations is `anti_robinson_events`.

fig, axes = plt.subplots(1, 2, figsize=(8, 4))
D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
for ax, title, order in zip(axes, ["shuffled", "seriate"], [np.arange(len(X)), result.order], strict=True):
    ax.imshow(D[np.ix_(order, order)])
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
