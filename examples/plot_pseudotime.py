"""
Existing groups: their order, and a pseudotime
==============================================

Groups often exist, but not their order: annotations, a Leiden clustering, here KMeans. `arrange` numbers them along a
structure and moves no sample. `position_` of a fit also orders the samples within a cluster: a pseudotime.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from kernelclust import StructuredClustering, arrange

rng = np.random.default_rng(0)
time = rng.random(500)  # along a curved path, unknown to the model
X = np.column_stack([np.cos(5 * time), np.sin(5 * time), time]) + rng.normal(0, 0.07, (500, 3))

groups = np.array(["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn"])[KMeans(6, n_init=10, random_state=0).fit_predict(X)]
arranged = arrange(X, groups, "chain")
print("order of the groups:", " - ".join(arranged.order))
print("their true times:   ", " - ".join(f"{time[groups == name].mean():.2f}" for name in arranged.order))

# %%
# Clusters and continuous positions along the same path. A chain may run in either direction.

model = StructuredClustering(structure="chain:8", random_state=0).fit(X)
correlation = np.corrcoef(model.position_, time)[0, 1]
position = model.position_ if correlation > 0 else 7 - model.position_
print(f"correlation of position_ with the true time: {abs(correlation):.3f}")

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), gridspec_kw={"width_ratios": [1, 1.15]})
left.scatter(X[:, 0], X[:, 1], c=position, s=16, linewidths=0)
for name in arranged.order:
    left.annotate(
        name, X[groups == name, :2].mean(axis=0), ha="center", weight="bold", bbox={"fc": "white", "ec": "0.7"}
    )
left.plot(*np.array([X[groups == name, :2].mean(axis=0) for name in arranged.order]).T, color="0.3", lw=1.2, zorder=0)
left.set(title="six groups, put in order by arrange", xticks=[], yticks=[], aspect="equal")
points = right.scatter(time, position, c=position, s=14, linewidths=0)
right.set(xlabel="true time", ylabel="position_", title="the continuous position of every sample")
plt.show()

# %%
# If an order is uncertain, `order_` lists the next best orders, and the samples whose labels would decide between them.

for nodes, score in model.order_.alternatives(3):
    print("arrangement", nodes, f"score {score:.2f}")
print("samples to label:", model.order_.queries(2))
