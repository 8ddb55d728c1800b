"""
Many views of the same samples
==============================

Two hundred objects have four views: their shape, the shape measured again, their colour, and sixty columns of noise
from a broken instrument. The colour of twenty objects is missing. `MultiKernelClustering` learns weights of the views
together with the clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from kernelclust import MultiKernelClustering

rng = np.random.default_rng(0)
truth = np.repeat(np.arange(4), 50)
shape = 2 * rng.standard_normal((4, 6))[truth] + 1.5 * rng.standard_normal((200, 6))
again = shape + 0.05 * rng.standard_normal(shape.shape)
colour = 2 * rng.standard_normal((4, 6))[truth] + 1.5 * rng.standard_normal((200, 6))
broken = 3 * rng.standard_normal((200, 60))
colour[:20] = np.nan  # missing

model = MultiKernelClustering(4, random_state=0).fit([shape, again, colour, broken])

# %%
# For comparison, KMeans clusters all columns together, standardised, with means for missing colours.

filled = np.where(np.isnan(colour), np.nanmean(colour, axis=0), colour)
columns = StandardScaler().fit_transform(np.hstack([shape, again, filled, broken]))
kmeans = KMeans(4, n_init=10, random_state=0).fit_predict(columns)
ours, theirs = adjusted_rand_score(truth, model.labels_), adjusted_rand_score(truth, kmeans)
print(f"adjusted Rand index: weighted views {ours:.2f}, KMeans on all columns {theirs:.2f}")

# %%
# ``weights_`` are the weights of the views, and ``explained_`` is the fraction of the variance of each view that the
# clusters explain: it is near zero for a view without information about them.

for name, weight, share in zip(["shape", "again", "colour", "broken"], model.weights_, model.explained_, strict=True):
    print(f"{name:<7} weight {weight:.2f}, explained {share:.2f}")

names = ["shape", "shape again", "colour", "broken"]
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
left.barh(names, model.explained_, color=["#3b6fb6", "#8fb0dc", "#2e8b74", "#b9bec7"])
left.invert_yaxis()
left.set(title="explained_: fraction of variance between clusters")
right.bar(["KMeans,\nall columns", "weighted\nviews"], [theirs, ours], color=["#b9bec7", "#3b6fb6"], width=0.55)
right.set(title="adjusted Rand index", ylim=(0, 1.05))
plt.show()
